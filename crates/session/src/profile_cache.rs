//! Answers about a profile, kept from one command to the next.
//!
//! A question is serialised with all of its fields, and with what identifies the profile, its debug files and the
//! code that answers: that is the key. The profile itself is never written.

use std::path::{Path, PathBuf};

use relayout_contend::Findings;
use relayout_files::{CachedRequest, CachedValues, file_identity};
use relayout_probe::MachineFile;
use relayout_profile::ProfileMeta;
use relayout_profile::parquet::META_FILE;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::resolution_cache::allocators_by_user;

/// A question about a profile whose answer is kept. What influences the answer, beside the profile, its debug files,
/// the code and the probed machine, is a field.
pub trait ProfileQuestion: Serialize {
    /// Kind of the answers: the extension of their files.
    const KIND: &'static str;
    /// Answer.
    type Answer: Serialize + DeserializeOwned;
}

/// Kept answers about a profile.
pub struct ProfileCache {
    values: Option<CachedValues>,
    /// `None` if a file cannot be looked at.
    identity: Option<ProfileIdentity>,
}

impl ProfileCache {
    /// Finds the answers about a profile. `debug` are the files to use instead of those it names.
    pub fn locate(profile: &Path, debug: &[PathBuf]) -> Self {
        Self {
            values: CachedValues::locate(),
            identity: ProfileIdentity::read(profile, debug),
        }
    }

    /// Returns the kept answer; `None` if there is none, or the files have changed.
    pub fn read<Q: ProfileQuestion>(&self, question: &Q) -> Option<Q::Answer> {
        let bytes = self.values.as_ref()?.read(&self.request(question)?)?;
        serde_json::from_slice(&bytes).ok()
    }

    /// Keeps an answer, in the place of an older one.
    pub fn keep<Q: ProfileQuestion>(&self, question: &Q, answer: &Q::Answer) {
        if let (Some(values), Some(request)) = (&self.values, self.request(question))
            && let Ok(bytes) = serde_json::to_vec(answer)
        {
            values.keep(&request, &bytes);
        }
    }

    fn request<'a, Q>(&'a self, question: &'a Q) -> Option<ProfileRequest<'a, Q>> {
        let identity = self.identity.as_ref()?;
        Some(ProfileRequest { identity, question })
    }
}

/// A question, and what it is about.
#[derive(Serialize)]
struct ProfileRequest<'a, Q> {
    identity: &'a ProfileIdentity,
    question: &'a Q,
}

impl<Q: ProfileQuestion> CachedRequest for ProfileRequest<'_, Q> {
    const KIND: &'static str = Q::KIND;
}

/// Identity of a profile, its debug files, this program, and the machine that it runs on: it differs if one of them does.
#[derive(Debug, Serialize)]
struct ProfileIdentity {
    /// Text of the profile's meta data.
    meta: String,
    /// Functions that the user calls allocators.
    allocators: Vec<String>,
    /// Identities of the profile's files, its debug files and this program.
    files: Vec<String>,
    /// Identity of the file of the probed machine, by whose costs layouts are judged.
    machine: Option<String>,
}

impl ProfileIdentity {
    /// Reads the identity; `None` if a file cannot be looked at.
    fn read(profile: &Path, debug: &[PathBuf]) -> Option<Self> {
        // Another way to the same folder leads to the same answers.
        let profile = &profile.canonicalize().ok()?;
        let meta = relayout_files::read_regular_text(&profile.join(META_FILE)).ok()?;
        let mut files: Vec<PathBuf> = std::fs::read_dir(profile)
            .ok()?
            .map(|entry| entry.map(|entry| entry.path()))
            .collect::<Result<_, _>>()
            .ok()?;
        files.sort();
        match debug.is_empty() {
            true => files.extend(debug_file_in(&meta)),
            false => files.extend_from_slice(debug),
        }
        files.push(std::env::current_exe().ok()?);
        Some(Self {
            meta,
            allocators: allocators_by_user(),
            files: { files.iter() }
                .map(|file| file_identity(file))
                .collect::<Option<_>>()?,
            machine: MachineFile::default_path().and_then(|file| file_identity(&file)),
        })
    }
}

/// Returns the debug file that the meta data of a profile name.
pub(crate) fn named_debug_file(profile: &Path) -> Option<PathBuf> {
    let meta = relayout_files::read_regular_text(&profile.join(META_FILE)).ok()?;
    debug_file_in(&meta)
}

fn debug_file_in(meta: &str) -> Option<PathBuf> {
    let document: serde_json::Value = serde_json::from_str(meta).unwrap_or_default();
    let named = document.get("debug_file").and_then(|path| path.as_str());
    named.filter(|path| !path.is_empty()).map(PathBuf::from)
}

/// Ranked findings of a profile: to name all objects again takes longer than anything else in a report.
#[derive(Debug, Serialize)]
pub struct FindingsQuestion {
    /// Cost, in transfers, of another context's store to the other line of a pair; `None` where it is unknown.
    pub pair_coefficient: Option<f64>,
}

impl ProfileQuestion for FindingsQuestion {
    const KIND: &'static str = "findings";
    type Answer = RankedProfile;
}

/// Findings of a profile, with the facts about the recording that a report tells.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct RankedProfile {
    /// Facts about the recording.
    pub meta: ProfileMeta,
    /// Findings.
    pub findings: Findings,
}
