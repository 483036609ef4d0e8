//! The type to improve, and its recorded objects.

use relayout_contend::ObjectTrace;
use relayout_layout::Aggregate;
use relayout_layout::abi::StructShape;
use relayout_profile::{Addr, RunId};

/// Origin of an object's address. It tells the address that the object would have with another
/// size.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ObjectHome {
    /// The object starts a slot of a slab cache.
    Slab {
        /// Name of the cache: `kmalloc-192`, `dentry`, `kmalloc-cg-64`.
        cache: String,
        /// Address of the slab's first slot.
        first: Addr,
        /// Bytes from slot to slot as recorded.
        stride: u32,
        /// Bytes of the object in a slot as recorded (`kmem_cache.object_size`).
        object_bytes: u32,
    },
    /// The object is in memory that `malloc` or a function like it returned.
    Heap {
        /// First byte of the allocation, or of the array in it.
        first: Addr,
        /// Alignment in bytes that the allocator gives to any allocation.
        align: u32,
        /// Number of objects in the allocation.
        count: u64,
        /// True if the language has the allocator give a type the alignment that it declares, as
        /// Rust and `new` of C++17 do.
        follows_type: bool,
    },
    /// A global, a per-cpu variable, a part of a larger object, or memory outside of slab caches:
    /// another layout starts at the same address.
    Fixed,
}

/// A stretch of the recording of an object.
#[derive(Clone, Debug, PartialEq)]
pub struct RecordedInstance {
    /// Run; addresses of different runs are unrelated.
    pub run: RunId,
    /// First run of its recording: what holds in some recordings only is unstable, and the processes
    /// of one recording are no repetitions.
    pub recording: RunId,
    /// Accesses to the object.
    pub trace: ObjectTrace,
    /// Origin of its address.
    pub home: ObjectHome,
    /// Objects that are recorded as one, because neighbours can share lines: elements of an array,
    /// slots of a slab, objects that were allocated one after the other. Empty for a single object.
    pub row: Vec<RowObject>,
}

/// An object of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RowObject {
    /// Offset of its first byte from the first object of the row, as recorded.
    pub start: u32,
    /// Objects in the allocation that begins with it; 0 if it lies in the allocation, array or slab
    /// of the object before it.
    pub allocated: u64,
}

impl RowObject {
    /// Returns a row of `count` objects in one array or slab, `stride` bytes apart.
    ///
    /// ```
    /// use relayout_search::RowObject;
    ///
    /// let starts: Vec<u32> = RowObject::evenly(3, 24).iter().map(|object| object.start).collect();
    /// assert_eq!(starts, [0, 24, 48]);
    /// ```
    pub fn evenly(count: u32, stride: u32) -> Vec<Self> {
        let object = |index: u32| Self {
            start: index.saturating_mul(stride),
            allocated: 0,
        };
        (0..count).map(object).collect()
    }
}

impl RecordedInstance {
    /// Returns the number of objects, at least 1.
    pub fn objects(&self) -> u32 {
        self.starts().count() as u32
    }

    /// Returns true for a row of several objects.
    pub fn is_row(&self) -> bool {
        self.row.len() > 1
    }

    /// Returns the offsets of the objects' first bytes, ascending from 0.
    pub fn starts(&self) -> impl Iterator<Item = u32> + '_ {
        let behind = self.row.iter().skip(1).map(|object| object.start);
        std::iter::once(0).chain(behind)
    }

    /// Returns the bytes from one object to the next in a row of one array or slab; `None` for a single
    /// object, and for objects of an allocation each.
    pub fn even_stride(&self) -> Option<u32> {
        let stride = self.row.get(1)?.start;
        let is_even = self
            .row
            .iter()
            .skip(1)
            .zip(&self.row)
            .all(|(object, before)| object.allocated == 0 && object.start - before.start == stride);
        is_even.then_some(stride)
    }

    /// Returns the index of the object that the byte at `offset` belongs to, and the offset in it.
    pub fn locate(&self, offset: u32) -> (u32, u32) {
        let behind = self.row.partition_point(|object| object.start <= offset);
        match behind.checked_sub(1) {
            Some(index) => (index as u32, offset - self.row[index].start),
            None => (0, offset),
        }
    }
}

/// A type and the recording of its objects.
#[derive(Clone, Copy, Debug)]
pub struct AdviceSubject<'a> {
    /// The type as compiled.
    pub aggregate: &'a Aggregate,
    /// The type as atoms.
    pub shape: &'a StructShape,
    /// Recorded instances.
    pub instances: &'a [RecordedInstance],
    /// Bytes per element of the flexible array at the end; 0 without one.
    pub tail_element_bytes: u64,
    /// Objects of the type in the recording, with or without a trace.
    pub objects: u64,
    /// Size of a cache line in bytes.
    pub line_bytes: u32,
    /// The same type in builds of other configurations. Candidates are ranked by the build where
    /// each does worst, the recorded one included.
    pub builds: &'a [StructShape],
}

/// Code that accesses a type: as recorded, or with store guards.
#[derive(Clone, Copy, Debug)]
pub struct AccessingCode<'a> {
    recorded: AdviceSubject<'a>,
    guarded: Option<&'a [RecordedInstance]>,
}

impl<'a> AccessingCode<'a> {
    /// Code of `recorded` with the guards that `instances` have: see
    /// [`guard_stores`](crate::guard_stores()).
    pub fn with_guards(recorded: AdviceSubject<'a>, instances: &'a [RecordedInstance]) -> Self {
        Self {
            recorded,
            guarded: Some(instances),
        }
    }

    /// The recording as it is.
    pub(crate) fn recorded_subject(&self) -> AdviceSubject<'a> {
        self.recorded
    }

    /// The recording with the guards.
    pub(crate) fn changed_subject(&self) -> AdviceSubject<'a> {
        AdviceSubject {
            instances: self.guarded.unwrap_or(self.recorded.instances),
            ..self.recorded
        }
    }

    /// Returns true if the code has guards.
    pub(crate) fn is_guarded(&self) -> bool {
        self.guarded.is_some()
    }
}

impl<'a> From<AdviceSubject<'a>> for AccessingCode<'a> {
    /// Code as recorded.
    fn from(recorded: AdviceSubject<'a>) -> Self {
        Self {
            recorded,
            guarded: None,
        }
    }
}
