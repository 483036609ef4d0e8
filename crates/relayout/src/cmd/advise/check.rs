//! Checks before stores that mostly change nothing: what they gain, by themselves and with other layouts.

use relayout_profile::SiteId;
use std::cmp::Reverse;
use std::collections::BTreeMap;

use relayout_contend::{AddressNamer as _, TraceAccess};
use relayout_host::RecordingProgress as _;
use relayout_profile::AccessKind;
use relayout_search::order::MemberOrder;
use relayout_search::{
    AccessingCode, AdviceSubject, GuardedAdvice, LayoutAdvice, Options, RecordedInstance,
    UserLayout, advise_with_guards, guard_stores,
};

use super::TypeAdvice;
use super::others::{LayoutPool, OtherScenario};
use crate::identify::ResolvedNames;
use crate::resolved::ResolvedProfile;

/// Statements of which all sets are tried, those with the most silent stores first.
const STATEMENTS_MAX: usize = 3;
/// Layouts with fewer checks, the best first, by which sets of as many statements are compared.
const COMPARED_LAYOUTS_MAX: usize = 5;

/// An assignment to a member, as the recording shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GuardableStore {
    pub member: String,
    pub function: Option<String>,
    /// As the debug information names it.
    pub file: String,
    pub line: u32,
    pub store_counts: StoreCounts,
    /// Its instructions, as sites of the profile.
    sites: Vec<SiteId>,
    /// The member, in the recorded shape.
    atom: usize,
}

/// Recorded stores of which it is known whether they changed something. Repeats that make no difference to
/// replay are not among them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StoreCounts {
    pub all: u64,
    /// Those that changed nothing.
    pub silent: u64,
}

impl GuardableStore {
    /// `check before storing 'cpu' (osq_lock.c:99)`
    pub fn guard_words(&self) -> String {
        format!(
            "check before storing '{}' ({})",
            self.member,
            self.source_position()
        )
    }

    /// `osq_lock.c:99`: builds name folders that no reader wants to see.
    pub fn source_position(&self) -> String {
        format!("{}:{}", self.file_name(), self.line)
    }

    fn file_name(&self) -> &str {
        let (_, name) = self.file.rsplit_once('/').unwrap_or(("", &self.file));
        name
    }

    /// Whether it is the same in another recording, be it of another build.
    fn matches(&self, other: &Self) -> bool {
        let identity = |statement: &Self| {
            (
                statement.member.clone(),
                statement.function.clone(),
                statement.line,
            )
        };
        identity(self) == identity(other) && self.file_name() == other.file_name()
    }
}

/// Statements, and what a check before each of them gains.
pub struct GuardAdvice {
    pub statements: Vec<GuardableStore>,
    /// How many checks that has which they are compared with.
    pub fewer_guards: usize,
    pub guarded: GuardedAdvice,
    /// What the layouts with them do elsewhere.
    pub scenarios: Vec<OtherScenario>,
    /// What was recorded, with them.
    instances: Vec<RecordedInstance>,
}

impl GuardAdvice {
    /// One for each statement.
    pub fn guard_words(&self) -> Vec<String> {
        self.statements
            .iter()
            .map(GuardableStore::guard_words)
            .collect()
    }

    /// The layouts with them.
    pub fn candidate_pool(&self) -> LayoutPool<'_> {
        LayoutPool {
            guarded_statements: &self.statements,
            given_layouts: &[],
            advice: &self.guarded.advice,
            scenarios: &self.scenarios,
        }
    }

    /// Whether there is a check in front of a store.
    pub fn guard_filter(&self) -> impl Fn(&TraceAccess) -> bool + use<> {
        guard_filter(&self.statements)
    }

    /// The code of `recorded` with them.
    pub fn guarded_code<'a>(&'a self, recorded: AdviceSubject<'a>) -> AccessingCode<'a> {
        AccessingCode::with_guards(recorded, &self.instances)
    }

    /// What another recording shows of each statement, and that recording with the checks; `None` where they
    /// make no difference to it.
    pub fn apply_to_recording(
        &self,
        other: &TypeAdvice<'_>,
        identified: &ResolvedNames<'_, '_>,
    ) -> (Vec<StoreCounts>, Option<Vec<RecordedInstance>>) {
        let other_statements = store_statements(other, identified);
        let find_matching = |own: &GuardableStore| {
            other_statements
                .iter()
                .find(|candidate| own.matches(candidate))
                .cloned()
        };
        let found: Vec<Option<GuardableStore>> =
            self.statements.iter().map(find_matching).collect();
        let recorded_counts = |found_statement: &Option<GuardableStore>| {
            let store_counts = found_statement
                .as_ref()
                .map(|statement| statement.store_counts);
            store_counts.unwrap_or_default()
        };
        let store_counts = found.iter().map(recorded_counts).collect();
        let found: Vec<GuardableStore> = found.into_iter().flatten().collect();
        (
            store_counts,
            guard_stores(&other.instances, guard_filter(&found)),
        )
    }
}

