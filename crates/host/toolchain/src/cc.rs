//! `relayout cc` and `relayout c++`: the user's own compiler, with flags that make the code report
//! its accesses to our runtime.

mod arguments;
mod calls;
mod compiler;
mod flags;
mod links;
mod rust;
mod stand_in;
mod trial;

pub use self::links::make_compiler_links;
pub use self::rust::rust_flags;
pub use self::trial::try_compiler;

use std::env;
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use relayout_files::{CacheFolder, Error, RUNTIME, cannot, find_installed_library};
use relayout_messages::{ErrorCategory, ProblemReason, UserFacingError};

use self::arguments::{BuildStage, CompilerRequest, parse_request};
use self::compiler::CompilerFamily;

/// Variable that is set for the compiler. A compiler that is `relayout cc` again finds it and
/// stops.
const RUNNING: &str = "RELAYOUT_CC_RUNNING";

/// The wrapper, by the language of the compiler behind it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CompilerDriver {
    /// `relayout cc`: `$RELAYOUT_CC`, or `cc`.
    C,
    /// `relayout c++`: `$RELAYOUT_CXX`, or `c++`.
    Cxx,
}

impl CompilerDriver {
    fn env_variable(self) -> &'static str {
        match self {
            Self::C => "RELAYOUT_CC",
            Self::Cxx => "RELAYOUT_CXX",
        }
    }

    fn default_compiler(self) -> &'static str {
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
    /// The compiler is missing or cannot be run.
    #[error(
        "cannot run the compiler {}; {}",
        compiler.display(),
        name_compiler(variable)
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
    /// The compiler is neither GCC nor Clang.
    #[error(
        "{} is neither gcc nor clang, as far as its --version tells; {KNOWN_COMPILERS}",
        compiler.display()
    )]
    UnknownCompiler {
        /// The compiler.
        compiler: OsString,
    },
    /// The compiler is this wrapper.
    #[error("the compiler that {variable} names is relayout cc itself; {NAME_INNER}")]
    WrapsItself {
        /// The variable.
        variable: &'static str,
    },
    /// An argument does not go with recording.
    #[error("{argument} does not go with recording: {why}")]
    RefusedArgument {
        /// The argument.
        argument: String,
        /// The reason, and the remedy.
        why: ProblemReason,
    },
    /// Something that our flags need is missing.
    #[error(transparent)]
    Files(#[from] Error),
}

/// Remedies, each at the end of a message.
const KNOWN_COMPILERS: &str = "relayout cc knows those two";
const NAME_INNER: &str = "name the one behind it";

fn name_compiler(variable: &str) -> String {
    format!("name one with {variable}, or 'relayout cc --compiler NAME'")
}

impl CompilerError {
    /// Returns the remedy, which stands behind the last semicolon of the message or of its source.
    pub fn remedy(&self) -> Option<String> {
        match self {
            Self::NotRun { variable, .. } => Some(name_compiler(variable)),
            Self::UnknownCompiler { .. } => Some(KNOWN_COMPILERS.to_owned()),
            Self::WrapsItself { .. } => Some(NAME_INNER.to_owned()),
            Self::RefusedArgument { why, .. } => why.remedy.clone(),
            Self::Files(error) => error.remedy(),
        }
    }

    /// Returns who has to act.
    pub fn category(&self) -> ErrorCategory {
        match self {
            Self::NotRun { .. } | Self::UnknownCompiler { .. } => ErrorCategory::Environment,
            Self::Files(error) => error.category(),
            Self::WrapsItself { .. } | Self::RefusedArgument { .. } => ErrorCategory::Input,
        }
    }
}

impl UserFacingError for CompilerError {
    fn user_remedy(&self) -> Option<String> {
        self.remedy()
    }

    fn user_category(&self) -> ErrorCategory {
        self.category()
    }
}

/// Replaces this process by the compiler. Returns only if that fails. Calls `notes` with each line
/// that the user should know.
///
/// `given` are the arguments of the wrapper: first, if at all, `--compiler NAME`, or `--` and the
/// compiler's name; then the compiler's own.
pub fn become_compiler(
    driver: CompilerDriver,
    wrapper_arguments: &[OsString],
    notes: impl Fn(&str),
) -> CompilerError {
    match build_command(driver, wrapper_arguments, notes) {
        Ok((compiler, mut command)) => CompilerError::NotRun {
            compiler,
            variable: driver.env_variable(),
            source: command.exec(),
        },
        Err(error) => error,
    }
}

fn build_command(
    driver: CompilerDriver,
    wrapper_arguments: &[OsString],
    notes: impl Fn(&str),
) -> Result<(OsString, Command), CompilerError> {
    let variable = driver.env_variable();
    if env::var_os(RUNNING).is_some() {
        return Err(CompilerError::WrapsItself { variable });
    }
    let (compiler_words, arguments) = split_compiler(driver, wrapper_arguments);
    let (name, leading_arguments) = compiler_words
        .split_first()
        .expect("split names a compiler");
    let mut command = Command::new(name);
    command.args(leading_arguments).env(RUNNING, "1");
    let read = |path: &Path| std::fs::read(path).ok();
    match parse_request(arguments, &read)? {
        CompilerRequest::Question => command.args(arguments),
        CompilerRequest::Build(work) => {
            let compiler = CompilerFamily::identify(name, leading_arguments, variable)?;
            let runtime = find_installed_library("runtime of recorded programs", RUNTIME)?;
            let runtime = runtime
                .canonicalize()
                .map_err(|why| Error::from(cannot("find", &runtime)(why)))?;
            work.notes.iter().for_each(|note| notes(note));
            let stand_in = match compiler {
                CompilerFamily::Gcc { .. } if work.stage == BuildStage::Link => {
                    Some(stand_in::stand_in_folder(CacheFolder::locate().as_ref())?)
                }
                _ => None,
            };
            let (before, after) =
                flags::recording_flags(compiler, &work, &runtime, stand_in.as_deref());
            let files = arguments.iter().position(|word| word == "--");
            let (options, files) = arguments.split_at(files.unwrap_or(arguments.len()));
            command.args(before).args(options).args(after).args(files)
        }
    };
    Ok((name.clone(), command))
}

/// The compiler's words (`ccache gcc` has two), and its arguments.
fn split_compiler(
    driver: CompilerDriver,
    wrapper_arguments: &[OsString],
) -> (Vec<OsString>, &[OsString]) {
    let first = wrapper_arguments.first().map(OsString::as_os_str);
    let names_compiler = first.is_some_and(|first| first == "--compiler" || first == "--");
    if let Some([name, rest @ ..]) = wrapper_arguments.get(1..).filter(|_| names_compiler) {
        return (vec![name.clone()], rest);
    }
    let named_compiler = first.and_then(|first| {
        let name = first.as_encoded_bytes().strip_prefix(b"--compiler=")?;
        // SAFETY: what follows a prefix that is ASCII begins at a boundary.
        Some(unsafe { OsStr::from_encoded_bytes_unchecked(name) }.to_owned())
    });
    if let Some(name) = named_compiler {
        return (vec![name], &wrapper_arguments[1..]);
    }
    let words = env::var(driver.env_variable())
        .ok()
        .and_then(|text| shlex::split(&text))
        .unwrap_or_default();
    match words.is_empty() {
        true => (vec![driver.default_compiler().into()], wrapper_arguments),
        false => (
            words.into_iter().map(OsString::from).collect(),
            wrapper_arguments,
        ),
    }
}
