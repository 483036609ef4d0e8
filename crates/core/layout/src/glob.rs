//! Patterns of names: `*` stands for any letters, `?` for one letter.

use std::fmt;

/// Pattern in which `*` stands for any letters and `?` for one letter.
///
/// ```
/// use relayout_layout::glob::GlobPattern;
///
/// assert!(GlobPattern::new("tcp_*").matches("tcp_sock"));
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct GlobPattern(String);

impl GlobPattern {
    /// Pattern from its text.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// Text of the pattern.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns true if the pattern can match more than one name.
    pub fn has_wildcards(&self) -> bool {
        self.0.contains(['*', '?'])
    }

    /// Returns true if the pattern matches the whole of `name`. Takes time in proportion to the
    /// product of the lengths at worst.
    pub fn matches(&self, name: &str) -> bool {
        let (glob, name) = (self.0.as_bytes(), name.as_bytes());
        let (mut at, mut in_name) = (0, 0);
        // Position behind the last star, and the start of the last attempt to match the rest.
        let mut star: Option<(usize, usize)> = None;
        while in_name < name.len() {
            match glob.get(at) {
                Some(b'*') => {
                    at += 1;
                    star = Some((at, in_name));
                }
                Some(b'?') => {
                    at += 1;
                    in_name = letter_end(name, in_name);
                }
                Some(letter) if *letter == name[in_name] => {
                    at += 1;
                    in_name += 1;
                }
                _ => match star {
                    Some((after, tried)) => {
                        at = after;
                        in_name = tried + 1;
                        star = Some((after, in_name));
                    }
                    None => return false,
                },
            }
        }
        glob[at..].iter().all(|letter| *letter == b'*')
    }
}

impl fmt::Display for GlobPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// End of the UTF-8 letter that begins at `start`, in bytes.
fn letter_end(text: &[u8], start: usize) -> usize {
    let rest = text.iter().skip(start + 1);
    start + 1 + rest.take_while(|byte| **byte & 0xc0 == 0x80).count()
}

#[cfg(test)]
mod tests {
    use super::GlobPattern;

    #[test]
    fn globs_match_whole_names() {
        for (glob, name, expect) in [
            ("page", "page", true),
            ("page", "pages", false),
            ("tcp_*", "tcp_sock", true),
            ("tcp_*", "tcp_", true),
            ("*_sock", "tcp_request_sock", true),
            ("*a*b*", "xaxxbx", true),
            ("*a*b", "xaxxbx", false),
            ("p?ge", "page", true),
            ("p?", "pä", true),
            ("p??", "pä", false),
            ("**", "", true),
            ("?", "", false),
        ] {
            assert_eq!(
                GlobPattern::new(glob).matches(name),
                expect,
                "{glob} {name}"
            );
        }
    }
}
