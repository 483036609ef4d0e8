//! Names of a crate: the definition of a struct, other names of the struct, and fields of the same
//! name.

use std::ops::Range;

use syn::visit::{self, Visit};
use syn::{Attribute, Fields, ItemMod, ItemStruct, Type, UseTree};

use super::{DEFINITION, byte_order_mark, bytes_of, start_of};
use crate::language::StructSource;
use crate::lines::line_number;
use crate::refusal::{EditRefusal, FileLine};

/// Fields of types of the standard library: a use of one may be of such a type.
const STANDARD_FIELDS: [&str; 2] = ["start", "end"];

/// Definition of a struct with a field to wrap. Positions are bytes behind the byte order mark.
#[derive(Clone, Debug)]
pub(super) struct StructDefinitionTree {
    /// Modules of the file around it.
    pub modules: Vec<String>,
    /// First byte of its name.
    pub name_start: usize,
    /// All of it, with attributes.
    pub item_bytes: Range<usize>,
    /// First byte of the field behind its attributes.
    pub field_start: usize,
    /// Type of the field.
    pub type_bytes: Range<usize>,
    /// True if the field's type is a number, a `bool`, a `char` or a shared reference.
    pub is_plain_copy: bool,
    /// Visibility of the field with a space behind it, or nothing.
    pub visibility: String,
    /// Names of derived traits.
    pub derived_traits: Vec<String>,
    /// Words of `#[repr(...)]`: `C`, `align(64)`.
    repr_words: Vec<String>,
}

impl StructDefinitionTree {
    /// Returns true if a `#[repr(...)]` has the word.
    pub fn has_repr(&self, word: &str) -> bool {
        let mut words = self.repr_words.iter();
        words.any(|found| found.split('(').next() == Some(word))
    }

    /// Returns the words of `#[repr(...)]` and the names of the derived traits.
    pub fn attributes_of(attributes: &[Attribute]) -> (Vec<String>, Vec<String>) {
        let words = |name: &str| -> Vec<String> {
            let named = attributes
                .iter()
                .filter(|attribute| attribute.path().is_ident(name));
            let lists = named.filter_map(|attribute| attribute.meta.require_list().ok());
            let words = lists.flat_map(|list| {
                let text = list.tokens.to_string();
                let words = text.split(',').map(|word| word.replace(' ', ""));
                words.filter(|word| !word.is_empty()).collect::<Vec<_>>()
            });
            words.collect()
        };
        let derived = words("derive").into_iter();
        let last = |path: String| path.rsplit("::").next().unwrap_or_default().to_owned();
        (words("repr"), derived.map(last).collect())
    }

    fn read(item: &ItemStruct, modules: &[String], field_name: &str) -> Option<Self> {
        let Fields::Named(fields) = &item.fields else {
            return None;
        };
        let is_named =
            |field: &&syn::Field| { field.ident.as_ref() }.is_some_and(|ident| ident == field_name);
        let field = fields.named.iter().find(is_named)?;
        let (repr_words, derived_traits) = Self::attributes_of(&item.attrs);
        let ident = field.ident.as_ref()?;
        let (visibility, field_start) = match &field.vis {
            syn::Visibility::Inherited => (String::new(), start_of(ident.span())),
            visibility => (visibility_text(visibility), bytes_of(visibility).start),
        };
        Some(Self {
            modules: modules.to_vec(),
            name_start: start_of(item.ident.span()),
            item_bytes: bytes_of(item),
            field_start,
            type_bytes: bytes_of(&field.ty),
            is_plain_copy: is_plain_copy(&field.ty),
            visibility,
            derived_traits,
            repr_words,
        })
    }
}

fn visibility_text(visibility: &syn::Visibility) -> String {
    match visibility {
        syn::Visibility::Restricted(restricted) => {
            let segments = restricted.path.segments.iter();
            let path: Vec<String> = segments.map(|segment| segment.ident.to_string()).collect();
            let inside = if restricted.in_token.is_some() {
                "in "
            } else {
                ""
            };
            format!("pub({inside}{}) ", path.join("::"))
        }
        _ => "pub ".to_owned(),
    }
}

