//! Types with their members moved into holes.

use relayout_layout::abi::{AbiEngine, PackingMove};
use relayout_layout::{Aggregate, AggregateKind, TypeArena, TypeId};

/// A struct with members moved into its holes.
#[derive(Clone, Debug)]
pub struct PackedType {
    /// Moves in order.
    pub steps: Vec<PackedStep>,
}

/// A move, and the struct after it.
#[derive(Clone, Debug)]
pub struct PackedStep {
    /// The move.
    pub moved: PackingMove,
    /// The struct.
    pub aggregate: Aggregate,
}

impl PackedType {
    /// Moves members of a struct or class into holes; `None` if none can be moved, and for other types.
    pub fn pack(abi: &AbiEngine<'_>, types: &TypeArena, id: TypeId) -> Option<Self> {
        let aggregate = types.aggregate(id)?;
        if aggregate.kind == AggregateKind::Union || !aggregate.complete {
            return None;
        }
        let shape = abi.shape(aggregate).ok()?;
        let steps = shape.pack().into_iter().map(|moved| {
            let layout = shape.lay_out(&moved.arrangement);
            let aggregate = shape.apply_arrangement(aggregate, &moved.arrangement, &layout);
            PackedStep { moved, aggregate }
        });
        let steps: Vec<PackedStep> = steps.collect();
        (!steps.is_empty()).then_some(Self { steps })
    }

    /// The struct after all moves.
    pub fn last(&self) -> &Aggregate {
        // No packed type is made without a step.
        &self.steps[self.steps.len() - 1].aggregate
    }
}
