//! Uses of a field that is wrapped, and their edits.

mod macros;

use syn::visit::{self, Visit};
use syn::{
    BinOp, Expr, ExprField, ExprMethodCall, ExprStruct, ItemImpl, ItemMod, Member, Pat, PatStruct,
    Path, Type, UnOp, UseTree,
};

use super::names::{CrateNames, StructDefinitionTree};
use super::{ChosenWrapper, EditObstacle, bytes_of, start_of};
use crate::text_edit::TextEdit;

/// Methods that a wrapper has itself, and that only look at the value.
const METHODS_OF_REFERENCE: [&str; 13] = [
    "clone",
    "to_owned",
    "eq",
    "ne",
    "cmp",
    "partial_cmp",
    "lt",
    "le",
    "gt",
    "ge",
    "hash",
    "fmt",
    "deref",
];
/// Methods that take the value away, beside those that begin with `into`.
const METHODS_THAT_TAKE: [&str; 9] = [
    "unwrap",
    "expect",
    "unwrap_or",
    "unwrap_or_else",
    "unwrap_or_default",
    "join",
    "map",
    "and_then",
    "ok_or",
];

const AMBIGUOUS: &str = "the field has to be named as that of its wrapper here, but another type has a field of this name: rename the field, or align the type";
const BOUND: &str = "a pattern binds the field to a name: bind the whole struct, and write its field where it is used";
const RAW: &str =
    "the address of the field is taken here, which would be that of its wrapper: align the type";

/// Certainty that a field expression is of the struct.
#[derive(Clone, Copy, PartialEq, Eq)]
enum FieldOwner {
    /// It is `self.field` in an `impl` of the struct, or no other struct has the field.
    Certain,
    /// Another struct has a field of that name.
    Unclear,
    /// It is not.
    Other,
}

/// An `impl` block around expressions.
struct ImplBlock {
    is_of_struct: bool,
    /// Path in front of the struct's name: `stats::`.
    path: String,
}

/// A module around expressions.
struct ModuleScope {
    name: String,
    /// Path by which it imports the struct: `super::`.
    path: String,
}

/// Collector of the edits in one file.
pub(super) struct FieldUses<'a> {
    names: &'a CrateNames,
    found: &'a StructDefinitionTree,
    wrapper: &'a ChosenWrapper,
    is_definition_file: bool,
    impls: Vec<ImplBlock>,
    modules: Vec<ModuleScope>,
    /// True inside of a macro that takes its values by reference, such as `println!`.
    is_borrowed: bool,
    edits: Vec<TextEdit>,
    obstacle: Option<EditObstacle>,
}

impl<'a> FieldUses<'a> {
    /// Returns the edits of all expressions of a file.
    ///
    /// # Errors
    /// The first use that cannot be edited.
    pub fn find(
        tree: &syn::File,
        is_definition_file: bool,
        names: &'a CrateNames,
        found: &'a StructDefinitionTree,
        wrapper: &'a ChosenWrapper,
    ) -> Result<Vec<TextEdit>, EditObstacle> {
        let mut uses = Self {
            names,
            found,
            wrapper,
            is_definition_file,
            impls: Vec::new(),
            modules: Vec::new(),
            is_borrowed: false,
            edits: Vec::new(),
            obstacle: None,
        };
        let path = uses.import_path(&tree.items);
        let name = String::new();
        uses.modules.push(ModuleScope { name, path });
        uses.visit_file(tree);
        match uses.obstacle {
            Some(obstacle) => Err(obstacle),
            None => Ok(uses.edits),
        }
    }

    fn refuse(&mut self, at: usize, why: &'static str) {
        if self.obstacle.is_none() {
            self.obstacle = Some(EditObstacle { at, why });
        }
    }

    fn insert(&mut self, at: usize, text: impl Into<String>) {
        self.edits.push(TextEdit {
            bytes: at..at,
            text: text.into(),
        });
    }

