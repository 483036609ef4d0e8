//! Names of types as their users write them.
//!
//! Compilers spell out what the source leaves to defaults and `use`: `alloc::sync::ArcInner<alloc::vec::Vec<u8,
//! alloc::alloc::Global>>` is `ArcInner<Vec<u8>>`, and `std::vector<Worker, std::allocator<Worker> >` is
//! `std::vector<Worker>`. Other types keep their scope, which tells them apart.

use crate::canonical::IntegerWords;

/// Longest name in bytes, and deepest nesting of arguments. Only damaged debug information has more.
const NAME_BYTES_MAX: usize = 16 * 1024;
const NESTING_MAX: u32 = 64;

/// Returns the name of a type in `scope` as its users write it: with its scope, without the modules of Rust's
/// standard library, without default arguments of the standard libraries, and with integers as in
/// `unsigned long`. A name without scope and arguments, as in C, stays as it is.
///
/// ```
/// use relayout_layout::readable_type_name;
///
/// let stats = readable_type_name(Some("net"), "Stats<long unsigned int>");
/// assert_eq!(stats, "net::Stats<unsigned long>");
/// ```
pub fn readable_type_name(scope: Option<&str>, name: &str) -> String {
    let full_name = match scope {
        Some(scope) => format!("{scope}::{name}"),
        None => name.to_owned(),
    };
    if !full_name.contains(['<', ':']) || full_name.len() > NAME_BYTES_MAX {
        return full_name;
    }
    let mut reader = NameReader { rest: &full_name };
    match reader.read_until(&[], 0) {
        Some(readable) if reader.rest.is_empty() => readable,
        _ => full_name,
    }
}

/// Returns the demangled name of a function of C++ with types as in [`readable_type_name`]; other names as they
/// are.
///
/// ```
/// use relayout_layout::readable_function_name;
///
/// let insert = readable_function_name("std::vector<Job, std::allocator<Job> >::push_back");
/// assert_eq!(insert, "std::vector<Job>::push_back");
/// ```
pub fn readable_function_name(name: &str) -> String {
    const SPELLED_OUT: [&str; 3] = ["std::allocator<", "std::__cxx11::", "_Lock_policy)"];
    match SPELLED_OUT.iter().any(|part| name.contains(part)) {
        true => readable_type_name(None, name),
        false => name.to_owned(),
    }
}

/// Part of a path: `vector` with its arguments.
struct PathPart {
    name: String,
    arguments: Option<Vec<String>>,
}

impl PathPart {
    /// Returns true for what may be a namespace or module.
    fn is_plain_lowercase(&self) -> bool {
        let first = self.name.chars().next();
        self.arguments.is_none() && first.is_some_and(|c| c.is_lowercase() || c == '_')
    }

    fn spelled(&self) -> String {
        match &self.arguments {
            Some(arguments) => format!("{}<{}>", self.name, arguments.join(", ")),
            None => self.name.clone(),
        }
    }
}

/// Reader of a type's name from left to right.
struct NameReader<'n> {
    rest: &'n str,
}

