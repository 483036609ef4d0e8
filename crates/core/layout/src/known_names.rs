//! Types and variables of a recording that a user's name means.
//!
//! Reports print `net::Pool<Job>`, and users type `Pool<Job>`, `struct net::Pool<Job>`, or as much of the name as they
//! remember. The name of the best tie wins: the whole name, then the same type without its outer scopes or in another
//! spelling, then a part of the name.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use crate::suggestions::similar_names;
use crate::type_pattern::split_components;
use crate::word_lists::word_list;
use crate::{Aggregate, InlineNamespaces, TypePattern, canonical_type};

/// Names that a message lists.
const LISTED_MAX: usize = 5;

/// Lists the names that a user's name may mean: `a, b and 3 more`.
pub fn list_meant<S: AsRef<str>>(meant: &BTreeSet<S>) -> String {
    word_list(&Vec::from_iter(meant), LISTED_MAX)
}

/// Type or variable by the name that reports print.
#[derive(Clone, Debug)]
pub struct KnownName<'n, T> {
    /// Name as reports print it.
    pub printed: Cow<'n, str>,
    /// Definition of a struct, union or class, whose name has other spellings too; `None` for a variable, and where only
    /// the printed name is known.
    pub definition: Option<&'n Aggregate>,
    /// True for the type of a whole object, or of the elements of an array. Such a type is meant rather than one that is
    /// only a member of others.
    pub is_whole: bool,
    /// Meaning of the name, which several names may share.
    pub meaning: T,
}

impl<'n, T> KnownName<'n, T> {
    /// Returns a name without a definition.
    pub fn printed(name: impl Into<Cow<'n, str>>, meaning: T) -> Self {
        Self {
            printed: name.into(),
            definition: None,
            is_whole: false,
            meaning,
        }
    }

    /// Returns the name with another meaning.
    pub fn with_meaning<U>(self, meaning: U) -> KnownName<'n, U> {
        KnownName {
            printed: self.printed,
            definition: self.definition,
            is_whole: self.is_whole,
            meaning,
        }
    }
}

/// Meaning of a user's name among the known ones.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NameMatch<T> {
    /// The only meaning.
    Unique(T),
    /// Meanings that fit equally well.
    Several(BTreeSet<T>),
    /// No name fits, or several names have it as a part.
    Unknown,
}

impl TypePattern {
    /// Returns the meaning of the known name that the pattern fits best. The keyword is not compared: a report prints
    /// names without it.
    ///
    /// ```
    /// use relayout_layout::known_names::{KnownName, NameMatch};
    /// use relayout_layout::{InlineNamespaces, TypePattern};
    ///
    /// let known = ["net::Pool<Job>", "net::Socket"].map(|name| KnownName::printed(name, name));
    /// let pattern = TypePattern::parse("struct Socket")?;
    /// let meant = pattern.find_known(&known, &InlineNamespaces::default());
    /// assert_eq!(meant, NameMatch::Unique("net::Socket"));
    /// # Ok::<(), String>(())
    /// ```
    pub fn find_known<T: Clone + Ord>(
        &self,
        known: &[KnownName<'_, T>],
        inline: &InlineNamespaces,
    ) -> NameMatch<T> {
        // The name of an enum has its keyword in reports.
        for written in [self.as_str().trim(), self.bare_name()] {
            if let Some(exact) = known.iter().find(|name| name.printed == written) {
                return NameMatch::Unique(exact.meaning.clone());
            }
        }
        let mut by_tie: BTreeMap<NameTie, BTreeSet<T>> = BTreeMap::new();
        for name in known {
            if let Some(tie) = self.tie_to(name, inline) {
                by_tie.entry(tie).or_default().insert(name.meaning.clone());
            }
        }
        let mut take = |tie| by_tie.remove(&tie).unwrap_or_default();
        let whole = take(NameTie::WholeType);
        let types = match whole.len() {
            1 => whole,
            _ => &whole | &take(NameTie::HeldType),
        };
        let spelled = [types, take(NameTie::Printed)];
        if let Some(meanings) = spelled.into_iter().find(|meanings| !meanings.is_empty()) {
            return NameMatch::from_meanings(meanings);
        }
        match NameMatch::from_meanings(take(NameTie::Part)) {
            NameMatch::Several(_) => NameMatch::Unknown,
            found => found,
        }
    }

    fn tie_to<T>(&self, name: &KnownName<'_, T>, inline: &InlineNamespaces) -> Option<NameTie> {
        if let Some(definition) = name.definition {
            let tag = definition.name.as_deref().unwrap_or_default();
            if self.matches_in(definition.scope.as_deref(), tag, inline) {
                return Some(match name.is_whole {
                    true => NameTie::WholeType,
                    false => NameTie::HeldType,
                });
            }
        }
        let components = split_components(&name.printed);
        let (own, scope) = components.split_last()?;
        let scope = (!scope.is_empty()).then(|| scope.join("::"));
        if self.matches_in(scope.as_deref(), own, inline) {
            return Some(NameTie::Printed);
        }
        let part = canonical_type(self.bare_name());
        canonical_type(&name.printed)
            .contains(&part)
            .then_some(NameTie::Part)
    }

    /// Returns printed names that are similar to the pattern, for a message.
    pub fn similar_printed<'n>(&self, printed: impl IntoIterator<Item = &'n str>) -> Vec<String> {
        similar_names(printed, self.bare_name())
    }

