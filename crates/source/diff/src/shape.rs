//! One type as far as a comparison needs it: its members in their places, detached from the arena
//! that it was loaded into.
use std::fmt;

use relayout_layout::{
    Aggregate, AggregateKind, BitRange, Member, NESTING_MAX, SourceLine, Type, TypeArena, TypeId,
};

use crate::fingerprint::FingerprintCache;
use crate::gaps::{self, BitGap};
use crate::spelling::{self, canonical_type};

/// Members of one type that are compared; anonymous types in damaged debug information can repeat
/// each other without end.
const FIELDS_MAX: usize = 1 << 16;
/// Members of one type that are looked at, also those that hold nothing.
const VISITS_MAX: usize = 2 * FIELDS_MAX;

/// What a type is found by in another file. C++ lets a class be declared with `struct`, so the two
/// are one.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TypeKey {
    /// `struct`, `union`, or a typedef of something without a tag.
    pub tag: TypeTag,
    /// Namespaces and classes around it.
    pub scope: Option<Box<str>>,
    /// Name without scope, as one compiler would spell it for all.
    pub name: Box<str>,
}

/// What stands before a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum TypeTag {
    /// `struct` or `class`.
    Struct,
    /// `union`.
    Union,
    /// Nothing: a typedef of a struct or union that has no tag.
    Typedef,
}

/// A struct, union or class in its places.
#[derive(Clone, Debug, PartialEq)]
pub struct TypeLayout {
    /// What it is found by.
    pub key: TypeKey,
    /// As in the source.
    pub kind: AggregateKind,
    /// `sizeof` in bytes.
    pub size: u64,
    /// `aligned(N)` on the type in bytes, where the debug information says so.
    pub declared_align: Option<u64>,
    /// Where it is declared.
    pub decl: Option<SourceLine>,
    /// Members in order of declaration, with those of anonymous structs and unions.
    pub members: Vec<PlacedMember>,
    /// Unused bits, by place. Unions have none.
    pub gaps: Vec<BitGap>,
    /// Equal where the type and all that it holds by value lies in the same places.
    pub fingerprint: u64,
}

/// One member in its place.
#[derive(Clone, Debug, PartialEq)]
pub struct PlacedMember {
    /// From the type: `flags`; `u.inuse` in an anonymous type with a name for the member;
    /// `slots[].x` in an array of such, for the first element. A base class goes by its type.
    pub path: Box<str>,
    /// Bytes from the start of the type; for a bitfield, of the byte with its first bit.
    pub offset: u64,
    /// Bytes, of a whole array; 0 where unknown. For a bitfield, those that its bits touch.
    pub size: u64,
    /// The file only declares its type, as clang does with classes that others define.
    pub type_unknown: bool,
    /// Bitfields: bits from the start of the type.
    pub bits: Option<BitRange>,
    /// Spelled the same whichever compiler wrote it.
    pub type_name: Box<str>,
    /// The named type that it holds by value, alone or as an array.
    pub held_type: Option<HeldType>,
}

/// A named type held by value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeldType {
    /// Which.
    pub key: TypeKey,
    /// Of the type held, as [`Shape::fingerprint`].
    pub fingerprint: u64,
    /// Of one, in bytes.
    pub size: u64,
}

impl fmt::Display for TypeKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.tag {
            TypeTag::Struct => "struct ",
            TypeTag::Union => "union ",
            TypeTag::Typedef => "",
        })?;
        f.write_str(&self.qualified())
    }
}

impl TypeKey {
    /// The name with its scope: `std::pair<int,int>`.
    pub fn qualified(&self) -> String {
        match &self.scope {
            Some(scope) => format!("{scope}::{}", self.name),
            None => self.name.to_string(),
        }
    }
}

impl PlacedMember {
    /// First bit, from the start of the type.
    pub fn start_bits(&self) -> u64 {
        self.bits
            .map_or(self.offset.saturating_mul(8), |bits| bits.offset_bits)
    }

    /// The bit after its last.
    pub fn end_bits(&self) -> u64 {
        self.start_bits().saturating_add(self.size_bits())
    }

    /// Bits.
    pub fn size_bits(&self) -> u64 {
        self.bits
            .map_or(self.size.saturating_mul(8), |bits| bits.size_bits)
    }

    /// Whether it is known to have another size than `other`.
    pub fn is_resized(&self, other: &Self) -> bool {
        self.size_bits() != other.size_bits() && !self.type_unknown && !other.type_unknown
    }

    /// First and last line of `line_bytes` that it lies on, counted from 0 at the start of the
    /// type; `None` for what has no size.
    pub fn line_range(&self, line_bytes: u64) -> Option<(u64, u64)> {
        let line_bits = line_bytes.max(1).saturating_mul(8);
        let last = self.end_bits().checked_sub(1)?;
        let first = self.start_bits();
        (self.size_bits() > 0).then_some((first / line_bits, last / line_bits))
    }
}

impl TypeLayout {
    /// The struct, union or class at `id`, or the one without a tag that the typedef at `id`
    /// names. `None` for other types, and for what has no name or is only declared.
    pub fn from_type(types: &TypeArena, id: TypeId) -> Option<Self> {
        let (key, aggregate) = named_aggregate(types, id)?;
        let mut walk = MemberCollector {
            types,
            visits: 0,
            fingerprints: FingerprintCache::new(types),
            members: Vec::new(),
        };
        walk.collect_members(aggregate, 0, "", 0);
        let fingerprint = walk.fingerprints.fingerprint(id);
        let fields = walk.members;
        Some(Self {
            kind: aggregate.kind,
            size: aggregate.size,
            declared_align: aggregate.declared_align,
            decl: aggregate.decl.clone(),
            gaps: gaps::find_gaps(&fields, aggregate),
            key,
            members: fields,
            fingerprint,
        })
    }
}

