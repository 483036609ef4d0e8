//! Guards of stores that mostly change nothing: `if (x != v) x = v;`.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::ops::Range;

use relayout_contend::{AddressNamer as _, TraceAccess};
use relayout_layout::abi::{StructLayout, StructShape};
use relayout_profile::{AccessKind, SiteId};
use relayout_search::order::MemberOrder;
use relayout_search::{
    AccessingCode, AdviceSubject, GuardedAdvice, LayoutAdvice, Options, RecordedInstance,
    UserLayout, advise_with_guards, guard_stores,
};

use super::gathered::GatheredType;
use super::layout_edits::member_bytes;
use super::searched::SearchedType;
use crate::{ResolvedNames, ResolvedProfile};

/// Statements whose sets are all tried, those with the most silent stores.
const STATEMENTS_MAX: usize = 3;
/// Divisor of the search effort for layouts with guards. Those without guards were searched with
/// all of it.
const EFFORT_DIVISOR: u64 = 4;
/// Layouts with fewer guards, the best ones, that compare sets of statements of one size.
const COMPARED_LAYOUTS_MAX: usize = 5;

/// A statement that stores to a member, as recorded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GuardableStore {
    /// Member.
    pub member: String,
    /// Function.
    pub function: Option<String>,
    /// Source file, as the debug information names it.
    pub file: String,
    /// Source line.
    pub line: u32,
    /// Recorded stores.
    pub store_counts: StoreCounts,
    /// Sites of its instructions in the profile.
    sites: Vec<SiteId>,
    /// Atom of the member in the recorded shape.
    atom: usize,
}

/// Recorded stores with known values, without repeats that no layout affects.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StoreCounts {
    /// All of them.
    pub all: u64,
    /// Those that changed nothing.
    pub silent: u64,
}

impl GuardableStore {
    /// Returns the change in words: `store to 'cpu' only if it differs (osq_lock.c:99)`.
    pub fn guard_words(&self) -> String {
        format!(
            "store to '{}' only if it differs ({})",
            self.member,
            self.source_position()
        )
    }

    /// Returns file name and line, `osq_lock.c:99`, without the folders of the build.
    pub fn source_position(&self) -> String {
        format!("{}:{}", self.file_name(), self.line)
    }

    fn file_name(&self) -> &str {
        let (_, name) = self.file.rsplit_once('/').unwrap_or(("", &self.file));
        name
    }

    /// True for the same statement in another recording, even of another build.
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

/// Guards of statements, with layouts that were scored with them.
pub struct GuardAdvice {
    /// Guarded statements.
    pub statements: Vec<GuardableStore>,
    /// Number of guards of the layouts that these are compared with.
    pub fewer_guards: usize,
    /// Candidates and scores with the guards.
    pub guarded: GuardedAdvice,
    /// Recorded accesses, changed as the guards change them.
    instances: Vec<RecordedInstance>,
}

impl GuardAdvice {
    /// Returns the change in words, by statement.
    pub fn guard_words(&self) -> Vec<String> {
        self.statements
            .iter()
            .map(GuardableStore::guard_words)
            .collect()
    }

    /// Returns the bytes of the guarded members in the recorded layout `current` of `shape`. All stores to them are guarded when
    /// they are executed.
    pub fn checked_bytes(&self, shape: &StructShape, current: &StructLayout) -> Vec<Range<u32>> {
        let atoms = self.statements.iter().map(|statement| statement.atom);
        member_bytes(atoms, shape, current)
    }

    /// Returns a function that is true for guarded stores.
    pub fn guard_filter(&self) -> impl Fn(&TraceAccess) -> bool + use<> {
        guard_filter(&self.statements)
    }

    /// Returns the recorded code with the guards.
    pub fn guarded_code<'a>(&'a self, recorded: AdviceSubject<'a>) -> AccessingCode<'a> {
        AccessingCode::with_guards(recorded, &self.instances)
    }

