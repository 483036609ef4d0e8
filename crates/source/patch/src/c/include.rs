//! The `#include` of an alignment macro, in the usual position of the file.
//!
//! A macro that reaches the file only through other headers breaks the build in another
//! configuration: an undefined attribute macro parses as the name of a member.

use crate::body::{DirectiveKind, directive_kind};
use crate::lex::TokenKind;
use crate::lines::{line_ending, line_start, next_line_start};
use crate::refusal::EditRefusal;
use crate::tokenized::TokenizedFile;

const CACHE_HEADER: &str = "linux/cache.h";

/// Macros of `<linux/cache.h>` that align.
const ALIGNMENT_MACROS: [&str; 5] = [
    "____cacheline_aligned",
    "____cacheline_aligned_in_smp",
    "____cacheline_internodealigned_in_smp",
    "__cacheline_aligned",
    "__cacheline_aligned_in_smp",
];

/// An `#include` line that every configuration reads.
struct IncludeLine<'a> {
    header: &'a str,
    start: usize,
    end: usize,
}

/// Refuses macros that nothing in the file or in `<linux/cache.h>` is known to define.
pub(crate) fn require_known_macro(file: &TokenizedFile<'_>, name: &str) -> Result<(), EditRefusal> {
    if ALIGNMENT_MACROS.contains(&name) || defines_macro(file, name) {
        return Ok(());
    }
    Err(EditRefusal::UnknownMacro {
        file: file.name.to_owned(),
        name: name.to_owned(),
    })
}

/// Returns the text with `<linux/cache.h>` included if `name` needs it.
pub(crate) fn ensure_include(file: &TokenizedFile<'_>, name: &str) -> Result<String, EditRefusal> {
    let source = file.source;
    let (includes, guard_end) = unconditional_includes(file);
    if defines_macro(file, name)
        || includes
            .iter()
            .any(|include| include.header == CACHE_HEADER)
    {
        return Ok(source.to_owned());
    }
    let eol = line_ending(source);
    let line = format!("#include <{CACHE_HEADER}>{eol}");
    let block = linux_block(source, &includes);
    if let Some(at) = sorted_insertion(&block) {
        return Ok([&source[..at], &line, &source[at..]].concat());
    }
    let Some(at) = guard_end else {
        return Err(EditRefusal::NoPlaceForInclude {
            file: file.name.to_owned(),
            header: CACHE_HEADER.to_owned(),
        });
    };
    let below = if crate::lines::is_blank_line(source, at) {
        ""
    } else {
        eol
    };
    Ok([&source[..at], eol, &line, below, &source[at..]].concat())
}

/// Returns true if the file itself defines the macro.
pub(crate) fn defines_macro(file: &TokenizedFile<'_>, name: &str) -> bool {
    file.tokens
        .iter()
        .filter(|token| token.kind == TokenKind::Directive)
        .any(|token| {
            let text = token.text(file.source);
            directive_kind(text) == DirectiveKind::Other("define")
                && text.split_once("define").is_some_and(|(_, rest)| {
                    rest.split_whitespace()
                        .next()
                        .and_then(|word| word.split('(').next())
                        == Some(name)
                })
        })
}

/// Includes outside of conditionals other than the include guard, and the byte after the guard's
/// `#define` line.
fn unconditional_includes<'a>(file: &TokenizedFile<'a>) -> (Vec<IncludeLine<'a>>, Option<usize>) {
    let source = file.source;
    let directives: Vec<_> = file
        .tokens
        .iter()
        .filter(|token| token.kind == TokenKind::Directive)
        .collect();
    let guard = has_include_guard(
        source,
        &directives
            .iter()
            .map(|token| token.text(source))
            .collect::<Vec<_>>(),
    );
    let base = u32::from(guard);
    let mut depth = 0_u32;
    let mut found = Vec::new();
    for token in &directives {
        let text = token.text(source);
        match directive_kind(text) {
            DirectiveKind::If => depth += 1,
            DirectiveKind::Endif => depth = depth.saturating_sub(1),
            DirectiveKind::Other("include") if depth == base => {
                if let Some(header) = text
                    .split_once('<')
                    .and_then(|(_, rest)| rest.split_once('>'))
                {
                    let (start, end) = (
                        line_start(source, token.start),
                        next_line_start(source, token.end),
                    );
                    found.push(IncludeLine {
                        header: header.0,
                        start,
                        end,
                    });
                }
            }
            _ => {}
        }
    }
    let guard_end = guard.then(|| next_line_start(source, directives[1].end));
    (found, guard_end)
}

/// Returns true if the file is wrapped in `#ifndef X`, `#define X` ... `#endif`.
fn has_include_guard(source: &str, directives: &[&str]) -> bool {
    let [open, define, .., close] = directives else {
        return false;
    };
    let word = |text: &str, keyword: &str| {
        let rest = text
            .trim_start_matches('#')
            .trim_start()
            .strip_prefix(keyword)?;
        rest.split_whitespace().next().map(str::to_owned)
    };
    let name = word(open, "ifndef");
    let whole = || {
        let mut depth = 0_i32;
        let last = directives.len() - 1;
        directives.iter().enumerate().all(|(index, text)| {
            match directive_kind(text) {
                DirectiveKind::If => depth += 1,
                DirectiveKind::Endif => depth -= 1,
                _ => {}
            }
            (depth > 0) == (index < last)
        })
    };
    !source.is_empty()
        && name.is_some()
        && name == word(define, "define")
        && close.contains("endif")
        && whole()
}

/// The longest run of adjacent `<linux/...>` lines.
fn linux_block<'i, 'a>(source: &str, includes: &'i [IncludeLine<'a>]) -> Vec<&'i IncludeLine<'a>> {
    let mut best: Vec<&IncludeLine<'_>> = Vec::new();
    let mut run: Vec<&IncludeLine<'_>> = Vec::new();
    for include in includes
        .iter()
        .filter(|include| include.header.starts_with("linux/"))
    {
        if run
            .last()
            .is_some_and(|last| !source[last.end..include.start].is_empty())
        {
            run.clear();
        }
        run.push(include);
        if run.len() > best.len() {
            best.clone_from(&run);
        }
    }
    best
}

/// Byte at which the header goes into a run: in order if the run is sorted, else behind it.
fn sorted_insertion(block: &[&IncludeLine<'_>]) -> Option<usize> {
    let last = block.last()?;
    let ordered = block.len() > 1 && block.is_sorted_by(|a, b| a.header <= b.header);
    let next = if ordered || block.len() == 1 {
        block.iter().find(|include| include.header > CACHE_HEADER)
    } else {
        None
    };
    Some(next.map_or(last.end, |include| include.start))
}
