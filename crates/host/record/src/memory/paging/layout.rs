//! Position of a machine's physical memory in the file behind it.

/// One stretch of physical memory, or two with a hole between.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PhysicalLayout {
    start: u64,
    low_bytes: u64,
    /// Start and bytes of the upper stretch, which follows the lower one in the file.
    high: Option<(u64, u64)>,
}

impl PhysicalLayout {
    /// Returns the layout of a q35 machine with `bytes` of memory: it moves the memory beyond the PCI
    /// hole above 4 GiB.
    pub fn for_q35(bytes: u64) -> Self {
        const HOLE: u64 = 0xb000_0000;
        const LOW_BYTES: u64 = 0x8000_0000;
        const HIGH: u64 = 1 << 32;
        let is_split = bytes >= HOLE;
        Self {
            start: 0,
            low_bytes: if is_split { LOW_BYTES } else { bytes },
            high: is_split.then(|| (HIGH, bytes - LOW_BYTES)),
        }
    }

    /// Returns the layout of Arm's `virt` machine with `bytes` of memory.
    pub fn for_virt(bytes: u64) -> Self {
        const START: u64 = 1 << 30;
        Self {
            start: START,
            low_bytes: bytes,
            high: None,
        }
    }

    /// Lowest physical address.
    pub fn start(self) -> u64 {
        self.start
    }

    /// Bytes from the lowest physical address to the end of the highest, holes included.
    pub fn span_bytes(self) -> u64 {
        match self.high {
            Some((start, bytes)) => start + bytes - self.start,
            None => self.low_bytes,
        }
    }

    /// Returns the offset of a physical address in the file. It may be past the file's end.
    pub fn file_offset(self, physical: u64) -> Option<u64> {
        let offset = physical.checked_sub(self.start)?;
        if offset < self.low_bytes {
            return Some(offset);
        }
        let (high, _) = self.high?;
        Some(physical.checked_sub(high)? + self.low_bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::PhysicalLayout;

    #[test]
    fn memory_above_the_hole() {
        let layout = PhysicalLayout::for_q35(4 << 30);
        assert_eq!(layout.file_offset(0x7fff_ffff), Some(0x7fff_ffff));
        assert_eq!(layout.file_offset(0x8000_0000), None);
        assert_eq!(layout.file_offset(1 << 32), Some(0x8000_0000));
        assert_eq!(layout.span_bytes(), 6 << 30);
        let small = PhysicalLayout::for_q35(2 << 30);
        assert_eq!(small.file_offset(0x7000_0000), Some(0x7000_0000));
        assert_eq!(small.span_bytes(), 2 << 30);
    }

    #[test]
    fn memory_of_virt_begins_at_a_gibibyte() {
        let layout = PhysicalLayout::for_virt(2 << 30);
        assert_eq!(layout.file_offset(0x3fff_ffff), None);
        assert_eq!(layout.file_offset(0x4000_1000), Some(0x1000));
        assert_eq!(layout.file_offset(0xc000_0000), None);
        assert_eq!((layout.start(), layout.span_bytes()), (1 << 30, 2 << 30));
    }
}
