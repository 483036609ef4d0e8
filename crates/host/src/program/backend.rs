//! The ways to record a program, and which one a program wants.

use std::fmt;

use super::inspect::{Inspected, Kind};
use super::{ProgramRecording, RUNTIME};
use crate::Error;

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

/// The backend that was asked for, or the one that fits, and why that one where it is no matter of
/// course.
///
/// # Errors
/// There is none for this program here.
pub fn choose(
    recording: &ProgramRecording,
    inspected: &Inspected,
) -> Result<(Backend, Option<String>), Error> {
    let refuse = |why: String| {
        Err(Error::Unrecordable {
            path: inspected.path.clone(),
            why,
        })
    };
    let given = recording.with;
    match (given, &inspected.kind) {
        (Some(Backend::CompiledIn), Kind::Static) => refuse(
            "it is linked statically, and what watches programs is a shared library: link it without \
             -static, with relayout cc"
                .into(),
        ),
        (Some(backend), _) => Ok((backend, None)),
        (None, Kind::Instrumented) => Ok((Backend::CompiledIn, None)),
        (None, Kind::Script) => Ok((
            Backend::CompiledIn,
            Some("it is a script: what it starts is recorded, if it was built with relayout cc".into()),
        )),
        (None, Kind::Plain | Kind::Static) => Ok((
            Backend::QemuUser,
            Some(format!(
                "it was not built with relayout cc (it does not load {RUNTIME}), so it is emulated, which is \
                 slow: 'relayout help cc' says how to build it; if it starts another program that was, say \
                 --with compiled"
            )),
        )),
    }
}
