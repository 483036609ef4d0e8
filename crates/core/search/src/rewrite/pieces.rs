//! Pieces that can be on different lines: the accessed members, cut where a line could cut them.

use relayout_profile::ContextId;
use std::ops::Range;

use relayout_contend::TraceAccess;
use relayout_layout::abi::{StructLayout, StructShape};
use rustc_hash::{FxHashMap, FxHashSet};

use super::recency_table::{PIECES_MAX, PieceSet, RecencyBuilder, RecencyTable};
use crate::subject::{AdviceSubject, RecordedInstance};

/// Neighbouring bytes of an atom that every recorded access uses together.
///
/// A layout that cuts a piece is never better than one that does not, but for the room, and
/// [`room`](Self::room) allows for that. If a line cuts the piece, the line with all of its
/// accesses has the same events as before, and the other line has fewer, which costs no less
/// because the table is monotone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct AccessedPiece {
    pub atom: usize,
    /// Offsets as recorded.
    pub bytes: Range<u64>,
    /// Minimum number of bytes on the line that holds most of it.
    pub room: u32,
    /// Number of accesses.
    pub count: u64,
}

/// The accessed pieces of a type, and the costs of sets of them.
#[derive(Clone, Debug)]
pub(super) struct AccessedPieces {
    pub pieces: Vec<AccessedPiece>,
    /// Costs of sets. Accessed bytes in no piece (of a flexible array, or beyond the pieces that a
    /// set can name) are not in the table, so that the costs are lower bounds then.
    pub table: RecencyTable,
}

impl AccessedPieces {
    /// Cuts the accessed members of all recorded objects into pieces; `current` is the compiled
    /// layout.
    pub fn new(subject: &AdviceSubject<'_>, current: &StructLayout) -> Self {
        let (instances, shape, line_bytes) = (subject.instances, subject.shape, subject.line_bytes);
        let mut list = cut_pieces(instances, shape, current, line_bytes);
        let flexible = |piece: &AccessedPiece| shape.atoms[piece.atom].flexible;
        list.retain(|piece| !flexible(piece));
        if list.len() > PIECES_MAX {
            list.sort_by_key(|piece| std::cmp::Reverse(piece.count));
            list.truncate(PIECES_MAX);
        }
        list.sort_by_key(|piece| piece.bytes.start);
        let table = recency_table(instances, &list, current.size);
        Self {
            pieces: list,
            table,
        }
    }

    /// Returns the same pieces with a table of at most `rows_max` rows that stand for all; `None` if
    /// the table is no larger.
    pub fn sampled(&self, rows_max: usize) -> Option<Self> {
        let is_larger = self.table.rows() > rows_max;
        is_larger.then(|| Self {
            pieces: self.pieces.clone(),
            table: self.table.sampled(rows_max),
        })
    }

    /// Returns the pieces of `atom` that begin in `bytes` of the recorded layout.
    pub fn pieces_of_atom(&self, atom: usize, bytes: Range<u64>) -> PieceSet {
        let inside =
            |piece: &AccessedPiece| piece.atom == atom && bytes.contains(&piece.bytes.start);
        let pieces = self.pieces.iter().enumerate();
        pieces
            .filter(|(_, piece)| inside(piece))
            .fold(0, |set, (index, _)| set | 1 << index)
    }
}

fn cut_pieces(
    instances: &[RecordedInstance],
    shape: &StructShape,
    current: &StructLayout,
    line_bytes: u32,
) -> Vec<AccessedPiece> {
    let mut counts: FxHashMap<(u32, u8), u64> = FxHashMap::default();
    for instance in instances {
        for access in &instance.trace.accesses {
            let (_, offset) = instance.locate(access.offset);
            *counts.entry((offset, access.size)).or_default() += 1;
        }
    }
    let mut granules: Vec<((u32, u8), u64)> = counts.into_iter().collect();
    granules.sort_unstable();
    // Granules that cover each byte.
    let mut covering: Vec<Vec<u32>> = vec![Vec::new(); usize::try_from(current.size).unwrap_or(0)];
    for (index, ((offset, size), _)) in granules.iter().enumerate() {
        let start = (*offset as usize).min(covering.len());
        let end = (*offset as usize + usize::from(*size)).min(covering.len());
        for byte in &mut covering[start..end] {
            byte.push(index as u32);
        }
    }
    let mut pieces = Vec::new();
    for (atom, place) in current.places.iter().enumerate() {
        let mut from = place.offset;
        let end = place.end.min(covering.len() as u64);
        while from < end {
            let same = |byte: &u64| covering[*byte as usize] == covering[from as usize];
            let to = (from..end).take_while(same).count() as u64 + from;
            let used = &covering[from as usize];
            if !used.is_empty() {
                pieces.push(AccessedPiece {
                    atom,
                    bytes: from..to,
                    room: room_needed(
                        from - place.offset..to - place.offset,
                        shape.atoms[atom].align,
                        line_bytes,
                    ),
                    count: used
                        .iter()
                        .map(|granule| granules[*granule as usize].1)
                        .sum(),
                });
            }
            from = to;
        }
    }
    pieces
}

