//! New comments in the form that the file uses.

use crate::lex::{Kind, lex};
use crate::lines::{columns, newline, starts_line};
use crate::refusal::Refusal;

/// Where a comment line has to end.
pub(crate) const COLUMNS_MAX: usize = 80;

/// How a file writes comments of several lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    /// `/*` on a line of its own.
    Block,
    /// Text behind `/*`, as in the network code.
    Net,
    /// `//`
    Line,
}

/// `paragraphs` as a comment at `indent`, newline at the end.
///
/// # Errors
/// [`Refusal::BadReason`] for `name` when the text would end the comment or hold another.
pub(crate) fn render(
    source: &str,
    indent: &str,
    paragraphs: &[&str],
    name: &str,
) -> Result<String, Refusal> {
    if paragraphs
        .iter()
        .any(|text| text.contains("*/") || text.contains("/*") || text.contains('\\'))
    {
        return Err(Refusal::BadReason {
            name: name.to_owned(),
        });
    }
    let form = form_of(source);
    let eol = newline(source);
    if let [one] = paragraphs {
        let words = one.split_whitespace().collect::<Vec<_>>().join(" ");
        let line = if form == Form::Line {
            format!("{indent}// {words}")
        } else {
            format!("{indent}/* {words} */")
        };
        if columns(&line) <= COLUMNS_MAX {
            return Ok(line + eol);
        }
    }
    let prefix = if form == Form::Line {
        format!("{indent}// ")
    } else {
        format!("{indent} * ")
    };
    let mut lines = Vec::new();
    for (index, paragraph) in paragraphs.iter().enumerate() {
        if index > 0 {
            lines.push(prefix.trim_end().to_owned());
        }
        lines.extend(wrap(paragraph, &prefix));
    }
    match form {
        Form::Line => {}
        Form::Block => lines.insert(0, format!("{indent}/*")),
        Form::Net => {
            if let Some(first) = lines.first_mut() {
                *first = first.replacen(" * ", "/* ", 1);
            }
        }
    }
    if form != Form::Line {
        lines.push(format!("{indent} */"));
    }
    Ok(lines.join(eol) + eol)
}

fn wrap(paragraph: &str, prefix: &str) -> Vec<String> {
    let mut lines = Vec::new();
    let mut line = String::new();
    for word in paragraph.split_whitespace() {
        if !line.is_empty() && columns(&line) + 1 + word.chars().count() > COLUMNS_MAX {
            lines.push(std::mem::take(&mut line));
        }
        line += if line.is_empty() { prefix } else { " " };
        line += word;
    }
    lines.push(line);
    lines
}

fn form_of(source: &str) -> Form {
    let (mut block, mut net, mut slashes, mut stars) = (0_u32, 0_u32, 0_u32, 0_u32);
    for token in lex(source)
        .iter()
        .filter(|token| token.kind == Kind::Comment)
    {
        let text = token.text(source);
        if text.starts_with("//") {
            slashes += u32::from(!text.contains("SPDX"));
            continue;
        }
        stars += 1;
        if text.contains('\n') && !text.starts_with("/**") && starts_line(source, token.start) {
            let alone = text
                .lines()
                .next()
                .is_some_and(|line| line.trim_end() == "/*");
            *(if alone { &mut block } else { &mut net }) += 1;
        }
    }
    match (slashes > stars, net > block) {
        (true, _) => Form::Line,
        (_, true) => Form::Net,
        _ => Form::Block,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONG: &str = "read by every allocation: keep it off the cache line of the members that are written under the lock";

    fn check(source: &str, reason: &str, expect: &str) {
        assert_eq!(render(source, "\t", &[reason], "m").unwrap(), expect);
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
        assert!(render("", "", &["a */ int b; /*"], "m").is_err());
    }
}
