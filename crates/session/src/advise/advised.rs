//! All stages of advice, in order.

use std::path::{Path, PathBuf};

use relayout_advice::{
    AdvisedType, ConfigurationBuild, ContendedType, ContendedVariable, GatheredType, LayoutChoice,
    LayoutFile, LayoutPool, LayoutSimulator, ProbedMachine, ResolvedNames, ResolvedProfile,
    SearchRequest, add_workload_scores, gather_types, predict_changes, search_types,
    shape_in_catalog, simulate_best, split_advised_variables,
};
use relayout_layout::catalog::DebugInfoFormat;
use relayout_messages::UserError;
use relayout_search::Recommendation;
use relayout_toolchain::kernel_build::KernelConfiguration;
use serde::{Serialize, Serializer};

use super::compile_test::CompileTester;
use super::order_uses::scan_source_tree;
use super::patch::{ChosenEdit, PatchOutcome, WrittenPatch, write_chosen_layout};
use super::rust_sources::read_rust_facts;
use crate::type_files::unreadable_types;
use crate::{with_resolved_profile, with_types};

/// Inputs of an advice run besides the profile.
#[derive(Clone, Debug, Default)]
pub struct AdviceRequest {
    /// What the search is asked for.
    pub search: SearchRequest,
    /// Layouts to score, for a single struct.
    pub layout_files: Vec<LayoutFile>,
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
    /// Layout that becomes the patch.
    pub choice: LayoutChoice,
}

impl AdviceRequest {
    /// Returns the request of a user who names types and nothing else.
    pub fn plain(types: Vec<String>, machine: ProbedMachine) -> Self {
        Self {
            search: SearchRequest::plain(types, machine),
            ..Self::default()
        }
    }

    /// True if the search is the one that a profile and its types alone lead to. Another one looks at
    /// fewer layouts, or judges them by more or on another machine, so its conclusion is not the one
    /// that `report` shows.
    ///
    /// ```
    /// use relayout_advice::ProbedMachine;
    /// use relayout_session::advise::AdviceRequest;
    ///
    /// let plain = AdviceRequest::plain(vec!["worker".into()], ProbedMachine::default());
    /// assert!(plain.is_plain());
    /// assert!(!AdviceRequest { source: Some("linux".into()), ..plain.clone() }.is_plain());
    /// let mut fewer = plain;
    /// fewer.search.top = 1;
    /// assert!(!fewer.is_plain());
    /// ```
    pub fn is_plain(&self) -> bool {
        let SearchRequest { types, machine, .. } = &self.search;
        let plain = Self {
            // Debug files name the profile's builds, not another question.
            debug: self.debug.clone(),
            ..Self::plain(types.clone(), machine.clone())
        };
        !machine.is_given && self.fields() == plain.fields()
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
}

impl PatchedType<'_> {
    /// Returns the recommended candidate with its pool: with guards where those are clearly better.
    pub fn recommended_with_guards(&self) -> Option<(LayoutPool<'_>, Recommendation)> {
        if let Some(guarded) = self.advised.recommended_guarded() {
            return Some(guarded);
        }
        Some((self.advised.unguarded_pool()?, self.recommended()?))
    }

    /// Returns the recommended candidate of the layouts without guards: the one that the patch
    /// makes, or the first that is worth its edits.
    pub fn recommended(&self) -> Option<Recommendation> {
        let written = match &self.patch {
            Some(PatchOutcome::Diff(written)) if !written.edited.is_guarded => {
                Some(written.edited.layout)
            }
            _ => None,
        };
        self.advised.recommended(written)
    }
}

