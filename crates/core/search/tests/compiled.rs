//! Candidates against the compiler: no candidate breaks what C demands, and what the engine says of
//! its offsets is what gcc makes of it.

#[path = "../../layout/tests/common/compiled.rs"]
mod compiler_layouts;

use compiler_layouts::{ArrangementCase, TestCompiler, compare};
use relayout_contend::TraceAccess;
use relayout_layout::abi::emit::EmitLanguage;
use relayout_layout::abi::{AbiEngine, StructShape, TargetAbi};
use relayout_profile::AccessKind;
use relayout_search::{ObjectHome, Options, ScoredLayout, advise};
use relayout_statistics::random::{RandomSequence, SplitMix64};

use crate::common::{access, instance, structure, subject};

/// Structs to advise on.
const STRUCTS: usize = 24;
/// Candidates of each that are compiled.
const CANDIDATES: usize = 40;

/// The first member stays in every other struct, and the last has no length in some.
fn sizes(random: &mut SplitMix64) -> Vec<u64> {
    let count = 3 + random.below(8);
    (0..count)
        .map(|_| [1, 2, 4, 8, 16, 24, 72][random.below(7)])
        .collect()
}

/// Members by name, size and offset, each at its natural alignment; and the size of the struct.
fn laid_out(random: &mut SplitMix64) -> (Vec<(String, u64, u64)>, u64) {
    let mut end = 0u64;
    let mut members: Vec<(String, u64, u64)> = Vec::new();
    for (index, size) in sizes(random).into_iter().enumerate() {
        let align = if size >= 8 { 8 } else { size };
        let offset = end.next_multiple_of(align);
        members.push((format!("m{index}"), size, offset));
        end = offset + size;
    }
    let aligns = members.iter().map(|(_, size, _)| (*size).min(8));
    let size = end.next_multiple_of(aligns.max().unwrap_or(1));
    (members, size)
}

/// Accesses to members, by four contexts.
fn accesses(random: &mut SplitMix64, members: &[(String, u64, u64)]) -> Vec<TraceAccess> {
    let random_access = |_| {
        let (_, size, offset) = &members[random.below(members.len())];
        let kind = [AccessKind::Read, AccessKind::Read, AccessKind::Write][random.below(3)];
        access(
            random.below(4) as u16,
            *offset as u32,
            (*size).min(8) as u8,
            kind,
        )
    };
    (0..300).map(random_access).collect()
}

/// All members once, each aligned; a member that is kept is the first.
#[track_caller]
fn check_legal(candidate: &ScoredLayout, shape: &StructShape, first_is_kept: bool) {
    let mut order = candidate.arrangement.order.clone();
    order.sort_unstable();
    assert!(
        order.iter().copied().eq(0..shape.atoms.len()),
        "every member once"
    );
    for (place, atom) in candidate.layout.places.iter().zip(&shape.atoms) {
        assert!(
            place.offset.is_multiple_of(atom.align),
            "{atom:?} at {place:?}"
        );
    }
    assert!(
        !first_is_kept || candidate.layout.places[0].offset == 0,
        "a kept member moved"
    );
}

#[test]
fn candidates_are_what_gcc_makes_of_them() {
    let compiler = TestCompiler::new("gcc", EmitLanguage::C, TargetAbi::X86_64);
    compiler.require();
    let mut random = SplitMix64::new(5);
    let folder = tempfile::tempdir().unwrap();
    let mut compared = 0;
    for number in 0..STRUCTS {
        let (members, size) = laid_out(&mut random);
        let named: Vec<(&str, u64, u64)> = members
            .iter()
            .map(|(name, size, at)| (name.as_str(), *size, *at))
            .collect();
        let (types, aggregate) = structure(&format!("s{number}"), size, &named);
        let abi = AbiEngine::new(&types);
        let shape = abi.shape(&aggregate).unwrap();
        let accesses = accesses(&mut random, &members);
        let instances = [instance(
            0x1000,
            ObjectHome::Fixed,
            0..size as u32,
            accesses,
        )];
        let first_is_kept = number % 2 == 0;
        let options = Options {
            keep: { first_is_kept.then(|| "m0".to_owned()).into_iter() }.collect(),
            ..Options::default()
        };
        let advice = advise(subject(&aggregate, &shape, &instances, 0), &[], &options).unwrap();
        for candidate in &advice.candidates {
            check_legal(candidate, &shape, first_is_kept);
        }
        let step = (advice.candidates.len() / CANDIDATES).max(1);
        let cases: Vec<ArrangementCase<'_>> = { advice.candidates.iter().step_by(step) }
            .map(|candidate| ArrangementCase {
                name: format!("s{number} {:?}", candidate.changes),
                aggregate: &aggregate,
                shape: &shape,
                arrangement: candidate.arrangement.clone(),
            })
            .collect();
        let outcome = compare(&abi, &cases, &compiler, folder.path());
        assert!(outcome.wrong.is_empty(), "{}", outcome.wrong[0]);
        assert!(outcome.refused.is_empty(), "{}", outcome.refused[0]);
        compared += outcome.structs;
    }
    assert!(compared > 400, "only {compared} were compiled");
}