    /// Returns the path by which items of a module import the struct; empty without an import.
    fn import_path(&self, items: &[syn::Item]) -> String {
        let mut trees = items.iter().filter_map(|item| match item {
            syn::Item::Use(item) => Some(&item.tree),
            _ => None,
        });
        let path = trees.find_map(|tree| path_in_use(tree, &self.names.struct_names, ""));
        path.unwrap_or_default()
    }

    fn is_defining_module(&self) -> bool {
        let inner = self.modules.iter().skip(1).map(|module| &module.name);
        self.is_definition_file && inner.eq(&self.found.modules)
    }

    fn is_in_impl(&self) -> bool {
        self.impls.last().is_some_and(|block| block.is_of_struct)
    }

    /// Returns the path of the struct's module as a path to the struct has it; `None` if the path
    /// is of something else.
    fn struct_path(&self, path: &Path) -> Option<String> {
        let last = path.segments.last()?;
        let before = path.segments.len() - 1;
        if last.ident == "Self" && before == 0 {
            let block = self.impls.last().filter(|block| block.is_of_struct)?;
            return Some(block.path.clone());
        }
        if !{ self.names.struct_names.iter() }.any(|name| last.ident == name) {
            return None;
        }
        let segments: Vec<String> = { path.segments.iter().take(before) }
            .map(|segment| segment.ident.to_string())
            .collect();
        // A variant of an enum has the enum's name in front.
        let is_variant = segments
            .last()
            .is_some_and(|segment| segment.starts_with(char::is_uppercase));
        if is_variant {
            return None;
        }
        Some(match segments.is_empty() {
            true if self.is_defining_module() => String::new(),
            true => self
                .modules
                .last()
                .map_or(String::new(), |module| module.path.clone()),
            false => {
                let global = if path.leading_colon.is_some() {
                    "::"
                } else {
                    ""
                };
                format!("{global}{}::", segments.join("::"))
            }
        })
    }

    fn owner(&self, field: &ExprField) -> FieldOwner {
        let is_named = matches!(&field.member, Member::Named(name) if *name == self.names.field);
        let is_self = matches!(&*field.base, Expr::Path(path) if path.path.is_ident("self"));
        match (is_named, is_self && !self.impls.is_empty()) {
            (false, _) => FieldOwner::Other,
            (true, true) if self.is_in_impl() => FieldOwner::Certain,
            (true, true) => FieldOwner::Other,
            (true, false) if self.names.is_field_unique => FieldOwner::Certain,
            (true, false) => FieldOwner::Unclear,
        }
    }

