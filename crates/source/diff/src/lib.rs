//! Comparison of the struct layouts of two builds: two versions, two configurations, two compilers.
//!
//! [`DiffSide`] loads the types of a file. [`compare_sides`] matches the types of two files and
//! returns a [`LayoutDiff`]: the types that changed, and for each type whether its own members
//! changed or only a type that it holds by value. [`TypeDiffDetail`] lists the differences between
//! two layouts of one type: members that moved with the members that pushed them, holes, and
//! members that came together on a cache line or went apart.
//!
//! Names of members, offsets, sizes and bits are compared; the types of members are not. `long
//! unsigned int` equals `unsigned long`, and `int` in the place of `unsigned int` is no difference.
//!
//! ```
//! use relayout_diff::{MoveCause, TypeDiffDetail, TypeLayout};
//! use relayout_layout::{Aggregate, Member, Type, TypeArena};
//!
//! let mut types = TypeArena::new();
//! let long = types.add(Type::Base { name: "long".to_owned(), size: 8 });
//! let mut layout = |names: &[&str]| {
//!     let offsets = (0u64..).step_by(8);
//!     let members = names.iter().zip(offsets).map(|(name, offset)| Member::new(*name, long, offset));
//!     let id = types.add(Type::Aggregate(Aggregate {
//!         name: Some("job".to_owned()),
//!         size: 8 * names.len() as u64,
//!         members: members.collect(),
//!         complete: true,
//!         ..Aggregate::default()
//!     }));
//!     TypeLayout::from_type(&types, id).expect("a complete struct with a name")
//! };
//! let (old, new) = (layout(&["state", "count"]), layout(&["state", "owner", "count"]));
//! let detail = TypeDiffDetail::compare(&old, &new, 64);
//! let count = detail.members.last().expect("a member");
//! assert!(matches!(count.cause, MoveCause::Pushed(_)));
//! let push = detail.pushes_of(count)[0];
//! assert_eq!(push.moved_bits, 64);
//! assert_eq!(new.members[push.pushers[0].member].path.as_ref(), "owner");
//! ```

#![cfg_attr(
    not(test),
    deny(
        clippy::disallowed_methods,
        clippy::disallowed_types,
        clippy::print_stderr,
        clippy::print_stdout
    )
)]

mod change;
mod collect;
mod detail;
mod extract;
mod fingerprint;
mod gaps;
mod layout_diff;
mod lines;
mod matching;
mod member_name;
mod pairing;
mod pushes;
mod room;
mod type_diff;
mod type_layout;
mod unknown;

pub use change::{
    GapChange, MemberMove, MemberPush, MemberRoom, MoveCause, PairChange, Pusher, PusherAction,
};
pub use collect::{DiffSide, compare_sides, entries_named};
pub use detail::TypeDiffDetail;
pub use layout_diff::LayoutDiff;
pub use lines::{PAIRS_MAX, lines_overlap};
pub use matching::longest_increasing;
pub use type_diff::{DiffStatus, TypeDiff};
pub use type_layout::{BitGap, HeldType, PlacedMember, TypeKey, TypeLayout, TypeTag};
