//! Patches as mails in the form of `git format-patch`, for `git am`.

use std::fmt::Write;

/// First line of a mail: no commit exists yet, so its id is zero. The date marks the file as a
/// mail for `file(1)` and mail programs.
const FIRST_LINE: &str = "From 0000000000000000000000000000000000000000 Mon Sep 17 00:00:00 2001";
/// Largest width of the bar of a diffstat, in columns.
const BAR_MAX: usize = 40;
/// Largest size of an encoded word in a header, in bytes (RFC 2047 allows 75 with its frame).
const ENCODED_MAX: usize = 60;

/// A patch with its message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PatchMail {
    /// `Name <address>`.
    pub author: String,
    /// Subject without `[PATCH]`; one line.
    pub subject: String,
    /// The message, with its line breaks.
    pub body: String,
    /// Diff made by [`unified_diff`](crate::unified_diff).
    pub diff: String,
    /// Name and version of the program that wrote the mail, for its last line.
    pub signature: String,
}

impl PatchMail {
    /// Returns the text of the mail; it is `number` of `count` in a series, from 1.
    pub fn to_text(&self, number: usize, count: usize) -> String {
        let tag = match count {
            0 | 1 => "[PATCH]".to_owned(),
            _ => format!("[PATCH {number}/{count}]"),
        };
        let mut text = format!("{FIRST_LINE}\n");
        let subject: String = self
            .subject
            .split_whitespace()
            .collect::<Vec<_>>()
            .join(" ");
        let _ = writeln!(text, "From: {}", encode_author(&self.author));
        let _ = writeln!(
            text,
            "Subject: {}",
            encode_header(&format!("{tag} {subject}"))
        );
        text.push_str(
            "MIME-Version: 1.0\nContent-Type: text/plain; charset=UTF-8\n\
             Content-Transfer-Encoding: 8bit\n\n",
        );
        for line in self.body.trim_end().lines() {
            // A line of dashes ends the message for git am, and so does the beginning of a diff.
            let ends = line == "---" || line.starts_with("diff -") || line.starts_with("Index: ");
            let _ = writeln!(text, "{}{line}", if ends { " " } else { "" });
        }
        let _ = write!(text, "---\n{}\n{}", diffstat(&self.diff), self.diff);
        let _ = writeln!(text, "-- \n{}\n", self.signature);
        text
    }
}

/// Author as `Name <address>`; the name is encoded unless it is plain ASCII.
fn encode_author(text: &str) -> String {
    let text: String = text.chars().filter(|c| !c.is_control()).collect();
    match text.rsplit_once(" <") {
        Some((name, address)) => format!("{} <{address}", encode_header(name)),
        None => encode_header(&text),
    }
}

/// Value of a header: unchanged in ASCII, else in encoded words (RFC 2047, "Q").
fn encode_header(text: &str) -> String {
    if text.is_ascii() {
        return text.to_owned();
    }
    let mut words = vec![String::new()];
    for c in text.chars() {
        let mut bytes = [0; 4];
        let piece: String = match c {
            ' ' => "_".to_owned(),
            'a'..='z' | 'A'..='Z' | '0'..='9' | '-' | '/' | ':' | '.' => c.to_string(),
            _ => { c.encode_utf8(&mut bytes).bytes() }
                .map(|byte| format!("={byte:02X}"))
                .collect(),
        };
        match words.last_mut() {
            Some(word) if word.len() + piece.len() <= ENCODED_MAX => word.push_str(&piece),
            _ => words.push(piece),
        }
    }
    let words: Vec<String> = { words.iter() }
        .map(|word| format!("=?UTF-8?q?{word}?="))
        .collect();
    words.join("\n ")
}

