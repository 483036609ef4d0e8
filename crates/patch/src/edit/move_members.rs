//! Moves members: whole lines, with the comments that belong to them and the `#if` groups that
//! hold nothing else.

use super::block::{Block, Shared, is_heading, lines_between};
use super::conditional::{Around, around};
use super::gap::{Gap, gap};
use super::situation::Situation;
use super::spacing::{Spacing, blank_lines_above, blank_lines_below, closes_body, opens_body};
use super::split;
use super::unit::Unit;
use super::{border, comment, groups, kernel_doc, one_line};
use crate::body::{Body, Item};
use crate::change::{Change, Position};
use crate::condition::{self, Term};
use crate::declarator::What;
use crate::find::{Definition, File};
use crate::lex::Kind;
use crate::lines::{line_start, newline, next_line};
use crate::refusal::Refusal;

/// What is to be moved where.
#[derive(Clone, Copy)]
pub(crate) struct Move<'a> {
    pub members: &'a [String],
    pub to: &'a Position,
    pub spacing: Option<Spacing>,
    pub reason: Option<&'a str>,
}

/// The text with the members moved.
pub(crate) fn apply(
    file: &File<'_>,
    definition: &Definition,
    asked: Move<'_>,
) -> Result<String, Refusal> {
    if asked.members.is_empty() {
        return Err(Refusal::NoMembers);
    }
    if let Some(at) = definition.packed(file) {
        return Err(Refusal::Packed {
            name: definition.name.clone(),
            place: file.place(at),
        });
    }
    let prepared = prepare(file, definition, asked)?;
    let file = File::new(file.name, &prepared.text);
    let definition = file.definition_at(definition)?;
    let new = on_lines(&file, &definition, asked, prepared.comments_stay)?;
    let fold = |line| one_line::fold(&File::new(file.name, &new), &definition, line);
    Ok(prepared.line.as_ref().and_then(fold).unwrap_or(new))
}

/// A text in which nothing that has to be taken apart is in the way of a move.
pub(crate) struct Prepared {
    pub text: String,
    /// What puts together again what was taken apart, in this order.
    pub joins: Vec<Change>,
    /// Comments above what moves are about what stays as well.
    pub comments_stay: bool,
    /// The line that all of the body was on.
    line: Option<one_line::Line>,
}

/// Takes apart the line, the declarations and the `#if` groups that a move takes a part of, or comes into the middle of.
pub(crate) fn prepare(
    file: &File<'_>,
    definition: &Definition,
    asked: Move<'_>,
) -> Result<Prepared, Refusal> {
    let mut done = Prepared {
        text: file.source.to_owned(),
        joins: Vec::new(),
        comments_stay: false,
        line: None,
    };
    // What is not found is refused below.
    let path = definition.members(file, &asked.members[0]);
    let path = path.ok().and_then(|mut paths| paths.pop());
    if let Some(unfolded) = path.and_then(|path| one_line::unfold(file, definition, path)) {
        (done.text, done.line) = (unfolded.text, Some(unfolded.line));
    }
    let source = done.text.clone();
    let (file, old) = (File::new(file.name, &source), definition);
    let definition = file.definition_at(old)?;
    if let Some(apart) = split::apart(&file, &definition, asked.members, asked.to)? {
        let whole = apart.whole.into_iter();
        done = Prepared {
            text: apart.text,
            joins: whole.map(|text| Change::Join { text }).collect(),
            comments_stay: apart.first_moves,
            ..done
        };
    }
    let file = File::new(file.name, &done.text);
    let definition = file.definition_at(old)?;
    let plan = Plan::new(&file, &definition, asked, done.comments_stay);
    let Err(refusal @ Refusal::ConditionalGroup { .. }) = plan.map(|_| ()) else {
        return Ok(done);
    };
    let apart = groups::apart(&file, &definition, asked)?.ok_or(refusal)?;
    Ok(Prepared {
        text: apart.text,
        joins: [apart.joins, done.joins].concat(),
        ..done
    })
}

/// The blank lines that a move back has to leave: as they are in `file`, before the move.
pub(crate) fn spacing_before(
    file: &File<'_>,
    definition: &Definition,
    asked: Move<'_>,
    comments_stay: bool,
) -> Result<Spacing, Refusal> {
    let plan = Plan::new(file, definition, asked, comments_stay)?;
    let (above, below) = plan.blank_lines(file);
    let at = plan.gap.target;
    Ok(Spacing {
        above,
        below,
        left: blank_lines_above(file.source, at) + blank_lines_below(file.source, at),
    })
}

