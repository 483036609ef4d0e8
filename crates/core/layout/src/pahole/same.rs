//! Which definitions of one name pahole takes for one type, and prints once.

use std::hash::{Hash, Hasher};

use rustc_hash::FxHasher;

use crate::{Aggregate, Member};

/// Whether two definitions of one name are the same to pahole: of equal size, with members of the
/// same names at the same places. The types of the members do not count, nor does the keyword; an
/// unnamed member is like one of any name.
pub fn same_to_pahole(a: &Aggregate, b: &Aggregate) -> bool {
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

/// A number that is equal for definitions that are the [`same`]: of many with one name only a few
/// have to be compared.
pub(crate) fn layout_hash(aggregate: &Aggregate) -> u64 {
    let mut hash = FxHasher::default();
    aggregate.size.hash(&mut hash);
    for member in &aggregate.members {
        (member.offset, member.bits).hash(&mut hash);
    }
    hash.finish()
}
