//! A declaration of several members, taken apart: `int a, *b;` as `int a;` and `int *b;`.

use super::unit::last_name;
use crate::change::MemberPosition;
use crate::lex::{TokenIndex, TokenKind};
use crate::lines::{is_first_on_line, line_ending, line_start};
use crate::text_edit::TextEdit;
use crate::tokenized::TokenizedFile;

/// Cuts of one declaration.
pub(crate) struct DeclaratorCuts {
    /// Numbers of the declarators with a cut in front of them.
    before: Vec<usize>,
    /// True for each declarator that moves, or gets something of its own.
    moves: Vec<bool>,
}

impl DeclaratorCuts {
    /// Returns the cuts of a declaration of `names` of which `members` move to `to`, or into whose
    /// middle they go; `None` if it stays whole.
    pub fn new(names: &[String], members: &[String], to: &MemberPosition) -> Option<Self> {
        let anchor = to.anchor().map(|name| last_name(name));
        let (behind, before) = match to.is_before() {
            true => (None, anchor),
            false => (anchor, None),
        };
        let is_named = |name: &String| members.iter().any(|member| last_name(member) == name);
        let moves: Vec<bool> = names.iter().map(is_named).collect();
        let is_cut = |&index: &usize| {
            moves[index] != moves[index - 1]
                || Some(names[index - 1].as_str()) == behind
                || Some(names[index].as_str()) == before
        };
        let cuts: Vec<usize> = (1..names.len()).filter(is_cut).collect();
        (!cuts.is_empty()).then_some(Self {
            before: cuts,
            moves,
        })
    }

    /// Returns the cuts between all of `count` declarators.
    pub fn all(count: usize) -> Self {
        Self {
            before: (1..count).collect(),
            moves: vec![false; count],
        }
    }

    /// Returns true if the first declarator moves: a comment above is about all, and stays.
    pub fn first_moves(&self) -> bool {
        self.moves[0]
    }
}

/// A declaration of several members by its tokens.
pub(crate) struct SharedDeclaration<'a> {
    pub names: &'a [String],
    /// First token of the declaration.
    pub first: TokenIndex,
    /// Its semicolon.
    pub last: TokenIndex,
    /// Commas between the declarators.
    pub commas: Vec<TokenIndex>,
    /// First token of the first declarator: its name, or the first star before that.
    pub declarator: TokenIndex,
}

/// A part of a declaration as a declaration of its own, and the comment behind it with the white
/// space before.
pub(crate) struct DeclarationPiece<'a> {
    pub text: String,
    pub comment: &'a str,
}

/// Comment behind token `last`, with the white space before it.
pub(crate) fn trailing_comment<'a>(file: &TokenizedFile<'a>, last: TokenIndex) -> &'a str {
    let end = file.tokens[last].end;
    let comment = file.tokens.get(last + 1);
    let comment = comment.filter(|token| token.kind == TokenKind::Comment);
    let text = comment.map_or("", |token| &file.source[end..token.end]);
    if text.contains('\n') { "" } else { text }
}

impl SharedDeclaration<'_> {
    /// Returns the edit that puts a line for each piece in place of the declaration, with the comment
    /// behind it; `None` where the text has comments or directives that belong
    /// to no piece, or other code is on its first line.
    pub fn split_lines(&self, file: &TokenizedFile<'_>, cuts: &DeclaratorCuts) -> Option<TextEdit> {
        let pieces = self.pieces(file, cuts)?;
        let start = file.tokens[self.first].start;
        let end = file.tokens[self.last].end + trailing_comment(file, self.last).len();
        let indent = &file.source[line_start(file.source, start)..start];
        let line_break = format!("{}{indent}", line_ending(file.source));
        let lines: Vec<String> = { pieces.iter() }
            .map(|piece| [piece.text.as_str(), piece.comment].concat())
            .collect();
        Some(TextEdit {
            bytes: start..end,
            text: lines.join(&line_break),
        })
    }

    /// Returns the parts of the declaration, each with the declarators from one cut to the next. A
    /// comment behind a comma is about the declarator before it. A comment behind the declaration
    /// is about the last declarator if others have comments; otherwise it is about all, and stays
    /// with a part that stays.
    pub fn pieces<'t>(
        &self,
        file: &TokenizedFile<'t>,
        cuts: &DeclaratorCuts,
    ) -> Option<Vec<DeclarationPiece<'t>>> {
        let source = file.source;
        let start = file.tokens[self.first].start;
        let commas = &self.commas;
        let is_whole = commas.len() + 1 == self.names.len();
        if !is_whole || !is_first_on_line(source, start) || self.has_other_comments(file) {
            return None;
        }
        let comment_behind = |comma: TokenIndex| trailing_comment(file, comma);
        let has_comments_at_commas =
            { commas.iter() }.any(|&comma| !comment_behind(comma).is_empty());
        let specifiers = &source[start..file.tokens[self.declarator].start];
        let bounds: Vec<usize> = std::iter::once(0)
            .chain(cuts.before.iter().copied())
            .chain([self.names.len()])
            .collect();
        let begin = |index: usize| match index {
            0 => self.declarator,
            _ => commas[index - 1] + 1 + usize::from(!comment_behind(commas[index - 1]).is_empty()),
        };
        let stays = match has_comments_at_commas {
            true => Some(bounds.len() - 2),
            false => (0..bounds.len() - 1).rfind(|&piece| !cuts.moves[bounds[piece]]),
        };
        let pieces = bounds.windows(2).enumerate().map(|(piece, range)| {
            let end = commas.get(range[1] - 1).copied().unwrap_or(self.last);
            let text = &source[file.tokens[begin(range[0])].start..file.tokens[end - 1].end];
            DeclarationPiece {
                text: format!("{specifiers}{text};"),
                comment: match (end == self.last, Some(piece) == stays) {
                    (false, false) => comment_behind(end),
                    (_, true) => comment_behind(self.last),
                    (true, false) => "",
                },
            }
        });
        Some(pieces.collect())
    }

    /// Returns true if the declaration has directives, or comments that stand behind no comma.
    fn has_other_comments(&self, file: &TokenizedFile<'_>) -> bool {
        let is_behind_comma = |at: TokenIndex| {
            self.commas.contains(&(at - 1)) && !trailing_comment(file, at - 1).is_empty()
        };
        let mut tokens = self.first.until(self.last);
        tokens.any(|at| match file.tokens[at].kind {
            TokenKind::Comment => !is_behind_comma(at),
            kind => kind == TokenKind::Directive,
        })
    }
}
