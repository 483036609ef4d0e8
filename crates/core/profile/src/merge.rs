//! Several recordings of one thing, made one profile.

use relayout_messages::UserFacingError;
use rustc_hash::FxHashMap;

use crate::ids::{RunId, SiteId};
use crate::model::{AccessCoverage, Profile, ProfileMeta, Site};

/// Why profiles cannot be merged.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Nothing to merge.
    #[error("no recordings to merge")]
    Nothing,
    /// They were not recorded from the same thing, or in the same way.
    #[error("recordings differ in {what}: {first} and {other}")]
    Different {
        /// In what.
        what: &'static str,
        /// The first recording's.
        first: String,
        /// That of the one that differs.
        other: String,
    },
    /// More runs than can be numbered.
    #[error("{runs} runs, more than the 65,536 that a profile can hold")]
    TooManyRuns {
        /// Number of runs.
        runs: usize,
    },
    /// More sites than can be numbered.
    #[error("more sites than a profile can hold")]
    TooManySites,
}

impl UserFacingError for Error {}

/// Merges profiles of the same build and line size: their runs are numbered one after the other,
/// and equal instructions (address and bytes) become one site, where programs had the same modules
/// at the same addresses.
///
/// Metadata other than `runs` is the first one's; `values_seen` is true only if all saw values, and
/// `left_out_readers` are those of all. A complete recording and one in slices are one in slices.
/// Programs may have had other numbers of contexts in each run; kernels may not.
///
/// # Errors
/// [`Error`] names what keeps them apart.
pub fn merge(profiles: Vec<Profile>) -> Result<Profile, Error> {
    append_profiles(profiles, validate_same_origin)
}

/// Merges the processes of one recording: each is a run of its own, since addresses of two
/// processes are unrelated. They may be of different programs.
///
/// # Errors
/// [`Error`] names what keeps them apart.
pub fn merge_processes(profiles: Vec<Profile>) -> Result<Profile, Error> {
    append_profiles(profiles, |_, _| Ok(()))
}

fn append_profiles(
    profiles: Vec<Profile>,
    validate_origin: fn(&ProfileMeta, &ProfileMeta) -> Result<(), Error>,
) -> Result<Profile, Error> {
    let mut profiles = profiles.into_iter();
    let mut merged = profiles.next().ok_or(Error::Nothing)?;
    let mut numbers = numbers_of(&merged.sites);
    for profile in profiles {
        validate_origin(&merged.meta, &profile.meta)?;
        append_profile(&mut merged, &mut numbers, profile)?;
    }
    Ok(merged)
}

fn append_profile(
    merged: &mut Profile,
    numbers: &mut FxHashMap<Site, SiteId>,
    mut profile: Profile,
) -> Result<(), Error> {
    let run = first_run(&merged.meta, &profile.meta)?;
    if !has_same_modules(&merged.meta, &profile.meta) {
        // An address says nothing without its run; later runs like the first are not looked for.
        numbers.clear();
    }
    let sites = unify_sites(
        &mut merged.sites,
        numbers,
        std::mem::take(&mut profile.sites),
    )?;
    renumber_rows(&mut profile, run, &sites);
    merged.meta.values_seen &= profile.meta.values_seen;
    if let (AccessCoverage::Complete, AccessCoverage::Sliced) =
        (merged.meta.coverage, profile.meta.coverage)
    {
        merged.meta.coverage = AccessCoverage::Sliced;
    }
    for reader in std::mem::take(&mut profile.meta.left_out_readers) {
        if !merged.meta.left_out_readers.contains(&reader) {
            merged.meta.left_out_readers.push(reader);
        }
    }
    merged.meta.contexts = merged.meta.contexts.max(profile.meta.contexts);
    merged.meta.runs.append(&mut profile.meta.runs);
    merged.lines.append(&mut profile.lines);
    merged.counts.append(&mut profile.counts);
    merged.conflicts.append(&mut profile.conflicts);
    merged.pairs.append(&mut profile.pairs);
    merged.waits.append(&mut profile.waits);
    merged.bursts.append(&mut profile.bursts);
    merged.visits.append(&mut profile.visits);
    merged.regions.append(&mut profile.regions);
    merged.ranges.append(&mut profile.ranges);
    Ok(())
}

