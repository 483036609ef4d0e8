//! What layouts do to other workloads and in other configurations.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use relayout_host::RecordingProgress as _;
use relayout_layout::abi::StructShape;
use relayout_layout::catalog::{DebugInfoFormat, TypeCatalog};
use relayout_search::order::MemberOrder;
use relayout_search::{
    AccessingCode, LayoutAdvice, Options, RankedLayout, UserLayout, VariantScore,
    advise_with_guards, score_in_build,
};

use super::check::{GuardableStore, StoreCounts};
use super::{TypeAdvice, gather, score_layouts};
use crate::catalog;
use crate::identify::ResolvedNames;
use crate::resolved::{self, ResolvedProfile};

/// A workload or configuration beside the one that was searched.
pub struct OtherScenario {
    /// Profile or name of the configuration.
    pub name: String,
    pub kind: ScenarioKind,
    /// Its own layout, then those of [`Pool::listed`]; or why there is nothing to say.
    pub results: Result<Vec<VariantScore>, String>,
    /// Of layouts with checks, in another recording: the stores of each statement there.
    pub store_counts: Vec<StoreCounts>,
}

impl OtherScenario {
    /// Its own layout, and that at a place of [`Pool::listed`].
    pub fn results_at(&self, listed_index: usize) -> Option<(&VariantScore, &VariantScore)> {
        let results = self.results.as_ref().ok()?;
        Some((results.first()?, results.get(listed_index + 1)?))
    }
}

/// What an [`Other`] is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum ScenarioKind {
    /// Another recording.
    Workload,
    /// Another build of the type, with the same recording.
    Configuration,
}

impl ScenarioKind {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Workload => "workload",
            Self::Configuration => "configuration",
        }
    }
}

/// `NAME=VMLINUX`.
pub fn parse_named_file(text: &str) -> Result<(String, PathBuf), String> {
    match text.split_once('=') {
        Some((name, file)) if !name.is_empty() && !file.is_empty() => {
            Ok((name.to_owned(), file.into()))
        }
        _ => Err("write NAME=FILE, as in debug=build-debug/vmlinux".to_owned()),
    }
}

/// The layouts of one search, and what they do elsewhere.
#[derive(Clone, Copy)]
pub struct LayoutPool<'a> {
    /// Before which they have a check.
    pub guarded_statements: &'a [GuardableStore],
    pub given_layouts: &'a [UserLayout],
    pub advice: &'a LayoutAdvice,
    pub scenarios: &'a [OtherScenario],
}

impl LayoutPool<'_> {
    /// The layouts that are shown: the given ones, then candidates.
    pub fn listed_orders(&self, top: usize) -> Vec<MemberOrder> {
        let given = self.given_layouts.iter().map(|given| given.order.clone());
        let candidates = &self.advice.candidates;
        let shown_orders = { self.advice.shown_candidates(top).into_iter() }
            .map(|index| MemberOrder::from_arrangement(candidates[index].arrangement.clone()));
        given.chain(shown_orders).collect()
    }

    /// The others that the layout at that place of [`listed`](Self::listed) clearly hurts.
    pub fn scenarios_hurt_by(&self, listed_index: usize) -> Vec<&OtherScenario> {
        let scenarios = self.scenarios.iter();
        let is_hurt = |scenario: &&OtherScenario| {
            let results = scenario.results_at(listed_index);
            results.is_some_and(|(own, there)| there.is_harmful(own))
        };
        scenarios.filter(is_hurt).collect()
    }

    /// Whether a candidate, by index, was scored in all others and hurts none of them.
    pub fn is_harmless(&self, top: usize, candidate: usize) -> bool {
        // What is not shown was scored in the searched recording only.
        let mut shown_candidates = self.advice.shown_candidates(top).into_iter();
        let shown_index = shown_candidates.position(|index| index == candidate);
        let is_harmless_at = |shown_index| {
            self.scenarios_hurt_by(self.given_layouts.len() + shown_index)
                .is_empty()
        };
        self.scenarios.is_empty() || shown_index.is_some_and(is_harmless_at)
    }
}

