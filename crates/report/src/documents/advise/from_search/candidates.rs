//! The documents of layouts, made of their scores.

use relayout_advice::{AdvisedType, PoolLayout, ProposedLayout, SimulatedChange};
use relayout_contend::CoherenceTally;
use relayout_contend::throughput::{GainRatio, ThroughputGain};
use relayout_layout::abi::StructShape;
use relayout_search::{
    ChangeInterval, EditSize, GroupCrossing, LayoutAdvice, LineGroups, RankedLayout, ScoredLayout,
    change,
};
use relayout_session::advise::{EditedCandidate, PatchOutcome, WrittenPatch};

use crate::documents::advise::candidate::{
    CandidateDocument, ChangePercentDocument, ContextGainDocument, EditsDocument, GainDocument,
    GroupCrossingDocument, IntervalDocument, LayoutDocument, PerOperationDocument,
    PlaceChangesDocument, PlacedMemberDocument, RunGainDocument,
};
use crate::documents::advise::from_search::evidence::doubt_documents;
use crate::documents::advise::from_search::pool::scenario_documents;
use crate::documents::advise::simulated_curve::SimulatedCurveDocument;
use crate::words::advice::doubts::part_sentence;
use crate::words::advice::line_changes::line_sentences;
use crate::words::advice::memory::own_allocator_sentence;
use crate::words::advice::places::place_sentence;
use crate::words::advice::{PoolView, change_words};

pub(super) fn given_documents(
    advised: &AdvisedType<'_>,
    view: &PoolView<'_>,
    patch: Option<&PatchOutcome>,
) -> Vec<CandidateDocument> {
    let given = view.pool.advice.user_layouts.iter().enumerate();
    let documents = given.map(|(index, ranked)| CandidateDocument {
        elsewhere: Some(scenario_documents(view.pool, index)),
        doubts: doubt_documents(advised, Some(ranked)),
        ..candidate_document(view, ranked)
    });
    let mut documents: Vec<CandidateDocument> = documents.collect();
    for (index, document) in documents.iter_mut().enumerate() {
        document.set_simulated(advised, view, PoolLayout::Given(index));
    }
    if let Some(PatchOutcome::Diff(written)) = patch
        && let PoolLayout::Given(index) = written.edited.layout
        && let Some(document) = documents.get_mut(index)
    {
        document.set_patch(&written.edited);
    }
    documents
}

/// Returns the candidates worth showing, and the one that the patch makes.
pub(super) fn candidate_documents(
    advised: &AdvisedType<'_>,
    view: &PoolView<'_>,
    patch: Option<&PatchOutcome>,
    top: usize,
) -> Vec<CandidateDocument> {
    let pool = view.pool;
    let shown = pool.advice.shown_candidates(top);
    let mut candidates: Vec<CandidateDocument> = { shown.iter().enumerate() }
        .map(|(place, index)| {
            let ranked = &pool.advice.candidates[*index];
            let listed_index = pool.user_layouts.len() + place;
            let mut document = CandidateDocument {
                elsewhere: Some(scenario_documents(pool, listed_index)),
                needs_allocation: view.gathered.calls_to_change(ranked),
                number: Some(place + 1),
                doubts: doubt_documents(advised, Some(ranked)),
                ..candidate_document(view, ranked)
            };
            document.set_simulated(advised, view, PoolLayout::Candidate(*index));
            document
        })
        .collect();
    if let Some(PatchOutcome::Diff(written)) = patch
        && written.edited.is_guarded != pool.statements.is_empty()
    {
        add_patch_document(advised, view, written, &shown, &mut candidates);
    }
    candidates
}

/// Adds the patch to its candidate, which comes last if it is not shown.
fn add_patch_document(
    advised: &AdvisedType<'_>,
    view: &PoolView<'_>,
    written: &WrittenPatch,
    shown: &[usize],
    candidates: &mut Vec<CandidateDocument>,
) {
    let edited = &written.edited;
    let PoolLayout::Candidate(patched_index) = edited.layout else {
        return;
    };
    let mut shown = shown.iter();
    if let Some(place) = shown.position(|index| *index == patched_index) {
        candidates[place].set_patch(edited);
        return;
    }
    if let Some(ranked) = edited.layout.ranked(view.pool) {
        let mut document = candidate_document(view, ranked);
        document.doubts = doubt_documents(advised, Some(ranked));
        document.set_patch(edited);
        candidates.push(document);
    }
}

impl CandidateDocument {
    fn set_simulated(
        &mut self,
        advised: &AdvisedType<'_>,
        view: &PoolView<'_>,
        layout: PoolLayout,
    ) {
        let proposed = ProposedLayout {
            layout,
            is_guarded: !view.pool.statements.is_empty(),
        };
        match advised.simulated_layout(proposed) {
            Some(Ok(change)) => self.set_curve(change),
            Some(Err(refused)) => self.not_simulated = Some(refused.to_string()),
            None => {}
        }
    }

    /// Sets what the layout brings in simulated time.
    pub(super) fn set_curve(&mut self, change: &SimulatedChange) {
        let name = match self.number {
            Some(number) => format!("found {number}"),
            None => self.given_name().to_owned(),
        };
        let curve = SimulatedCurveDocument::new(&name, change);
        self.simulated = curve.deciding_ratio();
        self.predicted_curve = Some(curve);
    }

    fn set_patch(&mut self, edited: &EditedCandidate) {
        self.patch = Some(edited.diff.clone());
        self.edits.lines = Some(edited.changed_lines());
    }
}

