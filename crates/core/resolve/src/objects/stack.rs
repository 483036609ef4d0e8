//! Numbers in local variables that several threads use: arrays and scalars on a stack.
//!
//! An instruction of the function itself that accesses its frame tells the place of the frame, and
//! so that of all variables in it. Memory of a stack is used by one call after the other, so a place
//! alone is no evidence: other threads must have loaded what the function stored in that very frame,
//! or the function what they stored. Memory that several variables are found for in this way has the
//! name of the one with nearly all of the transfers, or none.
//!
//! Example: `long counts[4]` whose elements one thread each counts up, and that `main` adds up.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use relayout_layout::dwarf::DieOffset;
use relayout_layout::{Type, TypeArena, TypeId, is_standard_scope};
use relayout_profile::{AccessKind, Addr, CoherenceEvent, ConflictRow, RangeKind, RunId, SiteId};
use rustc_hash::{FxHashMap, FxHashSet};

use super::finder::ObjectFinder;
use super::fixed;
use super::{ArrayExtent, ObjectKind, ResolvedObject, StackVariable};
use crate::access::AccessKey;
use crate::evidence::FramePlace;
use crate::images::{FileId, LinkedAddress};
use crate::source::readable_name;
use crate::types::{FileDie, die};

/// Alignment of canonical frame addresses by the calling conventions of x86-64 and AArch64.
const FRAME_ALIGN: u64 = 16;
/// Bytes of a frame, close enough to tell whether an address is in it.
const FRAME_BYTES_MAX: u64 = 4096;
/// Longest variable, in bytes; a larger one would not fit on most stacks.
const LOCAL_BYTES_MAX: u64 = 1 << 20;
/// Elements of an array that a step through it may be at, at most.
const STEPS_MAX: u64 = 1024;
/// One in so many of the transfers on a variable's memory may be by code that uses another variable
/// in the same place.
const OTHERS_PART: u64 = 4;
/// Nested arrays and wrappers of a type, at most.
const NESTING_MAX: usize = 16;
/// Bytes by which variables are looked up.
const BUCKET_BYTES: u64 = 64;

/// Local variables that threads share, by place. They do not overlap.
#[derive(Debug, Default)]
pub(super) struct StackVariables {
    by_start: BTreeMap<(RunId, Addr), SharedLocal>,
}

/// Variable in one frame, which is shared.
#[derive(Clone, Debug, PartialEq, Eq)]
struct SharedLocal {
    variable: StackVariable,
    numbers: NumberArray,
    /// Name of the type of a number.
    type_name: String,
}

/// Numbers that a type holds: one, or an array of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct NumberArray {
    /// Type of a number, perhaps in a wrapper of a standard library.
    element: TypeId,
    /// Bytes of a number.
    stride: u64,
    /// Bytes of all.
    bytes: u64,
}

/// Function of a file, by its entry.
type FunctionKey = (FileId, DieOffset);

/// Frame of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
struct CallFrame {
    run: RunId,
    function: FunctionKey,
    /// Canonical frame address.
    cfa: Addr,
}

/// Numbers in the frame of a function.
#[derive(Clone, Debug)]
struct FrameNumbers {
    /// Entry of the variable.
    entry: DieOffset,
    /// Function that declares the variable, which may be inlined.
    declaring: DieOffset,
    numbers: NumberArray,
    /// Bytes from the canonical frame address.
    offset: i64,
    /// Addresses of the code for which it is there.
    scope: Vec<Range<u64>>,
    /// It is there in its whole scope.
    fixed: bool,
}

/// Opinion of an access on a variable that may be there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum AccessOpinion {
    /// The function accesses the variable.
    Own,
    /// Other code has the same type for the memory.
    Agrees,
    /// Other code has another type for it, or another frame.
    Differs,
    /// Nothing is known.
    Unknown,
}

/// Access of a function to its own frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct FrameAccess {
    addr: Addr,
    bytes: u8,
    place: FramePlace,
    /// The access may be anywhere behind the place.
    is_range: bool,
}

/// Variable at one place.
#[derive(Clone, Debug)]
struct LocalCandidate {
    frame: CallFrame,
    local: FrameNumbers,
    start: Addr,
    /// Accesses by the function itself, in the variable's scope.
    own: u64,
}

impl LocalCandidate {
    fn end(&self) -> Addr {
        self.start.saturating_add(self.local.numbers.bytes)
    }