    /// Returns the field expression that the expression is, within any parentheses.
    fn as_target<'e>(&self, expression: &'e Expr) -> Option<&'e ExprField> {
        let mut inner = expression;
        while let Expr::Paren(paren) = inner {
            inner = &paren.expr;
        }
        match inner {
            Expr::Field(field) if self.owner(field) != FieldOwner::Other => Some(field),
            _ => None,
        }
    }

    /// Adds a `*` in front of the field, which stands for the wrapped value as a place.
    fn edit_place(&mut self, field: &ExprField) {
        match self.owner(field) {
            FieldOwner::Unclear => self.refuse(start_of_member(field), AMBIGUOUS),
            _ => self.insert(bytes_of(field).start, "*"),
        }
        self.visit_expr(&field.base);
    }

    /// Makes the field the wrapped value, which may be moved.
    fn edit_value(&mut self, field: &ExprField) {
        if self.owner(field) == FieldOwner::Unclear {
            self.refuse(start_of_member(field), AMBIGUOUS);
        }
        if !self.wrapper.has_value_field && (self.found.is_plain_copy || self.is_borrowed) {
            return self.edit_place(field);
        }
        self.visit_expr(&field.base);
        self.append_value(field);
    }

    /// Adds `.0`, or the call that takes the value out.
    fn append_value(&mut self, field: &ExprField) {
        let text = match self.wrapper.has_value_field {
            true => ".0",
            false => ".into_inner()",
        };
        self.insert(bytes_of(field).end, text);
    }

    fn edit_receiver(&mut self, call: &ExprMethodCall, field: &ExprField) {
        let method = call.method.to_string();
        let is_of_reference = METHODS_OF_REFERENCE.contains(&method.as_str());
        let takes_value =
            METHODS_THAT_TAKE.contains(&method.as_str()) || method.starts_with("into");
        let is_of_value = is_of_reference || takes_value;
        if is_of_value && self.owner(field) == FieldOwner::Unclear {
            self.refuse(start_of_member(field), AMBIGUOUS);
        }
        if is_of_reference && !self.wrapper.has_value_field {
            self.insert(bytes_of(field).start, "(*");
            self.visit_expr(&field.base);
            self.insert(bytes_of(field).end, ")");
            return;
        }
        self.visit_expr(&field.base);
        if is_of_value {
            self.append_value(field);
        }
    }

    /// Visits an expression whose parts contain the field in a way that needs an edit of its own;
    /// returns false for other expressions.
    fn visit_special(&mut self, expression: &Expr) -> bool {
        match expression {
            Expr::Field(field) => match (self.owner(field), self.as_target(&field.base)) {
                (FieldOwner::Other, Some(inner)) => match field.member {
                    Member::Named(_) => self.visit_expr(&inner.base),
                    // `.0` of the wrapper would hide that of the value.
                    Member::Unnamed(_) => self.edit_value(inner),
                },
                (FieldOwner::Other, None) => return false,
                _ => self.edit_value(field),
            },
            Expr::MethodCall(call) => match self.as_target(&call.receiver) {
                Some(field) => {
                    self.edit_receiver(call, field);
                    call.args.iter().for_each(|arg| self.visit_expr(arg));
                }
                None => return false,
            },
            Expr::Index(index) => match self.as_target(&index.expr) {
                Some(field) => {
                    self.visit_expr(&field.base);
                    self.visit_expr(&index.index);
                }
                None => return false,
            },
            Expr::Call(call) => match (&*call.func, self.as_target(&call.func)) {
                (Expr::Paren(_), Some(field)) => {
                    self.visit_expr(&field.base);
                    call.args.iter().for_each(|arg| self.visit_expr(arg));
                }
                _ => return false,
            },
            Expr::RawAddr(address) => match self.as_target(&address.expr) {
                Some(field) => self.refuse(start_of_member(field), RAW),
                None => return false,
            },
            _ => return self.visit_place(expression),
        }
        true
    }

    /// Visits an expression that uses the field as a place.
    fn visit_place(&mut self, expression: &Expr) -> bool {
        let (place, other) = match expression {
            Expr::Reference(reference) => (&*reference.expr, None),
            Expr::Unary(unary) if matches!(unary.op, UnOp::Deref(_)) => (&*unary.expr, None),
            Expr::Assign(assign) => (&*assign.left, Some(&*assign.right)),
            Expr::Binary(binary) if is_assignment(binary.op) => {
                (&*binary.left, Some(&*binary.right))
            }
            Expr::Let(binding) => (&*binding.expr, None),
            Expr::Match(matched) => (&*matched.expr, None),
            _ => return false,
        };
        let Some(field) = self.as_target(place) else {
            return false;
        };
        self.edit_place(field);
        if let Some(other) = other {
            self.visit_expr(other);
        }
        match expression {
            Expr::Let(binding) => self.visit_pat(&binding.pat),
            Expr::Match(matched) => matched.arms.iter().for_each(|arm| self.visit_arm(arm)),
            _ => {}
        }
        true
    }

    fn edit_literal(&mut self, literal: &ExprStruct, path: &str) {
        for field in &literal.fields {
            let is_wrapped =
                matches!(&field.member, Member::Named(name) if *name == self.names.field);
            if !is_wrapped {
                self.visit_field_value(field);
                continue;
            }
            let opening = self.wrapper.opening(path);
            let bytes = bytes_of(&field.expr);
            if field.colon_token.is_none() {
                let text = format!(": {opening}{})", self.names.field);
                self.insert(bytes.end, text);
                continue;
            }
            self.insert(bytes.start, opening);
            self.visit_expr(&field.expr);
            self.insert(bytes.end, ")");
        }
        literal.rest.iter().for_each(|rest| self.visit_expr(rest));
    }
}

