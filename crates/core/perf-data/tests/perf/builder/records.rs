//! The records of a file: what happened, and the samples.

use super::*;

impl File {
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

    /// Returns the trailer of a record that is no sample.
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

    /// A zero-terminated text, padded to 8 bytes.
    fn text(text: &str) -> Vec<u8> {
        let mut bytes = text.as_bytes().to_vec();
        bytes.resize((bytes.len() / 8 + 1) * 8, 0);
        bytes
    }
}