    fn overlaps(&self, addr: Addr, bytes: u64) -> bool {
        addr < self.end() && self.start < addr.saturating_add(bytes)
    }
}

impl StackVariables {
    /// Returns the number that holds `addr` on the stack of `task`, as an object.
    pub(super) fn object_at(&self, run: RunId, addr: Addr, task: &str) -> Option<ResolvedObject> {
        let (&(found, start), local) = self.by_start.range(..=(run, addr)).next_back()?;
        let offset = addr.checked_sub(start).filter(|_| found == run)?;
        let numbers = local.numbers;
        if offset >= numbers.bytes {
            return None;
        }
        let kind = ObjectKind::Stack {
            task: task.to_owned(),
            variable: Some(local.variable.clone()),
        };
        let base = start + offset / numbers.stride * numbers.stride;
        let name = local.type_name.clone();
        Some(ResolvedObject {
            array: ArrayExtent::of_elements(start, numbers.stride, numbers.bytes),
            ..fixed::certain_object(run, base, numbers.stride, numbers.element, name, kind)
        })
    }
}

impl ObjectFinder<'_, '_, '_> {
    /// Finds the local variables of a program that several threads use.
    pub(super) fn find_stack_variables(&self) -> StackVariables {
        if !self.images.is_program() {
            return StackVariables::default();
        }
        let by_function = self.frame_accesses();
        let mut locals: BTreeMap<FunctionKey, Vec<FrameNumbers>> = BTreeMap::new();
        let mut frames: BTreeSet<CallFrame> = BTreeSet::new();
        for (&(run, function), accesses) in &by_function {
            let own = { locals.entry(function) }
                .or_insert_with(|| self.numbers_in_frame(function))
                .as_slice();
            let places = frame_addresses(own, accesses);
            frames.extend(
                places
                    .into_iter()
                    .map(|cfa| CallFrame { run, function, cfa }),
            );
        }
        if frames.is_empty() {
            return StackVariables::default();
        }
        let exchanges = self.find_exchanges(&frames, &locals);
        let mut candidates: Vec<LocalCandidate> = Vec::new();
        for &frame in frames.iter().filter(|frame| exchanges.contains_key(frame)) {
            let own = locals.get(&frame.function).into_iter().flatten();
            candidates.extend(own.filter_map(|local| {
                let start = frame.cfa.checked_add_signed(local.offset)?;
                Some(LocalCandidate {
                    frame,
                    local: local.clone(),
                    start,
                    own: 0,
                })
            }));
        }
        if candidates.is_empty() {
            return StackVariables::default();
        }
        let candidates = self.agreeing_candidates(candidates);
        self.settle_overlaps(&candidates, &exchanges)
    }

    /// Returns the accesses of functions to their own frames. The other side of a conflict is not
    /// among them: of a line that one thread had alone, only the last site is known that stored to it.
    fn frame_accesses(&self) -> BTreeMap<(RunId, FunctionKey), BTreeSet<FrameAccess>> {
        let mut found: BTreeMap<(RunId, FunctionKey), BTreeSet<FrameAccess>> = BTreeMap::new();
        let mut add = |run, addr, bytes, site: SiteId, access| {
            let writes = access != AccessKind::Read;
            let place = self.own_frame_place(run, addr, (site, writes));
            let Some(place) = place else { return };
            if let Some(function) = self.function_of_site(run, site) {
                found
                    .entry((run, function))
                    .or_default()
                    .insert(FrameAccess {
                        addr,
                        bytes,
                        place,
                        is_range: self.sites.evidence(run, site).string,
                    });
            }
        };
        for row in &self.profile.counts {
            add(row.run, row.addr, row.size, row.site, row.access);
        }
        for row in &self.profile.bursts {
            add(row.run, row.addr, row.size, row.site, row.access);
        }
        for row in &self.profile.conflicts {
            add(row.run, row.addr, row.size, row.site, row.access);
            // A fill of a whole array tells its place, whatever was stored there before.
            if self.sites.evidence(row.run, row.other_site).string {
                let other = (row.other_addr, row.other_size);
                add(row.run, other.0, other.1, row.other_site, row.other_access);
            }
        }
        found
    }

    /// Returns the place in the own frame that a site accesses on a stack.
    fn own_frame_place(
        &self,
        run: RunId,
        addr: Addr,
        (site, writes): (SiteId, bool),
    ) -> Option<FramePlace> {
        let place = self.sites.evidence(run, site).frame_place(writes)?;
        self.is_stack(run, addr).then_some(place)
    }

    fn is_stack(&self, run: RunId, addr: Addr) -> bool {
        let range = self.ranges.find_range(run, addr);
        range.is_some_and(|n| self.ranges.row(n).kind == RangeKind::Stack)
    }

    /// Returns the function whose code a site is, without those that were inlined there.
    fn function_of_site(&self, run: RunId, site: SiteId) -> Option<FunctionKey> {
        let LinkedAddress { file, address } = self.pc_of_site(run, site)?;
        Some((file, self.program.file_view(file).function_at(address)?))
    }

    /// Returns an address in the code of a site: of a call, that of its last byte.
    fn pc_of_site(&self, run: RunId, site: SiteId) -> Option<LinkedAddress> {
        let at = self.sites.address_in_run(run, site)?;
        let address = at.address.wrapping_sub(self.profile.is_call(site).into());
        Some(LinkedAddress { address, ..at })
    }

    /// Returns the variables of a function's frame that are numbers or arrays of them.
    fn numbers_in_frame(&self, (file, function): FunctionKey) -> Vec<FrameNumbers> {
        let variables = self.program.file_view(file).frame_variables(function);
        let mut found: Vec<FrameNumbers> = Vec::new();
        for (variable, offset) in variables {
            let mut known = found.iter_mut();
            let span = variable.start..variable.end;
            if let Some(known) =
                known.find(|known| (known.entry, known.offset) == (variable.entry, offset))
            {
                known.scope.push(span);
                continue;
            }
            let ty = FileDie {
                file,
                offset: variable.ty,
            };
            let Some(ty) = self.program.store.load(ty) else {
                continue;
            };
            if let Some(numbers) = numbers_of_type(&self.program.store.types(), ty) {
                found.push(FrameNumbers {
                    entry: variable.entry,
                    declaring: variable.function,
                    numbers,
                    offset,
                    scope: vec![span],
                    fixed: variable.fixed,
                });
            }
        }
        found
    }

    /// Returns the frames in which threads loaded what the function stored there, or the function
    /// loaded what other threads stored there, with the functions of these threads.
    fn find_exchanges(
        &self,
        frames: &BTreeSet<CallFrame>,
        locals: &BTreeMap<FunctionKey, Vec<FrameNumbers>>,
    ) -> BTreeMap<CallFrame, BTreeSet<FunctionKey>> {
        let mut exchanges: BTreeMap<CallFrame, BTreeSet<FunctionKey>> = BTreeMap::new();
        for row in &self.profile.conflicts {
            if !is_exchange(row) || !self.is_stack(row.run, row.addr) {
                continue;
            }
            let sides = [
                (row.addr, row.site, row.access, row.other_site),
                (row.other_addr, row.other_site, row.other_access, row.site),
            ];
            for (n, (addr, site, access, partner)) in sides.into_iter().enumerate() {
                let access = (site, access != AccessKind::Read);
                let Some(place) = self.own_frame_place(row.run, addr, access) else {
                    continue;
                };
                let Some(function) = self.function_of_site(row.run, site) else {
                    continue;
                };
                let own = locals.get(&function).map_or(&[][..], Vec::as_slice);
                let frame = |cfa| CallFrame {
                    run: row.run,
                    function,
                    cfa,
                };
                let mut of_function = frames.range(frame(Addr(0))..=frame(Addr(u64::MAX)));
                let is_string = self.sites.evidence(row.run, site).string;
                let hit = match n {
                    0 => of_function.find(|frame| {
                        is_in_frame(frame.cfa, own, addr, place, is_string)
                            && (overlaps(row) || is_within_one(frame.cfa, own, row))
                    }),
                    // Its last store to the line was to this frame, but perhaps to other bytes.
                    _ => of_function.find(|frame| {
                        let below = frame.cfa.checked_sub(addr);
                        overlaps(row) && below.is_some_and(|below| below <= FRAME_BYTES_MAX)
                    }),
                };
                if let Some(frame) = hit {
                    let partners = exchanges.entry(*frame).or_default();
                    partners.extend(self.function_of_site(row.run, partner));
                }
            }
        }
        exchanges
    }

    /// Leaves out the candidates that much of the evidence has other types for, and counts the
    /// function's own accesses to the others.
    fn agreeing_candidates(&self, mut candidates: Vec<LocalCandidate>) -> Vec<LocalCandidate> {
        let by_bucket = bucket_candidates(&candidates);
        let mut votes: Vec<(u64, u64)> = vec![(0, 0); candidates.len()];
        for (key, count) in self.accesses {
            let bucket = (key.run, key.addr.align_down(BUCKET_BYTES));
            for &n in by_bucket.get(&bucket).into_iter().flatten() {
                let candidate = &mut candidates[n];
                if !candidate.overlaps(key.addr, key.size.into()) {
                    continue;
                }
                let (support, against) = &mut votes[n];
                match self.opinion(candidate, key) {
                    AccessOpinion::Own => {
                        candidate.own = candidate.own.saturating_add(*count);
                        *support = support.saturating_add(*count);
                    }
                    AccessOpinion::Agrees => *support = support.saturating_add(*count),
                    AccessOpinion::Differs => *against = against.saturating_add(*count),
                    AccessOpinion::Unknown => {}
                }
            }
        }
        let agreeing = { candidates.into_iter().zip(votes) }
            .filter(|(_, (support, against))| *support / OTHERS_PART >= *against)
            // A variable that is in memory for a while only leaves the place to others.
            .filter(|(candidate, _)| candidate.local.fixed || candidate.own > 0);
        agreeing.map(|(candidate, _)| candidate).collect()
    }

    /// Returns the opinion of an access on the variable.
    fn opinion(&self, candidate: &LocalCandidate, key: &AccessKey) -> AccessOpinion {
        let site = self.sites.evidence(key.run, key.site);
        let LocalCandidate { frame, local, .. } = candidate;
        if let Some(place) = site.frame_place(key.writes) {
            if self.function_of_site(key.run, key.site) != Some(frame.function) {
                return AccessOpinion::Differs;
            }
            let locals = std::slice::from_ref(local);
            // Another call of the function may have had another frame.
            if !is_in_frame(frame.cfa, locals, key.addr, place, site.string) {
                return AccessOpinion::Unknown;
            }
            let pc = self.pc_of_site(key.run, key.site).map(|at| at.address);
            let in_scope = pc.is_some_and(|pc| local.scope.iter().any(|span| span.contains(&pc)));
            // Compilers move code across the bounds of scopes.
            return match in_scope {
                true => AccessOpinion::Own,
                false => AccessOpinion::Unknown,
            };
        }
        match self.is_number_of(candidate, key) {
            None => AccessOpinion::Unknown,
            Some(true) => AccessOpinion::Agrees,
            Some(false) => AccessOpinion::Differs,
        }
    }

    /// Returns whether the type that an instruction accesses is that of the variable, or of an
    /// element; `None` if it is not known.
    fn is_number_of(&self, candidate: &LocalCandidate, key: &AccessKey) -> Option<bool> {
        let site = self.sites.evidence(key.run, key.site);
        let NumberArray { stride, bytes, .. } = candidate.local.numbers;
        let evidence = site.evidence_within(key.writes, key.size)?;
        let size = self.program.store.types().size_of(evidence.ty)?;
        let base = key
            .addr
            .checked_add_signed(evidence.offset.wrapping_neg())?;
        let offset = base.checked_sub(candidate.start)?;
        let is_number = size == stride && offset.is_multiple_of(stride);
        let is_whole = size == bytes && offset == 0;
        Some(is_number || is_whole)
    }

    /// Returns the candidates that overlap no other, and of others those with nearly all of the
    /// transfers.
    fn settle_overlaps(
        &self,
        candidates: &[LocalCandidate],
        exchanges: &BTreeMap<CallFrame, BTreeSet<FunctionKey>>,
    ) -> StackVariables {
        let by_bucket = bucket_candidates(candidates);
        let mut transfers: Vec<u64> = vec![0; candidates.len()];
        let mut by_others: Vec<u64> = vec![0; candidates.len()];
        for row in &self.profile.conflicts {
            let bucket = (row.run, row.addr.align_down(BUCKET_BYTES));
            let near = by_bucket.get(&bucket).map_or(&[][..], Vec::as_slice);
            let hit = near
                .iter()
                .filter(|&&n| candidates[n].overlaps(row.addr, row.size.into()));
            let hit: Vec<usize> = hit.copied().collect();
            if hit.is_empty() || row.transfer == CoherenceEvent::Upgrade {
                continue;
            }
            let function = self.function_of_site(row.run, row.site);
            for n in hit {
                let frame = candidates[n].frame;
                let Some(function) = function else { continue };
                let partners = exchanges.get(&frame);
                let is_partner = function == frame.function
                    || partners.is_some_and(|partners| partners.contains(&function));
                let sum = match is_partner {
                    true => &mut transfers[n],
                    false => &mut by_others[n],
                };
                *sum = sum.saturating_add(row.count);
            }
        }
        let shared: Vec<SharedLocal> = { candidates.iter() }
            .map(|candidate| self.shared_local(candidate))
            .collect();
        let mut found = StackVariables::default();
        for (n, candidate) in candidates.iter().enumerate() {
            // One variable at one place, in two frames or inlined twice, is one.
            let is_other = |other: &usize| {
                candidates[*other].start != candidate.start || shared[*other] != shared[n]
            };
            // Variables of one frame have the same partners: the function's own accesses tell.
            let gives_way = |other: &usize| {
                let other = &candidates[*other];
                other.frame == candidate.frame && other.own == 0 && candidate.own > 0
            };
            let mut others = { overlapping(candidates, &by_bucket, n).into_iter() }
                .filter(is_other)
                .filter(|other| !gives_way(other));
            let is_small = |part: u64| part.saturating_mul(OTHERS_PART) <= transfers[n];
            let is_first = is_small(by_others[n]) && others.all(|other| is_small(transfers[other]));
            if is_first && transfers[n] > 0 {
                let place = (candidate.frame.run, candidate.start);
                found.by_start.insert(place, shared[n].clone());
            }
        }
        found
    }

    fn shared_local(&self, candidate: &LocalCandidate) -> SharedLocal {
        let LocalCandidate { frame, local, .. } = candidate;
        let file = self.program.file_view(frame.function.0).debug_file();
        let function = die::symbol_name_of(file, local.declaring).unwrap_or_default();
        let types = self.program.store.types();
        SharedLocal {
            variable: StackVariable {
                name: die::name_of(file, local.entry)
                    .unwrap_or_default()
                    .to_owned(),
                function: readable_name(function.into()),
                declared: file.declared_line(local.entry),
            },
            numbers: local.numbers,
            type_name: fixed::object_type_name(&types, local.numbers.element),
        }
    }
}

