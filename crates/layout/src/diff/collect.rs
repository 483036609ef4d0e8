//! Loads the shapes of two files that have to be compared.

use rustc_hash::FxHashSet;

use super::shape::{Field, Key, Shape, Tag};
use super::{Diff, Status};
use crate::catalog::{Catalog, Entry};
use crate::glob::Glob;
use crate::{Error, SourceLine};

/// Types are held by types that hold types; more rounds than that are damaged debug information.
const ROUNDS_MAX: usize = 64;

/// One of the two files, and what of it was loaded.
pub struct Side<'c, 'a> {
    catalog: &'c Catalog<'a>,
    shapes: Vec<Shape>,
    seen: FxHashSet<(Key, u64, Option<SourceLine>)>,
}

impl<'c, 'a> Side<'c, 'a> {
    /// Nothing is loaded.
    pub fn new(catalog: &'c Catalog<'a>) -> Self {
        Self {
            catalog,
            shapes: Vec::new(),
            seen: FxHashSet::default(),
        }
    }

    /// The file's types.
    pub fn catalog(&self) -> &'c Catalog<'a> {
        self.catalog
    }

    /// Loads every struct, union and class of the file.
    ///
    /// # Errors
    /// As [`Catalog::each`].
    pub fn load_all(&mut self) -> Result<(), Error> {
        self.load(&self.catalog.aggregates(), |_| true)?;
        Ok(())
    }

    /// Loads the definitions of a name that are wanted: aggregates, and what typedefs of it stand
    /// for. Returns whether there are any.
    ///
    /// # Errors
    /// As [`Catalog::each`].
    pub fn load_name(&mut self, name: &str, wanted: impl Fn(&Key) -> bool) -> Result<bool, Error> {
        let entries: Vec<Entry<'_>> = self.catalog.find(name);
        self.load(&entries, wanted)
    }

    fn load(
        &mut self,
        entries: &[Entry<'_>],
        wanted: impl Fn(&Key) -> bool,
    ) -> Result<bool, Error> {
        let loaded = self
            .catalog
            .each(entries, |types, id, _| Shape::of(types, id))?;
        let mut found = false;
        for shape in loaded
            .into_iter()
            .flatten()
            .filter(|shape| wanted(&shape.key))
        {
            found = true;
            let print = (shape.key.clone(), shape.fingerprint, shape.decl.clone());
            if self.seen.insert(print) {
                self.shapes.push(shape);
            }
        }
        Ok(found)
    }
}

/// Compares what was loaded, and loads what the changed types hold by value, until the type that a
/// change comes from is always among them. The second value says which types (indices in
/// [`Diff::types`]) were asked for, and not only loaded for that.
///
/// # Errors
/// As [`Catalog::each`].
pub fn complete(mut old: Side<'_, '_>, mut new: Side<'_, '_>) -> Result<(Diff, Vec<bool>), Error> {
    let asked: FxHashSet<Key> = (old.shapes.iter())
        .chain(&new.shapes)
        .map(|shape| shape.key.clone())
        .collect();
    let mut tried = FxHashSet::default();
    for _ in 0..ROUNDS_MAX {
        let diff = Diff::of(
            std::mem::take(&mut old.shapes),
            std::mem::take(&mut new.shapes),
        );
        let missing: Vec<Key> = missing(&diff)
            .into_iter()
            .filter(|key| tried.insert(key.clone()))
            .collect();
        if missing.is_empty() {
            let is_asked = |each| asked.contains(&diff.shape(each).key);
            let asked = diff.types.iter().map(is_asked).collect();
            return Ok((diff, asked));
        }
        (old.shapes, new.shapes) = (diff.old, diff.new);
        for key in &missing {
            old.load_name(&key.name, |other| other == key)?;
            new.load_name(&key.name, |other| other == key)?;
        }
    }
    let diff = Diff::of(old.shapes, new.shapes);
    let asked = vec![true; diff.types.len()];
    Ok((diff, asked))
}

/// Types that a changed type holds, laid out differently, without being compared themselves.
fn missing(diff: &Diff) -> FxHashSet<Key> {
    let compared: FxHashSet<&Key> = diff
        .types
        .iter()
        .filter(|each| each.status == Status::Changed)
        .map(|each| &diff.shape(each).key)
        .collect();
    let mut found = FxHashSet::default();
    for each in &diff.types {
        let (Status::Changed, Some((old, new))) = (each.status, diff.shapes(each)) else {
            continue;
        };
        let by_path: rustc_hash::FxHashMap<&str, &Field> = old
            .fields
            .iter()
            .map(|field| (&*field.path, field))
            .collect();
        for field in &new.fields {
            let before = by_path.get(&*field.path).and_then(|old| old.holds.as_ref());
            if let (Some(before), Some(after)) = (before, &field.holds)
                && before.key == after.key
                && before.fingerprint != after.fingerprint
                && !compared.contains(&after.key)
            {
                found.insert(after.key.clone());
            }
        }
    }
    found
}

impl Key {
    /// Whether this is what a user means by `asked`: `page`, `struct page`, `std::pair<int,int>`,
    /// or a pattern of one of these with `*` and `?`.
    pub fn is_meant_by(&self, asked: &str) -> bool {
        let (tag, name) = match asked.split_once(' ') {
            Some(("struct" | "class", name)) => (Some(Tag::Struct), name.trim()),
            Some(("union", name)) => (Some(Tag::Union), name.trim()),
            _ => (None, asked),
        };
        let asked = Glob::new(super::spelling::canonical(name));
        let matches = |own: &str| asked.matches(own);
        tag.is_none_or(|tag| tag == self.tag)
            && (matches(&self.name) || self.scope.is_some() && matches(&self.qualified()))
    }
    /// The last part of a name with scopes, outside of template arguments: `pair<a::b>` of
    /// `std::pair<a::b>`.
    pub fn last_name(name: &str) -> String {
        let name = super::spelling::canonical(name);
        let plain = name.find('<').unwrap_or(name.len());
        let start = name[..plain].rfind("::").map_or(0, |at| at + 2);
        name[start..].to_owned()
    }

    /// Whether a type's name without scope fits a pattern, which [`last_name`](Self::last_name)
    /// gave.
    pub fn name_fits(pattern: &str, name: &str) -> bool {
        let pattern = Glob::new(pattern);
        if name.contains('<') {
            pattern.matches(&super::spelling::canonical(name))
        } else {
            pattern.matches(name)
        }
    }
}
