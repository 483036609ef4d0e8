//! Outcome of a check: a result lies where the member is declared, and refers to the rule in the configuration.

use relayout_check::RuleId;

use crate::documents::check::{CheckDocument, ViolationDocument, WarningDocument};
use crate::exports::sarif::SarifContext;
use crate::exports::sarif::format::{
    LogicalLocation, NotificationLocation, PartialFingerprints, RelatedLocation, ResultLocation,
    ResultProperties, RuleConfiguration, RuleProperties, SarifHelp, SarifNotification, SarifResult,
    SarifRule, SarifSuppression, SarifText, ViolationProperties, physical_location, render_log,
};

/// Renders `document` as an indented SARIF log that ends in a line feed. The file of the rules is named as in the
/// document.
///
/// # Errors
/// Those of the serializer, which has none to give for these types.
pub fn render_check(
    document: &CheckDocument,
    context: &SarifContext<'_>,
) -> Result<String, serde_json::Error> {
    let config = &*document.config;
    let violations = document.violations.iter().chain(&document.waived);
    let results = violations.map(|violation| violation_result(violation, config, context));
    let warnings = { document.warnings.iter() }
        .map(|warning| warning_notification(warning, config, context))
        .collect();
    let rules = RuleId::all().map(sarif_rule).collect();
    render_log(context, rules, warnings, results.collect())
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
    violation: &'a ViolationDocument,
    config: &str,
    context: &SarifContext<'_>,
) -> SarifResult<'a> {
    let index = RuleId::all().position(|id| id.as_str() == violation.rule);
    let asserted = physical_location(config, violation.config_line, context);
    let declared = match &violation.declared {
        Some(declared) => physical_location(&declared.file, declared.line, context),
        None => asserted.clone(),
    };
    let suppression = violation.waiver.as_ref().map(|waiver| SarifSuppression {
        kind: "external",
        status: "accepted",
        justification: format!("{} (until {})", waiver.reason, waiver.expires),
    });
    SarifResult {
        rule_id: &violation.rule,
        rule_index: index.unwrap_or_default(),
        level: "error",
        message: SarifText::new(violation_message(violation)),
        locations: [ResultLocation {
            physical_location: declared,
            logical_locations: [LogicalLocation {
                fully_qualified_name: violation.subject(),
                kind: match violation.member {
                    Some(_) => "member",
                    None => "type",
                },
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
fn violation_message(violation: &ViolationDocument) -> String {
    let mut text = format!(
        "{}: expected {}, found {}",
        violation.subject(),
        violation.expected,
        violation.found
    );
    for (index, push) in violation.pushes.iter().enumerate() {
        let word = if index == 0 { "pushed by" } else { "and" };
        text.push_str(&format!("; {word} {}", push.words));
    }
    if let Some(expired) = &violation.waiver_expired {
        text.push_str(&format!("; its waiver ended on {}", expired.expires));
    }
    if let Some(reason) = &violation.reason {
        text.push_str(&format!(" ({reason})"));
    }
    text
}

fn warning_notification(
    warning: &WarningDocument,
    config: &str,
    context: &SarifContext<'_>,
) -> SarifNotification {
    let location = |line: u32| NotificationLocation {
        physical_location: physical_location(config, line, context),
    };
    SarifNotification {
        level: "warning",
        message: SarifText::new(&*warning.message),
        locations: warning.config_line.map(|line| [location(line)]),
    }
}

/// Returns the fingerprint of the identity of a violation.
fn violation_fingerprint(violation: &ViolationDocument) -> PartialFingerprints {
    let parts = [
        &*violation.rule,
        &violation.type_name,
        violation.member.as_deref().unwrap_or_default(),
    ];
    let members = violation.members.iter().map(|seen| &*seen.name);
    let configurations = violation.configurations.iter().map(String::as_str);
    PartialFingerprints::from_parts(parts.into_iter().chain(members).chain(configurations))
}
