//! The documents of what was recorded of a type, what relies on its layout, and what was not scored.

use relayout_advice::{AdviceDoubt, AdvisedType, GatheredType, MemberAccesses};
use relayout_patch::{OrderFact, OrderReliance};
use relayout_search::{LayoutAdvice, LineGroups, RankedLayout, SkippedCandidates};
use relayout_session::advise::{CompileTest, CompileVerdict, PatchOutcome, WrittenPatch};

use crate::documents::advise::evidence::{
    CompileDocument, DoubtDocument, FunctionDocument, LeftOutDocument, MemberAccessesDocument,
    OrderFactDocument, PhaseDocument,
};
use crate::words::advice::order::fact_words;

pub(super) fn accesses_document(accesses: &MemberAccesses) -> MemberAccessesDocument {
    let functions = accesses.functions.iter();
    MemberAccessesDocument {
        member: accesses.member.clone(),
        access: if accesses.is_store { "write" } else { "read" }.to_owned(),
        count: accesses.count,
        contexts: accesses.contexts,
        functions: functions
            .map(|(name, count)| FunctionDocument {
                function: name.clone(),
                count: *count,
            })
            .collect(),
    }
}

pub(super) fn phase_documents(advice: &LayoutAdvice) -> Vec<PhaseDocument> {
    let phases = advice.transfers_by_phase.iter();
    phases
        .map(|(offset, transfers)| PhaseDocument {
            offset: *offset,
            transfers: *transfers,
        })
        .collect()
}

pub(super) fn doubt_documents(
    advised: &AdvisedType<'_>,
    reviewed: Option<&RankedLayout>,
) -> Vec<DoubtDocument> {
    let doubts = match reviewed {
        Some(ranked) => advised.doubts_about(ranked),
        None => advised.doubts.clone(),
    };
    doubts.iter().map(doubt_document).collect()
}

fn doubt_document(doubt: &AdviceDoubt) -> DoubtDocument {
    DoubtDocument {
        kind: doubt.key().to_owned(),
        sentence: doubt.to_string(),
    }
}

pub(super) fn order_fact_document(fact: &OrderFact) -> OrderFactDocument {
    OrderFactDocument {
        kind: match &fact.reliance {
            OrderReliance::Range { .. } => "range",
            OrderReliance::DefinitionBorder { .. } => "border",
            OrderReliance::Assertion { .. } => "assertion",
            OrderReliance::OffsetLimit { .. } => "offset-limit",
            OrderReliance::FirstMember(_) => "first-member",
            OrderReliance::Initializer { .. } => "initializer",
            OrderReliance::Randomized => "randomized",
            OrderReliance::Undecided { .. } => OrderFactDocument::UNDECIDED,
        }
        .to_owned(),
        file: fact.place.file.clone(),
        line: fact.place.line,
        sentence: fact_words(fact),
        text: fact.text.clone(),
    }
}

pub(super) fn left_out_document(
    gathered: &GatheredType<'_>,
    left_out: &SkippedCandidates,
) -> LeftOutDocument {
    let groups = LineGroups::from_shape(&gathered.shape);
    LeftOutDocument {
        unrecorded: left_out.unrecorded,
        kept: left_out.kept,
        grouped: left_out.grouped,
        groups: groups.names().map(str::to_owned).collect(),
        order: left_out.order_rules,
        budget: left_out.budget,
        two_moves: left_out.two_moves,
        builds: left_out.builds,
    }
}

pub(super) fn compile_results(patch: &PatchOutcome) -> Option<Vec<CompileDocument>> {
    match patch {
        PatchOutcome::Refused(_) => None,
        PatchOutcome::Diff(written) => Some(compile_documents(written)),
    }
}

fn compile_documents(written: &WrittenPatch) -> Vec<CompileDocument> {
    written.compile_tests.iter().map(compile_document).collect()
}

fn compile_document(test: &CompileTest) -> CompileDocument {
    let (verdict, units, why) = match &test.verdict {
        CompileVerdict::Good { units, as_scored } => {
            let verdict = if *as_scored { "as-scored" } else { "good" };
            (verdict, units.clone(), None)
        }
        CompileVerdict::Unknown(why) => ("not-judged", Vec::new(), Some(why.clone())),
        CompileVerdict::Bad { unit, why } => ("bad", vec![unit.clone()], Some(why.clone())),
    };
    CompileDocument {
        configuration: test.configuration.clone(),
        verdict: verdict.to_owned(),
        sentence: test.sentence(),
        units,
        why,
    }
}
