//! Splits `int a, *b;` into a line for each part that moves or stays.

use crate::body::{BodyStatement, BracedBody};
use crate::change::MemberPosition;
use crate::declarator::{StatementKind, is_attribute};
use crate::find::{StatementPath, StructDefinition};
use crate::lex::{TokenIndex, TokenKind};
use crate::lines::{is_first_on_line, line_ending, line_start};
use crate::refusal::EditRefusal;
use crate::tokenized::TokenizedFile;

use super::kernel_doc;
use super::unit::last_name;

/// A text with declarations split.
pub(crate) struct SplitDeclarations {
    pub text: String,
    /// The declarations before the split.
    pub originals: Vec<String>,
    /// True if a first declarator moves: the comment above the declaration is about all, and
    /// stays.
    pub first_moves: bool,
}

/// Returns the text with every declaration split of which `members` are a part, or whose middle
/// they go into; `None` if there is none.
pub(crate) fn split_declarations(
    file: &TokenizedFile<'_>,
    definition: &StructDefinition,
    members: &[String],
    to: &MemberPosition,
) -> Result<Option<SplitDeclarations>, EditRefusal> {
    let mut cuts = cut_declarations(definition, file, members, to);
    let first_moves = cuts.iter().any(|(_, cuts, _)| cuts.moves[0]);
    if cuts.is_empty() {
        return Ok(None);
    }
    let refused = EditRefusal::SharedDeclaration {
        member: cuts[0].2.clone(),
        place: file.place(definition.statement(&cuts[0].0).first),
    };
    // From the back, so that places before stay what they are.
    cuts.sort_by_key(|(path, ..)| std::cmp::Reverse(definition.statement(path).first));
    let mut text = file.source.to_owned();
    let mut originals = Vec::new();
    for (path, cuts, member) in cuts {
        let statement = definition.statement(&path);
        let pieces = declaration_pieces(file, statement, &cuts).ok_or_else(|| {
            EditRefusal::SharedDeclaration {
                member,
                place: file.place(statement.first),
            }
        })?;
        let (start, end) = (
            file.tokens[statement.first].start,
            file.tokens[statement.last].end,
        );
        originals.push(file.source[start..end].to_owned());
        let end = end + trailing_comment(file, statement.last).len();
        let indent = &file.source[line_start(file.source, start)..start];
        let line_break = format!("{}{indent}", line_ending(file.source));
        let lines: Vec<String> = { pieces.iter() }
            .map(|piece| [piece.text.as_str(), piece.comment].concat())
            .collect();
        text.replace_range(start..end, &lines.join(&line_break));
    }
    // A word before a later name may be a macro that stands for nothing alone.
    let names = |body: &BracedBody| {
        let mut names = Vec::new();
        kernel_doc::list_member_names(body, "", &mut names);
        names
    };
    let read = TokenizedFile::new(file.name, &text).find_same_definition(definition);
    if !read.is_ok_and(|read| names(&read.body) == names(&definition.body)) {
        return Err(refused);
    }
    Ok(Some(SplitDeclarations {
        text,
        originals,
        first_moves,
    }))
}

/// The declarations to split, each with its cuts and one of the members that are concerned.
fn cut_declarations(
    definition: &StructDefinition,
    file: &TokenizedFile<'_>,
    members: &[String],
    to: &MemberPosition,
) -> Vec<(StatementPath, DeclarationCuts, String)> {
    let (anchor, behind, before) = match to {
        MemberPosition::First | MemberPosition::Last => (None, None, None),
        MemberPosition::After(name) => (Some(name), Some(last_name(name)), None),
        MemberPosition::Before(name) | MemberPosition::Below(name) => {
            (Some(name), None, Some(last_name(name)))
        }
    };
    let mut cuts: Vec<(StatementPath, DeclarationCuts, String)> = Vec::new();
    for member in members.iter().chain(anchor) {
        // What is not found is the move's to refuse.
        for path in definition.find_members(file, member).unwrap_or_default() {
            let statement = definition.statement(&path);
            if statement.names.len() < 2 || cuts.iter().any(|(known, ..)| *known == path) {
                continue;
            }
            let moves: Vec<bool> = statement
                .names
                .iter()
                .map(|name| members.iter().any(|member| last_name(member) == name))
                .collect();
            let cut = |&index: &usize| {
                moves[index] != moves[index - 1]
                    || Some(statement.names[index - 1].as_str()) == behind
                    || Some(statement.names[index].as_str()) == before
            };
            let at: Vec<usize> = (1..statement.names.len()).filter(cut).collect();
            if !at.is_empty() {
                cuts.push((path, DeclarationCuts { before: at, moves }, member.clone()));
            }
        }
    }
    cuts
}

