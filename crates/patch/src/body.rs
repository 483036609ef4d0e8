//! The body of a struct as statements, with the `#if` groups that they stand in.

use crate::declarator::{Reader, What, is_attribute, is_keyword};
use crate::lex::Kind;

/// What the macros begin with between which members stand that are to be on the same lines.
pub(crate) const GROUP_MARKS: &str = "__cacheline_group_";

/// Nesting that is followed inwards; deeper bodies count as not understood.
const DEPTH_MAX: u32 = 32;

/// One branch of one `#if` group: the group's index in [`Body::groups`], and the branch.
pub(crate) type Branch = (usize, u32);

/// What stands between the braces.
#[derive(Clone, Debug)]
pub(crate) struct Body {
    /// Token index of the opening brace.
    pub open: usize,
    /// Token index of the closing brace.
    pub close: usize,
    pub is_union: bool,
    pub items: Vec<Item>,
    pub groups: Vec<Group>,
}

/// One statement.
#[derive(Clone, Debug)]
pub(crate) struct Item {
    /// Token index of the first token.
    pub first: usize,
    /// Token index of the last one, mostly the semicolon.
    pub last: usize,
    /// Members declared by name; empty for anonymous structs.
    pub names: Vec<String>,
    pub what: What,
    /// The `#if` branches it stands in, outermost first.
    pub branches: Vec<Branch>,
    /// The body of a nested struct or union, or what `struct_group()` holds.
    pub body: Option<Box<Body>>,
    /// The name that `struct_group()` gives to its members, which have their own names as well.
    pub group_name: Option<String>,
}

/// An `#if` with its `#endif`, as token indexes.
#[derive(Clone, Debug)]
pub(crate) struct Group {
    pub start: usize,
    /// The directives with which its later branches begin: `#elif`, `#else`.
    pub elses: Vec<usize>,
    pub end: usize,
}

/// The token at which brackets or conditionals cut through a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Cut(pub usize);

/// What a directive does to conditionals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Directive<'a> {
    If,
    Else,
    Endif,
    /// Any other, by its word.
    Other(&'a str),
}

/// Reads the word of a directive.
pub(crate) fn directive(text: &str) -> Directive<'_> {
    let rest = text.trim_start_matches('#').trim_start();
    let word = rest
        .split(|c: char| !c.is_ascii_alphanumeric() && c != '_')
        .next()
        .unwrap_or("");
    match word {
        "if" | "ifdef" | "ifndef" => Directive::If,
        "else" | "elif" | "elifdef" | "elifndef" => Directive::Else,
        "endif" => Directive::Endif,
        other => Directive::Other(other),
    }
}

/// Reads the body between the brace tokens `open` and `close`.
pub(crate) fn parse(
    reader: &Reader<'_>,
    open: usize,
    close: usize,
    is_union: bool,
) -> Result<Body, Cut> {
    parse_at_depth(reader, open, close, is_union, 0)
}

fn parse_at_depth(
    reader: &Reader<'_>,
    open: usize,
    close: usize,
    is_union: bool,
    depth: u32,
) -> Result<Body, Cut> {
    let mut body = Body {
        open,
        close,
        is_union,
        items: Vec::new(),
        groups: Vec::new(),
    };
    let mut branches: Vec<Branch> = Vec::new();
    let mut at = open + 1;
    while at < close {
        let token = reader.tokens[at];
        match token.kind {
            Kind::Comment => {}
            Kind::Directive => conditional(reader, at, &mut body.groups, &mut branches)?,
            _ if reader.text(at) == ";" => {}
            _ => {
                let item = statement(reader, at, close, &branches, depth)?;
                at = item.last;
                body.items.push(item);
            }
        }
        at += 1;
    }
    match branches.last() {
        Some(&(group, _)) => Err(Cut(body.groups[group].start)),
        None => Ok(body),
    }
}

