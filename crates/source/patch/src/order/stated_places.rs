//! Comments in the definition of a struct that say where a member has to be: `/* must be first */`.

use super::{FirstMemberReliance, OrderFact, OrderQuery, OrderReliance};
use crate::body::BodyStatement;
use crate::lex::{TokenIndex, TokenKind};
use crate::tokenized::TokenizedFile;

/// Bytes of a comment that is read; a longer one is an explanation of something else.
const COMMENT_BYTES_MAX: usize = 160;
/// Words of a demand.
const DEMANDS: [&str; 6] = ["must", "keep", "should", "has to", "have to", "needs to"];

/// Adds the comments of the first and the last member in the definitions of the struct that the
/// file has.
pub(super) fn collect(file: &TokenizedFile<'_>, query: &OrderQuery, facts: &mut Vec<OrderFact>) {
    for name in query.names() {
        let Ok(definition) = file.find_definition(name, None) else {
            continue;
        };
        let body = &definition.body;
        let [first, .., last] = body.statements.as_slice() else {
            continue;
        };
        let above_first = (body.open + 1).until(first.first);
        let stated = above_first.chain(behind_statement(file, first));
        facts.extend(demand(file, stated, "first").map(|comment| {
            let reliance = FirstMemberReliance::StatedByComment {
                comment: file.text(comment).to_owned(),
            };
            stated_fact(file, comment, OrderReliance::FirstMember(reliance))
        }));
        let stated = behind_statement(file, last);
        facts.extend(demand(file, stated, "last").map(|comment| {
            let names = |statements: &[BodyStatement]| {
                { statements.iter() }
                    .flat_map(BodyStatement::declared_names)
                    .collect()
            };
            let (before, after) = body.statements.split_at(body.statements.len() - 1);
            let reliance = OrderReliance::DefinitionBorder {
                mark: file.text(comment).to_owned(),
                before: names(before),
                after: names(after),
            };
            stated_fact(file, comment, reliance)
        }));
    }
}

/// Returns the tokens behind a statement on its last line.
fn behind_statement<'f>(
    file: &'f TokenizedFile<'_>,
    statement: &BodyStatement,
) -> impl Iterator<Item = TokenIndex> + 'f {
    let line = file.place(statement.last).line;
    (statement.last + 1)
        .until(file.tokens.end())
        .take_while(move |&at| file.place(at).line == line)
}

/// Returns the first of the tokens that is a comment which demands to be `place`.
fn demand(
    file: &TokenizedFile<'_>,
    mut tokens: impl Iterator<Item = TokenIndex>,
    place: &str,
) -> Option<TokenIndex> {
    tokens.find(|&at| {
        let text = file.text(at);
        let is_short = file.tokens[at].kind == TokenKind::Comment && text.len() < COMMENT_BYTES_MAX;
        let text = text.to_ascii_lowercase();
        let mut words = text.split(|c: char| !c.is_ascii_alphanumeric());
        is_short
            && words.any(|word| word == place)
            && DEMANDS.iter().any(|demand| text.contains(demand))
    })
}

fn stated_fact(
    file: &TokenizedFile<'_>,
    comment: TokenIndex,
    reliance: OrderReliance,
) -> OrderFact {
    OrderFact {
        place: file.place(comment),
        text: file.text(comment).to_owned(),
        reliance,
    }
}