/// The checks that gain most, of those before stores that mostly change nothing. More of them are taken for better
/// only if they clearly are. `None` where there is no such store, or a check makes no difference.
pub fn best_guards(
    input: &ResolvedProfile<'_>,
    type_advice: &TypeAdvice<'_>,
    identified: &ResolvedNames<'_, '_>,
    options: &Options,
) -> Option<GuardAdvice> {
    let unguarded = type_advice.search_outcome.as_ref().ok()?;
    let mut candidates = store_statements(type_advice, identified);
    candidates.retain(|statement| {
        statement.store_counts.silent * 2 > statement.store_counts.all && is_source(&statement.file)
    });
    if unguarded.current.cost == 0 || candidates.is_empty() {
        return None;
    }
    candidates.sort_by_key(|statement| Reverse(statement.store_counts.silent));
    candidates.truncate(STATEMENTS_MAX);
    let guard_search = GuardSearch {
        input,
        type_advice,
        unguarded,
        options: type_advice.options_with_kept(options),
    };
    let mut best_advice: Option<GuardAdvice> = None;
    for count in 1..=candidates.len() {
        let fewer_guards = best_advice
            .as_ref()
            .filter(|advice| advice.guarded.is_better());
        let Some((least_cost, set)) =
            guard_search.most_promising_set(&candidates, count, fewer_guards)
        else {
            break;
        };
        // More of them are searched for only where they promise something.
        if count > 1 && least_cost >= guard_search.least_cost_so_far(fewer_guards) {
            continue;
        }
        let next_advice = guard_search.search_with_guards(set, fewer_guards);
        let is_better = { next_advice.as_ref() }.is_some_and(|advice| advice.guarded.is_better());
        if best_advice.is_none() || is_better {
            best_advice = next_advice;
        }
    }
    best_advice
}

/// Whether a statement of that file can have a check: one of assembler has many callers.
fn is_source(file: &str) -> bool {
    !["S", "s", "asm"].contains(&file.rsplit('.').next().unwrap_or_default())
}

/// All choices of `count` statements.
fn statement_sets(candidates: &[GuardableStore], count: usize) -> Vec<Vec<GuardableStore>> {
    let chosen =
        (0..1_u32 << candidates.len()).filter(move |set| set.count_ones() as usize == count);
    let statement_set = chosen.map(|set| {
        let is_in_set = |(index, _): &(usize, &GuardableStore)| set >> index & 1 == 1;
        let chosen_statements = candidates.iter().enumerate().filter(is_in_set);
        chosen_statements
            .map(|(_, statement)| statement.clone())
            .collect()
    });
    statement_set.collect()
}

/// What checks are sought for.
struct GuardSearch<'a, 'i> {
    input: &'a ResolvedProfile<'i>,
    type_advice: &'a TypeAdvice<'i>,
    unguarded: &'a LayoutAdvice,
    options: Options,
}

impl GuardSearch<'_, '_> {
    /// What is known with `fewer` checks, or none.
    fn known_advice<'c>(&'c self, fewer_guards: Option<&'c GuardAdvice>) -> &'c LayoutAdvice {
        fewer_guards.map_or(self.unguarded, |guard_advice| &guard_advice.guarded.advice)
    }

    /// What the best of that costs.
    fn least_cost_so_far(&self, fewer_guards: Option<&GuardAdvice>) -> u64 {
        let known = self.known_advice(fewer_guards);
        let costs = known.candidates.iter().map(|candidate| candidate.cost);
        let today = self.unguarded.current.cost;
        costs.chain([today]).min().unwrap_or(today)
    }

    /// The set of `count` statements that costs least with today's layout, with one of the best with `fewer`
    /// checks, or with its members on lines of their own; and what it costs. To search layouts with each set would
    /// take too long.
    fn most_promising_set(
        &self,
        candidates: &[GuardableStore],
        count: usize,
        fewer_guards: Option<&GuardAdvice>,
    ) -> Option<(u64, Vec<GuardableStore>)> {
        let costs_and_sets = { statement_sets(candidates, count).into_iter() }
            .map(|set| (self.least_cost(&set, fewer_guards), set));
        costs_and_sets.min_by_key(|(least_cost, _)| *least_cost)
    }

