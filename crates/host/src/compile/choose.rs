//! Which entry of a database says best how a header is compiled.

use std::cmp::Reverse;
use std::path::Path;

use rustc_hash::FxHashMap;

use super::{CompileCommand, Database, Error, Language, Recipe};

/// How near a source file is to the header; the least is nearest.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Distance<'d> {
    /// Folders from the root that both lie in.
    common_folders: Reverse<usize>,
    /// `percpu.c` beside `percpu.h`.
    other_name: bool,
    /// Files with the same flavour of flags. Kernels compile a few files for other targets (boot code
    /// with -m16, compatibility code with -m32): of files that are equally near, one compiled like
    /// most is meant.
    alike: Reverse<usize>,
    /// So that the choice does not depend on the order in the file.
    path: &'d Path,
}

/// The entry that compiles the header itself, else the nearest that includes it by an `#include` of
/// its own, else the nearest. Near is: in the same folder or one close to it, then of the same name,
/// then with the flags that most files have. `read` gives the text of a source or response file.
///
/// # Errors
/// No entry compiles C or C++ (C++, if the header's extension says that it is), or response files
/// include each other.
pub fn choose(
    database: &Database,
    header: &Path,
    read: &dyn Fn(&Path) -> Option<String>,
) -> Result<Recipe, Error> {
    let wanted = match Language::of(header) {
        Some(Language::Cpp) => Some(Language::Cpp),
        _ => None,
    };
    let mut recipes = Vec::new();
    for command in &database.commands {
        // Before response files are read, which may be many.
        let Some(language) = command.language() else {
            continue;
        };
        if wanted.is_some_and(|wanted| wanted != language) {
            continue;
        }
        if command.file == header {
            recipes.clear();
            recipes.extend(Recipe::new(command, read)?);
            break;
        }
        recipes.extend(Recipe::new(command, read)?);
    }
    let mut flavours: FxHashMap<Vec<&str>, usize> = FxHashMap::default();
    for recipe in &recipes {
        *flavours.entry(recipe.flavour().collect()).or_default() += 1;
    }
    let mut near: Vec<(Distance<'_>, &Recipe)> = recipes
        .iter()
        .map(|recipe| {
            let flavour: Vec<&str> = recipe.flavour().collect();
            let alike = flavours.get(&flavour).copied().unwrap_or(0);
            (Distance::new(&recipe.like, header, alike), recipe)
        })
        .collect();
    near.sort_by(|a, b| a.0.cmp(&b.0));
    let direct = near.iter().find(|(_, recipe)| {
        read(&recipe.like).is_some_and(|text| includes(&text, &recipe.like, header))
    });
    match direct.or(near.first()) {
        Some((_, recipe)) => Ok((*recipe).clone()),
        None => Err(Error::NoEntry {
            path: database.path.clone(),
            language: match wanted {
                Some(Language::Cpp) => "C++",
                _ => "C or C++",
            },
        }),
    }
}

impl Database {
    /// The entry of a source file; the first, if there are several.
    ///
    /// # Errors
    /// There is none, or none that compiles C or C++.
    pub fn like(
        &self,
        file: &Path,
        read: &dyn Fn(&Path) -> Option<String>,
    ) -> Result<Recipe, Error> {
        let of_file = |command: &&CompileCommand| command.file == file;
        for command in self.commands.iter().filter(of_file) {
            if let Some(recipe) = Recipe::new(command, read)? {
                return Ok(recipe);
            }
        }
        Err(Error::NoSuchEntry {
            path: self.path.clone(),
            file: file.to_owned(),
        })
    }
}

impl<'d> Distance<'d> {
    fn new(source: &'d Path, header: &Path, alike: usize) -> Self {
        let folders = |path: &Path| {
            let folder = path.parent().unwrap_or(Path::new("/"));
            folder.components().count()
        };
        let common = source.components().zip(header.components());
        let common = common.take_while(|(a, b)| a == b).count();
        Self {
            common_folders: Reverse(common.min(folders(source))),
            other_name: source.file_stem() != header.file_stem(),
            alike: Reverse(alike),
            path: source,
        }
    }
}

/// Whether the text of `source` includes `header`, as far as the text alone tells: by a path that
/// the header's path ends with.
fn includes(text: &str, source: &Path, header: &Path) -> bool {
    let Some(name) = header.file_name().and_then(|n| n.to_str()) else {
        return false;
    };
    if !text.contains(name) {
        return false;
    }
    text.lines().filter_map(included).any(|(path, quoted)| {
        if quoted && let Some(folder) = source.parent() {
            let beside = super::database::normalized(&folder.join(path));
            if beside == header {
                return true;
            }
        }
        let path = Path::new(path);
        path.is_relative() && header.ends_with(path)
    })
}

/// The path in `#include <path>` or `#include "path"`, and whether it is in quotes.
fn included(line: &str) -> Option<(&str, bool)> {
    let directive = line.trim_start().strip_prefix('#')?.trim_start();
    let rest = directive.strip_prefix("include")?.trim_start();
    match rest.split_at_checked(1)? {
        ("\"", rest) => Some((rest.split_once('"')?.0, true)),
        ("<", rest) => Some((rest.split_once('>')?.0, false)),
        _ => None,
    }
}
