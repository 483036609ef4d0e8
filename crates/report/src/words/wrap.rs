//! Text in lines of limited width.

use std::fmt::Write as _;

/// Widest line of prose, in columns.
pub(crate) const PROSE_WIDTH: usize = 80;

/// Wraps `text` into lines of at most 80 columns; lines after the first are indented by `indent`.
pub(crate) fn wrap_text(text: &str, indent: usize) -> String {
    wrap_text_at(PROSE_WIDTH, text, indent)
}

/// Wraps `text` into lines of at most `width` columns, as [`wrap_text`] does.
pub(crate) fn wrap_text_at(width: usize, text: &str, indent: usize) -> String {
    let mut out = String::new();
    let mut column = 0;
    for (number, line) in text.split('\n').enumerate() {
        if number > 0 {
            out.push('\n');
            column = 0;
        }
        for (index, word) in line.split(' ').enumerate() {
            if index > 0 && column + 1 + word.len() > width {
                let _ = write!(out, "\n{:indent$}", "");
                column = indent;
            } else if index > 0 {
                out.push(' ');
                column += 1;
            }
            out.push_str(word);
            column += word.len();
        }
    }
    out
}

/// Wraps `text` into lines of at most `width` columns that begin with `indent` spaces, and those after the first with
/// `hanging` more.
pub(crate) fn wrap_block(width: usize, text: &str, indent: usize, hanging: usize) -> String {
    let wrapped = wrap_text_at(width.saturating_sub(indent), text, hanging);
    let lines = wrapped.lines().map(|line| format!("{:indent$}{line}", ""));
    lines.collect::<Vec<_>>().join("\n")
}

/// Joins words by spaces into lines of at most `width` columns.
pub(crate) fn wrap_words<'w>(
    words: impl IntoIterator<Item = &'w str>,
    width: usize,
) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in words {
        match lines.last_mut() {
            Some(line) if line.len() + 1 + word.len() <= width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

/// Breaks the lines of `text` that are longer than `width` columns, at spaces. The rest of a line is
/// indented by two columns more than its start. A word that is longer stays whole.
pub(crate) fn fit_lines(text: &str, width: usize) -> String {
    let mut out = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        let content = line.trim_end_matches('\n');
        if content.chars().count() <= width {
            out.push_str(line);
            continue;
        }
        push_broken_line(&mut out, content, width);
        out.push_str(&line[content.len()..]);
    }
    out
}

fn push_broken_line(out: &mut String, content: &str, width: usize) {
    let own_indent = content.len() - content.trim_start().len();
    let indent = (own_indent + 2).min(width / 2);
    let mut rest = content;
    let mut is_first = true;
    loop {
        let room = if is_first {
            width
        } else {
            width.saturating_sub(indent)
        };
        let start = if is_first { own_indent } else { 0 };
        if rest.chars().count() <= room {
            out.push_str(rest);
            return;
        }
        let end_of_room = rest
            .char_indices()
            .nth(room)
            .map_or(rest.len(), |(at, _)| at);
        let fits = rest
            .char_indices()
            .take_while(|(at, _)| *at <= end_of_room)
            .filter(|(_, character)| *character == ' ')
            .last()
            .map(|(at, _)| at)
            .filter(|at| *at > start);
        let after = || rest[end_of_room..].find(' ').map(|at| end_of_room + at);
        let Some(cut) = fits.or_else(after) else {
            out.push_str(rest);
            return;
        };
        out.push_str(rest[..cut].trim_end());
        rest = rest[cut..].trim_start();
        if rest.is_empty() {
            return;
        }
        let _ = write!(out, "\n{:indent$}", "");
        is_first = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_no_wider_than_asked() {
        let text = "a short line\n  a longer line, which has to be broken at some space\n\nend";
        for width in 12..60 {
            let fitted = fit_lines(text, width);
            for line in fitted.lines() {
                assert!(line.chars().count() <= width, "{width}: {line:?}");
            }
            let words = |text: &str| {
                text.split_whitespace()
                    .map(str::to_owned)
                    .collect::<Vec<_>>()
            };
            assert_eq!(words(&fitted), words(text));
        }
        assert_eq!(fit_lines(text, 80), text);
    }

    #[test]
    fn a_long_word_stays_whole() {
        assert_eq!(
            fit_lines("one_long_word_of_letters x\n", 5),
            "one_long_word_of_letters\n  x\n"
        );
        assert_eq!(
            fit_lines("  größe_eines_wortes\n", 4),
            "  größe_eines_wortes\n"
        );
    }
}
