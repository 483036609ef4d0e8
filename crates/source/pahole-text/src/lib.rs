//! Struct layouts as text in the format of pahole.
//!
//! The text equals that of `pahole` 1.24 or 1.30 (package dwarves) byte for byte, because people
//! compare it and scripts parse it: [`PaholeVersion`]. Holes, packing and forced alignments follow the same rules. The tests of
//! the command (`crates/relayout/tests/pahole`) compare the text of a whole kernel, and list the
//! intended differences.
//!
//! ```
//! use relayout_layout::{Aggregate, Member, Type, TypeArena};
//! use relayout_pahole_text::{Options, render_aggregate};
//!
//! let mut types = TypeArena::new();
//! let int = types.add(Type::Base { name: "int".to_owned(), size: 4 });
//! let long = types.add(Type::Base { name: "long".to_owned(), size: 8 });
//! let job = Aggregate {
//!     name: Some("job".to_owned()),
//!     size: 16,
//!     members: vec![Member::new("done", int, 0), Member::new("wait", long, 8)],
//!     complete: true,
//!     ..Aggregate::default()
//! };
//! let text = render_aggregate(&types, &job, &Options::default()).expect("it is complete");
//! assert!(text.contains("/* XXX 4 bytes hole, try to pack */"));
//! ```
//!
//! The text of a struct:
//!
//! ```text
//! struct completion {
//!     unsigned int               done;                 /*     0     4 */
//!
//!     /* XXX 4 bytes hole, try to pack */
//!
//!     struct swait_queue_head    wait;                 /*     8    24 */
//!
//!     /* size: 32, cachelines: 1, members: 2 */
//!     /* sum members: 28, holes: 1, sum holes: 4 */
//!     /* last cacheline: 32 bytes */
//! };
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

mod access;
mod align;
mod body;
mod column;
mod comment;
mod facts;
mod footer;
mod frame;
mod member;
mod member_type;
mod names;
mod options;
mod print;
mod printer;
mod variants;

use relayout_layout::{Aggregate, AggregateKind, Type, TypeArena, TypeId};

pub use options::{Options, PaholeVersion};

/// Text of a struct, union or enum with a final newline. A typedef stands for its type. `None` for
/// other types, and for declarations without members.
pub fn render(types: &TypeArena, id: TypeId, options: &Options) -> Option<String> {
    match types.get(types.strip_typedefs(id)) {
        Type::Aggregate(aggregate) => render_aggregate(types, aggregate, options),
        Type::Enum {
            name,
            enumerators,
            size,
        } => {
            let mut printer = printer::LayoutPrinter::new(types, options);
            printer.write_top_enum(name.as_deref(), enumerators, *size);
            Some(printer.finish())
        }
        _ => None,
    }
}

/// Text of a struct or union that is not in the arena itself, such as one [laid out in another
/// order](relayout_layout::abi::StructShape::apply_arrangement). The types of its members are in
/// the arena. `None` for a declaration without members.
pub fn render_aggregate(
    types: &TypeArena,
    aggregate: &Aggregate,
    options: &Options,
) -> Option<String> {
    if !aggregate.complete {
        return None;
    }
    let mut printer = printer::LayoutPrinter::new(types, options);
    match aggregate.kind {
        AggregateKind::Union => printer.write_top_union(aggregate),
        AggregateKind::Struct | AggregateKind::Class => printer.write_top_struct(aggregate),
    }
    Some(printer.finish())
}
