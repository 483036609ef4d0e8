//! Operations on a range of members: `memset_startat(p, 0, b)`, `memcpy(p, q, offsetof(...))`,
//! regions of a slab cache that may be copied to user space.

use super::code_view::{ArgumentRange, CodeView};
use super::variables::VariableType;
use super::{BorderSide, OrderFact, OrderReliance, RangeBorder};

/// Length of a number of members that is computed outside of an operation.
const LENGTH_OPERATION: &str = "a length between members";

/// A border, or an expression of unknown type that may make one.
enum FoundBorder {
    Border(RangeBorder),
    Undecided { member: String, expression: String },
}

pub(super) fn collect(code: &CodeView<'_>, facts: &mut Vec<OrderFact>) {
    for position in 0..code.len() {
        let name = code.word(position);
        if !code.is_ident(position) || code.word(position + 1) != "(" {
            continue;
        }
        let arguments = code.arguments(position);
        let borders = match name {
            "memset_startat" => named_member_border(code, &arguments, BorderSide::Before),
            "memset_after" => named_member_border(code, &arguments, BorderSide::After),
            "kmem_cache_create_usercopy" => usercopy_borders(code, &arguments),
            _ if is_memory_operation(name) => operation_borders(code, &arguments),
            "offsetof" | "offsetofend" | "__builtin_offsetof" => {
                push_length(code, position, facts);
                continue;
            }
            _ => continue,
        };
        push_facts(code, position, name, borders, facts);
    }
}

/// Adds the borders of one operation, and what cannot be decided.
fn push_facts(
    code: &CodeView<'_>,
    position: usize,
    operation: &str,
    found: Vec<FoundBorder>,
    facts: &mut Vec<OrderFact>,
) {
    let operation = operation.to_owned();
    let mut borders = Vec::new();
    for border in found {
        match border {
            FoundBorder::Border(border) if !borders.contains(&border) => borders.push(border),
            FoundBorder::Border(_) => {}
            FoundBorder::Undecided { member, expression } => {
                let operation = operation.clone();
                let undecided = OrderReliance::Undecided {
                    operation,
                    member,
                    expression,
                };
                facts.push(code.fact(position, undecided));
            }
        }
    }
    if !borders.is_empty() {
        let range = OrderReliance::Range { operation, borders };
        facts.push(code.fact(position, range));
    }
}

/// Returns true for functions that access as many bytes as they are told.
fn is_memory_operation(name: &str) -> bool {
    let name = name.trim_start_matches("__builtin_").trim_matches('_');
    ["mem", "copy_to_", "copy_from_", "bcopy", "bzero", "bcmp"]
        .iter()
        .any(|prefix| name.starts_with(prefix))
        || ["memset", "memcpy", "memmove", "bzero", "hash", "crc32"]
            .iter()
            .any(|part| name.contains(part))
}

/// Border of `memset_startat(object, value, member)`.
fn named_member_border(
    code: &CodeView<'_>,
    arguments: &[ArgumentRange],
    side: BorderSide,
) -> Vec<FoundBorder> {
    let [object, _, member] = arguments else {
        return Vec::new();
    };
    let member = code.joined(member.clone());
    typed_border(code, object.clone(), member, side)
        .into_iter()
        .collect()
}

/// Border at a member of what `object` belongs to.
fn typed_border(
    code: &CodeView<'_>,
    object: ArgumentRange,
    member: String,
    side: BorderSide,
) -> Option<FoundBorder> {
    match code.type_of(object.clone()) {
        VariableType::Subject => Some(FoundBorder::Border(RangeBorder { member, side })),
        VariableType::Unknown if code.query.has_member(&member) => Some(FoundBorder::Undecided {
            member,
            expression: code.joined(object),
        }),
        _ => None,
    }
}

/// Borders of a memory operation: offsets in its length, members that its length begins at.
fn operation_borders(code: &CodeView<'_>, arguments: &[ArgumentRange]) -> Vec<FoundBorder> {
    let Some((length, others)) = arguments.split_last() else {
        return Vec::new();
    };
    let mut borders = offset_borders(code, length.clone());
    borders.extend(difference_borders(code, length.clone()));
    let is_whole_length = is_length_of_struct(code, length.clone());
    if !borders.is_empty() || is_whole_length {
        for argument in others {
            borders.extend(offset_borders(code, argument.clone()));
            borders.extend(member_address(code, argument.clone()));
        }
    }
    borders
}

/// Returns true if the length has the size of the struct and subtracts from it.
fn is_length_of_struct(code: &CodeView<'_>, length: ArgumentRange) -> bool {
    let subtracts = length.clone().any(|position| code.word(position) == "-");
    let has_size = length.clone().any(|position| {
        let inner = code.word(position) == "sizeof" && code.word(position + 1) == "(";
        inner && is_sized_subject(code, position + 2)
    });
    subtracts && has_size
}