/// Returns true for a load by one thread of a line to which another one stored what it uses: at the
/// load itself, or as long as it has the line.
fn is_exchange(row: &ConflictRow) -> bool {
    row.context != row.other_context
        && row.access != AccessKind::Write
        && row.other_access != AccessKind::Read
        && (overlaps(row) || row.false_lifetime < row.count)
}

/// Returns true if both sides of a conflict accessed the same bytes.
fn overlaps(row: &ConflictRow) -> bool {
    row.addr < row.other_addr.saturating_add(row.other_size.into())
        && row.other_addr < row.addr.saturating_add(row.size.into())
}

/// Returns true if both sides of a conflict accessed one variable of the frame.
fn is_within_one(cfa: Addr, locals: &[FrameNumbers], row: &ConflictRow) -> bool {
    let holds = |local: &FrameNumbers, addr: Addr| local_offset(local, cfa, addr).is_some();
    { locals.iter() }.any(|local| holds(local, row.addr) && holds(local, row.other_addr))
}

/// Returns the offset of an address in a variable of the frame at `cfa`; `None` outside of it.
fn local_offset(local: &FrameNumbers, cfa: Addr, addr: Addr) -> Option<u64> {
    let start = cfa.checked_add_signed(local.offset)?;
    addr.checked_sub(start)
        .filter(|&offset| offset < local.numbers.bytes)
}

