//! All stages of advice, in order.

use std::path::{Path, PathBuf};

use relayout_layout::TypePattern;
use relayout_search::{Options, Recommendation};
use relayout_toolchain::kernel_build::KernelConfiguration;
use serde::{Serialize, Serializer};

use super::accesses::{MemberAccesses, member_accesses};
use super::advised_type::AdvisedType;
use super::compile_test::CompileTester;
use super::configuration::{ConfigurationBuild, shapes_of_type};
use super::curves::{CurveRequest, predict_curves};
use super::doubts::{advice_doubts, uncertain_type};
use super::forbidden::ForbiddenLayout;
use super::gains::predict_gains;
use super::gathered::{GatheredType, gather_subject, gather_type};
use super::guards::best_guards;
use super::layout_files::{LayoutFile, fit_layout_files};
use super::layout_pool::LayoutPool;
use super::objects::{ContendedType, rank_contended_types};
use super::order::{OrderEvidence, scan_source_tree};
use super::patch::{ChosenEdit, PatchOutcome, WrittenPatch, write_chosen_layout};
use super::recommended::{LayoutChoice, PoolLayout, RecommendationLimits};
use super::scenarios::{GuardedType, ScenarioScores, add_workload_scores, score_configurations};
use super::searched::SearchedType;
use super::subject::{AdvisedSubject, find_subject};
use super::variables::{ContendedVariable, split_advised_variables};
use crate::{ProbedMachine, ResolvedNames, ResolvedProfile, UserError};

/// Types that are advised on if none is named.
const UNNAMED_TYPES_MAX: usize = 3;
/// Divisor of the search effort for each of these types.
const EFFORT_DIVISOR: u64 = 10;

/// Inputs of an advice run besides the profile.
#[derive(Clone, Debug, Default)]
pub struct AdviceRequest {
    /// Structs; if empty, those with the most transfers.
    pub types: Vec<String>,
    /// Layouts to score, for a single struct.
    pub layout_files: Vec<LayoutFile>,
    /// Members that stay at their offsets, in a single struct.
    pub pinned: Vec<String>,
    /// Debug files that replace those of the profiles.
    pub debug: Vec<PathBuf>,
    /// Profiles of other workloads.
    pub workloads: Vec<PathBuf>,
    /// Builds of other configurations, by name.
    pub configurations: Vec<(String, PathBuf)>,
    /// Source tree for patches.
    pub source: Option<PathBuf>,
    /// Configurations for compile tests of the patches.
    pub compile: Vec<KernelConfiguration>,
    /// Candidates worth showing, by rank.
    pub top: usize,
    /// Members that a recommended layout moves at most; `None` for any number.
    pub moves_max: Option<usize>,
    /// Layout that becomes the patch.
    pub choice: LayoutChoice,
    /// Machine that predictions are for.
    pub machine: ProbedMachine,
    /// Larger machine whose gain over the number of CPUs is predicted.
    pub curve: Option<CurveRequest>,
    /// True to write patches in spite of doubts.
    pub force: bool,
}

impl AdviceRequest {
    /// Returns the limits of recommendations.
    pub fn limits(&self) -> RecommendationLimits {
        RecommendationLimits {
            top: self.top,
            moves_max: self.moves_max,
        }
    }

    /// Candidates worth showing, by rank, unless the user says otherwise. Only those that are shown
    /// can be recommended.
    pub const TOP_DEFAULT: usize = 5;

    /// Returns the request of a user who names types and nothing else.
    pub fn plain(types: Vec<String>, machine: ProbedMachine) -> Self {
        let timed = machine.timed.clone();
        Self {
            types,
            top: Self::TOP_DEFAULT,
            curve: timed.map(|(machine, rules)| CurveRequest::plain(machine, rules)),
            machine,
            ..Self::default()
        }
    }

