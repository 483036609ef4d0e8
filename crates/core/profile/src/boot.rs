//! Differences between a recorded kernel's boot and one in production, and the accesses that its
//! recorder does not see.
//!
//! Both follow from what the recording kept: the kernel's command line, and [`RecordedGuest`].

use crate::model::{ProfileMeta, RecordedGuest};

/// Setting that holds what the recorded kernel was booted with.
pub const COMMAND_LINE_SETTING: &str = "kernel-command-line";

/// A difference between the recorded kernel's boot and one in production.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum BootChange {
    /// `nokaslr`: code and data lie at the addresses of the debug file.
    NoKaslr,
    /// `mitigations=off`: no retpolines, no flushes at switches.
    NoMitigations,
    /// `slab_nomerge`: caches of one object size have pages of their own.
    NoSlabMerging,
    /// The emulated CPU has neither `erms` nor `fsrm`, so copies take other code.
    NoFastStrings,
    /// `tsc=reliable`: no watchdog compares the clock with others.
    NoClockWatchdog,
    /// `no_timer_check`: the boot does not test that timer interrupts arrive.
    NoTimerCheck,
}

impl BootChange {
    /// All, in the order of their weight for layouts.
    pub const ALL: [Self; 6] = [
        Self::NoSlabMerging,
        Self::NoKaslr,
        Self::NoMitigations,
        Self::NoFastStrings,
        Self::NoClockWatchdog,
        Self::NoTimerCheck,
    ];

    /// Its name in documents: `no-kaslr`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::NoKaslr => "no-kaslr",
            Self::NoMitigations => "no-mitigations",
            Self::NoSlabMerging => "no-slab-merging",
            Self::NoFastStrings => "no-fast-strings",
            Self::NoClockWatchdog => "no-clock-watchdog",
            Self::NoTimerCheck => "no-timer-check",
        }
    }
}

/// Accesses that the recorder of a kernel does not see.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum UnwatchedAccess {
    /// Code outside of the kernel, and the kernel's own accesses to its memory.
    UserSpace,
    /// The functions of [`RecordedGuest::unwatched_functions`].
    BulkFunctions,
    /// Blocks of memory that an AArch64 instruction clears (`dc zva`).
    BlockClears,
    /// The CPU's own walks of page tables.
    PageWalks,
    /// Devices.
    DeviceAccess,
}

impl UnwatchedAccess {
    /// Its name in documents: `user-space`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::UserSpace => "user-space",
            Self::BulkFunctions => "bulk-functions",
            Self::BlockClears => "block-clears",
            Self::PageWalks => "page-walks",
            Self::DeviceAccess => "dma",
        }
    }
}

/// Boot of a recorded kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordedBoot<'m> {
    /// Differences from a boot in production.
    pub changes: Vec<BootChange>,
    /// Model and features of the emulated CPU, as QEMU was given them; `None` where the profile
    /// does not hold them.
    pub cpu_model: Option<&'m str>,
    /// Accesses that were not seen.
    pub unwatched: Vec<UnwatchedAccess>,
    /// Functions whose accesses were not seen; `None` where the profile does not hold them.
    pub unwatched_functions: Option<&'m [String]>,
}

impl<'m> RecordedBoot<'m> {
    /// Derives the boot from what the recording kept. `None` unless relayout booted the kernel.
    ///
    /// ```
    /// use relayout_profile::boot::{BootChange, RecordedBoot};
    /// use relayout_profile::{ProfileMeta, RecordingSetting};
    ///
    /// let mut meta = ProfileMeta { target: "kernel".into(), ..ProfileMeta::default() };
    /// assert_eq!(RecordedBoot::from_meta(&meta), None);
    /// let words = "mitigations=off nokaslr mitigations=auto";
    /// meta.settings.push(RecordingSetting::new("kernel-command-line", words));
    /// let boot = RecordedBoot::from_meta(&meta).unwrap();
    /// // The last word for a parameter holds.
    /// assert_eq!(boot.changes, [BootChange::NoKaslr]);
    /// ```
    pub fn from_meta(meta: &'m ProfileMeta) -> Option<Self> {
        let mut settings = meta.settings.iter();
        let command_line = settings.find(|setting| setting.name == COMMAND_LINE_SETTING)?;
        let words: Vec<&str> = command_line.value.split_whitespace().collect();
        let guest = meta.guest.as_ref();
        let is_changed = |change: &BootChange| has_change(&words, guest, *change);
        let has_bulk = guest.is_some_and(|guest| !guest.unwatched_functions.is_empty());
        let mut unwatched = vec![
            UnwatchedAccess::UserSpace,
            UnwatchedAccess::BulkFunctions,
            UnwatchedAccess::BlockClears,
            UnwatchedAccess::PageWalks,
            UnwatchedAccess::DeviceAccess,
        ];
        unwatched.retain(|access| match access {
            UnwatchedAccess::BulkFunctions => has_bulk,
            UnwatchedAccess::BlockClears => meta.machine == "aarch64",
            _ => true,
        });
        Some(Self {
            changes: BootChange::ALL.into_iter().filter(is_changed).collect(),
            cpu_model: guest.map(|guest| guest.cpu_model.as_str()),
            unwatched,
            unwatched_functions: guest.map(|guest| guest.unwatched_functions.as_slice()),
        })
    }
}

