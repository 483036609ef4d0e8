//! Comparison of results with the truth.

use std::collections::BTreeMap;

use relayout_layout::{TypeArena, TypeId};
use relayout_profile::{AccessKind, Addr, Profile, RunId};
use relayout_resolve::types::shape;
use relayout_resolve::{AddressOwner as Found, ObjectKind, Resolution};

use super::{MemberWay, TruePlace, Truth, plain};

/// Counts of distinct accesses, by instruction, kind, type and member.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Score {
    /// Accesses to objects that the program described.
    pub asked: u64,
    /// Accesses with an answer.
    pub answered: u64,
    /// Accesses with a right answer.
    pub right: u64,
}

impl Score {
    pub fn add(&mut self, other: Self) {
        self.asked += other.asked;
        self.answered += other.answered;
        self.right += other.right;
    }

    pub fn wrong(self) -> u64 {
        self.answered - self.right
    }

    /// Returns the fraction of right answers.
    pub fn rate(self) -> f64 {
        self.right as f64 / self.answered.max(1) as f64
    }
}

/// Verdict on one access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    /// No answer, or only the type of a number.
    Silent,
    Right,
    Wrong,
}

/// Scores of a profile, with a description of the wrong answers.
#[derive(Debug, Default)]
pub struct Scores {
    /// Answers of instructions alone, about aggregates.
    pub evidence: Score,
    /// Answers of the resolution, including variables.
    pub resolved: Score,
    pub wrong: Vec<String>,
    /// Instructions without an answer: address, and the accessed member.
    pub silent: Vec<String>,
}

/// Distinct access: instruction, whether it stores, outermost type or variable, member.
type Key = (u64, bool, String, String);

pub fn score(truth: &Truth, profile: &Profile, resolution: &Resolution) -> Scores {
    let mut scores = Scores::default();
    let mut evidence: BTreeMap<Key, (Verdict, String)> = BTreeMap::new();
    let mut resolved: BTreeMap<Key, (Verdict, String)> = BTreeMap::new();
    for row in &profile.counts {
        let Some(place) = truth.place_at(row.addr.0) else {
            continue;
        };
        let pc = profile.sites[row.site.index()].pc.wrapping_sub(truth.bias);
        let writes = row.access != AccessKind::Read;
        let (name, member) = match &place {
            TruePlace::Variable(name) => (name.clone(), String::new()),
            TruePlace::Object(ways) => (ways[0].types[0].0.clone(), ways[0].names.join(".")),
        };
        let key = (pc, writes, name, member);
        let size = u64::from(row.size);
        if let TruePlace::Object(ways) = &place {
            let site = resolution.evidence(row.run, row.site);
            let found = site.evidence_within(writes, row.size);
            let said = found.and_then(|e| {
                let base = row.addr.checked_add_signed(e.offset.wrapping_neg())?;
                Some((e.ty, base, format!("{:?}", e.trust)))
            });
            let verdict = match said {
                None => (Verdict::Silent, String::new()),
                Some((ty, base, trust)) => {
                    let (verdict, words) =
                        judge(resolution.types(), ways, ty, base.0, row.addr.0, size);
                    (verdict, format!("{words} {trust}"))
                }
            };
            keep_worst(&mut evidence, key.clone(), verdict);
        }
        let verdict = place_verdict(resolution, &place, row.run.0, row.addr.0, size);
        keep_worst(&mut resolved, key, verdict);
    }
    scores.evidence = sum(&evidence, "instruction", &mut scores.wrong);
    scores.resolved = sum(&resolved, "resolved", &mut scores.wrong);
    let silent = evidence.iter().filter(|(_, v)| v.0 == Verdict::Silent);
    scores.silent = silent
        .map(|((pc, writes, ty, member), v)| format!("{pc:#x} {writes} {ty}.{member} {}", v.1))
        .collect();
    scores
}

/// Keeps the worst verdict of an access.
fn keep_worst(all: &mut BTreeMap<Key, (Verdict, String)>, key: Key, verdict: (Verdict, String)) {
    let known = all.entry(key).or_insert_with(|| verdict.clone());
    if verdict.0 == Verdict::Wrong && known.0 != Verdict::Wrong {
        *known = verdict;
    }
}

fn sum(all: &BTreeMap<Key, (Verdict, String)>, by: &str, wrong: &mut Vec<String>) -> Score {
    let mut score = Score::default();
    for ((pc, _, name, member), (verdict, words)) in all {
        score.asked += 1;
        score.answered += u64::from(*verdict != Verdict::Silent);
        score.right += u64::from(*verdict == Verdict::Right);
        if *verdict == Verdict::Wrong {
            wrong.push(format!(
                "{by}: {pc:#x} {name}.{member} is said to be {words}"
            ));
        }
    }
    score
}

