//! Inline namespaces of C++, which names may leave out.

use std::borrow::Cow;
use std::collections::BTreeSet;

/// Inline namespaces of a file. Their members are members of the namespace around them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct InlineNamespaces {
    /// Paths with their scope: `std::__1`.
    paths: BTreeSet<String>,
}

impl InlineNamespaces {
    /// Namespaces of these paths.
    pub fn new(paths: impl IntoIterator<Item = String>) -> Self {
        Self {
            paths: paths.into_iter().collect(),
        }
    }

    /// Adds those of another file.
    pub fn merge(&mut self, other: &Self) {
        self.paths.extend(other.paths.iter().cloned());
    }

    /// Returns true if there are none.
    pub fn is_empty(&self) -> bool {
        self.paths.is_empty()
    }

    /// Components of a scope without the inline namespaces.
    pub(crate) fn visible<'n>(&self, scope: &[&'n str]) -> Vec<&'n str> {
        let is_visible = |end: usize| !self.paths.contains(&scope[..=end].join("::"));
        let visible = (0..scope.len()).filter(|end| is_visible(*end));
        visible.map(|end| scope[end]).collect()
    }

    /// Name without the inline namespaces among its template arguments.
    pub(crate) fn without_inline<'n>(&self, name: &'n str) -> Cow<'n, str> {
        let mut out = Cow::Borrowed(name);
        // Longer paths come last in order, and have the shorter ones in front.
        for path in self.paths.iter().rev() {
            let outer = path.rfind("::").map_or("", |at| &path[..at + 2]);
            let inner = format!("{path}::");
            if out.contains(&inner) {
                out = Cow::Owned(replace_paths(&out, &inner, outer));
            }
        }
        out
    }
}

/// Replaces `path` where it begins a path.
fn replace_paths(text: &str, path: &str, by: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(path) {
        let before = rest[..at].chars().next_back().or(out.chars().next_back());
        let begins = before.is_none_or(|c| !c.is_alphanumeric() && !"_$:".contains(c));
        out.push_str(&rest[..at]);
        out.push_str(if begins { by } else { path });
        rest = &rest[at + path.len()..];
    }
    out.push_str(rest);
    out
}
