//! The debug files that go with a profile: the kernel's, or the program's and its libraries'.

use std::io;
use std::path::{Path, PathBuf};

use anyhow::Context;
use relayout_host::DebugFile;
use relayout_layout::dwarf::DwarfFile;
use relayout_layout::links::DebugLinks;
use relayout_profile::{LoadedModule, Profile, ProfileMeta};
use relayout_resolve::{DebugImages, modules_used};

use crate::catalog;

/// Libraries without debug information that are named one by one.
const LIBRARIES_NAMED_MAX: usize = 4;

/// Input that does not go together; exit code 2.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The profile names no debug file and none was given.
    #[error(
        "the profile does not say which debug file it was recorded with; give one with --debug FILE"
    )]
    NoDebugFile,
    /// The debug file cannot be read.
    #[error(
        "cannot read the debug file {}; give the {what} with build id {build_id} with --debug FILE",
        path.display()
    )]
    DebugFile {
        /// The file.
        path: PathBuf,
        /// `vmlinux` or `program`.
        what: &'static str,
        /// Of the recording.
        build_id: String,
        /// Why not.
        #[source]
        source: io::Error,
    },
    /// The debug file is of another build.
    #[error(
        "{} is of another build than the recording: its build id is {found}, the recording's \
         {expected}; give the {what} of the recorded build with --debug FILE",
        path.display()
    )]
    BuildId {
        /// The file.
        path: PathBuf,
        /// `vmlinux` or `program`.
        what: &'static str,
        /// Of the file.
        found: String,
        /// Of the recording.
        expected: String,
    },
}

/// Opens the debug files that go with `profile` and calls `then` with them. `given` are files to use
/// for what has their build id; one that nothing else has is the kernel's or the program's. What is
/// not given is where the profile says, or, split off, where debug packages put it. Libraries whose
/// debug information is not to be had are named on standard error.
///
/// # Errors
/// [`Error`], a file of the kernel or program that has no usable debug information, and those of
/// `then`.
pub fn with_debug_images<T>(
    given_files: &[PathBuf],
    profile: &Profile,
    then: impl FnOnce(&DebugImages<'_, '_>) -> anyhow::Result<T>,
) -> anyhow::Result<T> {
    let meta = &profile.meta;
    let modules = modules_used(profile);
    let mut unused_files = given_files.to_vec();
    let chosen: Vec<PathBuf> = modules
        .iter()
        .map(|module| take_by_build_id(&mut unused_files, &module.build_id))
        .map(Option::unwrap_or_default)
        .collect();
    let path = debug_path(unused_files.first().map(PathBuf::as_path), meta)?;
    let main_file = open_main_file(&path, meta)?;
    let library_files: Vec<Option<DebugFile>> = { modules.iter().zip(&chosen) }
        .map(|(module, chosen)| open_library(module, chosen))
        .collect();
    let mut library_notes = LibraryNotes::default();
    let main_debug = read_main_file(&path, &main_file, meta)?;
    let library_debug: Vec<Option<DwarfFile<'_>>> = { modules.iter().zip(&library_files) }
        .map(|(module, file)| library_notes.read_library(module, file.as_ref()?))
        .collect();
    for (module, file) in modules.iter().zip(&library_debug) {
        library_notes.note_library(module, file.as_ref());
    }
    library_notes.print_notes(modules.len());
    let images = DebugImages::from_modules(profile, &main_debug, |module| {
        let same = |m: &LoadedModule| (&m.path, &m.build_id) == (&module.path, &module.build_id);
        library_debug.get(modules.iter().position(same)?)?.as_ref()
    });
    then(&images)
}

/// Takes the file with that build id out of `given`.
fn take_by_build_id(given: &mut Vec<PathBuf>, build_id: &str) -> Option<PathBuf> {
    let has_id = |path: &PathBuf| {
        !build_id.is_empty() && build_id_of_file(path).as_deref() == Some(build_id)
    };
    let index = given.iter().position(has_id)?;
    Some(given.remove(index))
}

fn build_id_of_file(path: &Path) -> Option<String> {
    let map = relayout_host::map_file(path).ok()?;
    let id = DebugLinks::read(&map).ok()?.build_id?;
    Some(id.iter().map(|byte| format!("{byte:02x}")).collect())
}

fn debug_path(given: Option<&Path>, meta: &ProfileMeta) -> Result<PathBuf, Error> {
    match (given, meta.debug_file.as_str()) {
        (Some(path), _) => Ok(path.to_owned()),
        (None, "") => Err(Error::NoDebugFile),
        (None, recorded) => Ok(PathBuf::from(recorded)),
    }
}

