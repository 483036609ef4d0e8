//! Profiles of accesses that a test makes up, as a recorder would have counted and logged them.
//!
//! A test gives the accesses in order. All tables follow from them: counts, lines, conflicts with
//! both sides, pairs of adjacent lines, and the log in order.
//!
//! ```
//! use relayout_profile::{AccessKind, ProfileMeta};
//! use relayout_testprofile::{Step, profile_of_steps};
//!
//! // Two contexts add to neighbouring words in turn, so that the line moves each time.
//! let turn = [(0, AccessKind::ReadWrite, 0), (1, AccessKind::ReadWrite, 8)].map(Step::from);
//! let profile = profile_of_steps(ProfileMeta::default(), 0x1000, &[turn.repeat(10)]);
//! let transfers: u64 = profile.conflicts.iter().map(|row| row.count).sum();
//! assert_eq!(transfers, 19);
//! ```

mod recording;

use std::collections::BTreeSet;

use recording::Recording;
use relayout_profile::{
    AccessKind, Addr, Profile, ProfileMeta, RangeKind, RangeRow, RecordedRun, RunId, Site,
};

/// Bytes of a line in made-up profiles.
pub const LINE_BYTES: u64 = 64;
/// Bytes of the part of the image that ranges and logs have.
pub const IMAGE_BYTES: u64 = 4096;
/// Bytes of a member that is accessed.
const WORD_BYTES: u8 = 8;
/// Size of the regions that are logged, in bytes.
const REGION_BYTES: u32 = 512;
/// Address of the first instruction of those that a test gives no address.
const PC: u64 = 0x1000;
/// Code of such an instruction: a store of 4 bytes.
const CODE: [u8; 2] = [0x89, 0x07];

/// An access by a context to the word at an offset from the first byte of a recording.
pub type Word = (u16, AccessKind, u64);

/// An access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// CPU or thread.
    pub context: u16,
    /// Load, store or both.
    pub access: AccessKind,
    /// Bytes from the first byte of the recording.
    pub offset: u64,
    /// Bytes that are accessed.
    pub size: u8,
    /// Of a store: it left all bytes as they were.
    pub silent: Option<bool>,
    /// Address of the instruction; `None` for any, one for each offset and kind of access.
    pub pc: Option<u64>,
}

impl From<Word> for Step {
    fn from((context, access, offset): Word) -> Self {
        Self {
            context,
            access,
            offset,
            size: WORD_BYTES,
            silent: None,
            pc: None,
        }
    }
}

/// Returns the range of the image in a recording, from `start` on.
pub fn image(start: u64, run: u16) -> RangeRow {
    RangeRow {
        run: RunId(run),
        kind: RangeKind::Image,
        start: Addr(start),
        bytes: IMAGE_BYTES,
        owner: String::new(),
        id: 0,
        first: Addr(0),
        stride: 0,
        object_bytes: 0,
    }
}

/// Returns a profile of the accesses to the memory at `base`, in which each of `runs` is a recording.
/// `meta` tells all but the recordings and the number of contexts.
///
/// Contexts use a word either for themselves or not at all once they lost its line, so that what is
/// false by first touch is so by lifetime. Each way of access to an offset is an instruction.
pub fn profile_of_steps(meta: ProfileMeta, base: u64, runs: &[Vec<Step>]) -> Profile {
    let contexts = { runs.iter().flatten() }.map(|step| step.context).max();
    let ways: BTreeSet<AccessWay> = { runs.iter().flatten() }.map(Step::way).collect();
    let ways: Vec<AccessWay> = ways.into_iter().collect();
    let run = RecordedRun {
        complete: true,
        pair_period: Some(1),
        ..RecordedRun::default()
    };
    let site = |(nth, way): (u64, &AccessWay)| Site {
        pc: way.pc.unwrap_or(PC + 16 * nth),
        bytes: CODE.to_vec(),
    };
    let mut profile = Profile {
        meta: ProfileMeta {
            contexts: contexts.unwrap_or(1) + 1,
            runs: vec![run; runs.len()],
            ..meta
        },
        sites: (0..).zip(&ways).map(site).collect(),
        ..Profile::default()
    };
    for (run, steps) in (0..).zip(runs) {
        let recording = Recording {
            run,
            base,
            steps,
            ways: &ways,
        };
        recording.add_to(&mut profile);
    }
    profile
}

/// An instruction: offset, kind of access, and address where a test gives it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct AccessWay {
    offset: u64,
    access: AccessKind,
    pc: Option<u64>,
}

impl Step {
    fn way(&self) -> AccessWay {
        AccessWay {
            offset: self.offset,
            access: self.access,
            pc: self.pc,
        }
    }
}
