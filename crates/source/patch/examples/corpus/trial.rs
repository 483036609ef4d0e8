//! One struct: a random member to a random place, by the editor and by the layout engine.

use relayout_layout::abi::{AtomArrangement, StructShape};
use relayout_layout::catalog::{DebugInfoFormat, TypeCatalog};
use relayout_layout::dwarf::SectionStore;
use relayout_layout::{Aggregate, Type};
use relayout_patch::{EditRefusal, MemberPosition, SourceChange, edit_struct, inverse_changes};
use relayout_statistics::random::{RandomSequence, SplitMix64};

use super::pick::Candidate;
use super::unit::Compiler;

/// What came of a trial.
#[derive(Clone, Debug)]
pub enum Outcome {
    /// Not tried, as nothing could be asked for or compared.
    Passed(&'static str),
    /// The compiler's offsets are the engine's.
    Right(Back),
    Refused(EditRefusal),
    /// It does not compile, or its offsets are others.
    Wrong(String),
}

/// What the inverse move gave.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Back {
    SameBytes,
    /// Another text, or a refusal: what is different, in words.
    Other(String),
}

/// A trial's outcome and what was asked for.
pub struct Trial {
    pub asked: String,
    pub outcome: Outcome,
    /// The edited text, if there is one.
    pub new: Option<String>,
}

impl Trial {
    fn new(asked: String, outcome: Outcome, new: Option<String>) -> Self {
        Self {
            asked,
            outcome,
            new,
        }
    }
}

/// Moves one member of the candidate.
pub fn run(candidate: &Candidate, compiler: &mut Compiler) -> Trial {
    let passed = |why| Trial::new(String::new(), Outcome::Passed(why), None);
    if candidate.path.contains("uapi/") {
        return passed("user-space ABI");
    }
    let Ok(old) = std::fs::read_to_string(compiler.root.join(&candidate.path)) else {
        return passed("not UTF-8");
    };
    if old.contains("WITH Linux-syscall-note") {
        return passed("user-space ABI");
    }
    let Some(plain) = compiler.plain(&candidate.path, &old) else {
        return passed("its header does not compile alone");
    };
    let (before, shape) = match load(&plain.object, candidate) {
        Ok(found) => found,
        Err(why) => return passed(why),
    };
    if shape.packed {
        return passed("packed");
    }
    let Some((atom, after, arrangement)) = pick(&shape, candidate.hash()) else {
        return passed("no two members that can move");
    };
    let last = |atom: usize| shape.atoms[atom].names.last().cloned();
    let change = SourceChange::MoveMembers {
        members: shape.atoms[atom].names.clone(),
        to: MemberPosition::after(after.and_then(last)),
        spacing: None,
        reason: None,
    };
    let line = before.decl.as_ref().map(|decl| decl.line);
    let (path, tag) = (&candidate.path, &candidate.tag);
    let edit = |text: &str, changes: &[SourceChange]| edit_struct(path, text, tag, line, changes);
    let asked = format!("{change:?}");
    let new = match edit(&old, std::slice::from_ref(&change)) {
        Ok(new) => new,
        // Not to be seen in debug information where all members lie as they would anyway.
        Err(EditRefusal::Packed { .. }) => return passed("packed"),
        Err(refusal) => return Trial::new(asked, Outcome::Refused(refusal), None),
    };
    let wrong = compiler.edited(path, &new, &plain).and_then(|object| {
        let (got, _) = load(&object, candidate).map_err(str::to_owned)?;
        let expect = shape.apply_arrangement(&before, &arrangement, &shape.lay_out(&arrangement));
        differences(&expect, &got)
    });
    let back = || {
        let back = inverse_changes(path, &old, tag, line, &change);
        match back.and_then(|back| edit(&new, &back)) {
            Ok(text) if text == old => Back::SameBytes,
            Ok(text) => Back::Other(relayout_patch::unified_diff(path, &old, &text)),
            Err(refusal) => Back::Other(refusal.to_string()),
        }
    };
    let outcome = match wrong {
        Ok(()) => Outcome::Right(back()),
        Err(why) => Outcome::Wrong(why),
    };
    Trial::new(asked, outcome, Some(new))
}

/// The struct as the copied header declares it, and its shape.
fn load(object: &[u8], candidate: &Candidate) -> Result<(Aggregate, StructShape), &'static str> {
    let store = SectionStore::default();
    let catalog =
        TypeCatalog::parse(object, &store, DebugInfoFormat::Any).map_err(|_| "no types")?;
    let entries = catalog.find_definitions(&candidate.tag);
    let loaded = catalog.load(&entries).map_err(|_| "no types")?;
    let copy = format!("/copy/{}", candidate.path);
    let mut found = loaded
        .ids
        .iter()
        .filter_map(|id| match loaded.types.get(*id) {
            Type::Aggregate(aggregate) if aggregate.complete => Some(aggregate),
            _ => None,
        });
    let here = |aggregate: &&Aggregate| {
        let decl = aggregate.decl.as_ref();
        aggregate.name.as_ref() == Some(&candidate.tag)
            && decl.is_some_and(|decl| decl.file.ends_with(&copy))
    };
    let aggregate = found
        .find(here)
        .ok_or("not defined there in this configuration")?;
    let shape = catalog
        .abi(&loaded.types)
        .shape(aggregate)
        .map_err(|_| "the layout engine refuses it")?;
    Ok((aggregate.clone(), shape))
}

/// An atom, the atom it comes after, and the arrangement that this gives.
fn pick(shape: &StructShape, seed: u64) -> Option<(usize, Option<usize>, AtomArrangement)> {
    let current = shape.current_arrangement();
    let bound = usize::from(shape.atoms.last().is_some_and(|atom| atom.flexible));
    let movable: Vec<usize> = (0..current.order.len() - bound)
        .filter(|&atom| shape.atoms[atom].size > 0 && !shape.atoms[atom].names.is_empty())
        .collect();
    if movable.len() < 2 {
        return None;
    }
    let mut random = SplitMix64::new(seed | 1);
    let atom = movable[random.below(movable.len())];
    let mut order = current.order.clone();
    order.remove(atom);
    let places: Vec<usize> = (0..=order.len() - bound)
        .filter(|&place| place != atom)
        .filter(|&place| place == 0 || !shape.atoms[order[place - 1]].names.is_empty())
        .collect();
    let place = *places.get(random.below(places.len().max(1)))?;
    order.insert(place, atom);
    let after = place.checked_sub(1).map(|before| order[before]);
    Some((atom, after, AtomArrangement { order, ..current }))
}

/// What is at another place than the engine says.
fn differences(expect: &Aggregate, got: &Aggregate) -> Result<(), String> {
    if expect.size != got.size {
        return Err(format!("size {} is {}", expect.size, got.size));
    }
    if expect.members.len() != got.members.len() {
        return Err("other members".to_owned());
    }
    for (want, is) in expect.members.iter().zip(&got.members) {
        let first_bit = |member: &relayout_layout::Member| match member.bits {
            Some(bits) => bits.offset_bits,
            None => member.offset * 8,
        };
        if want.name != is.name || first_bit(want) != first_bit(is) {
            return Err(format!(
                "{:?} at bit {}: {:?} at bit {}",
                want.name,
                first_bit(want),
                is.name,
                first_bit(is)
            ));
        }
    }
    Ok(())
}
