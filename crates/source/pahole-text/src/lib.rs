//! Layouts as text, the way pahole prints them.
//!
//! The model is `pahole` 1.24 (package dwarves), byte for byte, spelling quirks included: people
//! diff this text, and scripts parse it. Holes, packing and forced alignments are reckoned by the
//! same rules as there; the tests of the command (`tests/pahole`) compare the two over a kernel, and
//! list what is different on purpose.
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

mod align;
mod body;
mod comment;
mod facts;
mod footer;
mod frame;
mod member;
mod names;
mod number;
mod print;
mod variants;

use relayout_layout::{Aggregate, AggregateKind, Type, TypeArena, TypeId};

/// How to print.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Size of a cache line in bytes.
    pub cacheline_size: u64,
    /// Offsets and sizes in hexadecimal (`pahole --hex`).
    pub hex: bool,
    /// Types of members in place, down to base types, and what typedefs stand for (`pahole -E`).
    pub expand: bool,
    /// The types carry declared alignments, as from DWARF. For BTF, which has none, pahole guesses
    /// them from gaps that are too large for the members' own alignment; so do we.
    pub alignments_known: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            cacheline_size: 64,
            hex: false,
            expand: false,
            alignments_known: true,
        }
    }
}

/// The layout of a struct, union or enum with a final newline; typedefs are looked through. `None`
/// for other types and mere declarations.
pub fn render(types: &TypeArena, id: TypeId, options: &Options) -> Option<String> {
    match types.get(types.strip_typedefs(id)) {
        Type::Aggregate(aggregate) => render_aggregate(types, aggregate, options),
        Type::Enum {
            name, enumerators, ..
        } => {
            let mut printer = print::LayoutPrinter::new(types, options);
            printer.write_top_enum(name.as_deref(), enumerators);
            Some(printer.finish())
        }
        _ => None,
    }
}

/// As [`render`], of a struct or union that is not in the arena itself, such as one
/// [laid out in another order](relayout_layout::abi::StructShape::apply_arrangement); its members' types are. `None` for a mere
/// declaration.
pub fn render_aggregate(
    types: &TypeArena,
    aggregate: &Aggregate,
    options: &Options,
) -> Option<String> {
    if !aggregate.complete {
        return None;
    }
    let mut printer = print::LayoutPrinter::new(types, options);
    match aggregate.kind {
        AggregateKind::Union => printer.write_top_union(aggregate),
        AggregateKind::Struct | AggregateKind::Class => printer.write_top_struct(aggregate),
    }
    Some(printer.finish())
}

/// Adds spaces.
fn push_spaces(out: &mut String, count: usize) {
    const SPACES: &str = "                                                                ";
    let mut left = count;
    while left > 0 {
        let some = left.min(SPACES.len());
        out.push_str(&SPACES[..some]);
        left -= some;
    }
}
