//! Moves of members: whole lines, with the comments that belong to them and the `#if` groups that
//! hold nothing else.

use super::block::{LineBlock, StatementSharesLine, is_heading_comment, lines_of_statements};
use super::conditional::{ConditionalsPlan, plan_conditionals};
use super::gap::{InsertionGap, find_gap};
use super::situation::MoveSituation;
use super::split;
use super::unit::MovedUnit;
use super::{border, comment, groups, kernel_doc, one_line};
use crate::body::BracedBody;
use crate::change::{MoveRequest, SourceChange};
use crate::condition::statement_texts;
use crate::declarator::StatementKind;
use crate::find::StructDefinition;
use crate::lines::{line_ending, line_start};
use crate::refusal::EditRefusal;
use crate::spacing::{MoveSpacing, MovedLines};
use crate::tokenized::TokenizedFile;

/// Returns the text with the members moved.
pub(crate) fn move_members(
    file: &TokenizedFile<'_>,
    definition: &StructDefinition,
    request: MoveRequest<'_>,
) -> Result<String, EditRefusal> {
    if request.members.is_empty() {
        return Err(EditRefusal::NoMembers);
    }
    if let Some(at) = definition.packed_token(file) {
        return Err(EditRefusal::Packed {
            name: definition.name.clone(),
            place: file.place(at),
        });
    }
    let prepared = prepare_move(file, definition, request)?;
    let file = TokenizedFile::new(file.name, &prepared.text);
    let definition = file.find_same_definition(definition)?;
    let new = move_lines(&file, &definition, request, prepared.comments_stay)?;
    let fold = |line| one_line::fold_body(&TokenizedFile::new(file.name, &new), &definition, line);
    Ok(prepared.one_line.as_ref().and_then(fold).unwrap_or(new))
}

/// A text in which nothing is left to split for a move.
pub(crate) struct PreparedMove {
    pub text: String,
    /// Changes that join again what was split, in this order.
    pub joins: Vec<SourceChange>,
    /// True if the comments above the moved members are about others too, and stay.
    pub comments_stay: bool,
    /// Form of a body that was on one line.
    one_line: Option<one_line::OneLineBody>,
}

/// Splits the line, the declarations and the `#if` groups that the move takes a part of, or whose
/// middle it goes into.
pub(crate) fn prepare_move(
    file: &TokenizedFile<'_>,
    definition: &StructDefinition,
    request: MoveRequest<'_>,
) -> Result<PreparedMove, EditRefusal> {
    let mut done = PreparedMove {
        text: file.source.to_owned(),
        joins: Vec::new(),
        comments_stay: false,
        one_line: None,
    };
    // What is not found is refused below.
    let path = definition.find_members(file, &request.members[0]);
    let path = path.ok().and_then(|mut paths| paths.pop());
    if let Some(unfolded) = path.and_then(|path| one_line::unfold_body(file, definition, path)) {
        (done.text, done.one_line) = (unfolded.text, Some(unfolded.one_line));
    }
    let source = done.text.clone();
    let (file, old) = (TokenizedFile::new(file.name, &source), definition);
    let definition = file.find_same_definition(old)?;
    if let Some(apart) = split::split_declarations(&file, &definition, request.members, request.to)?
    {
        let whole = apart.originals.into_iter();
        done = PreparedMove {
            text: apart.text,
            joins: whole
                .map(|text| SourceChange::JoinDeclarations { text })
                .collect(),
            comments_stay: apart.first_moves,
            ..done
        };
    }
    let file = TokenizedFile::new(file.name, &done.text);
    let definition = file.find_same_definition(old)?;
    let plan = MovePlan::new(&file, &definition, request, done.comments_stay);
    let Err(refusal @ EditRefusal::ConditionalGroup { .. }) = plan.map(|_| ()) else {
        return Ok(done);
    };
    let apart = groups::split_groups(&file, &definition, request)?.ok_or(refusal)?;
    Ok(PreparedMove {
        text: apart.text,
        joins: [apart.joins, done.joins].concat(),
        ..done
    })
}

/// Blank lines that the inverse move has to leave: those of `file`, before the move.
pub(crate) fn spacing_before(
    file: &TokenizedFile<'_>,
    definition: &StructDefinition,
    request: MoveRequest<'_>,
    comments_stay: bool,
) -> Result<MoveSpacing, EditRefusal> {
    let plan = MovePlan::new(file, definition, request, comments_stay)?;
    let lines = (plan.block.start, plan.block.end);
    Ok(MoveSpacing::before_move(
        file.source,
        lines,
        plan.gap.target,
    ))
}

/// Moves members that are declared on lines of their own. `comments_stay`: the comments above are
/// about others too.
fn move_lines(
    file: &TokenizedFile<'_>,
    definition: &StructDefinition,
    request: MoveRequest<'_>,
    comments_stay: bool,
) -> Result<String, EditRefusal> {
    let plan = MovePlan::new(file, definition, request, comments_stay)?;
    let new = plan.splice(file, request)?;
    plan.validate_result(file, definition, &new)?;
    kernel_doc::reorder_entries(file, definition, &new)
}

/// A legal move.
struct MovePlan<'a> {
    body: &'a BracedBody,
    unit: MovedUnit,
    conditionals: ConditionalsPlan,
    block: LineBlock,
    gap: InsertionGap,
}