/// Returns the other candidates that overlap candidate `n`.
fn overlapping(
    candidates: &[LocalCandidate],
    by_bucket: &CandidateBuckets,
    n: usize,
) -> BTreeSet<usize> {
    let candidate = &candidates[n];
    let run = candidate.frame.run;
    let first = candidate.start.align_down(BUCKET_BYTES).0;
    let buckets = (first..candidate.end().0).step_by(BUCKET_BYTES as usize);
    let near = buckets
        .filter_map(|bucket| by_bucket.get(&(run, Addr(bucket))))
        .flatten();
    { near.copied() }
        .filter(|&other| {
            let bytes = candidate.local.numbers.bytes;
            other != n && candidates[other].overlaps(candidate.start, bytes)
        })
        .collect()
}

/// Indices of candidates by run and place.
type CandidateBuckets = FxHashMap<(RunId, Addr), Vec<usize>>;

fn bucket_candidates(candidates: &[LocalCandidate]) -> CandidateBuckets {
    let mut buckets = CandidateBuckets::default();
    for (n, candidate) in candidates.iter().enumerate() {
        let first = candidate.start.align_down(BUCKET_BYTES).0;
        for bucket in (first..candidate.end().0).step_by(BUCKET_BYTES as usize) {
            buckets
                .entry((candidate.frame.run, Addr(bucket)))
                .or_default()
                .push(n);
        }
    }
    buckets
}

