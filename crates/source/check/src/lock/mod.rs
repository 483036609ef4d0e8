//! Lock file: the hot members of a profile and their positions.
//!
//! `relayout check --update` writes the lock file. The rule `as_recorded` reads it, and so does the
//! explanation of moved members. The file has one [`LockRecord`] for each way to build the program.

mod parse;
mod write;

use crate::known::KnownType;
use crate::{FileFacts, MachineArchitecture};

/// Contents of a lock file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LayoutLock {
    /// Records in the order of their configurations, then machines.
    pub records: Vec<LockRecord>,
}

/// Record of one file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LockRecord {
    /// Names of the configurations in force for the file, in the order of the configuration.
    pub configurations: Vec<String>,
    /// Processor of the file, if known.
    pub machine: Option<MachineArchitecture>,
    /// Size of a pointer in bytes, if known.
    pub pointer_bytes: Option<u64>,
    /// Build id of the file, if known.
    pub build_id: Option<String>,
    /// Name of the file.
    pub file: String,
    /// Profile that showed the hot members; `None` if only the layout was recorded.
    pub profile: Option<ProfileFacts>,
    /// Types in the order of their names.
    pub types: Vec<RecordedType>,
}

/// Profile that a record comes from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProfileFacts {
    /// Workload of the profile.
    pub workload: String,
    /// Build id of the profiled build; empty if unknown.
    pub build_id: String,
    /// Number of all transfers in the profile.
    pub transfers: u64,
}

/// Recorded layout of a type.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RecordedType {
    /// Cache line size in bytes at the time of the record.
    pub line_bytes: u64,
    /// Offset of the object's start within its cache line, in bytes.
    pub phase: u64,
    /// Hot members of the type, in the order of their offsets.
    pub hot: Vec<RecordedHotMember>,
    /// Name, size and members of the type.
    pub layout: KnownType,
}

/// Member that a profile showed to be hot.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RecordedHotMember {
    /// Path from the type, with indices for array elements: `lists[2].next`.
    pub path: String,
    /// Offset of the member's first byte from the start of the type.
    pub offset: u64,
    /// Size of the member in bytes.
    pub size: u64,
    /// Number of loads in the profile, with read-writes.
    pub reads: u64,
    /// Number of stores in the profile, with read-writes.
    pub writes: u64,
    /// Number of contexts that accessed the member.
    pub contexts: u32,
    /// Number of transfers that an access to the member caused.
    pub transfers: u64,
}

impl LayoutLock {
    /// Returns the record for files of these configurations on this machine.
    pub fn record(&self, facts: &FileFacts, configurations: &[String]) -> Option<&LockRecord> {
        self.records
            .iter()
            .find(|record| record.is_of(facts, configurations))
    }

    /// Adds a record, and removes an earlier record of the same configurations and machine.
    pub fn replace(&mut self, record: LockRecord) {
        self.records.retain(|other| other.key() != record.key());
        self.records.push(record);
        self.records.sort_by(|a, b| a.key().cmp(&b.key()));
    }
}

impl LayoutLock {
    /// Adds the types of `record` to the record of the same configurations and machine. Types that
    /// the latter record already has stay unchanged.
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

    /// Returns the type with this name and scope.
    pub fn type_named(&self, name: &str) -> Option<&RecordedType> {
        self.types
            .iter()
            .find(|recorded| recorded.layout.name == name)
    }
}

impl RecordedType {
    /// Index of the cache line at a byte offset of the type, counted from the line of the object's
    /// start.
    pub fn line_of(&self, offset: u64) -> u64 {
        offset.saturating_add(self.phase) / self.line_bytes.max(1)
    }
}
