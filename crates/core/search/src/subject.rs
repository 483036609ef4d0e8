//! The type that advice is sought for, and its recorded objects.

use relayout_contend::ObjectTrace;
use relayout_layout::Aggregate;
use relayout_layout::abi::StructShape;

/// Where an object's address comes from, so that it can be said where it would be in another size.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ObjectHome {
    /// The object is the start of a slot of a slab cache.
    Slab {
        /// Name of the cache: `kmalloc-192`, `dentry`, `kmalloc-cg-64`.
        cache: String,
        /// Address of the slab's first slot.
        first: u64,
        /// Bytes from slot to slot as recorded.
        stride: u32,
        /// Bytes of the object in a slot as recorded (`kmem_cache.object_size`).
        object_bytes: u32,
    },
    /// A global, a per-cpu variable, a part of a larger object, or memory that no slab cache gave:
    /// another layout starts at the same address.
    Fixed,
}

/// One stretch of the recording of one object.
#[derive(Clone, Debug, PartialEq)]
pub struct RecordedInstance {
    /// Recording that it is from: addresses of different runs are unrelated.
    pub run: u16,
    /// Its accesses.
    pub trace: ObjectTrace,
    /// Where it was.
    pub home: ObjectHome,
    /// Objects that it is of: more than 1 for a row of them whose neighbours can share lines (an
    /// array, slots of a slab), recorded as one.
    pub elements: u32,
    /// Bytes from one of them to the next as recorded.
    pub stride: u32,
}

impl RecordedInstance {
    /// Which of its objects the byte at `offset` belongs to, and where in that.
    pub(crate) fn locate(&self, offset: u32) -> (u32, u32) {
        match (self.elements, self.stride) {
            (2.., 1..) => (offset / self.stride, offset % self.stride),
            _ => (0, offset),
        }
    }
}

/// A type and what was recorded of its objects.
#[derive(Clone, Copy, Debug)]
pub struct AdviceSubject<'a> {
    /// The type as compiled.
    pub aggregate: &'a Aggregate,
    /// The same, taken apart.
    pub shape: &'a StructShape,
    /// What was recorded.
    pub instances: &'a [RecordedInstance],
    /// Bytes per element of the flexible array at its end; 0 if there is none.
    pub tail_element_bytes: u64,
    /// Objects of the type that were seen in the recording (with or without a trace).
    pub objects: u64,
    /// Bytes of a cache line.
    pub line_bytes: u32,
    /// The same type in builds of other configurations: candidates are ranked by the one where each does
    /// worst, the recorded one among them.
    pub builds: &'a [StructShape],
}

/// Code that accesses a type: as recorded, or with checks before stores.
#[derive(Clone, Copy, Debug)]
pub struct AccessingCode<'a> {
    recorded: AdviceSubject<'a>,
    guarded: Option<&'a [RecordedInstance]>,
}

impl<'a> AccessingCode<'a> {
    /// That of `recorded`, with the checks that `instances` have: see [`checked()`](crate::checked()).
    pub fn with_guards(recorded: AdviceSubject<'a>, instances: &'a [RecordedInstance]) -> Self {
        Self {
            recorded,
            guarded: Some(instances),
        }
    }

    /// What was recorded.
    pub(crate) fn recorded_subject(&self) -> AdviceSubject<'a> {
        self.recorded
    }

    /// What it would be.
    pub(crate) fn changed_subject(&self) -> AdviceSubject<'a> {
        AdviceSubject {
            instances: self.guarded.unwrap_or(self.recorded.instances),
            ..self.recorded
        }
    }

    /// Whether these differ.
    pub(crate) fn is_guarded(&self) -> bool {
        self.guarded.is_some()
    }
}

impl<'a> From<AdviceSubject<'a>> for AccessingCode<'a> {
    /// As recorded.
    fn from(recorded: AdviceSubject<'a>) -> Self {
        Self {
            recorded,
            guarded: None,
        }
    }
}