fn validate_same_origin(first: &ProfileMeta, other: &ProfileMeta) -> Result<(), Error> {
    // Threads come and go as the program likes; the CPUs of a guest are given.
    let contexts = |meta: &ProfileMeta| match meta.target.as_str() {
        "program" => String::new(),
        _ => meta.contexts.to_string(),
    };
    let pairs = [
        ("build id", first.build_id.clone(), other.build_id.clone()),
        ("number of contexts", contexts(first), contexts(other)),
        (
            "cache line size",
            first.line_bytes.to_string(),
            other.line_bytes.to_string(),
        ),
        ("machine", first.machine.clone(), other.machine.clone()),
        ("target", first.target.clone(), other.target.clone()),
        (
            "order of accesses",
            first.order_words(),
            other.order_words(),
        ),
    ];
    match pairs.into_iter().find(|(_, first, other)| first != other) {
        Some((what, first, other)) => Err(Error::Different { what, first, other }),
        None => Ok(()),
    }
}

/// Returns whether the same files were mapped at the same addresses in the last of `merged` and the
/// first of `other`, so that equal addresses are equal instructions.
fn has_same_modules(merged: &ProfileMeta, other: &ProfileMeta) -> bool {
    match (merged.runs.last(), other.runs.first()) {
        (Some(last), Some(first)) => last.modules == first.modules,
        _ => true,
    }
}

/// The number that run 0 of `other` gets.
fn first_run(merged: &ProfileMeta, other: &ProfileMeta) -> Result<RunId, Error> {
    let runs = merged.runs.len() + other.runs.len();
    if runs > usize::from(u16::MAX) + 1 {
        return Err(Error::TooManyRuns { runs });
    }
    // Exactly 65,536 runs are full: then `other` has none, and no rows that need a number.
    Ok(RunId(u16::try_from(merged.runs.len()).unwrap_or(u16::MAX)))
}

/// Returns the number of each site by its address and bytes.
pub(crate) fn numbers_of(sites: &[Site]) -> FxHashMap<Site, SiteId> {
    { sites.iter().cloned() }.zip((0..).map(SiteId)).collect()
}

/// Returns the number of each of `sites` among `merged`, where new ones are appended. `numbers` has those of all that
/// are there.
///
/// # Errors
/// More sites than numbers.
pub(crate) fn unify_sites(
    merged: &mut Vec<Site>,
    numbers: &mut FxHashMap<Site, SiteId>,
    sites: Vec<Site>,
) -> Result<Vec<SiteId>, Error> {
    let mut number = |site: Site| {
        if let Some(&number) = numbers.get(&site) {
            return Ok(number);
        }
        let number = u32::try_from(merged.len()).map_err(|_| Error::TooManySites)?;
        let number = SiteId(number);
        merged.push(site.clone());
        numbers.insert(site, number);
        Ok(number)
    };
    sites.into_iter().map(&mut number).collect()
}

/// Moves the rows to runs from `first_run` on and to new site numbers.
fn renumber_rows(profile: &mut Profile, first_run: RunId, sites: &[SiteId]) {
    // A site that is not there stays out of range, for whoever checks the profile to name.
    let absent = SiteId(u32::MAX);
    let site = |old: SiteId| sites.get(old.index()).copied().unwrap_or(absent);
    let run = |old: &mut RunId| old.0 = old.0.saturating_add(first_run.0);
    for row in &mut profile.lines {
        run(&mut row.run);
    }
    for row in &mut profile.counts {
        run(&mut row.run);
        row.site = site(row.site);
    }
    for row in &mut profile.conflicts {
        run(&mut row.run);
        row.site = site(row.site);
        row.other_site = site(row.other_site);
    }
    for row in &mut profile.pairs {
        run(&mut row.run);
        row.site = site(row.site);
        row.other_site = site(row.other_site);
    }
    for row in &mut profile.waits {
        run(&mut row.run);
        row.site = site(row.site);
    }
    for row in &mut profile.bursts {
        run(&mut row.run);
        row.site = site(row.site);
    }
    for row in &mut profile.visits {
        run(&mut row.run);
        row.site = site(row.site);
    }
    for row in &mut profile.regions {
        run(&mut row.run);
    }
    for row in &mut profile.ranges {
        run(&mut row.run);
    }
}