fn place_verdict(
    resolution: &Resolution,
    truth: &TruePlace,
    run: u16,
    addr: u64,
    size: u64,
) -> (Verdict, String) {
    let (object, variable) = match resolution.address_owner(RunId(run), Addr(addr), size) {
        Found::Unresolved(class) => return (Verdict::Silent, class.to_string()),
        Found::Member { object, .. } => (resolution.object(object), None),
        Found::ScalarGlobal { object, symbol } => (resolution.object(object), Some(symbol)),
    };
    match (truth, variable) {
        (TruePlace::Variable(name), variable) => {
            let symbol = match &object.kind {
                ObjectKind::Global { symbol } | ObjectKind::ThreadLocal { symbol, .. } => {
                    Some(symbol)
                }
                _ => None,
            };
            let is_it = variable.as_ref().or(symbol) == Some(name);
            let verdict = if is_it {
                Verdict::Right
            } else {
                Verdict::Wrong
            };
            (verdict, format!("{variable:?} {:?}", object.kind))
        }
        (TruePlace::Object(_), Some(symbol)) => (Verdict::Wrong, symbol),
        (TruePlace::Object(ways), None) => {
            let types = resolution.types();
            judge(types, ways, object.ty, object.base.0, addr, size)
        }
    }
}

/// Judges the answer that a `ty` begins at `base`. It is right if the type is one of those on a
/// way, or contains the outermost of them, and the members' names agree.
fn judge(
    types: &TypeArena,
    ways: &[MemberWay],
    ty: TypeId,
    base: u64,
    addr: u64,
    size: u64,
) -> (Verdict, String) {
    let words = || {
        let path = addr
            .checked_sub(base)
            .and_then(|at| types.member_at(ty, at, size));
        let path = path.map(|p| p.path).unwrap_or_default();
        format!(
            "{} at {base:#x}: {path} ({:x?})",
            types.name_of(ty),
            ways[0].types
        )
    };
    let Some(aggregate) = types.aggregate(ty) else {
        return match is_array(types, ty) {
            true => holding(types, ways, ty, base, addr, size, words()),
            false => (Verdict::Silent, words()),
        };
    };
    let inside = |&(start, end): &(u64, u64)| base >= start && base + aggregate.size <= end;
    if ways
        .iter()
        .any(|way| way.opaque.as_ref().is_some_and(inside))
    {
        return (Verdict::Silent, words());
    }
    holding(types, ways, ty, base, addr, size, words())
}

fn is_array(types: &TypeArena, ty: TypeId) -> bool {
    matches!(
        types.get(types.strip_typedefs(ty)),
        relayout_layout::Type::Array { .. }
    )
}

fn holding(
    types: &TypeArena,
    ways: &[MemberWay],
    ty: TypeId,
    base: u64,
    addr: u64,
    size: u64,
    words: String,
) -> (Verdict, String) {
    let own = types
        .aggregate(ty)
        .and_then(|a| a.name.as_deref())
        .map(plain);
    let own = own.or_else(|| Some(plain(types.name_of(ty).leak())));
    let Some(at) = addr.checked_sub(base) else {
        return (Verdict::Wrong, words);
    };
    let path = types
        .member_at(ty, at, size)
        .map(|p| p.path)
        .unwrap_or_default();
    let right = ways.iter().any(|way| {
        // Index of the first name that must agree: 0 if `ty` is outside.
        let nested = way
            .types
            .iter()
            .position(|(name, start)| own == Some(name.as_str()) && *start == base);
        let holds_outermost = || {
            let (name, start) = &way.types[0];
            let offset = start.checked_sub(base)?;
            let parts = shape::parts_at(types, ty, offset);
            let same = |part: &shape::TypePart| {
                let part_name = types.aggregate(part.ty).and_then(|a| a.name.as_deref());
                part.offset == 0 && part_name.map(plain) == Some(name)
            };
            parts.iter().any(same).then_some(0)
        };
        match nested.or_else(holds_outermost) {
            Some(from) => named(&path, way, from),
            None => false,
        }
    });
    (
        if right {
            Verdict::Right
        } else {
            Verdict::Wrong
        },
        words,
    )
}

/// Returns true if the last name on the way is in the path. An access to a whole aggregate, or to
/// several members, has the name of the first.
fn named(path: &str, way: &MemberWay, from: usize) -> bool {
    // Within the innermost type, only its own member can be named.
    let last = match way.names.last() {
        Some(name) if from < way.types.len() => name,
        _ => return true,
    };
    path.split(['.', '$'])
        .any(|part| part.trim_end_matches("[]") == last)
        || path.is_empty()
}
