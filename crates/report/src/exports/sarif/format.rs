//! Used part of the format: its structs, and what all logs have in common.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::exports::sarif::SarifContext;
use crate::words::escape::json_text;
use crate::words::notes::FindingNote;

/// Schema of the format.
const SARIF_SCHEMA: &str = "https://json.schemastore.org/sarif-2.1.0.json";
/// Name of the base that source files are relative to.
const SOURCE_ROOT: &str = "SRCROOT";

/// Renders rules, notifications and results as an indented log that ends in a line feed.
pub(super) fn render_log(
    context: &SarifContext<'_>,
    rules: Vec<SarifRule>,
    notifications: Vec<SarifNotification>,
    results: Vec<SarifResult<'_>>,
) -> Result<String, serde_json::Error> {
    let log = SarifLog {
        schema: SARIF_SCHEMA,
        version: "2.1.0",
        runs: [SarifRun {
            tool: SarifTool {
                driver: SarifDriver {
                    name: "relayout",
                    version: context.version,
                    information_uri: context.information_uri,
                    rules,
                },
            },
            invocations: [SarifInvocation {
                execution_successful: true,
                tool_execution_notifications: notifications,
            }],
            original_uri_base_ids: BTreeMap::from([(
                SOURCE_ROOT,
                UriBase {
                    description: SarifText::new("The folder of the source."),
                },
            )]),
            column_kind: "unicodeCodePoints",
            results,
        }],
    };
    let mut text = json_text(&log, true)?;
    text.push('\n');
    Ok(text)
}

#[derive(Serialize)]
pub(super) struct SarifLog<'a> {
    #[serde(rename = "$schema")]
    pub schema: &'static str,
    pub version: &'static str,
    pub runs: [SarifRun<'a>; 1],
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct SarifRun<'a> {
    pub tool: SarifTool<'a>,
    pub invocations: [SarifInvocation; 1],
    pub original_uri_base_ids: BTreeMap<&'static str, UriBase>,
    pub column_kind: &'static str,
    pub results: Vec<SarifResult<'a>>,
}

#[derive(Serialize)]
pub(super) struct SarifTool<'a> {
    pub driver: SarifDriver<'a>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct SarifDriver<'a> {
    pub name: &'static str,
    pub version: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    pub information_uri: &'a str,
    pub rules: Vec<SarifRule>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct SarifRule {
    pub id: &'static str,
    pub name: String,
    pub short_description: SarifText,
    pub full_description: SarifText,
    pub help: SarifHelp,
    pub default_configuration: RuleConfiguration,
    pub properties: RuleProperties,
}

#[derive(Serialize)]
pub(super) struct SarifHelp {
    pub text: String,
    pub markdown: String,
}

#[derive(Serialize)]
pub(super) struct RuleProperties {
    pub tags: [&'static str; 2],
    pub precision: &'static str,
    #[serde(rename = "problem.severity")]
    pub severity: &'static str,
}

#[derive(Serialize)]
pub(super) struct RuleConfiguration {
    pub level: &'static str,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct SarifInvocation {
    pub execution_successful: bool,
    pub tool_execution_notifications: Vec<SarifNotification>,
}

#[derive(Serialize)]
pub(super) struct SarifNotification {
    pub level: &'static str,
    pub message: SarifText,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub locations: Option<[NotificationLocation; 1]>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct NotificationLocation {
    pub physical_location: PhysicalLocation,
}

#[derive(Serialize)]
pub(super) struct UriBase {
    pub description: SarifText,
}

#[derive(Serialize)]
pub(super) struct SarifText {
    pub text: String,
}

impl SarifText {
    /// Text that is shown as it is: `[words](address)` would be a link.
    pub fn new(text: impl Into<String>) -> Self {
        let text = text.into();
        Self {
            text: match text.contains("](") {
                true => text.replace('[', "\\[").replace(']', "\\]"),
                false => text,
            },
        }
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct SarifResult<'a> {
    pub rule_id: &'a str,
    pub rule_index: usize,
    pub level: &'static str,
    pub message: SarifText,
    pub locations: [ResultLocation; 1],
    pub related_locations: Vec<RelatedLocation>,
    pub partial_fingerprints: PartialFingerprints,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub suppressions: Vec<SarifSuppression>,
    pub properties: ResultProperties<'a>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ResultLocation {
    pub physical_location: PhysicalLocation,
    pub logical_locations: [LogicalLocation; 1],
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct LogicalLocation {
    pub fully_qualified_name: String,
    pub kind: &'static str,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct RelatedLocation {
    pub id: u32,
    pub message: SarifText,
    pub physical_location: PhysicalLocation,
}

#[derive(Serialize)]
pub(super) struct PartialFingerprints {
    #[serde(rename = "relayout/v1")]
    pub v1: String,
}

#[derive(Serialize)]
pub(super) struct SarifSuppression {
    pub kind: &'static str,
    pub status: &'static str,
    pub justification: String,
}

#[derive(Serialize)]
#[serde(untagged)]
pub(super) enum ResultProperties<'a> {
    Violation(ViolationProperties<'a>),
    Finding(FindingProperties<'a>),
}

/// Properties of a violation of a rule.
#[derive(Serialize)]
pub(super) struct ViolationProperties<'a> {
    pub file: &'a str,
    pub configurations: &'a [String],
}

/// Properties of a finding of a report.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct FindingProperties<'a> {
    pub rank_in_report: u32,
    #[serde(rename = "type")]
    pub type_name: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub variable: Option<&'a str>,
    /// Bytes from the beginning of the object to the line.
    pub line_offset: i64,
    pub estimated: bool,
    pub transfers: u64,
    pub read_transfers: u64,
    pub write_transfers: u64,
    pub false_first_touch: u64,
    pub false_lifetime: u64,
    /// Fraction of all transfers of the recording.
    pub share: f64,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    pub notes: &'a [FindingNote],
}

#[derive(Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct PhysicalLocation {
    pub artifact_location: ArtifactLocation,
    pub region: SarifRegion,
}

#[derive(Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ArtifactLocation {
    pub uri: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub uri_base_id: Option<&'static str>,
}

#[derive(Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct SarifRegion {
    pub start_line: u32,
}

/// Returns the position of a line, relative to the folder of the source if the file lies there.
pub(super) fn physical_location(
    file: &str,
    line: u32,
    context: &SarifContext<'_>,
) -> PhysicalLocation {
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

impl PartialFingerprints {
    /// Fingerprint with the FNV-1a hash, 64 bits, of the parts of an identity.
    pub fn from_parts<'p>(parts: impl IntoIterator<Item = &'p str>) -> Self {
        let bytes = { parts.into_iter() }.flat_map(|part| part.bytes().chain([0]));
        let hash = bytes.fold(0xcbf2_9ce4_8422_2325u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        });
        Self {
            v1: format!("{hash:016x}"),
        }
    }
}
