//! The details of a finding: facts, advice, pictures of its lines, members, pairs of instructions, and source.

use std::collections::BTreeMap;

use relayout_session::SourceFile;

use super::line_picture::{letter_mark, line_picture, member_role};
use super::page_text::PageText;
use super::palette::TextRole;
use super::text_fit::{fit_left, fit_right, shown_source_line, shown_text, text_width};
use crate::documents::report::ReportDocument;
use crate::documents::report::finding::{FindingDocument, MemberDocument, SideDocument};
use crate::documents::report::line_rows::{LetteredMember, LineRow};
use crate::documents::report::site::{PositionDocument, access_key};
use crate::words::counted;
use crate::words::kinds::kind_words;
use crate::words::percent::percent;
use crate::words::saving::SavingDocument;
use crate::words::source_excerpt::{line_start, lines_around};
use crate::words::source_positions::shown_file;

/// Lines of a type that have a picture.
const PICTURES_MAX: usize = 32;
/// Source lines that are shown with the lines around them.
const EXCERPTS_MAX: usize = 12;
/// Widest column of members' names.
const NAME_COLUMNS_MAX: usize = 48;
/// Columns of a table of members besides the names.
const MEMBER_COLUMNS: usize = 2 + 7 + 6 + 10 + 10 + 9 + 10;
/// Columns of members' names below which there is no table.
const NAME_COLUMNS_MIN: usize = 12;
/// Columns of the CPUs or threads that use a member, in wide windows.
const USER_COLUMNS: usize = 12;
/// Columns of the numbers before a pair or an instruction.
const COUNT_COLUMNS: usize = 11;
/// Ranges of contexts in a list.
const CONTEXT_RANGES_MAX: usize = 3;

/// Source files by their names in the debug information; `None` for those that are not there.
pub(super) type SourceMap = BTreeMap<String, Option<SourceFile>>;

/// A finding, and what its words depend on.
pub(super) struct DetailsContext<'r> {
    pub report: &'r ReportDocument,
    pub finding: &'r FindingDocument,
    pub sources: &'r SourceMap,
    /// True if the user named a source tree.
    pub has_tree: bool,
}

