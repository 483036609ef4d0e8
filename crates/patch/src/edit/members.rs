//! The members of a struct as they stand in the text.

use super::is_rust;
use crate::body::Body;
use crate::find::File;
use crate::refusal::Refusal;

/// The members of `struct struct_name` in the order of the text, nested ones by path
/// (`stats.count`), those of anonymous structs by their own name. Macros whose members cannot be
/// told appear as `?`.
///
/// # Errors
/// A [`Refusal`] when the definition cannot be found or read.
pub fn member_order(
    file_name: &str,
    source: &str,
    struct_name: &str,
) -> Result<Vec<String>, Refusal> {
    if is_rust(file_name) {
        return crate::rust::order(file_name, source, struct_name);
    }
    let members = members(file_name, source, struct_name, None)?.into_iter();
    Ok(members.map(|member| member.path).collect())
}

/// Those members of `struct struct_name` that stand between `#if` and `#endif` in its body, and so are not there
/// in all configurations; named as by [`member_order`]. `decl_line_hint` as of [`edit_struct`](super::edit_struct).
/// None of a Rust struct, whose edits leave `#[cfg]` alone.
///
/// # Errors
/// A [`Refusal`] when the definition cannot be found or read.
pub fn conditional_members(
    file_name: &str,
    source: &str,
    struct_name: &str,
    decl_line_hint: Option<u32>,
) -> Result<Vec<String>, Refusal> {
    if is_rust(file_name) {
        return Ok(Vec::new());
    }
    let members = members(file_name, source, struct_name, decl_line_hint)?.into_iter();
    let conditional = members.filter(|member| member.is_conditional);
    Ok(conditional.map(|member| member.path).collect())
}

struct Member {
    path: String,
    is_conditional: bool,
}

fn members(
    file_name: &str,
    source: &str,
    struct_name: &str,
    decl_line_hint: Option<u32>,
) -> Result<Vec<Member>, Refusal> {
    let definition = File::new(file_name, source).definition(struct_name, decl_line_hint)?;
    let mut found = Vec::new();
    list(&definition.body, "", false, &mut found);
    Ok(found)
}

fn list(body: &Body, prefix: &str, is_conditional: bool, found: &mut Vec<Member>) {
    for item in &body.items {
        let is_conditional = is_conditional || !item.branches.is_empty();
        let member = |path: String| Member {
            path,
            is_conditional,
        };
        if item.names.is_empty() && item.body.is_none() {
            found.push(member("?".to_owned()));
        }
        let own = item.names.iter();
        found.extend(own.map(|name| member(format!("{prefix}{name}"))));
        if let Some(inner) = item.body.as_deref() {
            let prefix = match item.names.first() {
                Some(name) => format!("{prefix}{name}."),
                None => prefix.to_owned(),
            };
            list(inner, &prefix, is_conditional, found);
        }
    }
}
