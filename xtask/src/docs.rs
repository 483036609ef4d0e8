//! Doc comments, and the word that each begins with.

use syn::visit::Visit;

use crate::source::SourceFile;

/// A doc comment that starts with one of them has no subject.
const BANNED: [&str; 6] = ["What", "Where", "How", "Which", "Who", "Whether"];

/// Every doc comment of the workspace.
#[derive(Default)]
pub struct DocComments {
    /// Number of comments; consecutive `///` lines are one.
    pub count: usize,
    /// Place and first word of each that starts with a banned word.
    pub banned: Vec<(String, String)>,
}

impl DocComments {
    pub fn collect(files: &[SourceFile]) -> Self {
        let mut comments = Self::default();
        for file in files {
            let mut visitor = DocVisitor {
                file,
                comments: &mut comments,
            };
            visitor.visit_file(&file.syntax);
        }
        comments
    }
}

struct DocVisitor<'a> {
    file: &'a SourceFile,
    comments: &'a mut DocComments,
}

impl DocVisitor<'_> {
    /// Adds the comment that the `#[doc = "..."]` among an item's attributes make together.
    fn add_comment(&mut self, attributes: &[syn::Attribute], inner: bool) {
        let is_inner =
            |attribute: &syn::Attribute| matches!(attribute.style, syn::AttrStyle::Inner(_));
        let first = attributes
            .iter()
            .filter(|attribute| is_inner(attribute) == inner)
            .find_map(|attribute| Some((attribute, doc_text(attribute)?)));
        let Some((attribute, text)) = first else {
            return;
        };
        self.comments.count += 1;
        let word: String = text
            .trim()
            .chars()
            .take_while(|letter| letter.is_alphabetic())
            .collect();
        if BANNED.contains(&word.as_str()) {
            let place = self.file.place(attribute.pound_token.span);
            self.comments.banned.push((word, place));
        }
    }
}

fn doc_text(attribute: &syn::Attribute) -> Option<String> {
    let pair = attribute.meta.require_name_value().ok()?;
    match &pair.value {
        syn::Expr::Lit(syn::ExprLit {
            lit: syn::Lit::Str(text),
            ..
        }) if attribute.path().is_ident("doc") => Some(text.value()),
        _ => None,
    }
}

impl<'ast> Visit<'ast> for DocVisitor<'_> {
    fn visit_file(&mut self, file: &'ast syn::File) {
        self.add_comment(&file.attrs, true);
        syn::visit::visit_file(self, file);
    }

    fn visit_item(&mut self, item: &'ast syn::Item) {
        let attributes = match item {
            syn::Item::Const(item) => &item.attrs,
            syn::Item::Enum(item) => &item.attrs,
            syn::Item::Fn(item) => &item.attrs,
            syn::Item::Impl(item) => &item.attrs,
            syn::Item::Macro(item) => &item.attrs,
            syn::Item::Mod(item) => &item.attrs,
            syn::Item::Static(item) => &item.attrs,
            syn::Item::Struct(item) => &item.attrs,
            syn::Item::Trait(item) => &item.attrs,
            syn::Item::Type(item) => &item.attrs,
            syn::Item::Union(item) => &item.attrs,
            syn::Item::Use(item) => &item.attrs,
            _ => return syn::visit::visit_item(self, item),
        };
        self.add_comment(attributes, false);
        self.add_comment(attributes, true);
        syn::visit::visit_item(self, item);
    }

    fn visit_field(&mut self, field: &'ast syn::Field) {
        self.add_comment(&field.attrs, false);
    }

    fn visit_variant(&mut self, variant: &'ast syn::Variant) {
        self.add_comment(&variant.attrs, false);
        syn::visit::visit_variant(self, variant);
    }

    fn visit_impl_item_fn(&mut self, function: &'ast syn::ImplItemFn) {
        self.add_comment(&function.attrs, false);
        syn::visit::visit_impl_item_fn(self, function);
    }

    fn visit_impl_item_const(&mut self, constant: &'ast syn::ImplItemConst) {
        self.add_comment(&constant.attrs, false);
        syn::visit::visit_impl_item_const(self, constant);
    }

    fn visit_trait_item_fn(&mut self, function: &'ast syn::TraitItemFn) {
        self.add_comment(&function.attrs, false);
        syn::visit::visit_trait_item_fn(self, function);
    }

    fn visit_trait_item_const(&mut self, constant: &'ast syn::TraitItemConst) {
        self.add_comment(&constant.attrs, false);
        syn::visit::visit_trait_item_const(self, constant);
    }

    fn visit_trait_item_type(&mut self, associated: &'ast syn::TraitItemType) {
        self.add_comment(&associated.attrs, false);
        syn::visit::visit_trait_item_type(self, associated);
    }
}
