//! Limits that select types, and the measures that they need.

use std::collections::HashSet;

use relayout_layout::{
    Aggregate, AggregateKind, InlineNamespaces, Member, Type, TypeArena, TypeId, TypePattern,
};

use relayout_messages::UserError;

/// Aggregates inside each other are followed this deep; more is damaged debug information.
const DEPTH_MAX: u32 = 64;

/// Measures of a type.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TypeMeasures {
    /// Size in bytes.
    pub size: u64,
    /// Cache lines that it spans from the start of one.
    pub lines: u64,
    /// Number of holes.
    pub holes: u64,
    /// Number of bit holes.
    pub bit_holes: u64,
    /// Bytes in holes.
    pub hole_bytes: u64,
    /// Unused bytes at the end.
    pub padding: u64,
}

impl TypeMeasures {
    /// Measures a type.
    pub fn from_type(types: &TypeArena, id: TypeId, line_bytes: u64) -> Self {
        let size = types.size_of(id).unwrap_or(0);
        let gaps = types.gaps(id).unwrap_or_default();
        Self {
            size,
            lines: size.div_ceil(line_bytes),
            holes: gaps.holes().count() as u64,
            bit_holes: gaps.bit_holes().count() as u64,
            hole_bytes: gaps.holes().fold(0, u64::saturating_add),
            padding: gaps.padding,
        }
    }
}

/// Limits that a type has to meet.
#[derive(Clone, Debug, Default)]
pub struct TypeLimits {
    /// Pattern of a type that a member has to have.
    pub contains: Option<String>,
    /// Members of members count for `contains`, too.
    pub recursive: bool,
    /// Least size in bytes.
    pub size_min: Option<u64>,
    /// Largest size in bytes.
    pub size_max: Option<u64>,
    /// Least number of cache lines.
    pub lines_min: Option<u64>,
    /// Largest number of cache lines.
    pub lines_max: Option<u64>,
    /// Least number of holes.
    pub holes_min: Option<u64>,
    /// Least number of bit holes.
    pub bit_holes_min: Option<u64>,
    /// First letters of the names.
    pub prefix: Option<String>,
    /// First letters that no name has.
    pub excluded_prefix: Option<String>,
    /// Structs and classes only.
    pub structs: bool,
    /// Unions only.
    pub unions: bool,
}

impl TypeLimits {
    /// Returns true if a type of this name can meet the limits.
    pub fn admits_name(&self, name: &str) -> bool {
        let begins = |prefix: &String| name.starts_with(prefix.as_str());
        self.prefix.as_ref().is_none_or(begins)
            && !self.excluded_prefix.as_ref().is_some_and(begins)
    }
}

/// Limits with their pattern parsed.
pub(super) struct TypeFilter<'a> {
    limits: &'a TypeLimits,
    contains: Option<TypePattern>,
    inline: &'a InlineNamespaces,
}

impl<'a> TypeFilter<'a> {
    pub(super) fn new(
        limits: &'a TypeLimits,
        inline: &'a InlineNamespaces,
    ) -> Result<Self, UserError> {
        let contains = limits
            .contains
            .as_deref()
            .map(TypePattern::parse)
            .transpose()
            .map_err(UserError::input)?;
        Ok(Self {
            limits,
            contains,
            inline,
        })
    }

    /// Tells whether any limit is set.
    pub(super) fn is_any(&self) -> bool {
        let limits = self.limits;
        let numbers = [
            limits.size_min,
            limits.size_max,
            limits.lines_min,
            limits.lines_max,
            limits.holes_min,
            limits.bit_holes_min,
        ];
        let has_kind = limits.structs || limits.unions;
        numbers.iter().any(Option::is_some) || has_kind || self.contains.is_some()
    }

    pub(super) fn passes(
        &self,
        types: &TypeArena,
        id: TypeId,
        traits: Option<&TypeMeasures>,
    ) -> bool {
        let limits = self.limits;
        let kind = types.aggregate(id).map(|aggregate| aggregate.kind);
        let is_union = kind == Some(AggregateKind::Union);
        if limits.structs && (is_union || kind.is_none()) || limits.unions && !is_union {
            return false;
        }
        let within = |value: u64, min: Option<u64>, max: Option<u64>| {
            min.is_none_or(|min| value >= min) && max.is_none_or(|max| value <= max)
        };
        traits.is_none_or(|traits| {
            within(traits.size, limits.size_min, limits.size_max)
                && within(traits.lines, limits.lines_min, limits.lines_max)
                && within(traits.holes, limits.holes_min, None)
                && within(traits.bit_holes, limits.bit_holes_min, None)
        }) && self.contains.as_ref().is_none_or(|wanted| {
            types.aggregate(id).is_some_and(|found| {
                let mut seen = HashSet::from([types.strip_typedefs(id)]);
                self.has_member(types, found, wanted, &mut seen, 0)
            })
        })
    }

