//! Types and members in C syntax.

use relayout_layout::{Aggregate, SourceLine, Type, TypeArena, TypeId};

use super::expression::{CMember, MemberExtent};
use crate::members::MatchedMember;
use crate::select::{DefinitionFit, FoundDefinition};

/// Largest scalar, in bytes, that every target aligns to its size. i386 aligns larger scalars to 4
/// bytes.
const ALIGNED_SCALAR_MAX: u64 = 4;

/// Type in C syntax.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CTypeName {
    /// Name of the type in expressions.
    pub text: String,
    /// Declaration that the name needs. A macro argument cannot contain commas, so such a type
    /// needs an alias.
    pub declaration: Option<String>,
}

/// Returns the C name of the type. The error explains why the type has no C name.
pub fn c_type_name(
    types: &TypeArena,
    id: TypeId,
    found: &FoundDefinition,
) -> Result<CTypeName, String> {
    if let Some(decl) = &found.decl
        && let Some(language) = other_language(decl)
    {
        return Err(format!(
            "{} is a type of {language}, not of C or C++",
            found.name
        ));
    }
    let text = match (found.fit, types.get(id)) {
        (DefinitionFit::Aggregate, Type::Aggregate(Aggregate { kind, .. })) => {
            format!("{kind} {}", found.name)
        }
        (_, Type::Enum { name: Some(_), .. }) => format!("enum {}", found.name),
        _ => found.name.clone(),
    };
    let known = |c: char| c.is_ascii_alphanumeric() || "_:<>,*&() ".contains(c);
    if !text.chars().all(known) || text.contains("(anon") {
        return Err(format!(
            "`{}` is not a name that can be written in C",
            found.name
        ));
    }
    if !text.contains(',') {
        return Ok(CTypeName {
            text,
            declaration: None,
        });
    }
    let letters = found.name.chars().map(|c| match c {
        c if c.is_ascii_alphanumeric() => c,
        _ => '_',
    });
    let alias = format!("relayout_{}", letters.collect::<String>());
    Ok(CTypeName {
        declaration: Some(format!("typedef {text} {alias};")),
        text: alias,
    })
}

fn other_language(decl: &SourceLine) -> Option<&'static str> {
    match decl.file.rsplit_once('.')?.1 {
        "rs" => Some("Rust"),
        "go" => Some("Go"),
        "zig" => Some("Zig"),
        _ => None,
    }
}

/// Returns the member in C syntax. The error explains why C cannot access the member.
pub fn c_member(types: &TypeArena, place: &MatchedMember) -> Result<CMember, String> {
    let path = &place.path;
    if place.is_bitfield {
        return Err(format!("{path} is a bit-field, which has no offset in C"));
    }
    let known = |c: char| c.is_ascii_alphanumeric() || "_.[]$".contains(c);
    if !path.chars().all(known) {
        return Err(format!("`{path}` is not a name that can be written in C"));
    }
    let stripped = types.get(types.strip_typedefs(place.ty));
    let extent = match stripped {
        Type::Pointer { sigil, .. } if sigil.starts_with('&') => MemberExtent::Reference,
        _ if place.size_bits == 0 => MemberExtent::Empty,
        _ => MemberExtent::Sized,
    };
    let aligned = |size: u64| size > 0 && place.offset().is_multiple_of(size);
    let is_aligned_scalar = match stripped {
        Type::Pointer { align, .. } => aligned(*align),
        Type::Enum { size, .. } => *size <= ALIGNED_SCALAR_MAX && aligned(*size),
        Type::Base { name, size } => {
            let is_long = name.contains("long") && !name.contains("long long");
            let is_word = is_long && !name.contains("double");
            (is_word || *size <= ALIGNED_SCALAR_MAX) && aligned(*size)
        }
        _ => false,
    };
    Ok(CMember {
        path: path.clone(),
        extent,
        is_aligned_scalar,
    })
}
