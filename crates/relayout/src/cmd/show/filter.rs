//! Which of the types that were looked at are shown.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use relayout_check::TypePattern;
use relayout_layout::{Aggregate, AggregateKind, Type, TypeArena, TypeId};

use super::Args;

/// Aggregates inside each other are followed this deep; more is damaged debug information.
const DEPTH_MAX: u32 = 64;

/// What selections and sorting ask of a type.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct TypeMeasures {
    /// In bytes.
    pub(super) size: u64,
    /// Cache lines that it spans from the start of one.
    pub(super) lines: u64,
    /// Number of holes.
    pub(super) holes: u64,
    /// Bytes in them.
    pub(super) hole_bytes: u64,
    /// Unused bytes at the end.
    pub(super) padding: u64,
}

impl TypeMeasures {
    pub(super) fn from_type(types: &TypeArena, id: TypeId, line_bytes: u64) -> Self {
        let size = types.size_of(id).unwrap_or(0);
        let gaps = types.gaps(id).unwrap_or_default();
        Self {
            size,
            lines: size.div_ceil(line_bytes),
            holes: gaps.holes().count() as u64,
            hole_bytes: gaps.holes().fold(0, u64::saturating_add),
            padding: gaps.padding,
        }
    }
}

/// The selection on the command line.
pub(super) struct TypeFilter<'a> {
    args: &'a Args,
    contains: Option<TypePattern>,
}

impl<'a> TypeFilter<'a> {
    pub(super) fn new(args: &'a Args) -> anyhow::Result<Self> {
        let contains = args.contains.as_deref().map(TypePattern::parse);
        let contains = contains.transpose().map_err(anyhow::Error::msg)?;
        Ok(Self { args, contains })
    }

    /// Whether there is one.
    pub(super) fn is_any(&self) -> bool {
        let args = self.args;
        let limits = [
            args.size_min,
            args.size_max,
            args.lines_min,
            args.lines_max,
            args.holes,
        ];
        limits.iter().any(Option::is_some) || args.structs || args.unions || self.contains.is_some()
    }

    pub(super) fn passes(
        &self,
        types: &TypeArena,
        id: TypeId,
        traits: Option<&TypeMeasures>,
    ) -> bool {
        let args = self.args;
        let kind = types.aggregate(id).map(|aggregate| aggregate.kind);
        let is_union = kind == Some(AggregateKind::Union);
        if args.structs && (is_union || kind.is_none()) || args.unions && !is_union {
            return false;
        }
        let within = |value: u64, min: Option<u64>, max: Option<u64>| {
            min.is_none_or(|min| value >= min) && max.is_none_or(|max| value <= max)
        };
        traits.is_none_or(|traits| {
            within(traits.size, args.size_min, args.size_max)
                && within(traits.lines, args.lines_min, args.lines_max)
                && within(traits.holes, args.holes, None)
        }) && self.contains.as_ref().is_none_or(|wanted| {
            let aggregate = types.aggregate(id);
            aggregate.is_some_and(|found| {
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
                .any(|member| self.is_or_has(types, member.ty, wanted, seen, depth))
    }

    /// The type of a member, an element of its array or what a typedef stands for is wanted.
    /// `seen` are the structs and unions whose members need not be looked at again.
    fn is_or_has(
        &self,
        types: &TypeArena,
        id: TypeId,
        wanted: &TypePattern,
        seen: &mut HashSet<TypeId>,
        depth: u32,
    ) -> bool {
        let mut id = id;
        for _ in 0..DEPTH_MAX {
            let target = match types.get(id) {
                Type::Typedef { name, target, .. } => {
                    if wanted.keyword().is_none() && wanted.matches(None, name) {
                        return true;
                    }
                    *target
                }
                Type::Qualified { target, .. } => *target,
                Type::Array { element, .. } => Some(*element),
                Type::Aggregate(found) => {
                    let keyword = wanted.keyword();
                    let named = found.name.as_deref().is_some_and(|name| {
                        keyword.is_none_or(|keyword| keyword == found.kind.keyword())
                            && wanted.matches(found.scope.as_deref(), name)
                    });
                    // What is in an anonymous struct is a member of the one around it.
                    let inside = self.args.recursive || found.name.is_none();
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

    /// The error where nothing passed.
    pub(super) fn nothing(&self, file: &Path, summary: &SeenExtremes<'_>) -> NothingSelected {
        NothingSelected {
            file: file.to_owned(),
            sentence: self.sentence(summary),
        }
    }

    fn sentence(&self, summary: &SeenExtremes<'_>) -> String {
        let args = self.args;
        let mut had = Vec::new();
        if args.structs || args.unions {
            let kind = if args.unions { "union" } else { "struct" };
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
        let (size, lines) = (args.size_min.is_some(), args.lines_min.is_some());
        add(size, "the largest size", &summary.size);
        let (size, fewest) = (args.size_max.is_some(), args.lines_max.is_some());
        add(size, "the smallest size", &summary.size_least);
        add(lines, "the most cache lines", &summary.lines);
        add(fewest, "the fewest cache lines", &summary.lines_least);
        add(args.holes.is_some(), "the most holes", &summary.holes);
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

/// Nothing fits the selection.
#[derive(Debug, thiserror::Error)]
#[error("no type of {} fits the selection: {sentence}", file.display())]
pub struct NothingSelected {
    file: PathBuf,
    sentence: String,
}

/// A value that no other exceeds, and whose it is.
#[derive(Default)]
struct ExtremeType<'n>(Option<(u64, &'n str)>);

/// What was there to select from.
#[derive(Default)]
pub(super) struct SeenExtremes<'n> {
    count: u64,
    size: ExtremeType<'n>,
    size_least: ExtremeType<'n>,
    lines: ExtremeType<'n>,
    lines_least: ExtremeType<'n>,
    holes: ExtremeType<'n>,
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
    }
}