impl NameReader<'_> {
    /// Reads up to one of `ends`, or the end of the text. `None` where brackets do not match.
    fn read_until(&mut self, ends: &[char], depth: u32) -> Option<String> {
        if depth > NESTING_MAX {
            return None;
        }
        let mut out = String::new();
        let mut has_space = false;
        while let Some(next) = self.rest.chars().next() {
            if ends.contains(&next) {
                break;
            }
            if next.is_whitespace() {
                has_space = true;
                self.skip(next);
                continue;
            }
            let text = self.read_piece(next, depth)?;
            if has_space && !out.is_empty() && !text.starts_with([',', '>', ')', ']']) {
                out.push(' ');
            }
            has_space = false;
            out.push_str(&text);
        }
        Some(out)
    }

    /// Reads a path, a bracket with its contents, or a single character.
    fn read_piece(&mut self, next: char, depth: u32) -> Option<String> {
        if starts_word(next) || self.starts_unnamed() {
            return self.read_path(depth);
        }
        if let Some(rest) = self.rest.strip_prefix("->") {
            self.rest = rest;
            return Some("->".to_owned());
        }
        self.skip(next);
        let close = match next {
            '(' => ')',
            '[' => ']',
            '<' => '>',
            _ => return Some(next.to_string()),
        };
        let inner = self.read_until(&[close], depth + 1)?;
        self.rest = self.rest.strip_prefix(close)?;
        Some(format!("{next}{inner}{close}"))
    }

    fn read_path(&mut self, depth: u32) -> Option<String> {
        let mut parts = Vec::new();
        loop {
            let name = self.read_word()?;
            if parts.is_empty()
                && let Some(integer) = self.read_integer(&name)
            {
                return Some(integer);
            }
            let turbofish = self
                .rest
                .strip_prefix("::")
                .filter(|rest| rest.starts_with('<'));
            self.rest = turbofish.unwrap_or(self.rest);
            let arguments = match self.rest.starts_with('<') {
                true => Some(self.read_arguments(depth)?),
                false => None,
            };
            parts.push(PathPart { name, arguments });
            match self.rest.strip_prefix("::") {
                Some(rest) => self.rest = rest,
                None => return Some(spell_path(parts)),
            }
        }
    }

    fn read_arguments(&mut self, depth: u32) -> Option<Vec<String>> {
        self.rest = self.rest.strip_prefix('<')?;
        let mut arguments = Vec::new();
        loop {
            let argument = self.read_until(&[',', '>'], depth + 1)?;
            arguments.extend(Some(argument).filter(|text| !text.is_empty()));
            match self.rest.strip_prefix(',') {
                Some(rest) => self.rest = rest,
                None => {
                    self.rest = self.rest.strip_prefix('>')?;
                    return Some(arguments);
                }
            }
        }
    }

    /// Returns true at a scope without a name: `{closure_env#0}`, `(anonymous namespace)`.
    fn starts_unnamed(&self) -> bool {
        self.rest.starts_with('{') || self.rest.starts_with("(anonymous")
    }

    /// Reads a name, or what stands for one.
    fn read_word(&mut self) -> Option<String> {
        let end = if self.starts_unnamed() {
            let close = if self.rest.starts_with('{') { '}' } else { ')' };
            self.rest.find(close)? + 1
        } else {
            self.rest.find(|c| !is_word(c)).unwrap_or(self.rest.len())
        };
        let (word, rest) = self.rest.split_at(end);
        self.rest = rest;
        (!word.is_empty()).then(|| word.to_owned())
    }

    /// Reads the other words of an integer whose first is `first`; `None` where that is no integer.
    fn read_integer(&mut self, first: &str) -> Option<String> {
        let mut words = IntegerWords::default();
        words.absorb_word(first).then_some(())?;
        loop {
            let after_space = self.rest.trim_start();
            let end = after_space
                .find(|c| !is_word(c))
                .unwrap_or(after_space.len());
            let (word, rest) = after_space.split_at(end);
            if !words.absorb_word(word) {
                break;
            }
            self.rest = rest;
        }
        let mut integer = String::new();
        words.flush(&mut integer);
        Some(integer)
    }

    fn skip(&mut self, first: char) {
        self.rest = &self.rest[first.len_utf8()..];
    }
}

fn starts_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_' || c == '$'
}

fn is_word(c: char) -> bool {
    starts_word(c) || c == '#'
}

