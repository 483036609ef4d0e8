//! Names of structs, enums and traits, and functions called `of`.

use std::collections::BTreeMap;

use syn::visit::Visit;

use crate::source::{SourceFile, is_cfg_test};

/// Names that many crates may share, because they are a convention.
const CONVENTIONAL: [&str; 4] = ["Error", "Args", "Options", "Kind"];

/// Every named type outside tests, and every function called `of`.
#[derive(Default)]
pub struct Definitions {
    /// The name of each struct, enum and trait, and its place.
    pub types: Vec<(String, String)>,
    /// The place of each function or method called `of`.
    pub functions_of: Vec<String>,
}

impl Definitions {
    pub fn collect(files: &[SourceFile]) -> Self {
        let mut definitions = Self::default();
        for file in files {
            let types_count = !file.is_test() && !is_cfg_test(&file.syntax.attrs);
            let mut visitor = DefinitionVisitor {
                file,
                definitions: &mut definitions,
                types_count,
            };
            visitor.visit_file(&file.syntax);
        }
        definitions
    }

    /// Types whose name is a single word.
    pub fn one_word(&self) -> Vec<&(String, String)> {
        self.types
            .iter()
            .filter(|(name, _)| words(name) == 1)
            .collect()
    }

    /// Types whose name another type has, too.
    pub fn shared(&self) -> Vec<&(String, String)> {
        let mut uses: BTreeMap<&str, usize> = BTreeMap::new();
        for (name, _) in &self.types {
            *uses.entry(name).or_default() += 1;
        }
        self.types
            .iter()
            .filter(|(name, _)| uses[name.as_str()] > 1 && !is_conventional(name))
            .collect()
    }
}

fn is_conventional(name: &str) -> bool {
    CONVENTIONAL.contains(&name)
}

/// Counts the words of a type name: a word starts at a capital that follows a small letter or
/// digit, or that a small letter follows.
pub fn words(name: &str) -> usize {
    let letters: Vec<char> = name.chars().collect();
    let starts = |nth: usize| {
        let small = |letter: Option<&char>| letter.is_some_and(|letter| !letter.is_uppercase());
        letters[nth].is_uppercase() && (small(letters.get(nth - 1)) || small(letters.get(nth + 1)))
    };
    1 + (1..letters.len()).filter(|&nth| starts(nth)).count()
}

struct DefinitionVisitor<'a> {
    file: &'a SourceFile,
    definitions: &'a mut Definitions,
    /// False in test code, where types are not counted.
    types_count: bool,
}

impl DefinitionVisitor<'_> {
    fn add_type(&mut self, name: &syn::Ident) {
        if self.types_count {
            let place = self.file.place(name.span());
            self.definitions.types.push((name.to_string(), place));
        }
    }
}

impl<'ast> Visit<'ast> for DefinitionVisitor<'_> {
    fn visit_item_mod(&mut self, module: &'ast syn::ItemMod) {
        let outer = self.types_count;
        self.types_count &= !is_cfg_test(&module.attrs);
        syn::visit::visit_item_mod(self, module);
        self.types_count = outer;
    }

    fn visit_item_struct(&mut self, item: &'ast syn::ItemStruct) {
        self.add_type(&item.ident);
        syn::visit::visit_item_struct(self, item);
    }

    fn visit_item_enum(&mut self, item: &'ast syn::ItemEnum) {
        self.add_type(&item.ident);
        syn::visit::visit_item_enum(self, item);
    }

    fn visit_item_trait(&mut self, item: &'ast syn::ItemTrait) {
        self.add_type(&item.ident);
        syn::visit::visit_item_trait(self, item);
    }

    fn visit_signature(&mut self, signature: &'ast syn::Signature) {
        if signature.ident == "of" {
            let place = self.file.place(signature.ident.span());
            self.definitions.functions_of.push(place);
        }
        syn::visit::visit_signature(self, signature);
    }
}

#[cfg(test)]
mod tests {
    use super::words;

    #[test]
    fn words_start_at_capitals() {
        let counts = ["Place", "MemberPath", "CPUSet", "ELF", "V2"].map(words);
        assert_eq!(counts, [1, 2, 2, 1, 1]);
    }
}
