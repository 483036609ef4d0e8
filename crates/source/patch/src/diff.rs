//! Patches in the form of `git diff`.

use similar::{ChangeTag, TextDiff};
use std::fmt::Write;

/// Lines of context around a hunk.
const CONTEXT_LINES: usize = 3;

/// Returns a git-style patch from `old` to `new` for `git apply` and `patch -p1`; empty for equal
/// texts. `path` is relative to the top of the source tree. Like `git diff`, each hunk names the
/// last line before it that starts in column 0 with a letter, `_` or `$`.
pub fn unified_diff(path: &str, old: &str, new: &str) -> String {
    let mut out = String::new();
    if old == new {
        return out;
    }
    let diff = TextDiff::from_lines(old, new);
    let old_lines: Vec<&str> = old.split_inclusive('\n').collect();
    // Writing to a String cannot fail.
    let _ = writeln!(
        out,
        "diff --git a/{path} b/{path}\n--- a/{path}\n+++ b/{path}"
    );
    for hunk in diff
        .unified_diff()
        .context_radius(CONTEXT_LINES)
        .iter_hunks()
    {
        let start = hunk.ops().first().map_or(0, |op| op.old_range().start);
        let _ = write!(out, "{}", hunk.header().to_string().trim_end());
        if let Some(section) = section_heading(&old_lines[..start.min(old_lines.len())]) {
            let _ = write!(out, " {section}");
        }
        out.push('\n');
        for change in hunk.iter_changes() {
            let value = change.value();
            out.push(match change.tag() {
                ChangeTag::Equal => ' ',
                ChangeTag::Delete => '-',
                ChangeTag::Insert => '+',
            });
            out.push_str(value);
            if !value.ends_with('\n') {
                out.push_str("\n\\ No newline at end of file\n");
            }
        }
    }
    out
}

fn section_heading<'a>(before: &[&'a str]) -> Option<&'a str> {
    let starts_section =
        |line: &&&str| line.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_' || c == '$');
    before.iter().rev().find(starts_section).map(|line| {
        let line = line.trim_end();
        line.char_indices()
            .nth(80)
            .map_or(line, |(end, _)| &line[..end])
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(old: &str, new: &str, expect: &str) {
        assert_eq!(unified_diff("a.h", old, new), expect);
    }

    #[test]
    fn equal_texts_give_nothing() {
        check("a\n", "a\n", "");
    }

    #[test]
    fn hunks_name_their_section_and_missing_newlines() {
        check(
            "struct s {\n 1\n 2\n 3\n 4\n 5\n}",
            "struct s {\n 1\n 2\n 3\n 5\n}",
            "diff --git a/a.h b/a.h\n--- a/a.h\n+++ b/a.h\n@@ -2,6 +2,5 @@ struct s {\n  1\n  2\n  3\n- 4\n  5\n }\n\\ No newline at end of file\n",
        );
    }
}
