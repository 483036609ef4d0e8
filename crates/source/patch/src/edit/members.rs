//! Members of a struct in the order of the text.

use crate::body::BracedBody;
use crate::file_kind::is_rust;
use crate::refusal::EditRefusal;
use crate::tokenized::TokenizedFile;

/// Returns the members of `struct struct_name` in the order of the text, nested ones by path
/// (`stats.count`), members of anonymous structs by their own name, and an unnamed member of a
/// tagged struct by its tag (`struct counters`). A macro whose members are unknown appears as `?`.
///
/// ```
/// let source = "struct s {\n\tint a;\n\tstruct { int b; } stats;\n};\n";
/// let members = relayout_patch::member_order("s.h", source, "s").unwrap();
/// assert_eq!(members, ["a", "stats", "stats.b"]);
/// ```
///
/// # Errors
/// An [`EditRefusal`] if the definition is not found or not understood.
pub fn member_order(
    file_name: &str,
    source: &str,
    struct_name: &str,
) -> Result<Vec<String>, EditRefusal> {
    if is_rust(file_name) {
        return crate::rust::field_order(file_name, source, struct_name);
    }
    let members = source_members(file_name, source, struct_name, None)?.into_iter();
    Ok(members.map(|member| member.path).collect())
}

/// Returns the members of `struct struct_name` that stand between `#if` and `#endif` in its body,
/// and so are missing in some configurations. They are named as by [`member_order`];
/// `decl_line_hint` is that of [`edit_struct`](super::edit_struct). A Rust struct has none: its
/// edits leave `#[cfg]` alone.
///
/// # Errors
/// An [`EditRefusal`] if the definition is not found or not understood.
pub fn conditional_members(
    file_name: &str,
    source: &str,
    struct_name: &str,
    decl_line_hint: Option<u32>,
) -> Result<Vec<String>, EditRefusal> {
    if is_rust(file_name) {
        return Ok(Vec::new());
    }
    let members = source_members(file_name, source, struct_name, decl_line_hint)?.into_iter();
    let conditional = members.filter(|member| member.is_conditional);
    Ok(conditional.map(|member| member.path).collect())
}

struct SourceMember {
    path: String,
    is_conditional: bool,
}

fn source_members(
    file_name: &str,
    source: &str,
    struct_name: &str,
    decl_line_hint: Option<u32>,
) -> Result<Vec<SourceMember>, EditRefusal> {
    let file = TokenizedFile::new(file_name, source);
    let definition = match file.find_definition(struct_name, decl_line_hint) {
        Err(EditRefusal::StructNotFound { .. }) if crate::cxx::is_cxx(file_name, &file) => {
            let members = crate::cxx::class_members(&file, struct_name)?.into_iter();
            let members = members.map(|(path, is_conditional)| SourceMember {
                path,
                is_conditional,
            });
            return Ok(members.collect());
        }
        definition => definition?,
    };
    let mut found = Vec::new();
    collect_members(&definition.body, "", false, &mut found);
    Ok(found)
}

fn collect_members(
    body: &BracedBody,
    prefix: &str,
    is_conditional: bool,
    found: &mut Vec<SourceMember>,
) {
    for statement in &body.statements {
        let is_conditional = is_conditional || !statement.branches.is_empty();
        let member = |path: String| SourceMember {
            path,
            is_conditional,
        };
        if statement.names.is_empty() && statement.body.is_none() {
            found.push(member("?".to_owned()));
        }
        let own = statement.names.iter();
        found.extend(own.map(|name| member(format!("{prefix}{name}"))));
        if let Some(inner) = statement.body.as_deref() {
            let prefix = match statement.names.first() {
                Some(name) => format!("{prefix}{name}."),
                None => prefix.to_owned(),
            };
            collect_members(inner, &prefix, is_conditional, found);
        }
    }
}