    /// True if the search is the one that a profile and its types alone lead to. Another one looks at
    /// fewer layouts, or judges them by more or on another machine, so its conclusion is not the one
    /// that `report` shows.
    ///
    /// ```
    /// use relayout_session::ProbedMachine;
    /// use relayout_session::advise::AdviceRequest;
    ///
    /// let plain = AdviceRequest::plain(vec!["worker".into()], ProbedMachine::default());
    /// assert!(plain.is_plain());
    /// assert!(!AdviceRequest { top: 1, ..plain.clone() }.is_plain());
    /// assert!(!AdviceRequest { source: Some("linux".into()), ..plain }.is_plain());
    /// ```
    pub fn is_plain(&self) -> bool {
        let plain = Self {
            // Debug files name the profile's builds, not another question.
            debug: self.debug.clone(),
            ..Self::plain(self.types.clone(), self.machine.clone())
        };
        !self.machine.is_given && self.fields() == plain.fields()
    }

    /// Returns all fields as text: types of other crates in them know no other form.
    fn fields(&self) -> String {
        format!("{self:?}")
    }
}

impl Serialize for AdviceRequest {
    /// Serialises all fields, for the key of kept advice.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.fields())
    }
}

/// Advice on all requested types.
pub struct AdviceRun<'a> {
    /// Types with candidates, or with the reason why there are none.
    pub types: Vec<PatchedType<'a>>,
    /// Contended types and variables that were skipped.
    pub skipped: Vec<ContendedType>,
    /// Contended variables without members, on whose findings there is advice.
    pub variables: Vec<ContendedVariable>,
    /// Sentences about the whole run.
    pub notes: Vec<String>,
}

impl AdviceRun<'_> {
    /// True if a patch failed a compile test.
    pub fn has_bad_patch(&self) -> bool {
        let patches = self
            .types
            .iter()
            .filter_map(|patched| patched.patch.as_ref());
        patches.into_iter().any(PatchOutcome::is_bad)
    }

    /// Warns of code in the source tree that relies on the order of members in a patched struct, and
    /// that no rule of the search keeps right: values by position, shuffled members.
    pub fn warn_of_order_uses(&self, resolved: &ResolvedProfile<'_>) {
        let is_written =
            |patched: &&PatchedType<'_>| matches!(patched.patch, Some(PatchOutcome::Diff(_)));
        for patched in self.types.iter().filter(is_written) {
            let gathered = &patched.advised.searched.gathered;
            for sentence in gathered.order.warnings(&gathered.name) {
                resolved.progress.warn(&sentence);
            }
        }
    }
}

/// An advised type with its patch.
pub struct PatchedType<'a> {
    /// Scores and predictions.
    pub advised: AdvisedType<'a>,
    /// Patch; `None` without a source tree or a better candidate.
    pub patch: Option<PatchOutcome>,
    /// Limits of the recommendation.
    pub limits: RecommendationLimits,
}

impl PatchedType<'_> {
    /// Returns the recommended candidate with its pool: with guards where those are clearly better.
    pub fn recommended_with_guards(&self) -> Option<(LayoutPool<'_>, Recommendation)> {
        if let Some(guarded) = self.recommended_guarded() {
            return Some(guarded);
        }
        Some((self.advised.unguarded_pool()?, self.recommended()?))
    }

    /// Returns the candidate that would have become the patch if its edits could be written, with
    /// its pool.
    pub fn most_recommended(&self) -> Option<(LayoutPool<'_>, Recommendation)> {
        if let Some(guarded) = self.recommended_guarded() {
            return Some(guarded);
        }
        let pool = self.advised.unguarded_pool()?;
        let first = pool.recommendations(self.limits).into_iter().next()?;
        Some((pool, first))
    }

    fn recommended_guarded(&self) -> Option<(LayoutPool<'_>, Recommendation)> {
        let (pool, found) = self.advised.guarded_recommendations(self.limits)?;
        Some((pool, found.into_iter().next()?))
    }

    /// Returns the recommended candidate of the layouts without guards: the one that the patch
    /// makes, or the first that is worth its edits.
    pub fn recommended(&self) -> Option<Recommendation> {
        let pool = self.advised.unguarded_pool()?;
        let mut recommended = pool.recommendations(self.limits).into_iter();
        let written = match &self.patch {
            Some(PatchOutcome::Diff(written)) if !written.edited.is_guarded => {
                written.edited.layout
            }
            _ => return recommended.next(),
        };
        let all: Vec<Recommendation> = recommended.collect();
        let is_written = |found: &&Recommendation| written == PoolLayout::Candidate(found.index);
        all.iter().find(is_written).or(all.first()).cloned()
    }
}