    /// Returns the stores of each statement in another recording, and that recording with the
    /// guards; `None` where they make no difference to it.
    pub(super) fn apply_to_recording(
        &self,
        other: &GatheredType<'_>,
        names: &ResolvedNames<'_, '_>,
    ) -> (Vec<StoreCounts>, Option<Vec<RecordedInstance>>) {
        let candidates = store_statements(other, names);
        let matching = |own: &GuardableStore| {
            candidates
                .iter()
                .find(|candidate| own.matches(candidate))
                .cloned()
        };
        let matches: Vec<Option<GuardableStore>> = self.statements.iter().map(matching).collect();
        let counts = |statement: &Option<GuardableStore>| {
            statement
                .as_ref()
                .map(|statement| statement.store_counts)
                .unwrap_or_default()
        };
        let store_counts = matches.iter().map(counts).collect();
        let statements: Vec<GuardableStore> = matches.into_iter().flatten().collect();
        (
            store_counts,
            guard_stores(&other.instances, guard_filter(&statements)),
        )
    }
}

/// Returns the guards that save most, of stores that mostly change nothing.
///
/// More guards must be clearly better than fewer. `None` if there is no such store, or if a guard
/// makes no difference.
pub(super) fn best_guards(
    resolved: &ResolvedProfile<'_>,
    searched: &SearchedType<'_>,
    names: &ResolvedNames<'_, '_>,
    options: &Options,
) -> Option<GuardAdvice> {
    let unguarded = searched.outcome.as_ref().ok()?;
    let mut candidates = store_statements(&searched.gathered, names);
    candidates.retain(|statement| {
        statement.store_counts.silent * 2 > statement.store_counts.all && is_source(&statement.file)
    });
    if unguarded.current.cost == 0 || candidates.is_empty() {
        return None;
    }
    candidates.sort_by_key(|statement| Reverse(statement.store_counts.silent));
    candidates.truncate(STATEMENTS_MAX);
    let guard_search = GuardSearch {
        resolved,
        searched,
        unguarded,
        options: Options {
            budget_accesses: options.budget_accesses / EFFORT_DIVISOR,
            effort_rows: options.effort_rows / EFFORT_DIVISOR,
            two_moves_max: options.two_moves_max / EFFORT_DIVISOR as usize,
            ..searched.gathered.pinned_options(options)
        },
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
        // More guards are searched only where they promise something.
        if count > 1 && least_cost >= guard_search.least_cost_so_far(fewer_guards) {
            continue;
        }
        let next_advice = guard_search.search_with_guards(set, fewer_guards);
        let is_better = next_advice
            .as_ref()
            .is_some_and(|advice| advice.guarded.is_better());
        if best_advice.is_none() || is_better {
            best_advice = next_advice;
        }
    }
    best_advice
}

/// True if a statement of the file can have a guard: one in assembler has many callers.
fn is_source(file: &str) -> bool {
    !["S", "s", "asm"].contains(&file.rsplit('.').next().unwrap_or_default())
}

/// Returns all sets of `count` statements.
fn statement_sets(candidates: &[GuardableStore], count: usize) -> Vec<Vec<GuardableStore>> {
    let chosen =
        (0..1_u32 << candidates.len()).filter(move |set| set.count_ones() as usize == count);
    chosen
        .map(|set| {
            let is_in_set = |(index, _): &(usize, &GuardableStore)| set >> index & 1 == 1;
            candidates
                .iter()
                .enumerate()
                .filter(is_in_set)
                .map(|(_, statement)| statement.clone())
                .collect()
        })
        .collect()
}

/// A search for guards.
struct GuardSearch<'a, 'i> {
    resolved: &'a ResolvedProfile<'i>,
    searched: &'a SearchedType<'i>,
    unguarded: &'a LayoutAdvice,
    options: Options,
}

impl GuardSearch<'_, '_> {
    /// Returns the advice with fewer guards, or with none.
    fn known_advice<'c>(&'c self, fewer_guards: Option<&'c GuardAdvice>) -> &'c LayoutAdvice {
        fewer_guards.map_or(self.unguarded, |guard_advice| &guard_advice.guarded.advice)
    }

    /// Returns the cost of the best layout with fewer guards.
    fn least_cost_so_far(&self, fewer_guards: Option<&GuardAdvice>) -> u64 {
        let known = self.known_advice(fewer_guards);
        let costs = known.candidates.iter().map(|candidate| candidate.cost);
        let today = self.unguarded.current.cost;
        costs.chain([today]).min().unwrap_or(today)
    }