/// Returns the text with the statements that declare the members of `text` joined to `text`.
pub(crate) fn join_declarations(
    file: &TokenizedFile<'_>,
    definition: &StructDefinition,
    text: &str,
) -> Result<String, EditRefusal> {
    let refused = |token| EditRefusal::NotJoined {
        text: text.to_owned(),
        place: file.place(token),
    };
    let at = definition.body.open;
    let wanted = read_single_declarations(text).ok_or_else(|| refused(at))?;
    let mut paths: Vec<StatementPath> = Vec::new();
    for declaration in &wanted {
        let path = definition.find_member(file, &declaration.name)?;
        if !paths.contains(&path) {
            paths.push(path);
        }
    }
    paths.sort_by_key(|path| path.statement);
    let statements: Vec<&BodyStatement> = paths
        .iter()
        .map(|path| definition.statement(path))
        .collect();
    let (first, last) = (statements[0], statements[statements.len() - 1]);
    let together = paths
        .windows(2)
        .all(|pair| pair[0].bodies == pair[1].bodies && pair[0].statement + 1 == pair[1].statement)
        && statements
            .iter()
            .all(|statement| statement.branches == first.branches);
    if statements.len() < 2 || !together {
        return Err(refused(first.first));
    }
    let mut declarations: Vec<SingleDeclaration> = Vec::new();
    for (nth, statement) in statements.iter().enumerate() {
        let (start, end) = (
            file.tokens[statement.first].start,
            file.tokens[statement.last].end,
        );
        declarations.extend(
            read_single_declarations(&file.source[start..end])
                .ok_or_else(|| refused(first.first))?,
        );
        let comment = trailing_comment(file, statement.last);
        let next = statements
            .get(nth + 1)
            .map(|next| file.tokens[next.first].start);
        let rest = next.map_or("", |next| file.source[end + comment.len()..next].trim());
        match declarations.last_mut().filter(|_| rest.is_empty()) {
            Some(last_declaration) => last_declaration.comment = comment.to_owned(),
            None => return Err(refused(first.first)),
        }
    }
    let Some(comment) = left_over_comment(wanted, declarations) else {
        return Err(refused(first.first));
    };
    let start = file.tokens[first.first].start;
    let end = file.tokens[last.last].end + trailing_comment(file, last.last).len();
    Ok([&file.source[..start], text, &comment, &file.source[end..]].concat())
}

/// The only comment of `declared` that `wanted` lacks, possibly empty; `None` if the two declare
/// different members.
fn left_over_comment(
    mut wanted: Vec<SingleDeclaration>,
    mut declared: Vec<SingleDeclaration>,
) -> Option<String> {
    let order = |a: &SingleDeclaration, b: &SingleDeclaration| {
        (&a.name, &a.words).cmp(&(&b.name, &b.words))
    };
    wanted.sort_by(order);
    declared.sort_by(order);
    let same = wanted.len() == declared.len() && { wanted.iter().zip(&declared) }
        .all(|(a, b)| order(a, b).is_eq());
    let differ = wanted
        .into_iter()
        .zip(declared)
        .filter(|(wanted, declared)| wanted.comment.trim() != declared.comment.trim());
    let mut differ = differ.collect::<Vec<_>>().into_iter();
    match (same, differ.next(), differ.next()) {
        (true, None, _) => Some(String::new()),
        (true, Some((wanted, declared)), None) if wanted.comment.is_empty() => {
            Some(declared.comment)
        }
        _ => None,
    }
}

/// A member of a declaration of several.
struct SingleDeclaration {
    name: String,
    /// Words that declare the member alone.
    words: String,
    /// Comment behind the member, with the white space before it.
    comment: String,
}

/// Members of a plain declaration; `None` for others.
fn read_single_declarations(text: &str) -> Option<Vec<SingleDeclaration>> {
    let source = format!("struct s {{\n{text}\n}};\n");
    let file = TokenizedFile::new("", &source);
    let definition = file.find_definition("s", None).ok()?;
    let [statement] = &definition.body.statements[..] else {
        return None;
    };
    let body = &definition.body;
    let whole = (statement.first, statement.last + 1) == (body.open + 1, body.close);
    // The bracket and the semicolon from here end it, and none of `text`.
    if !whole || body.close + 2 != file.tokens.end() {
        return None;
    }
    let pieces = match statement.names.len() {
        0 => return None,
        1 => vec![DeclarationPiece {
            text: text.to_owned(),
            comment: "",
        }],
        count => {
            let cuts = DeclarationCuts {
                before: (1..count).collect(),
                moves: vec![false; count],
            };
            declaration_pieces(&file, statement, &cuts)?
        }
    };
    let words = |piece: &str| {
        let tokens = crate::lex::lex(piece);
        let words: Vec<&str> = tokens.iter().map(|token| token.text(piece)).collect();
        words.join(" ")
    };
    let members = statement
        .names
        .iter()
        .zip(&pieces)
        .map(|(name, piece)| SingleDeclaration {
            name: name.clone(),
            words: words(&piece.text),
            comment: piece.comment.to_owned(),
        });
    Some(members.collect())
}

