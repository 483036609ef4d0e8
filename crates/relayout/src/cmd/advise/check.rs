//! A check before a store that mostly changes nothing: what it gains, by itself and with other layouts.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use relayout_contend::{Identify as _, TraceAccess};
use relayout_host::Progress as _;
use relayout_profile::Access;
use relayout_search::{Checked, Options, with_check};

use super::TypeAdvice;
use crate::identify::Identified;
use crate::input::Input;

/// Statements that are tried, those with the most silent stores first.
const TRIED_MAX: usize = 2;

/// An assignment to a member, as the recording shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Statement {
    pub member: String,
    pub function: Option<String>,
    /// As the debug information names it.
    pub file: String,
    pub line: u32,
    /// Recorded stores of which it is known whether they changed something. Repeats that make no
    /// difference to replay are not among them.
    pub stores: u64,
    /// Those that changed nothing.
    pub silent: u64,
    /// Its instructions, as sites of the profile.
    sites: Vec<u32>,
}

impl Statement {
    /// `check before storing 'cpu' (osq_lock.c:99)`
    pub fn words(&self) -> String {
        format!("check before storing '{}' ({})", self.member, self.place())
    }

    /// `osq_lock.c:99`: builds name folders that no reader wants to see.
    pub fn place(&self) -> String {
        let (_, name) = self.file.rsplit_once('/').unwrap_or(("", &self.file));
        format!("{name}:{}", self.line)
    }
}

/// A statement, and what a check before it gains.
pub struct Check {
    pub statement: Statement,
    pub checked: Checked,
}

/// The check that gains most, of those before stores that mostly change nothing; `None` where there is no such
/// store, or a check makes no difference.
pub fn best(
    input: &Input<'_>,
    one: &TypeAdvice<'_>,
    identified: &Identified<'_, '_>,
    options: &Options,
) -> Option<Check> {
    let plain = one.outcome.as_ref().ok()?;
    let options = one.options(options);
    let checks = statements(one, identified)
        .into_iter()
        .filter_map(|statement| {
            input.progress.step(&format!(
                "replaying layouts of {} with a check before a store",
                one.name
            ));
            let guarded = |access: &TraceAccess| statement.sites.contains(&access.site);
            let checked = with_check(one.subject(input.line_bytes), plain, &options, guarded)?;
            Some(Check { statement, checked })
        });
    checks.min_by_key(|check| {
        let best = check.checked.advice.candidates.first();
        best.map_or(u64::MAX, |best| best.cost)
    })
}

/// The statements whose stores mostly change nothing.
fn statements(one: &TypeAdvice<'_>, identified: &Identified<'_, '_>) -> Vec<Statement> {
    let layout = one.shape.lay_out(&one.shape.current());
    let mut by_site: BTreeMap<(u32, usize), (u64, u64)> = BTreeMap::new();
    for instance in &one.instances {
        for access in &instance.trace.accesses {
            if let (Access::Write, Some(silent)) = (access.access, access.silent)
                && let Some(atom) = one.atom_at(&layout, instance, access.offset)
            {
                let sum = by_site.entry((access.site, atom)).or_default();
                *sum = (sum.0 + 1, sum.1 + u64::from(silent));
            }
        }
    }
    let mut found: BTreeMap<(String, u32, usize), Statement> = BTreeMap::new();
    for ((site, atom), (stores, silent)) in by_site {
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
            stores: 0,
            silent: 0,
            sites: Vec::new(),
        });
        statement.stores += stores;
        statement.silent += silent;
        statement.sites.push(site);
    }
    let mut ranked: Vec<Statement> = found.into_values().collect();
    ranked.retain(|one| one.silent * 2 > one.stores);
    ranked.sort_by_key(|one| Reverse(one.silent));
    ranked.truncate(TRIED_MAX);
    ranked
}