    /// Returns the cheapest set of `count` statements, and its cost: with today's layout, with one
    /// of the best with fewer guards, or with the members on lines of their own. A search of
    /// layouts for each set would take too long.
    fn most_promising_set(
        &self,
        candidates: &[GuardableStore],
        count: usize,
        fewer_guards: Option<&GuardAdvice>,
    ) -> Option<(u64, Vec<GuardableStore>)> {
        statement_sets(candidates, count)
            .into_iter()
            .map(|set| (self.least_cost(&set, fewer_guards), set))
            .min_by_key(|(least_cost, _)| *least_cost)
    }

    fn least_cost(&self, set: &[GuardableStore], fewer_guards: Option<&GuardAdvice>) -> u64 {
        let Some(instances) = guard_stores(&self.searched.gathered.instances, guard_filter(set))
        else {
            return u64::MAX;
        };
        let shape = &self.searched.gathered.shape;
        let mut apart = shape.current_arrangement();
        for statement in set {
            apart.align[statement.atom] = u64::from(self.resolved.line_bytes);
        }
        let arrangements = self
            .known_advice(fewer_guards)
            .candidates
            .iter()
            .take(COMPARED_LAYOUTS_MAX)
            .map(|candidate| candidate.arrangement.clone());
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
        let subject = self.searched.subject(self.resolved.line_bytes);
        let code = AccessingCode::with_guards(subject, &instances);
        let scored = advise_with_guards(
            code,
            &given,
            (subject.into(), self.unguarded),
            &nothing_sought,
        );
        scored
            .advice
            .user_layouts
            .iter()
            .map(|given| given.cost)
            .min()
            .unwrap_or(u64::MAX)
    }

    /// Searches layouts with the guards. `fewer_guards` are the best so far.
    fn search_with_guards(
        &self,
        statements: Vec<GuardableStore>,
        fewer_guards: Option<&GuardAdvice>,
    ) -> Option<GuardAdvice> {
        let instances = guard_stores(&self.searched.gathered.instances, guard_filter(&statements))?;
        self.resolved.progress.step(&format!(
            "replaying layouts of {} with {}",
            self.searched.gathered.name,
            match statements.len() {
                1 => "a check before a store".to_owned(),
                count => format!("checks before {count} stores"),
            }
        ));
        let subject = self.searched.subject(self.resolved.line_bytes);
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
            statements,
            instances,
        })
    }
}

fn guard_filter(statements: &[GuardableStore]) -> impl Fn(&TraceAccess) -> bool + use<> {
    let sites: Vec<SiteId> = statements
        .iter()
        .flat_map(|statement| &statement.sites)
        .copied()
        .collect();
    move |access| sites.contains(&access.site)
}

/// Returns the statements that store to a member with known values.
fn store_statements(
    gathered: &GatheredType<'_>,
    names: &ResolvedNames<'_, '_>,
) -> Vec<GuardableStore> {
    let layout = gathered
        .shape
        .lay_out(&gathered.shape.current_arrangement());
    let mut by_site: BTreeMap<(SiteId, usize), StoreCounts> = BTreeMap::new();
    for instance in &gathered.instances {
        for access in &instance.trace.accesses {
            if let (AccessKind::Write, Some(silent)) = (access.access, access.silent)
                && let Some(atom) = gathered.atom_at_offset(&layout, instance, access.offset)
            {
                let counts = by_site.entry((access.site, atom)).or_default();
                counts.all += 1;
                counts.silent += u64::from(silent);
            }
        }
    }
    let mut statements: BTreeMap<(String, u32, usize), GuardableStore> = BTreeMap::new();
    for ((site, atom), stores) in by_site {
        let source = names.source_of_site(site);
        let (Some(file), Some(line)) = (source.file, source.line) else {
            continue;
        };
        let function = source.inlined.or(source.function);
        let entry = statements.entry((file.clone(), line, atom));
        let statement = entry.or_insert_with(|| GuardableStore {
            member: gathered.shape.atoms[atom].name.clone(),
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
