//! Head and tail of the emitted text.

use std::collections::BTreeSet;
use std::fmt::Write;

use super::EmitForm;
use super::blocks::AssertionBlocks;
use super::text::comment_text;

/// Directive that silences a warning. GCC and Clang support `offsetof` in a class with bases or
/// access specifiers, but warn about it.
const QUIET: &str = "#if defined(__cplusplus) && defined(__GNUC__)\n\
                     #pragma GCC diagnostic push\n\
                     #pragma GCC diagnostic ignored \"-Winvalid-offsetof\"\n\
                     #endif\n";
const QUIET_END: &str = "\n#if defined(__cplusplus) && defined(__GNUC__)\n\
                         #pragma GCC diagnostic pop\n\
                         #endif\n";

/// Renders the text before the assertions: a comment and the includes.
pub fn render_head(form: EmitForm, headers: &[String], blocks: &AssertionBlocks<'_>) -> String {
    let (option, rest) = match form {
        EmitForm::StaticAssert => ("static-assert", "For C11, C++11 and later."),
        EmitForm::Kernel => ("kernel", "For a source file of the kernel."),
    };
    let mut about = vec![format!(
        "Layout assertions, from relayout.toml by `relayout check --emit {option}`. {rest}"
    )];
    let (included, apart) = split_includes(form, headers, &blocks.declared_in);
    if !apart.is_empty() {
        about.push(format!(
            "Include it, or put it, after the definitions in {}.",
            apart.join(", ")
        ));
    }
    let macros = blocks.macros();
    if !macros.is_empty() {
        about.push(format!(
            "The build of a configuration that no condition tells defines its macro: {}.",
            macros.join(", ")
        ));
    }
    let mut text = comment_text(&about);
    match form {
        EmitForm::StaticAssert => {
            text.push_str("#include <assert.h>\n#include <stdalign.h>\n#include <stddef.h>\n");
        }
        EmitForm::Kernel => {
            for name in ["build_bug.h", "cache.h", "init.h", "math.h", "stddef.h"] {
                let _ = writeln!(text, "#include <linux/{name}>");
            }
        }
    }
    for name in included {
        let _ = writeln!(text, "#include {name}");
    }
    if form == EmitForm::StaticAssert {
        text.push('\n');
        text.push_str(QUIET);
    }
    text
}

/// Text after the assertions.
pub fn render_tail(form: EmitForm) -> &'static str {
    match form {
        EmitForm::StaticAssert => QUIET_END,
        EmitForm::Kernel => "",
    }
}

/// Splits the source files into `#include` operands and files that cannot be included.
fn split_includes(
    form: EmitForm,
    headers: &[String],
    declared_in: &BTreeSet<String>,
) -> (Vec<String>, Vec<String>) {
    if form == EmitForm::StaticAssert {
        let quoted = headers.iter().map(|name| format!("\"{name}\""));
        let apart = match headers {
            [] => declared_in.iter().cloned().collect(),
            _ => Vec::new(),
        };
        return (quoted.collect(), apart);
    }
    let mut included = Vec::new();
    let mut apart = Vec::new();
    for file in declared_in {
        match kernel_header(file) {
            Some(name) => included.push(format!("<{name}>")),
            None => apart.push(file.clone()),
        }
    }
    included.dedup();
    (included, apart)
}

/// Returns the include path of a kernel header: `linux/mm_types.h` for
/// `/build/linux/include/linux/mm_types.h`. Headers of a single architecture give `None`.
fn kernel_header(file: &str) -> Option<&str> {
    let name = match file.rsplit_once("/include/") {
        Some((before, _)) if before.contains("arch/") => return None,
        Some((_, name)) => name,
        None => file.strip_prefix("include/")?,
    };
    let name = name.strip_prefix("uapi/").unwrap_or(name);
    name.ends_with(".h").then_some(name)
}