fn has_change(words: &[&str], guest: Option<&RecordedGuest>, change: BootChange) -> bool {
    let last_of = |names: &[&str]| {
        let name = |word: &str| names.contains(&word.split('=').next().unwrap_or_default());
        words.iter().rfind(|word| name(word)).copied()
    };
    match change {
        BootChange::NoKaslr => words.contains(&"nokaslr"),
        BootChange::NoMitigations => last_of(&["mitigations"]) == Some("mitigations=off"),
        BootChange::NoSlabMerging => {
            let names = ["slab_nomerge", "slub_nomerge", "slab_merge", "slub_merge"];
            last_of(&names).is_some_and(|word| word.ends_with("nomerge"))
        }
        BootChange::NoFastStrings => guest.is_some_and(|guest| {
            ["erms", "fsrm"]
                .iter()
                .all(|name| is_switched_off(&guest.cpu_model, name))
        }),
        BootChange::NoClockWatchdog => words.contains(&"tsc=reliable"),
        BootChange::NoTimerCheck => words.contains(&"no_timer_check"),
    }
}

/// Returns whether QEMU's CPU model, such as `max,erms=off`, takes a feature away.
fn is_switched_off(cpu_model: &str, feature: &str) -> bool {
    let mut words = cpu_model.split(',').skip(1);
    words.any(|word| match word.split_once('=') {
        Some((name, value)) => name == feature && value == "off",
        None => word.strip_prefix('-') == Some(feature),
    })
}

#[cfg(test)]
mod tests {
    use super::BootChange::*;
    use super::*;
    use crate::model::RecordingSetting;

    fn guest(cpu_model: &str) -> RecordedGuest {
        RecordedGuest {
            cpu_model: cpu_model.into(),
            unwatched_functions: vec!["copy_page".into()],
        }
    }

    #[track_caller]
    fn check(command_line: &str, guest: Option<RecordedGuest>, expect: &[BootChange]) {
        let setting = RecordingSetting::new(COMMAND_LINE_SETTING, command_line);
        let meta = ProfileMeta {
            settings: vec![setting],
            guest,
            ..ProfileMeta::default()
        };
        let boot = RecordedBoot::from_meta(&meta).expect("there is a command line");
        assert_eq!(boot.changes, expect, "{command_line}");
    }

    #[test]
    fn the_machine_tells_what_is_not_watched() {
        let clears_are_unwatched = |machine: &str| {
            let meta = ProfileMeta {
                settings: vec![RecordingSetting::new(COMMAND_LINE_SETTING, "quiet")],
                machine: machine.into(),
                ..ProfileMeta::default()
            };
            let boot = RecordedBoot::from_meta(&meta).expect("there is a command line");
            boot.unwatched.contains(&UnwatchedAccess::BlockClears)
        };
        assert!(clears_are_unwatched("aarch64"));
        assert!(!clears_are_unwatched("x86_64"));
    }

    #[test]
    fn the_words_of_the_command_line_tell() {
        check("quiet", None, &[]);
        check("quiet nokaslr", None, &[NoKaslr]);
        check("nokaslr slab_nomerge", None, &[NoSlabMerging, NoKaslr]);
        check("slab_nomerge slab_merge", None, &[]);
        check("slab_merge slub_nomerge", None, &[NoSlabMerging]);
        check("mitigations=off", None, &[NoMitigations]);
        check("mitigations=off mitigations=auto,nosmt", None, &[]);
        check(
            "tsc=reliable no_timer_check",
            None,
            &[NoClockWatchdog, NoTimerCheck],
        );
    }

    #[test]
    fn the_cpu_model_tells() {
        check("", Some(guest("max,erms=off,fsrm=off")), &[NoFastStrings]);
        check("", Some(guest("max,-erms,-fsrm")), &[NoFastStrings]);
        check("", Some(guest("max,erms=off")), &[]);
        check("", Some(guest("EPYC")), &[]);
    }
}