pub(super) fn candidate_document(view: &PoolView<'_>, ranked: &RankedLayout) -> CandidateDocument {
    let (shape, advice) = (&view.gathered.shape, view.pool.advice);
    let edit = EditSize::new(advice, ranked);
    CandidateDocument {
        edits: EditsDocument {
            members: edit.members,
            attributes: edit.attributes,
            lines: None,
            grown_bytes: edit.grown_bytes,
        },
        change_percent: change_percent_document(advice, ranked),
        layout: layout_document(shape, ranked),
        name: ranked.name.clone(),
        number: None,
        edit: change_words(view, ranked),
        line_changes: line_sentences(view, ranked),
        parts_sentence: part_sentence(ranked),
        own_allocation: own_allocator_sentence(view.gathered, &advice.current, ranked),
        doubts: Vec::new(),
        changes: change::describe_edits(&ranked.changes, shape),
        moved: ranked.moved,
        needs_allocation: Vec::new(),
        pareto: ranked.pareto,
        unjudged: ranked.unjudged,
        group_crossings: group_crossing_documents(shape, ranked),
        predicted_gain: ranked.gain.as_ref().map(gain_document),
        predicted_curve: None,
        simulated: None,
        not_simulated: None,
        transfers_change: ranked.interval.map(interval_document),
        places: place_changes_document(&advice.current, ranked),
        worst_change: ranked.parts.worst(),
        elsewhere: None,
        run_growth_elements: { ranked.layout.run_align > 1 }.then_some(ranked.run_growth),
        patch: None,
    }
}

pub(super) fn layout_document(shape: &StructShape, scored: &ScoredLayout) -> LayoutDocument {
    let tally = &scored.tally;
    let order = scored.arrangement.order.iter();
    LayoutDocument {
        size: scored.layout.size,
        align: scored.layout.align,
        transfers: tally.transfers(),
        transfers_as_recorded: scored.placed.as_recorded.transfers(),
        transfers_by_place: { scored.placed.by_place.iter() }
            .map(CoherenceTally::transfers)
            .collect(),
        places_are_recorded: scored.placed.are_recorded,
        read_transfers: tally.read_transfers,
        write_transfers: tally.write_transfers,
        upgrades: tally.upgrades,
        false_first_touch: tally.false_first_touch,
        false_lifetime: tally.false_lifetime,
        pair_transfers: scored.pair_transfers,
        per_operation: scored.per_operation.map(|events| PerOperationDocument {
            transfers: events.transfers(),
            read_transfers: events.read_transfers,
            write_transfers: events.write_transfers,
            upgrades: events.upgrades,
            false_first_touch: events.false_first_touch,
            false_lifetime: events.false_lifetime,
        }),
        bytes_per_object: scored.memory.bytes_per_object,
        slab_class: scored.memory.cache.clone(),
        layout: order
            .map(|&atom| PlacedMemberDocument {
                name: shape.atoms[atom].name.clone(),
                offset: scored.layout.places[atom].offset,
                size: shape.atoms[atom].size,
            })
            .collect(),
    }
}

fn place_changes_document(
    today: &ScoredLayout,
    then: &ScoredLayout,
) -> Option<PlaceChangesDocument> {
    let places = then.place_changes(today)?;
    Some(PlaceChangesDocument {
        count: places.count,
        mean_change: places.mean,
        worst_change: places.worst,
        without_gain: places.without_gain,
        are_recorded: places.are_recorded,
        sentence: place_sentence(today, then)?,
    })
}

fn group_crossing_documents(
    shape: &StructShape,
    ranked: &RankedLayout,
) -> Vec<GroupCrossingDocument> {
    let crossings = LineGroups::from_shape(shape).crossings(shape, &ranked.arrangement.order);
    let document = |crossing: GroupCrossing| GroupCrossingDocument {
        member: crossing.member,
        group: crossing.group,
        leaves: crossing.leaves,
    };
    crossings.into_iter().map(document).collect()
}

fn change_percent_document(advice: &LayoutAdvice, ranked: &RankedLayout) -> ChangePercentDocument {
    let percent = |ratio: f64| ratio * 100.0;
    let (before, after) = (advice.current.cost, ranked.cost);
    ChangePercentDocument {
        value: match before {
            0 => 0.0,
            _ => percent(after as f64 / before as f64 - 1.0),
        },
        low: ranked.interval.map(|interval| percent(interval.low)),
        high: ranked.interval.map(|interval| percent(interval.high)),
    }
}

pub(super) fn interval_document(interval: ChangeInterval) -> IntervalDocument {
    IntervalDocument {
        ratio: interval.change,
        low: interval.low,
        high: interval.high,
    }
}

fn gain_document(gain: &ThroughputGain) -> GainDocument {
    let contexts = gain.by_context.iter();
    let runs = gain.by_run.iter();
    GainDocument {
        ratio: ratio_document(&gain.ratio),
        cpus: gain.contexts,
        contexts: contexts
            .map(|(context, ratio)| ContextGainDocument {
                ratio: ratio_document(ratio),
                context: context.0,
            })
            .collect(),
        runs: runs
            .map(|(run, ratio)| RunGainDocument {
                run: run.0,
                ratio: *ratio,
            })
            .collect(),
        unstable: gain.is_unstable(),
    }
}

fn ratio_document(ratio: &GainRatio) -> IntervalDocument {
    IntervalDocument {
        ratio: ratio.value,
        low: ratio.low,
        high: ratio.high,
    }
}
