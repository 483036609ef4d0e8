//! Writes `perf.data` files byte by byte, as perf's `Documentation/perf.data-file-format.txt` and
//! `include/uapi/linux/perf_event.h` have them.
#![allow(dead_code, reason = "each user takes its part")]

mod container;
mod records;

pub const IP: u64 = 1 << 0;
pub const TID: u64 = 1 << 1;
pub const TIME: u64 = 1 << 2;
pub const ADDR: u64 = 1 << 3;
pub const READ: u64 = 1 << 4;
pub const CALLCHAIN: u64 = 1 << 5;
pub const ID: u64 = 1 << 6;
pub const CPU: u64 = 1 << 7;
pub const PERIOD: u64 = 1 << 8;
pub const STREAM_ID: u64 = 1 << 9;
pub const RAW: u64 = 1 << 10;
pub const BRANCH_STACK: u64 = 1 << 11;
pub const REGS_USER: u64 = 1 << 12;
pub const STACK_USER: u64 = 1 << 13;
pub const WEIGHT: u64 = 1 << 14;
pub const DATA_SRC: u64 = 1 << 15;
pub const IDENTIFIER: u64 = 1 << 16;
pub const PHYS_ADDR: u64 = 1 << 19;
pub const WEIGHT_STRUCT: u64 = 1 << 24;

/// Sample fields that `perf mem record` sets for every event.
pub const BASE: u64 = IP | TID | TIME | ADDR | CPU | PERIOD | DATA_SRC;

/// |OP LOAD|LVL L1 hit|SNP None|TLB L1 or L2 hit|LCK No|
pub const LOAD_L1: u64 = 0x6810_0142;
/// |OP LOAD|LVL L3 hit|SNP HitM|TLB L1 or L2 hit|LCK No|
pub const LOAD_HITM: u64 = 0x6880_0842;
/// |OP LOAD|LVL L3 hit|SNP HitM|TLB L1 or L2 hit|LCK Yes|
pub const LOAD_HITM_LOCKED: u64 = 0x6a80_0842;
/// |OP STORE|LVL L1 hit|SNP N/A|TLB N/A|LCK N/A|
pub const STORE: u64 = 0x0508_0144;
/// All not available, as of software events.
pub const NOT_AVAILABLE: u64 = 0x0508_0021;
/// |OP LOAD|LVL N/A|SNP N/A|TLB N/A|LCK N/A|, from a peer: Arm SPE
pub const LOAD_PEER: u64 = 0x80_0508_0022;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    Little,
    Big,
}

/// An event.
#[derive(Clone, Debug)]
pub struct Attr {
    pub name: &'static str,
    pub kind: u32,
    pub config: u64,
    pub period: u64,
    pub freq: bool,
    pub sample_type: u64,
    pub read_format: u64,
    pub branch_sample_type: u64,
    pub regs_user: u64,
    pub ids: Vec<u64>,
}

impl Attr {
    pub fn new(name: &'static str, sample_type: u64, id: u64) -> Self {
        Self {
            name,
            kind: 4,
            config: 0,
            period: 1,
            freq: false,
            sample_type,
            read_format: 0,
            branch_sample_type: 0,
            regs_user: 0,
            ids: vec![id],
        }
    }
}

/// One access.
#[derive(Clone, Copy, Debug)]
pub struct Sample {
    pub event: usize,
    pub pc: u64,
    pub pid: u32,
    pub tid: u32,
    pub time_ns: u64,
    pub addr: u64,
    pub cpu: u32,
    pub period: u64,
    pub weight: u64,
    pub source: u64,
}

impl Default for Sample {
    fn default() -> Self {
        Self {
            event: 0,
            pc: 0x40_1000,
            pid: 100,
            tid: 100,
            time_ns: 1_000_000,
            addr: 0x7f00_0000_1000,
            cpu: 0,
            period: 1,
            weight: 0,
            source: LOAD_L1,
        }
    }
}

/// A file while it is made.
#[derive(Clone, Debug)]
pub struct File {
    pub order: Order,
    pub attrs: Vec<Attr>,
    pub records: Vec<u8>,
    pub features: Vec<(u32, Vec<u8>)>,
}