impl DetailsContext<'_> {
    pub fn write(&self, page: &mut PageText) {
        self.write_facts(page);
        self.write_pictures(page);
        self.write_pairs(page);
        self.write_sites(page);
        self.write_source(page);
    }

    fn write_facts(&self, page: &mut PageText) {
        let finding = self.finding;
        page.push_heading(&finding_heading(finding));
        page.push_fact("Meaning", kind_words(finding.kind).clause);
        for (name, value) in self.facts() {
            page.push_fact(name, &shown_text(&value));
        }
        for note in &finding.notes {
            page.push_text(String::new());
            page.push_sentence(&shown_text(&note.text));
        }
        for advice in &finding.advice {
            page.push_text(String::new());
            page.push_sentence(&shown_text(&advice.words));
        }
    }

    fn facts(&self) -> Vec<(&'static str, String)> {
        let finding = self.finding;
        let noun = self.report.context_noun().singular();
        let mut facts = Vec::new();
        if finding.types_path.len() > 1 {
            facts.push(("Within", finding.types_path.join(" > ")));
        }
        let estimated = if finding.estimated { ", estimated" } else { "" };
        let first =
            { finding.first_reads }.map_or_else(String::new, |first| format!(" ({first} first)"));
        facts.push((
            "Transfers",
            format!(
                "{} ({} of all{estimated}): {}{first}, {}; {}",
                finding.transfers,
                percent(finding.share),
                counted(finding.read_transfers, "read"),
                counted(finding.write_transfers, "write"),
                counted(finding.upgrades, "upgrade"),
            ),
        ));
        facts.push((
            "False",
            format!(
                "{} by first use, {} for the whole stay",
                part_words(finding.false_first_touch, finding.transfers),
                part_words(finding.false_lifetime, finding.transfers),
            ),
        ));
        if let Some(share) = finding.wait_percent {
            let share = percent(share / 100.0);
            facts.push((
                "Waiting",
                format!("{share} of the {noun}s' time, simulated"),
            ));
        }
        facts.push((
            "Objects",
            format!(
                "{}, used by {}",
                finding.objects,
                counted(finding.contexts.into(), noun)
            ),
        ));
        facts.push(("Type", confidence_words(finding)));
        facts.push(("Saving", saving_words(finding)));
        facts.extend(self.rare_facts());
        facts
    }

    fn rare_facts(&self) -> Vec<(&'static str, String)> {
        let finding = self.finding;
        let mut facts = Vec::new();
        if !finding.allocated.is_empty() {
            facts.push(("Allocated", object_counts(&finding.allocated)));
        }
        if !finding.neighbours.is_empty() {
            facts.push(("Neighbours", object_counts(&finding.neighbours)));
        }
        if let Some(adjacent) = &finding.adjacent {
            let estimate = format!(
                "{} transfers between the lines of pairs, estimated from {}",
                adjacent.pair_transfers_estimated,
                counted(adjacent.samples, "sample")
            );
            facts.push(("Pair", estimate));
        }
        facts
    }

    fn write_pictures(&self, page: &mut PageText) {
        let members = self.finding.lettered_members();
        let line_bytes = self.report.machine.line_bytes;
        let offsets = self.finding.line_offsets(line_bytes);
        let noun = match offsets.len() {
            1 => "The line".to_owned(),
            count => format!("The {count} lines"),
        };
        page.push_heading(&format!("{noun}, {line_bytes} bytes"));
        for &offset in offsets.iter().take(PICTURES_MAX) {
            let picture = line_picture(
                &LineRow::new(&members, offset, line_bytes),
                line_bytes,
                page.width,
                page.palette,
            );
            match picture {
                Some(picture) => page.push_line(picture),
                None => page.push_text(format!("{offset:>+6} (the window is too narrow)")),
            }
        }
        if offsets.len() > PICTURES_MAX {
            page.push_text(format!("       and {} more", offsets.len() - PICTURES_MAX));
        }
        page.push_hanging("", 7, "Capitals are written; dots are not accessed.");
        page.push_text(String::new());
        self.write_members(page, &members);
    }

    fn write_members(&self, page: &mut PageText, members: &[LetteredMember<'_>]) {
        if page.width < MEMBER_COLUMNS + NAME_COLUMNS_MIN {
            self.write_narrow_members(page, members);
        } else {
            self.write_member_table(page, members);
        }
        if members.iter().any(|lettered| !lettered.member.counted) {
            page.push_sentence("?: the recorder did not count the accesses of this member.");
        }
    }

    fn write_member_table(&self, page: &mut PageText, members: &[LetteredMember<'_>]) {
        let has_users = page.width >= MEMBER_COLUMNS + NAME_COLUMNS_MAX / 2 + USER_COLUMNS;
        let users = if has_users { USER_COLUMNS } else { 0 };
        let longest = { members.iter() }
            .map(|member| text_width(&member_name(&member.member.name)))
            .max();
        let room = page.width.saturating_sub(MEMBER_COLUMNS + users);
        let names = longest.unwrap_or(0).clamp(6, NAME_COLUMNS_MAX.min(room));
        let row = |name: &str, cells: [&str; 6]| {
            let [offset, bytes, reads, writes, writers, transfers] = cells;
            let name = fit_left(name, names);
            format!(
                " {name}{offset:>7}{bytes:>6}{reads:>10}{writes:>10}{writers:>9}{transfers:>10}"
            )
        };
        let noun = self.report.context_noun().column_title();
        let writers = format!("by {noun}");
        let heads = ["Offset", "Bytes", "Reads", "Writes", &writers, "Transfers"];
        let mut head = row("Member", heads);
        if has_users {
            head.push_str(&fit_right(&format!("{noun} using"), USER_COLUMNS));
        }
        page.push_table_head(format!(" {head}"));
        for lettered in members {
            let member = lettered.member;
            let [reads, writes, writers] = member_uses(member);
            let cells = [
                &member.offset.to_string(),
                &member.size.to_string(),
                &reads,
                &writes,
                &writers,
                &member.transfers.to_string(),
            ];
            let mut row = row(&member_name(&member.name), cells.map(String::as_str));
            if has_users {
                row.push_str(&fit_right(&context_list(&member.context_ids), USER_COLUMNS));
            }
            page.push_marked(letter_mark(lettered), member_role(member), row);
        }
    }

    fn write_narrow_members(&self, page: &mut PageText, members: &[LetteredMember<'_>]) {
        for lettered in members {
            let member = lettered.member;
            let [reads, writes, writers] = member_uses(member);
            let name = format!(" {}", member_name(&member.name));
            page.push_marked(letter_mark(lettered), member_role(member), name);
            let words = format!(
                "at {}, {}: {reads} reads, {writes} writes by {writers}, {} transfers",
                member.offset,
                counted(member.size, "byte"),
                member.transfers
            );
            page.push_hanging("", 4, &words);
        }
    }

    fn write_pairs(&self, page: &mut PageText) {
        let counted_pairs = { self.finding.pairs.iter() }
            .map(|pair| (pair.transfers, pair.upgrades, &pair.here, &pair.there));
        let adjacent_pairs = { self.finding.adjacent.iter() }
            .flat_map(|adjacent| &adjacent.pairs)
            .map(|pair| (pair.pair_transfers_estimated, 0, &pair.here, &pair.there));
        let pairs: Vec<_> = counted_pairs.chain(adjacent_pairs).collect();
        if pairs.is_empty() {
            return;
        }
        page.push_heading(
            "Transfers by the access that misses, after the access that took the line",
        );
        for (transfers, upgrades, here, there) in pairs {
            let upgrades = match upgrades {
                0 => String::new(),
                count => format!(", and {}", counted(count, "upgrade")),
            };
            let count = fit_right(&transfers.to_string(), COUNT_COLUMNS - 2);
            let missed = format!("{}{upgrades}", self.side_words(here));
            page.push_hanging(&count, COUNT_COLUMNS, &missed);
            let after = fit_right("after", COUNT_COLUMNS - 2);
            page.push_hanging(&after, COUNT_COLUMNS, &self.side_words(there));
        }
    }

    fn write_sites(&self, page: &mut PageText) {
        if self.finding.sites.is_empty() {
            return;
        }
        page.push_heading("Code");
        page.push_table_head(format!(
            "{:>11}{:>11}{:>11}  Access",
            "Count", "Transfers", "Caused"
        ));
        for site in &self.finding.sites {
            let counts = format!(
                "{:>11}{:>11}{:>11}",
                site.count, site.transfers, site.caused
            );
            let words = format!(
                "{} in {}",
                access_key(site.access),
                self.position_words(&site.position)
            );
            let indent = 3 * COUNT_COLUMNS + 2;
            match page.width > 2 * indent {
                true => page.push_hanging(&counts, indent, &words),
                false => {
                    page.push_text(counts);
                    page.push_hanging("", 2, &words);
                }
            }
        }
    }

    fn write_source(&self, page: &mut PageText) {
        if !self.has_tree {
            return;
        }
        page.push_heading("Source, which may be of another version than the recorded build");
        let mut is_empty = true;
        for (file, line) in excerpt_positions(self.finding) {
            if let Some(source) = { self.sources.get(&file) }.and_then(Option::as_ref)
                && write_excerpt(page, source, line, is_empty)
            {
                is_empty = false;
            }
        }
        if is_empty {
            page.push_sentence("The folder of --source has none of the files of this finding.");
        }
    }

    fn side_words(&self, side: &SideDocument) -> String {
        format!(
            "{} {} in {}",
            access_key(side.access),
            member_name(&side.member),
            self.position_words(&side.position)
        )
    }

    /// Returns `free_percpu mm/percpu.c:2286`, with an inlined function in brackets.
    fn position_words(&self, position: &PositionDocument) -> String {
        let mut words = position.function.as_deref().unwrap_or("?").to_owned();
        if let Some(file) = &position.file {
            words.push(' ');
            words.push_str(shown_file(file, &self.report.source_root));
        }
        if let Some(line) = position.line {
            words.push_str(&format!(":{line}"));
        }
        if let Some(inlined) = &position.inlined {
            words.push_str(&format!(" ({inlined})"));
        }
        shown_text(&words).into_owned()
    }
}

/// Writes the lines around a line, below an empty one unless it is the first excerpt. Returns false if the file has no
/// such line.
fn write_excerpt(page: &mut PageText, source: &SourceFile, line: u32, is_first: bool) -> bool {
    let lines: Vec<&str> = source.text.lines().collect();
    let Some(around) = lines_around(line, lines.len()) else {
        return false;
    };
    if !is_first {
        page.push_text(String::new());
    }
    page.push_text(format!("{}:{line}", shown_text(&source.path)));
    for number in around {
        let (mark, role) = match number == line {
            true => (">", TextRole::Key),
            false => (" ", TextRole::Plain),
        };
        let text = shown_source_line(line_start(lines[number as usize - 1]));
        page.push_marked(format!("{mark}{number:>6}  "), role, text);
    }
    true
}

/// Returns the source lines of the accesses with the most transfers.
pub(super) fn excerpt_positions(finding: &FindingDocument) -> Vec<(String, u32)> {
    let pairs = finding.pairs.iter();
    let in_pairs = pairs.flat_map(|pair| [&pair.here.position, &pair.there.position]);
    let in_sites = finding.sites.iter().map(|site| &site.position);
    let mut positions: Vec<(String, u32)> = Vec::new();
    for position in in_pairs.chain(in_sites) {
        if let Some((file, line)) = position.file.clone().zip(position.line)
            && !positions.contains(&(file.clone(), line))
        {
            positions.push((file, line));
        }
        if positions.len() == EXCERPTS_MAX {
            break;
        }
    }
    positions
}

/// Returns `#3 pcpu_chunk +0: true-sharing`.
pub(super) fn finding_heading(finding: &FindingDocument) -> String {
    let type_words = match &finding.variable {
        Some(variable) if *variable != finding.type_name && !finding.type_name.is_empty() => {
            format!(" ({})", shown_text(&finding.type_name))
        }
        _ => String::new(),
    };
    format!(
        "#{} {}{type_words} {}: {}",
        finding.rank,
        shown_text(finding.subject()),
        finding.line_words(),
        finding.kind.as_str()
    )
}

fn confidence_words(finding: &FindingDocument) -> String {
    let mut words = format!("{}% sure", finding.type_confidence_percent);
    if finding.uncertain_objects > 0 {
        words.push_str(&format!(
            "; {} uncertain",
            counted(finding.uncertain_objects, "object")
        ));
    }
    words
}

/// Returns what another layout saves, or the reason why it saves nothing.
pub(super) fn saving_words(finding: &FindingDocument) -> String {
    let reason = { finding.saving_words.as_ref() }.or(finding.saving_why.as_ref());
    match (&finding.saving, reason) {
        (
            Some(SavingDocument {
                type_name,
                transfers,
                share,
                moved,
                ..
            }),
            _,
        ) => format!(
            "{transfers:.0} transfers ({} of all) with {} of {type_name} moved",
            percent(*share),
            counted(*moved as u64, "member")
        ),
        (None, Some(reason)) => reason.clone(),
        (None, None) => "none".to_owned(),
    }
}

/// Returns the reads, writes and writers of a member; `?` for those that were not counted.
fn member_uses(member: &MemberDocument) -> [String; 3] {
    match member.counted {
        true => [
            member.reads.to_string(),
            member.writes.to_string(),
            context_list(&member.writer_ids),
        ],
        false => ["?"; 3].map(str::to_owned),
    }
}

fn member_name(name: &str) -> String {
    match name {
        "" => "(hole)".to_owned(),
        name => shown_text(name).into_owned(),
    }
}

fn object_counts(counts: &BTreeMap<String, u64>) -> String {
    let parts = { counts.iter() }.map(|(name, objects)| format!("{name} ({objects})"));
    parts.collect::<Vec<_>>().join(", ")
}

/// Returns the numbers of CPUs or threads as ranges: `0-3,7`.
fn context_list(contexts: &[u16]) -> String {
    let mut ranges: Vec<(u16, u16)> = Vec::new();
    for &context in contexts {
        match ranges.last_mut() {
            Some((_, last)) if last.checked_add(1) == Some(context) => *last = context,
            _ => ranges.push((context, context)),
        }
    }
    if ranges.len() > CONTEXT_RANGES_MAX {
        return format!("{} of them", contexts.len());
    }
    let words = ranges.iter().map(|(first, last)| match first == last {
        true => first.to_string(),
        false => format!("{first}-{last}"),
    });
    match ranges.is_empty() {
        true => "-".to_owned(),
        false => words.collect::<Vec<_>>().join(","),
    }
}

fn part_words(part: u64, total: u64) -> String {
    percent(part as f64 / total.max(1) as f64)
}

#[cfg(test)]
mod tests {
    use super::context_list;

    #[test]
    fn contexts_are_ranges() {
        for (contexts, expect) in [
            (&[][..], "-"),
            (&[3], "3"),
            (&[0, 1, 2, 3, 7], "0-3,7"),
            (&[0, 2, 4, 6, 8], "5 of them"),
            (&[65534, 65535], "65534-65535"),
        ] {
            assert_eq!(context_list(contexts), expect);
        }
    }
}
