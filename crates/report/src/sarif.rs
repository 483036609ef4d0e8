//! What a check found as SARIF 2.1.0, the form that code scanning takes. The structs here are the
//! part of the format that is used.
//!
//! A result lies where the member is declared, and refers to the rule in the configuration. Files
//! below the source folder are named relative to it, under the base `SRCROOT`, so that they are found
//! in the repository whatever the build's folder was. A result's fingerprint has neither lines nor
//! offsets in it: it stays the same while the source around it changes.

use relayout_check::{CheckOutcome, CheckWarning, RuleId, Violation, WaivedViolation};
use serde::Serialize;
use serde_json::{Value, json};

/// Where the format is defined.
const SARIF_SCHEMA: &str = "https://json.schemastore.org/sarif-2.1.0.json";
/// The name of the base that files of the source are relative to.
const SOURCE_ROOT: &str = "SRCROOT";

/// What is to be known beside the outcome.
#[derive(Clone, Copy, Debug)]
pub struct SarifContext<'a> {
    /// Version of the tool.
    pub version: &'a str,
    /// The file of the rules, as it should be named.
    pub config: &'a str,
    /// The folders of the source, as the compiler and the configuration name them: what lies below
    /// one of them is named relative to it.
    pub source_roots: &'a [String],
}

/// Renders `outcome` as an indented SARIF log, ending in a line feed.
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
    let log = SarifLog {
        schema: SARIF_SCHEMA,
        version: "2.1.0",
        runs: [SarifRun {
            tool: json!({ "driver": {
                "name": "relayout",
                "version": context.version,
                "rules": RuleId::ALL.map(rule_value),
            }}),
            invocations: [json!({
                "executionSuccessful": true,
                "toolExecutionNotifications": outcome
                    .warnings
                    .iter()
                    .map(|warning| warning_notification(warning, context))
                    .collect::<Vec<Value>>(),
            })],
            original_uri_base_ids: json!({ SOURCE_ROOT: { "description": {
                "text": "The folder of the source."
            }}}),
            column_kind: "unicodeCodePoints",
            results: open.chain(waived).collect(),
        }],
    };
    let mut text = serde_json::to_string_pretty(&log)?;
    text.push('\n');
    Ok(text)
}

#[derive(Serialize)]
struct SarifLog {
    #[serde(rename = "$schema")]
    schema: &'static str,
    version: &'static str,
    runs: [SarifRun; 1],
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct SarifRun {
    tool: Value,
    invocations: [Value; 1],
    original_uri_base_ids: Value,
    column_kind: &'static str,
    results: Vec<SarifResult>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct SarifResult {
    rule_id: &'static str,
    rule_index: usize,
    level: &'static str,
    message: Value,
    locations: [Value; 1],
    related_locations: [Value; 1],
    partial_fingerprints: Value,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    suppressions: Vec<Value>,
    properties: Value,
}

fn rule_value(id: RuleId) -> Value {
    let help = format!(
        "{} Asserted by `{id}` in relayout.toml; docs/check.md says how.",
        id.help()
    );
    json!({
        "id": id.as_str(),
        "shortDescription": { "text": id.help() },
        "help": { "text": help },
        "defaultConfiguration": { "level": "error" },
    })
}

fn violation_result(
    violation: &Violation,
    waived: Option<&WaivedViolation>,
    context: &SarifContext<'_>,
) -> SarifResult {
    let index = RuleId::ALL.iter().position(|id| *id == violation.rule);
    let asserted = physical_location(context.config, violation.at.line, context);
    let declared = match &violation.decl {
        Some(decl) => physical_location(&decl.file, decl.line, context),
        None => asserted.clone(),
    };
    let suppression = waived.map(|waived| {
        json!({
            "kind": "external",
            "status": "accepted",
            "justification": format!("{} (until {})", waived.reason, waived.expires),
        })
    });
    SarifResult {
        rule_id: violation.rule.as_str(),
        rule_index: index.unwrap_or_default(),
        level: "error",
        message: json!({ "text": violation_message(violation) }),
        locations: [json!({
            "physicalLocation": declared,
            "logicalLocations": [{ "fullyQualifiedName": violation_subject(violation), "kind": violation_kind(violation) }],
        })],
        related_locations: [json!({
            "id": 0,
            "message": { "text": "asserted here" },
            "physicalLocation": asserted,
        })],
        partial_fingerprints: json!({ "relayout/v1": violation_fingerprint(violation) }),
        suppressions: suppression.into_iter().collect(),
        properties: json!({
            "file": violation.file,
            "configurations": violation.configurations,
        }),
    }
}

/// `mm_struct.mmap_lock.owner: expected offset 120, found offset 128; pushed by ...`
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

fn warning_notification(warning: &CheckWarning, context: &SarifContext<'_>) -> Value {
    let mut document = json!({
        "level": "warning",
        "message": { "text": warning.message },
    });
    if let Some(at) = warning.at {
        let place = physical_location(context.config, at.line, context);
        document["locations"] = json!([{ "physicalLocation": place }]);
    }
    document
}

fn physical_location(file: &str, line: u32, context: &SarifContext<'_>) -> Value {
    let below = |root: &String| {
        let rest = file.strip_prefix(root.trim_end_matches('/'))?;
        rest.strip_prefix('/')
    };
    let relative = context.source_roots.iter().find_map(below).unwrap_or(file);
    let artifact = match relative.strip_prefix('/') {
        Some(absolute) => json!({ "uri": format!("file:///{}", escape_path(absolute)) }),
        None => {
            let short = relative.trim_start_matches("./");
            json!({ "uri": escape_path(short), "uriBaseId": SOURCE_ROOT })
        }
    };
    // Lines count from 1; 0 is said where the compiler does not know.
    json!({ "artifactLocation": artifact, "region": { "startLine": line.max(1) } })
}

/// The path as part of a URI.
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

/// FNV-1a, 64 bits, of what makes the violation this one.
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
