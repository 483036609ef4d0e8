//! Numbers of memory instructions.

use std::collections::HashMap;

use relayout_shadow::CollectorHost;
use relayout_shadow::wire::{self, SegmentHeader, SiteRecord};

use crate::output::{SITES_CONTEXT, SegmentOutput};

/// Sites seen so far, by address and bytes, since the kernel patches its code while it runs.
#[derive(Default)]
pub struct SiteNumbers {
    numbers: HashMap<(u64, [u8; 16]), u32>,
    fresh: Vec<SiteRecord>,
    sequence: u32,
}

impl SiteNumbers {
    /// Returns the number of the instruction with these bytes, at most 16, at `pc`.
    pub fn number(&mut self, pc: u64, bytes: &[u8]) -> u32 {
        let len = bytes.len().min(16);
        let mut key = [0; 16];
        key[..len].copy_from_slice(&bytes[..len]);
        let next = self.numbers.len() as u32;
        let number = *self.numbers.entry((pc, key)).or_insert(next);
        if number == next {
            let mut padded = [0; 19];
            padded[..16].copy_from_slice(&key);
            self.fresh.push(SiteRecord {
                pc,
                site: number,
                len: len as u8,
                bytes: padded,
            });
        }
        number
    }

    /// Appends the new sites, before any record can refer to them.
    pub fn flush(&mut self, output: &SegmentOutput) {
        if self.fresh.is_empty() {
            return;
        }
        let header = SegmentHeader::for_records(SITES_CONTEXT, self.sequence, &self.fresh);
        self.sequence += 1;
        output.append(SITES_CONTEXT, &header, wire::as_bytes(&self.fresh));
        self.fresh.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::tests::{check_segment, folder};

    #[test]
    fn patched_code_gets_another_number() {
        let mut sites = SiteNumbers::default();
        let (mov, nop) = ([0x8b; 3], [0x90; 3]);
        assert_eq!(sites.number(0x10, &mov), 0);
        assert_eq!(sites.number(0x20, &mov), 1);
        assert_eq!(sites.number(0x10, &nop), 2);
        assert_eq!(
            sites.number(0x10, &mov),
            0,
            "and its old one when patched back"
        );
    }

    #[test]
    fn each_is_appended_once() {
        let dir = folder();
        let output = SegmentOutput::open(dir.path(), 1).unwrap();
        let mut sites = SiteNumbers::default();
        sites.number(0x10, &[0x8b; 3]);
        sites.flush(&output);
        sites.number(0x10, &[0x8b; 3]);
        sites.flush(&output);
        let bytes = std::fs::read(dir.path().join("sites.seg")).unwrap();
        let payload = check_segment(&bytes, wire::RecordKind::Site);
        let site: SiteRecord = wire::read_record(payload).unwrap();
        assert_eq!((site.pc, site.site, site.len), (0x10, 0, 3));
        assert_eq!(site.bytes[..4], [0x8b, 0x8b, 0x8b, 0]);
    }
}
