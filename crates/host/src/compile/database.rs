//! `compile_commands.json`: how each file of a project is compiled.
//!
//! The format is Clang's "JSON Compilation Database": a list of objects with `directory`, `file`,
//! and `arguments` (a list) or `command` (one text, quoted as for a shell).

use std::path::{Component, Path, PathBuf};

use serde_json::Value;

use super::Error;

/// How the files of a project are compiled.
#[derive(Clone, Debug)]
pub struct Database {
    /// Where it was read from.
    pub path: PathBuf,
    /// Its entries, in the file's order.
    pub commands: Vec<CompileCommand>,
}

/// How one file is compiled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CompileCommand {
    /// Where the compiler is started. Absolute.
    pub directory: PathBuf,
    /// What is compiled. Absolute, without `.` and `..`.
    pub file: PathBuf,
    /// The command, program first. Never empty.
    pub arguments: Vec<String>,
    /// `file` as the database spells it, which is how the arguments name it.
    pub file_as_given: String,
}

impl Database {
    /// Reads the file.
    ///
    /// # Errors
    /// As [`parse`](Self::parse), and when it cannot be read.
    pub fn read(path: &Path) -> Result<Self, Error> {
        let bytes = std::fs::read(path).map_err(Error::io("read", path))?;
        let path = std::path::absolute(path).map_err(Error::io("find", path))?;
        Self::parse(&bytes, &path)
    }

    /// Reads the content of the file at `path`; relative directories start in its folder.
    ///
    /// # Errors
    /// It is not JSON, or an entry lacks something.
    pub fn parse(bytes: &[u8], path: &Path) -> Result<Self, Error> {
        let wrong = |why: String| Error::Database {
            path: path.to_owned(),
            why,
        };
        let document: Value = serde_json::from_slice(bytes).map_err(|e| wrong(e.to_string()))?;
        let Value::Array(entries) = document else {
            return Err(wrong(
                "a list of entries (`[{\"directory\": ...}]`) is needed".to_owned(),
            ));
        };
        let folder = path.parent().unwrap_or(Path::new("/"));
        let commands: Result<Vec<_>, String> = entries
            .iter()
            .enumerate()
            .map(|(index, entry)| {
                CompileCommand::parse(entry, folder)
                    .map_err(|why| format!("entry {} {why}", index + 1))
            })
            .collect();
        Ok(Self {
            path: path.to_owned(),
            commands: commands.map_err(wrong)?,
        })
    }
}

impl CompileCommand {
    fn parse(entry: &Value, folder: &Path) -> Result<Self, String> {
        let text = |key: &str| match entry.get(key) {
            Some(Value::String(text)) => Ok(text.as_str()),
            Some(_) => Err(format!("has a '{key}' that is not a text")),
            None => Err(format!("has no '{key}'")),
        };
        let directory = folder.join(text("directory")?);
        let given = text("file")?;
        let arguments = match entry.get("arguments") {
            Some(Value::Array(list)) => list
                .iter()
                .map(|argument| argument.as_str().map(str::to_owned))
                .collect::<Option<Vec<_>>>()
                .ok_or("has 'arguments' that are not all texts")?,
            Some(_) => return Err("has 'arguments' that are not a list".to_owned()),
            None => match entry.get("command") {
                Some(_) => shlex::split(text("command")?)
                    .ok_or("has a 'command' whose quotes do not close")?,
                None => return Err("has neither 'arguments' nor 'command'".to_owned()),
            },
        };
        if arguments.first().is_none_or(String::is_empty) {
            return Err("has an empty command".to_owned());
        }
        Ok(Self {
            file: normalized(&directory.join(given)),
            directory,
            arguments,
            file_as_given: given.to_owned(),
        })
    }
}

/// The path without `.` and `..`, by its text alone: files of a database need not exist.
pub fn normalized(path: &Path) -> PathBuf {
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
