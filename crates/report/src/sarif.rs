//! Outcome of a check as SARIF 2.1.0, the format of code scanning. The structs are the used part of
//! the format.
//!
//! A result lies where the member is declared, and refers to the rule in the configuration. Files
//! below the source folder are named relative to it, under the base `SRCROOT`, so that they are
//! found in the repository whatever the build's folder was. A result's fingerprint has neither
//! lines nor offsets in it: it stays the same while the source around it changes.

use std::collections::BTreeMap;

use relayout_check::{CheckOutcome, CheckWarning, RuleId, Violation, WaivedViolation};
use serde::Serialize;

use crate::escape::json_text;

/// Schema of the format.
const SARIF_SCHEMA: &str = "https://json.schemastore.org/sarif-2.1.0.json";
/// Name of the base that source files are relative to.
const SOURCE_ROOT: &str = "SRCROOT";

/// Inputs besides the outcome.
#[derive(Clone, Copy, Debug)]
pub struct SarifContext<'a> {
    /// Version of the tool.
    pub version: &'a str,
    /// Page about the tool, as an absolute URI; empty if there is none.
    pub information_uri: &'a str,
    /// The file of the rules, as it should be named.
    pub config: &'a str,
    /// The folders of the source, as the compiler and the configuration name them: what lies below
    /// one of them is named relative to it.
    pub source_roots: &'a [String],
}

/// Renders `outcome` as an indented SARIF log that ends in a line feed.
///
/// # Errors
/// Those of the serializer, which has none to give for these types.
pub fn render(
    outcome: &CheckOutcome,
    context: &SarifContext<'_>,
) -> Result<String, serde_json::Error> {
    let open = outcome.violations.iter();
    let open = open.map(|violation| violation_result(violation, None, context));
    let waived = outcome.waived.iter();
    let waived = waived.map(|waived| violation_result(&waived.violation, Some(waived), context));
    let warnings = outcome.warnings.iter();
    let log = SarifLog {
        schema: SARIF_SCHEMA,
        version: "2.1.0",
        runs: [SarifRun {
            tool: SarifTool {
                driver: SarifDriver {
                    name: "relayout",
                    version: context.version,
                    information_uri: context.information_uri,
                    rules: RuleId::all().map(sarif_rule).collect(),
                },
            },
            invocations: [SarifInvocation {
                execution_successful: true,
                tool_execution_notifications: warnings
                    .map(|warning| warning_notification(warning, context))
                    .collect(),
            }],
            original_uri_base_ids: BTreeMap::from([(
                SOURCE_ROOT,
                UriBase {
                    description: SarifText::new("The folder of the source."),
                },
            )]),
            column_kind: "unicodeCodePoints",
            results: open.chain(waived).collect(),
        }],
    };
    let mut text = json_text(&log, true)?;
    text.push('\n');
    Ok(text)
}

#[derive(Serialize)]
struct SarifLog<'a> {
    #[serde(rename = "$schema")]
    schema: &'static str,
    version: &'static str,
    runs: [SarifRun<'a>; 1],
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct SarifRun<'a> {
    tool: SarifTool<'a>,
    invocations: [SarifInvocation; 1],
    original_uri_base_ids: BTreeMap<&'static str, UriBase>,
    column_kind: &'static str,
    results: Vec<SarifResult<'a>>,
}