fn open_main_file(path: &Path, meta: &ProfileMeta) -> Result<DebugFile, Error> {
    let unreadable = |source| Error::DebugFile {
        path: path.to_owned(),
        what: main_file_kind(meta),
        build_id: meta.build_id.clone(),
        source,
    };
    let map = relayout_host::map_file(path).map_err(unreadable)?;
    Ok(DebugFile::find_or_keep(path, map, catalog::debug_folders()))
}

fn read_main_file<'a>(
    path: &Path,
    file: &'a DebugFile,
    meta: &ProfileMeta,
) -> anyhow::Result<DwarfFile<'a>> {
    let cannot = || {
        let path = file.path().display();
        format!("cannot read the debug information of {path}")
    };
    let (debug, is_symbols_only) = match file.dwarf_with_code() {
        Err(source) if lacks_debug_info(&source) && meta.target != "kernel" => {
            (file.symbols(), true)
        }
        result => (result, false),
    };
    let debug = debug.with_context(cannot)?;
    verify_build_id(path, &debug, meta)?;
    if is_symbols_only {
        eprintln!(
            "relayout: {} has no debug information: its variables are known by their symbols only \
             and no types are; build it with -g and record again, or give its debug file with --debug",
            path.display()
        );
    }
    Ok(debug)
}

/// Whether a file is sound but for having no debug information.
fn lacks_debug_info(error: &relayout_layout::Error) -> bool {
    use relayout_layout::Error;
    matches!(
        error,
        Error::NoDebugInfo | Error::NoDwarf | Error::NothingButMissing(_)
    )
}

fn open_library(module: &LoadedModule, chosen: &Path) -> Option<DebugFile> {
    let given = !chosen.as_os_str().is_empty();
    let path = if given {
        chosen
    } else {
        Path::new(&module.path)
    };
    let map = relayout_host::map_file(path).ok()?;
    Some(DebugFile::find_or_keep(path, map, catalog::debug_folders()))
}

/// What is to be said of libraries.
#[derive(Default)]
struct LibraryNotes {
    without_debug_info: Vec<String>,
}

impl LibraryNotes {
    /// The library's debug information, or else its symbols; `None` if it is of another build.
    fn read_library<'a>(
        &mut self,
        module: &LoadedModule,
        file: &'a DebugFile,
    ) -> Option<DwarfFile<'a>> {
        let debug = file.dwarf_with_code().or_else(|_| file.symbols()).ok()?;
        let is_other_build = debug
            .build_id_text()
            .is_some_and(|id| !module.build_id.is_empty() && id != module.build_id);
        (!is_other_build).then_some(debug)
    }

    fn note_library(&mut self, module: &LoadedModule, file: Option<&DwarfFile<'_>>) {
        let name = module.path.rsplit('/').next().unwrap_or(&module.path);
        match file {
            Some(file) if file.has_debug_info() => {}
            Some(_) => self.without_debug_info.push(name.to_owned()),
            None => eprintln!(
                "relayout: {} is not what was recorded, or not there: nothing in it is named; \
                 give the recorded one with --debug FILE",
                module.path
            ),
        }
    }

    fn print_notes(&self, library_count: usize) {
        if self.without_debug_info.is_empty() {
            return;
        }
        let mut names = self
            .without_debug_info
            .iter()
            .take(LIBRARIES_NAMED_MAX)
            .cloned()
            .collect::<Vec<_>>();
        if self.without_debug_info.len() > LIBRARIES_NAMED_MAX {
            names.push(format!(
                "{} more",
                self.without_debug_info.len() - LIBRARIES_NAMED_MAX
            ));
        }
        eprintln!(
            "relayout: {} of {library_count} libraries without debug information ({}): what is theirs is known by \
             symbols only; install their debug packages (-dbgsym, debuginfo)",
            self.without_debug_info.len(),
            names.join(", ")
        );
    }
}

fn main_file_kind(meta: &ProfileMeta) -> &'static str {
    if meta.target == "kernel" {
        "vmlinux"
    } else {
        "program"
    }
}

fn verify_build_id(path: &Path, debug: &DwarfFile<'_>, meta: &ProfileMeta) -> Result<(), Error> {
    if meta.build_id.is_empty() {
        return Ok(());
    }
    let found = debug.build_id_text().unwrap_or_default();
    if found.eq_ignore_ascii_case(&meta.build_id) {
        return Ok(());
    }
    Err(Error::BuildId {
        path: path.to_owned(),
        what: main_file_kind(meta),
        found: if found.is_empty() {
            "missing".to_owned()
        } else {
            found
        },
        expected: meta.build_id.clone(),
    })
}