fn conditional(
    reader: &Reader<'_>,
    at: usize,
    groups: &mut Vec<Group>,
    branches: &mut Vec<Branch>,
) -> Result<(), Cut> {
    match directive(reader.text(at)) {
        Directive::If => {
            branches.push((groups.len(), 0));
            groups.push(Group {
                start: at,
                elses: Vec::new(),
                end: at,
            });
        }
        Directive::Else => {
            let (group, branch) = branches.last_mut().ok_or(Cut(at))?;
            *branch += 1;
            groups[*group].elses.push(at);
        }
        Directive::Endif => {
            let (group, _) = branches.pop().ok_or(Cut(at))?;
            groups[group].end = at;
        }
        Directive::Other(_) => {}
    }
    Ok(())
}

/// Reads the statement that starts at token `first`.
fn statement(
    reader: &Reader<'_>,
    first: usize,
    close: usize,
    branches: &[Branch],
    depth: u32,
) -> Result<Item, Cut> {
    let item = |last, names, what, body| Item {
        first,
        last,
        names,
        what,
        branches: branches.to_vec(),
        body,
        group_name: None,
    };
    if let Some(found) = struct_group(reader, first, close, branches, depth) {
        return Ok(found);
    }
    let mut sure = true;
    match bare_macro(reader, first, close) {
        Bare::Item(last, what) => {
            let names = marker(reader, first).into_iter().collect();
            return Ok(item(last, names, what, None));
        }
        Bare::Perhaps => sure = false,
        Bare::No => {}
    }
    let mut code = Vec::new();
    let mut at = first;
    let mut brace = None;
    let mut balance = 0_i32;
    while at < close && reader.text(at) != ";" {
        match reader.tokens[at].kind {
            Kind::Comment => {}
            Kind::Directive => {
                // Conditionals that open or close in the middle of a declaration, and any other
                // directive there, make it one that is not understood.
                sure = false;
                balance += opens(reader.text(at));
            }
            Kind::Punct if matches!(reader.text(at), "(" | "[" | "{") => {
                let end = reader.pairs[at].filter(|&end| end < close).ok_or(Cut(at))?;
                sure &= conditionals_balance(reader, at, end);
                if reader.text(at) == "{" {
                    brace = Some((code.clone(), at, end));
                    code.clear();
                } else {
                    code.extend((at..=end).filter(|&i| is_code(reader, i)));
                }
                at = end;
            }
            _ => code.push(at),
        }
        at += 1;
    }
    if balance != 0 {
        return Err(Cut(first));
    }
    let last = at.min(close - 1);
    sure &= at < close;
    let (names, mut what) = reader.declare(&code, brace.is_some());
    let body = brace.and_then(|(head, open, end)| nested(reader, &head, open, end, depth));
    if let Some(Err(Cut(_))) = body {
        sure = false;
    }
    if !sure {
        what = What::Unsure;
    }
    Ok(item(
        last,
        names,
        what,
        body.and_then(Result::ok).map(Box::new),
    ))
}

fn is_code(reader: &Reader<'_>, index: usize) -> bool {
    !matches!(reader.tokens[index].kind, Kind::Comment | Kind::Directive)
}

/// Conditionals that a directive opens, negative when it closes one.
fn opens(text: &str) -> i32 {
    match directive(text) {
        Directive::If => 1,
        Directive::Endif => -1,
        _ => 0,
    }
}

/// Whether every `#if` between two tokens has its `#endif` there.
fn conditionals_balance(reader: &Reader<'_>, from: usize, to: usize) -> bool {
    let mut open = 0_i32;
    for at in from..to {
        if reader.tokens[at].kind == Kind::Directive {
            open += opens(reader.text(at));
            if open < 0 {
                return false;
            }
        }
    }
    open == 0
}

fn nested(
    reader: &Reader<'_>,
    head: &[usize],
    open: usize,
    close: usize,
    depth: u32,
) -> Option<Result<Body, Cut>> {
    let has = |word| head.iter().any(|&index| reader.text(index) == word);
    if !has("struct") && !has("union") {
        return None;
    }
    if depth >= DEPTH_MAX {
        return Some(Err(Cut(open)));
    }
    Some(parse_at_depth(reader, open, close, has("union"), depth + 1))
}

