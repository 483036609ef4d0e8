//! Numbers for memory instructions.

use std::collections::HashMap;

use relayout_shadow::Host;
use relayout_shadow::wire::{self, SegmentHeader, SiteRecord};

use crate::output::{Output, SITES_CONTEXT};

/// Sites seen so far, by address and bytes (the kernel patches its code while it runs).
#[derive(Default)]
pub struct Sites {
    numbers: HashMap<(u64, [u8; 16]), u32>,
    fresh: Vec<SiteRecord>,
    sequence: u32,
}

impl Sites {
    /// The number of the instruction with these bytes at `pc`.
    pub fn number(&mut self, pc: u64, bytes: [u8; 16], len: usize) -> u32 {
        let next = self.numbers.len() as u32;
        let number = *self.numbers.entry((pc, bytes)).or_insert(next);
        if number == next {
            let mut padded = [0; 19];
            padded[..16].copy_from_slice(&bytes);
            self.fresh.push(SiteRecord {
                pc,
                site: number,
                len: len as u8,
                bytes: padded,
            });
        }
        number
    }

    /// Appends what is not yet: before anything can refer to it.
    pub fn flush(&mut self, output: &Output) {
        if self.fresh.is_empty() {
            return;
        }
        let payload = wire::as_bytes(&self.fresh);
        let header = SegmentHeader {
            magic: wire::MAGIC,
            version: wire::VERSION,
            kind: wire::Kind::Site as u16,
            context: u16::from(SITES_CONTEXT),
            reserved: 0,
            count: self.fresh.len() as u32,
            sequence: self.sequence,
            crc: wire::crc32(payload),
        };
        self.sequence += 1;
        output.append(SITES_CONTEXT, &header, payload);
        self.fresh.clear();
    }
}
