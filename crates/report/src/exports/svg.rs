//! Findings as one SVG picture: the members of each line to scale, and the pairs of instructions that fight over it.
//!
//! The picture has its own background, and neither scripts nor references to other files, so it is the same in a browser,
//! a document and a mail. It is as wide as a page, and as high as its findings need. Colours are those of pages; a border
//! repeats them for eyes and printers that tell no colours.

mod canvas;
mod line_row;

use crate::ReportContents;
use crate::documents::report::finding::FindingDocument;
use crate::documents::report::line_rows::{LETTERS_MAX, LineRow, MemberUse};
use crate::documents::report::{ReportDocument, report_document};
use crate::words::count_more;
use crate::words::finding::{
    PAIRS_MAX, finding_heading, member_uses, pair_sentence, recording_sentence,
};
use canvas::{SvgCanvas, TextStyle};
use line_row::{draw_line, draw_ruler, member_label};

/// Lines of a finding that are drawn.
const LINES_MAX: usize = 32;
/// Columns of the texts below a line.
const TEXT_COLUMNS: usize = 118;

/// Renders the line pictures of the selected findings as an SVG document.
///
/// ```
/// use relayout_contend::Findings;
/// use relayout_profile::ProfileMeta;
/// use relayout_report::exports::svg;
/// use relayout_report::{FindingSelection, ReportContents};
///
/// let svg = svg::render_svg(&ReportContents {
///     profile: "out.relayout",
///     meta: &ProfileMeta::default(),
///     findings: &Findings::default(),
///     selection: &FindingSelection::default(),
///     production: None,
///     judgements: None,
///     sources: &[],
///     layouts: &[],
///     freed: &[],
/// });
/// assert!(svg.starts_with("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<svg "));
/// ```
pub fn render_svg(report: &ReportContents) -> String {
    let (_, passed) = report.selection.select_findings(report.findings);
    let report = &report_document(report);
    let shown = &report.findings;
    let title = format!("Contended cache lines of {}", report.workload);
    let sentence = recording_sentence(report);
    let mut canvas = SvgCanvas::new();
    canvas.add_paragraph(&title, TextStyle::Title, TEXT_COLUMNS);
    canvas.add_paragraph(&sentence, TextStyle::Prose, TEXT_COLUMNS);
    draw_legend(&mut canvas);
    if shown.is_empty() {
        canvas.add_paragraph(
            "No finding has the asked type and share.",
            TextStyle::Prose,
            TEXT_COLUMNS,
        );
    }
    let all_transfers = report.transfers_total;
    for finding in shown {
        draw_finding(&mut canvas, finding, report);
    }
    let left_out = passed.saturating_sub(shown.len());
    if left_out > 0 {
        let words = format!(
            "{} not shown (--top).",
            count_more(left_out as u64, "finding")
        );
        canvas.add_space(12.0);
        canvas.add_paragraph(&words, TextStyle::Prose, TEXT_COLUMNS);
    }
    let headings = { shown.iter() }.map(|finding| finding_heading(finding, all_transfers));
    let description: Vec<String> = [sentence].into_iter().chain(headings).collect();
    canvas.into_document(&title, &description.join(" "))
}

fn draw_legend(canvas: &mut SvgCanvas) {
    canvas.add_space(4.0);
    canvas.add_keys(&[
        (MemberUse::OnlyRead, "only read"),
        (MemberUse::WrittenByOne, "written by one"),
        (MemberUse::WrittenBySeveral, "written by several"),
        (MemberUse::NotCounted, "accessed, not counted"),
        (MemberUse::NotAccessed, "no member that was accessed"),
    ]);
}

fn draw_finding(canvas: &mut SvgCanvas, finding: &FindingDocument, report: &ReportDocument) {
    let (noun, line_bytes) = (report.context_noun(), report.machine.line_bytes);
    canvas.add_space(18.0);
    let heading = format!(
        "{}. {}",
        finding.rank,
        finding_heading(finding, report.transfers_total)
    );
    canvas.add_paragraph(&heading, TextStyle::Heading, TEXT_COLUMNS);
    for note in &finding.notes {
        canvas.add_paragraph(&note.text, TextStyle::Prose, TEXT_COLUMNS);
    }
    draw_ruler(canvas, line_bytes);
    let lines = finding.line_offsets(line_bytes);
    let members = finding.lettered_members();
    for &offset in lines.iter().take(LINES_MAX) {
        let row = LineRow::new(&members, offset, line_bytes);
        draw_line(canvas, &row, line_bytes, noun);
    }
    add_rest(canvas, lines.len(), LINES_MAX, "line");
    canvas.add_space(4.0);
    for lettered in &members {
        let member = lettered.member;
        if let Some(letter) = lettered.letter {
            let uses = member_uses(member, noun);
            let words = format!("{letter}  {}, {uses}", member_label(member));
            canvas.add_member(member.member_use(), &words, TEXT_COLUMNS - 2);
        }
    }
    add_rest(canvas, members.len(), LETTERS_MAX, "member");
    canvas.add_space(4.0);
    for pair in finding.pairs.iter().take(PAIRS_MAX) {
        canvas.add_paragraph(
            &pair_sentence(pair, &report.source_positions()),
            TextStyle::Listed,
            TEXT_COLUMNS,
        );
    }
    add_rest(
        canvas,
        finding.pairs.len(),
        PAIRS_MAX,
        "pair of instructions",
    );
}

/// Says how many of `count` are not drawn.
fn add_rest(canvas: &mut SvgCanvas, count: usize, drawn: usize, noun: &str) {
    let rest = count.saturating_sub(drawn) as u64;
    let words = match (rest, noun.split_once(" of ")) {
        (0, _) => return,
        (_, Some((head, tail))) => format!("{} of {tail}.", count_more(rest, head)),
        (_, None) => format!("{}.", count_more(rest, noun)),
    };
    canvas.add_paragraph(&words, TextStyle::Listed, TEXT_COLUMNS);
}
