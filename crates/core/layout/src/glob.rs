//! Patterns of names: `*` stands for any letters, `?` for one.

use std::fmt;

/// Letters in which `*` stands for any run and `?` for any one; all others for themselves.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct GlobPattern(String);

impl GlobPattern {
    /// A glob as it is written.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// As it was written.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether it can match more than one name.
    pub fn has_wildcards(&self) -> bool {
        self.0.contains(['*', '?'])
    }

    /// Whether it matches the whole of `name`. Takes time in proportion to the product of the
    /// lengths at worst.
    pub fn matches(&self, name: &str) -> bool {
        let (glob, name) = (self.0.as_bytes(), name.as_bytes());
        let (mut at, mut in_name) = (0, 0);
        // After the last star, and where the rest was last tried.
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

/// Where the UTF-8 letter ends that begins at `start`.
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