    fn has_member(
        &self,
        types: &TypeArena,
        aggregate: &Aggregate,
        wanted: &TypePattern,
        seen: &mut HashSet<TypeId>,
        depth: u32,
    ) -> bool {
        depth <= DEPTH_MAX
            && aggregate
                .members
                .iter()
                .any(|member| self.is_or_has(types, member, wanted, seen, depth))
    }

    /// Tells whether the type of a member, of an element of its array or of a typedef's target is
    /// wanted. The members of structs and unions in `seen` are not visited again.
    fn is_or_has(
        &self,
        types: &TypeArena,
        member: &Member,
        wanted: &TypePattern,
        seen: &mut HashSet<TypeId>,
        depth: u32,
    ) -> bool {
        let mut id = member.ty;
        for _ in 0..DEPTH_MAX {
            let definition = types.get(id);
            let target = match definition {
                Type::Typedef { name, target, .. } => {
                    if wanted.admits_kind(definition) && wanted.matches(None, name) {
                        return true;
                    }
                    *target
                }
                Type::Qualified { target, .. } => *target,
                Type::Array { element, .. } => Some(*element),
                Type::Aggregate(found) => {
                    let named = found.name.as_deref().is_some_and(|name| {
                        wanted.admits_kind(definition)
                            && wanted.matches_in(found.scope.as_deref(), name, self.inline)
                    });
                    // Members of an anonymous struct are those of the struct around it.
                    let is_anonymous = found.name.is_none() || member.is_anonymous();
                    let inside = self.limits.recursive || is_anonymous;
                    return named
                        || inside
                            && seen.insert(id)
                            && self.has_member(types, found, wanted, seen, depth + 1);
                }
                _ => return false,
            };
            let Some(target) = target else { return false };
            id = target;
        }
        false
    }

    /// Describes the limits and the extreme values that no type exceeds.
    pub(super) fn describe(&self, summary: &SeenExtremes<'_>) -> String {
        let limits = self.limits;
        let mut had = Vec::new();
        if limits.structs || limits.unions {
            let kind = if limits.unions { "union" } else { "struct" };
            had.push(format!("the selection asks for a {kind}"));
        }
        if let Some(contains) = &self.contains {
            had.push(format!("a member of type `{contains}` is asked for"));
        }
        let mut add = |asked: bool, extreme: &str, most: &ExtremeType<'_>| {
            if let ExtremeType(Some((value, name))) = most
                && asked
            {
                had.push(format!("{extreme} is {value} ({name})"));
            }
        };
        let (size, lines) = (limits.size_min.is_some(), limits.lines_min.is_some());
        add(size, "the largest size", &summary.size);
        let (size, fewest) = (limits.size_max.is_some(), limits.lines_max.is_some());
        add(size, "the smallest size", &summary.size_least);
        add(lines, "the most cache lines", &summary.lines);
        add(fewest, "the fewest cache lines", &summary.lines_least);
        add(limits.holes_min.is_some(), "the most holes", &summary.holes);
        let bits = limits.bit_holes_min.is_some();
        add(bits, "the most bit holes", &summary.bit_holes);
        had.insert(
            0,
            match summary.count {
                1 => "1 type was looked at".to_owned(),
                count => format!("{count} types were looked at"),
            },
        );
        had.join("; ")
    }
}

/// An extreme value and the name of its type.
#[derive(Default)]
struct ExtremeType<'n>(Option<(u64, &'n str)>);

/// Extreme values of all types.
#[derive(Default)]
pub(super) struct SeenExtremes<'n> {
    count: u64,
    size: ExtremeType<'n>,
    size_least: ExtremeType<'n>,
    lines: ExtremeType<'n>,
    lines_least: ExtremeType<'n>,
    holes: ExtremeType<'n>,
    bit_holes: ExtremeType<'n>,
}

impl<'n> ExtremeType<'n> {
    fn add(&mut self, value: u64, name: &'n str, is_better: fn(&u64, &u64) -> bool) {
        if self.0.is_none_or(|(best, _)| is_better(&value, &best)) {
            self.0 = Some((value, name));
        }
    }
}

impl<'n> SeenExtremes<'n> {
    pub(super) fn add(&mut self, name: &'n str, traits: Option<&TypeMeasures>) {
        self.count += 1;
        let Some(traits) = traits else { return };
        self.size.add(traits.size, name, u64::gt);
        self.size_least.add(traits.size, name, u64::lt);
        self.lines.add(traits.lines, name, u64::gt);
        self.lines_least.add(traits.lines, name, u64::lt);
        self.holes.add(traits.holes, name, u64::gt);
        self.bit_holes.add(traits.bit_holes, name, u64::gt);
    }
}