fn spell_path(mut parts: Vec<PathPart>) -> String {
    let is_standard = match StandardLibrary::of_path(&parts) {
        Some(StandardLibrary::Rust) => {
            let modules = parts.iter().take_while(|part| part.is_plain_lowercase());
            let first = modules.count().min(parts.len() - 1);
            // A closure is named by its function.
            let is_unnamed = parts[first].name.starts_with('{');
            let first = first - usize::from(is_unnamed && first > 0);
            parts.drain(..first);
            true
        }
        Some(StandardLibrary::Cxx) => {
            let is_own = |part: &PathPart| !INLINE_NAMESPACES.contains(&part.name.as_str());
            parts.retain(is_own);
            true
        }
        None => false,
    };
    if is_standard {
        let arguments = parts.iter_mut().filter_map(|part| part.arguments.as_mut());
        arguments.for_each(drop_default_arguments);
    }
    let spelled: Vec<String> = parts.iter().map(PathPart::spelled).collect();
    let spelled = spelled.join("::");
    for (long, alias) in STRING_ALIASES {
        // Whole, or the scope of a function.
        match spelled.strip_prefix(long) {
            Some(rest) if rest.is_empty() || rest.starts_with("::") => {
                return format!("{alias}{rest}");
            }
            _ => {}
        }
    }
    spelled
}

/// Namespaces of libstdc++ and libc++ that no source names.
const INLINE_NAMESPACES: [&str; 4] = ["__cxx11", "__1", "__cxx1998", "_V2"];

/// Strings of C++, which everybody writes by their typedefs.
const STRING_ALIASES: [(&str, &str); 4] = [
    ("std::basic_string<char>", "std::string"),
    ("std::basic_string<wchar_t>", "std::wstring"),
    ("std::basic_string_view<char>", "std::string_view"),
    ("std::basic_string_view<wchar_t>", "std::wstring_view"),
];

/// Arguments that are a default wherever they end a list, without their own arguments.
const ALLOCATOR_ARGUMENTS: [&str; 5] = [
    "std::allocator",
    "Global",
    "RandomState",
    "(__gnu_cxx::_Lock_policy)2",
    "(__gnu_cxx::_Lock_policy)1",
];
/// Arguments that are a default if they are about the first argument of the list.
const TRAIT_ARGUMENTS: [&str; 5] = [
    "std::char_traits",
    "std::default_delete",
    "std::less",
    "std::hash",
    "std::equal_to",
];

/// Removes defaults from the end of the arguments.
fn drop_default_arguments(arguments: &mut Vec<String>) {
    while let [first, .., last] = arguments.as_slice() {
        let (head, own) = last.split_once('<').unwrap_or((last, ""));
        let is_about_first = own.strip_suffix('>') == Some(first);
        let is_trait = TRAIT_ARGUMENTS.contains(&head) && is_about_first;
        if !is_trait && !ALLOCATOR_ARGUMENTS.contains(&head) {
            return;
        }
        arguments.pop();
    }
}

/// Standard library that a type belongs to.
#[derive(Clone, Copy, PartialEq, Eq)]
enum StandardLibrary {
    Rust,
    Cxx,
}

/// Modules of Rust's std, by which its types are told from those of C++.
const RUST_STD_MODULES: [&str; 30] = [
    "alloc",
    "any",
    "backtrace",
    "borrow",
    "boxed",
    "cell",
    "collections",
    "env",
    "error",
    "ffi",
    "fmt",
    "fs",
    "future",
    "hash",
    "io",
    "net",
    "ops",
    "os",
    "panic",
    "panicking",
    "path",
    "pin",
    "process",
    "rt",
    "sync",
    "sys",
    "sys_common",
    "task",
    "thread",
    "time",
];

impl StandardLibrary {
    fn of_path(parts: &[PathPart]) -> Option<Self> {
        let name_at = |index: usize| parts.get(index).map(|part| part.name.as_str());
        match (name_at(0)?, name_at(1)?) {
            ("core" | "alloc", _) => Some(Self::Rust),
            // C++ has a class `std::thread`.
            ("std", "thread") => match name_at(2) {
                Some("id") | None => Some(Self::Cxx),
                Some(inner) if inner.starts_with('_') => Some(Self::Cxx),
                Some(_) => Some(Self::Rust),
            },
            ("std", module) if RUST_STD_MODULES.contains(&module) && parts.len() > 2 => {
                Some(Self::Rust)
            }
            ("std" | "__gnu_cxx", _) => Some(Self::Cxx),
            _ => None,
        }
    }
}