/// Returns true if an access at `addr` by an instruction at `place` is in the frame at `cfa`.
fn is_in_frame(
    cfa: Addr,
    locals: &[FrameNumbers],
    addr: Addr,
    place: FramePlace,
    is_range: bool,
) -> bool {
    let at = addr.wrapping_sub(cfa) as i64;
    if place.step == 0 && !is_range {
        return at == place.offset;
    }
    let holds = |local: &&FrameNumbers, at: i64| {
        let offset = at.checked_sub(local.offset);
        let offset = offset.and_then(|offset| u64::try_from(offset).ok());
        offset.is_some_and(|offset| offset < local.numbers.bytes)
    };
    let walked = locals.iter().find(|local| holds(local, place.offset));
    walked.is_some_and(|local| holds(&local, at))
}

/// Returns the canonical frame addresses of the frames that the accesses of one function are in.
fn frame_addresses(locals: &[FrameNumbers], accesses: &BTreeSet<FrameAccess>) -> BTreeSet<Addr> {
    let is_aligned = |cfa: &Addr| cfa.0.is_multiple_of(FRAME_ALIGN);
    let is_exact = |access: &&FrameAccess| match access.is_range {
        false => access.place.step == 0,
        true => locals.iter().any(|local| fills(local, access)),
    };
    let exact = { accesses.iter() }.filter(is_exact).filter_map(|access| {
        access
            .addr
            .checked_add_signed(access.place.offset.wrapping_neg())
    });
    let exact: BTreeSet<Addr> = exact.filter(is_aligned).collect();
    if !exact.is_empty() {
        return exact;
    }
    // Only steps through arrays. The elements that were accessed must leave one place for the array.
    let mut found = BTreeSet::new();
    for local in locals {
        let addresses: FxHashSet<Addr> = { accesses.iter() }
            .filter(|access| steps_through(local, access.place))
            .map(|access| access.addr)
            .collect();
        let mut common: Option<BTreeSet<Addr>> = None;
        for addr in addresses {
            let possible = possible_frames(local, addr);
            let possible: BTreeSet<Addr> = possible.filter(is_aligned).collect();
            common = Some(match common {
                Some(common) => common.intersection(&possible).copied().collect(),
                None => possible,
            });
        }
        found.extend(
            common
                .filter(|common| common.len() == 1)
                .into_iter()
                .flatten(),
        );
    }
    found
}

