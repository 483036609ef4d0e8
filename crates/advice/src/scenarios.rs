//! Scores of the layouts in other workloads and configurations.

use relayout_messages::UserError;
use relayout_search::order::MemberOrder;
use relayout_search::{
    AccessingCode, LayoutAdvice, Options, RankedLayout, UserLayout, VariantScore,
    advise_with_guards, score_in_build,
};

use super::advised_type::AdvisedType;
use super::configuration::ConfigurationBuild;
use super::guards::StoreCounts;
use super::objects::find_objects;
use super::search_request::SearchRequest;
use super::searched::score_layouts;
use crate::{ResolvedNames, ResolvedProfile};

/// A workload or configuration besides the one that was searched, with the scores of a type's
/// layouts.
#[derive(Clone, Debug)]
pub struct OtherScenario {
    /// Profile, or name of the configuration.
    pub name: String,
    /// Workload of the profile; `None` for a configuration.
    pub workload: Option<String>,
    /// Kind of scenario.
    pub kind: ScenarioKind,
    /// Score of its own layout, then those of the listed layouts; or the reason why there are none.
    pub results: Result<Vec<VariantScore>, String>,
    /// Stores of each guarded statement in another recording; empty without guards.
    pub store_counts: Vec<StoreCounts>,
}

impl OtherScenario {
    /// Returns the scores of its own layout and of a listed one.
    pub fn results_at(&self, listed_index: usize) -> Option<(&VariantScore, &VariantScore)> {
        let results = self.results.as_ref().ok()?;
        Some((results.first()?, results.get(listed_index + 1)?))
    }
}

/// Kind of a scenario.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScenarioKind {
    /// Another recording.
    Workload,
    /// Another build of the type, with the same recording.
    Configuration,
}

impl ScenarioKind {
    /// Returns `workload` or `configuration`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Workload => "workload",
            Self::Configuration => "configuration",
        }
    }
}

/// Scores of a type's layouts in all scenarios.
#[derive(Clone, Debug, Default)]
pub struct ScenarioScores {
    /// Scores of layouts without guards.
    pub unguarded: Vec<OtherScenario>,
    /// Scores of layouts with guards.
    pub guarded: Vec<OtherScenario>,
}

impl AdvisedType<'_> {
    fn unguarded_orders(&self) -> Vec<MemberOrder> {
        self.advice().map_or(Vec::new(), |advice| {
            listed_orders(&self.searched.user_layouts, advice, self.limits.top)
        })
    }

    fn guarded_orders(&self) -> Vec<MemberOrder> {
        let guards = self.guards.as_ref();
        guards.map_or(Vec::new(), |guards| {
            listed_orders(&[], &guards.guarded.advice, self.limits.top)
        })
    }
}

/// Returns the scores of a type in each configuration; `type_index` is its place in the builds.
pub(crate) fn configuration_scores(
    resolved: &ResolvedProfile<'_>,
    type_index: usize,
    advised: &AdvisedType<'_>,
    builds: &[ConfigurationBuild],
    options: &Options,
) -> ScenarioScores {
    let subject = advised.searched.subject(resolved.line_bytes);
    let scenarios = |orders: &[MemberOrder], code: AccessingCode<'_>| -> Vec<OtherScenario> {
        let orders: Vec<&MemberOrder> = orders.iter().collect();
        let scenario = |build: &ConfigurationBuild| OtherScenario {
            name: build.name.clone(),
            workload: None,
            kind: ScenarioKind::Configuration,
            results: build.shapes[type_index]
                .as_ref()
                .map(|shape| score_in_build(code, shape, &orders, options.pair_coefficient))
                .map_err(String::clone),
            store_counts: Vec::new(),
        };
        builds.iter().map(scenario).collect()
    };
    let unguarded =
        { advised.advice() }.map(|_| scenarios(&advised.unguarded_orders(), subject.into()));
    let guarded = advised.guards.as_ref().map(|guards| {
        let code = guards.guarded_code(subject);
        scenarios(&advised.guarded_orders(), code)
    });
    ScenarioScores {
        unguarded: unguarded.unwrap_or_default(),
        guarded: guarded.unwrap_or_default(),
    }
}

