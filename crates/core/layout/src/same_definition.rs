//! Comparison of definitions of one name by the rule of pahole, which prints equal ones once.

use std::hash::{Hash, Hasher};

use rustc_hash::FxHasher;

use crate::{Aggregate, Member};

/// Returns true if two definitions of one name have the same size, and members of the same names at
/// the same offsets. The types of the members and the keyword do not count. An unnamed member
/// equals a member of any name.
pub(crate) fn is_same_definition(a: &Aggregate, b: &Aggregate) -> bool {
    let place = |member: &Member| (member.offset, member.bits);
    let alike = |(a, b): (&Member, &Member)| {
        let named_alike = match (&a.name, &b.name) {
            (Some(a), Some(b)) => a == b,
            _ => true,
        };
        named_alike && place(a) == place(b)
    };
    a.size == b.size
        && a.members.len() == b.members.len()
        && a.members.iter().zip(&b.members).all(alike)
}

/// Hash that is equal for equal definitions, so that few of many definitions have to be compared.
pub(crate) fn layout_hash(aggregate: &Aggregate) -> u64 {
    let mut hash = FxHasher::default();
    aggregate.size.hash(&mut hash);
    for member in &aggregate.members {
        (member.offset, member.bits).hash(&mut hash);
    }
    hash.finish()
}
