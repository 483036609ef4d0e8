//! Uses of the field in the arguments of macros.
//!
//! Arguments are tokens until the macro expands. Those that read as expressions or statements are
//! edited as such. Others are refused if they may use the field.

use proc_macro2::{Delimiter, TokenStream, TokenTree};
use syn::parse::{Parse, ParseStream, Parser as _};
use syn::punctuated::Punctuated;
use syn::visit::Visit as _;
use syn::{Block, Expr, Stmt, Token};

use super::FieldUses;

/// Macros that take references of their arguments.
const BORROWING: [&str; 20] = [
    "print",
    "println",
    "eprint",
    "eprintln",
    "format",
    "write",
    "writeln",
    "panic",
    "assert",
    "assert_eq",
    "assert_ne",
    "debug_assert",
    "debug_assert_eq",
    "debug_assert_ne",
    "error",
    "warn",
    "info",
    "debug",
    "trace",
    "unreachable",
];
const NOT_READ: &str = "a macro's arguments may use the field here, and are not read as expressions: write them without the macro, or align the type";

/// Arguments of `vec![value; count]`.
struct RepeatedValue {
    value: Expr,
    count: Expr,
}

impl Parse for RepeatedValue {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let value = input.parse()?;
        input.parse::<Token![;]>()?;
        let count = input.parse()?;
        Ok(Self { value, count })
    }
}

impl FieldUses<'_> {
    /// Edits the arguments of a macro.
    pub fn visit_macro_tokens(&mut self, called: &syn::Macro) {
        let tokens = &called.tokens;
        let Some(at) = self.find_possible_use(tokens) else {
            return;
        };
        let name = called
            .path
            .segments
            .last()
            .map(|last| last.ident.to_string());
        let is_borrowing = name.is_some_and(|name| BORROWING.contains(&name.as_str()));
        let outer = std::mem::replace(&mut self.is_borrowed, is_borrowing);
        let list = Punctuated::<Expr, Token![,]>::parse_terminated;
        if let Ok(arguments) = list.parse2(tokens.clone()) {
            arguments
                .iter()
                .for_each(|argument| self.visit_expr(argument));
        } else if let Ok(repeated) = syn::parse2::<RepeatedValue>(tokens.clone()) {
            self.visit_expr(&repeated.value);
            self.visit_expr(&repeated.count);
        } else if let Ok(statements) = Block::parse_within.parse2(tokens.clone()) {
            let statements: Vec<Stmt> = statements;
            statements
                .iter()
                .for_each(|statement| self.visit_stmt(statement));
        } else {
            self.refuse(at, NOT_READ);
        }
        self.is_borrowed = outer;
    }

    /// Returns the byte of the first tokens that may build the struct or name the field.
    fn find_possible_use(&self, tokens: &TokenStream) -> Option<usize> {
        let mut levels = vec![tokens.clone().into_iter()];
        let mut previous: [Option<TokenTree>; 2] = [None, None];
        while let Some(level) = levels.last_mut() {
            let Some(token) = level.next() else {
                levels.pop();
                previous = [None, None];
                continue;
            };
            let is_member = matches!((&previous[1], &token),
                (Some(TokenTree::Punct(dot)), TokenTree::Ident(name))
                    if dot.as_char() == '.' && *name == self.names.field);
            let is_literal = matches!((&previous[1], &token),
                (Some(TokenTree::Ident(name)), TokenTree::Group(group))
                    if group.delimiter() == Delimiter::Brace && self.may_be_struct(name));
            let is_generic_literal = matches!((&previous[1], &token),
                (Some(TokenTree::Punct(close)), TokenTree::Group(group))
                    if close.as_char() == '>' && group.delimiter() == Delimiter::Brace);
            if is_member || is_literal || is_generic_literal {
                return Some(token.span().byte_range().start);
            }
            previous = [previous[1].take(), Some(token.clone())];
            if let TokenTree::Group(group) = token {
                levels.push(group.stream().into_iter());
                previous = [None, None];
            }
        }
        None
    }

    fn may_be_struct(&self, name: &proc_macro2::Ident) -> bool {
        name == "Self" && self.is_in_impl() || { self.names.struct_names.iter() }
            .any(|known| name == known)
    }
}
