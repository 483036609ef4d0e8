//! Findings of a report: a result lies where the member with the most transfers is declared, and refers to the other
//! members of the cache line and to the code that reads and writes them.

use relayout_contend::{Finding, FindingKind};
use relayout_profile::AccessKind;
use relayout_session::MemberDeclarations;

use super::SarifContext;
use super::format::{
    FindingProperties, LogicalLocation, PartialFingerprints, PhysicalLocation, RelatedLocation,
    ResultLocation, ResultProperties, SarifNotification, SarifResult, SarifText, physical_location,
    render_log,
};
use super::kinds::{kind_level, kind_rule};
use crate::ReportContents;
use crate::documents::report::finding::{FindingDocument, MemberDocument, SideDocument};
use crate::documents::report::report_document;
use crate::documents::report::site::PositionDocument;
use crate::words::access::shown_name;
use crate::words::counted;
use crate::words::finding::{PAIRS_MAX, finding_heading, pair_sentence};
use crate::words::source_positions::SourcePositions;

/// Further members of a line that a result refers to.
const OTHER_MEMBERS_MAX: usize = 8;

/// Renders the selected findings as an indented SARIF log that ends in a line feed.
///
/// Findings without any source position have no result. A notification counts them. Without folders of the source in
/// `context`, files are named relative to the folder that the recorded code shares.
///
/// ```
/// use relayout_contend::Findings;
/// use relayout_profile::ProfileMeta;
/// use relayout_report::exports::sarif::{SarifContext, render_findings};
/// use relayout_report::{FindingSelection, ReportContents};
/// use relayout_session::MemberDeclarations;
///
/// let report = ReportContents {
///     profile: "out.relayout",
///     meta: &ProfileMeta::default(),
///     findings: &Findings::default(),
///     selection: &FindingSelection::default(),
///     production: None,
///     judgements: None,
///     sources: &[],
///     layouts: &[],
///     freed: &[],
/// };
/// let context = SarifContext { version: "0.1.0", information_uri: "", source_roots: &[] };
/// let log = render_findings(&report, &MemberDeclarations::default(), &context)?;
/// assert!(log.contains(r#""version": "2.1.0""#));
/// # Ok::<(), serde_json::Error>(())
/// ```
///
/// # Errors
/// Those of the serializer, which has none to give for these types.
pub fn render_findings(
    report: &ReportContents<'_>,
    declarations: &MemberDeclarations,
    context: &SarifContext<'_>,
) -> Result<String, serde_json::Error> {
    let (shown, _) = report.selection.select_findings(report.findings);
    let report = &report_document(report);
    let sources = report.source_positions();
    let shared_folder = [sources.root().to_owned()];
    let source_roots = match context.source_roots {
        [] if !sources.root().is_empty() => &shared_folder,
        roots => roots,
    };
    let context = &SarifContext {
        source_roots,
        ..*context
    };
    let located = LocatedFindings {
        declarations,
        context,
        sources: &sources,
        all_transfers: report.transfers_total,
    };
    let results: Vec<SarifResult<'_>> = { report.findings.iter().zip(shown) }
        .filter_map(|(finding, declared)| located.result(finding, declared))
        .collect();
    let left_out = report.findings.len() - results.len();
    let notifications = match left_out {
        0 => Vec::new(),
        _ => vec![SarifNotification {
            level: "note",
            message: SarifText::new(format!(
                "{} without a source position left out; relayout report shows them.",
                counted(left_out as u64, "finding")
            )),
            locations: None,
        }],
    };
    let rules = FindingKind::ALL.map(kind_rule).into();
    render_log(context, rules, notifications, results)
}

/// Inputs that all results share.
struct LocatedFindings<'a> {
    declarations: &'a MemberDeclarations,
    context: &'a SarifContext<'a>,
    sources: &'a SourcePositions,
    all_transfers: u64,
}

