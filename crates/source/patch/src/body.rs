//! The body of a struct as statements, with the `#if` groups that they stand in.

use crate::declarator::{StatementKind, is_attribute, is_keyword};
use crate::lex::{TokenIndex, TokenKind};
use crate::tokenized::TokenizedFile;

/// Prefix of the macros that mark a group of members of one cache line.
pub(crate) const GROUP_MARKS: &str = "__cacheline_group_";

/// Depth of nested bodies that is read; deeper bodies count as not understood.
const DEPTH_MAX: u32 = 32;

/// A branch of an `#if` group: index of the group in [`BracedBody::groups`], and of the branch.
pub(crate) type IfBranch = (usize, u32);

/// Statements between the braces of a struct, with their `#if` groups.
#[derive(Clone, Debug)]
pub(crate) struct BracedBody {
    /// Token index of the opening brace.
    pub open: TokenIndex,
    /// Token index of the closing brace.
    pub close: TokenIndex,
    pub is_union: bool,
    pub statements: Vec<BodyStatement>,
    pub groups: Vec<IfGroup>,
}

/// A statement of a struct's body.
#[derive(Clone, Debug)]
pub(crate) struct BodyStatement {
    /// Token index of the first token.
    pub first: TokenIndex,
    /// Token index of the last token, mostly the semicolon.
    pub last: TokenIndex,
    /// Members declared by name; empty for anonymous structs. The unnamed member of a tagged struct
    /// is called by that tag: `struct counters`.
    pub names: Vec<String>,
    pub kind: StatementKind,
    /// The `#if` branches around the statement, outermost first.
    pub branches: Vec<IfBranch>,
    /// Body of a nested struct or union, or members of `struct_group()`.
    pub body: Option<Box<BracedBody>>,
    /// Name that `struct_group()` gives to its members, beside their own names.
    pub group_name: Option<String>,
}

impl BodyStatement {
    /// Names of the members, in place of an anonymous struct those of its members.
    pub fn declared_names(&self) -> Vec<String> {
        match (&self.body, self.names.is_empty()) {
            (Some(body), true) => {
                let inner = body.statements.iter();
                inner.flat_map(Self::declared_names).collect()
            }
            _ => self.names.clone(),
        }
    }
}

/// An `#if` with its `#endif`, as token indexes.
#[derive(Clone, Debug)]
pub(crate) struct IfGroup {
    pub start: TokenIndex,
    /// The directives that begin its later branches: `#elif`, `#else`.
    pub else_directives: Vec<TokenIndex>,
    pub end: TokenIndex,
}

/// Token at which a bracket or a conditional cuts through a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BodyCut(pub TokenIndex);

/// Effect of a directive on conditionals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DirectiveKind<'a> {
    If,
    Else,
    Endif,
    /// Any other directive, by its word.
    Other(&'a str),
}

/// Reads the word of a directive.
pub(crate) fn directive_kind(text: &str) -> DirectiveKind<'_> {
    let rest = text.trim_start_matches('#').trim_start();
    let word = rest
        .split(|c: char| !c.is_ascii_alphanumeric() && c != '_')
        .next()
        .unwrap_or("");
    match word {
        "if" | "ifdef" | "ifndef" => DirectiveKind::If,
        "else" | "elif" | "elifdef" | "elifndef" => DirectiveKind::Else,
        "endif" => DirectiveKind::Endif,
        other => DirectiveKind::Other(other),
    }
}

/// Reads the body between the brace tokens `open` and `close`.
pub(crate) fn parse_body(
    file: &TokenizedFile<'_>,
    open: TokenIndex,
    close: TokenIndex,
    is_union: bool,
) -> Result<BracedBody, BodyCut> {
    parse_body_at_depth(file, open, close, is_union, 0)
}

fn parse_body_at_depth(
    file: &TokenizedFile<'_>,
    open: TokenIndex,
    close: TokenIndex,
    is_union: bool,
    depth: u32,
) -> Result<BracedBody, BodyCut> {
    let mut body = BracedBody {
        open,
        close,
        is_union,
        statements: Vec::new(),
        groups: Vec::new(),
    };
    let mut branches: Vec<IfBranch> = Vec::new();
    let mut at = open + 1;
    while at < close {
        let token = file.tokens[at];
        match token.kind {
            TokenKind::Comment => {}
            TokenKind::Directive => read_conditional(file, at, &mut body.groups, &mut branches)?,
            _ if file.text(at) == ";" => {}
            _ => {
                let statement = read_statement(file, at, close, &branches, depth)?;
                at = statement.last;
                body.statements.push(statement);
            }
        }
        at += 1;
    }
    match branches.last() {
        Some(&(group, _)) => Err(BodyCut(body.groups[group].start)),
        None => Ok(body),
    }
}