/// Searches better layouts, scores them in other scenarios, predicts their gains, and writes
/// patches. With a simulator, the best are executed, and that decides which one is recommended.
///
/// # Errors
/// A file cannot be read, a struct is not in the profile, a compile test cannot run, or the simulator fails.
pub fn advise_types<'a>(
    resolved: &ResolvedProfile<'a>,
    names: &ResolvedNames<'_, '_>,
    request: &AdviceRequest,
    simulator: Option<&dyn LayoutSimulator>,
) -> Result<AdviceRun<'a>, UserError> {
    let search = &request.search;
    let (mut gathered, mut skipped) = gather_types(resolved, search)?;
    let variables = split_advised_variables(resolved, names, &mut skipped);
    if let Some(source) = &request.source {
        read_rust_sources(&mut gathered, source);
        read_order_uses(resolved, &mut gathered, source);
    }
    let read_build = |build| read_configuration(resolved, &gathered, build);
    let builds = request.configurations.iter().map(read_build);
    let builds: Vec<ConfigurationBuild> = builds.collect::<Result<_, UserError>>()?;
    let files = &request.layout_files;
    let mut types = search_types(resolved, names, gathered, files, &builds, search)?;
    for path in &request.workloads {
        with_resolved_profile(path, &request.debug, resolved.progress, |other, images| {
            let names = ResolvedNames::new(other, images);
            add_workload_scores(
                other,
                &names,
                &mut types,
                &path.display().to_string(),
                search,
            );
            Ok::<_, UserError>(())
        })?;
    }
    let notes = predict_changes(resolved, &mut types, search);
    if let Some(simulator) = simulator {
        simulate_best(resolved, &mut types, simulator)?;
    }
    Ok(AdviceRun {
        types: patch_types(resolved, types, request)?,
        skipped,
        variables,
        notes,
    })
}

/// Reads the shapes of `types` from the build at `path`.
///
/// # Errors
/// The file cannot be read.
fn read_configuration(
    resolved: &ResolvedProfile<'_>,
    types: &[GatheredType<'_>],
    (name, path): &(String, PathBuf),
) -> Result<ConfigurationBuild, UserError> {
    resolved.progress.step(&format!("reading {name}"));
    let notify = |text: &str| resolved.progress.warn(text);
    let shapes = with_types(path, DebugInfoFormat::Any, None, &notify, |catalog| {
        types
            .iter()
            .map(|gathered| {
                shape_in_catalog(catalog, &gathered.definition_name())
                    .map_err(UserError::wrap(unreadable_types(path)))
            })
            .collect()
    });
    Ok(ConfigurationBuild {
        name: name.clone(),
        shapes: shapes.map_err(UserError::wrap(format!("configuration {name}")))?,
    })
}

/// Reads the attributes of Rust structs, and the crates that their projects use.
fn read_rust_sources(gathered: &mut [GatheredType<'_>], source: &Path) {
    for gathered in gathered {
        if gathered.is_rust() {
            let declaration = gathered.aggregate.decl.as_ref();
            let facts = read_rust_facts(source, &gathered.name, declaration);
            gathered.apply_rust_facts(&facts);
        }
    }
}

/// Finds the code in the source tree that relies on the order of the types' members.
fn read_order_uses(
    resolved: &ResolvedProfile<'_>,
    gathered: &mut [GatheredType<'_>],
    source: &Path,
) {
    let queries: Vec<_> = { gathered.iter() }
        .filter_map(|gathered| gathered.order_query().cloned())
        .collect();
    if queries.is_empty() {
        return;
    }
    let step = "looking for code that relies on the order of members";
    resolved.progress.step(step);
    let searched = { gathered.iter_mut() }.filter(|gathered| gathered.order_query().is_some());
    for (gathered, uses) in searched.zip(scan_source_tree(source, &queries)) {
        gathered.apply_order_uses(uses);
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
            })
            .collect());
    };
    let chosen: Vec<_> = advised
        .iter()
        .map(|advised| {
            let chosen = write_chosen_layout(resolved, advised, source, request.choice)?;
            let is_forced = request.search.force;
            Some(chosen.and_then(|chosen| withhold_doubtful(chosen, advised, is_forced)))
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
        types.push(PatchedType { advised, patch });
    }
    Ok(types)
}
