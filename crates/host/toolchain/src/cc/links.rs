//! Links to the command by which builds call it as a compiler of one word.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use relayout_files::cannot;
use relayout_messages::UserError;

use super::CompilerDriver;

impl CompilerDriver {
    const ALL: [Self; 2] = [Self::C, Self::Cxx];

    /// Returns the name of the link to the command that stands for the compiler.
    fn link_name(self) -> &'static str {
        match self {
            Self::C => "relayout-cc",
            Self::Cxx => "relayout-c++",
        }
    }

    /// Returns the compiler that a program of this path stands for; `None` if it is no such link.
    pub fn from_link(path: &Path) -> Option<Self> {
        let mut all = Self::ALL.into_iter();
        all.find(|driver| path.file_name() == Some(OsStr::new(driver.link_name())))
    }
}

/// Makes the links to `command` in a folder, and returns their paths. Earlier links are replaced.
///
/// # Errors
/// A file is in the place of one, or the folder cannot be written to.
pub fn make_compiler_links(command: &Path, folder: &Path) -> Result<Vec<PathBuf>, UserError> {
    let make = |driver: CompilerDriver| {
        let link = folder.join(driver.link_name());
        match fs::symlink_metadata(&link) {
            Ok(found) if found.is_symlink() => {
                fs::remove_file(&link).map_err(cannot("replace", &link))?;
            }
            Ok(_) => {
                let text = format!("{} is there, and no link", link.display());
                return Err(UserError::input(text).with_remedy("name another folder"));
            }
            Err(_) => {}
        }
        symlink(command, &link).map_err(cannot("make", &link))?;
        Ok(link)
    };
    CompilerDriver::ALL.into_iter().map(make).collect()
}
