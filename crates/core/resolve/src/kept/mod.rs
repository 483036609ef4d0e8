//! Evidence about the code of some files, kept for the next profile of them. This crate opens no
//! file: it encodes the evidence as bytes ([`KeptEvidence::encode`]) and decodes them
//! ([`KeptEvidence::decode`]).
//!
//! Kept are the results that cost most to compute and do not depend on the recording: the evidence
//! of each memory instruction, and the addresses of variables and functions. Types are named by their debug
//! information entries, which are the same in every process. Bytes are valid for one
//! [`identity`](KeptEvidence::identity) only: the build ids and debug information of the files, and
//! the sources of this library.

mod bytes;
mod format;
mod identity;
mod table;

pub use self::bytes::KeptDamage;
pub(crate) use self::table::FileIndex;
pub use self::table::KeptEvidence;

impl KeptEvidence {
    /// Adds the evidence of `bytes`, which [`encode`](Self::encode) made.
    ///
    /// # Errors
    /// The bytes have another identity, or are cut off or damaged.
    pub fn decode(self, bytes: &[u8]) -> Result<Self, KeptDamage> {
        format::decode(self, bytes)
    }

    /// Encodes the evidence as bytes, for [`decode`](Self::decode).
    pub fn encode(&self) -> Vec<u8> {
        format::encode(self)
    }
}
