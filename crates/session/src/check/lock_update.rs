//! The lock file, updated by the layouts of files and the hot members of profiles.

use std::path::{Path, PathBuf};

use relayout_advice::{ResolvedNames, rank_findings, recorded_member};
use relayout_check::hot::{ContendedLine, HotSelection, select_hot};
use relayout_check::{
    LayoutLock, LockRecord, LockUpdate, ProfileFacts, RecentProfile, record_layouts,
};
use relayout_contend::Finding;
use relayout_contend::finding::LinePlace;
use relayout_files::write_atomically;
use relayout_messages::{RecordingProgress, UserError};
use relayout_resolve::FileId;

use super::{CheckRequest, CheckRules, with_file};
use crate::with_resolved_profile;

/// Profiles that show which members are hot.
#[derive(Clone, Copy, Debug)]
pub struct HotProfiles<'a> {
    /// The profiles; empty to keep the members of the lock file hot.
    pub paths: &'a [PathBuf],
    /// Debug file of the profiles, instead of those that they name.
    pub debug: Option<&'a Path>,
    /// Fraction of all transfers that makes a line hot.
    pub line_share_min: f64,
}

/// An updated lock file.
#[derive(Clone, Debug)]
pub struct UpdatedLock {
    /// Path of the lock file.
    pub path: PathBuf,
    /// Records of the files.
    pub files: Vec<LockRecord>,
}

/// Records the layouts of each file, and writes the lock file.
///
/// `notify` receives a sentence for each hot type or member that is left out.
///
/// # Errors
/// A file or profile cannot be read, the profiles are of different builds, or the lock file cannot
/// be written.
pub fn update_lock(
    request: &CheckRequest,
    rules: &CheckRules,
    profiles: HotProfiles<'_>,
    progress: &dyn RecordingProgress,
    notify: &dyn Fn(&str),
) -> Result<UpdatedLock, UserError> {
    let recent = recent_profile(profiles, progress)?;
    let mut lock = rules.lock.clone().unwrap_or_default();
    let mut written = LayoutLock::default();
    let mut files = Vec::new();
    for path in &request.files {
        let update = with_file(request, path, notify, |catalog, facts| {
            let recent = recent.as_ref().map(|(hot, profile)| RecentProfile {
                types: &hot.types,
                profile,
            });
            let old = |names: &[String]| lock.record(facts, names).cloned();
            let (config, named) = (&rules.config, &request.configurations);
            Ok(record_layouts(config, named, facts, catalog, recent, old)?)
        })?;
        notify_of_left_out(path, &update, recent.as_ref().map(|(hot, _)| hot), notify);
        files.push(update.record.clone());
        written.add_types(update.record);
    }
    for record in written.records {
        lock.replace(record);
    }
    let path = rules.lock_path.clone();
    write_atomically(&path, lock.to_text().as_bytes())?;
    Ok(UpdatedLock { path, files })
}

/// Selects the hot types of the profiles; `None` without profiles.
fn recent_profile(
    profiles: HotProfiles<'_>,
    progress: &dyn RecordingProgress,
) -> Result<Option<(HotSelection, ProfileFacts)>, UserError> {
    let mut lines = Vec::new();
    let mut merged: Option<ProfileFacts> = None;
    for path in profiles.paths {
        let (contended, facts) = contended_lines(path, profiles.debug, progress)?;
        lines.extend(contended);
        match &mut merged {
            None => merged = Some(facts),
            Some(merged) if merged.build_id == facts.build_id => {
                merged.workload = format!("{}, {}", merged.workload, facts.workload);
                merged.transfers += facts.transfers;
            }
            Some(_) => {
                let message = format!(
                    "{} is of another build than the profiles before it",
                    path.display()
                );
                return Err(UserError::input(message).with_remedy("record one build"));
            }
        }
    }
    Ok(merged.map(|facts| (select_hot(&lines, profiles.line_share_min), facts)))
}

/// Reads the contended lines of types in a profile.
fn contended_lines(
    path: &Path,
    debug: Option<&Path>,
    progress: &dyn RecordingProgress,
) -> Result<(Vec<ContendedLine>, ProfileFacts), UserError> {
    let debug: Vec<PathBuf> = debug.map(Path::to_owned).into_iter().collect();
    with_resolved_profile(path, &debug, progress, |resolved, images| {
        let findings = rank_findings(resolved, &ResolvedNames::new(resolved, images), None);
        let meta = &resolved.profile.meta;
        let main_build_id = || images.file(FileId::MAIN).build_id_text();
        let facts = ProfileFacts {
            workload: meta.workload.clone(),
            build_id: match meta.build_id.as_str() {
                "" => main_build_id().unwrap_or_default(),
                id => id.to_owned(),
            },
            transfers: findings.totals.tally.transfers(),
        };
        let lines = findings.findings.iter().flat_map(lines_of_finding);
        Ok((lines.collect(), facts))
    })
}

/// Returns the lines of a finding: one for each place in a line at which its objects begin.
fn lines_of_finding(finding: &Finding) -> Vec<ContendedLine> {
    if !finding.subject.has_members() {
        return Vec::new();
    }
    let all = finding.tally.transfers().max(1) as f64;
    let line = |place: &LinePlace| ContendedLine {
        type_name: finding.subject.type_name().to_owned(),
        line_offset: place.line_offset,
        line_bytes: finding.line_bytes.into(),
        share: finding.share * place.transfers as f64 / all,
        members: finding.members.iter().filter_map(recorded_member).collect(),
    };
    finding.places.iter().map(line).collect()
}

/// Names the hot types and members that the record lacks.
fn notify_of_left_out(
    path: &Path,
    update: &LockUpdate,
    hot: Option<&HotSelection>,
    notify: &dyn Fn(&str),
) {
    let file = path.display();
    if let (Some(profile), Some(id)) = (&update.record.profile, &update.record.build_id)
        && hot.is_some()
        && profile.build_id != *id
    {
        notify(&format!(
            "{file} has build id {id}, the profile is of {}: members are found by name",
            profile.build_id
        ));
    }
    for name in &update.left_out {
        notify(&format!(
            "{name} is hot, but {file} has no such type or member; left out"
        ));
    }
    for name in hot.into_iter().flat_map(|hot| &hot.unsteady) {
        notify(&format!(
            "{name} is hot, but its objects begin at different places in a line, so that offsets do \
             not tell which members share one; left out"
        ));
    }
}
