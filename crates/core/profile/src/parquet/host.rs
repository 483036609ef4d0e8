//! `host.json`: facts about the host that a recording in simulated time does not depend on. Without them, the profile of
//! the same snapshot, machine, rules and seed has the same bytes.

use serde::{Deserialize, Serialize};

use super::error::FormatError;
use crate::model::ProfileMeta;
use crate::simulated_run::HostWindow;

/// Name of the file, which only profiles in simulated time have.
pub const HOST_FILE: &str = "host.json";

const SCHEMA: &str = "relayout/host/1";

/// Content of the file.
#[derive(Serialize, Deserialize)]
pub(super) struct HostFile {
    schema: String,
    tool_version: String,
    command: Vec<String>,
    /// By run; null for one whose host is not known.
    runs: Vec<Option<HostWindow>>,
}

impl HostFile {
    /// Takes the facts about the host out of the metadata of a recording in simulated time; `None` for others.
    pub(super) fn take_from(meta: &mut ProfileMeta) -> Option<Self> {
        meta.simulated_machine.as_ref()?;
        Some(Self {
            schema: SCHEMA.to_owned(),
            tool_version: std::mem::take(&mut meta.tool_version),
            command: std::mem::take(&mut meta.command),
            runs: { meta.runs.iter_mut() }
                .map(|run| run.host_window.take())
                .collect(),
        })
    }

    /// Puts the facts back into the metadata.
    pub(super) fn put_into(self, meta: &mut ProfileMeta) {
        meta.tool_version = self.tool_version;
        meta.command = self.command;
        for (run, host) in meta.runs.iter_mut().zip(self.runs) {
            run.host_window = host;
        }
    }

    pub(super) fn parse(json: &[u8]) -> Result<Self, FormatError> {
        serde_json::from_slice(json).map_err(FormatError::Host)
    }

    /// Returns the file's bytes.
    pub(super) fn to_json(&self) -> Result<Vec<u8>, FormatError> {
        let mut json = serde_json::to_vec_pretty(self).map_err(FormatError::Host)?;
        json.push(b'\n');
        Ok(json)
    }
}