/// Returns true if a range is all of a variable, of more than one number.
fn fills(local: &FrameNumbers, access: &FrameAccess) -> bool {
    let NumberArray { stride, bytes, .. } = local.numbers;
    let place = access.place;
    place.step == 0
        && place.offset == local.offset
        && bytes > stride
        && u64::from(access.bytes) == bytes
}

/// Returns true if a place is any element of the array, whose size the step has.
fn steps_through(local: &FrameNumbers, place: FramePlace) -> bool {
    let NumberArray { stride, bytes, .. } = local.numbers;
    let step = u64::from(place.step);
    let offset = place.offset.checked_sub(local.offset);
    let offset = offset.and_then(|offset| u64::try_from(offset).ok());
    let is_inside = offset.is_some_and(|offset| offset < bytes && offset.is_multiple_of(stride));
    is_inside && step > 0 && step.is_multiple_of(stride) && step < bytes
}

/// Returns the frames in which `addr` is an element of the array.
fn possible_frames(local: &FrameNumbers, addr: Addr) -> impl Iterator<Item = Addr> {
    let (numbers, offset) = (local.numbers, local.offset);
    let count = (numbers.bytes / numbers.stride).min(STEPS_MAX);
    let element = move |n: u64| {
        let start = addr.0.checked_sub(n * numbers.stride)?;
        Addr(start).checked_add_signed(offset.wrapping_neg())
    };
    (0..count).filter_map(element)
}

