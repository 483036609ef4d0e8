//! Representatives of the definitions of one name.
use rustc_hash::FxHashSet;

use super::die::DieOffset;
use super::file::TypePlace;
use super::{DwarfFile, TypeDefinition};

impl DwarfFile<'_> {
    /// First definition of each kind, scope, size and line of declaration, in file order. Two
    /// headers that declare a type at the same line with the same size count as one.
    pub fn distinct_types(&self, name: &str) -> Vec<DieOffset> {
        self.distinct_types_in(TypePlace::TopLevel, name)
    }

    /// Same as [`distinct_types`](Self::distinct_types), of the types outside or inside functions.
    pub(crate) fn distinct_types_in(&self, place: TypePlace, name: &str) -> Vec<DieOffset> {
        self.distinct(self.types_in(place).definitions(name), place)
    }

    /// Names of the types in functions.
    pub(crate) fn local_type_names(&self) -> Vec<&str> {
        let types = self.types_in(TypePlace::Functions).iter();
        types.map(|(name, _)| name).collect()
    }

    /// Structs, unions and classes in functions by name, in order of first appearance.
    pub(crate) fn distinct_local_aggregates(&self) -> Vec<(&str, Vec<DieOffset>)> {
        let types = self.types_in(TypePlace::Functions).iter();
        types
            .map(|(name, definitions)| {
                let aggregates = definitions.filter(|found| found.kind.is_aggregate());
                (name, self.distinct(aggregates, TypePlace::Functions))
            })
            .collect()
    }

    /// Representatives of the structs, unions and classes of every name, in order of first
    /// appearance.
    pub fn distinct_aggregates(&self) -> impl Iterator<Item = (&str, Vec<DieOffset>)> {
        self.type_names().filter_map(|(name, definitions)| {
            let aggregates = definitions.filter(|found| found.kind.is_aggregate());
            let found = self.distinct(aggregates, TypePlace::TopLevel);
            (!found.is_empty()).then_some((name, found))
        })
    }

    fn distinct(
        &self,
        definitions: impl Iterator<Item = TypeDefinition>,
        place: TypePlace,
    ) -> Vec<DieOffset> {
        let scopes = self.types_in(place).scopes();
        let scoped = !scopes.is_empty();
        let traits = |found: &TypeDefinition| {
            let scope = scoped.then(|| scopes.scope_of(found.die));
            (found.kind, found.size, found.line, scope)
        };
        let definitions = definitions.filter(|found| !self.is_excluded(found.die));
        let mut found: Vec<DieOffset> = Vec::new();
        let mut last = None;
        let mut seen = FxHashSet::default();
        for definition in definitions {
            let traits = Some(traits(&definition));
            if last != traits && seen.insert(traits) {
                found.push(definition.die);
            }
            last = traits;
        }
        found
    }
}
