//! Check of files against a configuration.

use relayout_layout::catalog::TypeCatalog;
use relayout_layout::{TypeArena, TypeId};

use crate::evaluate::{self, RuleBreach, RuleSubject};
use crate::known::KnownType;
use crate::lock::LockRecord;
use crate::select::{self, FoundDefinition};
use crate::{
    AsRecorded, CheckConfig, CheckOutcome, CheckWarning, ConfigPosition, Date, Error, FileFacts,
    LayoutAssertion, LayoutLock, LayoutRule, RecordedType, RuleId, TypePattern, TypeRules,
    Violation, applicable_sections, waive,
};

/// Settings of a check.
#[derive(Clone, Copy, Debug)]
pub struct CheckSettings<'a> {
    /// Current date, for the expiry of waivers.
    pub today: Date,
    /// Configurations that the caller adds for all files.
    pub configurations: &'a [String],
    /// Recorded layouts.
    pub lock: Option<&'a LayoutLock>,
    /// Layouts of another build. The search for the changes that pushed a member prefers them to
    /// the record.
    pub baseline: &'a [KnownType],
}

/// Check of several files.
pub struct LayoutCheck<'a> {
    config: &'a CheckConfig,
    settings: CheckSettings<'a>,
    checked: u64,
    violations: Vec<Violation>,
    warnings: Vec<CheckWarning>,
}

/// File that is being checked.
struct CheckedFile<'a, 'f> {
    catalog: &'a TypeCatalog<'f>,
    facts: &'a FileFacts,
    configurations: Vec<String>,
    record: Option<&'a LockRecord>,
    baseline: &'a [KnownType],
}

/// Result for one definition.
#[derive(Clone, Debug, PartialEq)]
struct JudgedType {
    definition: FoundDefinition,
    checked: u64,
    breaches: Vec<(ConfigPosition, RuleId, RuleBreach)>,
}

impl<'a> LayoutCheck<'a> {
    /// Creates a check without files.
    pub fn new(config: &'a CheckConfig, settings: CheckSettings<'a>) -> Self {
        Self {
            config,
            settings,
            checked: 0,
            violations: Vec::new(),
            warnings: Vec::new(),
        }
    }

    /// Checks a file against all rules that apply to it.
    ///
    /// # Errors
    /// Returns an [`Error`] if the file allows no verdict.
    pub fn judge_file(
        &mut self,
        catalog: &TypeCatalog<'_>,
        facts: &FileFacts,
    ) -> Result<(), Error> {
        let named = self.settings.configurations;
        self.judge_file_where(catalog, facts, named, |_| true)
    }

    /// Checks a file of the `named` configurations against the rules that `wanted` selects.
    /// [`judge_file`](Self::judge_file) checks all rules.
    ///
    /// # Errors
    /// Returns an [`Error`] if the file allows no verdict.
    pub fn judge_file_where(
        &mut self,
        catalog: &TypeCatalog<'_>,
        facts: &FileFacts,
        named: &[String],
        wanted: impl Fn(&TypeRules) -> bool,
    ) -> Result<(), Error> {
        let applied = applicable_sections(self.config, named, facts, catalog)?;
        let configurations = applied.configuration_names();
        let record = self.settings.lock;
        let record = record.and_then(|lock| lock.record(facts, &configurations));
        let file = CheckedFile {
            catalog,
            facts,
            configurations,
            record,
            baseline: self.settings.baseline,
        };
        let checked_before = self.checked;
        for (section, line_bytes) in &applied.sections {
            for rules in section.types.iter().filter(|rules| wanted(rules)) {
                self.judge_rules(&file, rules, *line_bytes)?;
            }
        }
        if self.checked == checked_before {
            self.warnings.push(CheckWarning {
                at: None,
                message: format!("no rule applies to {}", facts.path),
            });
        }
        Ok(())
    }

    /// Returns the outcome: violations in the order of files and rules, after waivers.
    pub fn finish(self) -> CheckOutcome {
        let mut outcome = CheckOutcome {
            checked: self.checked,
            warnings: self.warnings,
            ..CheckOutcome::default()
        };
        waive::apply_waivers(
            &self.config.waivers,
            self.settings.today,
            self.violations,
            &mut outcome,
        );
        outcome
    }

