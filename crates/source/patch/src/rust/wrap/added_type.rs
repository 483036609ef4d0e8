//! The type that a patch adds: it starts a cache line and fills it.

use syn::Item;

use super::names::StructDefinitionTree;
use crate::rust::syntax::read_tree;

/// Name of the type, unless the file has another meaning for it.
const NAME: &str = "OwnLine";

/// A type to add beside the struct.
pub(super) struct AddedType {
    name: String,
    bytes: u32,
    /// `pub ` or nothing: that of the wrapped field.
    visibility: String,
    /// Traits that the struct derives.
    derived_traits: Vec<String>,
}

impl AddedType {
    /// Returns the name of the wrapper, and the type to add unless the file has such a type.
    pub fn choose(text: &str, found: &StructDefinitionTree, bytes: u32) -> (String, Option<Self>) {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        if let Some(name) = existing_wrapper(text, found, bytes) {
            return (name, None);
        }
        let is_taken = |name: &String| text.contains(name.as_str());
        let mut names = std::iter::once(NAME.to_owned())
            .chain((2_u32..).map(|number| format!("{NAME}{number}")));
        let name = { names.find(|name| !is_taken(name)) }.unwrap_or_else(|| NAME.to_owned());
        let added = Self {
            name: name.clone(),
            bytes,
            visibility: found.visibility.clone(),
            derived_traits: found.derived_traits.clone(),
        };
        (name, Some(added))
    }

    /// Text of the type with its lines indented.
    pub fn text(&self, indent: &str, eol: &str) -> String {
        let Self {
            name,
            bytes,
            visibility,
            derived_traits,
        } = self;
        let derive = match derived_traits.is_empty() {
            true => String::new(),
            false => format!("#[derive({})]\n", derived_traits.join(", ")),
        };
        let text = format!(
            "/// A value on cache lines of its own.
{derive}#[repr(align({bytes}))]
{visibility}struct {name}<T>({visibility}T);

impl<T> core::ops::Deref for {name}<T> {{
    type Target = T;

    fn deref(&self) -> &T {{
        &self.0
    }}
}}

impl<T> core::ops::DerefMut for {name}<T> {{
    fn deref_mut(&mut self) -> &mut T {{
        &mut self.0
    }}
}}
"
        );
        let lines = text.lines().map(|line| match line.is_empty() {
            true => eol.to_owned(),
            false => format!("{indent}{line}{eol}"),
        });
        lines.collect()
    }
}

/// Returns the wrapper of this alignment that an earlier patch added to the file.
fn existing_wrapper(text: &str, found: &StructDefinitionTree, bytes: u32) -> Option<String> {
    let tree = read_tree(text).ok()?;
    let mut items = tree.items.iter();
    let aligned = format!("align({bytes})");
    items.find_map(|item| {
        let Item::Struct(item) = item else {
            return None;
        };
        let name = item.ident.to_string();
        let syn::Fields::Unnamed(fields) = &item.fields else {
            return None;
        };
        let other = StructDefinitionTree::attributes_of(&item.attrs);
        let is_wrapper = name.starts_with(NAME)
            && fields.unnamed.len() == 1
            && item.generics.type_params().count() == 1
            && other.0.contains(&aligned)
            && { found.derived_traits.iter() }.all(|needed| other.1.contains(needed))
            && text.contains(&format!("Deref for {name}<T>"));
        is_wrapper.then_some(name)
    })
}
