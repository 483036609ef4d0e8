//! Names and integer types that C and C++ accept.

/// Words that cannot name a member: keywords of C and C++, and macros that GCC predefines.
const RESERVED_WORDS: &[&str] = &[
    "alignas",
    "alignof",
    "and",
    "and_eq",
    "asm",
    "auto",
    "bitand",
    "bitor",
    "bool",
    "break",
    "case",
    "catch",
    "char",
    "char16_t",
    "char32_t",
    "char8_t",
    "class",
    "co_await",
    "co_return",
    "co_yield",
    "compl",
    "concept",
    "const",
    "const_cast",
    "consteval",
    "constexpr",
    "constinit",
    "continue",
    "decltype",
    "default",
    "delete",
    "do",
    "double",
    "dynamic_cast",
    "else",
    "enum",
    "explicit",
    "export",
    "extern",
    "false",
    "float",
    "for",
    "friend",
    "goto",
    "i386",
    "if",
    "inline",
    "int",
    "linux",
    "long",
    "mips",
    "mutable",
    "namespace",
    "new",
    "noexcept",
    "not",
    "not_eq",
    "nullptr",
    "operator",
    "or",
    "or_eq",
    "private",
    "protected",
    "public",
    "register",
    "reinterpret_cast",
    "requires",
    "restrict",
    "return",
    "short",
    "signed",
    "sizeof",
    "sparc",
    "static",
    "static_assert",
    "static_cast",
    "struct",
    "sun",
    "switch",
    "template",
    "this",
    "thread_local",
    "throw",
    "true",
    "try",
    "typedef",
    "typeid",
    "typename",
    "typeof",
    "union",
    "unix",
    "unsigned",
    "using",
    "virtual",
    "void",
    "volatile",
    "wchar_t",
    "while",
    "xor",
    "xor_eq",
];

/// Returns true if C and C++ accept the name for a member.
pub(super) fn is_identifier(name: &str) -> bool {
    let starts = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    starts
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
        && RESERVED_WORDS.binary_search(&name).is_err()
}

/// Unsigned integer of `size` bytes, which is the same on all targets.
pub(super) fn unsigned_of_size(size: u64) -> Option<&'static str> {
    Some(match size {
        1 => "unsigned char",
        2 => "unsigned short",
        4 => "unsigned int",
        8 => "unsigned long long",
        16 => "unsigned __int128",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::{RESERVED_WORDS, is_identifier};

    #[test]
    fn names() {
        assert!(RESERVED_WORDS.is_sorted());
        let check = |name: &str, expect: bool| assert_eq!(is_identifier(name), expect, "{name}");
        check("mmap_lock", true);
        check("class", false);
        check("_vptr.Base", false);
        check("0", false);
        check("", false);
    }
}
