//! Name patterns for types and members. `*` matches any characters, and `?` matches one.

use std::fmt;

use relayout_layout::glob::GlobPattern;
use relayout_layout::{canonical_type, is_binding_scope, readable_type_name};

/// Pattern for type names: `mm_struct`, `struct page`, `tcp_*`, `net::Socket<*>`.
///
/// Components between `::` match one to one, from the last. `Socket` matches in any namespace.
/// `net::Socket` matches only in a namespace `net`, at any depth.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TypePattern {
    text: String,
    keyword: Option<&'static str>,
    /// Components, outermost first; never empty.
    components: Vec<GlobPattern>,
    /// The same in the common spelling of all compilers.
    canonical: Vec<GlobPattern>,
    /// The same as reports print the name, in the common spelling.
    readable: Vec<GlobPattern>,
}

/// Keywords that may precede a type name.
const KEYWORDS: [&str; 4] = ["struct", "union", "class", "enum"];

/// Start of the names of standard types that reports print by an alias.
const ALIASED_START: &str = "basic_string";

impl TypePattern {
    /// Parses a pattern.
    ///
    /// # Errors
    /// Returns a sentence about the empty name or component.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut rest = text.trim();
        let mut keyword = None;
        for word in KEYWORDS {
            if let Some(name) = rest.strip_prefix(word)
                && name.starts_with(' ')
            {
                (keyword, rest) = (Some(word), name.trim_start());
                break;
            }
        }
        let components: Vec<GlobPattern> = split_components(rest)
            .into_iter()
            .map(GlobPattern::new)
            .collect();
        if components
            .iter()
            .any(|component| component.as_str().is_empty())
        {
            return Err(format!("`{text}` is no type's name"));
        }
        let canonical = { components.iter() }
            .map(|component| GlobPattern::new(canonical_type(component.as_str())))
            .collect();
        let readable = canonical_type(&readable_type_name(None, rest));
        let readable = split_components(&readable)
            .into_iter()
            .map(GlobPattern::new)
            .collect();
        Ok(Self {
            text: text.to_owned(),
            keyword,
            components,
            canonical,
            readable,
        })
    }

    /// Text of the pattern.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Keyword that restricts the kind of type: `struct`, `union`, `class` or `enum`.
    pub fn keyword(&self) -> Option<&'static str> {
        self.keyword
    }

    /// Components between `::`, outermost first; never empty.
    pub fn components(&self) -> &[GlobPattern] {
        &self.components
    }

    /// Last component: the name of the type without its scope.
    pub fn name(&self) -> &GlobPattern {
        self.components
            .last()
            .expect("a pattern has at least one component")
    }

    /// Returns true if the pattern can match types of more than one name.
    pub fn is_open(&self) -> bool {
        self.components.iter().any(GlobPattern::has_wildcards)
    }

    /// Returns true if the pattern matches the type `name` in `scope`, also if the two spell integers
    /// and spaces in different ways, or if it is the name that a report prints. The keyword is not
    /// compared.
    pub fn matches(&self, scope: Option<&str>, name: &str) -> bool {
        let outer = &self.canonical[..self.canonical.len() - 1];
        let around = scope.map(split_components).unwrap_or_default();
        let inner_first = around.iter().rev();
        let fits = |(glob, part): (&GlobPattern, &&str)| glob.matches(&canonical_type(part));
        self.matches_name(name)
            && outer.len() <= around.len()
            && outer.iter().rev().zip(inner_first).all(fits)
            || self.matches_readable(scope, name)
    }

    /// Returns true if the pattern matches the end of the name that a report prints for the type.
    fn matches_readable(&self, scope: Option<&str>, name: &str) -> bool {
        if scope.is_none() && !name.contains(['<', ':']) {
            return false;
        }
        let printed = canonical_type(&readable_type_name(scope, name));
        let parts = split_components(&printed);
        let fits = |(glob, part): (&GlobPattern, &&str)| glob.matches(part);
        self.readable.len() <= parts.len()
            && self.readable.iter().rev().zip(parts.iter().rev()).all(fits)
    }

    /// Returns true if the pattern may match a type of this name, in its own scope: the last component matches,
    /// or it is the same type with other arguments, which reports print in a shorter form (`std::string`).
    pub fn may_match(&self, name: &str) -> bool {
        let head = |name: &str| name.find(['<', '(']).map(|at| name[..at].trim_end().len());
        let own = self.name().as_str();
        self.matches_name(name)
            || match (head(own), head(name)) {
                (Some(own_end), Some(end)) => own[..own_end] == name[..end],
                _ => name.starts_with(ALIASED_START) && self.matches_readable(Some("std"), name),
            }
    }

    /// Returns true if the last component matches a type's own name.
    pub fn matches_name(&self, name: &str) -> bool {
        // Other names have one spelling only.
        let is_spelled_in_ways = name.contains([' ', '<']);
        let canonical = self.canonical.last();
        self.name().matches(name)
            || is_spelled_in_ways
                && canonical.is_some_and(|last| last.matches(&canonical_type(name)))
    }

    /// Returns true if a rule with this pattern is about the type `name` in `scope`. A name without
    /// scope matches as in [`matches`](Self::matches), but not the copies of C types in Rust code:
    /// `page` is not about `bindings::bindings_raw::page`.
    pub fn applies_to(&self, scope: Option<&str>, name: &str) -> bool {
        let is_copy = scope.is_some_and(is_binding_scope);
        self.matches(scope, name) && !(is_copy && self.components.len() == 1)
    }

    /// Splits the pattern into the type's own name and its scope.
    pub(crate) fn name_and_scope(&self) -> (&str, Option<String>) {
        let (last, outer) = self
            .components
            .split_last()
            .expect("a pattern has at least one component");
        let outer: Vec<&str> = outer.iter().map(GlobPattern::as_str).collect();
        (last.as_str(), (!outer.is_empty()).then(|| outer.join("::")))
    }
}

