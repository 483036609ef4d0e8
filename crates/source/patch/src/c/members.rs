//! Members of a struct in the order of the text.

use crate::body::BracedBody;
use crate::find::StructDefinition;

/// A member by its path, as [`member_order`](crate::member_order) names it.
pub(crate) struct SourceMember {
    pub path: String,
    /// True between `#if` and `#endif`.
    pub is_conditional: bool,
}

/// Returns the members of a definition, those of nested structs behind the one that has them.
pub(crate) fn source_members(definition: &StructDefinition) -> Vec<SourceMember> {
    let mut found = Vec::new();
    collect_members(&definition.body, "", false, &mut found);
    found
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
