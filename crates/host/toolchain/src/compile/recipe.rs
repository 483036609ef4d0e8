//! Recipes: compiler and flags with which a unit is compiled as a file of the project is.

use std::fmt;
use std::path::{Path, PathBuf};

use super::flags::{self, FlagHandling};
use super::{CompileCommand, Error, response};

/// Programs that start a compiler, whose name follows. Our units need neither a cache nor other
/// machines.
const LAUNCHERS: &[&str] = &[
    "buildcache",
    "ccache",
    "distcc",
    "gomacc",
    "icecc",
    "sccache",
];

/// Language of a unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SourceLanguage {
    /// C.
    C,
    /// C++.
    Cpp,
}

/// A compiler and its flags, without inputs and outputs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CompileRecipe {
    /// The compiler as the command names it, found in `$PATH` or relative to `directory`; `zig cc`
    /// is two words.
    pub compiler: Vec<String>,
    /// The flags that can change a layout, in the command's order.
    pub flags: Vec<String>,
    /// Folder in which the compiler is started.
    pub directory: PathBuf,
    /// Language of the unit.
    pub language: SourceLanguage,
    /// The source file that is compiled so.
    pub source_file: PathBuf,
}

impl SourceLanguage {
    /// Returns the language of a file's extension; `None` for assembly and other languages. `.h`
    /// counts as C, though it may be C++.
    pub fn from_extension(file: &Path) -> Option<Self> {
        match file.extension()?.to_str()? {
            "c" | "h" | "i" => Some(Self::C),
            "cc" | "cp" | "cpp" | "cxx" | "c++" | "C" | "CPP" | "ii" | "hh" | "hpp" | "hxx"
            | "h++" | "H" | "tcc" | "ipp" | "inl" | "cppm" | "ixx" => Some(Self::Cpp),
            _ => None,
        }
    }

    /// Returns the language's name for `-x`.
    pub fn option_value(self) -> &'static str {
        match self {
            Self::C => "c",
            Self::Cpp => "c++",
        }
    }

    fn from_option(name: &str) -> Option<Self> {
        match name {
            "c" | "c-header" | "cpp-output" => Some(Self::C),
            "c++" | "c++-header" | "c++-cpp-output" | "c++-module" => Some(Self::Cpp),
            _ => None,
        }
    }
}

impl fmt::Display for SourceLanguage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::C => "C",
            Self::Cpp => "C++",
        })
    }
}

impl CompileCommand {
    /// Returns the language of the file's extension, or C for other files with an option that names
    /// a language. [`CompileRecipe::from_command`] is exact.
    pub fn rough_language(&self) -> Option<SourceLanguage> {
        let by_extension = SourceLanguage::from_extension(&self.file);
        let mut words = self.rough_arguments();
        let is_cpp = words.next().is_some_and(|program| program.contains("++"));
        match by_extension {
            Some(_) if is_cpp => Some(SourceLanguage::Cpp),
            None if words.any(|word| word.starts_with("-x")) => Some(SourceLanguage::C),
            other => other,
        }
    }
}

impl CompileRecipe {
    /// Makes a recipe from an entry of a database. `read` returns the content of response files,
    /// `None` if they are missing.
    ///
    /// # Errors
    /// The response files include each other, or the command cannot be split.
    pub fn from_command(
        command: &CompileCommand,
        read: &dyn Fn(&Path) -> Option<String>,
    ) -> Result<Option<Self>, Error> {
        let arguments =
            response::expand_response_files(&command.arguments()?, &command.directory, read)?;
        let (program, arguments) = split_program(&arguments);
        let Some(language) = command_language(program, arguments, &command.file) else {
            return Ok(None);
        };
        Ok(Some(Self {
            compiler: program.to_vec(),
            flags: layout_flags(arguments),
            directory: command.directory.clone(),
            language,
            source_file: command.file.clone(),
        }))
    }

    /// Takes another compiler, with words as in a shell: `arm-linux-gnueabihf-gcc`, `zig cc`.
    ///
    /// # Errors
    /// No word, or quotes that do not close.
    pub fn set_compiler(&mut self, command: &str) -> Result<(), Error> {
        let words = shlex::split(command).filter(|words| !words.is_empty());
        self.compiler = words.ok_or_else(|| Error::NotACommand {
            text: command.to_owned(),
        })?;
        Ok(())
    }
}

/// Splits the compiler from its arguments.
fn split_program(arguments: &[String]) -> (&[String], &[String]) {
    let mut rest = arguments;
    while let [launcher, after @ ..] = rest
        && !after.is_empty()
        && LAUNCHERS.contains(&base_name(launcher))
    {
        rest = after;
    }
    let words = match rest {
        [program, command, ..] if base_name(program) == "zig" && !command.starts_with('-') => 2,
        _ => 1,
    };
    rest.split_at(words.min(rest.len()))
}

fn base_name(program: &str) -> &str {
    program.rsplit('/').next().unwrap_or(program)
}

fn command_language(
    program: &[String],
    arguments: &[String],
    file: &Path,
) -> Option<SourceLanguage> {
    let mut named = None;
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        match flags::flag_handling(argument) {
            FlagHandling::KeepPair | FlagHandling::DropPair => {
                rest.next();
            }
            FlagHandling::Language => {
                let value = argument.strip_prefix("-x").filter(|v| !v.is_empty());
                named = value.or_else(|| rest.next().map(String::as_str));
            }
            FlagHandling::EndOfOptions => break,
            FlagHandling::Keep | FlagHandling::Drop | FlagHandling::Input => {}
        }
    }
    match named {
        Some("none") | None => {
            let by_extension = SourceLanguage::from_extension(file)?;
            let is_cpp = program.iter().any(|word| base_name(word).contains("++"));
            Some(if is_cpp {
                SourceLanguage::Cpp
            } else {
                by_extension
            })
        }
        Some(name) => SourceLanguage::from_option(name),
    }
}

fn layout_flags(arguments: &[String]) -> Vec<String> {
    let mut kept = Vec::new();
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        match flags::flag_handling(argument) {
            FlagHandling::Keep if argument.starts_with("-Wp,") => {
                kept.extend(flags::without_dependencies(argument));
            }
            FlagHandling::Keep => kept.push(argument.clone()),
            FlagHandling::KeepPair => {
                let Some(value) = rest.next() else { break };
                // `-Xpreprocessor -MD -Xpreprocessor FILE`, in as many words, writes a file too.
                if argument == "-Xpreprocessor" && value.starts_with("-M") {
                    if matches!(value.as_str(), "-MD" | "-MMD" | "-MF" | "-MT" | "-MQ") {
                        rest.next();
                        rest.next();
                    }
                    continue;
                }
                kept.extend([argument.clone(), value.clone()]);
            }
            FlagHandling::DropPair => {
                rest.next();
            }
            FlagHandling::Language if argument == "-x" || argument == "--language" => {
                rest.next();
            }
            FlagHandling::Language | FlagHandling::Drop | FlagHandling::Input => {}
            FlagHandling::EndOfOptions => break,
        }
    }
    kept
}
