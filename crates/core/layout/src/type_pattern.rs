//! Patterns for the names of types, by which all commands find a type.
//!
//! A user writes `mm_struct`, `struct page`, `tcp_*` or `net::Socket<int>`. `show`, `diff`, `check` and `verify kernel`
//! look for it among the definitions of a file ([`TypeCatalog::find_matching`](crate::catalog::TypeCatalog::find_matching)),
//! `report`, `advise` and `compare` among the names of a recording ([`known_names`](crate::known_names)).

use std::borrow::Cow;
use std::fmt;

use crate::canonical::{UNNAMED_SCOPE, has_unnamed, without_unnamed};
use crate::glob::GlobPattern;
use crate::{
    AggregateKind, InlineNamespaces, Type, canonical_type, is_binding_scope, readable_type_name,
};

/// Pattern for type names: `mm_struct`, `struct page`, `tcp_*`, `net::Socket<*>`.
///
/// Components between `::` match one to one, from the last. `Socket` matches in any namespace.
/// `net::Socket` matches only in a namespace `net`, at any depth. Namespaces without a name and
/// inline namespaces may be left out, as in C++. Functions around a type are written with or
/// without parameters: `main::Job`, `main()::Job`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TypePattern {
    text: String,
    /// The text without the keyword.
    bare_name: String,
    keyword: Option<&'static str>,
    /// Components, outermost first; never empty.
    components: Vec<GlobPattern>,
    /// The same in the common spelling of all compilers.
    canonical: Vec<GlobPattern>,
    /// The same as reports print the name, in the common spelling.
    readable: Vec<GlobPattern>,
}

/// Keywords that may precede a type's name.
const KEYWORDS: [&str; 4] = ["struct", "union", "class", "enum"];

/// Start of the names of standard types that reports print by an alias.
const ALIASED_START: &str = "basic_string";

