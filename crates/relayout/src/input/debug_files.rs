//! The debug files that go with a profile: the kernel's, or the program's and its libraries'.

use std::io;
use std::path::{Path, PathBuf};

use anyhow::Context;
use relayout_host::DebugFile;
use relayout_layout::dwarf::DwarfFile;
use relayout_layout::links::Links;
use relayout_profile::{Meta, Module, Profile};
use relayout_resolve::{Images, modules_used};

use crate::catalog;

/// Libraries without debug information that are named one by one.
const NAMED_MAX: usize = 4;

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
pub fn with<T>(
    given: &[PathBuf],
    profile: &Profile,
    then: impl FnOnce(&Images<'_, '_>) -> anyhow::Result<T>,
) -> anyhow::Result<T> {
    let meta = &profile.meta;
    let modules = modules_used(profile);
    let mut given = given.to_vec();
    let chosen: Vec<PathBuf> = modules
        .iter()
        .map(|module| taken(&mut given, &module.build_id))
        .map(Option::unwrap_or_default)
        .collect();
    let path = debug_path(given.first().map(PathBuf::as_path), meta)?;
    let main = open_main(&path, meta)?;
    let libraries: Vec<Option<DebugFile>> = { modules.iter().zip(&chosen) }
        .map(|(module, chosen)| open_library(module, chosen))
        .collect();
    let mut notes = Notes::default();
    let main = read_main(&path, &main, meta)?;
    let libraries: Vec<Option<DwarfFile<'_>>> = { modules.iter().zip(&libraries) }
        .map(|(module, file)| notes.read(module, file.as_ref()?))
        .collect();
    for (module, file) in modules.iter().zip(&libraries) {
        notes.of(module, file.as_ref());
    }
    notes.say(modules.len());
    let images = Images::of_program(profile, &main, |module| {
        let same = |m: &Module| (&m.path, &m.build_id) == (&module.path, &module.build_id);
        libraries.get(modules.iter().position(same)?)?.as_ref()
    });
    then(&images)
}

/// Takes the file with that build id out of `given`.
fn taken(given: &mut Vec<PathBuf>, build_id: &str) -> Option<PathBuf> {
    let has_id = |path: &PathBuf| !build_id.is_empty() && id_of(path).as_deref() == Some(build_id);
    let at = given.iter().position(has_id)?;
    Some(given.remove(at))
}

fn id_of(path: &Path) -> Option<String> {
    let map = relayout_host::map_file(path).ok()?;
    let id = Links::of(&map).ok()?.build_id?;
    Some(id.iter().map(|byte| format!("{byte:02x}")).collect())
}

fn debug_path(given: Option<&Path>, meta: &Meta) -> Result<PathBuf, Error> {
    match (given, meta.debug_file.as_str()) {
        (Some(path), _) => Ok(path.to_owned()),
        (None, "") => Err(Error::NoDebugFile),
        (None, recorded) => Ok(PathBuf::from(recorded)),
    }
}

fn open_main(path: &Path, meta: &Meta) -> Result<DebugFile, Error> {
    let failed = |source| Error::DebugFile {
        path: path.to_owned(),
        what: what(meta),
        build_id: meta.build_id.clone(),
        source,
    };
    let map = relayout_host::map_file(path).map_err(failed)?;
    Ok(DebugFile::find_or_keep(path, map, catalog::folders()))
}

fn read_main<'a>(path: &Path, file: &'a DebugFile, meta: &Meta) -> anyhow::Result<DwarfFile<'a>> {
    let cannot = || {
        let path = file.path().display();
        format!("cannot read the debug information of {path}")
    };
    let (debug, bare) = match file.dwarf_here() {
        Err(source) if is_bare(&source) && meta.target != "kernel" => (file.symbols(), true),
        other => (other, false),
    };
    let debug = debug.with_context(cannot)?;
    check_build_id(path, &debug, meta)?;
    if bare {
        eprintln!(
            "relayout: {} has no debug information: its variables are known by their symbols only \
             and no types are; build it with -g and record again, or give its debug file with --debug",
            path.display()
        );
    }
    Ok(debug)
}

/// Whether a file is sound but for having no debug information.
fn is_bare(error: &relayout_layout::Error) -> bool {
    use relayout_layout::Error;
    matches!(
        error,
        Error::NoDebugInfo | Error::NoDwarf | Error::NothingButMissing(_)
    )
}

fn open_library(module: &Module, chosen: &Path) -> Option<DebugFile> {
    let given = !chosen.as_os_str().is_empty();
    let path = if given {
        chosen
    } else {
        Path::new(&module.path)
    };
    let map = relayout_host::map_file(path).ok()?;
    Some(DebugFile::find_or_keep(path, map, catalog::folders()))
}

/// What is to be said of libraries.
#[derive(Default)]
struct Notes {
    bare: Vec<String>,
}

impl Notes {
    /// The library's debug information, or else its symbols; `None` if it is of another build.
    fn read<'a>(&mut self, module: &Module, file: &'a DebugFile) -> Option<DwarfFile<'a>> {
        let debug = file.dwarf_here().or_else(|_| file.symbols()).ok()?;
        let other = debug
            .build_id_text()
            .is_some_and(|id| !module.build_id.is_empty() && id != module.build_id);
        (!other).then_some(debug)
    }

    fn of(&mut self, module: &Module, file: Option<&DwarfFile<'_>>) {
        let name = module.path.rsplit('/').next().unwrap_or(&module.path);
        match file {
            Some(file) if file.has_debug_info() => {}
            Some(_) => self.bare.push(name.to_owned()),
            None => eprintln!(
                "relayout: {} is not what was recorded, or not there: nothing in it is named; \
                 give the recorded one with --debug FILE",
                module.path
            ),
        }
    }

    fn say(&self, all: usize) {
        if self.bare.is_empty() {
            return;
        }
        let mut names = self
            .bare
            .iter()
            .take(NAMED_MAX)
            .cloned()
            .collect::<Vec<_>>();
        if self.bare.len() > NAMED_MAX {
            names.push(format!("{} more", self.bare.len() - NAMED_MAX));
        }
        eprintln!(
            "relayout: {} of {all} libraries without debug information ({}): what is theirs is known by \
             symbols only; install their debug packages (-dbgsym, debuginfo)",
            self.bare.len(),
            names.join(", ")
        );
    }
}

fn what(meta: &Meta) -> &'static str {
    if meta.target == "kernel" {
        "vmlinux"
    } else {
        "program"
    }
}

fn check_build_id(path: &Path, debug: &DwarfFile<'_>, meta: &Meta) -> Result<(), Error> {
    if meta.build_id.is_empty() {
        return Ok(());
    }
    let found = debug.build_id_text().unwrap_or_default();
    if found.eq_ignore_ascii_case(&meta.build_id) {
        return Ok(());
    }
    Err(Error::BuildId {
        path: path.to_owned(),
        what: what(meta),
        found: if found.is_empty() {
            "missing".to_owned()
        } else {
            found
        },
        expected: meta.build_id.clone(),
    })
}