/// Searches better layouts, scores them in other scenarios, predicts their gains, and writes
/// patches.
///
/// # Errors
/// A file cannot be read, a struct is not in the profile, or a compile test cannot run.
pub fn advise_types<'a>(
    resolved: &ResolvedProfile<'a>,
    names: &ResolvedNames<'_, '_>,
    request: &AdviceRequest,
) -> Result<AdviceRun<'a>, UserError> {
    let options = Options {
        intervals: request.top,
        pair_coefficient: request.machine.pair_coefficient,
        ..search_effort(request.types.is_empty())
    };
    let (mut gathered, mut skipped) = gather_types(resolved, request)?;
    let variables = split_advised_variables(resolved, names, &mut skipped);
    if let Some(source) = &request.source {
        read_rust_sources(&mut gathered, source);
        read_order_uses(resolved, &mut gathered, source);
    }
    let read_build = |build| ConfigurationBuild::read(resolved, &gathered, build);
    let builds: Vec<ConfigurationBuild> = request
        .configurations
        .iter()
        .map(read_build)
        .collect::<Result<_, UserError>>()?;
    let mut searched = Vec::new();
    for (type_index, gathered) in gathered.into_iter().enumerate() {
        let user_layouts = fit_layout_files(resolved, &gathered.shape, &request.layout_files)?;
        let shapes = shapes_of_type(&builds, type_index);
        let mut found = SearchedType::search(gathered, user_layouts, shapes, resolved, &options);
        found.forbidden = ForbiddenLayout::find(resolved, &found, request.moves_max, &options);
        searched.push(found);
    }
    let mut accesses = Vec::new();
    let mut guarded_types = Vec::new();
    for searched in searched {
        accesses.push(member_accesses(&searched.gathered, names));
        let guards = best_guards(resolved, &searched, names, &options);
        guarded_types.push(GuardedType { searched, guards });
    }
    let top = request.top;
    let mut scenarios: Vec<ScenarioScores> = guarded_types
        .iter()
        .enumerate()
        .map(|indexed| score_configurations(resolved, indexed, &builds, top, &options))
        .collect();
    for path in &request.workloads {
        let files = (path.as_path(), request.debug.as_slice());
        add_workload_scores(
            resolved,
            &guarded_types,
            &mut scenarios,
            files,
            top,
            &options,
        )?;
    }
    let missing = request.machine.missing_note(resolved.profile);
    let mut notes: Vec<String> = missing.into_iter().collect();
    for GuardedType { searched, guards } in &mut guarded_types {
        let note = predict_gains(resolved, searched, guards.as_mut(), &request.machine, top);
        notes.extend(note);
        let curve = request.curve.as_ref();
        notes.extend(curve.and_then(|curve| predict_curves(resolved, names, searched, curve, top)));
    }
    let advised = { guarded_types.into_iter().zip(accesses).zip(scenarios) }.map(
        |((guarded, accesses), scenarios)| doubt_advice(resolved, guarded, accesses, scenarios),
    );
    Ok(AdviceRun {
        types: patch_types(resolved, advised.collect(), request)?,
        skipped,
        variables,
        notes,
    })
}

