//! Evidence of one site, and the code that it comes from.

use relayout_layout::TypeId;

use super::knowledge::TypeEvidence;
use crate::images::LinkedAddress;

/// What one site's instruction says of the operand it loads from and of the one it stores to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SiteEvidence {
    /// Of the operand that is read.
    pub read: Option<TypeEvidence>,
    /// Of the operand that is written.
    pub written: Option<TypeEvidence>,
    /// Bytes of the operands that are read and written; 0 where that is not fixed.
    pub bytes: [u32; 2],
    /// The instruction walks through memory, so that an access may be anywhere past the operand.
    pub string: bool,
}

impl SiteEvidence {
    /// For an access of so many bytes. QEMU makes two accesses of an operand of 16 bytes, and which half
    /// one is of is not said.
    pub fn evidence_within(&self, writes: bool, bytes: u8) -> Option<TypeEvidence> {
        let operand = self.bytes[usize::from(writes)];
        self.evidence(writes)
            .filter(|_| operand <= u32::from(bytes))
    }

    /// The same with each type in place of what `ty` makes of it; `None` where it makes nothing of one.
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

    /// For a store, or for a load.
    pub fn evidence(&self, writes: bool) -> Option<TypeEvidence> {
        if writes { self.written } else { self.read }
    }
}

/// The code of a site, in one of the runs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SiteCode<'p> {
    /// Where it is in the files.
    pub at: LinkedAddress,
    /// The instruction as it was executed; empty where that is not known, and of a call.
    pub bytes: &'p [u8],
    /// A call stands for the access, and `at` is where it returns to.
    pub is_call: bool,
}
