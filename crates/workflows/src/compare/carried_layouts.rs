//! What the changed layouts alone bring: the old build's guest, executed with layouts of the new build.

use std::ops::Range;
use std::path::PathBuf;

use relayout_advice::{ResolvedProfile, SimulatedChange, TypeMapping, gather_type};
use relayout_diff::{PlacedMember, TypeLayout};
use relayout_files::InterruptFlag;
use relayout_messages::{RecordingProgress, UserError};
use relayout_record::{ObjectSize, RequestedMove};
use relayout_search::moved_stretches;
use relayout_session::{read_profile, resolve_read_profile};

use super::{ChangedLayouts, RecordingComparison, WorkloadComparison};
use crate::simulate::{
    GuestChoice, GuestSimulation, LayoutMoves, SimulationRequest, objects_of_guest,
    with_repeated_guest,
};

/// Bytes of the largest type whose layout is carried over.
const BYTES_MAX: u64 = 1 << 16;

/// Layouts of the new build that the old one was executed with.
#[derive(Clone, Debug, PartialEq)]
pub struct CarriedLayouts {
    /// Types.
    pub types: Vec<String>,
    /// Members that the new build does not have, or has with fewer bytes, as `dentry.d_time`: they lie where it has others, or behind
    /// all.
    pub left_behind: Vec<String>,
    /// What they bring.
    pub change: SimulatedChange,
}

/// How changed layouts are executed.
#[derive(Clone, Copy)]
pub struct CarrySettings<'s> {
    /// Debug files of the old side.
    pub debug: &'s [PathBuf],
    /// Windows.
    pub request: &'s SimulationRequest,
    /// What the user says of the guest.
    pub choice: GuestChoice<'s>,
    /// Tells whether the user wants to end.
    pub interrupt: InterruptFlag,
    /// Display of the steps.
    pub progress: &'s dyn RecordingProgress,
}

/// A type whose layout changed, as the old guest can have it.
struct CarriedType {
    name: String,
    moves: Vec<RequestedMove>,
    unmapped_share: f64,
    left_behind: Vec<String>,
}

impl RecordingComparison {
    /// Executes the old guest of each workload with each layout that the new build has otherwise, of types that got better or worse; and
    /// with all of them, if there are several.
    ///
    /// # Errors
    /// The old recordings cannot be simulated again, or the user interrupts.
    pub fn carry_layouts(&mut self, settings: CarrySettings<'_>) -> Result<(), UserError> {
        for workload in &mut self.workloads {
            let (carried, notes) = carry_workload(workload, settings)?;
            workload.carried = carried;
            workload.notes.extend(notes);
        }
        Ok(())
    }
}

/// Returns what the layouts bring, and sentences about those that were not executed.
fn carry_workload(
    workload: &WorkloadComparison,
    settings: CarrySettings<'_>,
) -> Result<(Vec<CarriedLayouts>, Vec<String>), UserError> {
    let changed: Vec<(&str, &ChangedLayouts)> = { workload.subjects.iter() }
        .filter_map(|change| {
            Some((
                change.subject.type_name(),
                change.cause.as_ref()?.layouts()?,
            ))
        })
        .collect();
    let Some(recording) = workload
        .old
        .recordings
        .first()
        .filter(|_| !changed.is_empty())
    else {
        return Ok((Vec::new(), Vec::new()));
    };
    let content = read_profile(&recording.profile, settings.progress)?;
    let carry = |resolved: &ResolvedProfile<'_>| {
        let mut types = Vec::new();
        let mut notes = Vec::new();
        for (name, layouts) in &changed {
            match carry_type(resolved, name, layouts) {
                Ok(carried) => types.push(carried),
                Err(error) => notes.push(format!("{name} of NEW was not executed: {error}")),
            }
        }
        if types.is_empty() {
            return Ok((Vec::new(), notes));
        }
        let meta = &resolved.profile.meta;
        let executed = with_repeated_guest(meta, settings.choice, settings.interrupt, |guest| {
            let simulation = GuestSimulation {
                guest,
                request: settings.request,
                progress: settings.progress,
            };
            execute(&simulation, &types, &mut notes)
        })?;
        Ok((executed, notes))
    };
    resolve_read_profile(
        &content,
        settings.debug,
        settings.progress,
        |_| Ok(()),
        |resolved, _| carry(resolved),
    )
}

