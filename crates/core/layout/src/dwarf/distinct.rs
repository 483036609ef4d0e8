//! Representatives of the definitions of one name.
use rustc_hash::FxHashSet;

use super::die::DieOffset;
use super::{DwarfFile, TypeDefinition};

impl DwarfFile<'_> {
    /// First definition of each kind, scope, size and line of declaration, in file order. Two
    /// headers that declare a type at the same line with the same size count as one.
    pub fn distinct_types(&self, name: &str) -> Vec<DieOffset> {
        self.distinct(self.definitions(name))
    }

    /// Representatives of the structs, unions and classes of every name, in order of first
    /// appearance.
    pub fn distinct_aggregates(&self) -> impl Iterator<Item = (&str, Vec<DieOffset>)> {
        self.type_names().filter_map(|(name, definitions)| {
            let found = self.distinct(definitions.filter(|found| found.kind.is_aggregate()));
            (!found.is_empty()).then_some((name, found))
        })
    }

    fn distinct(&self, definitions: impl Iterator<Item = TypeDefinition>) -> Vec<DieOffset> {
        let scoped = self.has_scopes();
        let traits = |found: &TypeDefinition| {
            let scope = scoped.then(|| self.scope_of(found.die));
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
