//! New comments in the form that the file uses.

use crate::lex::{TokenKind, lex};
use crate::lines::{is_first_on_line, line_ending, width_columns};
use crate::refusal::EditRefusal;

/// Largest width of a comment line, in columns.
pub(crate) const COLUMNS_MAX: usize = 80;

/// Form in which a file writes comments of several lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CommentForm {
    /// `/*` on a line of its own.
    Block,
    /// Text on the line of `/*`, as in the kernel's network code.
    Net,
    /// `//`
    Line,
}

/// Returns `paragraphs` as a comment at `indent`, with a newline at the end.
///
/// # Errors
/// [`EditRefusal::BadReason`] for `name` if the text would end the comment or hold another.
pub(crate) fn render_comment(
    source: &str,
    indent: &str,
    paragraphs: &[&str],
    name: &str,
) -> Result<String, EditRefusal> {
    if paragraphs
        .iter()
        .any(|text| text.contains("*/") || text.contains("/*") || text.contains('\\'))
    {
        return Err(EditRefusal::BadReason {
            name: name.to_owned(),
        });
    }
    let form = comment_form(source);
    let eol = line_ending(source);
    if let [paragraph] = paragraphs {
        let words = paragraph.split_whitespace().collect::<Vec<_>>().join(" ");
        let line = if form == CommentForm::Line {
            format!("{indent}// {words}")
        } else {
            format!("{indent}/* {words} */")
        };
        if width_columns(&line) <= COLUMNS_MAX {
            return Ok(line + eol);
        }
    }
    let prefix = if form == CommentForm::Line {
        format!("{indent}// ")
    } else {
        format!("{indent} * ")
    };
    let mut lines = Vec::new();
    for (index, paragraph) in paragraphs.iter().enumerate() {
        if index > 0 {
            lines.push(prefix.trim_end().to_owned());
        }
        lines.extend(wrap_paragraph(paragraph, &prefix));
    }
    match form {
        CommentForm::Line => {}
        CommentForm::Block => lines.insert(0, format!("{indent}/*")),
        CommentForm::Net => {
            if let Some(first) = lines.first_mut() {
                *first = first.replacen(" * ", "/* ", 1);
            }
        }
    }
    if form != CommentForm::Line {
        lines.push(format!("{indent} */"));
    }
    Ok(lines.join(eol) + eol)
}

fn wrap_paragraph(paragraph: &str, prefix: &str) -> Vec<String> {
    let mut lines = Vec::new();
    let mut line = String::new();
    for word in paragraph.split_whitespace() {
        if !line.is_empty() && width_columns(&line) + 1 + word.chars().count() > COLUMNS_MAX {
            lines.push(std::mem::take(&mut line));
        }
        line += if line.is_empty() { prefix } else { " " };
        line += word;
    }
    lines.push(line);
    lines
}

fn comment_form(source: &str) -> CommentForm {
    let (mut block, mut net, mut slashes, mut stars) = (0_u32, 0_u32, 0_u32, 0_u32);
    for token in lex(source)
        .iter()
        .filter(|token| token.kind == TokenKind::Comment)
    {
        let text = token.text(source);
        if text.starts_with("//") {
            slashes += u32::from(!text.contains("SPDX"));
            continue;
        }
        stars += 1;
        if text.contains('\n') && !text.starts_with("/**") && is_first_on_line(source, token.start)
        {
            let alone = text
                .lines()
                .next()
                .is_some_and(|line| line.trim_end() == "/*");
            *(if alone { &mut block } else { &mut net }) += 1;
        }
    }
    match (slashes > stars, net > block) {
        (true, _) => CommentForm::Line,
        (_, true) => CommentForm::Net,
        _ => CommentForm::Block,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONG: &str = "read by every allocation: keep it off the cache line of the members that are written under the lock";

    fn check(source: &str, reason: &str, expect: &str) {
        assert_eq!(
            render_comment(source, "\t", &[reason], "m").unwrap(),
            expect
        );
    }

    #[test]
    fn form_follows_the_file() {
        check("", "short", "\t/* short */\n");
        check("// a\n", "short", "\t// short\n");
        check(
            "/*\n * a\n */\n",
            LONG,
            "\t/*\n\t * read by every allocation: keep it off the cache line of the members\n\t * that are written under the lock\n\t */\n",
        );
        check(
            "/* a\n * b\n */\n",
            LONG,
            "\t/* read by every allocation: keep it off the cache line of the members\n\t * that are written under the lock\n\t */\n",
        );
    }

    #[test]
    fn delimiters_are_refused() {
        assert!(render_comment("", "", &["a */ int b; /*"], "m").is_err());
    }
}