    fn judge_rules(
        &mut self,
        file: &CheckedFile<'_, '_>,
        rules: &TypeRules,
        line_bytes: u64,
    ) -> Result<(), Error> {
        let is_recorded =
            |assertion: &&LayoutAssertion| matches!(assertion.rule, LayoutRule::AsRecorded(_));
        let (recorded, others): (Vec<&LayoutAssertion>, Vec<&LayoutAssertion>) =
            rules.assertions.iter().partition(is_recorded);
        if !others.is_empty() {
            let judged = judge_types(
                file,
                &rules.name,
                rules,
                |subject| {
                    let mut breaches = Vec::new();
                    for assertion in &others {
                        let found = evaluate::judge_assertion(subject, assertion, rules.optional)?;
                        breaches.extend(
                            found
                                .into_iter()
                                .map(|breach| attribute_breach(assertion, breach)),
                        );
                    }
                    Ok((others.len() as u64, breaches))
                },
                line_bytes,
            )?;
            self.add_judged(file, rules, &rules.name, judged)?;
        }
        for assertion in recorded {
            if let LayoutRule::AsRecorded(how) = assertion.rule {
                self.judge_recorded(file, rules, assertion, how, line_bytes)?;
            }
        }
        Ok(())
    }

    fn judge_recorded(
        &mut self,
        file: &CheckedFile<'_, '_>,
        rules: &TypeRules,
        assertion: &LayoutAssertion,
        how: AsRecorded,
        line_bytes: u64,
    ) -> Result<(), Error> {
        let recorded = file.record.into_iter().flat_map(|record| &record.types);
        let hot: Vec<&RecordedType> = recorded
            .filter(|recorded| !recorded.hot.is_empty())
            .collect();
        let meant = match hot.is_empty() {
            true => Vec::new(),
            false => {
                let path = &file.facts.path;
                select::map_definitions(file.catalog, path, &rules.name, None, |_, _, found| {
                    found.name
                })?
            }
        };
        let mut any = false;
        for record in hot {
            let Ok(pattern) = TypePattern::parse(&record.layout.name) else {
                continue;
            };
            let (name, scope) = pattern.name_and_scope();
            let is_meant = meant.contains(&record.layout.name);
            if !is_meant && !rules.name.applies_to(scope.as_deref(), name) {
                continue;
            }
            any = true;
            let judged = judge_types(
                file,
                &pattern,
                rules,
                |subject| {
                    let breaches = evaluate::judge_recorded(subject, record, how)?;
                    let breaches = breaches
                        .into_iter()
                        .map(|breach| attribute_breach(assertion, breach));
                    Ok((1, breaches.collect()))
                },
                line_bytes,
            )?;
            self.add_judged(file, rules, &pattern, judged)?;
        }
        if !any {
            let breach = RuleBreach {
                expected: "hot members in the lock file".to_owned(),
                found: match file.record {
                    Some(_) => "no such type in it; `relayout check --update --profile P` writes those that P shows to be hot".to_owned(),
                    None => "no record of this configuration and machine; `relayout check --update --profile P` writes one".to_owned(),
                },
                ..RuleBreach::default()
            };
            self.checked += 1;
            let name = rules.name.as_str();
            self.violations.push(violation_of(
                file,
                rules,
                name,
                attribute_breach(assertion, breach),
            ));
        }
        Ok(())
    }

    /// Counts the evaluated assertions. A missing type violates rules that are not optional.
    ///
    /// # Errors
    /// The type is missing, and may be in a file that cannot be read.
    fn add_judged(
        &mut self,
        file: &CheckedFile<'_, '_>,
        rules: &TypeRules,
        pattern: &TypePattern,
        judged: Vec<JudgedType>,
    ) -> Result<(), Error> {
        if judged.is_empty() {
            if let Some(missing) = file.catalog.missing_companions().first() {
                return Err(Error::MissingTypes {
                    file: file.facts.path.clone(),
                    pattern: pattern.to_string(),
                    missing: missing.to_string(),
                    remedy: missing.remedy(),
                });
            }
            if !rules.optional {
                self.checked += 1;
                let missing = (rules.at, RuleId::Exists, missing_type(file, rules, pattern));
                let name = pattern.as_str();
                self.violations
                    .push(violation_of(file, rules, name, missing));
            }
            return Ok(());
        }
        for judged_type in judged {
            self.checked += judged_type.checked;
            let name = judged_type.definition.name;
            let breaches = judged_type.breaches.into_iter();
            self.violations
                .extend(breaches.map(|breach| violation_of(file, rules, &name, breach)));
        }
        Ok(())
    }
}

