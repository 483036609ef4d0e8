//! The ways to record a program, and which one a program wants.

use std::fmt;

use relayout_files::{CacheFolder, RUNTIME};

use super::ProgramRecording;
use super::inspect::{InspectedProgram, ProgramKind};
use super::recording_cost::WHOLE_TIME;
use super::slices::SlicePlan;
use crate::Error;
use crate::perf::{SamplingHardware, find_perf, find_sampling_hardware};
use crate::qemu::find_program_collector;

/// A way to record a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProgramBackend {
    /// Its own code announces accesses: it was built with `relayout cc`.
    CompiledIn,
    /// Any binary, emulated by qemu-user with our plugin.
    QemuUser,
    /// Hardware samples, taken by perf.
    Perf,
}

impl ProgramBackend {
    /// Returns the accesses of a thread between yields: the requested number, or this backend's
    /// default.
    pub fn yield_every(self, recording: &ProgramRecording) -> u32 {
        let default = match self {
            Self::QemuUser | Self::CompiledIn => YIELD_EVERY,
            Self::Perf => 0,
        };
        recording.yield_every.unwrap_or(default)
    }

    /// Returns the part of the time that is recorded: the requested one, or this backend's default.
    /// Emulation costs as much between slices, so it goes over to them only if asked to.
    pub fn slice_plan(self, recording: &ProgramRecording) -> SlicePlan {
        let default = match self {
            Self::CompiledIn => SlicePlan::Adaptive(WHOLE_TIME),
            Self::QemuUser | Self::Perf => SlicePlan::Complete,
        };
        recording.slices.unwrap_or(default)
    }

    /// Returns whether processes that the program forks or executes are recorded, too.
    pub fn follows_forks(self, recording: &ProgramRecording) -> bool {
        let default = match self {
            Self::CompiledIn => true,
            Self::QemuUser | Self::Perf => false,
        };
        recording.follow_forks.unwrap_or(default)
    }
}

/// Accesses of a thread between yields. Without, threads that share a CPU run for whole slices of
/// the system's time, and meet on a line far less often than on CPUs of their own.
const YIELD_EVERY: u32 = 1000;

impl fmt::Display for ProgramBackend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::CompiledIn => "the runtime that relayout cc compiled in",
            Self::QemuUser => "emulation by qemu-user",
            Self::Perf => "hardware samples by perf",
        })
    }
}

/// Backends of this machine for programs that were not built with `relayout cc`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AvailableBackends {
    /// A qemu-user that takes our plugin.
    pub qemu_user: bool,
    /// Hardware that samples accesses, and perf to have it do so.
    pub sampling_hardware: Option<SamplingHardware>,
}

impl AvailableBackends {
    /// Looks for both; qemu-user is tried out.
    pub fn detect() -> Self {
        Self {
            qemu_user: find_program_collector(CacheFolder::locate().as_ref()).is_ok(),
            sampling_hardware: find_sampling_hardware().filter(|_| find_perf().is_some()),
        }
    }
}

/// Returns the requested backend, or the one that fits, with the reason for an unexpected choice.
/// `available` is called only if it matters.
///
/// # Errors
/// No backend can record this program here.
pub fn choose_backend(
    requested: Option<ProgramBackend>,
    inspected: &InspectedProgram,
    available: impl FnOnce() -> AvailableBackends,
) -> Result<(ProgramBackend, Option<String>), Error> {
    match (requested, inspected.kind) {
        (Some(ProgramBackend::CompiledIn), ProgramKind::Static) => Err(Error::Unrecordable {
            path: inspected.path.clone(),
            why: "it is linked statically, and what watches programs is a shared library: link it without \
                  -static, with relayout cc"
                .into(),
        }),
        (Some(backend), _) => Ok((backend, None)),
        (None, ProgramKind::Instrumented) => Ok((ProgramBackend::CompiledIn, None)),
        (None, ProgramKind::Script) => Ok((
            ProgramBackend::CompiledIn,
            Some("it is a script: what it starts is recorded, if it was built with relayout cc".into()),
        )),
        (None, ProgramKind::Plain | ProgramKind::Static) => {
            let (backend, therefore) = choose_for_plain(available());
            let why = format!(
                "it was not built with relayout cc (it does not load {RUNTIME}), so {therefore}; 'relayout \
                 help cc' says how to build it, and if it starts another program that was, say --with compiled"
            );
            Ok((backend, Some(why)))
        }
    }
}

