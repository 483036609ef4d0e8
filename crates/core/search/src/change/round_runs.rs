//! Lets each run of objects that one context uses begin at a line, where the objects are elements
//! of an array.
//!
//! Threads that use 25 `int` each of an array share the lines at the borders of their runs. Runs of
//! 32 elements share none, and the elements stay as small as they are.

use super::{LayoutChange, LayoutProposal, StartingShape};

/// Proposes to round the borders of the runs to lines, and to pairs of lines where those disturb
/// each other.
pub(super) fn propose(ground: &StartingShape<'_>, visit: &mut dyn FnMut(LayoutProposal)) {
    if !ground.has_runs {
        return;
    }
    let aligns = [Some(ground.line), ground.paired.then_some(2 * ground.line)];
    for to in aligns.into_iter().flatten() {
        let mut arrangement = ground.shape.current_arrangement();
        arrangement.run_align = to;
        visit(LayoutProposal {
            changes: LayoutChange::leading_to(ground.shape, &arrangement),
            arrangement,
            pads: Vec::new(),
        });
    }
}