/// Completes the advice on a type by the reasons for which its gain may not hold.
fn doubt_advice<'a>(
    resolved: &ResolvedProfile<'_>,
    guarded: GuardedType<'a>,
    accesses: Vec<MemberAccesses>,
    scenarios: ScenarioScores,
) -> AdvisedType<'a> {
    let searched = guarded.searched;
    let doubts = { searched.outcome.as_ref() }
        .map(|advice| advice_doubts(resolved, &searched.gathered, advice));
    AdvisedType {
        doubts: doubts.unwrap_or_default(),
        searched,
        accesses,
        guards: guarded.guards,
        scenarios,
    }
}

/// Reads the attributes of Rust structs, and the crates that their projects use.
fn read_rust_sources(gathered: &mut [GatheredType<'_>], source: &Path) {
    for gathered in gathered {
        let Some(rules) = &gathered.rust_struct else {
            continue;
        };
        let rules = rules.with_source(source, &gathered.name, gathered.aggregate.decl.as_ref());
        gathered.order = match rules.fields.is_repr_c {
            true => OrderEvidence::from_layout(&gathered.order_names, &gathered.shape),
            false => OrderEvidence::default(),
        };
        gathered.rust_struct = Some(rules);
    }
}

/// Finds the code in the source tree that relies on the order of the types' members.
fn read_order_uses(
    resolved: &ResolvedProfile<'_>,
    gathered: &mut [GatheredType<'_>],
    source: &Path,
) {
    // An array that is laid out as a whole has no members of its own. The tree is searched for C.
    let has_members =
        |gathered: &GatheredType<'_>| !gathered.is_whole && gathered.rust_struct.is_none();
    let queries: Vec<_> = { gathered.iter() }
        .filter(|gathered| has_members(gathered))
        .map(|gathered| gathered.order_names.query.clone())
        .collect();
    if queries.is_empty() {
        return;
    }
    let step = "looking for code that relies on the order of members";
    resolved.progress.step(step);
    let members = gathered.iter_mut().filter(|gathered| has_members(gathered));
    for (gathered, uses) in members.zip(scan_source_tree(source, &queries)) {
        let (names, shape) = (&gathered.order_names, &gathered.shape);
        gathered.order = OrderEvidence::from_uses(names, shape, uses);
    }
}

/// Gathers the requested types, or those with the most transfers; also returns the skipped ones.
fn gather_types<'a>(
    resolved: &ResolvedProfile<'a>,
    request: &AdviceRequest,
) -> Result<(Vec<GatheredType<'a>>, Vec<ContendedType>), UserError> {
    if request.types.is_empty() {
        return Ok(most_contended_types(resolved, request.force));
    }
    let (mut gathered, mut skipped) = (Vec::new(), Vec::new());
    for name in &request.types {
        match lone_number(resolved, name)? {
            Some(number) => skipped.push(number),
            None => gathered.push(gather_type(resolved, name, &request.pinned)?),
        }
    }
    Ok((gathered, skipped))
}

/// Returns the contended number without neighbours that `name` means; `None` if it means anything else.
fn lone_number(
    resolved: &ResolvedProfile<'_>,
    name: &str,
) -> Result<Option<ContendedType>, UserError> {
    let pattern = TypePattern::parse(name).map_err(UserError::input)?;
    let subject = find_subject(resolved, &pattern)?;
    let Some(subject @ AdvisedSubject::Scalars { .. }) = subject else {
        return Ok(None);
    };
    let mut ranked = rank_contended_types(resolved).into_iter();
    Ok(ranked.find(|contended| contended.subject == subject && contended.skip_reason.is_some()))
}

/// Returns the types with the most transfers that can be laid out again, and those that were
/// skipped, among them those that are uncertain, unless the user insists.
fn most_contended_types<'a>(
    resolved: &ResolvedProfile<'a>,
    is_forced: bool,
) -> (Vec<GatheredType<'a>>, Vec<ContendedType>) {
    let (mut gathered_types, mut skipped) = (Vec::new(), Vec::new());
    for contended in rank_contended_types(resolved) {
        if gathered_types.len() == UNNAMED_TYPES_MAX {
            break;
        }
        let gathered = match contended.skip_reason {
            Some(_) => {
                skipped.push(contended);
                continue;
            }
            None => gather_subject(resolved, &contended.subject),
        };
        let skip_reason = match gathered {
            Ok(gathered) => match skip_reason(resolved, &gathered, is_forced) {
                None => {
                    gathered_types.push(gathered);
                    continue;
                }
                Some(reason) => reason,
            },
            Err(error) => error.to_string(),
        };
        skipped.push(ContendedType {
            skip_reason: Some(skip_reason),
            ..contended
        });
    }
    (gathered_types, skipped)
}