#[derive(Serialize)]
struct SarifTool<'a> {
    driver: SarifDriver<'a>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct SarifDriver<'a> {
    name: &'static str,
    version: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    information_uri: &'a str,
    rules: Vec<SarifRule>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct SarifRule {
    id: &'static str,
    name: String,
    short_description: SarifText,
    full_description: SarifText,
    help: SarifHelp,
    default_configuration: RuleConfiguration,
    properties: RuleProperties,
}

#[derive(Serialize)]
struct SarifHelp {
    text: String,
    markdown: String,
}

#[derive(Serialize)]
struct RuleProperties {
    tags: [&'static str; 2],
    /// A rule compares numbers of the build: no violation is a guess.
    precision: &'static str,
    #[serde(rename = "problem.severity")]
    severity: &'static str,
}

#[derive(Serialize)]
struct RuleConfiguration {
    level: &'static str,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct SarifInvocation {
    execution_successful: bool,
    tool_execution_notifications: Vec<SarifNotification>,
}

#[derive(Serialize)]
struct SarifNotification {
    level: &'static str,
    message: SarifText,
    #[serde(skip_serializing_if = "Option::is_none")]
    locations: Option<[NotificationLocation; 1]>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct NotificationLocation {
    physical_location: PhysicalLocation,
}

#[derive(Serialize)]
struct UriBase {
    description: SarifText,
}

#[derive(Serialize)]
struct SarifText {
    text: String,
}

impl SarifText {
    fn new(text: impl Into<String>) -> Self {
        Self { text: text.into() }
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct SarifResult<'a> {
    rule_id: &'static str,
    rule_index: usize,
    level: &'static str,
    message: SarifText,
    locations: [ResultLocation; 1],
    related_locations: [RelatedLocation; 1],
    partial_fingerprints: PartialFingerprints,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    suppressions: Vec<SarifSuppression>,
    properties: ResultProperties<'a>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ResultLocation {
    physical_location: PhysicalLocation,
    logical_locations: [LogicalLocation; 1],
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct LogicalLocation {
    fully_qualified_name: String,
    kind: &'static str,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct RelatedLocation {
    id: u32,
    message: SarifText,
    physical_location: PhysicalLocation,
}

#[derive(Serialize)]
struct PartialFingerprints {
    #[serde(rename = "relayout/v1")]
    v1: String,
}

#[derive(Serialize)]
struct SarifSuppression {
    kind: &'static str,
    status: &'static str,
    justification: String,
}

#[derive(Serialize)]
struct ResultProperties<'a> {
    file: &'a str,
    configurations: &'a [String],
}

#[derive(Clone, Serialize)]
#[serde(rename_all = "camelCase")]
struct PhysicalLocation {
    artifact_location: ArtifactLocation,
    region: SarifRegion,
}

#[derive(Clone, Serialize)]
#[serde(rename_all = "camelCase")]
struct ArtifactLocation {
    uri: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    uri_base_id: Option<&'static str>,
}

#[derive(Clone, Serialize)]
#[serde(rename_all = "camelCase")]
struct SarifRegion {
    start_line: u32,
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
    context: &SarifContext<'_>,
) -> SarifResult<'a> {
    let index = RuleId::all().position(|id| id == violation.rule);
    let asserted = physical_location(context.config, violation.at.line, context);
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
        related_locations: [RelatedLocation {
            id: 0,
            message: SarifText::new("asserted here"),
            physical_location: asserted,
        }],
        partial_fingerprints: PartialFingerprints {
            v1: violation_fingerprint(violation),
        },
        suppressions: suppression.into_iter().collect(),
        properties: ResultProperties {
            file: &violation.file,
            configurations: &violation.configurations,
        },
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

fn warning_notification(warning: &CheckWarning, context: &SarifContext<'_>) -> SarifNotification {
    let location = |line: u32| NotificationLocation {
        physical_location: physical_location(context.config, line, context),
    };
    SarifNotification {
        level: "warning",
        message: SarifText::new(&*warning.message),
        locations: warning.at.map(|at| [location(at.line)]),
    }
}

fn physical_location(file: &str, line: u32, context: &SarifContext<'_>) -> PhysicalLocation {
    let below = |root: &String| {
        let rest = file.strip_prefix(root.trim_end_matches('/'))?;
        rest.strip_prefix('/')
    };
    let mut roots = context.source_roots.iter();
    let relative = roots.find_map(below).unwrap_or(file);
    let artifact_location = match relative.strip_prefix('/') {
        Some(absolute) => ArtifactLocation {
            uri: format!("file:///{}", escape_path(absolute)),
            uri_base_id: None,
        },
        None => ArtifactLocation {
            uri: escape_path(relative.trim_start_matches("./")),
            uri_base_id: Some(SOURCE_ROOT),
        },
    };
    // SARIF counts lines from 1; the compiler writes 0 for an unknown line.
    PhysicalLocation {
        artifact_location,
        region: SarifRegion {
            start_line: line.max(1),
        },
    }
}

/// Returns the path as part of a URI.
fn escape_path(path: &str) -> String {
    let mut out = String::new();
    for byte in path.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'/' | b'-' | b'.' | b'_' | b'~' | b'+' => {
                out.push(char::from(byte));
            }
            byte => out.push_str(&format!("%{byte:02X}")),
        }
    }
    out
}

/// Returns the FNV-1a hash, 64 bits, of the identity of a violation.
fn violation_fingerprint(violation: &Violation) -> String {
    let members = violation.members.iter().map(|seen| seen.path.as_str());
    let parts = [
        violation.rule.as_str(),
        &violation.type_name,
        &violation.member,
    ];
    let configurations = violation.configurations.iter().map(String::as_str);
    let identity_parts = parts.into_iter().chain(members).chain(configurations);
    let hash = identity_parts
        .flat_map(|part| part.bytes().chain([0]))
        .fold(0xcbf2_9ce4_8422_2325u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        });
    format!("{hash:016x}")
}
