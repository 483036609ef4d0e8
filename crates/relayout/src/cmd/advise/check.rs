//! Checks before stores that mostly change nothing: what they gain, by themselves and with other layouts.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use relayout_contend::{Identify as _, TraceAccess};
use relayout_host::Progress as _;
use relayout_profile::Access;
use relayout_search::order::Order;
use relayout_search::{
    Advice, Checked, Code, Given, Instance, Options, Subject, checked, with_checks,
};

use super::TypeAdvice;
use super::others::{Other, Pool};
use crate::identify::Identified;
use crate::input::Input;

/// Statements of which all sets are tried, those with the most silent stores first.
const TRIED_MAX: usize = 3;
/// Layouts with fewer checks, the best first, by which sets of as many statements are compared.
const COMPARED: usize = 5;

/// An assignment to a member, as the recording shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Statement {
    pub member: String,
    pub function: Option<String>,
    /// As the debug information names it.
    pub file: String,
    pub line: u32,
    pub recorded: Stores,
    /// Its instructions, as sites of the profile.
    sites: Vec<u32>,
    /// The member, in the recorded shape.
    atom: usize,
}

/// Recorded stores of which it is known whether they changed something. Repeats that make no difference to
/// replay are not among them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stores {
    pub all: u64,
    /// Those that changed nothing.
    pub silent: u64,
}

impl Statement {
    /// `check before storing 'cpu' (osq_lock.c:99)`
    pub fn words(&self) -> String {
        format!("check before storing '{}' ({})", self.member, self.place())
    }

    /// `osq_lock.c:99`: builds name folders that no reader wants to see.
    pub fn place(&self) -> String {
        format!("{}:{}", self.file_name(), self.line)
    }

    fn file_name(&self) -> &str {
        let (_, name) = self.file.rsplit_once('/').unwrap_or(("", &self.file));
        name
    }

    /// Whether it is the same in another recording, be it of another build.
    fn is(&self, there: &Self) -> bool {
        let key = |one: &Self| (one.member.clone(), one.function.clone(), one.line);
        key(self) == key(there) && self.file_name() == there.file_name()
    }
}

/// Statements, and what a check before each of them gains.
pub struct Check {
    pub statements: Vec<Statement>,
    /// How many checks that has which they are compared with.
    pub fewer: usize,
    pub checked: Checked,
    /// What the layouts with them do elsewhere.
    pub others: Vec<Other>,
    /// What was recorded, with them.
    instances: Vec<Instance>,
}

impl Check {
    /// One for each statement.
    pub fn words(&self) -> Vec<String> {
        self.statements.iter().map(Statement::words).collect()
    }

    /// The layouts with them.
    pub fn pool(&self) -> Pool<'_> {
        Pool {
            checked: &self.statements,
            given: &[],
            advice: &self.checked.advice,
            others: &self.others,
        }
    }

    /// Whether there is a check in front of a store.
    pub fn guards(&self) -> impl Fn(&TraceAccess) -> bool + use<> {
        guards(&self.statements)
    }

    /// The code of `recorded` with them.
    pub fn code<'a>(&'a self, recorded: Subject<'a>) -> Code<'a> {
        Code::with_checks(recorded, &self.instances)
    }

    /// What another recording shows of each statement, and that recording with the checks; `None` where they
    /// make no difference to it.
    pub fn in_recording(
        &self,
        there: &TypeAdvice<'_>,
        identified: &Identified<'_, '_>,
    ) -> (Vec<Stores>, Option<Vec<Instance>>) {
        let all = statements(there, identified);
        let find = |own: &Statement| all.iter().find(|one| own.is(one)).cloned();
        let found: Vec<Option<Statement>> = self.statements.iter().map(find).collect();
        let recorded = |one: &Option<Statement>| {
            let recorded = one.as_ref().map(|one| one.recorded);
            recorded.unwrap_or_default()
        };
        let stores = found.iter().map(recorded).collect();
        let found: Vec<Statement> = found.into_iter().flatten().collect();
        (stores, checked(&there.instances, guards(&found)))
    }
}

/// The checks that gain most, of those before stores that mostly change nothing. More of them are taken for better
/// only if they clearly are. `None` where there is no such store, or a check makes no difference.
pub fn best(
    input: &Input<'_>,
    one: &TypeAdvice<'_>,
    identified: &Identified<'_, '_>,
    options: &Options,
) -> Option<Check> {
    let plain = one.outcome.as_ref().ok()?;
    let mut tried = statements(one, identified);
    tried.retain(|one| one.recorded.silent * 2 > one.recorded.all && is_source(&one.file));
    if plain.current.cost == 0 || tried.is_empty() {
        return None;
    }
    tried.sort_by_key(|one| Reverse(one.recorded.silent));
    tried.truncate(TRIED_MAX);
    let search = Sought {
        input,
        one,
        plain,
        options: one.options(options),
    };
    let mut best: Option<Check> = None;
    for count in 1..=tried.len() {
        let fewer = best.as_ref().filter(|best| best.checked.is_better());
        let Some((least, set)) = search.likeliest(&tried, count, fewer) else {
            break;
        };
        // More of them are searched for only where they promise something.
        if count > 1 && least >= search.least_so_far(fewer) {
            continue;
        }
        let next = search.check(set, fewer);
        let is_better = { next.as_ref() }.is_some_and(|next| next.checked.is_better());
        if best.is_none() || is_better {
            best = next;
        }
    }
    best
}

/// Whether a statement of that file can have a check: one of assembler has many callers.
fn is_source(file: &str) -> bool {
    !["S", "s", "asm"].contains(&file.rsplit('.').next().unwrap_or_default())
}