/// Cuts of one declaration.
struct DeclarationCuts {
    /// Numbers of the declarators with a cut in front of them.
    before: Vec<usize>,
    /// True for each declarator that moves.
    moves: Vec<bool>,
}

/// Comment behind token `last`, with the white space before it.
fn trailing_comment<'a>(file: &TokenizedFile<'a>, last: TokenIndex) -> &'a str {
    let end = file.tokens[last].end;
    let comment = file.tokens.get(last + 1);
    let comment = comment.filter(|token| token.kind == TokenKind::Comment);
    let text = comment.map_or("", |token| &file.source[end..token.end]);
    if text.contains('\n') { "" } else { text }
}

/// A part of a declaration as a declaration of its own, and the comment behind it with the white
/// space before.
struct DeclarationPiece<'a> {
    text: String,
    comment: &'a str,
}

/// Parts of the declaration, each with the declarators from one cut to the next. A comment behind
/// a comma is about the declarator before it. A comment behind the declaration is about the last
/// declarator if others have comments; otherwise it is about all, and stays with a part that
/// stays.
fn declaration_pieces<'a>(
    file: &TokenizedFile<'a>,
    statement: &BodyStatement,
    cuts: &DeclarationCuts,
) -> Option<Vec<DeclarationPiece<'a>>> {
    let source = file.source;
    let plain = matches!(
        statement.kind,
        StatementKind::Plain | StatementKind::Bitfield
    ) && statement.body.is_none();
    let start = file.tokens[statement.first].start;
    if !plain || !is_first_on_line(source, start) {
        return None;
    }
    let outside = file.outside_brackets(statement.first, statement.last);
    let commas: Vec<TokenIndex> = outside.filter(|&at| file.text(at) == ",").collect();
    if commas.len() + 1 != statement.names.len() {
        return None;
    }
    let comment_behind = |comma: &TokenIndex| trailing_comment(file, *comma);
    let has_comments_at_commas = commas.iter().any(|comma| !comment_behind(comma).is_empty());
    let is_other_comment = |at: &TokenIndex| match file.tokens[*at].kind {
        TokenKind::Comment => !commas.contains(&(*at - 1)) || comment_behind(&(*at - 1)).is_empty(),
        kind => kind == TokenKind::Directive,
    };
    if statement
        .first
        .until(statement.last)
        .any(|at| is_other_comment(&at))
    {
        return None;
    }
    let first = first_declarator(file, statement, commas[0])?;
    let specifiers = &source[start..file.tokens[first].start];
    let bounds: Vec<usize> = std::iter::once(0)
        .chain(cuts.before.iter().copied())
        .chain([statement.names.len()])
        .collect();
    let begin = |index: usize| match index {
        0 => first,
        _ => commas[index - 1] + 1 + usize::from(!comment_behind(&commas[index - 1]).is_empty()),
    };
    let stays = match has_comments_at_commas {
        true => Some(bounds.len() - 2),
        false => (0..bounds.len() - 1).rfind(|&piece| !cuts.moves[bounds[piece]]),
    };
    let lines = bounds.windows(2).enumerate().map(|(piece, range)| {
        let end = commas.get(range[1] - 1).copied().unwrap_or(statement.last);
        let text = &source[file.tokens[begin(range[0])].start..file.tokens[end - 1].end];
        DeclarationPiece {
            text: format!("{specifiers}{text};"),
            comment: match (end == statement.last, Some(piece) == stays) {
                (false, false) => comment_behind(&end),
                (_, true) => trailing_comment(file, statement.last),
                (true, false) => "",
            },
        }
    });
    Some(lines.collect())
}

/// First token of the first declarator: its name, or the first star before that.
fn first_declarator(
    file: &TokenizedFile<'_>,
    statement: &BodyStatement,
    comma: TokenIndex,
) -> Option<TokenIndex> {
    let name = statement.first.until(comma).find(|&at| {
        file.text(at) == statement.names[0] && matches!(file.text(at + 1), "," | "[" | ":" | ";")
    })?;
    let stars = statement.first.until(name).rev().take_while(|&at| {
        let text = file.text(at);
        matches!(text, "*" | "const" | "volatile" | "restrict") || is_attribute(text)
    });
    let first = stars.filter(|&at| file.text(at) == "*").last();
    let from = first.unwrap_or(name);
    // `int (*f)(void), x;` has its type on both sides of the name.
    let brackets = from.until(comma).any(|at| file.text(at) == "(");
    (from > statement.first && !brackets).then_some(from)
}
