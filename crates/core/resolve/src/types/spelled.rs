//! Types by names that were spelled elsewhere than in the debug information of types, as in the symbols of
//! functions.
//!
//! Such names leave out default arguments, and spell closures differently. So a name is compared as
//! [`readable_type_name`] gives it, and where none is equal, arguments of which one names a closure are taken for
//! equal.

use relayout_layout::dwarf::DwarfFile;
use relayout_layout::{DefinitionKind, readable_type_name};
use rustc_hash::FxHashMap;

use super::store::FileDie;
use crate::images::FileId;

/// Definition that a spelled name may mean.
#[derive(Clone, Copy)]
struct NamedDefinition<'a> {
    name: &'a str,
    die: FileDie,
    size: u64,
}

/// Definitions by their last name without arguments: `Slot` of `tokio::util::Slot<u64>`.
#[derive(Default)]
pub(super) struct SpelledNames<'a> {
    by_bare_name: FxHashMap<&'a str, Vec<NamedDefinition<'a>>>,
}

impl<'a> SpelledNames<'a> {
    pub(super) fn new(files: &[&DwarfFile<'a>]) -> Self {
        let mut by_bare_name: FxHashMap<&str, Vec<_>> = FxHashMap::default();
        for (file, debug_file) in files.iter().enumerate() {
            for (name, definitions) in debug_file.type_names() {
                let definitions = definitions
                    .filter(|found| found.kind.is_aggregate() || found.kind == DefinitionKind::Base)
                    .map(|found| NamedDefinition {
                        name,
                        die: FileDie {
                            file: FileId(file as u16),
                            offset: found.die,
                        },
                        size: u64::from(found.size),
                    });
                let bare = bare_name(name);
                by_bare_name.entry(bare).or_default().extend(definitions);
            }
        }
        Self { by_bare_name }
    }

    /// Returns the definitions of a name whose size fits: those with an equal name, else those with one that is
    /// equal but for closures.
    pub(super) fn find(
        &self,
        files: &[&DwarfFile<'a>],
        spelled: &str,
        fits: impl Fn(u64) -> bool,
    ) -> Vec<FileDie> {
        let Some(named) = self.by_bare_name.get(bare_name(spelled)) else {
            return Vec::new();
        };
        let fitting = || named.iter().filter(|found| fits(found.size));
        let scope_of = |found: &NamedDefinition<'_>| {
            let file = files.get(usize::from(found.die.file.0))?;
            Some(file.scope_path(file.scope_of(found.die.offset)?))
        };
        let readable = readable_type_name(None, spelled);
        let with_names = |found: &NamedDefinition<'a>| {
            let own = readable_type_name(scope_of(found).as_deref(), found.name);
            (found.die, own)
        };
        let named: Vec<(FileDie, String)> = fitting().map(with_names).collect();
        let matching = |is_wanted: &dyn Fn(&str) -> bool| -> Vec<FileDie> {
            let wanted = named.iter().filter(|(_, own)| is_wanted(own));
            wanted.map(|(die, _)| *die).collect()
        };
        let equal = matching(&|own| own == readable);
        match equal.is_empty() {
            true => matching(&|own| is_equal_but_closures(own, &readable)),
            false => equal,
        }
    }
}

/// Returns true for instances of one generic type whose arguments are equal, as far as none names a closure.
fn is_equal_but_closures(a: &str, b: &str) -> bool {
    let (Some((path_a, list_a)), Some((path_b, list_b))) = (a.split_once('<'), b.split_once('<'))
    else {
        return false;
    };
    let (Some((arguments_a, _)), Some((arguments_b, _))) =
        (split_arguments(list_a), split_arguments(list_b))
    else {
        return false;
    };
    let names_closure = |argument: &str| argument.contains('{');
    let mut pairs = arguments_a.iter().zip(&arguments_b);
    path_a == path_b
        && arguments_a.len() == arguments_b.len()
        && pairs.all(|(a, b)| a == b || names_closure(a) || names_closure(b))
}

/// Splits the arguments of a list from what follows their end: `A<B, C>` and `D`, and `>::f`, of `A<B, C>,
/// D>>::f`. `None` for a list without an end.
pub(crate) fn split_arguments(list: &str) -> Option<(Vec<&str>, &str)> {
    let mut arguments = Vec::new();
    let mut depth = 0usize;
    let mut start = 0;
    let mut before = ' ';
    for (at, next) in list.char_indices() {
        match next {
            '<' | '(' | '[' | '{' => depth += 1,
            // `->` closes nothing.
            '>' if before == '-' => {}
            ',' if depth == 0 => {
                arguments.push(list[start..at].trim());
                start = at + 1;
            }
            '>' if depth == 0 => {
                arguments.push(list[start..at].trim());
                return Some((arguments, &list[at + 1..]));
            }
            '>' | ')' | ']' | '}' => depth = depth.checked_sub(1)?,
            _ => {}
        }
        before = next;
    }
    None
}

/// Returns the last name without scope and arguments: `Slot` of `tokio::util::Slot<u64>`. Tuples and the like have
/// their first character.
fn bare_name(name: &str) -> &str {
    if name.starts_with(['(', '&', '*', '[', '<', '{']) {
        return &name[..1];
    }
    let path = &name[..name.find('<').unwrap_or(name.len())];
    path.rsplit("::").next().unwrap_or(path)
}

#[cfg(test)]
mod tests {
    use super::{bare_name, is_equal_but_closures, split_arguments};

    #[test]
    fn bare_names() {
        let check = |name, expect| assert_eq!(bare_name(name), expect, "{name}");
        check("tokio::util::Slot<a::B<u8>>", "Slot");
        check("Slot<a::B>", "Slot");
        check("unsigned long", "unsigned long");
        check("(a::B, u8)", "(");
        check("&str", "&");
        check("", "");
    }

    #[test]
    fn arguments_of_lists() {
        let (arguments, rest) = split_arguments("A<B, C>, fn(u8) -> D>>::f").expect("an end");
        assert_eq!((arguments, rest), (vec!["A<B, C>", "fn(u8) -> D"], ">::f"));
        assert_eq!(split_arguments("A<B, C>, ((("), None);
    }

    #[test]
    fn closures_are_spelled_in_several_ways() {
        let cell = "Cell<net::{impl#0}::run::{async_block_env#0}, Arc<Worker>>";
        assert!(is_equal_but_closures(
            cell,
            "Cell<<net::Run>::run::{closure#0}, Arc<Worker>>"
        ));
        assert!(!is_equal_but_closures(
            cell,
            "Cell<<net::Run>::run::{closure#0}, Arc<Other>>"
        ));
        assert!(!is_equal_but_closures(
            cell,
            "Core<<net::Run>::run::{closure#0}, Arc<Worker>>"
        ));
        assert!(!is_equal_but_closures("Cell", "Cell<u8>"));
    }
}
