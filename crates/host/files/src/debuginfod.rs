//! Files by their build id, from the servers that `$DEBUGINFOD_URLS` names.
//!
//! The client of elfutils fetches and keeps them. Nothing is asked unless `$RELAYOUT_DEBUGINFOD` is 1, since the
//! build ids tell a server which programs somebody looks at.

use std::env;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use memmap2::Mmap;
use relayout_layout::links::{DebugLinks, build_id_text};

use crate::Error;
use crate::files::map_named_elf;
use crate::processes::find_in_path;

/// Environment variable that permits asking.
const PERMISSION_VARIABLE: &str = "RELAYOUT_DEBUGINFOD";
/// Environment variable of the client, with the servers.
const SERVERS_VARIABLE: &str = "DEBUGINFOD_URLS";
const CLIENT: &str = "debuginfod-find";

/// Client of the servers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DebuginfodClient {
    program: PathBuf,
}

/// File that a build id names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServedFile {
    /// The program or library as it is installed.
    Executable,
    /// Its debug information.
    DebugInfo,
}

impl DebuginfodClient {
    /// Returns the client; `None` if the user did not ask for it.
    ///
    /// # Errors
    /// There is no server to ask, or no program that asks it.
    pub fn from_environment() -> Result<Option<Self>, Error> {
        let is_permitted = env::var_os(PERMISSION_VARIABLE).is_some_and(|value| value == "1");
        if !is_permitted {
            return Ok(None);
        }
        if env::var_os(SERVERS_VARIABLE).is_none_or(|servers| servers.is_empty()) {
            return Err(Error::Missing {
                missing: format!("a server for {PERMISSION_VARIABLE}=1"),
                remedy: Some(format!(
                    "name one in {SERVERS_VARIABLE}, such as https://debuginfod.debian.net"
                )),
            });
        }
        let program = find_in_path(CLIENT).ok_or_else(|| Error::Missing {
            missing: format!("{CLIENT} for {PERMISSION_VARIABLE}=1"),
            remedy: Some("install debuginfod, which is a part of elfutils".into()),
        })?;
        Ok(Some(Self { program }))
    }

    /// Fetches and maps a file, or finds it where the client keeps those that it fetched. `None` if no server has
    /// the file with this build id, in lower-case hexadecimal digits.
    pub fn fetch(&self, file: ServedFile, build_id: &str) -> Option<(PathBuf, Mmap)> {
        let kind = match file {
            ServedFile::Executable => "executable",
            ServedFile::DebugInfo => "debuginfo",
        };
        let mut command = Command::new(&self.program);
        command
            .args([kind, build_id])
            .stdin(Stdio::null())
            .stderr(Stdio::null());
        let output = command
            .output()
            .ok()
            .filter(|output| output.status.success())?;
        let path = PathBuf::from(String::from_utf8(output.stdout).ok()?.trim_end());
        let map = map_named_elf(&path).ok()?;
        let found = DebugLinks::read(&map).ok()?.build_id;
        (build_id_text(&found?) == build_id).then_some((path, map))
    }
}