/// Returns the numbers that a type holds: itself, or elements of an array, perhaps in wrappers of a
/// standard library. An array of bytes has none, since memory of any type may be in it.
fn numbers_of_type(types: &TypeArena, ty: TypeId) -> Option<NumberArray> {
    let bytes = types.size_of(ty);
    let bytes = bytes.filter(|bytes| (1..=LOCAL_BYTES_MAX).contains(bytes))?;
    let (mut at, mut element) = (ty, ty);
    for _ in 0..NESTING_MAX {
        at = types.strip_qualifiers(types.strip_typedefs(at));
        match types.get(at) {
            Type::Array { element: inner, .. } => (at, element) = (*inner, *inner),
            Type::Typedef { .. } | Type::Qualified { .. } => {}
            Type::Aggregate(aggregate) => {
                let scope = aggregate
                    .scope
                    .as_deref()
                    .filter(|scope| is_standard_scope(scope));
                scope?;
                let is_whole =
                    |ty: TypeId| types.size_of(ty).is_some_and(|size| size == aggregate.size);
                let mut whole = aggregate
                    .members
                    .iter()
                    .filter(|member| is_whole(member.ty));
                let member = whole.next().filter(|_| whole.next().is_none())?;
                let is_array = matches!(
                    types.get(types.strip_qualifiers(types.strip_typedefs(member.ty))),
                    Type::Array { .. }
                );
                at = member.ty;
                if is_array {
                    element = member.ty;
                }
            }
            Type::Function { .. } | Type::Unknown(_) => return None,
            _ => {
                let stride = types.size_of(at).filter(|&size| size > 0)?;
                let is_text = stride == 1 && bytes > 1;
                return (bytes.is_multiple_of(stride) && !is_text).then_some(NumberArray {
                    element,
                    stride,
                    bytes,
                });
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `long counts[4]` 64 bytes below the canonical frame address.
    fn counts() -> FrameNumbers {
        FrameNumbers {
            entry: DieOffset(1),
            declaring: DieOffset(0),
            numbers: NumberArray {
                element: TypeId(0),
                stride: 8,
                bytes: 32,
            },
            offset: -64,
            scope: Vec::new(),
            fixed: true,
        }
    }

    /// Compares the frames that accesses to `counts`, at these addresses and places, lead to.
    fn check(accesses: &[(u64, i64, u32)], expect: &[u64]) {
        let accesses: BTreeSet<FrameAccess> = { accesses.iter() }
            .map(|&(addr, offset, step)| FrameAccess {
                addr: Addr(addr),
                bytes: 8,
                place: FramePlace { offset, step },
                is_range: false,
            })
            .collect();
        let found = frame_addresses(&[counts()], &accesses);
        assert_eq!(found.iter().map(|cfa| cfa.0).collect::<Vec<_>>(), expect);
    }

    #[test]
    fn an_exact_place_tells_the_frame() {
        check(&[(0x7fc0, -64, 0)], &[0x8000]);
        check(&[(0x7fc0, -64, 0), (0x6fc8, -56, 0)], &[0x7000, 0x8000]);
    }

    #[test]
    fn a_frame_without_alignment_is_none() {
        check(&[(0x7fc8, -64, 0)], &[]);
    }

    #[test]
    fn steps_tell_the_frame_if_they_leave_one_place() {
        let all = [0x7fc0, 0x7fc8, 0x7fd0, 0x7fd8].map(|addr| (addr, -64, 8));
        check(&all, &[0x8000]);
        // Of three elements, the alignment tells which one is missing.
        check(&all[..3], &[0x8000]);
        check(&all[..2], &[]);
    }

    #[test]
    fn steps_of_another_size_or_place_tell_nothing() {
        let all = [0x7fc0, 0x7fc8, 0x7fd0, 0x7fd8];
        check(&all.map(|addr| (addr, -64, 4)), &[]);
        check(&all.map(|addr| (addr, -24, 8)), &[]);
        check(&all.map(|addr| (addr, -64, 32)), &[]);
    }
}
