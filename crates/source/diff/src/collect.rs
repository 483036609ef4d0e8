//! Loading of the layouts that a comparison of two files needs.

use relayout_layout::catalog::{CatalogEntry, TypeCatalog};
use relayout_layout::{Error, SourceLine, TypePattern, is_binding_scope};
use rustc_hash::FxHashSet;

use crate::layout_diff::LayoutDiff;
use crate::type_diff::DiffStatus;
use crate::type_layout::{PlacedMember, TypeKey, TypeLayout, TypeTag};

/// Most rounds of loading held types. Nesting deeper than that is damaged debug information.
const ROUNDS_MAX: usize = 64;

/// One of the two files, with the layouts loaded from it.
pub struct DiffSide<'c, 'a> {
    catalog: &'c TypeCatalog<'a>,
    layouts: Vec<TypeLayout>,
    seen: FxHashSet<(TypeKey, u64, Option<SourceLine>)>,
    /// True if copies of C types in Rust code are compared.
    with_bindings: bool,
    left_out: FxHashSet<TypeKey>,
}

impl<'c, 'a> DiffSide<'c, 'a> {
    /// Side without loaded layouts.
    pub fn new(catalog: &'c TypeCatalog<'a>) -> Self {
        Self {
            catalog,
            layouts: Vec::new(),
            seen: FxHashSet::default(),
            with_bindings: false,
            left_out: FxHashSet::default(),
        }
    }

    /// Sets if the copies of C types in Rust code ([`is_binding_scope`]) are loaded too. Without,
    /// only [`load_matching`](Self::load_matching) loads any.
    pub fn with_bindings(mut self, with_bindings: bool) -> Self {
        self.with_bindings = with_bindings;
        self
    }

    /// Keys of the copies that were left out so far.
    pub fn left_out(&self) -> &FxHashSet<TypeKey> {
        &self.left_out
    }

    /// Types of the file.
    pub fn catalog(&self) -> &'c TypeCatalog<'a> {
        self.catalog
    }

    /// Loads every struct, union and class of the file.
    ///
    /// # Errors
    /// Same as [`TypeCatalog::map_loaded`].
    pub fn load_all(&mut self) -> Result<(), Error> {
        self.load_entries(&self.catalog.aggregates(), self.with_bindings, |_| true)?;
        Ok(())
    }

    /// Loads the aggregates called `name`, and the aggregates that typedefs of this name stand for,
    /// if `wanted` accepts their keys. Returns true if there are any.
    ///
    /// # Errors
    /// Same as [`TypeCatalog::map_loaded`].
    pub fn load_name(
        &mut self,
        name: &str,
        wanted: impl Fn(&TypeKey) -> bool,
    ) -> Result<bool, Error> {
        let entries = entries_named(self.catalog, name);
        self.load_entries(&entries, self.with_bindings, wanted)
    }

    /// Loads the aggregates that `pattern` means, and those that typedefs of this name stand for;
    /// with `with_copies`, also copies of C types in Rust code. Returns true if there are any.
    ///
    /// # Errors
    /// Same as [`TypeCatalog::map_loaded`].
    pub fn load_matching(
        &mut self,
        pattern: &TypePattern,
        with_copies: bool,
    ) -> Result<bool, Error> {
        let entries = self.catalog.find_matching(pattern);
        let with_copies = with_copies || self.with_bindings;
        let is_meant = |key: &TypeKey| key.has_keyword(pattern.keyword());
        let found = self.load_entries(&entries, with_copies, is_meant)?;
        let layouts = &self.layouts;
        self.left_out
            .retain(|key| !layouts.iter().any(|layout| layout.key == *key));
        Ok(found)
    }

