//! The ways to record a program, and which one a program wants.

use std::fmt;

use super::inspect::{Inspected, Kind};
use super::{ProgramRecording, RUNTIME};
use crate::perf::{Sampler, find_perf, sampler};
use crate::qemu::find_program_collector;
use crate::{Cache, Error};

/// A way to record a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Backend {
    /// Its own code announces accesses: it was built with `relayout cc`.
    CompiledIn,
    /// Any binary, emulated by qemu-user with our plugin.
    QemuUser,
    /// Hardware samples, taken by perf.
    Perf,
}

impl Backend {
    /// Accesses of a thread between yields, as asked for or as is good for this backend.
    pub fn yield_every(self, recording: &ProgramRecording) -> u32 {
        let default = match self {
            Self::QemuUser | Self::CompiledIn => YIELD_EVERY,
            Self::Perf => 0,
        };
        recording.yield_every.unwrap_or(default)
    }
}

/// Accesses of a thread between yields. Without, threads that share a CPU run for whole slices of the
/// system's time, and meet on a line far less often than on CPUs of their own.
const YIELD_EVERY: u32 = 1000;

impl fmt::Display for Backend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::CompiledIn => "the runtime that relayout cc compiled in",
            Self::QemuUser => "emulation by qemu-user",
            Self::Perf => "hardware samples by perf",
        })
    }
}

/// What this machine has for programs that were not built with `relayout cc`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Here {
    /// A qemu-user that takes our plugin.
    pub qemu_user: bool,
    /// Hardware that samples accesses, and perf to have it do so.
    pub sampler: Option<Sampler>,
}

impl Here {
    /// Looks for both; qemu-user is tried out.
    pub fn look() -> Self {
        Self {
            qemu_user: find_program_collector(Cache::locate().as_ref()).is_ok(),
            sampler: sampler().filter(|_| find_perf().is_some()),
        }
    }
}

/// The backend that was asked for, or the one that fits, and why that one where it is no matter of
/// course. `here` is asked only where it decides.
///
/// # Errors
/// There is none for this program here.
pub fn choose(
    given: Option<Backend>,
    inspected: &Inspected,
    here: impl FnOnce() -> Here,
) -> Result<(Backend, Option<String>), Error> {
    match (given, inspected.kind) {
        (Some(Backend::CompiledIn), Kind::Static) => Err(Error::Unrecordable {
            path: inspected.path.clone(),
            why: "it is linked statically, and what watches programs is a shared library: link it without \
                  -static, with relayout cc"
                .into(),
        }),
        (Some(backend), _) => Ok((backend, None)),
        (None, Kind::Instrumented) => Ok((Backend::CompiledIn, None)),
        (None, Kind::Script) => Ok((
            Backend::CompiledIn,
            Some("it is a script: what it starts is recorded, if it was built with relayout cc".into()),
        )),
        (None, Kind::Plain | Kind::Static) => {
            let (backend, therefore) = for_any_program(here());
            let why = format!(
                "it was not built with relayout cc (it does not load {RUNTIME}), so {therefore}; 'relayout \
                 help cc' says how to build it, and if it starts another program that was, say --with compiled"
            );
            Ok((backend, Some(why)))
        }
    }
}

/// Emulation sees all accesses, and their order; samples see few, and no order, but real time.
fn for_any_program(here: Here) -> (Backend, String) {
    match here {
        Here {
            qemu_user: true, ..
        } => (
            Backend::QemuUser,
            "qemu-user emulates it, which sees every access and is slow".into(),
        ),
        Here {
            sampler: Some(sampler),
            ..
        } => (
            Backend::Perf,
            format!(
                "perf samples its accesses by {}, as there is no qemu-user that could emulate it ('relayout \
                 doctor' says what is missing): transfers are estimated, and layouts cannot be replayed",
                sampler.name()
            ),
        ),
        // Its error says what to install.
        Here { sampler: None, .. } => (
            Backend::QemuUser,
            "it must be emulated by qemu-user: no hardware here samples accesses".into(),
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// In a situation: what is chosen, and a part of what is said. An error is no backend.
    #[track_caller]
    fn check(
        given: Option<Backend>,
        kind: Kind,
        (qemu_user, sampler): (bool, Option<Sampler>),
        expect: Option<Backend>,
        says: &str,
    ) {
        let inspected = Inspected {
            path: "program".into(),
            kind,
            debug: None,
        };
        let here = || Here { qemu_user, sampler };
        let (chosen, said) = match choose(given, &inspected, here) {
            Ok((backend, why)) => (Some(backend), why.unwrap_or_default()),
            Err(error) => (None, error.to_string()),
        };
        assert_eq!(chosen, expect, "{given:?} {kind:?}: {said}");
        assert!(said.contains(says), "{given:?} {kind:?}: {said}");
        assert_eq!(said.is_empty(), says.is_empty(), "{said}");
    }

    #[test]
    fn choices() {
        use Backend::*;
        let nothing = (false, None);
        let all = (true, Some(Sampler::Ibs));
        for here in [nothing, all] {
            check(None, Kind::Instrumented, here, Some(CompiledIn), "");
            check(None, Kind::Script, here, Some(CompiledIn), "a script");
            // What is asked for is tried, and says itself what it lacks.
            for backend in [CompiledIn, QemuUser, Perf] {
                check(Some(backend), Kind::Plain, here, Some(backend), "");
            }
            check(
                Some(CompiledIn),
                Kind::Static,
                here,
                None,
                "linked statically",
            );
        }
        for kind in [Kind::Plain, Kind::Static] {
            let check = |here, backend, says| check(None, kind, here, Some(backend), says);
            check(all, QemuUser, "so qemu-user emulates it");
            check((true, None), QemuUser, "so qemu-user emulates it");
            check(
                (false, Some(Sampler::Pebs)),
                Perf,
                "by Intel PEBS, as there is no qemu-user",
            );
            check(
                (false, Some(Sampler::Ibs)),
                Perf,
                "layouts cannot be replayed",
            );
            check(nothing, QemuUser, "no hardware here samples accesses");
        }
    }
}
