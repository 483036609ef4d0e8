//! Splits `int a, *b;` into a line for each part that moves or stays.

use crate::body::{BodyStatement, BracedBody};
use crate::change::MemberPosition;
use crate::declarator::{StatementKind, is_attribute};
use crate::find::{StatementPath, StructDefinition};
use crate::lex::TokenIndex;
use crate::refusal::EditRefusal;
use crate::text_edit::apply_edits;
use crate::tokenized::TokenizedFile;

use super::kernel_doc;
use super::shared_declaration::{
    DeclarationPiece, DeclaratorCuts, SharedDeclaration, trailing_comment,
};

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
    let first_moves = cuts.iter().any(|(_, cuts, _)| cuts.first_moves());
    if cuts.is_empty() {
        return Ok(None);
    }
    let refused = EditRefusal::SharedDeclaration {
        member: cuts[0].2.clone(),
        place: file.place(definition.statement(&cuts[0].0).first),
    };
    // The last first, as they are joined again.
    cuts.sort_by_key(|(path, ..)| std::cmp::Reverse(definition.statement(path).first));
    let (mut edits, mut originals) = (Vec::new(), Vec::new());
    for (path, cuts, member) in cuts {
        let statement = definition.statement(&path);
        let split = shared_declaration(file, statement)
            .and_then(|declaration| declaration.split_lines(file, &cuts))
            .ok_or_else(|| EditRefusal::SharedDeclaration {
                member,
                place: file.place(statement.first),
            })?;
        let (start, end) = (
            file.tokens[statement.first].start,
            file.tokens[statement.last].end,
        );
        originals.push(file.source[start..end].to_owned());
        edits.push(split);
    }
    let text = apply_edits(file.source, edits);
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
) -> Vec<(StatementPath, DeclaratorCuts, String)> {
    let mut cuts: Vec<(StatementPath, DeclaratorCuts, String)> = Vec::new();
    for member in members.iter().chain(to.anchor()) {
        // What is not found is the move's to refuse.
        for path in definition.find_members(file, member).unwrap_or_default() {
            let statement = definition.statement(&path);
            if statement.names.len() < 2 || cuts.iter().any(|(known, ..)| *known == path) {
                continue;
            }
            if let Some(found) = DeclaratorCuts::new(&statement.names, members, to) {
                cuts.push((path, found, member.clone()));
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
            let declaration = shared_declaration(&file, statement)?;
            declaration.pieces(&file, &DeclaratorCuts::all(count))?
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

/// Reads a plain declaration of several members; `None` for others.
fn shared_declaration<'b>(
    file: &TokenizedFile<'_>,
    statement: &'b BodyStatement,
) -> Option<SharedDeclaration<'b>> {
    let is_plain = matches!(
        statement.kind,
        StatementKind::Plain | StatementKind::Bitfield
    ) && statement.body.is_none();
    let outside = file.outside_brackets(statement.first, statement.last);
    let commas: Vec<TokenIndex> = outside.filter(|&at| file.text(at) == ",").collect();
    let declarator = first_declarator(file, statement, *commas.first()?)?;
    is_plain.then_some(SharedDeclaration {
        names: &statement.names,
        first: statement.first,
        last: statement.last,
        commas,
        declarator,
    })
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