impl LocatedFindings<'_> {
    /// Returns the result of a finding; `None` if nothing of it has a source position. `ranked` is the finding that
    /// the declarations are of.
    fn result<'f>(
        &self,
        finding: &'f FindingDocument,
        ranked: &Finding,
    ) -> Option<SarifResult<'f>> {
        let mut members: Vec<&MemberDocument> = finding.members.iter().collect();
        members.sort_by_key(|member| std::cmp::Reverse(member.transfers));
        let main_member = members.first().map_or("", |member| member.name.as_str());
        let declared: Vec<(&MemberDocument, PhysicalLocation)> = { members.iter() }
            .filter_map(|member| Some((*member, self.declaration(ranked, member)?)))
            .collect();
        let main_location = match declared.first() {
            Some((_, location)) => Some(location.clone()),
            None => { finding_sources(finding).into_iter() }
                .find_map(|place| self.source_location(place)),
        };
        let kind = finding.kind;
        Some(SarifResult {
            rule_id: kind.as_str(),
            rule_index: { FindingKind::ALL.iter().position(|other| *other == kind) }
                .unwrap_or_default(),
            level: kind_level(kind),
            message: SarifText::new(self.message(finding)),
            locations: [ResultLocation {
                physical_location: main_location?,
                logical_locations: [logical_location(finding, main_member)],
            }],
            related_locations: self.related_locations(finding, &declared),
            partial_fingerprints: PartialFingerprints::from_parts([
                kind.as_str(),
                &finding.type_name,
                finding.variable.as_deref().unwrap_or_default(),
                main_member,
            ]),
            suppressions: Vec::new(),
            properties: ResultProperties::Finding(finding_properties(finding)),
        })
    }

    fn message(&self, finding: &FindingDocument) -> String {
        let heading = finding_heading(finding, self.all_transfers);
        match finding.pairs.first() {
            Some(pair) => format!("{heading} {}", pair_sentence(pair, self.sources)),
            None => heading,
        }
    }

    /// Returns the other members that are declared elsewhere, and the accesses of the first pairs.
    fn related_locations(
        &self,
        finding: &FindingDocument,
        declared: &[(&MemberDocument, PhysicalLocation)],
    ) -> Vec<RelatedLocation> {
        let others =
            { declared.iter().skip(1).take(OTHER_MEMBERS_MAX) }.map(|(member, location)| {
                let words = format!("{} is on the same line", shown_name(&member.name));
                (words, location.clone())
            });
        let accesses = { access_pairs(finding).into_iter().take(PAIRS_MAX) }.flat_map(
            |(here, there, transfers)| {
                let waits = format!(
                    "{} {} here: {}",
                    shown_name(&here.member),
                    access_verb(here.access),
                    counted(transfers, "transfer")
                );
                let causes = format!(
                    "{} {} there",
                    shown_name(&there.member),
                    access_verb(there.access)
                );
                let sides = [(waits, &here.position), (causes, &there.position)];
                sides
                    .into_iter()
                    .filter_map(|(words, place)| Some((words, self.source_location(place)?)))
            },
        );
        { (0..).zip(others.chain(accesses)) }
            .map(|(id, (words, physical_location))| RelatedLocation {
                id,
                message: SarifText::new(words),
                physical_location,
            })
            .collect()
    }

    fn declaration(&self, ranked: &Finding, member: &MemberDocument) -> Option<PhysicalLocation> {
        let declared = self.declarations.line_of(&ranked.subject, member.offset)?;
        Some(physical_location(
            &declared.file,
            declared.line,
            self.context,
        ))
    }

    fn source_location(&self, place: &PositionDocument) -> Option<PhysicalLocation> {
        let (file, line) = place.file_line()?;
        Some(physical_location(file, line, self.context))
    }
}

fn logical_location(finding: &FindingDocument, member: &str) -> LogicalLocation {
    let owner = match finding.type_name.as_str() {
        "" => finding.subject(),
        type_name => type_name,
    };
    let (fully_qualified_name, kind) = match member {
        "" => (owner.to_owned(), "type"),
        member if member == owner => (owner.to_owned(), "variable"),
        member => (format!("{owner}.{member}"), "member"),
    };
    LogicalLocation {
        fully_qualified_name,
        kind,
    }
}

/// Returns the pairs of accesses that disturb each other, with the transfers of each.
fn access_pairs(finding: &FindingDocument) -> Vec<(&SideDocument, &SideDocument, u64)> {
    match &finding.adjacent {
        Some(adjacent) => { adjacent.pairs.iter() }
            .map(|pair| (&pair.here, &pair.there, pair.pair_transfers_estimated))
            .collect(),
        None => { finding.pairs.iter() }
            .map(|pair| (&pair.here, &pair.there, pair.transfers))
            .collect(),
    }
}

/// Returns the source positions of a finding, those with the most transfers first.
fn finding_sources(finding: &FindingDocument) -> Vec<&PositionDocument> {
    let pairs = access_pairs(finding).into_iter();
    let sides = pairs.flat_map(|(here, there, _)| [&here.position, &there.position]);
    let sites = finding.sites.iter().map(|site| &site.position);
    sides.chain(sites).collect()
}

fn access_verb(access: AccessKind) -> &'static str {
    match access {
        AccessKind::Read => "read",
        AccessKind::Write => "written",
        AccessKind::ReadWrite => "read and written",
    }
}

fn finding_properties(finding: &FindingDocument) -> FindingProperties<'_> {
    FindingProperties {
        rank_in_report: finding.rank,
        type_name: &finding.type_name,
        variable: finding.variable.as_deref(),
        line_offset: finding.line_offset,
        estimated: finding.estimated || finding.adjacent.is_some(),
        transfers: finding.transfers,
        read_transfers: finding.read_transfers,
        write_transfers: finding.write_transfers,
        false_first_touch: finding.false_first_touch,
        false_lifetime: finding.false_lifetime,
        share: finding.share,
        notes: &finding.notes,
    }
}