/// Returns true if the standard library of Rust or C++ declares the types of `scope`.
///
/// ```
/// use relayout_layout::is_standard_scope;
///
/// assert!(is_standard_scope("std::__detail"));
/// assert!(is_standard_scope("alloc::sync"));
/// assert!(!is_standard_scope("net::std"));
/// ```
pub fn is_standard_scope(scope: &str) -> bool {
    let outermost = scope.split("::").next().unwrap_or(scope);
    [
        "std",
        "core",
        "alloc",
        "__gnu_cxx",
        "__cxxabiv1",
        "hashbrown",
    ]
    .contains(&outermost)
}

#[cfg(test)]
mod tests {
    use super::readable_type_name;

    #[track_caller]
    fn check(scope: Option<&str>, name: &str, expect: &str) {
        assert_eq!(readable_type_name(scope, name), expect);
    }

    #[test]
    fn names_of_c_stay() {
        check(None, "mm_struct", "mm_struct");
        check(None, "long unsigned int", "long unsigned int");
    }

    #[test]
    fn own_types_keep_their_scope() {
        check(Some("net"), "Pool", "net::Pool");
        check(None, "Stats<long unsigned int>", "Stats<unsigned long>");
        check(Some("five::pool"), "Slot<u64>", "five::pool::Slot<u64>");
        check(Some("(anonymous)"), "Job", "(anonymous)::Job");
        check(Some("a::{impl#0}"), "B", "a::{impl#0}::B");
    }

    #[test]
    fn containers_of_cxx() {
        check(
            Some("std"),
            "vector<net::Worker, std::allocator<net::Worker> >",
            "std::vector<net::Worker>",
        );
        check(
            Some("std::__cxx11"),
            "basic_string<char, std::char_traits<char>, std::allocator<char> >",
            "std::string",
        );
        check(
            Some("std"),
            "map<std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >, long unsigned int, \
             std::less<void>, std::allocator<std::pair<int const, char> > >",
            "std::map<std::string, unsigned long, std::less<void>>",
        );
        check(Some("std"), "allocator<char>", "std::allocator<char>");
        check(Some("std::thread"), "_State", "std::thread::_State");
        check(Some("std::__1"), "mutex", "std::mutex");
    }

    #[test]
    fn wrappers_of_rust() {
        check(
            Some("alloc::sync"),
            "ArcInner<std::sync::poison::mutex::Mutex<alloc::vec::Vec<ignore::walk::Message, alloc::alloc::Global>>>",
            "ArcInner<Mutex<Vec<ignore::walk::Message>>>",
        );
        check(
            Some("std::thread::spawn"),
            "{closure_env#1}<a::B>",
            "spawn::{closure_env#1}<a::B>",
        );
        check(
            Some("std::collections::hash::map"),
            "HashMap<&str, u64, std::hash::random::RandomState>",
            "HashMap<&str, u64>",
        );
        check(
            Some("core::option::Option<&mut [u8]>"),
            "Some",
            "Option<&mut [u8]>::Some",
        );
        check(
            Some("tokio::sync::mpsc::chan"),
            "Chan<usize, tokio::sync::mpsc::bounded::Semaphore>",
            "tokio::sync::mpsc::chan::Chan<usize, tokio::sync::mpsc::bounded::Semaphore>",
        );
        check(
            None,
            "Box<dyn core::ops::function::Fn<(i32, u8), Output=()> + core::marker::Send>",
            "Box<dyn Fn<(i32, u8), Output=()> + Send>",
        );
        check(
            None,
            "fn(alloc::string::String) -> a::B",
            "fn(String) -> a::B",
        );
    }

    #[test]
    fn damaged_names_stay() {
        for name in ["a<b", "a<(b>", "::", "a::", "x<{y", "a::<", "<<<<"] {
            check(None, name, name);
        }
    }
}
