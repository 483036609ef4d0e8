//! `relayout check --update`: writes the lock file.

use std::path::{Path, PathBuf};

use anyhow::bail;
use relayout_check::hot::{ContendedLine, HotSelection, select_hot};
use relayout_check::{
    LayoutLock, LockRecord, LockUpdate, ProfileFacts, RecentProfile, RecordedHotMember,
    record_layouts,
};
use relayout_contend::finding::{FindingMember, LinePlace};
use relayout_contend::{Finding, FindingSubject, find};
use relayout_host::{RecordingProgress as _, write_atomically};
use relayout_resolve::FileId;

use super::input::{CheckRules, lock_path};
use super::{Args, with_file};
use crate::identify::ResolvedNames;
use crate::print::print_text;

/// Records each file, and writes the lock file whole.
pub(super) fn run(args: &Args, rules: &CheckRules) -> anyhow::Result<()> {
    let recent = recent_profile(args)?;
    let old_lock = rules.lock.clone().unwrap_or_default();
    let mut written = LayoutLock::default();
    let mut out = String::new();
    for path in &args.files {
        let taken = with_file(args, path, |catalog, facts| {
            let recent = recent.as_ref().map(|(hot, profile)| RecentProfile {
                types: &hot.types,
                profile,
            });
            let old = |names: &[String]| old_lock.record(facts, names).cloned();
            let named = &args.configuration;
            Ok(record_layouts(
                &rules.config,
                named,
                facts,
                catalog,
                recent,
                old,
            )?)
        })?;
        warn(path, &taken, recent.as_ref().map(|(hot, _)| hot));
        out.push_str(&summary_text(&taken.record));
        written.add_types(taken.record);
    }
    let mut lock = old_lock;
    for record in written.records {
        lock.replace(record);
    }
    let path = lock_path(args, &rules.path);
    write_atomically(&path, lock.to_text().as_bytes())?;
    out.push_str(&format!("written to {}\n", path.display()));
    print_text(&out)
}

/// What the profiles show to be hot; `None` without any.
fn recent_profile(args: &Args) -> anyhow::Result<Option<(HotSelection, ProfileFacts)>> {
    let mut lines = Vec::new();
    let mut facts: Option<ProfileFacts> = None;
    for path in &args.profile {
        let (found, profile) = contended_lines(path, args.debug.as_slice())?;
        lines.extend(found);
        match &mut facts {
            None => facts = Some(profile),
            Some(known) if known.build_id == profile.build_id => {
                known.workload = format!("{}, {}", known.workload, profile.workload);
                known.transfers += profile.transfers;
            }
            Some(_) => bail!(
                "{} is of another build than the profiles before it; record one build",
                path.display()
            ),
        }
    }
    Ok(facts.map(|facts| (select_hot(&lines, args.min_share / 100.0), facts)))
}

/// The contended lines of types in a profile.
fn contended_lines(
    path: &Path,
    debug: &[PathBuf],
) -> anyhow::Result<(Vec<ContendedLine>, ProfileFacts)> {
    crate::resolved::with_resolved_profile(path, debug, |input, images| {
        input.progress.step("ranking cache lines");
        let findings = find(input.profile, &ResolvedNames::new(input, images));
        let meta = &input.profile.meta;
        let facts = ProfileFacts {
            workload: meta.workload.clone(),
            build_id: match meta.build_id.as_str() {
                "" => images
                    .file(FileId::MAIN)
                    .build_id_text()
                    .unwrap_or_default(),
                id => id.to_owned(),
            },
            transfers: findings.totals.tally.transfers(),
        };
        Ok((
            findings
                .findings
                .iter()
                .flat_map(lines_of_finding)
                .collect(),
            facts,
        ))
    })
}

/// The lines of one finding: as many as its objects begin at places in a line.
fn lines_of_finding(finding: &Finding) -> Vec<ContendedLine> {
    if matches!(finding.subject, FindingSubject::Scalar { .. }) {
        return Vec::new();
    }
    let all = finding.tally.transfers().max(1) as f64;
    let line = |place: &LinePlace| ContendedLine {
        type_name: finding.subject.type_name().to_owned(),
        line_offset: place.line_offset,
        line_bytes: finding.line_bytes.into(),
        share: finding.share * place.transfers as f64 / all,
        members: finding.members.iter().filter_map(hot_member).collect(),
    };
    finding.places.iter().map(line).collect()
}

fn hot_member(member: &FindingMember) -> Option<RecordedHotMember> {
    Some(RecordedHotMember {
        path: member.name.clone(),
        offset: u64::try_from(member.offset).ok()?,
        size: member.size,
        reads: member.reads,
        writes: member.writes,
        contexts: member.contexts,
        transfers: member.transfers,
    })
}

/// Says what the profile shows to be hot and the record does not have.
fn warn(path: &Path, taken: &LockUpdate, hot: Option<&HotSelection>) {
    let file = path.display();
    if let (Some(profile), Some(id)) = (&taken.record.profile, &taken.record.build_id)
        && hot.is_some()
        && profile.build_id != *id
    {
        eprintln!(
            "relayout: {file} has build id {id}, the profile is of {}: members are found by name",
            profile.build_id
        );
    }
    for name in &taken.left_out {
        eprintln!("relayout: {name} is hot, but {file} has no such type or member; left out");
    }
    for name in hot.into_iter().flat_map(|hot| &hot.unsteady) {
        eprintln!(
            "relayout: {name} is hot, but its objects begin at different places in a line, so that \
             offsets do not tell which members share one; left out"
        );
    }
}

/// `vmlinux: 12 types with 80 hot members, of mmap1`
fn summary_text(record: &LockRecord) -> String {
    let hot: Vec<_> = record
        .types
        .iter()
        .filter(|recorded| !recorded.hot.is_empty())
        .collect();
    let members: usize = hot.iter().map(|recorded| recorded.hot.len()).sum();
    let shown_by = match &record.profile {
        Some(profile) => format!(", shown by {}", profile.workload),
        None => String::new(),
    };
    let mut out = format!(
        "{}: {} with {members} hot members{shown_by}\n",
        record.file,
        match hot.len() {
            1 => "1 type".to_owned(),
            count => format!("{count} types"),
        }
    );
    for recorded in hot {
        let mut lines: Vec<u64> = recorded
            .hot
            .iter()
            .map(|member| recorded.line_of(member.offset))
            .collect();
        lines.dedup();
        let lines: Vec<String> = lines.iter().map(ToString::to_string).collect();
        let (name, count) = (&recorded.layout.name, recorded.hot.len());
        out.push_str(&format!(
            "  {name:<32} {count:>3} on lines {}\n",
            lines.join(", ")
        ));
    }
    out
}
