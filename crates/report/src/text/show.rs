//! A type as pahole's text, or as columns.

pub mod packed;

use relayout_layout::{Type, TypeArena, TypeId};
use relayout_pahole_text::Options;

use relayout_session::show::{ShownType, TypeMeasures};

/// Renders a type as pahole does. A typedef of an anonymous type is rendered as a typedef, a scalar
/// in one line.
pub fn layout_text(types: &TypeArena, found: &ShownType<'_>, options: &Options) -> String {
    let Some(mut text) = relayout_pahole_text::render(types, found.id, options) else {
        return one_line(types, found);
    };
    if matches!(types.get(found.id), Type::Typedef { .. }) && is_anonymous(types, found.id) {
        text.truncate(text.trim_end().trim_end_matches(';').len());
        text = format!("typedef {text} {};\n", found.name);
    }
    text
}

/// Renders where a type is defined, as `pahole -I` does: the unit, the offset of the entry, file and line. Empty if that is
/// not known, as in BTF.
pub fn place_text(types: &TypeArena, found: &ShownType<'_>, unit: Option<(String, u64)>) -> String {
    let decl = types
        .aggregate(found.id)
        .and_then(|aggregate| aggregate.decl.as_ref());
    let Some(((unit, offset), decl)) = unit.zip(decl) else {
        return String::new();
    };
    format!(
        "/* Used at: {unit} */\n/* <{offset:x}> {}:{} */\n",
        decl.file, decl.line
    )
}

/// Renders the columns of `pahole -s`: name, size, number of holes.
pub fn sizes_text(found: &ShownType<'_>, traits: Option<&TypeMeasures>) -> String {
    let traits = traits.copied().unwrap_or_default();
    format!("{}\t{}\t{}\n", found.name, traits.size, traits.holes)
}

fn is_anonymous(types: &TypeArena, id: TypeId) -> bool {
    match types.get(types.strip_typedefs(id)) {
        Type::Aggregate(aggregate) => aggregate.name.is_none(),
        Type::Enum { name, .. } => name.is_none(),
        _ => false,
    }
}

fn one_line(types: &TypeArena, found: &ShownType<'_>) -> String {
    let size = types
        .size_of(found.id)
        .map_or("no size".to_owned(), |size| format!("size: {size}"));
    match types.get(found.id) {
        Type::Typedef {
            target: Some(target),
            ..
        } => {
            format!(
                "typedef {} {}; /* {size} */\n",
                types.name_of(*target),
                found.name
            )
        }
        _ => format!("{}; /* {size} */\n", types.name_of(found.id)),
    }
}
