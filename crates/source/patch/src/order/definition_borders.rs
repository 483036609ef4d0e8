//! Borders in the definition of a struct: the ends of its randomised members, access specifiers.

use super::{OrderFact, OrderQuery, OrderReliance};
use crate::body::{BodyStatement, GROUP_MARKS};
use crate::declarator::StatementKind;
use crate::tokenized::TokenizedFile;

/// Adds the borders in the definitions of the struct that the file has. Marks of cache line groups
/// are members, so they are none.
pub(super) fn collect(file: &TokenizedFile<'_>, query: &OrderQuery, facts: &mut Vec<OrderFact>) {
    for name in query.names() {
        let Ok(definition) = file.find_definition(name, None) else {
            continue;
        };
        let statements = &definition.body.statements;
        let is_border = |statement: &BodyStatement| {
            statement.kind == StatementKind::Border
                && !file.text(statement.first).starts_with(GROUP_MARKS)
        };
        for (position, border) in statements.iter().enumerate() {
            if is_border(border) {
                let mark = file.text(border.first).to_owned();
                facts.push(OrderFact {
                    place: file.place(border.first),
                    text: mark.clone(),
                    reliance: OrderReliance::DefinitionBorder {
                        mark,
                        before: declared_names(&statements[..position]),
                        after: declared_names(&statements[position..]),
                    },
                });
            }
        }
    }
}

fn declared_names(statements: &[BodyStatement]) -> Vec<String> {
    { statements.iter() }
        .flat_map(BodyStatement::declared_names)
        .collect()
}