impl File {
    pub fn new(attrs: Vec<Attr>) -> Self {
        let (order, records) = (Order::Little, Vec::new());
        let mut file = Self {
            order,
            attrs,
            records,
            features: Vec::new(),
        };
        file.describe("x86_64");
        file
    }

    /// `perf mem record` on Intel from Ice Lake on: two events, told apart by an identifier.
    pub fn pebs() -> Self {
        let sample_type = BASE | IDENTIFIER | WEIGHT_STRUCT | PHYS_ADDR;
        Self::new(vec![
            Attr {
                config: 0x1cd,
                ..Attr::new("cpu/mem-loads,ldlat=30/P", sample_type, 11)
            },
            Attr {
                config: 0x82d0,
                ..Attr::new("cpu/mem-stores/P", sample_type, 12)
            },
        ])
    }

    /// `perf mem record` on AMD: one event for all.
    pub fn ibs() -> Self {
        let sample_type = BASE | WEIGHT | RAW | PHYS_ADDR;
        Self::new(vec![Attr {
            kind: 11,
            ..Attr::new("ibs_op//", sample_type, 21)
        }])
    }

    /// Arm SPE after `perf inject --itrace=tM`.
    pub fn spe() -> Self {
        let sample_type = BASE | IDENTIFIER | WEIGHT;
        let attrs = vec![
            Attr {
                kind: 10,
                ..Attr::new(
                    "arm_spe_0/ts_enable=1,load_filter=1/",
                    IP | TID | IDENTIFIER,
                    31,
                )
            },
            Attr {
                kind: 10,
                ..Attr::new("tlb-access", sample_type, 32)
            },
            Attr {
                kind: 10,
                ..Attr::new("memory", sample_type, 33)
            },
        ];
        let mut file = Self::new(attrs);
        file.features.clear();
        file.describe("aarch64");
        file
    }

    pub fn big_endian(mut self) -> Self {
        self.order = Order::Big;
        self.features.clear();
        self.describe("s390x");
        self
    }

    pub fn u16(&self, value: u16) -> Vec<u8> {
        match self.order {
            Order::Little => value.to_le_bytes().to_vec(),
            Order::Big => value.to_be_bytes().to_vec(),
        }
    }

    pub fn u32(&self, value: u32) -> Vec<u8> {
        match self.order {
            Order::Little => value.to_le_bytes().to_vec(),
            Order::Big => value.to_be_bytes().to_vec(),
        }
    }

    pub fn u64(&self, value: u64) -> Vec<u8> {
        match self.order {
            Order::Little => value.to_le_bytes().to_vec(),
            Order::Big => value.to_be_bytes().to_vec(),
        }
    }

    fn u64s(&self, values: &[u64]) -> Vec<u8> {
        values.iter().flat_map(|&value| self.u64(value)).collect()
    }
}

/// Two threads on one line: 100 reads `addr`, 101 writes 8 bytes further on; HITM for each read.
pub fn ping_pong(file: &mut File, times: u64) {
    ping_pong_in(file, "/no/such/bench", times);
}

/// The same, with the code in `path`.
pub fn ping_pong_in(file: &mut File, path: &str, times: u64) {
    let store_event = file.attrs.len() - 1;
    let load_event = if file.attrs.len() == 2 {
        0
    } else {
        store_event
    };
    file.comm(100, 100, "bench", true, 10);
    file.mmap2(100, (0x40_0000, 0x2000, 0), path, 20);
    file.fork(100, 100, 101, 100, 30);
    for n in 0..times {
        let time_ns = 1000 + n * 100;
        let base = Sample {
            time_ns,
            period: 1000,
            ..Sample::default()
        };
        let source = LOAD_HITM;
        file.sample(Sample {
            event: load_event,
            source,
            weight: 200,
            ..base
        });
        let store = Sample {
            event: store_event,
            pc: 0x40_1010,
            tid: 101,
            cpu: 1,
            ..base
        };
        file.sample(Sample {
            addr: base.addr + 8,
            source: STORE,
            time_ns: time_ns + 50,
            ..store
        });
    }
}
