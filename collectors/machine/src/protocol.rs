//! Coherence protocols: what the copies of a line become when another core reads it.

/// State of the copy that answers requests for a line. All other copies are [`CopyState::Shared`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CopyState {
    /// The only copy, newer than memory.
    Modified,
    /// The only copy, as memory has it.
    Exclusive,
    /// Newer than memory, and others have copies.
    Owned,
    /// As memory has it, and this copy supplies the next reader.
    Forward,
    /// As memory has it.
    Shared,
}

impl CopyState {
    /// Returns whether the core may store without asking.
    pub fn is_alone(self) -> bool {
        matches!(self, Self::Modified | Self::Exclusive)
    }
}

/// Effect of a read by another core on a line that a copy in some state answers for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ReadEffect {
    /// State that the copy keeps. None: it is given up.
    pub keeps: Option<CopyState>,
    /// State of the reader's copy.
    pub reader: CopyState,
}

/// Cache that supplies a line that is as memory has it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CleanSupplier {
    /// The copy in state [`CopyState::Forward`], wherever it is.
    Forwarder,
    /// The nearest cache that has a copy.
    Nearest,
}

/// Table of a machine's coherence protocol.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CoherenceProtocol {
    /// Name.
    pub name: &'static str,
    /// Read of a modified line.
    pub modified: ReadEffect,
    /// Read of a line that one core has alone.
    pub exclusive: ReadEffect,
    /// Read of a modified line that others read already.
    pub owned: ReadEffect,
    /// Read of a clean line.
    pub clean: ReadEffect,
    /// Cache that supplies a clean line.
    pub clean_supplier: CleanSupplier,
}

const fn effect(keeps: Option<CopyState>, reader: CopyState) -> ReadEffect {
    ReadEffect { keeps, reader }
}

impl CoherenceProtocol {
    /// Intel's protocol: a read of a modified line writes it back, both read it then, and the last reader supplies the
    /// next.
    pub const MESIF: Self = Self {
        name: "MESIF",
        modified: effect(Some(CopyState::Shared), CopyState::Forward),
        exclusive: effect(Some(CopyState::Shared), CopyState::Forward),
        owned: effect(Some(CopyState::Owned), CopyState::Shared),
        clean: effect(Some(CopyState::Shared), CopyState::Forward),
        clean_supplier: CleanSupplier::Forwarder,
    };
    /// Protocol of AMD and of Arm's meshes: the owner of a modified line keeps it and supplies all readers.
    pub const MOESI: Self = Self {
        name: "MOESI",
        modified: effect(Some(CopyState::Owned), CopyState::Shared),
        exclusive: effect(Some(CopyState::Shared), CopyState::Shared),
        owned: effect(Some(CopyState::Owned), CopyState::Shared),
        clean: effect(Some(CopyState::Shared), CopyState::Shared),
        clean_supplier: CleanSupplier::Nearest,
    };
    /// As [`CoherenceProtocol::MESIF`], but a read of a modified line takes it over, so that a store behind the read
    /// finds it.
    pub const MIGRATORY: Self = Self {
        name: "migratory",
        modified: effect(None, CopyState::Modified),
        ..Self::MESIF
    };
    /// All protocols.
    pub const ALL: [Self; 3] = [Self::MESIF, Self::MOESI, Self::MIGRATORY];

    /// Returns the protocol with this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|protocol| protocol.name == name)
    }

    /// Returns the effect of a read on a line whose answering copy is in `state`.
    pub fn read_effect(&self, state: CopyState) -> ReadEffect {
        match state {
            CopyState::Modified => self.modified,
            CopyState::Exclusive => self.exclusive,
            CopyState::Owned => self.owned,
            CopyState::Forward | CopyState::Shared => self.clean,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{CoherenceProtocol, CopyState};

    #[test]
    fn no_read_leaves_two_copies_of_which_a_core_is_alone() {
        for protocol in CoherenceProtocol::ALL {
            for state in [
                CopyState::Modified,
                CopyState::Exclusive,
                CopyState::Owned,
                CopyState::Forward,
            ] {
                let effect = protocol.read_effect(state);
                let is_taken_over = effect.keeps.is_none();
                assert_eq!(effect.reader.is_alone(), is_taken_over, "{}", protocol.name);
                assert!(!effect.keeps.is_some_and(CopyState::is_alone));
            }
        }
    }
}
