//! Checks files against a configuration.

use relayout_layout::catalog::{Catalog, Entry};
use relayout_layout::{TypeId, Types};

use crate::evaluate::{self, Broken, Subject};
use crate::known::KnownType;
use crate::lock::Record;
use crate::select::{self, Found};
use crate::{
    Applied, AsRecorded, Assertion, Config, Date, Error, Facts, Lock, Outcome, Position, Rule,
    RuleId, TypePattern, TypeRules, Violation, Warning, applied, waive,
};

/// What a check is given besides the files.
#[derive(Clone, Copy, Debug)]
pub struct Settings<'a> {
    /// Today, which waivers are judged by.
    pub today: Date,
    /// The configurations that the caller says the files are of.
    pub configurations: &'a [String],
    /// What was recorded.
    pub lock: Option<&'a Lock>,
    /// Where members were in another build, which is named rather than the record for who pushed
    /// them.
    pub baseline: &'a [KnownType],
}

/// A check of some files.
pub struct Check<'a> {
    config: &'a Config,
    settings: Settings<'a>,
    checked: u64,
    broken: Vec<Violation>,
    warnings: Vec<Warning>,
}

/// A file that is being checked.
struct File<'a, 'f> {
    catalog: &'a Catalog<'f>,
    facts: &'a Facts,
    configurations: Vec<String>,
    record: Option<&'a Record>,
    baseline: &'a [KnownType],
}

/// What one definition came to.
#[derive(Clone, Debug, PartialEq)]
struct Judged {
    found: Found,
    checked: u64,
    broken: Vec<(Position, RuleId, Broken)>,
}

impl<'a> Check<'a> {
    /// A check of no file yet.
    pub fn new(config: &'a Config, settings: Settings<'a>) -> Self {
        Self {
            config,
            settings,
            checked: 0,
            broken: Vec::new(),
            warnings: Vec::new(),
        }
    }

    /// Checks a file against all rules that apply to it.
    ///
    /// # Errors
    /// Nothing can be said of the file; see [`Error`].
    pub fn file(&mut self, catalog: &Catalog<'_>, facts: &Facts) -> Result<(), Error> {
        let named = self.settings.configurations;
        self.file_where(catalog, facts, named, |_| true)
    }

    /// As [`file`](Self::file), of these configurations, against the rules that `wanted` picks.
    ///
    /// # Errors
    /// As [`file`](Self::file).
    pub fn file_where(
        &mut self,
        catalog: &Catalog<'_>,
        facts: &Facts,
        named: &[String],
        wanted: impl Fn(&TypeRules) -> bool,
    ) -> Result<(), Error> {
        let applied = applied(self.config, named, facts, catalog)?;
        let configurations = names(&applied);
        let record = self.settings.lock;
        let record = record.and_then(|lock| lock.record(facts, &configurations));
        let file = File {
            catalog,
            facts,
            configurations,
            record,
            baseline: self.settings.baseline,
        };
        let checked_before = self.checked;
        for (section, line_bytes) in &applied.sections {
            for rules in section.types.iter().filter(|rules| wanted(rules)) {
                self.rules(&file, rules, *line_bytes)?;
            }
        }
        if self.checked == checked_before {
            self.warnings.push(Warning {
                at: None,
                message: format!("no rule applies to {}", facts.path),
            });
        }
        Ok(())
    }

    /// What came of it: violations in the order of files and rules, with waivers taken off.
    pub fn finish(self) -> Outcome {
        let mut outcome = Outcome {
            checked: self.checked,
            warnings: self.warnings,
            ..Outcome::default()
        };
        waive::judge(
            &self.config.waivers,
            self.settings.today,
            self.broken,
            &mut outcome,
        );
        outcome
    }

    fn rules(
        &mut self,
        file: &File<'_, '_>,
        rules: &TypeRules,
        line_bytes: u64,
    ) -> Result<(), Error> {
        let is_recorded = |one: &&Assertion| matches!(one.rule, Rule::AsRecorded(_));
        let (recorded, others): (Vec<&Assertion>, Vec<&Assertion>) =
            rules.assertions.iter().partition(is_recorded);
        if !others.is_empty() {
            let judged = judge(
                file,
                &rules.name,
                rules,
                |subject| {
                    let mut broken = Vec::new();
                    for assertion in &others {
                        let found = evaluate::assertion(subject, assertion, rules.optional)?;
                        broken.extend(found.into_iter().map(|one| of(assertion, one)));
                    }
                    Ok((others.len() as u64, broken))
                },
                line_bytes,
            )?;
            self.take(file, rules, &rules.name, judged);
        }
        for assertion in recorded {
            if let Rule::AsRecorded(how) = assertion.rule {
                self.recorded(file, rules, assertion, how, line_bytes)?;
            }
        }
        Ok(())
    }

    fn recorded(
        &mut self,
        file: &File<'_, '_>,
        rules: &TypeRules,
        assertion: &Assertion,
        how: AsRecorded,
        line_bytes: u64,
    ) -> Result<(), Error> {
        let hot = file.record.into_iter().flat_map(|record| &record.types);
        let mut any = false;
        for record in hot.filter(|one| !one.hot.is_empty()) {
            let Ok(pattern) = TypePattern::parse(&record.layout.name) else {
                continue;
            };
            let (name, scope) = split(&pattern);
            if !rules.name.matches(scope.as_deref(), name) {
                continue;
            }
            any = true;
            let judged = judge(
                file,
                &pattern,
                rules,
                |subject| {
                    let broken = evaluate::recorded(subject, record, how)?;
                    let broken = broken.into_iter().map(|one| of(assertion, one));
                    Ok((1, broken.collect()))
                },
                line_bytes,
            )?;
            self.take(file, rules, &pattern, judged);
        }
        if !any {
            let broken = Broken {
                expected: "hot members in the lock file".to_owned(),
                found: match file.record {
                    Some(_) => "no such type in it; `relayout check --update --profile P` writes those that P shows to be hot".to_owned(),
                    None => "no record of this configuration and machine; `relayout check --update --profile P` writes one".to_owned(),
                },
                ..Broken::default()
            };
            self.checked += 1;
            let name = rules.name.as_str();
            self.broken
                .push(violation(file, rules, name, of(assertion, broken)));
        }
        Ok(())
    }

