//! Tests that end early by themselves, and so pass without having tested.

use syn::visit::Visit;

use crate::source::SourceFile;

/// Places of `return` statements in the bodies of test functions, outside closures.
pub fn early_returns(files: &[SourceFile]) -> Vec<String> {
    let mut places = Vec::new();
    for file in files {
        let mut visitor = TestVisitor {
            file,
            places: &mut places,
        };
        visitor.visit_file(&file.syntax);
    }
    places
}

struct TestVisitor<'a> {
    file: &'a SourceFile,
    places: &'a mut Vec<String>,
}

impl<'ast> Visit<'ast> for TestVisitor<'_> {
    fn visit_item_fn(&mut self, function: &'ast syn::ItemFn) {
        let is_test = |attribute: &syn::Attribute| attribute.path().is_ident("test");
        if function.attrs.iter().any(is_test) {
            let mut returns = ReturnVisitor {
                file: self.file,
                places: self.places,
            };
            returns.visit_block(&function.block);
        }
    }
}

struct ReturnVisitor<'a> {
    file: &'a SourceFile,
    places: &'a mut Vec<String>,
}

impl<'ast> Visit<'ast> for ReturnVisitor<'_> {
    fn visit_expr_return(&mut self, expression: &'ast syn::ExprReturn) {
        self.places
            .push(self.file.place(expression.return_token.span));
    }

    fn visit_expr_closure(&mut self, _: &'ast syn::ExprClosure) {}

    fn visit_item(&mut self, _: &'ast syn::Item) {}
}