/// Evaluates each definition that `pattern` matches. Definitions that repeat another definition are
/// left out.
fn judge_types(
    file: &CheckedFile<'_, '_>,
    pattern: &TypePattern,
    rules: &TypeRules,
    judge_subject: impl Fn(
        &RuleSubject<'_>,
    ) -> Result<(u64, Vec<(ConfigPosition, RuleId, RuleBreach)>), Error>
    + Sync,
    line_bytes: u64,
) -> Result<Vec<JudgedType>, Error> {
    let judge_definition = |types: &TypeArena, id: TypeId, found: FoundDefinition| {
        let subject = RuleSubject {
            types,
            abi: &file.catalog.abi(types),
            id,
            name: &found.name,
            decl: found.decl.as_ref(),
            line_bytes,
            alignments_known: file.catalog.knows_alignments(),
            known: file.known_type(&found.name),
        };
        judge_subject(&subject).map(|(checked, breaches)| JudgedType {
            checked,
            breaches,
            definition: found,
        })
    };
    let (path, declared_in) = (&file.facts.path, rules.declared_in.as_ref());
    let judged =
        select::map_definitions(file.catalog, path, pattern, declared_in, judge_definition)?;
    let mut kept: Vec<JudgedType> = Vec::new();
    for judged_type in judged {
        let judged_type = judged_type?;
        let same = |other: &JudgedType| {
            other.definition.name == judged_type.definition.name
                && (other.definition.fit > judged_type.definition.fit
                    || other.breaches == judged_type.breaches)
        };
        if !kept.iter().any(same) {
            kept.retain(|other| {
                other.definition.name != judged_type.definition.name
                    || other.definition.fit >= judged_type.definition.fit
            });
            kept.push(judged_type);
        }
    }
    Ok(kept)
}

fn attribute_breach(
    assertion: &LayoutAssertion,
    breach: RuleBreach,
) -> (ConfigPosition, RuleId, RuleBreach) {
    let rule = breach.rule.unwrap_or(assertion.rule.id());
    (assertion.at, rule, breach)
}

fn missing_type(
    file: &CheckedFile<'_, '_>,
    rules: &TypeRules,
    pattern: &TypePattern,
) -> RuleBreach {
    let declared = match &rules.declared_in {
        Some(glob) => format!(" declared in {glob}"),
        None => String::new(),
    };
    let close = match pattern.is_open() {
        true => Vec::new(),
        false => pattern.similar_definitions(file.catalog.type_names()),
    };
    let others = close.iter().filter(|name| *name != pattern.name().as_str());
    let others: Vec<&str> = others.map(String::as_str).collect();
    RuleBreach {
        expected: format!("a type {pattern}{declared}"),
        found: match &others[..] {
            [] => "none".to_owned(),
            close => format!("none; close: {}", close.join(", ")),
        },
        ..RuleBreach::default()
    }
}

fn violation_of(
    file: &CheckedFile<'_, '_>,
    rules: &TypeRules,
    type_name: &str,
    (at, rule, breach): (ConfigPosition, RuleId, RuleBreach),
) -> Violation {
    Violation {
        type_name: type_name.to_owned(),
        rule_type: rules.name.as_str().to_owned(),
        member: breach.member,
        rule,
        expected: breach.expected,
        found: breach.found,
        members: breach.members,
        pushed_by: breach.pushed_by,
        between: breach.between,
        decl: breach.decl,
        reason: rules.reason.clone(),
        file: file.facts.path.clone(),
        configurations: file.configurations.clone(),
        at,
        expired: None,
    }
}

impl<'a> CheckedFile<'a, '_> {
    fn known_type(&self, name: &str) -> Option<&'a KnownType> {
        let other = self.baseline.iter().find(|known| known.name == name);
        other.or_else(|| Some(&self.record?.type_named(name)?.layout))
    }
}