/// The kernel's `struct_group(NAME, members)` and its relatives: an anonymous struct whose members
/// can be had together by a name of their own.
fn struct_group(
    reader: &Reader<'_>,
    first: usize,
    close: usize,
    branches: &[Branch],
    depth: u32,
) -> Option<Item> {
    let name_at = match reader.text(first) {
        "struct_group" | "struct_group_attr" => 0,
        "struct_group_tagged" | "__struct_group" => 1,
        _ => return None,
    };
    let commas_before_members = match reader.text(first) {
        "struct_group" => 1,
        "__struct_group" => 3,
        _ => 2,
    };
    let end = (reader.text(first + 1) == "(").then(|| reader.pairs[first + 1])??;
    let last = if reader.text(end + 1) == ";" {
        end + 1
    } else {
        end
    };
    if last >= close || depth >= DEPTH_MAX {
        return None;
    }
    let mut commas = Vec::new();
    let mut at = first + 2;
    while at < end && commas.len() < commas_before_members {
        match reader.pairs[at].filter(|&pair| pair > at) {
            Some(pair) => at = pair,
            None if reader.text(at) == "," => commas.push(at),
            None => {}
        }
        at += 1;
    }
    let open = *commas.get(commas_before_members - 1)?;
    let name_end = *commas.get(name_at)?;
    let body = parse_at_depth(reader, open, end, false, depth + 1).ok()?;
    Some(Item {
        first,
        last,
        names: Vec::new(),
        what: What::Plain,
        branches: branches.to_vec(),
        body: Some(Box::new(body)),
        group_name: Some(reader.text(name_end - 1).to_owned()),
    })
}

/// The member that `__cacheline_group_begin(NAME)` and its relatives declare: an array of no bytes.
fn marker(reader: &Reader<'_>, first: usize) -> Option<String> {
    let mark = reader.text(first).strip_prefix(GROUP_MARKS)?;
    let mark = ["begin", "end"]
        .into_iter()
        .find(|word| mark.starts_with(word))?;
    let group = (reader.text(first + 1) == "(").then(|| reader.text(first + 2))?;
    Some(format!("{GROUP_MARKS}{mark}__{group}"))
}

enum Bare {
    /// A macro without semicolon that ends at this token.
    Item(usize, What),
    /// It may be one: what follows cannot be told apart from it.
    Perhaps,
    No,
}

/// The last token of the attributes behind token `last`, or that itself.
fn behind_attributes(reader: &Reader<'_>, mut last: usize, close: usize) -> usize {
    while last + 1 < close && is_attribute(reader.text(last + 1)) {
        last += 1;
        let arguments = (reader.text(last + 1) == "(").then(|| reader.pairs[last + 1]);
        last = arguments
            .flatten()
            .filter(|&end| end < close)
            .unwrap_or(last);
    }
    last
}

/// Recognises macros that stand alone on their line without a semicolon.
fn bare_macro(reader: &Reader<'_>, first: usize, close: usize) -> Bare {
    let name = reader.text(first);
    if reader.tokens[first].kind != Kind::Ident || is_keyword(name) {
        return Bare::No;
    }
    if matches!(
        name,
        "randomized_struct_fields_start" | "randomized_struct_fields_end"
    ) {
        return Bare::Item(first, What::Border);
    }
    if matches!(name, "public" | "private" | "protected") && reader.text(first + 1) == ":" {
        return Bare::Item(first + 1, What::Border);
    }
    let arguments = (reader.text(first + 1) == "(")
        .then(|| reader.pairs[first + 1])
        .flatten();
    let last = arguments.unwrap_or(first);
    // Members of a group must stay in it: assertions elsewhere say so.
    if name.starts_with(GROUP_MARKS) {
        let last = behind_attributes(reader, last, close);
        let semicolon = reader.text(last + 1) == ";" && last + 1 < close;
        return Bare::Item(last + usize::from(semicolon), What::Border);
    }
    let Some(next) = (last + 1..close).find(|&index| reader.tokens[index].kind != Kind::Comment)
    else {
        return Bare::Item(last, What::Macro);
    };
    let between = &reader.source[reader.tokens[last].end..reader.tokens[next].start];
    if !between.contains('\n') || reader.tokens[next].kind == Kind::Punct {
        return Bare::No;
    }
    let shouting = name
        .chars()
        .all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_');
    if shouting {
        Bare::Item(last, What::Macro)
    } else {
        Bare::Perhaps
    }
}