/// Scope and name of a type in one of their spellings.
struct SpelledName<'n> {
    scope: Vec<&'n str>,
    /// Canonical name.
    name: Cow<'n, str>,
}

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
        let bare_name = rest.to_owned();
        let rest = element_of_array(rest);
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
            .map(|component| GlobPattern::new(canonical_component(component.as_str())))
            .collect();
        let readable = canonical_type(&readable_type_name(None, rest));
        let readable = split_components(&readable)
            .into_iter()
            .map(|component| GlobPattern::new(without_parameters(component)))
            .collect();
        Ok(Self {
            text: text.to_owned(),
            bare_name,
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

    /// Text of the pattern without the keyword and the spaces around it.
    pub fn bare_name(&self) -> &str {
        &self.bare_name
    }

    /// Keyword that restricts the kind of type: `struct`, `union`, `class` or `enum`.
    pub fn keyword(&self) -> Option<&'static str> {
        self.keyword
    }

    /// Returns true if the definition is of the kind that the keyword asks for, if there is one. A class is a struct
    /// too, as in C++.
    pub fn admits_kind(&self, definition: &Type) -> bool {
        let is_union = match definition {
            Type::Aggregate(aggregate) => Some(aggregate.kind == AggregateKind::Union),
            _ => None,
        };
        match self.keyword {
            None => true,
            Some("struct" | "class") => is_union == Some(false),
            Some("union") => is_union == Some(true),
            Some(_) => matches!(definition, Type::Enum { .. }),
        }
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

    /// Returns true if the pattern matches the type `name` in `scope`, also if the two spell
    /// integers and spaces in different ways, or if it is the name that a report prints. The
    /// keyword is not compared.
    pub fn matches(&self, scope: Option<&str>, name: &str) -> bool {
        self.matches_in(scope, name, &InlineNamespaces::default())
    }

    /// Same as [`matches`](Self::matches), in a file with inline namespaces.
    pub fn matches_in(&self, scope: Option<&str>, name: &str, inline: &InlineNamespaces) -> bool {
        let parts = scope.map(split_components).unwrap_or_default();
        let fits = |spelled: &SpelledName<'_>| self.matches_spelling(spelled);
        let own = SpelledName {
            scope: parts,
            name: Cow::Borrowed(name),
        };
        if fits(&own) {
            return true;
        }
        if scope.is_none() && !name.contains(['<', ':']) {
            return false;
        }
        let mut others = vec![own.without_unnamed()];
        if !inline.is_empty() {
            others.push(own.without_inline(inline));
            others.push(own.without_inline(inline).without_unnamed());
        }
        others.iter().any(fits)
    }

    fn matches_spelling(&self, spelled: &SpelledName<'_>) -> bool {
        let outer = &self.canonical[..self.canonical.len() - 1];
        self.matches_name(&spelled.name) && ends_with(&spelled.scope, outer)
            || self.matches_readable(spelled)
    }

    /// Returns true if the pattern matches the end of the name that a report prints for the type.
    fn matches_readable(&self, spelled: &SpelledName<'_>) -> bool {
        let name = &*spelled.name;
        if spelled.scope.is_empty() && !name.contains(['<', ':']) {
            return false;
        }
        let scope = (!spelled.scope.is_empty()).then(|| spelled.scope.join("::"));
        let printed = canonical_type(&readable_type_name(scope.as_deref(), name));
        ends_with(&split_components(&printed), &self.readable)
    }

    /// Returns true if the pattern may match a type of this name, in its own scope: the last
    /// component matches, or it is the same type with other arguments, which reports print in a
    /// shorter form (`std::string`).
    pub fn may_match(&self, name: &str) -> bool {
        let head = |name: &str| name.find(['<', '(']).map(|at| name[..at].trim_end().len());
        let own = self.name().as_str();
        self.matches_name(name)
            || match (head(own), head(name)) {
                (Some(own_end), Some(end)) => own[..own_end] == name[..end],
                _ if name.starts_with(ALIASED_START) => self.matches_readable(&SpelledName {
                    scope: vec!["std"],
                    name: Cow::Borrowed(name),
                }),
                _ => false,
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

    /// Number of template arguments that the pattern gives, if `name` has these and more:
    /// `Pool<int>` may mean `Pool<int, Arena<int>>`, if the others are defaults. `None` for other
    /// names.
    pub fn arguments_before_defaults(&self, name: &str) -> Option<usize> {
        let own = self.canonical.last()?.as_str().strip_suffix('>')?;
        let canonical = canonical_type(name);
        let others = canonical.strip_prefix(own)?;
        (!self.is_open() && others.starts_with(',')).then(|| argument_count(own))
    }

    /// Returns true if the components around the name fit `scope`.
    pub fn fits_scope(&self, scope: Option<&str>, inline: &InlineNamespaces) -> bool {
        let spelled = SpelledName {
            scope: scope.map(split_components).unwrap_or_default(),
            name: Cow::Borrowed(""),
        };
        let outer = &self.canonical[..self.canonical.len() - 1];
        let visible = spelled.without_inline(inline);
        [
            visible.without_unnamed(),
            spelled.without_unnamed(),
            visible,
            spelled,
        ]
        .iter()
        .any(|spelled| ends_with(&spelled.scope, outer))
    }

    /// Returns true if a rule with this pattern is about the type `name` in `scope`. A name without
    /// scope matches as in [`matches`](Self::matches), but not the copies of C types in Rust code:
    /// `page` is not about `bindings::bindings_raw::page`.
    pub fn applies_to(&self, scope: Option<&str>, name: &str) -> bool {
        self.matches(scope, name) && !self.is_about_other_than_copies(scope)
    }

    /// Returns true if types in `scope` are copies of C types in Rust code, which a pattern without
    /// scope does not mean.
    pub fn is_about_other_than_copies(&self, scope: Option<&str>) -> bool {
        self.components.len() == 1 && scope.is_some_and(is_binding_scope)
    }

    /// Splits the pattern into the type's own name and its scope.
    pub fn name_and_scope(&self) -> (&str, Option<String>) {
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

impl<'n> SpelledName<'n> {
    fn without_unnamed(&self) -> Self {
        let scope = self.scope.iter().copied();
        let name: &str = &self.name;
        Self {
            scope: scope.filter(|part| *part != UNNAMED_SCOPE).collect(),
            name: match has_unnamed(name) {
                true => Cow::Owned(without_unnamed(&canonical_type(name))),
                false => self.name.clone(),
            },
        }
    }

    fn without_inline(&self, inline: &InlineNamespaces) -> Self {
        Self {
            scope: inline.visible(&self.scope),
            name: Cow::Owned(inline.without_inline(&self.name).into_owned()),
        }
    }
}

/// Type of the elements of an array, as reports name arrays: `Slot [4]`, `net::Job * [64][2]`. Other
/// names stay as they are.
fn element_of_array(name: &str) -> &str {
    let Some((element, counts)) = name.rsplit_once(" [") else {
        return name;
    };
    let is_number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let are_numbers = |text: &str| text.split("][").all(is_number);
    match counts.strip_suffix(']').is_some_and(are_numbers) {
        true => element.trim_end_matches([' ', '*']),
        false => name,
    }
}

/// Returns true if the last components of `path` match `globs`, one to one.
fn ends_with(path: &[&str], globs: &[GlobPattern]) -> bool {
    let fits = |(glob, part): (&GlobPattern, &&str)| {
        let part = canonical_component(part);
        glob.matches(&part)
    };
    globs.len() <= path.len() && globs.iter().rev().zip(path.iter().rev()).all(fits)
}

/// Component of a path in the common spelling, without the parameters of a function.
fn canonical_component(component: &str) -> String {
    without_parameters(&canonical_type(component)).to_owned()
}

/// Name of a function without its parameters: `main` for `main()`. Other components stay as they
/// are.
fn without_parameters(component: &str) -> &str {
    let is_function = component.ends_with(')') && !component.starts_with(['(', '<', '{', '*', '?']);
    let parameters = component.find('(').filter(|_| is_function);
    match parameters.filter(|at| !component[..*at].contains(['<', ' '])) {
        // The name of a call operator has brackets, too.
        Some(at) if &component[..at] == "operator" => &component[..at + 2],
        Some(at) => &component[..at],
        None => component,
    }
}

/// Number of arguments in a template's name without its last bracket.
fn argument_count(open: &str) -> usize {
    let (mut depth, mut count) = (0usize, 1usize);
    for letter in open.chars() {
        match letter {
            '<' | '(' | '[' | '{' => depth += 1,
            '>' | ')' | ']' | '}' => depth = depth.saturating_sub(1),
            ',' if depth == 1 => count += 1,
            _ => {}
        }
    }
    count
}

/// Splits the text at each `::` outside brackets.
pub(crate) fn split_components(text: &str) -> Vec<&str> {
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

#[cfg(test)]
mod tests {
    use super::TypePattern;
    use crate::{Aggregate, AggregateKind, InlineNamespaces, Type};

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
    fn arrays_mean_the_type_of_their_elements() {
        check("Slot [4]", None, "Slot", true);
        check("struct net::Job * [64][2]", Some("net"), "Job", true);
        check("Slot [n]", None, "Slot", false);
        assert_eq!(
            TypePattern::parse("struct Slot [4] ").unwrap().bare_name(),
            "Slot [4]"
        );
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
    fn a_class_is_a_struct_and_no_union() {
        let admits = |asked: &str, kind| {
            let definition = Type::Aggregate(Aggregate {
                kind,
                ..Aggregate::default()
            });
            TypePattern::parse(asked).unwrap().admits_kind(&definition)
        };
        for kind in [AggregateKind::Struct, AggregateKind::Class] {
            let admitted = ["Pool", "struct Pool", "class Pool"].map(|asked| admits(asked, kind));
            assert_eq!(admitted, [true; 3]);
            assert!(!admits("union Pool", kind) && !admits("enum Pool", kind));
        }
        assert!(admits("union Pool", AggregateKind::Union));
        assert!(!admits("struct Pool", AggregateKind::Union));
    }

    #[test]
    fn members_of_unnamed_namespaces_are_members_of_their_parent() {
        for scope in [
            "c",
            "c::(anonymous namespace)",
            "c::{anonymous}",
            "c::(anonymous)",
        ] {
            check(&format!("{scope}::Q"), Some("c::(anonymous)"), "Q", true);
        }
        check("(anonymous namespace)::Q", Some("(anonymous)"), "Q", true);
        check("Q", Some("c::(anonymous)"), "Q", true);
        check("b::Q", Some("c::(anonymous)"), "Q", false);
        check("(anonymous)::Q", Some("c"), "Q", false);
        let held = "S<(anonymous namespace)::Q>";
        for asked in [held, "S<{anonymous}::Q>", "S<Q>"] {
            check(asked, None, held, true);
        }
        check("S<(anonymous)::Q>", None, "S<Q>", false);
    }

    #[test]
    fn inline_namespaces_are_left_out_or_not() {
        let inline = InlineNamespaces::new(["v1", "a::v2", "a::b::v3"].map(str::to_owned));
        let check = |pattern: &str, scope, name: &str, expect| {
            let pattern = TypePattern::parse(pattern).unwrap();
            assert_eq!(
                pattern.matches_in(scope, name, &inline),
                expect,
                "{pattern}"
            );
        };
        check("a::T", Some("a::v2"), "T", true);
        check("a::v2::T", Some("a::v2"), "T", true);
        check("a::b::T", Some("a::b::v3"), "T", true);
        check("a::b::T", Some("a::b::v3::(anonymous)"), "T", true);
        check("a::T", Some("a::v1"), "T", false);
        check("S<a::T, T>", None, "S<a::v2::T, v1::T>", true);
        check("S<a::v2::T, v1::T>", None, "S<a::v2::T, v1::T>", true);
        check("S<b::T>", None, "S<bv1::T>", false);
    }

    #[test]
    fn types_in_functions() {
        for asked in ["Job", "main::Job", "main()::Job", "main(int, char**)::Job"] {
            check(asked, Some("main()"), "Job", true);
        }
        check("work::Job", Some("main()"), "Job", false);
        check(
            "operator()::Job",
            Some("<lambda()>::operator()"),
            "Job",
            true,
        );
    }

    #[test]
    fn arguments_that_may_be_defaults() {
        let given = |asked: &str, name: &str| {
            let pattern = TypePattern::parse(asked).unwrap();
            pattern.arguments_before_defaults(name)
        };
        assert_eq!(given("Pool<int>", "Pool<int, Arena<int>, 16>"), Some(1));
        assert_eq!(
            given("Pool<long, A<b, c>>", "Pool<long int, A<b, c>, 16>"),
            Some(2)
        );
        assert_eq!(given("Pool<int>", "Pool<int>"), None);
        assert_eq!(given("Pool<int>", "Pool<integer, 4>"), None);
        assert_eq!(given("Pool", "Pool<int>"), None);
    }
}
