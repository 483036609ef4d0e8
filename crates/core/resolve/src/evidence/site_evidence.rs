//! Evidence of one site, and the code that it comes from.

use relayout_layout::TypeId;

use super::knowledge::{FramePlace, TypeEvidence};
use crate::images::LinkedAddress;

/// Evidence of one site about the operand that it reads and the one that it writes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SiteEvidence {
    /// Evidence about the operand that is read.
    pub read: Option<TypeEvidence>,
    /// Evidence about the operand that is written.
    pub written: Option<TypeEvidence>,
    /// Places in the function's own frame of the operands that are read and written.
    pub frame: [Option<FramePlace>; 2],
    /// Bytes of the operands that are read and written; 0 if the size is not fixed.
    pub bytes: [u32; 2],
    /// The instruction walks through memory, so an access may be anywhere behind the operand's
    /// address.
    pub string: bool,
}

impl SiteEvidence {
    /// Returns the evidence about an access of this many bytes. QEMU splits accesses of 16 bytes
    /// without telling the halves apart, so an operand that is longer than the access gives no
    /// evidence.
    pub fn evidence_within(&self, writes: bool, bytes: u8) -> Option<TypeEvidence> {
        let operand = self.bytes[usize::from(writes)];
        self.evidence(writes)
            .filter(|_| operand <= u32::from(bytes))
    }

    /// Replaces each type by the result of `ty`; `None` if that has no result.
    pub(crate) fn with_types(&self, ty: &mut impl FnMut(TypeId) -> Option<TypeId>) -> Option<Self> {
        let mut translate = |side: Option<TypeEvidence>| match side {
            None => Some(None),
            Some(evidence) => Some(Some(TypeEvidence {
                ty: ty(evidence.ty)?,
                via: match evidence.via {
                    None => None,
                    Some((owner, offset)) => Some((ty(owner)?, offset)),
                },
                ..evidence
            })),
        };
        Some(Self {
            read: translate(self.read)?,
            written: translate(self.written)?,
            ..*self
        })
    }

    /// Returns the place in the frame of the function of what is stored to, or loaded.
    pub fn frame_place(&self, writes: bool) -> Option<FramePlace> {
        self.frame[usize::from(writes)]
    }

    /// Returns the evidence about a store, or about a load.
    pub fn evidence(&self, writes: bool) -> Option<TypeEvidence> {
        if writes { self.written } else { self.read }
    }
}

/// Code of a site in one of the runs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SiteCode<'p> {
    /// Link-time address.
    pub at: LinkedAddress,
    /// Bytes of the instruction as it was executed; empty if they are unknown, and for a call.
    pub bytes: &'p [u8],
    /// A call stands for the access, and `at` is its return address.
    pub is_call: bool,
}
