use relayout_profile::segments::assemble;
use relayout_profile::{RecordedRun, RunId, encode};
use relayout_shadow::CONTEXTS_MAX;
use relayout_shadow::wire::{RecordKind, SegmentHeader};

use super::split;

const HEADER_BYTES: usize = size_of::<SegmentHeader>();
const CRC: std::ops::Range<usize> = HEADER_BYTES - 4..HEADER_BYTES;
/// Contexts recorded; the last file has sites alone.
const CONTEXTS: u16 = 2;

/// Three segment files, split at the marks that [`join`](super::join) sets, as they are and then
/// with their sums made right. What comes out can be written.
pub fn segments(data: &[u8]) {
    let mut files: [Vec<u8>; CONTEXTS as usize + 1] = split(data);
    check_files(&files);
    files.iter_mut().for_each(|file| correct_sums(file));
    check_files(&files);
}

fn check_files(files: &[Vec<u8>]) {
    let numbers = (0..CONTEXTS).chain([CONTEXTS_MAX as u16]);
    let files: Vec<(u16, &[u8])> = numbers.zip(files.iter().map(Vec::as_slice)).collect();
    if let Ok(assembled) = assemble(&files, RunId(0), CONTEXTS) {
        let mut profile = assembled.profile;
        profile.meta.runs = vec![RecordedRun::default()];
        encode(&profile).expect("rows of segments are sound");
    }
}

/// Makes the sums of a file's segments right, as far as it goes.
pub fn correct_sums(file: &mut [u8]) {
    let mut at = 0;
    while let Some(header) = file.get(at..at + HEADER_BYTES) {
        let Some(kind) = RecordKind::from_u16(u16::from_le_bytes([header[6], header[7]])) else {
            return;
        };
        let count = u32::from_le_bytes([header[12], header[13], header[14], header[15]]) as usize;
        let start = at + HEADER_BYTES;
        let end = start.saturating_add(count.saturating_mul(kind.record_bytes()));
        let Some(records) = file.get(start..end) else {
            return;
        };
        let sum = crc32fast::hash(records);
        file[at + CRC.start..at + CRC.end].copy_from_slice(&sum.to_le_bytes());
        at = end;
    }
}