fn read_conditional(
    file: &TokenizedFile<'_>,
    at: TokenIndex,
    groups: &mut Vec<IfGroup>,
    branches: &mut Vec<IfBranch>,
) -> Result<(), BodyCut> {
    match directive_kind(file.text(at)) {
        DirectiveKind::If => {
            branches.push((groups.len(), 0));
            groups.push(IfGroup {
                start: at,
                else_directives: Vec::new(),
                end: at,
            });
        }
        DirectiveKind::Else => {
            let (group, branch) = branches.last_mut().ok_or(BodyCut(at))?;
            *branch += 1;
            groups[*group].else_directives.push(at);
        }
        DirectiveKind::Endif => {
            let (group, _) = branches.pop().ok_or(BodyCut(at))?;
            groups[group].end = at;
        }
        DirectiveKind::Other(_) => {}
    }
    Ok(())
}

/// Reads the statement that starts at token `first`.
fn read_statement(
    file: &TokenizedFile<'_>,
    first: TokenIndex,
    close: TokenIndex,
    branches: &[IfBranch],
    depth: u32,
) -> Result<BodyStatement, BodyCut> {
    let statement = |last, names, kind, body| BodyStatement {
        first,
        last,
        names,
        kind,
        branches: branches.to_vec(),
        body,
        group_name: None,
    };
    if let Some(found) = read_struct_group(file, first, close, branches, depth) {
        return Ok(found);
    }
    let mut understood = true;
    match recognise_bare_macro(file, first, close) {
        BareMacro::Alone(last, kind) => {
            let names = group_mark_name(file, first).into_iter().collect();
            return Ok(statement(last, names, kind, None));
        }
        BareMacro::Perhaps => understood = false,
        BareMacro::No => {}
    }
    let mut code = Vec::new();
    let mut at = first;
    let mut brace = None;
    let mut balance = 0_i32;
    while at < close && file.text(at) != ";" {
        match file.tokens[at].kind {
            TokenKind::Comment => {}
            TokenKind::Directive => {
                // Conditionals that open or close in the middle of a declaration, and any other
                // directive there, make it one that is not understood.
                understood = false;
                balance += conditionals_opened(file.text(at));
            }
            TokenKind::Punct if matches!(file.text(at), "(" | "[" | "{") => {
                let end = file.pairs[at]
                    .filter(|&end| end < close)
                    .ok_or(BodyCut(at))?;
                understood &= conditionals_balance(file, at, end);
                if file.text(at) == "{" {
                    brace = Some((code.clone(), at, end));
                    code.clear();
                } else {
                    code.extend(at.through(end).filter(|&i| file.is_code(i)));
                }
                at = end;
            }
            _ => code.push(at),
        }
        at += 1;
    }
    if balance != 0 {
        return Err(BodyCut(first));
    }
    let last = at.min(close - 1);
    understood &= at < close;
    let (names, mut kind) = file.read_declaration(&code, brace.is_some());
    let body = brace.and_then(|(head, open, end)| parse_nested_body(file, &head, open, end, depth));
    if let Some(Err(BodyCut(_))) = body {
        understood = false;
    }
    if !understood {
        kind = StatementKind::NotUnderstood;
    }
    Ok(statement(
        last,
        names,
        kind,
        body.and_then(Result::ok).map(Box::new),
    ))
}

/// Number of conditionals that a directive opens; negative when it closes one.
fn conditionals_opened(text: &str) -> i32 {
    match directive_kind(text) {
        DirectiveKind::If => 1,
        DirectiveKind::Endif => -1,
        _ => 0,
    }
}

/// Returns true if every `#if` between two tokens has its `#endif` there.
fn conditionals_balance(file: &TokenizedFile<'_>, from: TokenIndex, to: TokenIndex) -> bool {
    let directives = (from.until(to)).filter(|&at| file.tokens[at].kind == TokenKind::Directive);
    let opened = directives.map(|at| conditionals_opened(file.text(at)));
    let never_below = |open: i32, opened: i32| Some(open + opened).filter(|&open| open >= 0);
    opened.into_iter().try_fold(0, never_below) == Some(0)
}

fn parse_nested_body(
    file: &TokenizedFile<'_>,
    head: &[TokenIndex],
    open: TokenIndex,
    close: TokenIndex,
    depth: u32,
) -> Option<Result<BracedBody, BodyCut>> {
    let has_word = |word| head.iter().any(|&index| file.text(index) == word);
    if !has_word("struct") && !has_word("union") {
        return None;
    }
    if depth >= DEPTH_MAX {
        return Some(Err(BodyCut(open)));
    }
    Some(parse_body_at_depth(
        file,
        open,
        close,
        has_word("union"),
        depth + 1,
    ))
}

