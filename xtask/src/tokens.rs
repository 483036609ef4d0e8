//! Identifier tokens, also those inside of macro calls.

use proc_macro2::{TokenStream, TokenTree};

use crate::source::SourceFile;

/// Places of each identifier token that is exactly `name`.
pub fn identifier_places(files: &[SourceFile], name: &str) -> Vec<String> {
    let mut places = Vec::new();
    for file in files {
        // A file that syn has parsed is a sequence of tokens.
        if let Ok(tokens) = file.text.parse::<TokenStream>() {
            collect(file, tokens, name, &mut places);
        }
    }
    places
}

fn collect(file: &SourceFile, tokens: TokenStream, name: &str, places: &mut Vec<String>) {
    for token in tokens {
        match token {
            TokenTree::Group(group) => collect(file, group.stream(), name, places),
            TokenTree::Ident(ident) if ident == name => places.push(file.place(ident.span())),
            _ => {}
        }
    }
}
