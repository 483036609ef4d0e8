//! Index of type names as bytes, so that the next run reads it instead of all units.
//!
//! Numbers are little-endian, lists follow each other without padding: a header of counts, the lists of the definitions,
//! the names by row, the rows by name, the scopes. A reader takes the lists where they lie. Damaged bytes give no index, or
//! one with wrong entries, which the reader of entries then rejects.

use zerocopy::little_endian::{U16, U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use super::die::DieOffset;
use super::index::{DefinitionLists, NameTable, TypeNameIndex};
use super::language::{LanguageUnits, UnitLanguage};
use super::scopes::{ScopeEntry, ScopeId, ScopeIndex};
use super::unit_names::ScopeKind;

/// First bytes, with the version of the format.
const MAGIC: [u8; 8] = *b"rlnames2";
/// Parent of a scope that has none.
const NO_PARENT: u32 = u32::MAX;

/// Names of a kept index.
pub(super) struct KeptNames<'s> {
    text: &'s str,
    /// End of each name in `text`.
    ends: &'s [U32],
    /// Rows in the order of their names.
    sorted: &'s [U32],
}

impl<'s> KeptNames<'s> {
    pub(super) fn len(&self) -> usize {
        self.ends.len()
    }

    pub(super) fn name(&self, row: usize) -> &'s str {
        name_at(self.text, self.ends, row)
    }

    pub(super) fn row_of(&self, name: &str) -> Option<usize> {
        let found = { self.sorted }.binary_search_by(|row| self.name(row.get() as usize).cmp(name));
        found.ok().map(|at| self.sorted[at].get() as usize)
    }
}

/// Text of a list of texts by its number; empty outside of the list.
fn name_at<'s>(text: &'s str, ends: &[U32], number: usize) -> &'s str {
    let end = |number: usize| ends.get(number).map(|end| end.get() as usize);
    let start = number.checked_sub(1).map_or(Some(0), end);
    let range = start.zip(end(number));
    range
        .and_then(|(start, end)| text.get(start..end))
        .unwrap_or_default()
}

/// Writes an index as bytes.
pub(super) fn write_index(index: &TypeNameIndex<'_>) -> Vec<u8> {
    let names: Vec<&str> = (0..index.names.len())
        .map(|row| index.names.name(row))
        .collect();
    let mut sorted: Vec<u32> = (0..names.len() as u32).collect();
    sorted.sort_unstable_by_key(|row| names[*row as usize]);
    let scopes = &index.scopes;
    let scope_names: Vec<&str> = scopes.scopes.iter().map(|scope| scope.name).collect();
    let parents = { scopes.scopes.iter() }.map(|scope| scope.parent.map_or(NO_PARENT, |id| id.0));
    let lists = &index.lists;
    let mut bytes = MAGIC.to_vec();
    for count in [
        lists.dies.len(),
        names.len(),
        names.iter().map(|name| name.len()).sum(),
        scope_names.len(),
        scope_names.iter().map(|name| name.len()).sum(),
        scopes.scope_by_die.len(),
        scopes.scope_by_declaration.len(),
        index.languages.len(),
        usize::from(index.has_completed_names),
    ] {
        bytes.extend((count as u64).to_le_bytes());
    }
    bytes.extend(lists.starts.as_bytes());
    bytes.extend(lists.dies.as_bytes());
    bytes.extend(lists.sizes.as_bytes());
    bytes.extend(lists.lines.as_bytes());
    bytes.extend(lists.kinds.as_bytes());
    write_texts(&mut bytes, &names);
    write_numbers(&mut bytes, sorted);
    write_texts(&mut bytes, &scope_names);
    write_numbers(&mut bytes, parents);
    bytes.extend(scopes.scopes.iter().map(|scope| scope.kind as u8));
    for list in [&scopes.scope_by_die, &scopes.scope_by_declaration] {
        let dies = list
            .iter()
            .flat_map(|(die, _)| (die.0 as u64).to_le_bytes());
        bytes.extend(dies);
        write_numbers(&mut bytes, list.iter().map(|(_, scope)| scope.0));
    }
    let units = index
        .languages
        .iter()
        .flat_map(|found| found.units.to_le_bytes());
    bytes.extend(units);
    write_numbers(
        &mut bytes,
        index.languages.iter().map(|found| found.language.number()),
    );
    bytes
}

