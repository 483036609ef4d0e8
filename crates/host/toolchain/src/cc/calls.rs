//! Flags that make GCC call the functions that it would expand after it has instrumented.
//!
//! `-fsanitize=thread` announces loads and stores. The copies, fills and comparisons of the C
//! library's functions become plain moves later, up to 256 bytes of a constant size, and those
//! announce nothing. As calls, the runtime sees them. Clang makes calls of all that it instruments.
//!
//! | written as | made a call by |
//! | --- | --- |
//! | `memcpy(a, b, 24)`, `std::memcpy` | `-fno-builtin-memcpy` |
//! | `__builtin_memcpy(a, b, 24)`, as in `std::copy` | a macro of that name |
//! | `__builtin___memcpy_chk(a, b, 24, 64)`: `memcpy` under `_FORTIFY_SOURCE` | a macro of that name |
//! | `strcmp(a, "b")` | a parameter |
//! | large ones of all of these, and copies of structs | `-mstringop-strategy=libcall` |
//!
//! The macros call the function that also checks the size of the destination, since GCC expands it
//! only if it knows that size. They pass the size as a number of which GCC knows nothing.

use std::ffi::OsString;

/// First GCC that has `--param=builtin-string-cmp-inline-length`.
const GCC_WITH_STRING_PARAMETER: u32 = 9;

/// Functions that GCC expands when they are called by name.
const EXPANDED: &[&str] = &[
    "memcpy", "memmove", "mempcpy", "memset", "bcopy", "bzero", "memcmp", "bcmp", "strcpy",
    "stpcpy", "strncpy", "stpncpy", "strcat", "strncat",
];

/// Functions with a destination, a source or a byte, and a size, of which GCC makes a load and a
/// store before it instruments if the size is that of a register.
const COPIES: &[&str] = &["memcpy", "memmove"];
/// Functions with a destination, a source or a byte, and a size.
const SIZED: &[&str] = &["memset", "mempcpy", "strncpy", "stpncpy", "strncat"];
/// Functions with a destination and a text.
const TEXTS: &[&str] = &["strcpy", "stpcpy", "strcat"];
/// Functions that compare as many bytes as they are told.
const COMPARISONS: &[&str] = &["memcmp", "bcmp"];

/// Returns the flags for a GCC of this major version.
pub fn call_flags(major: Option<u32>) -> impl Iterator<Item = OsString> {
    let names = EXPANDED.iter().map(|name| format!("-fno-builtin-{name}"));
    let parameter = (major >= Some(GCC_WITH_STRING_PARAMETER))
        .then(|| "--param=builtin-string-cmp-inline-length=0".to_owned());
    names.chain(parameter).chain(macros()).map(OsString::from)
}

/// Returns the definitions of macros for what is written as a builtin function.
fn macros() -> Vec<String> {
    let everything = hide_number("-1ul");
    let room = hide_number("o");
    let mut macros = Vec::new();
    let mut define = |name: &str, value: String| macros.push(format!("-D{name}={value}"));
    for name in COPIES {
        let (plain, checked) = (
            format!("__builtin_{name}"),
            format!("__builtin___{name}_chk"),
        );
        define(
            &format!("{plain}(d,s,n)"),
            format!("({IS_REGISTER}?{plain}(d,s,n):{checked}(d,s,n,{everything}))"),
        );
        define(
            &format!("{checked}(d,s,n,o)"),
            format!("{checked}(d,s,n,{IS_REGISTER}?(o):{room})"),
        );
    }
    for (names, arguments) in [(SIZED, "d,s,n"), (TEXTS, "d,s")] {
        for name in names {
            let checked = format!("__builtin___{name}_chk");
            define(
                &format!("__builtin_{name}({arguments})"),
                format!("{checked}({arguments},{everything})"),
            );
            define(
                &format!("{checked}({arguments},o)"),
                format!("{checked}({arguments},{room})"),
            );
        }
    }
    define(
        "__builtin_bzero(d,n)",
        format!("((void)__builtin___memset_chk(d,0,n,{everything}))"),
    );
    define(
        "__builtin_bcopy(s,d,n)",
        format!("((void)__builtin___memmove_chk(d,s,n,{everything}))"),
    );
    for name in COMPARISONS {
        let plain = format!("__builtin_{name}");
        // Compilers evaluate comparisons of constants, in `constexpr` functions above all.
        define(
            &format!("{plain}(a,b,n)"),
            format!(
                "(__builtin_constant_p({plain}(a,b,n))?{plain}(a,b,n):{plain}(a,b,{}))",
                hide_number("n")
            ),
        );
    }
    macros
}

/// A condition on the macros' parameter `n`: the size is a constant, and that of a register.
const IS_REGISTER: &str = "__builtin_constant_p(n)&&((n)==1||(n)==2||(n)==4||(n)==8||(n)==16)";

/// Returns an expression whose value is `number`, and of which GCC knows only that it is not larger:
/// the sign of a frame's address is 0 in programs. It has no branch, since GCC would make a copy of
/// the code for each side.
fn hide_number(number: &str) -> String {
    let mask = "(__SIZE_TYPE__)~((__PTRDIFF_TYPE__)__builtin_frame_address(0)>>63)";
    format!("(({number})&{mask})")
}