fn is_plain_copy(ty: &Type) -> bool {
    const NAMES: [&str; 16] = [
        "u8", "u16", "u32", "u64", "u128", "usize", "i8", "i16", "i32", "i64", "i128", "isize",
        "f32", "f64", "bool", "char",
    ];
    match ty {
        Type::Path(path) => path.path.segments.last().is_some_and(|last| {
            last.arguments.is_none() && NAMES.iter().any(|name| last.ident == name)
        }),
        Type::Reference(reference) => reference.mutability.is_none(),
        Type::Ptr(_) => true,
        _ => false,
    }
}

/// Names that a crate has for a struct, and its other fields called like the wrapped one.
pub(super) struct CrateNames {
    /// Name of the struct, and of its aliases.
    pub struct_names: Vec<String>,
    /// Field to wrap.
    pub field: String,
    /// True if no other struct of the crate has a field of that name.
    pub is_field_unique: bool,
    /// Definitions: index of the file, place of the name, and the struct if it has the field.
    definitions: Vec<(usize, usize, Option<StructDefinitionTree>)>,
}

impl CrateNames {
    /// Reads the names of all trees, each with the index of its file.
    pub fn read(trees: &[(usize, syn::File)], struct_name: &str, field: &str) -> Self {
        let mut reader = NameReader {
            struct_name,
            field,
            file: 0,
            modules: Vec::new(),
            aliases: Vec::new(),
            fields: 0,
            definitions: Vec::new(),
        };
        for (index, tree) in trees {
            reader.file = *index;
            reader.visit_file(tree);
        }
        let mut struct_names = vec![struct_name.to_owned()];
        struct_names.append(&mut reader.aliases);
        Self {
            struct_names,
            field: field.to_owned(),
            is_field_unique: reader.fields <= 1 && !STANDARD_FIELDS.contains(&field),
            definitions: reader.definitions,
        }
    }

    /// Returns the definition in the file of the struct.
    pub fn definition(
        &self,
        source: StructSource<'_>,
    ) -> Result<StructDefinitionTree, EditRefusal> {
        let name = source.name.to_owned();
        let text = &source.text[byte_order_mark(source.text)..];
        let mut mine = self
            .definitions
            .iter()
            .filter(|found| found.0 == DEFINITION);
        let Some((_, name_start, tree)) = mine.next() else {
            return Err(EditRefusal::StructNotFound {
                file: source.file.to_owned(),
                name,
            });
        };
        let place = FileLine {
            file: source.file.to_owned(),
            line: line_number(text, *name_start),
        };
        if self.definitions.len() > 1 {
            let why = "another struct of the crate has its name, so its uses cannot be told: rename one of them";
            return Err(EditRefusal::RustNotEdited { name, why, place });
        }
        tree.clone().ok_or_else(|| EditRefusal::MemberNotFound {
            name,
            member: self.field.clone(),
            place,
        })
    }
}

struct NameReader<'a> {
    struct_name: &'a str,
    field: &'a str,
    file: usize,
    modules: Vec<String>,
    aliases: Vec<String>,
    /// Fields of the name, in all structs.
    fields: usize,
    definitions: Vec<(usize, usize, Option<StructDefinitionTree>)>,
}

impl<'ast> Visit<'ast> for NameReader<'_> {
    fn visit_item_mod(&mut self, item: &'ast ItemMod) {
        self.modules.push(item.ident.to_string());
        visit::visit_item_mod(self, item);
        self.modules.pop();
    }

    fn visit_item_struct(&mut self, item: &'ast ItemStruct) {
        if item.ident == self.struct_name {
            let found = StructDefinitionTree::read(item, &self.modules, self.field);
            let name_start = start_of(item.ident.span());
            self.definitions.push((self.file, name_start, found));
        }
        visit::visit_item_struct(self, item);
    }

    fn visit_field(&mut self, field: &'ast syn::Field) {
        let is_named = { field.ident.as_ref() }.is_some_and(|ident| ident == self.field);
        self.fields += usize::from(is_named);
    }

    fn visit_item_type(&mut self, item: &'ast syn::ItemType) {
        if let Type::Path(path) = &*item.ty
            && { path.path.segments.last() }.is_some_and(|last| last.ident == self.struct_name)
        {
            self.aliases.push(item.ident.to_string());
        }
    }

    fn visit_use_tree(&mut self, tree: &'ast UseTree) {
        if let UseTree::Rename(rename) = tree
            && rename.ident == self.struct_name
        {
            self.aliases.push(rename.rename.to_string());
        }
        visit::visit_use_tree(self, tree);
    }
}