/// Adds what the profile at `path` says of the layouts of `all`, which were sought with `options`.
///
/// # Errors
/// A profile that cannot be read.
pub fn add_workload_scores(
    advised: &mut [TypeAdvice<'_>],
    path: &Path,
    debug: &[PathBuf],
    top: usize,
    options: &Options,
) -> anyhow::Result<()> {
    resolved::with_resolved_profile(path, debug, |other_profile, images| {
        let identified = ResolvedNames::new(other_profile, images);
        for type_advice in advised.iter_mut() {
            let workload_scores =
                score_in_workload(other_profile, &identified, type_advice, top, options)
                    .map_err(|error| error.to_string());
            let (unguarded, guarded) = match workload_scores {
                Ok(scores) => (
                    Ok(scores.unguarded),
                    scores
                        .guarded
                        .map(|(results, counts)| (Ok(results), counts)),
                ),
                Err(reason) => (Err(reason.clone()), Some((Err(reason), Vec::new()))),
            };
            let scenario = |results, stores| OtherScenario {
                name: path.display().to_string(),
                kind: ScenarioKind::Workload,
                results,
                store_counts: stores,
            };
            type_advice.scenarios.push(scenario(unguarded, Vec::new()));
            if let (Some(guard_advice), Some((results, stores))) =
                (&mut type_advice.guard_advice, guarded)
            {
                guard_advice.scenarios.push(scenario(results, stores));
            }
        }
        Ok(())
    })
}

/// What the layouts of a type cost in another recording, that of today before them.
struct WorkloadScores {
    unguarded: Vec<VariantScore>,
    /// Those with checks, and the stores of each statement.
    guarded: Option<(Vec<VariantScore>, Vec<StoreCounts>)>,
}

fn score_in_workload(
    input: &ResolvedProfile<'_>,
    identified: &ResolvedNames<'_, '_>,
    type_advice: &TypeAdvice<'_>,
    top: usize,
    options: &Options,
) -> anyhow::Result<WorkloadScores> {
    if gather::find_objects(input, &type_advice.name).is_none() {
        bail!("no object of struct {} is in it", type_advice.name);
    }
    let nothing_sought = Options {
        budget_accesses: 0,
        intervals: 0,
        ..options.clone()
    };
    let mut orders = type_advice
        .unguarded_pool()
        .map_or(Vec::new(), |pool| pool.listed_orders(top));
    let unguarded_count = orders.len();
    let guard_advice = type_advice.guard_advice.as_ref();
    orders.extend(guard_advice.map_or(Vec::new(), |check| {
        check.candidate_pool().listed_orders(top)
    }));
    let scored = score_layouts(input, &type_advice.name, &nothing_sought, |shape| {
        let given = orders.iter().map(|order| UserLayout {
            name: String::new(),
            order: order.carry_over(&type_advice.shape, shape),
        });
        Ok(given.collect())
    })?;
    let advice =
        { scored.search_outcome.as_ref() }.map_err(|reason| anyhow::anyhow!(reason.clone()))?;
    let after_current = |ranked: &[RankedLayout]| -> Vec<VariantScore> {
        std::iter::once(VariantScore::from(&advice.current))
            .chain(ranked.iter().map(VariantScore::from))
            .collect()
    };
    let (unguarded, guarded) = advice.user_layouts.split_at(unguarded_count);
    let guarded_scores = guard_advice.map(|check| {
        let (store_counts, instances) = check.apply_to_recording(&scored, identified);
        let Some(instances) = instances else {
            return (after_current(guarded), store_counts);
        };
        let subject = scored.search_subject(input.line_bytes);
        let code = AccessingCode::with_guards(subject, &instances);
        let (given_layouts, fewer_guards) = (
            &scored.given_layouts[unguarded_count..],
            (subject.into(), advice),
        );
        let guarded_advice =
            advise_with_guards(code, given_layouts, fewer_guards, &nothing_sought).advice;
        (after_current(&guarded_advice.user_layouts), store_counts)
    });
    Ok(WorkloadScores {
        unguarded: after_current(unguarded),
        guarded: guarded_scores,
    })
}

/// A build of another configuration.
pub struct ConfigurationBuild {
    name: String,
    /// By type that was asked for: its shape there, or why there is none.
    shapes: Vec<Result<StructShape, String>>,
}

impl ConfigurationBuild {
    /// Reads what the types of `all` are in the build at `path`.
    ///
    /// # Errors
    /// A file that cannot be read.
    pub fn read(
        input: &ResolvedProfile<'_>,
        advised: &[TypeAdvice<'_>],
        (name, path): &(String, PathBuf),
    ) -> anyhow::Result<Self> {
        input.progress.step(&format!("reading {name}"));
        let shapes = catalog::with_types(path, DebugInfoFormat::Any, None, |catalog| {
            advised
                .iter()
                .map(|type_advice| shape_in_catalog(catalog, &type_advice.name))
                .collect()
        });
        Ok(Self {
            name: name.clone(),
            shapes: shapes.with_context(|| format!("configuration {name}"))?,
        })
    }
}

/// What the struct is in another file; or why it is none there.
///
/// # Errors
/// Debug information that cannot be read.
pub fn shape_in_catalog(
    catalog: &TypeCatalog<'_>,
    name: &str,
) -> anyhow::Result<Result<StructShape, String>> {
    let entries = catalog.find_definitions(name);
    let loaded = catalog.load(&entries)?;
    let abi = catalog.abi(&loaded.types);
    let aggregate = { loaded.ids.iter() }
        .filter_map(|id| loaded.types.aggregate(*id))
        .find(|aggregate| aggregate.complete);
    let shape = aggregate.map(|aggregate| {
        let flattened = abi.flatten_anonymous(aggregate);
        abi.shape(flattened.as_ref().unwrap_or(aggregate))
    });
    Ok(match shape {
        None => Err(format!("it has no struct {name}")),
        Some(shape) => shape.map_err(|error| error.to_string()),
    })
}

/// The type with that index, in the builds that have it.
pub fn shapes_of_type(builds: &[ConfigurationBuild], type_index: usize) -> Vec<StructShape> {
    let shapes = builds.iter().map(|build| &build.shapes[type_index]);
    shapes.flatten().cloned().collect()
}

/// Adds what the layouts of `all`, which were sought with `options`, are in each build.
pub fn add_configuration_scores(
    input: &ResolvedProfile<'_>,
    advised: &mut [TypeAdvice<'_>],
    builds: &[ConfigurationBuild],
    top: usize,
    options: &Options,
) {
    for (type_index, type_advice) in advised.iter_mut().enumerate() {
        let subject = type_advice.search_subject(input.line_bytes);
        let score_pool = |pool: LayoutPool<'_>, code: AccessingCode<'_>| -> Vec<OtherScenario> {
            let orders = pool.listed_orders(top);
            let orders: Vec<&MemberOrder> = orders.iter().collect();
            let scenario = |build: &ConfigurationBuild| OtherScenario {
                name: build.name.clone(),
                kind: ScenarioKind::Configuration,
                results: { build.shapes[type_index].as_ref() }
                    .map(|shape| score_in_build(code, shape, &orders, options.pair_coefficient))
                    .map_err(String::clone),
                store_counts: Vec::new(),
            };
            builds.iter().map(scenario).collect()
        };
        let unguarded = type_advice
            .unguarded_pool()
            .map(|pool| score_pool(pool, subject.into()));
        let guarded = { type_advice.guard_advice.as_ref() }
            .map(|check| score_pool(check.candidate_pool(), check.guarded_code(subject)));
        type_advice
            .scenarios
            .extend(unguarded.into_iter().flatten());
        if let (Some(guard_advice), Some(guarded)) = (&mut type_advice.guard_advice, guarded) {
            guard_advice.scenarios.extend(guarded);
        }
    }
}