/// Moves what is declared on lines of its own. `comments_stay`: those above are not only about it.
fn on_lines(
    file: &File<'_>,
    definition: &Definition,
    asked: Move<'_>,
    comments_stay: bool,
) -> Result<String, Refusal> {
    let plan = Plan::new(file, definition, asked, comments_stay)?;
    let new = plan.splice(file, asked)?;
    plan.check(file, definition, &new)?;
    kernel_doc::follow(file, definition, &new)
}

/// A move that has been found legal.
struct Plan<'a> {
    body: &'a Body,
    unit: Unit,
    around: Around,
    block: Block,
    gap: Gap,
}

impl<'a> Plan<'a> {
    fn new(
        file: &File<'_>,
        definition: &'a Definition,
        asked: Move<'_>,
        comments_stay: bool,
    ) -> Result<Self, Refusal> {
        let at = Situation::new(file, definition, asked)?;
        let member = asked.members[0].as_str();
        let Situation {
            body,
            unit,
            anchor,
            to,
        } = at;
        let unit_first = body.items[unit.first].first;
        let around = around(file, body, &unit, anchor, &to, member)?;
        let shared = |Shared| Refusal::SharedLine {
            member: member.to_owned(),
            place: file.place(unit_first),
        };
        let items = &body.items[unit.first..=unit.last];
        let mut block = lines_between(file, items, around.first, around.last).map_err(shared)?;
        if comments_stay {
            block.start = block.own;
        }
        let gap = gap(file, body, anchor, &to, around.level, member)?;
        let stays = (unit.first..=unit.last + 1).contains(&gap.before)
            && around.join.is_none()
            && unit.branches(body).len() == around.level
            && anchor.is_none_or(|at| body.items[at].branches.len() == around.level);
        let itself = anchor.is_some_and(|at| (unit.first..=unit.last).contains(&at));
        if itself || (stays && asked.spacing.is_none()) {
            return Err(Refusal::NothingToDo {
                member: member.to_owned(),
                place: file.place(unit_first),
            });
        }
        let plan = Plan {
            body,
            unit,
            around,
            block,
            gap,
        };
        plan.crossings(file, member)?;
        Ok(plan)
    }

    /// Refuses moves over the border of randomised members and into a run of bitfields.
    fn crossings(&self, file: &File<'_>, member: &str) -> Result<(), Refusal> {
        let items = &self.body.items;
        let at = self.gap.before;
        let crossed = match at <= self.unit.first {
            true => &items[at..self.unit.first],
            false => &items[(self.unit.last + 1).min(at)..at],
        };
        if let Some(border) = border::crossed(file, crossed) {
            let upwards = at <= self.unit.first;
            return Err(border::refusal(file, border, member, upwards));
        }
        let bitfield = |index: usize| {
            let outside = !(self.unit.first..=self.unit.last).contains(&index);
            outside
                && items
                    .get(index)
                    .is_some_and(|item| item.what == What::Bitfield)
        };
        if bitfield(at) && at.checked_sub(1).is_some_and(bitfield) {
            return Err(Refusal::BitfieldRun {
                member: member.to_owned(),
                place: file.place(items[at].first),
            });
        }
        Ok(())
    }

    /// Blank lines above and below what moves.
    fn blank_lines(&self, file: &File<'_>) -> (usize, usize) {
        (
            blank_lines_above(file.source, self.block.start),
            blank_lines_below(file.source, self.block.end),
        )
    }