fn execute(
    simulation: &GuestSimulation<'_, '_>,
    types: &[CarriedType],
    notes: &mut Vec<String>,
) -> Result<Vec<CarriedLayouts>, UserError> {
    let mut sets: Vec<Vec<&CarriedType>> = types.iter().map(|carried| vec![carried]).collect();
    if types.len() > 1 {
        sets.push(types.iter().collect());
    }
    let moves = sets
        .iter()
        .map(|set| set.iter().flat_map(|carried| carried.moves.clone()));
    let moves = moves.map(Iterator::collect).collect();
    let unmapped_share = types
        .iter()
        .map(|carried| carried.unmapped_share)
        .fold(0.0, f64::max);
    let executed = simulation.simulate_moves(moves, unmapped_share)?;
    let mut carried = Vec::new();
    for (set, executed) in sets.into_iter().zip(executed) {
        let names: Vec<String> = set.iter().map(|carried| carried.name.clone()).collect();
        match executed {
            Ok(change) => carried.push(CarriedLayouts {
                types: names,
                left_behind: { set.iter() }
                    .flat_map(|carried| carried.left_behind.clone())
                    .collect(),
                change,
            }),
            Err(error) => notes.push(format!(
                "{} of NEW was not executed: {error}",
                names.join(" and ")
            )),
        }
    }
    Ok(carried)
}

fn carry_type(
    resolved: &ResolvedProfile<'_>,
    name: &str,
    ChangedLayouts { old, new }: &ChangedLayouts,
) -> Result<CarriedType, UserError> {
    let gathered = gather_type(resolved, name, &[])?;
    let mapping = TypeMapping::find(resolved, &gathered);
    if old.size.max(new.size) > BYTES_MAX {
        return Err(UserError::input("the type is too large"));
    }
    let carried = CarriedBytes::find(old, new);
    let too_large = |_| UserError::input("the type is too large");
    let align = new.declared_align.or(old.declared_align).unwrap_or(1);
    let size = ObjectSize {
        bytes: u32::try_from(carried.size).map_err(too_large)?,
        align: u32::try_from(align).map_err(too_large)?,
    };
    let changed = LayoutMoves {
        stretches: carried.stretches,
        size: old.size,
        resized: (carried.size != old.size).then_some(size),
        checked: Vec::new(),
    };
    if changed.stretches.is_empty() && changed.resized.is_none() {
        return Err(UserError::input("no member that both have lies elsewhere"));
    }
    let (objects, unmapped_share) = objects_of_guest(&mapping, true);
    if objects.is_empty() {
        return Err(UserError::input(
            "the guest does not tell where its objects are",
        ));
    }
    Ok(CarriedType {
        name: name.to_owned(),
        moves: changed.in_objects(&objects)?,
        unmapped_share,
        left_behind: { carried.left_behind.into_iter() }
            .map(|path| format!("{}.{path}", old.key.name))
            .collect(),
    })
}

/// Bytes of the old layout by their offsets in the new one.
struct CarriedBytes {
    /// Those that lie elsewhere, each stretch with the new offset of its first byte.
    stretches: Vec<(Range<u32>, u32)>,
    /// Members that the new layout does not have, or has with fewer bytes.
    left_behind: Vec<String>,
    /// Bytes of an object then.
    size: u64,
}

impl CarriedBytes {
    fn find(old: &TypeLayout, new: &TypeLayout) -> Self {
        let mut carried = OffsetAssignment::new(old, new);
        let mut left_behind = Vec::new();
        for member in &old.members {
            let has_room =
                |other: &&PlacedMember| other.path == member.path && other.size >= member.size;
            match new.members.iter().find(has_room) {
                Some(other) => carried.place(member, other.offset),
                None => left_behind.push(member),
            }
        }
        // Of a union, one member says where it is.
        left_behind.retain(|member| !carried.is_placed(member));
        for member in &left_behind {
            carried.place_where_free(member);
        }
        // Lines behind objects of the same size are no part of their slots.
        let size = match new.size == old.size {
            true => new.size,
            false => carried.end,
        };
        Self {
            stretches: moved_stretches(
                { carried.offsets.into_iter() }.map(|at| u32::try_from(at?).ok()),
            ),
            left_behind: left_behind
                .iter()
                .map(|member| member.path.to_string())
                .collect(),
            size,
        }
    }
}