    fn load_entries(
        &mut self,
        entries: &[CatalogEntry<'_>],
        with_bindings: bool,
        wanted: impl Fn(&TypeKey) -> bool,
    ) -> Result<bool, Error> {
        let loaded = self
            .catalog
            .map_loaded(entries, |types, id, _| TypeLayout::from_type(types, id))?;
        let mut found = false;
        for layout in loaded
            .into_iter()
            .flatten()
            .filter(|layout| wanted(&layout.key))
        {
            if !with_bindings && layout.key.is_binding() {
                self.left_out.insert(layout.key);
                continue;
            }
            found = true;
            let identity = (layout.key.clone(), layout.fingerprint, layout.decl.clone());
            if self.seen.insert(identity) {
                self.layouts.push(layout);
            }
        }
        Ok(found)
    }
}

/// Definitions of the types that another file calls `name`, in any spelling.
pub fn entries_named<'c>(catalog: &'c TypeCatalog<'_>, name: &'c str) -> Vec<CatalogEntry<'c>> {
    let pattern = TypePattern::parse(name);
    match pattern.ok().filter(|_| name.contains('<')) {
        Some(pattern) => catalog.find_matching(&pattern),
        None => catalog.find_definitions(name),
    }
}

/// Compares the loaded types of both sides. Loads the types that changed types hold by value until
/// every origin of a change is among the compared types. The second value tells for each entry of
/// [`LayoutDiff::types`] if it was loaded before the call.
///
/// # Errors
/// Same as [`TypeCatalog::map_loaded`].
pub fn compare_sides(
    mut old: DiffSide<'_, '_>,
    mut new: DiffSide<'_, '_>,
) -> Result<(LayoutDiff, Vec<bool>), Error> {
    let asked: FxHashSet<TypeKey> = (old.layouts.iter())
        .chain(&new.layouts)
        .map(|layout| layout.key.clone())
        .collect();
    let mut tried = FxHashSet::default();
    for _ in 0..ROUNDS_MAX {
        let diff = LayoutDiff::compare(
            std::mem::take(&mut old.layouts),
            std::mem::take(&mut new.layouts),
        );
        let missing: Vec<TypeKey> = uncompared_types(&diff)
            .into_iter()
            .filter(|key| tried.insert(key.clone()))
            .collect();
        if missing.is_empty() {
            let is_asked = |type_diff| asked.contains(&diff.layout(type_diff).key);
            let asked = diff.types.iter().map(is_asked).collect();
            return Ok((diff, asked));
        }
        (old.layouts, new.layouts) = (diff.old, diff.new);
        for key in &missing {
            old.load_name(&key.name, |other| other == key)?;
            new.load_name(&key.name, |other| other == key)?;
        }
    }
    let diff = LayoutDiff::compare(old.layouts, new.layouts);
    let asked = vec![true; diff.types.len()];
    Ok((diff, asked))
}

/// Types with two different layouts that a changed type holds, and that are not compared yet.
fn uncompared_types(diff: &LayoutDiff) -> FxHashSet<TypeKey> {
    let compared: FxHashSet<&TypeKey> = diff
        .types
        .iter()
        .filter(|type_diff| type_diff.status == DiffStatus::Changed)
        .map(|type_diff| &diff.layout(type_diff).key)
        .collect();
    let mut found = FxHashSet::default();
    for type_diff in &diff.types {
        let (DiffStatus::Changed, Some((old, new))) =
            (type_diff.status, diff.both_layouts(type_diff))
        else {
            continue;
        };
        let by_path: rustc_hash::FxHashMap<&str, &PlacedMember> = old
            .members
            .iter()
            .map(|member| (&*member.path, member))
            .collect();
        for member in &new.members {
            let before = by_path
                .get(&*member.path)
                .and_then(|old| old.held_type.as_ref());
            if let (Some(before), Some(after)) = (before, &member.held_type)
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

impl TypeKey {
    /// Returns true for a copy of a C type in Rust code.
    pub fn is_binding(&self) -> bool {
        self.scope.as_deref().is_some_and(is_binding_scope)
    }

    /// Returns true if types with this keyword are called so by users: a class is a struct, too.
    fn has_keyword(&self, keyword: Option<&str>) -> bool {
        match keyword {
            None => true,
            Some("struct" | "class") => self.tag == TypeTag::Struct,
            Some("union") => self.tag == TypeTag::Union,
            Some(_) => false,
        }
    }
}