    /// Cuts the block out and puts it in where it goes.
    fn splice(&self, file: &File<'_>, asked: Move<'_>) -> Result<String, Refusal> {
        let (source, block) = (file.source, &self.block);
        let eol = newline(source);
        let lines = self.lines(file, asked.reason)?;
        let (above, below) = self.blank_lines(file);
        let cut_start = (0..above).fold(block.start, |at, _| line_start(source, at - 1));
        let cut_end = (0..below).fold(block.end, |at, _| next_line(source, at));
        let inside = self.gap.target >= cut_start && self.gap.target <= cut_end;
        let (gap_start, gap_end) = match inside {
            true => (cut_start, cut_end),
            false => self.gap_bounds(source),
        };
        let gap_above = blank_lines_above(source, self.gap.target);
        let gap_below = blank_lines_below(source, self.gap.target);
        let source_at_edge = opens_body(source, cut_start) || closes_body(source, cut_end);
        let (opens, closes) = (opens_body(source, gap_start), closes_body(source, gap_end));
        let spacing = asked.spacing.unwrap_or_else(|| {
            let paragraph = block.start < block.own && above > 0;
            Spacing::by_style(
                (above, below),
                source_at_edge,
                (gap_above, gap_below),
                (paragraph, is_heading(&source[block.start..block.own])),
                (opens, closes),
            )
        });
        let blank = |lines: usize| eol.repeat(lines);
        let put = [blank(spacing.above), lines, blank(spacing.below)].concat();
        let left = blank(spacing.left);
        let (first, second, put, left) = match (inside, gap_start < cut_start) {
            (true, _) => (
                (cut_start, cut_start),
                (cut_start, cut_end),
                String::new(),
                put,
            ),
            (_, true) => ((gap_start, gap_end), (cut_start, cut_end), put, left),
            (_, false) => ((cut_start, cut_end), (gap_start, gap_end), left, put),
        };
        Ok([
            &source[..first.0],
            &put,
            &source[first.1..second.0],
            &left,
            &source[second.1..],
        ]
        .concat())
    }

    /// From the first blank line around the target to behind the last.
    fn gap_bounds(&self, source: &str) -> (usize, usize) {
        let at = self.gap.target;
        let start = (0..blank_lines_above(source, at)).fold(at, |at, _| line_start(source, at - 1));
        let end = (0..blank_lines_below(source, at)).fold(at, |at, _| next_line(source, at));
        (start, end)
    }

    /// The lines that are put in: with the reason, and the conditional where it leaves its own.
    fn lines(&self, file: &File<'_>, reason: Option<&str>) -> Result<String, Refusal> {
        let (source, block) = (file.source, &self.block);
        let item = &self.body.items[self.unit.first];
        let (from, to) = match self.around.join {
            Some((from, to)) => (from, to),
            None => (block.start, block.end),
        };
        let own = block.own.max(from);
        let mut text = source[from..own].to_owned();
        if let Some(reason) = reason {
            let first = file.tokens[item.first].start;
            let indent = &source[line_start(source, first)..first];
            let name = item.names.first().map_or("", String::as_str);
            text += &comment::render(source, indent, &[reason], name)?;
        }
        text += &source[own..to];
        if !text.ends_with('\n') {
            text += newline(source);
        }
        Ok(match &self.around.again {
            Some((above, below)) => format!("{above}{text}{below}"),
            None => text,
        })
    }

    /// Reads the result back: the same statements in the new order, all else in place.
    fn check(&self, file: &File<'_>, definition: &Definition, new: &str) -> Result<(), Refusal> {
        let wrong = || Refusal::NotAsIntended {
            name: definition.name.clone(),
            place: definition.place.clone(),
        };
        let mut expect = statements(file, self.body);
        let moved: Vec<_> = expect.drain(self.unit.first..=self.unit.last).collect();
        let at = match self.gap.before > self.unit.last {
            true => self.gap.before - moved.len(),
            false => self.gap.before.min(self.unit.first),
        };
        expect.splice(at..at, moved);

        let new_file = File::new(file.name, new);
        let new_definition = new_file.definition_at(definition).map_err(|_| wrong())?;
        // Items of outer bodies keep their indexes: only this body changed.
        let new_body = new_definition.body_of(&self.unit.path());
        match statements(&new_file, new_body) == expect {
            true => Ok(()),
            false => Err(wrong()),
        }
    }
}

/// Each statement's code with the conditions that it stands under.
pub(crate) fn statements(file: &File<'_>, body: &Body) -> Vec<(Option<Vec<Term>>, String)> {
    let words = |item: &Item| {
        let code = file.tokens[item.first..=item.last]
            .iter()
            .filter(|token| token.kind != Kind::Comment);
        let words: Vec<&str> = code.map(|token| token.text(file.source)).collect();
        let conditions = condition::of_branches(file, body, &item.branches);
        (conditions, words.join(" "))
    };
    body.items.iter().map(words).collect()
}