/// Writes the texts one behind the other, and the end of each.
fn write_texts(bytes: &mut Vec<u8>, texts: &[&str]) {
    texts.iter().for_each(|text| bytes.extend(text.as_bytes()));
    let ends = texts.iter().scan(0, |end, text| {
        *end += text.len() as u32;
        Some(*end)
    });
    write_numbers(bytes, ends);
}

fn write_numbers(bytes: &mut Vec<u8>, numbers: impl IntoIterator<Item = u32>) {
    bytes.extend(numbers.into_iter().flat_map(u32::to_le_bytes));
}

/// Reads an index; `None` if the bytes are none, or are cut off.
pub(super) fn read_index(bytes: &[u8]) -> Option<TypeNameIndex<'_>> {
    let mut rest = bytes.strip_prefix(&MAGIC)?;
    let counts: &[U64] = take_list(&mut rest, 9)?;
    let counts: Vec<usize> = { counts.iter() }
        .map(|count| usize::try_from(count.get()).ok())
        .collect::<Option<_>>()?;
    let [
        dies,
        names,
        name_bytes,
        scopes,
        scope_bytes,
        scoped,
        declared,
        languages,
        has_completed_names,
    ] = counts[..]
    else {
        return None;
    };
    let lists = DefinitionLists {
        starts: take_list(&mut rest, names.checked_add(1)?)?.into(),
        dies: take_list::<U64>(&mut rest, dies)?.into(),
        sizes: take_list::<U32>(&mut rest, dies)?.into(),
        lines: take_list::<U16>(&mut rest, dies)?.into(),
        kinds: take_list::<u8>(&mut rest, dies)?.into(),
    };
    let (text, ends) = take_texts(&mut rest, name_bytes, names)?;
    let sorted = take_list(&mut rest, names)?;
    let (scope_text, scope_ends) = take_texts(&mut rest, scope_bytes, scopes)?;
    let parents: &[U32] = take_list(&mut rest, scopes)?;
    let kinds: &[u8] = take_list(&mut rest, scopes)?;
    let scopes = parents
        .iter()
        .zip(kinds)
        .enumerate()
        .map(|(scope, (parent, kind))| {
            let parent = Some(parent.get()).filter(|parent| *parent != NO_PARENT);
            ScopeEntry {
                parent: parent.map(ScopeId),
                name: name_at(scope_text, scope_ends, scope),
                kind: ScopeKind::from_number(*kind),
            }
        });
    let index = TypeNameIndex {
        names: NameTable::Kept(KeptNames { text, ends, sorted }),
        lists,
        scopes: ScopeIndex {
            scopes: scopes.collect(),
            scope_by_die: take_scoped(&mut rest, scoped)?,
            scope_by_declaration: take_scoped(&mut rest, declared)?,
        },
        languages: take_languages(&mut rest, languages)?,
        has_completed_names: has_completed_names != 0,
    };
    rest.is_empty().then_some(index)
}

/// Takes a list of numbers from the front.
fn take_list<'s, T>(rest: &mut &'s [u8], count: usize) -> Option<&'s [T]>
where
    T: FromBytes + Immutable + KnownLayout + Unaligned,
{
    let (list, behind) = <[T]>::ref_from_prefix_with_elems(rest, count).ok()?;
    *rest = behind;
    Some(list)
}

fn take_texts<'s>(rest: &mut &'s [u8], bytes: usize, count: usize) -> Option<(&'s str, &'s [U32])> {
    let text = std::str::from_utf8(take_list(rest, bytes)?).ok()?;
    Some((text, take_list(rest, count)?))
}

