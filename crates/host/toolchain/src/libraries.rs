//! What `relayout setup` needs of relayout itself: the libraries that QEMU and recorded programs load, and the script that
//! fetches kernels.
//!
//! A package, and a build of the source tree, have both. After `cargo install relayout` there is only the command. Then the
//! libraries are built from the published crates, each by a crate of one line, because cargo installs no libraries; and the
//! script is one that the command carries.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

use relayout_files::{
    CacheFolder, LIBRARIES, TemporaryFolder, find_in_path, find_installed_library, source_tree,
};
use relayout_messages::{ErrorCategory, RecordingProgress, UserFacingError};

include!(concat!(env!("OUT_DIR"), "/setup_files.rs"));

/// Version of the crates, which is that of this one.
const VERSION: &str = env!("CARGO_PKG_VERSION");
/// File that programs include to mark their operations.
const HEADER: &str = "relayout.h";
/// First letters of the temporary folders.
const FOLDER_PREFIX: &str = "relayout-setup-";
/// Lines of cargo's output in messages.
const LINES_SHOWN: usize = 15;

/// Libraries that cannot be built, or a script that cannot be written.
#[derive(Debug, thiserror::Error)]
pub enum LibrariesError {
    /// There is no cache folder to build them in.
    #[error("there is no folder to keep the recorder's libraries in; {SET_HOME}")]
    NoCache,
    /// There is no cargo.
    #[error(
        "the recorder's libraries are missing, and there is no cargo to build them with; {INSTALL_RUST}"
    )]
    NoCargo,
    /// cargo fails.
    #[error("cargo cannot build the recorder's libraries; it says:\n{0}")]
    Cargo(String),
    /// A file or folder cannot be used.
    #[error("cannot use {}", path.display())]
    Access {
        /// File or folder.
        path: PathBuf,
        /// Reason.
        source: std::io::Error,
    },
    /// A file cannot be written.
    #[error(transparent)]
    File(#[from] relayout_files::FileError),
}

/// Remedies, each at the end of a message.
const SET_HOME: &str = "set HOME or RELAYOUT_CACHE";
const INSTALL_RUST: &str = "install relayout's package, or Rust (https://rustup.rs)";

impl LibrariesError {
    /// Returns the remedy, which stands behind the last semicolon of the message.
    pub fn remedy(&self) -> Option<&'static str> {
        match self {
            Self::NoCache => Some(SET_HOME),
            Self::NoCargo => Some(INSTALL_RUST),
            Self::Cargo(_) | Self::Access { .. } | Self::File(_) => None,
        }
    }

    /// Kind of the error.
    pub fn category(&self) -> ErrorCategory {
        ErrorCategory::Environment
    }
}

impl UserFacingError for LibrariesError {
    fn user_remedy(&self) -> Option<String> {
        self.remedy().map(str::to_owned)
    }

    fn user_category(&self) -> ErrorCategory {
        self.category()
    }
}

/// A library and the crate that has its code.
struct LibraryCrate {
    name: &'static str,
    dependency: &'static str,
}

const LIBRARY_CRATES: [LibraryCrate; 3] = [
    LibraryCrate {
        name: "relayout_rt",
        dependency: "relayout-rt",
    },
    LibraryCrate {
        name: "relayout_qemu_api1",
        dependency: "relayout-qemu-api1",
    },
    LibraryCrate {
        name: "relayout_qemu_api4",
        dependency: "relayout-qemu-api4",
    },
];

