//! `perf_mem_data_src`: what a sampled access did and where its data came from.
//!
//! Bits as in `include/uapi/linux/perf_event.h`, where every group is a set: several may be given,
//! and "not available" is a bit of its own.

/// `PERF_SAMPLE_DATA_SRC` of one sample.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DataSource(pub u64);

const OP: u64 = 0;
const OP_LOAD: u64 = 0x2;
const OP_STORE: u64 = 0x4;
const LEVEL: u64 = 5;
const LEVEL_HIT: u64 = 0x2;
const LEVEL_REMOTE_CACHE: u64 = 0x400 | 0x800;
const SNOOP: u64 = 19;
const SNOOP_NA: u64 = 0x1;
const SNOOP_HIT: u64 = 0x4;
const SNOOP_HITM: u64 = 0x10;
const LOCK: u64 = 24;
const LOCK_LOCKED: u64 = 0x2;
const TLB: u64 = 26;
const TLB_MISS: u64 = 0x4;
const REMOTE: u64 = 37;
const SNOOPX: u64 = 38;
const SNOOPX_PEER: u64 = 0x2;

impl DataSource {
    fn has_bits(self, shift: u64, bits: u64) -> bool {
        self.0 >> shift & bits != 0
    }

    /// A load, prefetches not among them.
    pub fn is_load(self) -> bool {
        self.has_bits(OP, OP_LOAD)
    }

    /// A store.
    pub fn is_store(self) -> bool {
        self.has_bits(OP, OP_STORE)
    }

    /// An access by a locked instruction, which loads and stores.
    pub fn is_locked(self) -> bool {
        self.has_bits(LOCK, LOCK_LOCKED)
    }

    /// The line came from another core's cache, where it was modified: `SNOOP_HITM`; and
    /// `SNOOPX_PEER`, which is all that Arm SPE tells of a line from another core's cache.
    pub fn is_hitm(self) -> bool {
        self.has_bits(SNOOP, SNOOP_HITM) || self.has_bits(SNOOPX, SNOOPX_PEER)
    }

    /// Returns whether the hardware told what other caches had. Zero is "nothing told", as is the
    /// bit that says so.
    pub fn tells_snoop(self) -> bool {
        self.is_hitm() || self.has_bits(SNOOP, 0x1f & !SNOOP_NA) || self.has_bits(SNOOPX, 0x3)
    }

    /// The data came from another socket or node, out of a cache.
    pub fn is_remote_cache(self) -> bool {
        let cache = self.is_hitm() || self.has_bits(SNOOP, SNOOP_HIT);
        self.has_bits(LEVEL, LEVEL_HIT) && self.has_bits(LEVEL, LEVEL_REMOTE_CACHE)
            || self.has_bits(REMOTE, 1) && cache
    }

    /// The address translation missed the first-level TLB.
    pub fn is_tlb_miss(self) -> bool {
        self.has_bits(TLB, TLB_MISS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(value: u64, expect: &str) {
        let source = DataSource(value);
        let words = [
            (source.is_load(), "load"),
            (source.is_store(), "store"),
            (source.is_locked(), "locked"),
            (source.is_hitm(), "hitm"),
            (source.is_remote_cache(), "remote-cache"),
            (source.is_tlb_miss(), "tlb-miss"),
            (source.tells_snoop(), "snoop"),
        ];
        let found: Vec<_> = words.iter().filter(|w| w.0).map(|w| w.1).collect();
        assert_eq!(found.join(" "), expect, "{value:#x}");
    }

    /// Values as perf prints them of real machines (`perf script -F data_src`).
    #[test]
    fn values_of_machines() {
        // Intel: |OP LOAD|LVL L1 hit|SNP None|TLB L1 or L2 hit|LCK No|
        check(0x6810_0142, "load snoop");
        // Intel: |OP LOAD|LVL L3 hit|SNP HitM|TLB L1 or L2 hit|LCK Yes|
        check(0x6a80_0842, "load locked hitm snoop");
        // Intel: |OP LOAD|LVL Remote Cache (1 hop) hit|SNP HitM|TLB L1 or L2 hit|LCK No|
        check(0x6880_8042, "load hitm remote-cache snoop");
        // Intel: |OP STORE|LVL L1 hit|SNP N/A|TLB N/A|LCK No|
        check(0x0508_0144, "store");
        // Software events: all not available
        check(0x0508_0021, "");
        // Arm SPE of Neoverse: |OP LOAD|LVL N/A|SNP N/A|... SNOOPX peer
        check(0x80_0508_0022, "load hitm snoop");
        check(0, "");
    }
}
