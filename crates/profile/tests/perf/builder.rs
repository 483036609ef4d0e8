//! Writes `perf.data` files byte by byte, as perf's `Documentation/perf.data-file-format.txt` and
//! `include/uapi/linux/perf_event.h` have them.
#![allow(dead_code, reason = "each user takes its part")]

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

/// What `perf mem record` asks of every event.
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

    fn describe(&mut self, arch: &str) {
        let strings = [
            (4, "6.1.0-test"),
            (5, "6.1.187"),
            (6, arch),
            (8, "A processor"),
        ];
        for (number, text) in strings {
            let bytes = self.string(text);
            self.features.push((number, bytes));
        }
        let cpus = [self.u32(4), self.u32(4)].concat();
        self.features.push((7, cpus));
        // One NUMA node; `perf c2c` asks for them.
        let mut nodes = [
            self.u32(1),
            self.u32(0),
            self.u64(1 << 20),
            self.u64(1 << 19),
        ]
        .concat();
        nodes.extend(self.string("0-3"));
        self.features.push((14, nodes));
        // Its memory: version, bytes of a block, nodes; node, bits, and a bitmap of as many.
        let memory = self.u64s(&[1, 1 << 27, 1, 0, 8, 8, 0xff]);
        self.features.push((22, memory));
        let words = ["perf", "mem", "record", "./bench"];
        let mut command = self.u32(words.len() as u32);
        words
            .iter()
            .for_each(|word| command.extend(self.string(word)));
        self.features.push((11, command));
        let names = self.event_desc();
        self.features.push((12, names));
        self.features.sort_by_key(|feature| feature.0);
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

    /// A zero-terminated text, padded to 8 bytes.
    fn text(text: &str) -> Vec<u8> {
        let mut bytes = text.as_bytes().to_vec();
        bytes.resize((bytes.len() / 8 + 1) * 8, 0);
        bytes
    }

    /// `perf_header_string`, padded as perf does.
    pub fn string(&self, text: &str) -> Vec<u8> {
        let mut padded = text.as_bytes().to_vec();
        padded.resize((padded.len() / 64 + 1) * 64, 0);
        [self.u32(padded.len() as u32), padded].concat()
    }

    /// `perf_event_attr` of 128 bytes.
    pub fn attr(&self, attr: &Attr) -> Vec<u8> {
        // mmap, comm, freq, task, mmap_data, sample_id_all, mmap2, comm_exec
        let freq = u64::from(attr.freq) << 10;
        let flags = 1 << 8 | 1 << 9 | freq | 1 << 13 | 1 << 17 | 1 << 18 | 1 << 23 | 1 << 24;
        let mut bytes = [self.u32(attr.kind), self.u32(128)].concat();
        bytes.extend(self.u64s(&[attr.config, attr.period, attr.sample_type, 0]));
        bytes.extend(match self.order {
            Order::Little => u64::to_le_bytes(flags),
            // Big-endian compilers fill bit fields from the high bits on.
            Order::Big => u64::to_be_bytes(flags.reverse_bits()),
        });
        bytes.resize(128, 0);
        bytes
    }

    fn event_desc(&self) -> Vec<u8> {
        let mut bytes = [self.u32(self.attrs.len() as u32), self.u32(128)].concat();
        for attr in &self.attrs {
            bytes.extend(self.attr(attr));
            bytes.extend(self.u32(attr.ids.len() as u32));
            bytes.extend(self.string(attr.name));
            bytes.extend(self.u64s(&attr.ids));
        }
        bytes
    }

    /// A record with its header.
    pub fn encode(&self, kind: u32, misc: u16, body: &[u8]) -> Vec<u8> {
        let size = self.u16(8 + body.len() as u16);
        [&self.u32(kind)[..], &self.u16(misc), &size, body].concat()
    }

    pub fn record(&mut self, kind: u32, misc: u16, body: &[u8]) -> &mut Self {
        let bytes = self.encode(kind, misc, body);
        self.records.extend(bytes);
        self
    }

    /// What ends a record that is no sample.
    fn sample_id(&self, pid: u32, tid: u32, time_ns: u64) -> Vec<u8> {
        let attr = &self.attrs[0];
        let id = attr.ids[0];
        let mut bytes = Vec::new();
        let mut add = |bit, field: Vec<u8>| {
            if attr.sample_type & bit != 0 {
                bytes.extend(field);
            }
        };
        add(TID, [self.u32(pid), self.u32(tid)].concat());
        add(TIME, self.u64(time_ns));
        add(ID, self.u64(id));
        add(CPU, self.u64(0));
        add(IDENTIFIER, self.u64(id));
        bytes
    }

    pub fn comm(&mut self, pid: u32, tid: u32, name: &str, exec: bool, time_ns: u64) -> &mut Self {
        let mut body = [self.u32(pid), self.u32(tid), Self::text(name)].concat();
        body.extend(self.sample_id(pid, tid, time_ns));
        self.record(3, if exec { 1 << 13 | 2 } else { 2 }, &body)
    }

    pub fn fork(
        &mut self,
        pid: u32,
        parent: u32,
        tid: u32,
        parent_tid: u32,
        time_ns: u64,
    ) -> &mut Self {
        let mut body: Vec<u8> = [pid, parent, tid, parent_tid]
            .iter()
            .flat_map(|&n| self.u32(n))
            .collect();
        body.extend(self.u64(time_ns));
        body.extend(self.sample_id(pid, tid, time_ns));
        self.record(7, 0, &body)
    }

    /// MMAP2 of an executable piece of a file.
    pub fn mmap2(
        &mut self,
        pid: u32,
        (start, bytes, offset): (u64, u64, u64),
        path: &str,
        time_ns: u64,
    ) -> &mut Self {
        let identity = [self.u32(8), self.u32(1), self.u64(4242), self.u64(0)].concat();
        self.mmap2_with(pid, (start, bytes, offset), path, time_ns, 2, &identity)
    }

    /// MMAP2 with a build id of 20 bytes.
    pub fn mmap2_build_id(
        &mut self,
        pid: u32,
        place: (u64, u64, u64),
        path: &str,
        id: &[u8; 20],
    ) -> &mut Self {
        let identity = [&[20, 0, 0, 0][..], id].concat();
        self.mmap2_with(pid, place, path, 0, 1 << 14 | 2, &identity)
    }

    fn mmap2_with(
        &mut self,
        pid: u32,
        (start, bytes, offset): (u64, u64, u64),
        path: &str,
        time_ns: u64,
        misc: u16,
        identity: &[u8],
    ) -> &mut Self {
        let mut body = [
            self.u32(pid),
            self.u32(pid),
            self.u64s(&[start, bytes, offset]),
        ]
        .concat();
        body.extend(identity);
        // PROT_READ | PROT_EXEC, MAP_PRIVATE
        body.extend([self.u32(5), self.u32(2), Self::text(path)].concat());
        body.extend(self.sample_id(pid, pid, time_ns));
        self.record(10, misc, &body)
    }

    /// MMAP of the kernel's image.
    pub fn kernel(&mut self, start: u64, bytes: u64, text: u64) -> &mut Self {
        let pid = u32::MAX;
        let mut body = [self.u32(pid), self.u32(0), self.u64s(&[start, bytes, text])].concat();
        body.extend(Self::text("[kernel.kallsyms]_text"));
        body.extend(self.sample_id(pid, 0, 0));
        self.record(1, 1, &body)
    }

    pub fn lost(&mut self, count: u64) -> &mut Self {
        let mut body = self.u64s(&[self.attrs[0].ids[0], count]);
        body.extend(self.sample_id(0, 0, 0));
        self.record(2, 0, &body)
    }

    /// A sample, with what variable fields its event asks for filled.
    pub fn sample(&mut self, sample: Sample) -> &mut Self {
        let attr = self.attrs[sample.event].clone();
        let mut body = Vec::new();
        let mut add = |bit, field: Vec<u8>| {
            if attr.sample_type & bit != 0 {
                body.extend(field);
            }
        };
        let s = sample;
        add(IDENTIFIER, self.u64(attr.ids[0]));
        add(IP, self.u64(s.pc));
        add(TID, [self.u32(s.pid), self.u32(s.tid)].concat());
        add(TIME, self.u64(s.time_ns));
        add(ADDR, self.u64(s.addr));
        add(ID, self.u64(attr.ids[0]));
        add(STREAM_ID, self.u64(attr.ids[0]));
        add(CPU, [self.u32(s.cpu), self.u32(0)].concat());
        add(PERIOD, self.u64(s.period));
        add(READ, self.u64(5));
        add(CALLCHAIN, self.u64s(&[2, s.pc, s.pc + 16]));
        add(RAW, [self.u32(12), vec![0xee; 12]].concat());
        add(BRANCH_STACK, self.u64s(&[1, 1, 2, 3]));
        add(REGS_USER, self.u64(0));
        add(STACK_USER, self.u64s(&[8, 0xeeee, 8]));
        add(WEIGHT, self.u64(s.weight));
        // The latency is the low half on little-endian machines, and by value on all.
        add(WEIGHT_STRUCT, self.u64(s.weight | 7 << 32));
        add(DATA_SRC, self.u64(s.source));
        add(PHYS_ADDR, self.u64(s.addr & 0xffff));
        let misc = if s.pc >= 1 << 63 { 1 } else { 2 };
        self.record(9, misc | 1 << 14, &body)
    }

    /// `perf_header`: the attributes, their ids, the records, the features.
    pub fn bytes(&self) -> Vec<u8> {
        let header_bytes = 104_u64;
        let attr_bytes = 128 + 16;
        let ids_at = |n: usize| {
            let before: usize = self.attrs[..n].iter().map(|attr| attr.ids.len() * 8).sum();
            header_bytes + before as u64
        };
        let attrs_at = ids_at(self.attrs.len());
        let data_at = attrs_at + attr_bytes * self.attrs.len() as u64;
        let magic = match self.order {
            Order::Little => b"PERFILE2",
            Order::Big => b"2ELIFREP",
        };
        let mut file = magic.to_vec();
        file.extend(self.u64s(&[header_bytes, attr_bytes]));
        file.extend(self.u64s(&[attrs_at, attr_bytes * self.attrs.len() as u64]));
        file.extend(self.u64s(&[data_at, self.records.len() as u64, 0, 0]));
        let flags = self
            .features
            .iter()
            .fold(0, |flags, (number, _)| flags | 1_u64 << number);
        file.extend(self.u64s(&[flags, 0, 0, 0]));
        self.attrs
            .iter()
            .for_each(|attr| file.extend(self.u64s(&attr.ids)));
        for (n, attr) in self.attrs.iter().enumerate() {
            file.extend(self.attr(attr));
            file.extend(self.u64s(&[ids_at(n), attr.ids.len() as u64 * 8]));
        }
        file.extend(&self.records);
        let mut at = file.len() as u64 + 16 * self.features.len() as u64;
        for (_, bytes) in &self.features {
            file.extend(self.u64s(&[at, bytes.len() as u64]));
            at += bytes.len() as u64;
        }
        self.features
            .iter()
            .for_each(|(_, bytes)| file.extend(bytes));
        file
    }

    /// As perf writes to a pipe: what the head says comes as records.
    pub fn pipe(&self) -> Vec<u8> {
        let mut file = b"PERFILE2".to_vec();
        file.extend(self.u64(16));
        for attr in &self.attrs {
            let body = [self.attr(attr), self.u64s(&attr.ids)].concat();
            file.extend(self.encode(64, 0, &body));
        }
        for (number, bytes) in &self.features {
            let mut body = [self.u64(u64::from(*number)), bytes.clone()].concat();
            body.resize(body.len().next_multiple_of(8), 0);
            file.extend(self.encode(80, 0, &body));
        }
        file.extend(&self.records);
        file
    }

    /// As `perf record -z`: `pieces` records that hold a zstd stream of all others.
    pub fn compress(&mut self, stream: &[u8], pieces: usize) -> &mut Self {
        self.records.clear();
        for piece in stream.chunks(stream.len().div_ceil(pieces)) {
            self.record(81, 0, piece);
        }
        self
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
