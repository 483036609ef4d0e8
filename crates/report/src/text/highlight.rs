//! Colours for texts on a terminal: by the first words of a line, because each text is made of lines whose beginning tells
//! what they are.

/// Kind of a text, by which its lines are coloured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextKind {
    /// No colours, as for JSON.
    Plain,
    /// Layouts as pahole prints them.
    Layout,
    /// Findings, advice and patches.
    Findings,
    /// Differences between builds or recordings.
    Differences,
}

const RESET: &str = "\x1b[0m";
const BOLD: &str = "\x1b[1m";
const DIM: &str = "\x1b[2m";
const RED: &str = "\x1b[31m";
const GREEN: &str = "\x1b[32m";
const YELLOW: &str = "\x1b[33m";
const CYAN: &str = "\x1b[36m";

/// Adds colours to the lines of a text. Without the escape sequences, the result is `text`.
///
/// ```
/// use relayout_report::text::highlight::{TextKind, highlight};
///
/// let coloured = highlight("+\tint hot;\n", TextKind::Findings);
/// assert_eq!(coloured, "\x1b[32m+\tint hot;\x1b[0m\n");
/// ```
pub fn highlight(text: &str, kind: TextKind) -> String {
    let style_of_line = match kind {
        TextKind::Plain => return text.to_owned(),
        TextKind::Layout => layout_style,
        TextKind::Findings => finding_style,
        TextKind::Differences => difference_style,
    };
    let mut colored = String::with_capacity(text.len() + text.len() / 4);
    for line in text.split_inclusive('\n') {
        let content = line.trim_end_matches('\n');
        match style_of_line(content).filter(|_| !content.is_empty()) {
            Some((begin, style)) => {
                let (before, styled) = content.split_at(begin);
                colored.extend([before, style, styled, RESET]);
            }
            None => colored.push_str(content),
        }
        colored.push_str(&line[content.len()..]);
    }
    colored
}

/// Style of a line from an offset on.
type LineStyle = Option<(usize, &'static str)>;

fn layout_style(line: &str) -> LineStyle {
    let comment = line.find("/*")?;
    let text = &line[comment..];
    Some(if text.starts_with("/* XXX") {
        (comment, YELLOW)
    } else if text.starts_with("/* --- cacheline") {
        (comment, CYAN)
    } else {
        (comment, DIM)
    })
}

fn finding_style(line: &str) -> LineStyle {
    let is_title = line.starts_with("relayout ");
    let is_finding = line
        .strip_prefix('#')
        .is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
    if is_title || is_finding || line.starts_with("Recommended") || line.starts_with("> ") {
        return Some((0, BOLD));
    }
    patch_style(line)
}

/// Style of a line of a unified diff.
fn patch_style(line: &str) -> LineStyle {
    if line.starts_with("--- ") || line.starts_with("+++ ") || line.starts_with("diff --git") {
        return Some((0, BOLD));
    }
    match line.as_bytes().first()? {
        b'+' => Some((0, GREEN)),
        b'-' => Some((0, RED)),
        b'@' => Some((0, CYAN)),
        _ => None,
    }
}

fn difference_style(line: &str) -> LineStyle {
    let trimmed = line.trim_start();
    let begin = line.len() - trimmed.len();
    if begin == 0 {
        return Some((0, BOLD));
    }
    match trimmed.as_bytes() {
        [b'+', b' ', ..] => Some((begin, GREEN)),
        [b'-', b' ', ..] => Some((begin, RED)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_escape_sequences_are_added() {
        let text =
            "struct a | +8\n  + b (int) at 4\n\n\t/* XXX 4 bytes hole */\n#1 a: false-sharing\nend";
        let kinds = [
            TextKind::Plain,
            TextKind::Layout,
            TextKind::Findings,
            TextKind::Differences,
        ];
        for kind in kinds {
            let mut colored = highlight(text, kind);
            for style in [RESET, BOLD, DIM, RED, GREEN, YELLOW, CYAN] {
                colored = colored.replace(style, "");
            }
            assert_eq!(colored, text, "{kind:?}");
        }
    }

    #[test]
    fn lines_are_told_by_their_beginning() {
        let check = |kind, line: &str, expected| {
            assert_eq!(highlight(line, kind), expected, "{line}");
        };
        let yellow = "\t\x1b[33m/* XXX 4 bytes hole, try to pack */\x1b[0m";
        check(
            TextKind::Layout,
            "\t/* XXX 4 bytes hole, try to pack */",
            yellow,
        );
        check(TextKind::Layout, "struct a {", "struct a {");
        check(TextKind::Findings, "#1 a: lock", "\x1b[1m#1 a: lock\x1b[0m");
        check(TextKind::Findings, "#include", "#include");
        check(
            TextKind::Differences,
            "  - b (int)",
            "  \x1b[31m- b (int)\x1b[0m",
        );
    }
}