/// All choices of `count` statements.
fn sets(all: &[Statement], count: usize) -> Vec<Vec<Statement>> {
    let chosen = (0..1_u32 << all.len()).filter(move |set| set.count_ones() as usize == count);
    let statements = chosen.map(|set| {
        let is_in = |(nth, _): &(usize, &Statement)| set >> nth & 1 == 1;
        let statements = all.iter().enumerate().filter(is_in);
        statements.map(|(_, one)| one.clone()).collect()
    });
    statements.collect()
}

/// What checks are sought for.
struct Sought<'a, 'i> {
    input: &'a Input<'i>,
    one: &'a TypeAdvice<'i>,
    plain: &'a Advice,
    options: Options,
}

impl Sought<'_, '_> {
    /// What is known with `fewer` checks, or none.
    fn known<'c>(&'c self, fewer: Option<&'c Check>) -> &'c Advice {
        fewer.map_or(self.plain, |check| &check.checked.advice)
    }

    /// What the best of that costs.
    fn least_so_far(&self, fewer: Option<&Check>) -> u64 {
        let known = self.known(fewer);
        let scored = known.candidates.iter().chain([&self.plain.current]);
        scored.map(|one| one.cost).min().unwrap_or(u64::MAX)
    }

    /// The set of `count` statements that costs least with today's layout, with one of the best with `fewer`
    /// checks, or with its members on lines of their own; and what it costs. To search layouts with each set would
    /// take too long.
    fn likeliest(
        &self,
        tried: &[Statement],
        count: usize,
        fewer: Option<&Check>,
    ) -> Option<(u64, Vec<Statement>)> {
        let all = { sets(tried, count).into_iter() }.map(|set| (self.least(&set, fewer), set));
        all.min_by_key(|(least, _)| *least)
    }

    fn least(&self, set: &[Statement], fewer: Option<&Check>) -> u64 {
        let Some(instances) = checked(&self.one.instances, guards(set)) else {
            return u64::MAX;
        };
        let shape = &self.one.shape;
        let mut apart = shape.current();
        for statement in set {
            apart.align[statement.atom] = u64::from(self.input.line_bytes);
        }
        let best = self.known(fewer).candidates.iter().take(COMPARED);
        let known = best.map(|one| one.arrangement.clone());
        let given: Vec<Given> = known
            .chain([shape.current(), apart])
            .map(|arrangement| Given {
                name: String::new(),
                order: Order::of(arrangement),
            })
            .collect();
        let nothing_sought = Options {
            budget_accesses: 0,
            ..self.options.clone()
        };
        let subject = self.one.subject(self.input.line_bytes);
        let code = Code::with_checks(subject, &instances);
        let scored = with_checks(code, &given, (subject.into(), self.plain), &nothing_sought);
        let costs = scored.advice.given.iter().map(|one| one.cost);
        costs.min().unwrap_or(u64::MAX)
    }

    /// Searches layouts with the checks; `fewer` are the best so far.
    fn check(&self, statements: Vec<Statement>, fewer: Option<&Check>) -> Option<Check> {
        let instances = checked(&self.one.instances, guards(&statements))?;
        self.input.progress.step(&format!(
            "replaying layouts of {} with {}",
            self.one.name,
            match statements.len() {
                1 => "a check before a store".to_owned(),
                count => format!("checks before {count} stores"),
            }
        ));
        let subject = self.one.subject(self.input.line_bytes);
        let code = Code::with_checks(subject, &instances);
        let without = fewer.map_or(subject.into(), |check| check.code(subject));
        Some(Check {
            checked: with_checks(code, &[], (without, self.known(fewer)), &self.options),
            fewer: fewer.map_or(0, |check| check.statements.len()),
            others: Vec::new(),
            statements,
            instances,
        })
    }
}

fn guards(statements: &[Statement]) -> impl Fn(&TraceAccess) -> bool + use<> {
    let sites = statements.iter().flat_map(|one| &one.sites);
    let sites: Vec<u32> = sites.copied().collect();
    move |access| sites.contains(&access.site)
}

/// The statements that store to a member, where it is known whether they changed something.
fn statements(one: &TypeAdvice<'_>, identified: &Identified<'_, '_>) -> Vec<Statement> {
    let layout = one.shape.lay_out(&one.shape.current());
    let mut by_site: BTreeMap<(u32, usize), Stores> = BTreeMap::new();
    for instance in &one.instances {
        for access in &instance.trace.accesses {
            if let (Access::Write, Some(silent)) = (access.access, access.silent)
                && let Some(atom) = one.atom_at(&layout, instance, access.offset)
            {
                let sum = by_site.entry((access.site, atom)).or_default();
                sum.all += 1;
                sum.silent += u64::from(silent);
            }
        }
    }
    let mut found: BTreeMap<(String, u32, usize), Statement> = BTreeMap::new();
    for ((site, atom), stores) in by_site {
        let source = identified.source(site);
        let (Some(file), Some(line)) = (source.file, source.line) else {
            continue;
        };
        let function = source.inlined.or(source.function);
        let entry = found.entry((file.clone(), line, atom));
        let statement = entry.or_insert_with(|| Statement {
            member: one.shape.atoms[atom].name.clone(),
            function,
            file,
            line,
            recorded: Stores::default(),
            sites: Vec::new(),
            atom,
        });
        statement.recorded.all += stores.all;
        statement.recorded.silent += stores.silent;
        statement.sites.push(site);
    }
    found.into_values().collect()
}