/// Returns the reason why no advice is given on a type that the user has not named.
fn skip_reason(
    resolved: &ResolvedProfile<'_>,
    gathered: &GatheredType<'_>,
    is_forced: bool,
) -> Option<String> {
    let doubt = uncertain_type(gathered).filter(|_| !is_forced);
    let unlayable = gathered.skip_reason(resolved.line_bytes);
    unlayable.or_else(|| doubt.map(|doubt| doubt.to_string()))
}

/// Returns the search effort, which is less for each of several types.
pub(super) fn search_effort(has_several_types: bool) -> Options {
    let full = Options::default();
    match has_several_types {
        false => full,
        true => Options {
            budget_accesses: full.budget_accesses / EFFORT_DIVISOR,
            effort_rows: full.effort_rows / EFFORT_DIVISOR,
            two_moves_max: full.two_moves_max / EFFORT_DIVISOR as usize,
            ..full
        },
    }
}

/// Returns the edit, or the doubts for which it is not written.
fn withhold_doubtful(
    chosen: ChosenEdit,
    advised: &AdvisedType<'_>,
    is_forced: bool,
) -> Result<ChosenEdit, String> {
    let candidate = chosen.edited.candidate(advised);
    let doubts = candidate.map_or(Vec::new(), |candidate| advised.doubts_about(candidate));
    if is_forced || doubts.is_empty() {
        return Ok(chosen);
    }
    let words: Vec<String> = doubts.iter().map(ToString::to_string).collect();
    Err(format!(
        "the gain is in doubt: {}; record again, with --repeat 3, or write it with --force",
        words.join("; ")
    ))
}

/// Writes and compiles the patches.
fn patch_types<'a>(
    resolved: &ResolvedProfile<'_>,
    advised: Vec<AdvisedType<'a>>,
    request: &AdviceRequest,
) -> Result<Vec<PatchedType<'a>>, UserError> {
    let Some(source) = &request.source else {
        return Ok(advised
            .into_iter()
            .map(|advised| PatchedType {
                advised,
                patch: None,
                limits: request.limits(),
            })
            .collect());
    };
    let chosen: Vec<_> = advised
        .iter()
        .map(|advised| {
            let limits = request.limits();
            let chosen = write_chosen_layout(resolved, advised, source, request.choice, limits)?;
            Some(chosen.and_then(|chosen| withhold_doubtful(chosen, advised, request.force)))
        })
        .collect();
    let tester = match request.compile.is_empty() {
        true => None,
        false => Some(CompileTester::open(resolved, source)?),
    };
    let mut types = Vec::new();
    for (advised, chosen) in advised.into_iter().zip(chosen) {
        let patch = match chosen {
            None => None,
            Some(Err(reason)) => Some(PatchOutcome::Refused(reason)),
            Some(Ok(chosen)) => {
                let compile_tests = match (&tester, chosen.edited.candidate(&advised)) {
                    (Some(tester), Some(candidate)) => {
                        let subject = (&advised.searched.gathered, &candidate.scored);
                        let edit = (&*chosen.edited.diff, &*chosen.edited.paths);
                        tester.test_configurations(&request.compile, subject, edit)?
                    }
                    _ => Vec::new(),
                };
                Some(PatchOutcome::Diff(WrittenPatch {
                    edited: chosen.edited,
                    instead_reason: chosen.instead_reason,
                    compile_tests,
                }))
            }
        };
        types.push(PatchedType {
            advised,
            patch,
            limits: request.limits(),
        });
    }
    Ok(types)
}
