//! Name patterns for members. `*` matches any characters, and `?` matches one.

use std::fmt;

use relayout_layout::glob::GlobPattern;

/// Pattern for members: `pgd`, `mmap_lock.owner`, `chunk_md.*`, `lists[2].next`.
///
/// The path begins at the checked type. Anonymous structs and unions, and base classes, have no
/// component in the path. `*` matches within one component. An array without an index means the
/// whole array.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct MemberPattern {
    text: String,
    components: Vec<MemberComponent>,
}

/// Component of a member path, with the indices of an array element.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct MemberComponent {
    /// Name of the member.
    pub name: GlobPattern,
    /// Indices of the array element, one for each dimension: `[2][0]`. An empty list means the
    /// whole array.
    pub indices: Vec<u64>,
}

impl MemberPattern {
    /// Parses a pattern.
    ///
    /// # Errors
    /// Returns a sentence about the problem.
    pub fn parse(text: &str) -> Result<Self, String> {
        let components: Result<Vec<_>, String> = text
            .split('.')
            .map(|part| parse_component(part).ok_or_else(|| format!("`{text}` is no member's path: write names, with an index where an element of an array is meant, and dots between (`lists[2].next`)")))
            .collect();
        Ok(Self {
            text: text.to_owned(),
            components: components?,
        })
    }

    /// Text of the pattern.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Components of the path, outermost first; never empty.
    pub fn components(&self) -> &[MemberComponent] {
        &self.components
    }

    /// Returns true if the pattern can match several members.
    pub fn is_open(&self) -> bool {
        self.components.iter().any(|part| part.name.has_wildcards())
    }
}

impl fmt::Display for MemberPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

fn parse_component(part: &str) -> Option<MemberComponent> {
    let (name, mut rest) = part.split_at(part.find('[').unwrap_or(part.len()));
    let mut indices = Vec::new();
    while !rest.is_empty() {
        let (index, after) = rest.strip_prefix('[')?.split_once(']')?;
        let digits = !index.is_empty() && index.bytes().all(|byte| byte.is_ascii_digit());
        indices.push(digits.then(|| index.parse().ok()).flatten()?);
        rest = after;
    }
    let clean = !name.is_empty() && !name.contains([' ', '\t', ']', '-', '>']);
    clean.then(|| MemberComponent {
        name: GlobPattern::new(name),
        indices,
    })
}

#[cfg(test)]
mod tests {
    use super::MemberPattern;

    #[test]
    fn member_paths() {
        let path = MemberPattern::parse("lists[2][10].ne*").unwrap();
        assert_eq!(path.components()[0].indices, [2, 10]);
        assert!(path.is_open());
        for bad in [
            "", "a..b", ".a", "a[", "a[]", "a[x]", "a[1", "a]", "a->b", "a b",
        ] {
            assert!(MemberPattern::parse(bad).is_err(), "{bad}");
        }
    }
}
