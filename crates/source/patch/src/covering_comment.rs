//! The comment that a member stands under. A new comment beside the member is read together with
//! it, so the two must not contradict each other.

use crate::lex::{TokenIndex, TokenKind};
use crate::lines::{is_first_on_line, line_start};
use crate::refusal::FileLine;
use crate::tokenized::TokenizedFile;

/// Words of a comment about cache lines, in small letters and without all other characters.
const LINE_WORDS: [&str; 4] = ["cacheline", "falseshar", "sameline", "separateline"];

/// Comment above a run of declarations without blank lines: it is about each of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CoveringComment {
    /// Text of the comment, with its marks.
    pub text: String,
    /// Line of its beginning.
    pub place: FileLine,
}

impl CoveringComment {
    /// Returns true if the comment says something of cache lines, which another layout may make
    /// wrong.
    ///
    /// ```
    /// let source = "struct s {\n\t/* Need no separate cache lines. */\n\tint a;\n\tint b;\n};\n";
    /// let source = relayout_patch::StructSource::new("s.h", source, "s", None);
    /// let comment = source.language().covering_comment(source, "b").unwrap();
    /// assert!(comment.speaks_of_lines());
    /// assert_eq!(comment.place.line, 2);
    /// ```
    pub fn speaks_of_lines(&self) -> bool {
        let letters: String = { self.text.chars() }
            .filter(char::is_ascii_alphabetic)
            .map(|letter| letter.to_ascii_lowercase())
            .collect();
        LINE_WORDS.iter().any(|words| letters.contains(words))
    }
}

/// Comment above the lines without a blank one that end with token `first`.
pub(crate) fn comment_above_run(
    file: &TokenizedFile<'_>,
    first: TokenIndex,
) -> Option<CoveringComment> {
    let mut below = first;
    for at in first.all_before().rev() {
        let token = &file.tokens[at];
        let between = &file.source[token.end..file.tokens[below].start];
        // The brace of the struct, or a blank line.
        if between.matches('\n').count() > 1 || matches!(file.text(at), "{") {
            return None;
        }
        if token.kind == TokenKind::Comment && is_first_on_line(file.source, token.start) {
            return Some(whole_comment(file, at));
        }
        below = at;
    }
    None
}

/// The comment that ends with token `last`: of `//`, all adjacent lines.
fn whole_comment(file: &TokenizedFile<'_>, last: TokenIndex) -> CoveringComment {
    let is_continued = |first: TokenIndex, above: TokenIndex| {
        let (comment, next) = (&file.tokens[above], &file.tokens[first]);
        comment.kind == TokenKind::Comment
            && is_first_on_line(file.source, comment.start)
            && line_start(file.source, next.start) == comment.end + 1
    };
    let mut first = last;
    while let Some(above) = first.previous().filter(|&above| is_continued(first, above)) {
        first = above;
    }
    CoveringComment {
        text: file.source[file.tokens[first].start..file.tokens[last].end].to_owned(),
        place: file.place(first),
    }
}

#[cfg(test)]
mod tests {
    use super::CoveringComment;
    use crate::language::StructSource;

    fn find_comment(file: &str, text: &str, name: &str, member: &str) -> Option<CoveringComment> {
        let source = StructSource::new(file, text, name, None);
        source.language().covering_comment(source, member)
    }

    /// As the lists of `struct super_block`.
    const LISTS: &str = "\
struct sb {
	int flags;	/* of the mount: not on the cache line of the lists */

	/*
	 * Each has its own spinlock.
	 * There is no need to put them into separate cachelines.
	 */
	struct list	dentries;
	struct list	inodes;
#ifdef QUOTA
	int		quota;
#endif

	struct rcu	rcu;
	// Two
	// lines.
	int		a, b;
};
";

    fn comment_line(member: &str) -> Option<(u32, bool)> {
        let comment = find_comment("fs.h", LISTS, "sb", member)?;
        Some((comment.place.line, comment.speaks_of_lines()))
    }

    #[test]
    fn a_comment_covers_the_run_below_it() {
        assert_eq!(comment_line("dentries"), Some((4, true)));
        assert_eq!(comment_line("inodes"), Some((4, true)));
        assert_eq!(comment_line("quota"), Some((4, true)));
        assert_eq!(comment_line("b"), Some((15, false)));
    }

    #[test]
    fn a_blank_line_a_brace_and_a_comment_behind_a_member_are_borders() {
        assert_eq!(comment_line("flags"), None);
        assert_eq!(comment_line("rcu"), None);
        assert_eq!(comment_line("unknown"), None);
    }

    #[test]
    fn classes_have_such_comments() {
        let source = "class P {\n public:\n  P();\n  // false sharing is no matter here\n  std::atomic<int> a{0}, b{0};\n};\n";
        let comment = find_comment("p.cc", source, "P", "b").unwrap();
        assert!(comment.speaks_of_lines());
        assert_eq!(comment.place.line, 4);
    }
}
