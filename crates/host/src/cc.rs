//! `relayout cc` and `relayout c++`: the user's own compiler, told to let the code announce its
//! accesses to our runtime.

mod arguments;
mod compiler;
mod flags;
mod rust;
mod stand_in;
mod trial;

pub use self::rust::rust_flags;
pub use self::trial::try_out;

use std::env;
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use self::arguments::{Request, Stage, request};
use self::compiler::Compiler;
use crate::file_error::cannot;
use crate::installed::installed;
use crate::program::RUNTIME;
use crate::{Cache, Error};

/// Set for the compiler, so that a compiler that is `relayout cc` again is found out.
const RUNNING: &str = "RELAYOUT_CC_RUNNING";

/// Which language's compiler stands behind the wrapper.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Driver {
    /// `relayout cc`: `$RELAYOUT_CC`, or `cc`.
    C,
    /// `relayout c++`: `$RELAYOUT_CXX`, or `c++`.
    Cxx,
}

impl Driver {
    fn variable(self) -> &'static str {
        match self {
            Self::C => "RELAYOUT_CC",
            Self::Cxx => "RELAYOUT_CXX",
        }
    }

    fn usual(self) -> &'static str {
        match self {
            Self::C => "cc",
            Self::Cxx => "c++",
        }
    }
}

/// Why the compiler was not run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CompilerError {
    /// It is not there, or cannot be run.
    #[error(
        "cannot run the compiler {}; name one with {variable}, or 'relayout cc --compiler NAME'",
        compiler.display()
    )]
    NotRun {
        /// The compiler.
        compiler: OsString,
        /// The variable that names one.
        variable: &'static str,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// It is neither GCC nor Clang.
    #[error(
        "{} is neither gcc nor clang, as far as its --version tells; relayout cc knows those two",
        compiler.display()
    )]
    Unknown {
        /// The compiler.
        compiler: OsString,
    },
    /// It is this wrapper.
    #[error("the compiler that {variable} names is relayout cc itself; name the one behind it")]
    Itself {
        /// The variable.
        variable: &'static str,
    },
    /// What was asked for does not go with recording.
    #[error("{argument} does not go with recording: {why}")]
    Refused {
        /// The argument.
        argument: String,
        /// Why, and what to do.
        why: &'static str,
    },
    /// Something that our flags need is missing.
    #[error(transparent)]
    Host(#[from] Error),
}

/// Becomes the compiler: comes back only if that cannot be done. `notes` is called with what the user
/// should know, a line each.
///
/// `given` are the arguments of the wrapper: first, if at all, `--compiler NAME`, or `--` and the
/// compiler's name; then the compiler's own.
pub fn become_compiler(driver: Driver, given: &[OsString], notes: impl Fn(&str)) -> CompilerError {
    match command(driver, given, notes) {
        Ok((compiler, mut command)) => CompilerError::NotRun {
            compiler,
            variable: driver.variable(),
            source: command.exec(),
        },
        Err(error) => error,
    }
}

fn command(
    driver: Driver,
    given: &[OsString],
    notes: impl Fn(&str),
) -> Result<(OsString, Command), CompilerError> {
    let variable = driver.variable();
    if env::var_os(RUNNING).is_some() {
        return Err(CompilerError::Itself { variable });
    }
    let (words, arguments) = split(driver, given);
    let (name, own) = words.split_first().expect("split names a compiler");
    let mut command = Command::new(name);
    command.args(own).env(RUNNING, "1");
    let read = |path: &Path| std::fs::read(path).ok();
    match request(arguments, &read)? {
        Request::Ask => command.args(arguments),
        Request::Work(work) => {
            let compiler = Compiler::find(name, own, variable)?;
            let runtime = installed("runtime of recorded programs", RUNTIME)?;
            let runtime = runtime
                .canonicalize()
                .map_err(|why| Error::from(cannot("find", &runtime)(why)))?;
            work.notes.iter().for_each(|note| notes(note));
            let stand_in = match compiler {
                Compiler::Gcc { .. } if work.stage == Stage::Link => {
                    Some(stand_in::folder(Cache::locate().as_ref())?)
                }
                _ => None,
            };
            let (before, after) = flags::around(compiler, &work, &runtime, stand_in.as_deref());
            let files = arguments.iter().position(|word| word == "--");
            let (options, files) = arguments.split_at(files.unwrap_or(arguments.len()));
            command.args(before).args(options).args(after).args(files)
        }
    };
    Ok((name.clone(), command))
}

/// The compiler's words (`ccache gcc` has two), and its arguments.
fn split(driver: Driver, given: &[OsString]) -> (Vec<OsString>, &[OsString]) {
    let first = given.first().map(OsString::as_os_str);
    let names_compiler = first.is_some_and(|first| first == "--compiler" || first == "--");
    if let Some([name, rest @ ..]) = given.get(1..).filter(|_| names_compiler) {
        return (vec![name.clone()], rest);
    }
    let named = first.and_then(|first| {
        let name = first.as_encoded_bytes().strip_prefix(b"--compiler=")?;
        // SAFETY: what follows a prefix that is ASCII begins at a boundary.
        Some(unsafe { OsStr::from_encoded_bytes_unchecked(name) }.to_owned())
    });
    if let Some(name) = named {
        return (vec![name], &given[1..]);
    }
    let set = env::var(driver.variable()).ok();
    let words = set.and_then(|text| shlex::split(&text)).unwrap_or_default();
    match words.is_empty() {
        true => (vec![driver.usual().into()], given),
        false => (words.into_iter().map(OsString::from).collect(), given),
    }
}
