//! Unused room and flexible arrays of a member's struct, as pahole comments on them.

use std::fmt::Write;

use relayout_layout::{
    Aggregate, AggregateGaps, AggregateKind, NESTING_MAX, Type, TypeArena, TypeId,
};

use crate::comment::plural;

/// Most members that one search for a flexible array visits. Structs of structs multiply.
const VISITS_MAX: u32 = 1 << 14;

/// Unused room and flexible arrays of a member's struct.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct MemberTypeNote {
    /// True if the struct ends in an array of no or unknown length.
    pub(super) ends_in_array: bool,
    /// True if a struct inside of it ends in such an array.
    pub(super) holds_array: bool,
    pub(super) padding: u64,
    pub(super) bit_padding: u64,
    pub(super) holes: u64,
    pub(super) bit_holes: u64,
}

impl MemberTypeNote {
    /// Everything about the struct that pahole 1.30 comments on.
    pub(super) fn from_struct(types: &TypeArena, aggregate: &Aggregate) -> Self {
        let gaps = AggregateGaps::from_aggregate(types, aggregate);
        Self {
            ends_in_array: ends_in_array(types, aggregate),
            holds_array: holds_array(types, aggregate, 0, &mut 0),
            padding: gaps.padding,
            bit_padding: gaps.bit_padding,
            holes: gaps.holes().count() as u64,
            bit_holes: gaps.bit_holes().count() as u64,
        }
    }

    /// Padding alone, about which pahole 1.24 comments.
    pub(super) fn from_padding(types: &TypeArena, aggregate: &Aggregate) -> Self {
        Self {
            padding: AggregateGaps::padding_bytes(types, aggregate),
            ..Self::default()
        }
    }

    /// Appends the comment.
    pub(super) fn push_comment(self, out: &mut String) {
        out.push_str("/* XXX last struct has");
        let mut separator = "";
        let mut push = |is_there: bool, text: std::fmt::Arguments<'_>| {
            if is_there {
                let _ = write!(out, "{separator} {text}");
                separator = ",";
            }
        };
        push(self.ends_in_array, format_args!("a flexible array"));
        push(self.holds_array, format_args!("embedded flexible array(s)"));
        let mut push_count = |count: u64, unit: &str, rest: &str| {
            push(
                count > 0,
                format_args!("{count} {unit}{}{rest}", plural(count)),
            );
        };
        push_count(self.padding, "byte", " of padding");
        push_count(self.bit_padding, "bit", " of padding");
        push_count(self.holes, "hole", "");
        push_count(self.bit_holes, "bit hole", "");
        out.push_str(" */");
    }
}

fn ends_in_array(types: &TypeArena, aggregate: &Aggregate) -> bool {
    let last = aggregate.members.last().map(|member| types.get(member.ty));
    let Some(Type::Array { counts, .. }) = last else {
        return false;
    };
    counts.len() <= 1 && matches!(counts.first(), None | Some(None | Some(0)))
}

fn holds_array(types: &TypeArena, aggregate: &Aggregate, depth: u32, visits: &mut u32) -> bool {
    aggregate.members.iter().any(|member| {
        *visits += 1;
        if depth > NESTING_MAX || *visits > VISITS_MAX {
            return false;
        }
        struct_of(types, member.ty).is_some_and(|inner| {
            ends_in_array(types, inner) || holds_array(types, inner, depth + 1, visits)
        })
    })
}

/// Struct behind typedefs and qualifiers; a union is none.
fn struct_of(types: &TypeArena, id: TypeId) -> Option<&Aggregate> {
    let found = types.aggregate(id)?;
    (found.kind != AggregateKind::Union).then_some(found)
}