/// Offsets in the new layout that bytes of the old one get.
struct OffsetAssignment {
    /// Of each byte of the old layout.
    offsets: Vec<Option<u64>>,
    /// Bytes of the new layout that have one.
    is_taken: Vec<bool>,
    /// End of all.
    end: u64,
}

impl OffsetAssignment {
    fn new(old: &TypeLayout, new: &TypeLayout) -> Self {
        let bytes = |layout: &TypeLayout| usize::try_from(layout.size).unwrap_or(0);
        Self {
            offsets: vec![None; bytes(old)],
            is_taken: vec![false; bytes(new)],
            end: new.size,
        }
    }

    /// Returns the bytes of a member of the old layout.
    fn bytes_of(&self, member: &PlacedMember) -> Range<u64> {
        let end = member.offset.saturating_add(member.size);
        member.offset..end.min(self.offsets.len() as u64)
    }

    fn is_placed(&self, member: &PlacedMember) -> bool {
        self.bytes_of(member)
            .all(|at| self.offsets[at as usize].is_some())
    }

    fn place(&mut self, member: &PlacedMember, first: u64) {
        for (at, to) in self.bytes_of(member).zip(first..) {
            self.offsets[at as usize].get_or_insert(to);
            if let Some(taken) = self.is_taken.get_mut(to as usize) {
                *taken = true;
            }
        }
    }

    /// Places a member where the new layout has none that the old one has, else behind all others.
    fn place_where_free(&mut self, member: &PlacedMember) {
        let bytes = self.bytes_of(member);
        let length = bytes.end.saturating_sub(bytes.start);
        let align = length.next_power_of_two().clamp(1, 8);
        let is_free = |first: &u64| {
            let range = *first as usize..(first + length) as usize;
            self.is_taken
                .get(range)
                .is_some_and(|bytes| !bytes.contains(&true))
        };
        let places = (0..self.is_taken.len() as u64).step_by(align as usize);
        let first = { places.into_iter() }.find(is_free).unwrap_or_else(|| {
            let first = self.end.next_multiple_of(8);
            self.end = (first + length).next_multiple_of(8);
            first
        });
        self.place(member, first);
    }
}

#[cfg(test)]
mod tests {
    use relayout_diff::{TypeKey, TypeTag};
    use relayout_layout::AggregateKind;

    use super::*;

    fn layout(size: u64, members: &[(&str, u64, u64)]) -> TypeLayout {
        let member = |&(path, offset, size): &(&str, u64, u64)| PlacedMember {
            path: path.into(),
            offset,
            size,
            type_unknown: false,
            bits: None,
            type_name: "long".into(),
            held_type: None,
        };
        TypeLayout {
            key: TypeKey {
                tag: TypeTag::Struct,
                scope: None,
                name: "entry".into(),
            },
            kind: AggregateKind::Struct,
            size,
            declared_align: None,
            decl: None,
            members: members.iter().map(member).collect(),
            gaps: Vec::new(),
            fingerprint: 0,
        }
    }

    #[test]
    fn members_lie_where_the_new_build_has_them() {
        let old = layout(
            32,
            &[
                ("name", 0, 8),
                ("gone", 8, 4),
                ("lock", 16, 8),
                ("short", 24, 8),
            ],
        );
        let new = layout(32, &[("lock", 0, 8), ("name", 8, 16), ("short", 24, 4)]);
        let carried = CarriedBytes::find(&old, &new);
        // `gone` and `short` take the places behind `name`, which is in half of its own.
        let stretches = [(16..24, 0), (0..12, 8)];
        assert_eq!(carried.stretches, stretches);
        assert_eq!(carried.left_behind, ["gone", "short"]);
        assert_eq!(carried.size, 32);
        // Here `short` is behind all, where it was.
        let smaller = layout(24, &[("lock", 0, 8), ("name", 8, 16)]);
        let carried = CarriedBytes::find(&old, &smaller);
        assert_eq!((carried.stretches, carried.size), (stretches.into(), 32));
    }

    #[test]
    fn members_of_a_union_move_together() {
        let old = layout(16, &[("a", 0, 8), ("b", 0, 4), ("rest", 8, 8)]);
        let new = layout(16, &[("rest", 0, 8), ("a", 8, 8), ("b", 8, 4)]);
        let carried = CarriedBytes::find(&old, &new);
        assert_eq!(carried.stretches, [(8..16, 0), (0..8, 8)]);
        assert_eq!((carried.left_behind.len(), carried.size), (0, 16));
    }
}