/// Returns true for `struct s)` and `*p)` behind `sizeof(`.
fn is_sized_subject(code: &CodeView<'_>, start: usize) -> bool {
    let is_object = code.word(start) == "*"
        && code.type_of(start + 1..start + 2) == VariableType::Subject
        && code.word(start + 2) == ")";
    is_object || code.subject_tokens(start) > 0
}

/// Borders at the members that `offsetof` and `offsetofend` name in `range`.
fn offset_borders(code: &CodeView<'_>, range: ArgumentRange) -> Vec<FoundBorder> {
    let calls = range.filter_map(|position| offset_call(code, position));
    calls.flatten().collect()
}

/// Border of `offsetof(type, member)` at `position`; `None` if it is no such call.
fn offset_call(code: &CodeView<'_>, position: usize) -> Option<Option<FoundBorder>> {
    let side = match code.word(position) {
        "offsetof" | "__builtin_offsetof" => BorderSide::Before,
        "offsetofend" => BorderSide::After,
        _ => return None,
    };
    let arguments = code.arguments(position);
    let [owner, member] = &arguments[..] else {
        return None;
    };
    let member = code.joined(member.clone());
    if code.subject_tokens(owner.start) > 0 {
        return Some(Some(FoundBorder::Border(RangeBorder { member, side })));
    }
    let is_typeof = matches!(
        code.word(owner.start),
        "typeof" | "__typeof__" | "__typeof" | "decltype"
    );
    if !is_typeof {
        return Some(None);
    }
    let Some(close) = code.close_of(owner.start + 1) else {
        return Some(None);
    };
    let object = owner.start + 2..close;
    let star = usize::from(code.word(object.start) == "*");
    let object = object.start + star..object.end;
    Some(typed_border(code, object, member, side))
}

/// Borders of a length like `(char *)&p->b - (char *)&p->a`.
fn difference_borders(code: &CodeView<'_>, length: ArgumentRange) -> Vec<FoundBorder> {
    if !length.clone().any(|position| code.word(position) == "-") {
        return Vec::new();
    }
    length
        .filter_map(|position| member_at_address(code, position))
        .collect()
}

/// Border at the member whose address an argument is.
fn member_address(code: &CodeView<'_>, argument: ArgumentRange) -> Option<FoundBorder> {
    argument
        .into_iter()
        .find_map(|position| member_at_address(code, position))
}

/// Border at the member of `&p->member` or `&p.member` at `position`.
fn member_at_address(code: &CodeView<'_>, position: usize) -> Option<FoundBorder> {
    if code.word(position) != "&" || !code.is_ident(position + 1) {
        return None;
    }
    let member_start = match (code.word(position + 2), code.word(position + 3)) {
        ("-", ">") => position + 4,
        (".", _) => position + 3,
        _ => return None,
    };
    let mut end = member_start + 1;
    while code.word(end) == "." && code.is_ident(end + 1) {
        end += 2;
    }
    let member = code.joined(member_start..end);
    let object = position + 1..position + 2;
    typed_border(code, object, member, BorderSide::Before)
}

/// Borders of a region of several members that may be copied to user space. A region of one member
/// follows it.
fn usercopy_borders(code: &CodeView<'_>, arguments: &[ArgumentRange]) -> Vec<FoundBorder> {
    let (Some(offset), Some(size)) = (arguments.get(4), arguments.get(5)) else {
        return Vec::new();
    };
    let mut borders = offset_borders(code, size.clone());
    if !borders.is_empty() {
        borders.extend(offset_borders(code, offset.clone()));
    }
    borders
}

/// Adds `offsetof(struct s, b) - offsetof(struct s, a)` outside of operations and assertions: a
/// length for one that stands elsewhere.
fn push_length(code: &CodeView<'_>, position: usize, facts: &mut Vec<OrderFact>) {
    let Some(close) = code.close_of(position + 1) else {
        return;
    };
    let is_subtraction = code.word(close + 1) == "-" && code.word(close + 2) != ">";
    if !is_subtraction {
        return;
    }
    let (Some(Some(first)), Some(Some(second))) =
        (offset_call(code, position), offset_call(code, close + 2))
    else {
        return;
    };
    let mut lengths = Vec::new();
    let found = vec![first, second];
    push_facts(code, position, LENGTH_OPERATION, found, &mut lengths);
    // The operation around it has been found.
    lengths.retain(|length| {
        let is_same = |fact: &OrderFact| {
            fact.place == length.place && range_borders(fact) == range_borders(length)
        };
        !facts.iter().rev().take(2).any(is_same)
    });
    facts.append(&mut lengths);
}

fn range_borders(fact: &OrderFact) -> &[RangeBorder] {
    match &fact.reliance {
        OrderReliance::Range { borders, .. } => borders,
        _ => &[],
    }
}