/// A complete aggregate and what it is called by.
fn named_aggregate(types: &TypeArena, id: TypeId) -> Option<(TypeKey, &Aggregate)> {
    let aggregate = types.aggregate(id).filter(|found| found.complete)?;
    let (tag, name) = match &aggregate.name {
        Some(name) if aggregate.kind == AggregateKind::Union => (TypeTag::Union, name.as_str()),
        Some(name) => (TypeTag::Struct, name.as_str()),
        None => (TypeTag::Typedef, typedef_name(types, id)?),
    };
    let scope = aggregate
        .scope
        .as_deref()
        .filter(|_| tag != TypeTag::Typedef)
        .map(|scope| canonical_type(scope).into());
    let name = if name.contains('<') {
        canonical_type(name).into()
    } else {
        name.into()
    };
    Some((TypeKey { tag, scope, name }, aggregate))
}

/// The innermost typedef on the way to what it names.
fn typedef_name(types: &TypeArena, id: TypeId) -> Option<&str> {
    let mut found = None;
    let mut at = id;
    for _ in 0..NESTING_MAX {
        match types.get(at) {
            Type::Typedef { name, target, .. } => {
                found = Some(name.as_str());
                at = (*target)?;
            }
            Type::Qualified { target, .. } => at = (*target)?,
            _ => break,
        }
    }
    found
}

struct MemberCollector<'t> {
    types: &'t TypeArena,
    visits: usize,
    fingerprints: FingerprintCache<'t>,
    members: Vec<PlacedMember>,
}

impl MemberCollector<'_> {
    fn collect_members(&mut self, aggregate: &Aggregate, base: u64, prefix: &str, depth: u32) {
        if depth > NESTING_MAX {
            return;
        }
        let variants = aggregate.variants.iter();
        let variants = variants.flat_map(|all| {
            let alternatives = all.variants.iter().map(|variant| &variant.member);
            all.discriminant.iter().chain(alternatives)
        });
        for member in aggregate.members.iter().chain(variants) {
            self.visits += 1;
            if self.members.len() < FIELDS_MAX && self.visits < VISITS_MAX {
                self.collect_member(member, base, prefix, depth);
            }
        }
    }

    fn collect_member(&mut self, member: &Member, base: u64, prefix: &str, depth: u32) {
        let offset = base.saturating_add(member.offset);
        let (element, is_array) = self.array_element(member.ty);
        let inline = match self.types.aggregate(element) {
            Some(found) if found.complete && named_aggregate(self.types, element).is_none() => {
                Some(found)
            }
            _ => None,
        };
        let path = self.member_path(member, element, prefix);
        match inline {
            Some(inner) if member.bits.is_none() => {
                let before = self.members.len();
                let prefix = match (&member.name, is_array) {
                    (None, _) => prefix.to_owned(),
                    (Some(_), false) => format!("{path}."),
                    (Some(_), true) => format!("{path}[]."),
                };
                if is_array {
                    self.push_member(member, base, path.clone());
                }
                self.collect_members(inner, offset, &prefix, depth + 1);
                if self.members.len() == before && member.name.is_some() {
                    self.push_member(member, base, path);
                }
            }
            _ => self.push_member(member, base, path),
        }
    }

    fn member_path(&self, member: &Member, element: TypeId, prefix: &str) -> String {
        let name = match &member.name {
            Some(name) => spelling::canonical_member(name).into_owned(),
            None => named_aggregate(self.types, element)
                .map_or_else(|| "(unnamed)".to_owned(), |(key, _)| key.qualified()),
        };
        format!("{prefix}{name}")
    }

    /// What an array is of, however many dimensions it has; else the type itself.
    fn array_element(&self, id: TypeId) -> (TypeId, bool) {
        let mut at = id;
        let mut is_array = false;
        for _ in 0..NESTING_MAX {
            match self.types.get(self.types.strip_typedefs(at)) {
                Type::Array { element, .. } => {
                    at = *element;
                    is_array = true;
                }
                _ => break,
            }
        }
        (at, is_array)
    }

    fn push_member(&mut self, member: &Member, base: u64, path: String) {
        let known = self.types.size_of(member.ty);
        let (offset, size, bits) = match member.bits {
            Some(bits) => {
                let first = base.saturating_mul(8).saturating_add(bits.offset_bits);
                let end = first.saturating_add(bits.size_bits);
                let moved = BitRange {
                    offset_bits: first,
                    ..bits
                };
                (first / 8, end.div_ceil(8) - first / 8, Some(moved))
            }
            None => {
                let offset = base.saturating_add(member.offset);
                (offset, known.unwrap_or(0), None)
            }
        };
        let (element, _) = self.array_element(member.ty);
        let holds = named_aggregate(self.types, element).map(|(key, inner)| (key, inner.size));
        let holds = holds
            .filter(|_| bits.is_none())
            .map(|(key, size)| HeldType {
                key,
                fingerprint: self.fingerprints.fingerprint(element),
                size,
            });
        self.members.push(PlacedMember {
            path: path.into(),
            offset,
            size,
            type_unknown: known.is_none(),
            bits,
            type_name: canonical_type(&self.types.name_of(member.ty)).into(),
            held_type: holds,
        });
    }
}
