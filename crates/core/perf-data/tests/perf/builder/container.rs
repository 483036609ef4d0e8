//! The container of the records: the head, attributes and features; the same for a pipe;
//! compressed.

use super::*;

impl File {
    pub(super) fn describe(&mut self, arch: &str) {
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

    /// `perf_event_attr` of 128 bytes.
    pub fn attr(&self, attr: &Attr) -> Vec<u8> {
        // mmap, comm, freq, task, mmap_data, sample_id_all, mmap2, comm_exec
        let freq = u64::from(attr.freq) << 10;
        let flags = 1 << 8 | 1 << 9 | freq | 1 << 13 | 1 << 17 | 1 << 18 | 1 << 23 | 1 << 24;
        let mut bytes = [self.u32(attr.kind), self.u32(128)].concat();
        bytes.extend(self.u64s(&[attr.config, attr.period, attr.sample_type]));
        bytes.extend(self.u64(attr.read_format));
        bytes.extend(match self.order {
            Order::Little => u64::to_le_bytes(flags),
            // Big-endian compilers fill bit fields from the high bits on.
            Order::Big => u64::to_be_bytes(flags.reverse_bits()),
        });
        // Wakeup, breakpoint, config1, config2.
        bytes.extend([0; 24]);
        bytes.extend(self.u64s(&[attr.branch_sample_type, attr.regs_user]));
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

    /// `perf_header_string`, padded as perf does.
    pub fn string(&self, text: &str) -> Vec<u8> {
        let mut padded = text.as_bytes().to_vec();
        padded.resize((padded.len() / 64 + 1) * 64, 0);
        [self.u32(padded.len() as u32), padded].concat()
    }
}
