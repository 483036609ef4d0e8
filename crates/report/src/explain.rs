//! `report --explain RANK`: the evidence for the type of a finding, as JSON and as text.

use std::fmt::Write as _;

use relayout_contend::identify::SiteSource;
use relayout_resolve::evidence::EvidenceTrust;
use relayout_resolve::{ObjectKind, OpinionVerdict, ResolvedObject};
use relayout_session::{ExplainedFinding, ExplainedInstruction};
use schemars::JsonSchema;
use serde::Serialize;

use crate::document::Document;
use crate::words::counted;

/// Objects and instructions that the text lists.
const SHOWN_MAX: usize = 10;

/// The document of `report --explain RANK --json`.
#[derive(Serialize, JsonSchema)]
pub struct ExplainDocument<'a> {
    /// Name and version of the document.
    schema: &'static str,
    /// Rank of the finding.
    rank: u32,
    /// Type of the finding.
    #[serde(rename = "type")]
    type_name: &'a str,
    /// Variable of the finding.
    variable: Option<&'a str>,
    /// Number of objects.
    objects_total: usize,
    /// Contended objects of the finding.
    objects: Vec<ObjectDocument<'a>>,
    /// Instructions that accessed them.
    instructions: Vec<InstructionDocument<'a>>,
}

impl Document for ExplainDocument<'_> {
    const SCHEMA: &'static str = "relayout/explain/1";
}

#[derive(Serialize, JsonSchema)]
struct ObjectDocument<'a> {
    /// Recording.
    run: u16,
    /// Address.
    base: String,
    /// Size in bytes.
    bytes: u64,
    /// Kind of memory.
    memory: &'static str,
    /// Variable, slab cache, task or allocation.
    owner: &'a str,
    /// Confidence in the type, from 0 to 1.
    confidence: f32,
    /// Votes for the type.
    support: f64,
    /// Votes for other types.
    against: f64,
}

#[derive(Serialize, JsonSchema)]
struct InstructionDocument<'a> {
    /// Address of the instruction.
    pc: String,
    /// Function that the code belongs to; null if unknown.
    function: Option<&'a str>,
    /// Functions inlined there, from the outside inwards; null where none was.
    inlined: Option<&'a str>,
    /// Source file, as the debug information names it.
    file: Option<&'a str>,
    /// 1-based line in `file`.
    line: Option<u32>,
    /// `read` or `write`.
    access: &'static str,
    /// Number of accesses.
    accesses: u64,
    /// `same`, `other`, `number` or `nothing`.
    says: &'static str,
    /// Type of the operand by the debug information.
    #[serde(rename = "type")]
    type_name: &'a str,
    /// Offset in that type.
    offset: i64,
    /// `stated`, `followed` or `guessed`.
    trust: Option<&'static str>,
}

/// Returns the document of an explained finding.
pub fn explain_document<'a>(explained: &'a ExplainedFinding<'_>) -> ExplainDocument<'a> {
    let finding = explained.finding;
    ExplainDocument {
        schema: ExplainDocument::SCHEMA,
        rank: finding.rank,
        type_name: finding.subject.type_name(),
        variable: finding.subject.variable(),
        objects_total: explained.objects.len(),
        objects: { explained.objects.iter() }
            .map(|object| object_document(object))
            .collect(),
        instructions: explained
            .instructions
            .iter()
            .map(instruction_document)
            .collect(),
    }
}

fn object_document(object: &ResolvedObject) -> ObjectDocument<'_> {
    let (memory, owner) = memory_kind(object);
    ObjectDocument {
        run: object.run.0,
        base: format!("{:#x}", object.base),
        bytes: object.bytes,
        memory,
        owner,
        confidence: object.confidence,
        support: object.votes.support,
        against: object.votes.against,
    }
}

fn instruction_document(instruction: &ExplainedInstruction) -> InstructionDocument<'_> {
    let counted = &instruction.opinion;
    let source = &instruction.source;
    InstructionDocument {
        pc: format!("{:#x}", instruction.pc),
        function: source.function.as_deref(),
        inlined: source.inlined.as_deref(),
        file: source.file.as_deref(),
        line: source.line,
        access: if counted.writes { "write" } else { "read" },
        accesses: counted.accesses,
        says: says_key(counted.opinion.verdict),
        type_name: &counted.opinion.type_name,
        offset: counted.opinion.offset,
        trust: counted.opinion.trust.map(trust_key),
    }
}

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

/// Returns the kind of memory, and its name there.
fn memory_kind(object: &ResolvedObject) -> (&'static str, &str) {
    match &object.kind {
        ObjectKind::Global { symbol } => ("variable", symbol),
        ObjectKind::PerCpu { symbol, .. } => ("per-cpu variable", symbol),
        ObjectKind::Slab { cache } => ("slab cache", cache),
        ObjectKind::Page => ("page descriptors", ""),
        ObjectKind::Stack {
            variable: Some(variable),
            ..
        } => ("local variable", &variable.name),
        ObjectKind::Stack { task, .. } => ("stack", task),
        ObjectKind::Heap { site, .. } => ("allocation", site),
        ObjectKind::ThreadLocal { symbol, .. } => ("thread-local variable", symbol),
        ObjectKind::Named => ("named by the program", ""),
        ObjectKind::Memory => ("memory that nothing describes", ""),
    }
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

fn says_key(says: OpinionVerdict) -> &'static str {
    match says {
        OpinionVerdict::Same => "same",
        OpinionVerdict::Other => "other",
        OpinionVerdict::Scalar => "number",
        OpinionVerdict::Nothing => "nothing",
    }
}

fn says_words(says: OpinionVerdict) -> &'static str {
    match says {
        OpinionVerdict::Same => "say the same by themselves",
        OpinionVerdict::Other => "say that it is something else, or elsewhere",
        OpinionVerdict::Scalar => "say no more than a number's type",
        OpinionVerdict::Nothing => "say nothing",
    }
}

fn trust_key(trust: EvidenceTrust) -> &'static str {
    match trust {
        EvidenceTrust::Stated => "stated",
        EvidenceTrust::Followed => "followed",
        EvidenceTrust::Guessed => "guessed",
    }
}