impl fmt::Display for TypePattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// Splits the text at each `::` outside brackets.
fn split_components(text: &str) -> Vec<&str> {
    let bytes = text.as_bytes();
    let (mut parts, mut start, mut depth) = (Vec::new(), 0, 0u32);
    let mut at = 0;
    while at < bytes.len() {
        match bytes[at] {
            b'<' | b'(' | b'[' | b'{' => depth += 1,
            b'>' if at > 0 && bytes[at - 1] == b'-' => {}
            b'>' | b')' | b']' | b'}' => depth = depth.saturating_sub(1),
            b':' if depth == 0 && bytes.get(at + 1) == Some(&b':') => {
                parts.push(&text[start..at]);
                at += 1;
                start = at + 1;
            }
            _ => {}
        }
        at += 1;
    }
    parts.push(&text[start..]);
    parts
}

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
    use super::{MemberPattern, TypePattern};

    #[track_caller]
    fn check(pattern: &str, scope: Option<&str>, name: &str, expect: bool) {
        let pattern = TypePattern::parse(pattern).unwrap();
        assert_eq!(pattern.matches(scope, name), expect);
    }

    #[test]
    fn types_match_from_the_innermost_name() {
        check("Socket", Some("net"), "Socket", true);
        check("net::Socket", Some("net"), "Socket", true);
        check("net::Socket", Some("os::net"), "Socket", true);
        check("net::Socket", None, "Socket", false);
        check("*::Socket", Some("net"), "Socket", true);
        check("*::Socket", None, "Socket", false);
        check("Vec<a::b, c>", Some("alloc::vec"), "Vec<a::b, c>", true);
        check("Fn<fn() -> a::B>", None, "Fn<fn() -> a::B>", true);
        check("struct page", None, "page", true);
        check(
            "Stats<unsigned long>",
            None,
            "Stats<long unsigned int>",
            true,
        );
        check("a::S< int , long>", Some("a"), "S<int, long int>", true);
        check("Stats<unsigned>", None, "Stats<long unsigned int>", false);
        let vector = "vector<net::Worker, std::allocator<net::Worker> >";
        check("std::vector<net::Worker>", Some("std"), vector, true);
        check("vector<net::Worker>", Some("std"), vector, true);
        check("vector<Worker>", Some("std"), vector, false);
        let inner = "ArcInner<std::sync::mutex::Mutex<a::B>>";
        check("ArcInner<Mutex<a::B>>", Some("alloc::sync"), inner, true);
        check(inner, Some("alloc::sync"), inner, true);
    }

    #[test]
    fn copies_in_rust_need_their_scope() {
        let applies = |pattern: &str, scope| {
            let pattern = TypePattern::parse(pattern).unwrap();
            pattern.applies_to(scope, "page")
        };
        assert!(applies("page", None));
        assert!(applies("page", Some("kernel::mm")));
        assert!(!applies("page", Some("bindings::bindings_raw")));
        assert!(!applies("struct pa*", Some("uapi")));
        assert!(applies(
            "bindings_raw::page",
            Some("bindings::bindings_raw")
        ));
        assert!(applies("uapi::page", Some("uapi")));
    }

    #[test]
    fn keywords_are_words() {
        assert_eq!(
            TypePattern::parse("struct  page").unwrap().keyword(),
            Some("struct")
        );
        assert_eq!(TypePattern::parse("structure").unwrap().keyword(), None);
        assert!(TypePattern::parse("a::").is_err());
        assert!(TypePattern::parse("").is_err());
    }

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