fn take_scoped(rest: &mut &[u8], count: usize) -> Option<Vec<(DieOffset, ScopeId)>> {
    let dies: &[U64] = take_list(rest, count)?;
    let scopes: &[U32] = take_list(rest, count)?;
    let entry = |(die, scope): (&U64, &U32)| (DieOffset(die.get() as usize), ScopeId(scope.get()));
    Some(dies.iter().zip(scopes).map(entry).collect())
}

fn take_languages(rest: &mut &[u8], count: usize) -> Option<Vec<LanguageUnits>> {
    let units: &[U64] = take_list(rest, count)?;
    let languages: &[U32] = take_list(rest, count)?;
    let entry = |(units, language): (&U64, &U32)| LanguageUnits {
        language: UnitLanguage::from_number(language.get()),
        units: units.get(),
    };
    Some(units.iter().zip(languages).map(entry).collect())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::DefinitionKind;
    use crate::dwarf::TypeDefinition;
    use crate::dwarf::unit_names::{DefinitionScope, NameKey, UnitNames};

    fn index() -> TypeNameIndex<'static> {
        let definition = |die, kind| TypeDefinition {
            die: DieOffset(die),
            size: die as u32 * 2,
            line: 7,
            kind,
        };
        let unit = UnitNames {
            definitions: vec![
                (NameKey::Inline(1), definition(16, DefinitionKind::Struct)),
                (NameKey::Inline(0), definition(32, DefinitionKind::Typedef)),
                (NameKey::Inline(1), definition(48, DefinitionKind::Union)),
            ],
            inline: vec!["page", "list_head", "net"],
            scopes: vec![DefinitionScope {
                kind: ScopeKind::Inline,
                parent: None,
                name: Some(NameKey::Inline(2)),
            }],
            language: UnitLanguage::from_code(0x0e),
            scoped: vec![(1, 0)],
            declared: vec![(DieOffset(64), 0)],
            ..UnitNames::default()
        };
        TypeNameIndex::join(&[unit], |_, _| None)
    }

    #[test]
    fn kept_index_says_the_same() {
        let (scanned, bytes) = (index(), write_index(&index()));
        let kept = read_index(&bytes).expect("an index");
        let names = |index: &TypeNameIndex<'_>| {
            let rows = index.iter();
            rows.map(|(name, found)| (name.to_owned(), found.collect::<Vec<_>>()))
                .collect::<Vec<_>>()
        };
        assert_eq!(names(&kept), names(&scanned));
        for name in ["page", "list_head", "net", "", "zone"] {
            assert_eq!(kept.find_dies(name), scanned.find_dies(name), "{name}");
        }
        let scope = kept.scopes().scope_of(DieOffset(32)).expect("a scope");
        assert_eq!(kept.scopes().path(scope), "net");
        assert_eq!(kept.languages, scanned.languages);
        let inline = kept.scopes().inline_namespaces();
        assert!(!inline.is_empty());
        assert_eq!(inline, scanned.scopes().inline_namespaces());
        assert!(kept.scopes().scope_of(DieOffset(64)).is_some());
        assert!(kept.scopes().scope_of(DieOffset(16)).is_none());
    }

    proptest! {
        #[test]
        fn damaged_bytes_never_panic(at in 0usize..400, byte: u8, length in 0usize..400) {
            let mut bytes = write_index(&index());
            let at = at % bytes.len();
            bytes[at] = byte;
            bytes.truncate(bytes.len().min(length.max(8)));
            if let Some(kept) = read_index(&bytes) {
                for (name, found) in kept.iter() {
                    let _ = (kept.find_dies(name), found.count());
                }
                if let Some(scope) = kept.scopes().scope_of(DieOffset(32)) {
                    let _ = kept.scopes().path(scope);
                }
            }
        }
    }
}