/// Adds the scores of all types in another recording, which is called `profile_name`.
pub fn add_workload_scores(
    other: &ResolvedProfile<'_>,
    names: &ResolvedNames<'_, '_>,
    types: &mut [AdvisedType<'_>],
    profile_name: &str,
    request: &SearchRequest,
) {
    let options = request.options();
    for advised in types {
        let workload = score_in_workload(other, names, advised, &options);
        let scenario = |results, store_counts| OtherScenario {
            name: profile_name.to_owned(),
            workload: Some(other.profile.meta.workload.clone()),
            kind: ScenarioKind::Workload,
            results,
            store_counts,
        };
        let (unguarded, guarded) = match workload {
            Ok(workload) => (
                Ok(workload.unguarded),
                { workload.guarded }.map(|(results, counts)| (Ok(results), counts)),
            ),
            Err(error) => {
                let reason = error.to_string();
                let guarded = advised.guards.as_ref();
                (
                    Err(reason.clone()),
                    guarded.map(|_| (Err(reason), Vec::new())),
                )
            }
        };
        let guarded = guarded.map(|(results, counts)| scenario(results, counts));
        let unguarded = scenario(unguarded, Vec::new());
        advised.scenarios.unguarded.push(unguarded);
        advised.scenarios.guarded.extend(guarded);
    }
}

/// Scores of a type's layouts in another recording, its own layout first.
struct WorkloadScores {
    unguarded: Vec<VariantScore>,
    /// Scores with guards, and the stores of each statement.
    guarded: Option<(Vec<VariantScore>, Vec<StoreCounts>)>,
}

fn score_in_workload(
    other: &ResolvedProfile<'_>,
    names: &ResolvedNames<'_, '_>,
    advised: &AdvisedType<'_>,
    options: &Options,
) -> Result<WorkloadScores, UserError> {
    let gathered = &advised.searched.gathered;
    if find_objects(other, &gathered.advised_subject).is_none() {
        let title = gathered.advised_subject.title();
        return Err(UserError::input(format!("no object of {title} is in it")));
    }
    let nothing_searched = Options {
        budget_accesses: 0,
        intervals: 0,
        ..options.clone()
    };
    let mut orders = advised.unguarded_orders();
    let unguarded_count = orders.len();
    orders.extend(advised.guarded_orders());
    let scored = score_layouts(other, &gathered.name, &nothing_searched, |shape| {
        let given = orders.iter().map(|order| UserLayout {
            name: String::new(),
            order: order.carry_over(&gathered.shape, shape),
        });
        Ok::<_, UserError>(given.collect())
    })?;
    let advice = match &scored.outcome {
        Ok(advice) => advice,
        Err(refusal) => return Err(UserError::input(refusal.to_string())),
    };
    let (unguarded, guarded) = advice.user_layouts.split_at(unguarded_count);
    let guarded = advised.guards.as_ref().map(|guards| {
        let (store_counts, instances) = guards.apply_to_recording(&scored.gathered, names);
        let Some(instances) = instances else {
            return (after_current(advice, guarded), store_counts);
        };
        let subject = scored.subject(other.line_bytes);
        let code = AccessingCode::with_guards(subject, &instances);
        let given = &scored.user_layouts[unguarded_count..];
        let fewer = (subject.into(), advice);
        let guarded = advise_with_guards(code, given, fewer, &nothing_searched).advice;
        (after_current(advice, &guarded.user_layouts), store_counts)
    });
    Ok(WorkloadScores {
        unguarded: after_current(advice, unguarded),
        guarded,
    })
}

fn after_current(advice: &LayoutAdvice, ranked: &[RankedLayout]) -> Vec<VariantScore> {
    std::iter::once(VariantScore::from(&advice.current))
        .chain(ranked.iter().map(VariantScore::from))
        .collect()
}

/// Returns the layouts that are scored in other scenarios: those of the user, then the candidates
/// worth showing.
fn listed_orders(
    user_layouts: &[UserLayout],
    advice: &LayoutAdvice,
    top: usize,
) -> Vec<MemberOrder> {
    let given = user_layouts.iter().map(|given| given.order.clone());
    let found = advice
        .shown_candidates(top)
        .into_iter()
        .map(|index| MemberOrder {
            arrangement: advice.candidates[index].arrangement.clone(),
            pads: advice.candidates[index].pads.clone(),
        });
    given.chain(found).collect()
}