/// Builds the libraries of this version if one of them is missing; returns the folder that they are in then.
///
/// # Errors
/// There is no cargo, no cache folder, or cargo fails.
pub fn build_missing_libraries(
    progress: &dyn RecordingProgress,
) -> Result<Option<PathBuf>, LibrariesError> {
    let is_there = |name: &&str| find_installed_library("library", name).is_ok();
    if LIBRARIES.iter().all(is_there) {
        return Ok(None);
    }
    let cache = CacheFolder::locate().ok_or(LibrariesError::NoCache)?;
    let cargo = find_in_path("cargo").ok_or(LibrariesError::NoCargo)?;
    progress.step("building the recorder's libraries with cargo");
    let folder = cache.libraries(VERSION);
    let work = create_work_folder(cache.dir())?;
    write_workspace(work.path())?;
    let mut command = Command::new(cargo);
    command
        .args(["build", "--release", "--target-dir", "target"])
        .current_dir(work.path())
        .env_remove("CARGO_TARGET_DIR");
    let output = command.output().map_err(|_| LibrariesError::NoCargo)?;
    if !output.status.success() {
        let text = String::from_utf8_lossy(&output.stderr);
        let lines: Vec<&str> = text.lines().collect();
        let last = &lines[lines.len().saturating_sub(LINES_SHOWN)..];
        return Err(LibrariesError::Cargo(last.join("\n")));
    }
    for library in &LIBRARY_CRATES {
        let file = format!("lib{}.so", library.name);
        let built = work.path().join("target/release").join(&file);
        let kept = folder.join(&file);
        let bytes = fs::read(&built).map_err(|source| LibrariesError::Access {
            path: built.clone(),
            source,
        })?;
        relayout_files::write_atomically(&kept, &bytes)?;
    }
    let header = SETUP_FILES.iter().find(|(name, _)| name.ends_with(HEADER));
    if let Some((_, text)) = header {
        write_file(&folder.join(HEADER), text)?;
    }
    Ok(Some(folder))
}

/// Writes a crate for each library.
fn write_workspace(root: &Path) -> Result<(), LibrariesError> {
    let members: Vec<String> = { LIBRARY_CRATES.iter() }
        .map(|library| format!("\"{}\"", library.name))
        .collect();
    let workspace = format!(
        "[workspace]\nresolver = \"3\"\nmembers = [{}]\n",
        members.join(", ")
    );
    write_file(&root.join("Cargo.toml"), &workspace)?;
    for library in &LIBRARY_CRATES {
        let (name, dependency) = (library.name, library.dependency);
        let folder = root.join(name);
        let manifest = format!(
            "[package]\nname = \"{dependency}-library\"\nversion = \"{VERSION}\"\nedition = \"2024\"\n\n\
             [lib]\nname = \"{name}\"\npath = \"lib.rs\"\ncrate-type = [\"cdylib\"]\n\n\
             [dependencies]\ncode = {{ package = \"{dependency}\", version = \"={VERSION}\" }}\n"
        );
        write_file(&folder.join("Cargo.toml"), &manifest)?;
        write_file(&folder.join("lib.rs"), "extern crate code;\n")?;
        let link = format!("println!(\"cargo::rustc-cdylib-link-arg=-Wl,-soname,lib{name}.so\");");
        write_file(
            &folder.join("build.rs"),
            &format!("fn main() {{\n    {link}\n}}\n"),
        )?;
    }
    Ok(())
}

/// Creates a folder for the work of this process in `parent`, which is made if it is missing.
fn create_work_folder(parent: &Path) -> Result<TemporaryFolder, LibrariesError> {
    let created = fs::create_dir_all(parent);
    let folder = created.and_then(|()| TemporaryFolder::create(parent, FOLDER_PREFIX));
    folder.map_err(|source| LibrariesError::Access {
        path: parent.to_owned(),
        source,
    })
}

fn write_file(path: &Path, text: &str) -> Result<(), LibrariesError> {
    relayout_files::write_atomically(path, text.as_bytes())?;
    Ok(())
}

/// The script that fetches kernels and QEMU. One that the command carried is removed when this is dropped.
#[derive(Debug)]
pub struct SetupScript {
    path: PathBuf,
    _folder: Option<TemporaryFolder>,
}

impl SetupScript {
    /// Path of the script.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

/// Finds the script in the source tree or below `../share/relayout`, or writes the one that the command carries.
///
/// # Errors
/// It cannot be written.
pub fn find_setup_script() -> Result<SetupScript, LibrariesError> {
    let program = env::current_exe().ok();
    let beside = program.as_deref().and_then(Path::parent);
    let installed = beside.map(|folder| folder.join("../share/relayout"));
    let trees = [source_tree(), installed];
    let scripts = trees.into_iter().flatten().map(|tree| tree.join(SCRIPT));
    if let Some(path) = scripts.into_iter().find(|path| path.is_file()) {
        return Ok(SetupScript {
            path,
            _folder: None,
        });
    }
    let folder = create_work_folder(&env::temp_dir())?;
    for (name, text) in SETUP_FILES {
        write_file(&folder.path().join(name), text)?;
    }
    Ok(SetupScript {
        path: folder.path().join(SCRIPT),
        _folder: Some(folder),
    })
}

/// The script's path in each of these trees.
const SCRIPT: &str = "scripts/setup.sh";
