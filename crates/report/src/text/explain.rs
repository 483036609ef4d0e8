//! Text of `report --explain RANK`: the evidence for the type of a finding.

use std::fmt::Write as _;

use relayout_contend::identify::SiteSource;
use relayout_resolve::{OpinionVerdict, ResolvedObject};
use relayout_session::{ExplainedFinding, ExplainedInstruction};

use crate::documents::explain::{memory_kind, trust_key};
use crate::words::counted;

/// Objects and instructions that the text lists.
const SHOWN_MAX: usize = 10;

/// Returns the text of an explained finding.
pub fn explain_text(explained: &ExplainedFinding<'_>) -> String {
    let finding = explained.finding;
    let mut text = String::new();
    let variable = finding.subject.variable().map(|name| format!(" {name}"));
    let _ = writeln!(
        text,
        "#{} {}{}: {}",
        finding.rank,
        finding.subject.type_name(),
        variable.unwrap_or_default(),
        counted(explained.objects.len() as u64, "object")
    );
    for object in explained.objects.iter().take(SHOWN_MAX) {
        let _ = writeln!(text, "  {:#x}  {}", object.base, type_evidence(object));
    }
    push_rest(&mut text, explained.objects.len(), "objects");
    for verdict in [
        OpinionVerdict::Same,
        OpinionVerdict::Other,
        OpinionVerdict::Scalar,
        OpinionVerdict::Nothing,
    ] {
        push_instructions(&mut text, explained, verdict);
    }
    text
}

fn push_instructions(text: &mut String, explained: &ExplainedFinding<'_>, verdict: OpinionVerdict) {
    let has_verdict =
        |instruction: &&ExplainedInstruction| instruction.opinion.opinion.verdict == verdict;
    let instructions = explained.instructions.iter().filter(has_verdict);
    let instructions: Vec<&ExplainedInstruction> = instructions.collect();
    if instructions.is_empty() {
        return;
    }
    let accesses = { instructions.iter() }.map(|instruction| instruction.opinion.accesses);
    let _ = writeln!(
        text,
        "{} with {} accesses {}",
        counted(instructions.len() as u64, "instruction"),
        accesses.sum::<u64>(),
        says_words(verdict)
    );
    for instruction in instructions.iter().take(SHOWN_MAX) {
        let _ = writeln!(
            text,
            "  {:>10}  {}{}",
            instruction.opinion.accesses,
            source_words(&instruction.source),
            opinion_words(instruction)
        );
    }
    push_rest(text, instructions.len(), "instructions");
}

fn push_rest(text: &mut String, count: usize, noun: &str) {
    if count > SHOWN_MAX {
        let _ = writeln!(text, "  and {} more {noun}", count - SHOWN_MAX);
    }
}

/// Returns the evidence for the type of an object.
fn type_evidence(object: &ResolvedObject) -> String {
    let (memory, owner) = memory_kind(object);
    let owner = if owner.is_empty() {
        String::new()
    } else {
        format!(" {owner}")
    };
    if object.votes.support == 0.0 {
        return format!("{memory}{owner}: this alone tells the type");
    }
    format!(
        "{memory}{owner}: elected, {:.0} for and {:.0} against, confidence {:.2}",
        object.votes.support, object.votes.against, object.confidence
    )
}

fn source_words(source: &SiteSource) -> String {
    let function = source.function.as_deref().unwrap_or("?");
    let inlined = source.inlined.as_deref().map(|name| format!(" > {name}"));
    let line = { source.file.as_deref().zip(source.line) }
        .map(|(file, line)| format!(" ({}:{line})", file.rsplit('/').next().unwrap_or(file)));
    format!(
        "{function}{}{}",
        inlined.unwrap_or_default(),
        line.unwrap_or_default()
    )
}

fn opinion_words(instruction: &ExplainedInstruction) -> String {
    let opinion = &instruction.opinion.opinion;
    let Some(trusted) = opinion.trust else {
        return String::new();
    };
    format!(
        ": {} +{}, {}",
        opinion.type_name,
        opinion.offset,
        trust_key(trusted)
    )
}

fn says_words(says: OpinionVerdict) -> &'static str {
    match says {
        OpinionVerdict::Same => "say the same by themselves",
        OpinionVerdict::Other => "say that it is something else, or elsewhere",
        OpinionVerdict::Scalar => "say no more than a number's type",
        OpinionVerdict::Nothing => "say nothing",
    }
}