    fn least_cost(&self, set: &[GuardableStore], fewer_guards: Option<&GuardAdvice>) -> u64 {
        let Some(instances) = guard_stores(&self.type_advice.instances, guard_filter(set)) else {
            return u64::MAX;
        };
        let shape = &self.type_advice.shape;
        let mut apart = shape.current_arrangement();
        for statement in set {
            apart.align[statement.atom] = u64::from(self.input.line_bytes);
        }
        let best_layouts = self
            .known_advice(fewer_guards)
            .candidates
            .iter()
            .take(COMPARED_LAYOUTS_MAX);
        let arrangements = best_layouts.map(|candidate| candidate.arrangement.clone());
        let given: Vec<UserLayout> = arrangements
            .chain([shape.current_arrangement(), apart])
            .map(|arrangement| UserLayout {
                name: String::new(),
                order: MemberOrder::from_arrangement(arrangement),
            })
            .collect();
        let nothing_sought = Options {
            budget_accesses: 0,
            ..self.options.clone()
        };
        let subject = self.type_advice.search_subject(self.input.line_bytes);
        let code = AccessingCode::with_guards(subject, &instances);
        let scored = advise_with_guards(
            code,
            &given,
            (subject.into(), self.unguarded),
            &nothing_sought,
        );
        let costs = scored.advice.user_layouts.iter().map(|given| given.cost);
        costs.min().unwrap_or(u64::MAX)
    }

    /// Searches layouts with the checks; `fewer` are the best so far.
    fn search_with_guards(
        &self,
        statements: Vec<GuardableStore>,
        fewer_guards: Option<&GuardAdvice>,
    ) -> Option<GuardAdvice> {
        let instances = guard_stores(&self.type_advice.instances, guard_filter(&statements))?;
        self.input.progress.step(&format!(
            "replaying layouts of {} with {}",
            self.type_advice.name,
            match statements.len() {
                1 => "a check before a store".to_owned(),
                count => format!("checks before {count} stores"),
            }
        ));
        let subject = self.type_advice.search_subject(self.input.line_bytes);
        let code = AccessingCode::with_guards(subject, &instances);
        let without_guards = fewer_guards.map_or(subject.into(), |guard_advice| {
            guard_advice.guarded_code(subject)
        });
        Some(GuardAdvice {
            guarded: advise_with_guards(
                code,
                &[],
                (without_guards, self.known_advice(fewer_guards)),
                &self.options,
            ),
            fewer_guards: fewer_guards.map_or(0, |guard_advice| guard_advice.statements.len()),
            scenarios: Vec::new(),
            statements,
            instances,
        })
    }
}

fn guard_filter(statements: &[GuardableStore]) -> impl Fn(&TraceAccess) -> bool + use<> {
    let sites = statements.iter().flat_map(|statement| &statement.sites);
    let sites: Vec<SiteId> = sites.copied().collect();
    move |access| sites.contains(&access.site)
}

/// The statements that store to a member, where it is known whether they changed something.
fn store_statements(
    type_advice: &TypeAdvice<'_>,
    identified: &ResolvedNames<'_, '_>,
) -> Vec<GuardableStore> {
    let layout = type_advice
        .shape
        .lay_out(&type_advice.shape.current_arrangement());
    let mut by_site: BTreeMap<(SiteId, usize), StoreCounts> = BTreeMap::new();
    for instance in &type_advice.instances {
        for access in &instance.trace.accesses {
            if let (AccessKind::Write, Some(silent)) = (access.access, access.silent)
                && let Some(atom) = type_advice.atom_at_offset(&layout, instance, access.offset)
            {
                let counts = by_site.entry((access.site, atom)).or_default();
                counts.all += 1;
                counts.silent += u64::from(silent);
            }
        }
    }
    let mut statements: BTreeMap<(String, u32, usize), GuardableStore> = BTreeMap::new();
    for ((site, atom), stores) in by_site {
        let source = identified.source_of_site(site);
        let (Some(file), Some(line)) = (source.file, source.line) else {
            continue;
        };
        let function = source.inlined.or(source.function);
        let entry = statements.entry((file.clone(), line, atom));
        let statement = entry.or_insert_with(|| GuardableStore {
            member: type_advice.shape.atoms[atom].name.clone(),
            function,
            file,
            line,
            store_counts: StoreCounts::default(),
            sites: Vec::new(),
            atom,
        });
        statement.store_counts.all += stores.all;
        statement.store_counts.silent += stores.silent;
        statement.sites.push(site);
    }
    statements.into_values().collect()
}