/// Returns the minimum number of bytes on some line of a piece at `bytes` of an atom aligned to
/// `align`.
fn room_needed(bytes: Range<u64>, align: u64, line_bytes: u32) -> u32 {
    let line = u64::from(line_bytes.max(1));
    let length = bytes.end - bytes.start;
    let align = align.clamp(1, line);
    let whole = bytes.start / align == (bytes.end - 1) / align;
    let parts = match whole {
        true => 1,
        false => length.div_ceil(line) + 1,
    };
    length.div_ceil(parts).min(line) as u32
}

fn recency_table(
    instances: &[RecordedInstance],
    pieces: &[AccessedPiece],
    size: u64,
) -> RecencyTable {
    let mut by_byte: Vec<Option<usize>> = vec![None; usize::try_from(size).unwrap_or(0)];
    for (index, piece) in pieces.iter().enumerate() {
        by_byte[piece.bytes.start as usize..piece.bytes.end as usize].fill(Some(index));
    }
    let mut builder = RecencyBuilder::new(pieces.len());
    let mut sets: FxHashMap<(u32, u8), PieceSet> = FxHashMap::default();
    let mut set_of = |offset: u32, size: u8| {
        *sets.entry((offset, size)).or_insert_with(|| {
            let start = (offset as usize).min(by_byte.len());
            let end = (offset as usize + usize::from(size)).min(by_byte.len());
            let touched: FxHashSet<usize> = by_byte[start..end].iter().flatten().copied().collect();
            touched.into_iter().fold(0, |set, piece| set | 1 << piece)
        })
    };
    for instance in instances {
        for accesses in accesses_by_element(instance) {
            builder.begin_trace();
            add_turns(&accesses, &mut builder, &mut set_of);
        }
    }
    let table = builder.finish();
    debug_assert_eq!(table.pieces(), pieces.len());
    table
}

/// Returns the accesses to each object of an instance, relative to it.
fn accesses_by_element(instance: &RecordedInstance) -> Vec<Vec<TraceAccess>> {
    let mut by_element: Vec<Vec<TraceAccess>> = vec![Vec::new(); instance.objects() as usize];
    for access in &instance.trace.accesses {
        let (element, offset) = instance.locate(access.offset);
        if let Some(accesses) = by_element.get_mut(element as usize) {
            accesses.push(TraceAccess { offset, ..*access });
        }
    }
    by_element
}

/// Adds the turns of a trace to `builder`; `set_of` returns the pieces of an access.
fn add_turns(
    accesses: &[TraceAccess],
    builder: &mut RecencyBuilder,
    mut set_of: impl FnMut(u32, u8) -> PieceSet,
) {
    let mut turn: Option<(ContextId, PieceSet, PieceSet)> = None;
    for access in accesses {
        let set = set_of(access.offset, access.size);
        if set == 0 {
            continue;
        }
        let stored = if access.is_store() { set } else { 0 };
        match &mut turn {
            Some((context, used, all_stored)) if *context == access.context => {
                *used |= set;
                *all_stored |= stored;
            }
            _ => {
                if let Some((context, used, stored)) = turn {
                    builder.add_turn(context, used, stored);
                }
                turn = Some((access.context, set, stored));
            }
        }
    }
    if let Some((context, used, stored)) = turn {
        builder.add_turn(context, used, stored);
    }
}
