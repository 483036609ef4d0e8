//! The lock file: which members a profile showed to be hot, and where they were.
//!
//! Written by `relayout check --update`, read to judge `as_recorded`, and to tell who pushed a
//! member. One [`Record`] for each way in which the program is built.

mod parse;
mod write;

use crate::known::KnownType;
use crate::{FileFacts, MachineArchitecture};

/// A lock file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LayoutLock {
    /// In the order of their configurations, then machines.
    pub records: Vec<LockRecord>,
}

/// What was recorded of one file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LockRecord {
    /// The names of the configurations in force for the file, in the order of the configuration.
    pub configurations: Vec<String>,
    /// The file's processor, if it says.
    pub machine: Option<MachineArchitecture>,
    /// Bytes of a pointer in it, if it says.
    pub pointer_bytes: Option<u64>,
    /// The file's build id, if it has one.
    pub build_id: Option<String>,
    /// The file's name.
    pub file: String,
    /// What showed which members are hot; `None` where only the layout was recorded.
    pub profile: Option<ProfileFacts>,
    /// In the order of their names.
    pub types: Vec<RecordedType>,
}

/// The profile that a record is from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProfileFacts {
    /// What ran.
    pub workload: String,
    /// The build that it ran on; empty where not known.
    pub build_id: String,
    /// All transfers in it.
    pub transfers: u64,
}

/// A type as it was.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RecordedType {
    /// Bytes of a cache line when it was recorded.
    pub line_bytes: u64,
    /// How far into a line its objects began.
    pub phase: u64,
    /// Its hot members, in the order of their offsets.
    pub hot: Vec<RecordedHotMember>,
    /// The type, its size and its members.
    pub layout: KnownType,
}

/// A member that a profile showed to be hot.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RecordedHotMember {
    /// From the type, with indices where it is in an array: `lists[2].next`.
    pub path: String,
    /// Offset of its first byte.
    pub offset: u64,
    /// Bytes.
    pub size: u64,
    /// Loads in the profile, read-writes included.
    pub reads: u64,
    /// Stores, read-writes included.
    pub writes: u64,
    /// Contexts that accessed it.
    pub contexts: u32,
    /// Transfers whose missing access was to it.
    pub transfers: u64,
}

impl LayoutLock {
    /// The record of files of these configurations on this machine.
    pub fn record(&self, facts: &FileFacts, configurations: &[String]) -> Option<&LockRecord> {
        self.records
            .iter()
            .find(|record| record.is_of(facts, configurations))
    }

    /// Puts a record in the place of the one of the same configurations and machine, if there is
    /// one.
    pub fn replace(&mut self, record: LockRecord) {
        self.records.retain(|other| other.key() != record.key());
        self.records.push(record);
        self.records.sort_by(|a, b| a.key().cmp(&b.key()));
    }
}

impl LayoutLock {
    /// Adds the types of a record to the one of the same configurations and machine, if there is
    /// one, which keeps what it has.
    pub fn add_types(&mut self, record: LockRecord) {
        match self
            .records
            .iter_mut()
            .find(|other| other.key() == record.key())
        {
            Some(other) => {
                let added = record.types.into_iter();
                let added =
                    added.filter(|recorded| other.type_named(&recorded.layout.name).is_none());
                let added: Vec<RecordedType> = added.collect();
                other.types.extend(added);
                other
                    .types
                    .sort_by(|a, b| a.layout.name.cmp(&b.layout.name));
            }
            None => self.replace(record),
        }
    }
}

impl LockRecord {
    fn is_of(&self, facts: &FileFacts, configurations: &[String]) -> bool {
        (&self.configurations[..], self.machine, self.pointer_bytes)
            == (configurations, facts.machine, facts.pointer_bytes)
    }

    fn key(&self) -> (&[String], Option<MachineArchitecture>, Option<u64>) {
        (&self.configurations, self.machine, self.pointer_bytes)
    }

    /// The type of this name, with its scope.
    pub fn type_named(&self, name: &str) -> Option<&RecordedType> {
        self.types
            .iter()
            .find(|recorded| recorded.layout.name == name)
    }
}

impl RecordedType {
    /// The line that a byte of the type lay on, counted from the line that the object began on.
    pub fn line_of(&self, offset: u64) -> u64 {
        offset.saturating_add(self.phase) / self.line_bytes.max(1)
    }
}
