//! Limits of a recorded program's memory, in which the runtime's own memory counts.

use std::sync::atomic::Ordering::Acquire;

use relayout_shadow::control::{MemoryLimitKind, RecordingControl};

/// Limit of a process's memory that its collector noted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryLimit {
    /// The limit's kind.
    pub kind: MemoryLimitKind,
    /// The limit.
    pub bytes: u64,
    /// The collector's own memory counts in it.
    pub is_shared: bool,
}

impl MemoryLimit {
    /// Returns the limit that a process has, if its collector noted one.
    pub fn noted(control: &RecordingControl) -> Option<Self> {
        Some(Self {
            kind: MemoryLimitKind::from_u32(control.memory_limit_kind.load(Acquire))?,
            bytes: control.memory_limit.load(Acquire),
            is_shared: control.memory_limit_shared.load(Acquire) != 0,
        })
    }

    /// Describes the limit and its effect on the recording, in a note.
    pub fn describe(self) -> String {
        let limit = self.name();
        match self.is_shared {
            false => format!("{limit}; the recorder's own memory does not count in that"),
            true => format!(
                "{limit}, and the recorder's own memory counts in that: the program may get less than \
                 without a recording, and the recording may lack a part; {}",
                self.remedy()
            ),
        }
    }

    /// Describes why the limit allows no recording.
    pub fn describe_shortage(self) -> String {
        format!("{}, which leaves the recorder too little", self.name())
    }

    fn name(self) -> String {
        let (subject, name) = match self.kind {
            MemoryLimitKind::AddressSpace => ("address space", "RLIMIT_AS"),
            MemoryLimitKind::Data => ("data", "RLIMIT_DATA"),
        };
        let mib = self.bytes >> 20;
        format!("its {subject} is limited to {mib} MiB ({name})")
    }

    /// Returns the way to lift the limit.
    pub fn remedy(self) -> String {
        let letter = match self.kind {
            MemoryLimitKind::AddressSpace => 'v',
            MemoryLimitKind::Data => 'd',
        };
        format!(
            "record it without the limit, which the shell lifts by 'ulimit -{letter} unlimited', or which the \
             program sets by setrlimit"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks what is said of a limit of 64 MiB.
    #[track_caller]
    fn check(kind: MemoryLimitKind, is_shared: bool, expect: &[&str]) {
        let limit = MemoryLimit {
            kind,
            bytes: 64 << 20,
            is_shared,
        };
        let note = limit.describe();
        for words in expect {
            assert!(note.contains(words), "{note}");
        }
        assert_eq!(note.contains("unlimited"), is_shared, "{note}");
    }

    #[test]
    fn limits_are_named_with_their_remedy() {
        use MemoryLimitKind::*;
        let address_space = "its address space is limited to 64 MiB (RLIMIT_AS)";
        check(AddressSpace, false, &[address_space, "does not count"]);
        check(
            AddressSpace,
            true,
            &[address_space, "'ulimit -v unlimited'"],
        );
        let data = "its data is limited to 64 MiB (RLIMIT_DATA)";
        check(Data, true, &[data, "'ulimit -d unlimited'"]);
    }
}