/// Emulation sees all accesses, and their order; samples see few, and no order, but real time.
fn choose_for_plain(available: AvailableBackends) -> (ProgramBackend, String) {
    match available {
        AvailableBackends {
            qemu_user: true, ..
        } => (
            ProgramBackend::QemuUser,
            "qemu-user emulates it, which sees every access and is slow".into(),
        ),
        AvailableBackends {
            sampling_hardware: Some(sampler),
            ..
        } => (
            ProgramBackend::Perf,
            format!(
                "perf samples its accesses by {}, as there is no qemu-user that could emulate it ('relayout \
                 doctor' says what is missing): transfers are estimated, and layouts cannot be replayed",
                sampler.name()
            ),
        ),
        // The error of the missing QEMU names what to install.
        AvailableBackends {
            sampling_hardware: None,
            ..
        } => (
            ProgramBackend::QemuUser,
            "it must be emulated by qemu-user: no hardware here samples accesses".into(),
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks the chosen backend and a part of the reason. An error is no backend.
    #[track_caller]
    fn check(
        requested: Option<ProgramBackend>,
        kind: ProgramKind,
        (qemu_user, sampler): (bool, Option<SamplingHardware>),
        expect: Option<ProgramBackend>,
        says: &str,
    ) {
        let inspected = InspectedProgram {
            path: "program".into(),
            kind,
            has_debug_info: None,
        };
        let available = || AvailableBackends {
            qemu_user,
            sampling_hardware: sampler,
        };
        let (chosen, said) = match choose_backend(requested, &inspected, available) {
            Ok((backend, why)) => (Some(backend), why.unwrap_or_default()),
            Err(error) => (None, error.to_string()),
        };
        assert_eq!(chosen, expect, "{requested:?} {kind:?}: {said}");
        assert!(said.contains(says), "{requested:?} {kind:?}: {said}");
        assert_eq!(said.is_empty(), says.is_empty(), "{said}");
    }

    #[test]
    fn choices() {
        use ProgramBackend::*;
        let no_backends = (false, None);
        let all_backends = (true, Some(SamplingHardware::Ibs));
        for available in [no_backends, all_backends] {
            check(
                None,
                ProgramKind::Instrumented,
                available,
                Some(CompiledIn),
                "",
            );
            check(
                None,
                ProgramKind::Script,
                available,
                Some(CompiledIn),
                "a script",
            );
            // A requested backend is tried, and reports itself what it lacks.
            for backend in [CompiledIn, QemuUser, Perf] {
                check(
                    Some(backend),
                    ProgramKind::Plain,
                    available,
                    Some(backend),
                    "",
                );
            }
            check(
                Some(CompiledIn),
                ProgramKind::Static,
                available,
                None,
                "linked statically",
            );
        }
        for kind in [ProgramKind::Plain, ProgramKind::Static] {
            let check =
                |available, backend, says| check(None, kind, available, Some(backend), says);
            check(all_backends, QemuUser, "so qemu-user emulates it");
            check((true, None), QemuUser, "so qemu-user emulates it");
            check(
                (false, Some(SamplingHardware::Pebs)),
                Perf,
                "by Intel PEBS, as there is no qemu-user",
            );
            check(
                (false, Some(SamplingHardware::Ibs)),
                Perf,
                "layouts cannot be replayed",
            );
            check(no_backends, QemuUser, "no hardware here samples accesses");
        }
    }
}
