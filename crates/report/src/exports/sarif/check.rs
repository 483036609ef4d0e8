//! Outcome of a check: a result lies where the member is declared, and refers to the rule in the configuration.

use relayout_check::{CheckOutcome, CheckWarning, RuleId, Violation, WaivedViolation};

use crate::exports::sarif::SarifContext;
use crate::exports::sarif::format::{
    LogicalLocation, NotificationLocation, PartialFingerprints, RelatedLocation, ResultLocation,
    ResultProperties, RuleConfiguration, RuleProperties, SarifHelp, SarifNotification, SarifResult,
    SarifRule, SarifSuppression, SarifText, ViolationProperties, physical_location, render_log,
};

/// Renders `outcome` as an indented SARIF log that ends in a line feed. `config` is the file of the rules, as it should
/// be named.
///
/// # Errors
/// Those of the serializer, which has none to give for these types.
pub fn render_check(
    outcome: &CheckOutcome,
    config: &str,
    context: &SarifContext<'_>,
) -> Result<String, serde_json::Error> {
    let open = outcome.violations.iter();
    let open = open.map(|violation| violation_result(violation, None, config, context));
    let waived = outcome.waived.iter();
    let waived =
        waived.map(|waived| violation_result(&waived.violation, Some(waived), config, context));
    let warnings = { outcome.warnings.iter() }
        .map(|warning| warning_notification(warning, config, context))
        .collect();
    let rules = RuleId::all().map(sarif_rule).collect();
    render_log(context, rules, warnings, open.chain(waived).collect())
}

fn sarif_rule(id: RuleId) -> SarifRule {
    SarifRule {
        id: id.as_str(),
        name: id.title(),
        short_description: SarifText::new(id.help()),
        full_description: SarifText::new(format!("{} {}", id.help(), id.purpose())),
        help: SarifHelp {
            text: rule_help(id, ""),
            markdown: rule_help(id, "`"),
        },
        default_configuration: RuleConfiguration { level: "error" },
        properties: RuleProperties {
            tags: ["layout", "performance"],
            // A rule compares numbers of the build: no violation is a guess.
            precision: "very-high",
            severity: "error",
        },
    }
}

/// Returns the help of a rule, with `mark` around the words that one types.
fn rule_help(id: RuleId, mark: &str) -> String {
    let asserted = match id {
        RuleId::Exists => {
            format!(
                "{mark}relayout check{mark} asserts this of all names in {mark}relayout.toml{mark}."
            )
        }
        id => format!("The key {mark}{id}{mark} in {mark}relayout.toml{mark} asserts it."),
    };
    format!(
        "{} {asserted} {mark}docs/check.md{mark} of relayout describes the keys and waivers.",
        id.purpose()
    )
}

fn violation_result<'a>(
    violation: &'a Violation,
    waived: Option<&WaivedViolation>,
    config: &str,
    context: &SarifContext<'_>,
) -> SarifResult<'a> {
    let index = RuleId::all().position(|id| id == violation.rule);
    let asserted = physical_location(config, violation.at.line, context);
    let declared = match &violation.decl {
        Some(decl) => physical_location(&decl.file, decl.line, context),
        None => asserted.clone(),
    };
    let suppression = waived.map(|waived| SarifSuppression {
        kind: "external",
        status: "accepted",
        justification: format!("{} (until {})", waived.reason, waived.expires),
    });
    SarifResult {
        rule_id: violation.rule.as_str(),
        rule_index: index.unwrap_or_default(),
        level: "error",
        message: SarifText::new(violation_message(violation)),
        locations: [ResultLocation {
            physical_location: declared,
            logical_locations: [LogicalLocation {
                fully_qualified_name: violation_subject(violation),
                kind: violation_kind(violation),
            }],
        }],
        related_locations: vec![RelatedLocation {
            id: 0,
            message: SarifText::new("asserted here"),
            physical_location: asserted,
        }],
        partial_fingerprints: violation_fingerprint(violation),
        suppressions: suppression.into_iter().collect(),
        properties: ResultProperties::Violation(ViolationProperties {
            file: &violation.file,
            configurations: &violation.configurations,
        }),
    }
}

/// Returns `mm_struct.mmap_lock.owner: expected offset 120, found offset 128; pushed by ...`
fn violation_message(violation: &Violation) -> String {
    let Violation {
        expected, found, ..
    } = violation;
    let mut text = format!(
        "{}: expected {expected}, found {found}",
        violation_subject(violation)
    );
    for (index, push) in violation.pushed_by.iter().enumerate() {
        let word = if index == 0 { "pushed by" } else { "and" };
        text.push_str(&format!("; {word} {push}"));
    }
    if let Some(expired) = &violation.expired {
        text.push_str(&format!("; its waiver ended on {}", expired.expires));
    }
    if let Some(reason) = &violation.reason {
        text.push_str(&format!(" ({reason})"));
    }
    text
}

fn violation_subject(violation: &Violation) -> String {
    match violation.member.as_str() {
        "" => violation.type_name.clone(),
        member => format!("{}.{member}", violation.type_name),
    }
}

fn violation_kind(violation: &Violation) -> &'static str {
    match violation.member.as_str() {
        "" => "type",
        _ => "member",
    }
}

fn warning_notification(
    warning: &CheckWarning,
    config: &str,
    context: &SarifContext<'_>,
) -> SarifNotification {
    let location = |line: u32| NotificationLocation {
        physical_location: physical_location(config, line, context),
    };
    SarifNotification {
        level: "warning",
        message: SarifText::new(&*warning.message),
        locations: warning.at.map(|at| [location(at.line)]),
    }
}

/// Returns the fingerprint of the identity of a violation.
fn violation_fingerprint(violation: &Violation) -> PartialFingerprints {
    let members = violation.members.iter().map(|seen| seen.path.as_str());
    let parts = [
        violation.rule.as_str(),
        &violation.type_name,
        &violation.member,
    ];
    let configurations = violation.configurations.iter().map(String::as_str);
    PartialFingerprints::from_parts(parts.into_iter().chain(members).chain(configurations))
}
