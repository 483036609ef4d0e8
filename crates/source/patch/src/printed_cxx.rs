//! Text of classes of C++ and structs of Rust, as pahole and `relayout show` print it, as a definition in C with
//! the same lines.
//!
//! A layout is read by the names of the members. So base classes and access labels are left out, and a type that C
//! cannot spell becomes one that nothing declares.

use std::borrow::Cow;

/// Stands for types that C cannot spell.
const OTHER_TYPE: &str = "struct relayout_other_type";

/// Returns the name of a type without scope and arguments: `Slot` of `tokio::util::Slot<u8>`.
pub fn bare_type_name(name: &str) -> &str {
    let path = match name.find('<') {
        Some(end) if end > 0 => name[..end].trim_end(),
        _ => name,
    };
    path.rsplit("::").next().unwrap_or(path)
}

/// Returns the definition in C. Text of C stays as it is.
pub(crate) fn as_definition_in_c(text: &str) -> Cow<'_, str> {
    let mut is_changed = false;
    let lines: Vec<Cow<'_, str>> = text
        .split('\n')
        .map(|line| match line_in_c(line) {
            Some(changed) => {
                is_changed = true;
                Cow::Owned(changed)
            }
            None => Cow::Borrowed(line),
        })
        .collect();
    match is_changed {
        true => Cow::Owned(lines.join("\n")),
        false => Cow::Borrowed(text),
    }
}

/// Returns the line in C; `None` if it is C already.
fn line_in_c(line: &str) -> Option<String> {
    let code = line.split("/*").next().unwrap_or(line).trim();
    if let Some(label) = code.strip_suffix(':') {
        let is_access = matches!(label, "public" | "protected" | "private");
        return is_access.then(String::new);
    }
    if let Some(head) = code.strip_suffix('{') {
        return head_in_c(head.trim());
    }
    // `} name;`, the end of a struct or union with its member.
    if code.starts_with('}') {
        return None;
    }
    member_in_c(code.strip_suffix(';')?.trim_end())
}

/// `struct Pool {` of `class net::Pool<int> : public Base`.
fn head_in_c(head: &str) -> Option<String> {
    let (keyword, name) = head.split_once(' ')?;
    let keyword = match keyword {
        "class" => "struct",
        "struct" | "union" => keyword,
        _ => return None,
    };
    let name = name.split(" : ").next().unwrap_or(name).trim();
    let in_c = format!("{keyword} {} {{", bare_type_name(name));
    (in_c != format!("{head} {{")).then_some(in_c)
}

fn member_in_c(declaration: &str) -> Option<String> {
    let (declared, attribute) = match declaration.find(" __attribute__") {
        Some(at) => declaration.split_at(at),
        None => (declaration, ""),
    };
    let end_of_name = declared.trim_end().find(" :").unwrap_or(declared.len());
    let (declared, bits) = declared.split_at(end_of_name);
    let declared = declared.trim_end();
    let bounds_at = match declared.ends_with(']') {
        true => declared
            .find('[')
            .filter(|at| !declared[*at..].contains(' '))?,
        false => declared.len(),
    };
    let (declared, bounds) = declared.split_at(bounds_at);
    let (type_text, name) = declared.rsplit_once([' ', '\t'])?;
    let is_identifier = |c: char| c.is_alphanumeric() || c == '_';
    if name.is_empty() || !name.chars().all(is_identifier) || is_spelled_in_c(type_text) {
        return None;
    }
    Some(format!("{OTHER_TYPE} {name}{bounds}{bits}{attribute};"))
}

fn is_spelled_in_c(type_text: &str) -> bool {
    let type_text = type_text.trim();
    let begins_type = |c: char| c.is_alphabetic() || c == '_';
    type_text.starts_with(begins_type)
        && !type_text.contains(['<', '&'])
        && !type_text.contains("::")
        && !type_text.split_whitespace().any(|word| word == "class")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(line: &str, expect: &str) {
        assert_eq!(as_definition_in_c(line), expect);
    }

    #[test]
    fn heads_and_labels() {
        check("class DBImpl : public DB, Plain {", "struct DBImpl {");
        check("struct Slot<a::B<u8>> {", "struct Slot {");
        check("protected:\n\n\tint a;", "\n\n\tint a;");
    }

    #[test]
    fn types_that_c_cannot_spell() {
        let other = OTHER_TYPE;
        check(
            "\tclass deque<a::B*, std::allocator<a::B*> > writers_; /*   360    80 */",
            &format!("{other} writers_;"),
        );
        check(
            "\tstruct Mutex<W> waiters __attribute__((__aligned__(8))); /* 0 64 */",
            &format!("{other} waiters __attribute__((__aligned__(8)));"),
        );
        check("\t*mut ()    ptr[4];", &format!("{other} ptr[4];"));
        check(
            "\tstruct Plain  & reference;",
            &format!("{other} reference;"),
        );
    }

    #[test]
    fn text_of_c_stays() {
        for line in [
            "struct completion {",
            "\tstruct {",
            "\tunsigned int first:3; /* 0: 0 4 */",
            "\tint (*call)(int, void *);",
            "\tconst char * name[16]; /* 8 16 */",
            "\tstruct page *one, two, *many[2];",
            "#define A(x) (x < 4);",
            "\t/* size: 8, cachelines: 1, members: 2 */",
            "} __attribute__((__aligned__(64)));",
            "\t} u;",
            "\t} d_u __attribute__((__aligned__(8))); /*   176    16 */",
            "",
        ] {
            check(line, line);
        }
    }
}
