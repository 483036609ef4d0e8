//! What was found out about the code of some files, kept for the next profile of them: resolving opens no
//! file, so it hands this over as bytes ([`Kept::encode`]) and takes it back ([`Kept::decode`]).
//!
//! Kept is what costs most to find and does not depend on what was recorded: what each memory
//! instruction says, and where variables are. Types are named by their entries, which are the same in
//! every process. Bytes count for one [`identity`](Kept::identity) only: the files' build ids and debug
//! information, and the code of this library.

mod bytes;
mod format;
mod identity;
mod table;

pub use self::bytes::KeptDamage;
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