impl<'a> MovePlan<'a> {
    fn new(
        file: &TokenizedFile<'_>,
        definition: &'a StructDefinition,
        request: MoveRequest<'_>,
        comments_stay: bool,
    ) -> Result<Self, EditRefusal> {
        let situation = MoveSituation::new(file, definition, request)?;
        let member = request.members[0].as_str();
        let MoveSituation {
            body,
            unit,
            anchor,
            to,
        } = situation;
        let unit_first = body.statements[unit.first].first;
        let conditionals = plan_conditionals(file, body, &unit, anchor, &to, member)?;
        let shared_line = |StatementSharesLine| EditRefusal::SharedLine {
            member: member.to_owned(),
            place: file.place(unit_first),
        };
        let statements = &body.statements[unit.first..=unit.last];
        let mut block =
            lines_of_statements(file, statements, conditionals.first, conditionals.last)
                .map_err(shared_line)?;
        if comments_stay {
            block.start = block.own_start;
        }
        let gap = find_gap(file, body, anchor, &to, conditionals.target_level, member)?;
        let stays = (unit.first..=unit.last + 1).contains(&gap.next_statement)
            && conditionals.joined_inside.is_none()
            && unit.branches(body).len() == conditionals.target_level
            && anchor
                .is_none_or(|at| body.statements[at].branches.len() == conditionals.target_level);
        let beside_itself = anchor.is_some_and(|at| (unit.first..=unit.last).contains(&at));
        if beside_itself || (stays && request.spacing.is_none()) {
            return Err(EditRefusal::NothingToDo {
                member: member.to_owned(),
                place: file.place(unit_first),
            });
        }
        let plan = MovePlan {
            body,
            unit,
            conditionals,
            block,
            gap,
        };
        plan.refuse_crossings(file, member)?;
        Ok(plan)
    }

    /// Refuses moves over a border and into a run of bitfields.
    fn refuse_crossings(&self, file: &TokenizedFile<'_>, member: &str) -> Result<(), EditRefusal> {
        let statements = &self.body.statements;
        let at = self.gap.next_statement;
        let crossed = match at <= self.unit.first {
            true => &statements[at..self.unit.first],
            false => &statements[(self.unit.last + 1).min(at)..at],
        };
        if let Some(border) = border::crossed_border(file, crossed) {
            let upwards = at <= self.unit.first;
            return Err(border::crossing_refusal(file, border, member, upwards));
        }
        let is_bitfield = |index: usize| {
            let outside = !(self.unit.first..=self.unit.last).contains(&index);
            outside
                && statements
                    .get(index)
                    .is_some_and(|statement| statement.kind == StatementKind::Bitfield)
        };
        if is_bitfield(at) && at.checked_sub(1).is_some_and(is_bitfield) {
            return Err(EditRefusal::BitfieldRun {
                member: member.to_owned(),
                place: file.place(statements[at].first),
            });
        }
        Ok(())
    }

    /// Cuts the lines out and inserts them at the target.
    fn splice(
        &self,
        file: &TokenizedFile<'_>,
        request: MoveRequest<'_>,
    ) -> Result<String, EditRefusal> {
        let (source, block) = (file.source, &self.block);
        let moved = MovedLines {
            cut: (block.start, block.end),
            text: self.inserted_lines(file, request.reason)?,
            has_comment: block.start < block.own_start,
            has_heading: is_heading_comment(&source[block.start..block.own_start]),
        };
        Ok(moved.insert_at(source, self.gap.target, request.spacing))
    }

    /// Lines to insert: with the reason, and with the conditional that is written again.
    fn inserted_lines(
        &self,
        file: &TokenizedFile<'_>,
        reason: Option<&str>,
    ) -> Result<String, EditRefusal> {
        let (source, block) = (file.source, &self.block);
        let statement = &self.body.statements[self.unit.first];
        let (from, to) = match self.conditionals.joined_inside {
            Some((from, to)) => (from, to),
            None => (block.start, block.end),
        };
        let own = block.own_start.max(from);
        let mut text = source[from..own].to_owned();
        if let Some(reason) = reason {
            let first = file.tokens[statement.first].start;
            let indent = &source[line_start(source, first)..first];
            let name = statement.names.first().map_or("", String::as_str);
            text += &comment::render_comment(source, indent, &[reason], name)?;
        }
        text += &source[own..to];
        if !text.ends_with('\n') {
            text += line_ending(source);
        }
        Ok(match &self.conditionals.rewritten {
            Some((above, below)) => format!("{above}{text}{below}"),
            None => text,
        })
    }

    /// Reads the result back, and refuses it unless it has the same statements in the new order.
    fn validate_result(
        &self,
        file: &TokenizedFile<'_>,
        definition: &StructDefinition,
        new: &str,
    ) -> Result<(), EditRefusal> {
        let wrong = || EditRefusal::NotAsIntended {
            name: definition.name.clone(),
            place: definition.place.clone(),
        };
        let mut expect = statement_texts(file, self.body);
        let moved: Vec<_> = expect.drain(self.unit.first..=self.unit.last).collect();
        let at = match self.gap.next_statement > self.unit.last {
            true => self.gap.next_statement - moved.len(),
            false => self.gap.next_statement.min(self.unit.first),
        };
        expect.splice(at..at, moved);

        let new_file = TokenizedFile::new(file.name, new);
        let new_definition = new_file
            .find_same_definition(definition)
            .map_err(|_| wrong())?;
        // Items of outer bodies keep their indexes: only this body changed.
        let new_body = new_definition.body_of(&self.unit.path());
        match statement_texts(&new_file, new_body) == expect {
            true => Ok(()),
            false => Err(wrong()),
        }
    }
}