    /// Counts what was judged; that nothing was is wrong too.
    fn take(
        &mut self,
        file: &File<'_, '_>,
        rules: &TypeRules,
        pattern: &TypePattern,
        judged: Vec<Judged>,
    ) {
        if judged.is_empty() {
            if !rules.optional {
                self.checked += 1;
                let missing = (rules.at, RuleId::Exists, no_type(file, rules, pattern));
                let name = pattern.as_str();
                self.broken.push(violation(file, rules, name, missing));
            }
            return;
        }
        for one in judged {
            self.checked += one.checked;
            let name = one.found.name;
            let broken = one.broken.into_iter();
            self.broken
                .extend(broken.map(|broken| violation(file, rules, &name, broken)));
        }
    }
}

/// Judges each definition that `pattern` means; those that only say again what another says are
/// left out.
fn judge(
    file: &File<'_, '_>,
    pattern: &TypePattern,
    rules: &TypeRules,
    look: impl Fn(&Subject<'_>) -> Result<(u64, Vec<(Position, RuleId, Broken)>), Error> + Sync,
    line_bytes: u64,
) -> Result<Vec<Judged>, Error> {
    let declared_in = rules.declared_in.as_ref();
    let one = |types: &Types, id: TypeId, entry: &Entry<'_>| {
        let found = select::fits(types, id, entry, pattern, declared_in)?;
        let subject = Subject {
            types,
            abi: &file.catalog.abi(types),
            id,
            name: &found.name,
            decl: found.decl.as_ref(),
            line_bytes,
            alignments_known: file.catalog.knows_alignments(),
            known: file.known(&found.name),
        };
        Some(look(&subject).map(|(checked, broken)| Judged {
            checked,
            broken,
            found,
        }))
    };
    let entries = select::entries(file.catalog, pattern);
    let judged = file.catalog.each(&entries, one);
    let judged = judged.map_err(|source| Error::Layout {
        file: file.facts.path.clone(),
        source,
    })?;
    let judged: Result<Vec<Judged>, Error> = judged.into_iter().flatten().collect();
    let mut kept: Vec<Judged> = Vec::new();
    for one in judged? {
        let same = |other: &Judged| {
            other.found.name == one.found.name
                && (other.found.fit > one.found.fit || other.broken == one.broken)
        };
        if !kept.iter().any(same) {
            kept.retain(|other| {
                other.found.name != one.found.name || other.found.fit >= one.found.fit
            });
            kept.push(one);
        }
    }
    Ok(kept)
}

fn of(assertion: &Assertion, broken: Broken) -> (Position, RuleId, Broken) {
    let rule = broken.rule.unwrap_or(assertion.rule.id());
    (assertion.at, rule, broken)
}

fn no_type(file: &File<'_, '_>, rules: &TypeRules, pattern: &TypePattern) -> Broken {
    let declared = match &rules.declared_in {
        Some(glob) => format!(" declared in {glob}"),
        None => String::new(),
    };
    let close = match pattern.is_open() {
        true => Vec::new(),
        false => relayout_layout::close::names(file.catalog.names(), pattern.name().as_str()),
    };
    let others = close.iter().filter(|name| *name != pattern.name().as_str());
    let others: Vec<&str> = others.map(String::as_str).collect();
    Broken {
        expected: format!("a type {pattern}{declared}"),
        found: match &others[..] {
            [] => "none".to_owned(),
            close => format!("none; close: {}", close.join(", ")),
        },
        ..Broken::default()
    }
}

fn violation(
    file: &File<'_, '_>,
    rules: &TypeRules,
    type_name: &str,
    (at, rule, broken): (Position, RuleId, Broken),
) -> Violation {
    Violation {
        type_name: type_name.to_owned(),
        member: broken.member,
        rule,
        expected: broken.expected,
        found: broken.found,
        members: broken.members,
        pushed_by: broken.pushed_by,
        between: broken.between,
        decl: broken.decl,
        reason: rules.reason.clone(),
        file: file.facts.path.clone(),
        configurations: file.configurations.clone(),
        at,
        expired: None,
    }
}

impl<'a> File<'a, '_> {
    fn known(&self, name: &str) -> Option<&'a KnownType> {
        let other = self.baseline.iter().find(|known| known.name == name);
        other.or_else(|| Some(&self.record?.type_named(name)?.layout))
    }
}

/// The names of the configurations in force.
fn names(applied: &Applied<'_>) -> Vec<String> {
    let names = applied.configurations.iter();
    names.map(|one| one.name.clone()).collect()
}

/// The name and the scope of a recorded type.
pub(crate) fn split(pattern: &TypePattern) -> (&str, Option<String>) {
    let (last, outer) = pattern
        .components()
        .split_last()
        .expect("a pattern has at least one component");
    let outer: Vec<&str> = outer.iter().map(crate::Glob::as_str).collect();
    (last.as_str(), (!outer.is_empty()).then(|| outer.join("::")))
}