impl<'ast> Visit<'ast> for FieldUses<'_> {
    fn visit_expr(&mut self, expression: &'ast Expr) {
        if !self.visit_special(expression) {
            visit::visit_expr(self, expression);
        }
    }

    fn visit_expr_struct(&mut self, literal: &'ast ExprStruct) {
        match self.struct_path(&literal.path) {
            Some(path) => self.edit_literal(literal, &path),
            None => visit::visit_expr_struct(self, literal),
        }
    }

    fn visit_pat_struct(&mut self, pattern: &'ast PatStruct) {
        if self.struct_path(&pattern.path).is_some() {
            let mut fields = pattern.fields.iter();
            let bound = fields.find(|field| {
                let is_wrapped =
                    matches!(&field.member, Member::Named(name) if *name == self.names.field);
                is_wrapped && !matches!(&*field.pat, Pat::Wild(_))
            });
            if let Some(field) = bound {
                self.refuse(bytes_of(field).start, BOUND);
            }
        }
        visit::visit_pat_struct(self, pattern);
    }

    fn visit_item_impl(&mut self, item: &'ast ItemImpl) {
        let path = match &*item.self_ty {
            Type::Path(path) => self.struct_path(&path.path),
            _ => None,
        };
        self.impls.push(ImplBlock {
            is_of_struct: path.is_some(),
            path: path.unwrap_or_default(),
        });
        visit::visit_item_impl(self, item);
        self.impls.pop();
    }

    fn visit_item_mod(&mut self, item: &'ast ItemMod) {
        let items = item.content.as_ref().map_or(&[][..], |(_, items)| items);
        let path = self.import_path(items);
        let name = item.ident.to_string();
        self.modules.push(ModuleScope { name, path });
        visit::visit_item_mod(self, item);
        self.modules.pop();
    }

    fn visit_macro(&mut self, called: &'ast syn::Macro) {
        self.visit_macro_tokens(called);
    }
}

fn start_of_member(field: &ExprField) -> usize {
    match &field.member {
        Member::Named(name) => start_of(name.span()),
        Member::Unnamed(index) => start_of(index.span),
    }
}

fn is_assignment(operator: BinOp) -> bool {
    matches!(
        operator,
        BinOp::AddAssign(_)
            | BinOp::SubAssign(_)
            | BinOp::MulAssign(_)
            | BinOp::DivAssign(_)
            | BinOp::RemAssign(_)
            | BinOp::BitXorAssign(_)
            | BinOp::BitAndAssign(_)
            | BinOp::BitOrAssign(_)
            | BinOp::ShlAssign(_)
            | BinOp::ShrAssign(_)
    )
}

/// Returns the path in front of one of the names in a `use`: `super::stats::`.
fn path_in_use(tree: &UseTree, names: &[String], before: &str) -> Option<String> {
    match tree {
        UseTree::Path(path) => {
            let before = format!("{before}{}::", path.ident);
            path_in_use(&path.tree, names, &before)
        }
        UseTree::Name(name) => { names.iter() }
            .any(|known| name.ident == known)
            .then(|| before.to_owned()),
        UseTree::Rename(rename) => { names.iter() }
            .any(|known| rename.ident == known)
            .then(|| before.to_owned()),
        UseTree::Glob(_) => None,
        UseTree::Group(group) => {
            { group.items.iter() }.find_map(|item| path_in_use(item, names, before))
        }
    }
}
