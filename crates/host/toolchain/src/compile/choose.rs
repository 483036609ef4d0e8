//! Choice of the database entry that fits a header best.

use std::cmp::Reverse;
use std::hash::{Hash, Hasher};
use std::path::Path;

use rustc_hash::{FxHashMap, FxHasher};

use super::{CompileCommand, CompileDatabase, CompileRecipe, Error, SourceLanguage};

/// Source files that are looked into for an `#include`, nearest first.
const SEARCHED_SOURCES_MAX: usize = 2000;

/// Distance of a source file from the header; the least is nearest.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct SourceDistance<'d> {
    /// True if the source file is not the requested file itself.
    other_file: bool,
    /// True if the header's extension names another language, or only an option names the language.
    other_language: bool,
    /// Folders from the root that both lie in.
    common_folders: Reverse<usize>,
    /// `percpu.c` beside `percpu.h`.
    other_name: bool,
    /// Files with the same flavour of flags. Kernels compile a few files for other targets (boot
    /// code with -m16, compatibility code with -m32): of files that are equally near, one compiled
    /// like most is meant.
    alike_files: Reverse<usize>,
    /// Files further down are more special.
    folders: usize,
    /// The path, so that the choice does not depend on the order in the file.
    path: &'d Path,
}

/// The entry that compiles the header itself, else the nearest that includes it by an `#include` of
/// its own, else the nearest. Near is: in the same folder or one close to it, then of the same
/// name, then with the flags that most files have. `read` gives the text of a source or response
/// file.
///
/// # Errors
/// No entry compiles C or C++ (C++, if the header's extension names it), or the chosen entry cannot
/// be read.
pub fn choose_recipe(
    database: &CompileDatabase,
    header: &Path,
    read: &dyn Fn(&Path) -> Option<String>,
) -> Result<CompileRecipe, Error> {
    let is_cpp = SourceLanguage::from_extension(header) == Some(SourceLanguage::Cpp);
    let near = commands_by_distance(database, header);
    let is_including = |command: &CompileCommand| {
        let text = read(&command.file);
        command.file == header
            || text.is_some_and(|text| includes_header(&text, &command.file, header))
    };
    let searched = &near[..near.len().min(SEARCHED_SOURCES_MAX)];
    let direct = searched.iter().find(|command| is_including(command));
    for command in direct.into_iter().chain(&near) {
        let recipe = CompileRecipe::from_command(command, read)?;
        if let Some(recipe) =
            recipe.filter(|recipe| !is_cpp || recipe.language == SourceLanguage::Cpp)
        {
            return Ok(recipe);
        }
    }
    Err(Error::NoEntry {
        path: database.path.clone(),
        language: if is_cpp { "C++" } else { "C or C++" },
    })
}

/// Entries that seem to compile C or C++, nearest first.
fn commands_by_distance<'d>(
    database: &'d CompileDatabase,
    header: &Path,
) -> Vec<&'d CompileCommand> {
    let commands: Vec<_> = database
        .commands
        .iter()
        .filter_map(|command| Some((command, command.rough_language()?)))
        .map(|(command, language)| (command, language, flag_flavour(command)))
        .collect();
    let mut flavours: FxHashMap<u64, usize> = FxHashMap::default();
    for (.., flavour) in &commands {
        *flavours.entry(*flavour).or_default() += 1;
    }
    let wanted = SourceLanguage::from_extension(header);
    let mut near: Vec<(SourceDistance<'d>, &CompileCommand)> = commands
        .into_iter()
        .map(|(command, language, flavour)| {
            let alike = flavours.get(&flavour).copied().unwrap_or(0);
            let is_other = SourceLanguage::from_extension(&command.file).is_none()
                || wanted == Some(SourceLanguage::Cpp) && language != SourceLanguage::Cpp;
            (
                SourceDistance::new(&command.file, header, is_other, alike),
                command,
            )
        })
        .collect();
    near.sort_by(|a, b| a.0.cmp(&b.0));
    near.into_iter().map(|(_, command)| command).collect()
}

/// Hashes the flags that change layouts between the files of a project in practice: compiler,
/// target, ABI, standard. Paths and definitions, which differ in most files, are left out.
fn flag_flavour(command: &CompileCommand) -> u64 {
    let mut hasher = FxHasher::default();
    let mut words = command.rough_arguments();
    words.next().hash(&mut hasher);
    for word in words {
        let letter = word.as_bytes().get(1);
        let file_specific = b"DUIiOWMoc";
        if word.starts_with('-') && letter.is_some_and(|letter| !file_specific.contains(letter)) {
            word.hash(&mut hasher);
        }
    }
    hasher.finish()
}

impl CompileDatabase {
    /// The entry of a source file; the first, if there are several.
    ///
    /// # Errors
    /// The file has no entry, or none that compiles C or C++.
    pub fn recipe_of_file(
        &self,
        file: &Path,
        read: &dyn Fn(&Path) -> Option<String>,
    ) -> Result<CompileRecipe, Error> {
        let compiles_file = |command: &&CompileCommand| command.file == file;
        for command in self.commands.iter().filter(compiles_file) {
            if let Some(recipe) = CompileRecipe::from_command(command, read)? {
                return Ok(recipe);
            }
        }
        Err(Error::NoSuchEntry {
            path: self.path.clone(),
            file: file.to_owned(),
        })
    }
}

impl<'d> SourceDistance<'d> {
    fn new(source: &'d Path, header: &Path, other_language: bool, alike_files: usize) -> Self {
        let folders = source.components().count().saturating_sub(1);
        let common = source
            .components()
            .zip(header.components())
            .take_while(|(a, b)| a == b)
            .count();
        Self {
            other_file: source != header,
            other_language,
            common_folders: Reverse(common.min(folders)),
            other_name: source.file_stem() != header.file_stem(),
            alike_files: Reverse(alike_files),
            folders,
            path: source,
        }
    }
}

/// Returns true if the text of `source` includes `header`: by a path that the header's path ends
/// with.
fn includes_header(text: &str, source: &Path, header: &Path) -> bool {
    let Some(name) = header.file_name().and_then(|n| n.to_str()) else {
        return false;
    };
    if !text.contains(name) {
        return false;
    }
    text.lines()
        .filter_map(included_path)
        .any(|(path, quoted)| {
            if quoted && let Some(folder) = source.parent() {
                let beside = super::database::normalized_path(&folder.join(path));
                if beside == header {
                    return true;
                }
            }
            let path = Path::new(path);
            path.is_relative() && header.ends_with(path)
        })
}

/// The path in `#include <path>` or `#include "path"`, and whether it is in quotes.
fn included_path(line: &str) -> Option<(&str, bool)> {
    let directive = line.trim_start().strip_prefix('#')?.trim_start();
    let rest = directive.strip_prefix("include")?.trim_start();
    match rest.split_at_checked(1)? {
        ("\"", rest) => Some((rest.split_once('"')?.0, true)),
        ("<", rest) => Some((rest.split_once('>')?.0, false)),
        _ => None,
    }
}
