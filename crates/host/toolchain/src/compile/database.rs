//! `compile_commands.json`: how each file of a project is compiled.
//!
//! The format is Clang's "JSON Compilation Database": a list of objects with `directory`, `file`,
//! and `arguments` (a list) or `command` (one text, quoted as for a shell).

use std::borrow::Cow;
use std::path::{Component, Path, PathBuf};

use relayout_files::cannot;
use serde::Deserialize;

use super::Error;

/// The compile commands of a project.
#[derive(Clone, Debug)]
pub struct CompileDatabase {
    /// Path of the database.
    pub path: PathBuf,
    /// Its entries, in the file's order.
    pub commands: Vec<CompileCommand>,
}

/// The compile command of one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CompileCommand {
    /// Folder in which the compiler is started. Absolute.
    pub directory: PathBuf,
    /// The file that is compiled. Absolute, without `.` and `..`.
    pub file: PathBuf,
    /// The command, program first.
    pub words: CommandForm,
}

/// A command, in the form in which the database has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CommandForm {
    /// One by one.
    Arguments(Vec<String>),
    /// Quoted as for a shell. Split when it is wanted: of thousands of entries, one is.
    Command(String),
}

#[derive(Deserialize)]
struct DatabaseEntry<'e> {
    #[serde(borrow)]
    directory: Cow<'e, str>,
    #[serde(borrow)]
    file: Cow<'e, str>,
    arguments: Option<Vec<String>>,
    command: Option<String>,
}

impl CompileDatabase {
    /// Reads the file.
    ///
    /// # Errors
    /// The file cannot be read, and the errors of [`parse`](Self::parse).
    pub fn read(path: &Path) -> Result<Self, Error> {
        let bytes = relayout_files::read_regular(path).map_err(cannot("read", path))?;
        let path = std::path::absolute(path).map_err(cannot("find", path))?;
        Self::parse(&bytes, &path)
    }

    /// Reads the content of the file at `path`; relative directories start in its folder.
    ///
    /// # Errors
    /// The content is not JSON, or an entry lacks a key.
    pub fn parse(bytes: &[u8], path: &Path) -> Result<Self, Error> {
        let invalid = |why: String| Error::Database {
            path: path.to_owned(),
            why,
        };
        let entries: Vec<DatabaseEntry<'_>> =
            serde_json::from_slice(bytes).map_err(|error| invalid(error.to_string()))?;
        let folder = path.parent().unwrap_or(Path::new("/"));
        let mut commands = Vec::with_capacity(entries.len());
        for entry in entries {
            let words = match (entry.arguments, entry.command) {
                (Some(arguments), _) => CommandForm::Arguments(arguments),
                (None, Some(command)) => CommandForm::Command(command),
                (None, None) => {
                    let file = entry.file;
                    return Err(invalid(format!(
                        "the entry of {file} has neither 'arguments' nor 'command'"
                    )));
                }
            };
            let directory = folder.join(&*entry.directory);
            commands.push(CompileCommand {
                file: normalized_path(&directory.join(&*entry.file)),
                directory,
                words,
            });
        }
        Ok(Self {
            path: path.to_owned(),
            commands,
        })
    }
}

impl CompileCommand {
    /// The command, program first; never empty.
    ///
    /// # Errors
    /// The command has no program, or an open quote.
    pub fn arguments(&self) -> Result<Vec<String>, Error> {
        let arguments = match &self.words {
            CommandForm::Arguments(arguments) => Some(arguments.clone()),
            CommandForm::Command(command) => shlex::split(command),
        };
        let has_program =
            |words: &Vec<String>| words.first().is_some_and(|first| !first.is_empty());
        arguments.filter(has_program).ok_or_else(|| Error::Command {
            file: self.file.clone(),
        })
    }

    /// Roughly the arguments: those of a command as blanks separate them, quoted or not.
    pub fn rough_arguments(&self) -> Box<dyn Iterator<Item = &str> + '_> {
        match &self.words {
            CommandForm::Arguments(arguments) => Box::new(arguments.iter().map(String::as_str)),
            CommandForm::Command(command) => Box::new(command.split_ascii_whitespace()),
        }
    }
}

/// The path without `.` and `..`, by its text alone: files of a database need not exist.
pub fn normalized_path(path: &Path) -> PathBuf {
    let mut clean = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => {
                // Above the root there is the root.
                if !clean.pop() {
                    clean.push(Component::RootDir);
                }
            }
            other => clean.push(other),
        }
    }
    clean
}