/// Added and removed lines by file, as `git diff --stat` shows them.
fn diffstat(diff: &str) -> String {
    let files = changed_files(diff);
    let width = files.iter().map(|file| file.path.len()).max().unwrap_or(0);
    let most = files
        .iter()
        .map(DiffstatFile::changed_lines)
        .max()
        .unwrap_or(0);
    let digits = most.to_string().len();
    let mut text = String::new();
    for file in &files {
        let scaled = |count: usize| match most > BAR_MAX {
            true if count > 0 => (count * BAR_MAX / most).max(1),
            _ => count,
        };
        let bar = "+".repeat(scaled(file.added)) + &"-".repeat(scaled(file.removed));
        let _ = writeln!(
            text,
            " {:<width$} | {:>digits$} {bar}",
            file.path,
            file.changed_lines()
        );
    }
    let sum = |count_of: fn(&DiffstatFile) -> usize| files.iter().map(count_of).sum::<usize>();
    let _ = write!(
        text,
        " {}",
        count_with_noun(files.len(), "file", " changed")
    );
    for (count, noun) in [
        (sum(|file| file.added), "insertion"),
        (sum(|file| file.removed), "deletion"),
    ] {
        if count > 0 {
            let sign = if noun == "insertion" { "(+)" } else { "(-)" };
            let _ = write!(text, ", {}", count_with_noun(count, noun, sign));
        }
    }
    text.push('\n');
    text
}

fn count_with_noun(count: usize, noun: &str, suffix: &str) -> String {
    format!(
        "{count} {noun}{}{suffix}",
        if count == 1 { "" } else { "s" }
    )
}

struct DiffstatFile<'a> {
    path: &'a str,
    added: usize,
    removed: usize,
}

impl DiffstatFile<'_> {
    fn changed_lines(&self) -> usize {
        self.added + self.removed
    }
}

fn changed_files(diff: &str) -> Vec<DiffstatFile<'_>> {
    let mut files: Vec<DiffstatFile<'_>> = Vec::new();
    let mut in_hunk = false;
    for line in diff.lines() {
        if line.starts_with("diff --git ") {
            in_hunk = false;
        } else if line.starts_with("@@ ") {
            in_hunk = true;
        } else if let Some(path) = line.strip_prefix("+++ b/").filter(|_| !in_hunk) {
            files.push(DiffstatFile {
                path,
                added: 0,
                removed: 0,
            });
        } else if let Some(file) = files.last_mut().filter(|_| in_hunk) {
            file.added += usize::from(line.starts_with('+'));
            file.removed += usize::from(line.starts_with('-'));
        }
    }
    files
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mail(author: &str, subject: &str, body: &str) -> PatchMail {
        // Of two members that change places, either can be said to move.
        let old = "struct s {\n\tint a;\n\tint b;\n\tint c;\n};\n";
        let new = "struct s {\n\tint b;\n\tint c;\n\tint a;\n};\n";
        PatchMail {
            author: author.to_owned(),
            subject: subject.to_owned(),
            body: body.to_owned(),
            diff: crate::diff::unified_diff("include/s.h", old, new),
            signature: "relayout 1.0".to_owned(),
        }
    }

    #[test]
    fn as_git_writes_it() {
        let text = mail("A U Thor <a@example.org>", "s: move a", "Why.\n\nHow.\n").to_text(1, 1);
        let expect = "\
From 0000000000000000000000000000000000000000 Mon Sep 17 00:00:00 2001
From: A U Thor <a@example.org>
Subject: [PATCH] s: move a
MIME-Version: 1.0
Content-Type: text/plain; charset=UTF-8
Content-Transfer-Encoding: 8bit

Why.

How.
---
 include/s.h | 2 +-
 1 file changed, 1 insertion(+), 1 deletion(-)

diff --git a/include/s.h b/include/s.h
--- a/include/s.h
+++ b/include/s.h
@@ -1,5 +1,5 @@
 struct s {
-\tint a;
 \tint b;
 \tint c;
+\tint a;
 };
-- 
relayout 1.0

";
        assert_eq!(text, expect);
    }

    #[test]
    fn nothing_in_the_message_ends_it_early() {
        let text = mail("a <b>", "x", "---\ndiff --git a/x b/x\n--- a/x\nIndex: x").to_text(2, 3);
        assert!(text.contains("Subject: [PATCH 2/3] x\n"), "{text}");
        assert!(text.contains("\n ---\n diff --git a/x b/x\n--- a/x\n Index: x\n---\n"));
    }

    #[test]
    fn names_that_are_not_ascii() {
        let text = mail("Jürgen Groß <j@example.org>", "a\nb", "").to_text(1, 1);
        let name = "From: =?UTF-8?q?J=C3=BCrgen_Gro=C3=9F?= <j@example.org>\n";
        assert!(text.contains(name), "{text}");
        assert!(text.contains("Subject: [PATCH] a b\n"), "{text}");
    }
}