/// Reads the kernel's `struct_group(NAME, members)` and its relatives: an anonymous struct whose
/// members have a common name besides.
fn read_struct_group(
    file: &TokenizedFile<'_>,
    first: TokenIndex,
    close: TokenIndex,
    branches: &[IfBranch],
    depth: u32,
) -> Option<BodyStatement> {
    let name_at = match file.text(first) {
        "struct_group" | "struct_group_attr" => 0,
        "struct_group_tagged" | "__struct_group" => 1,
        _ => return None,
    };
    let commas_before_members = match file.text(first) {
        "struct_group" => 1,
        "__struct_group" => 3,
        _ => 2,
    };
    let end = file.arguments_end(first)?;
    let last = end + usize::from(file.text(end + 1) == ";");
    if last >= close || depth >= DEPTH_MAX {
        return None;
    }
    let outside = file.outside_brackets(first + 2, end);
    let commas: Vec<TokenIndex> = outside.filter(|&at| file.text(at) == ",").collect();
    let open = *commas.get(commas_before_members - 1)?;
    let name_end = *commas.get(name_at)?;
    let body = parse_body_at_depth(file, open, end, false, depth + 1).ok()?;
    Some(BodyStatement {
        first,
        last,
        names: Vec::new(),
        kind: StatementKind::Plain,
        branches: branches.to_vec(),
        body: Some(Box::new(body)),
        group_name: Some(file.text(name_end - 1).to_owned()),
    })
}

/// Name of the member that `__cacheline_group_begin(NAME)` and its relatives declare: an array of
/// no bytes.
fn group_mark_name(file: &TokenizedFile<'_>, first: TokenIndex) -> Option<String> {
    let mark = file.text(first).strip_prefix(GROUP_MARKS)?;
    let mark = ["begin", "end"]
        .into_iter()
        .find(|word| mark.starts_with(word))?;
    let group = (file.text(first + 1) == "(").then(|| file.text(first + 2))?;
    Some(format!("{GROUP_MARKS}{mark}__{group}"))
}

enum BareMacro {
    /// A macro without semicolon that ends at this token.
    Alone(TokenIndex, StatementKind),
    /// Possibly a macro: the tokens behind it allow both readings.
    Perhaps,
    No,
}

/// Last token of the attributes behind token `last`; `last` without attributes.
fn end_of_attributes(
    file: &TokenizedFile<'_>,
    mut last: TokenIndex,
    close: TokenIndex,
) -> TokenIndex {
    while last + 1 < close && is_attribute(file.text(last + 1)) {
        last += 1;
        let arguments = file.arguments_end(last).filter(|&end| end < close);
        last = arguments.unwrap_or(last);
    }
    last
}

/// Recognises macros that stand alone on their line without a semicolon.
fn recognise_bare_macro(
    file: &TokenizedFile<'_>,
    first: TokenIndex,
    close: TokenIndex,
) -> BareMacro {
    let name = file.text(first);
    if file.tokens[first].kind != TokenKind::Ident || is_keyword(name) {
        return BareMacro::No;
    }
    if matches!(
        name,
        "randomized_struct_fields_start" | "randomized_struct_fields_end"
    ) {
        return BareMacro::Alone(first, StatementKind::Border);
    }
    if matches!(name, "public" | "private" | "protected") && file.text(first + 1) == ":" {
        return BareMacro::Alone(first + 1, StatementKind::Border);
    }
    let last = file.arguments_end(first).unwrap_or(first);
    // Members of a group must stay in it: assertions elsewhere say so.
    if name.starts_with(GROUP_MARKS) {
        let last = end_of_attributes(file, last, close);
        let semicolon = file.text(last + 1) == ";" && last + 1 < close;
        return BareMacro::Alone(last + usize::from(semicolon), StatementKind::Border);
    }
    let Some(next) = (last + 1)
        .until(close)
        .find(|&index| file.tokens[index].kind != TokenKind::Comment)
    else {
        return BareMacro::Alone(last, StatementKind::Macro);
    };
    let between = &file.source[file.tokens[last].end..file.tokens[next].start];
    if !between.contains('\n') || file.tokens[next].kind == TokenKind::Punct {
        return BareMacro::No;
    }
    let is_upper_case = name
        .chars()
        .all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_');
    if is_upper_case {
        BareMacro::Alone(last, StatementKind::Macro)
    } else {
        BareMacro::Perhaps
    }
}
