//! Sentences about code that relies on the order of members.

use relayout_advice::{FirstMember, FirstMemberPin, GatheredType, OrderEvidence};
use relayout_layout::word_lists::word_series;
use relayout_patch::{BorderSide, FirstMemberReliance, OrderFact, OrderReliance, RangeBorder};

use crate::words::counted;

/// Returns the number of uses that may be of the struct, before their list; `None` without any.
pub(crate) fn undecided_sentence(count: usize) -> Option<String> {
    (count > 0).then(|| {
        format!(
            "Not decided: of {} the file does not show whether the struct is this one; look before a \
             member moves across:",
            counted(count as u64, "use"),
        )
    })
}

/// Returns the sentences about the order in few words: at most `shown` uses of each kind.
pub(crate) fn order_answers(gathered: &GatheredType<'_>, shown: usize) -> Vec<String> {
    let order = &gathered.order;
    let words = |fact: &OrderFact| format!("{}: {}.", fact.place, fact_words(fact));
    let mut answers = order_sentences(gathered);
    answers.extend(order.facts.iter().take(shown).map(words));
    answers.extend(undecided_sentence(order.undecided.len()));
    answers.extend(order.undecided.iter().take(shown).map(words));
    answers
}

/// Returns sentences about ranges of members and about the first member.
pub(crate) fn order_sentences(gathered: &GatheredType<'_>) -> Vec<String> {
    let order = &gathered.order;
    let mut sentences = Vec::new();
    if !order.markers.is_empty() {
        let names: Vec<String> = { order.markers.iter() }
            .map(|name| format!("'{name}'"))
            .collect();
        sentences.push(format!(
            "No member crosses {}: arrays without elements mark ranges of members.",
            names.join(", ")
        ));
    }
    let first = order.first_member.as_ref();
    sentences.extend(first.map(|first| match (gathered.is_rust(), first.pin) {
        (true, FirstMemberPin::NotSearched) => format!(
            "'{}' stays first: #[repr(C)] may be there for code that casts to it.",
            first.name
        ),
        _ => first_sentence(first, order),
    }));
    sentences
}

fn first_sentence(first: &FirstMember, order: &OrderEvidence) -> String {
    let name = &first.name;
    match first.pin {
        FirstMemberPin::NotSearched => format!(
            "'{name}' stays first: it is a struct at offset 0, which code may cast to. With --source \
             DIR such code is looked for."
        ),
        FirstMemberPin::BaseClass => format!("'{name}' stays first: it is a base class."),
        FirstMemberPin::Fact(index) => {
            let place = order.facts.get(index).map(|fact| &fact.place);
            let place = place.map_or(String::new(), ToString::to_string);
            format!("'{name}' stays first: {place} relies on it.")
        }
        FirstMemberPin::Free => {
            let search = order.search.unwrap_or_default();
            let unread = match search.unread {
                0 => String::new(),
                count => format!("; {count} could not be read or are too large"),
            };
            format!(
                "'{name}' need not stay first: no cast between the two, container_of() or list_entry() \
                 by it, initialiser by position, offset for assembly and comment is in the {} that name the \
                 struct, of {}{unread}.",
                counted(search.naming as u64, "file"),
                search.files,
            )
        }
    }
}

/// Returns the reliance of a use in words.
pub(crate) fn fact_words(fact: &OrderFact) -> String {
    match &fact.reliance {
        OrderReliance::Range { operation, borders } => {
            let borders: Vec<String> = borders.iter().map(border_words).collect();
            format!(
                "{operation}{} has a range that {}: no member crosses that",
                call_parentheses(operation),
                borders.join(" and ")
            )
        }
        OrderReliance::DefinitionBorder { mark, .. } => {
            format!("no member crosses {}", one_line(mark))
        }
        OrderReliance::Assertion { members, size } => {
            let offsets = { members.iter() }.map(|member| format!("the offset of '{member}'"));
            let size = size.map(|_| "the size".to_owned());
            let asserted: Vec<String> = offsets.chain(size).collect();
            format!("{} asserted", is_or_are(&asserted))
        }
        OrderReliance::OffsetLimit {
            operation,
            member,
            below,
        } => format!("{operation}() needs '{member}' below offset {below}"),
        OrderReliance::FirstMember(reliance) => first_words(reliance),
        OrderReliance::Initializer { values } => {
            let verb = match values {
                1 => "has its value",
                _ => "have values",
            };
            let members = counted(*values as u64, "member");
            format!("the first {members} {verb} by position")
        }
        OrderReliance::Randomized => "the compiler may shuffle the members".to_owned(),
        OrderReliance::Undecided {
            operation,
            member,
            expression,
        } => format!("{operation}() names '{member}' of `{expression}`"),
    }
}

fn is_or_are(words: &[String]) -> String {
    let verb = if words.len() == 1 { "is" } else { "are" };
    format!("{} {verb}", word_series(words, usize::MAX))
}

fn call_parentheses(operation: &str) -> &'static str {
    if operation.contains(' ') { "" } else { "()" }
}

fn border_words(border: &RangeBorder) -> String {
    match border.side {
        BorderSide::Before => format!("begins or ends at '{}'", border.member),
        BorderSide::After => format!("begins or ends behind '{}'", border.member),
    }
}

/// Returns a text of several lines as one.
fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn first_words(reliance: &FirstMemberReliance) -> String {
    match reliance {
        FirstMemberReliance::CastToFirst { to } => {
            format!("a pointer to it is cast to its first member, {to}")
        }
        FirstMemberReliance::CastFromFirst { from } => {
            format!("a pointer to its first member, {from}, is cast to it")
        }
        FirstMemberReliance::ContainerOf { operation } => {
            format!("{operation}() by the member at offset 0, where null stays null")
        }
        FirstMemberReliance::AssemblyOffset => {
            "assembly is given the offset of the first member".to_owned()
        }
        FirstMemberReliance::StatedByComment { comment } => {
            format!("the definition says so: {}", one_line(comment))
        }
    }
}