    /// Returns names of definitions, without scopes, that are similar to the pattern, for a message.
    pub fn similar_definitions<'n>(
        &self,
        own_names: impl IntoIterator<Item = &'n str>,
    ) -> Vec<String> {
        similar_names(own_names, &self.name().as_str().replace(['*', '?'], ""))
    }
}

/// Tie of a known name to a pattern, the closest first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum NameTie {
    /// The type of a whole object, without outer scopes or in another spelling.
    WholeType,
    /// Such a type that is a member of others.
    HeldType,
    /// The printed name, without outer scopes or in another spelling.
    Printed,
    /// The printed name has the pattern's text in it.
    Part,
}

impl<T: Ord> NameMatch<T> {
    fn from_meanings(mut meanings: BTreeSet<T>) -> Self {
        match meanings.len() {
            0 | 1 => meanings.pop_first().map_or(Self::Unknown, Self::Unique),
            _ => Self::Several(meanings),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Names of a recording: whole types, types that are members of others, and variables.
    struct Recorded {
        whole: &'static [&'static str],
        held: &'static [&'static str],
        variables: &'static [&'static str],
    }

    const KERNEL: Recorded = Recorded {
        whole: &["mm_struct", "page", "pcpu_chunk"],
        held: &["rw_semaphore", "list_head"],
        variables: &["runqueues", "vm_committed_as", "page"],
    };
    const CPP: Recorded = Recorded {
        whole: &[
            "std::vector<net::Job, std::allocator<net::Job> >",
            "net::Socket",
            "Ring<long unsigned int>",
            "(anonymous namespace)::Hidden",
            "Stats",
        ],
        held: &[
            "disk::Socket",
            "disk::Stats",
            "lib::v1::Job",
            "disk::Queue",
            "net::Queue",
        ],
        variables: &["net::counters", "unsigned long [8]", "enum Mode"],
    };
    const RUST: Recorded = Recorded {
        whole: &[
            "alloc::sync::ArcInner<server::Worker>",
            "server::Worker",
            "client::Slot",
            "server::Slot",
        ],
        held: &["core::sync::atomic::AtomicUsize"],
        variables: &["server::HITS", "main::{closure#0}::LOCAL"],
    };

    fn definition(path: &str) -> Aggregate {
        let components = split_components(path);
        let (own, scope) = components.split_last().expect("a path has a name");
        Aggregate {
            name: Some((*own).into()),
            scope: (!scope.is_empty()).then(|| scope.join("::")),
            ..Aggregate::default()
        }
    }

    /// Looks for each name, and compares the printed names of what is meant, joined by ` | `; `-` for none.
    #[track_caller]
    fn check(recorded: &Recorded, expect: &[(&str, &str)]) {
        let inline = InlineNamespaces::new(["lib::v1".to_owned()]);
        let define = |path: &&str| definition(path);
        let definitions: Vec<Aggregate> = { recorded.whole.iter().chain(recorded.held) }
            .map(define)
            .collect();
        let types = definitions.iter().enumerate().map(|(index, definition)| {
            let printed = definition.readable_name().expect("it has a name");
            KnownName {
                definition: Some(definition),
                is_whole: index < recorded.whole.len(),
                ..KnownName::printed(printed.clone(), printed)
            }
        });
        let variables = recorded.variables.iter();
        let variables = variables.map(|name| KnownName::printed(*name, (*name).to_owned()));
        let known: Vec<KnownName<'_, String>> = types.chain(variables).collect();
        for (asked, expect) in expect {
            let pattern = TypePattern::parse(asked).expect("a name");
            let found = match pattern.find_known(&known, &inline) {
                NameMatch::Unique(name) => name,
                NameMatch::Several(names) => Vec::from_iter(names).join(" | "),
                NameMatch::Unknown => "-".to_owned(),
            };
            assert_eq!(found, *expect, "{asked}");
        }
    }

    #[test]
    fn names_of_a_kernel() {
        check(
            &KERNEL,
            &[
                ("mm_struct", "mm_struct"),
                (" struct mm_struct ", "mm_struct"),
                ("struct  page", "page"),
                ("union page", "page"),
                ("runqueues", "runqueues"),
                ("chunk", "pcpu_chunk"),
                ("committed", "vm_committed_as"),
                ("rw_*", "rw_semaphore"),
                ("*_struct", "mm_struct"),
                ("MM_STRUCT", "-"),
                ("_", "-"),
                ("mm_strcut", "-"),
            ],
        );
    }

    #[test]
    fn names_of_cpp() {
        check(
            &CPP,
            &[
                ("net::Socket", "net::Socket"),
                ("class net::Socket", "net::Socket"),
                // The type of whole objects comes before a member.
                ("Socket", "net::Socket"),
                ("disk::Socket", "disk::Socket"),
                // The whole name comes before a scope that is left out.
                ("Stats", "Stats"),
                ("Queue", "disk::Queue | net::Queue"),
                ("Sock", "-"),
                ("vector<net::Job>", "std::vector<net::Job>"),
                (
                    "vector<net::Job, std::allocator<net::Job>>",
                    "std::vector<net::Job>",
                ),
                ("vector", "std::vector<net::Job>"),
                ("vector<int>", "-"),
                ("Ring<unsigned long>", "Ring<unsigned long>"),
                ("Ring<long unsigned>", "Ring<unsigned long>"),
                ("Hidden", "(anonymous namespace)::Hidden"),
                ("lib::Job", "lib::v1::Job"),
                ("v1::Job", "lib::v1::Job"),
                ("counters", "net::counters"),
                ("long unsigned int [8]", "unsigned long [8]"),
                ("net::Socket [4]", "net::Socket"),
                ("enum Mode", "enum Mode"),
                ("os::Socket", "-"),
            ],
        );
    }

    #[test]
    fn names_of_rust() {
        check(
            &RUST,
            &[
                ("server::Worker", "server::Worker"),
                ("Worker", "server::Worker"),
                ("ArcInner<server::Worker>", "ArcInner<server::Worker>"),
                ("ArcInner<Worker>", "-"),
                (
                    "alloc::sync::ArcInner<server::Worker>",
                    "ArcInner<server::Worker>",
                ),
                ("Slot", "client::Slot | server::Slot"),
                ("client::Slot", "client::Slot"),
                ("AtomicUsize", "AtomicUsize"),
                ("HITS", "server::HITS"),
                ("LOCAL", "main::{closure#0}::LOCAL"),
                ("slot", "-"),
            ],
        );
    }

    #[test]
    fn similar_names_have_scopes_where_the_list_has() {
        let pattern = TypePattern::parse("struct net::Sokcet").expect("a name");
        assert_eq!(
            pattern.similar_printed(["net::Socket", "Job"]),
            ["net::Socket"]
        );
        assert_eq!(pattern.similar_definitions(["Socket", "Job"]), ["Socket"]);
        let open = TypePattern::parse("tpc_*").expect("a name");
        assert_eq!(open.similar_definitions(["tcp_", "udp_"]), ["tcp_"]);
    }
}
