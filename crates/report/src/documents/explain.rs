//! `report --explain RANK`: the evidence for the type of a finding, as JSON.

use relayout_resolve::evidence::EvidenceTrust;
use relayout_resolve::{ObjectKind, OpinionVerdict, ResolvedObject};
use relayout_session::{ExplainedFinding, ExplainedInstruction};
use schemars::JsonSchema;
use serde::Serialize;

use crate::documents::Document;

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

/// Returns the kind of memory, and its name there.
pub(crate) fn memory_kind(object: &ResolvedObject) -> (&'static str, &str) {
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

fn says_key(says: OpinionVerdict) -> &'static str {
    match says {
        OpinionVerdict::Same => "same",
        OpinionVerdict::Other => "other",
        OpinionVerdict::Scalar => "number",
        OpinionVerdict::Nothing => "nothing",
    }
}

pub(crate) fn trust_key(trust: EvidenceTrust) -> &'static str {
    match trust {
        EvidenceTrust::Stated => "stated",
        EvidenceTrust::Followed => "followed",
        EvidenceTrust::Guessed => "guessed",
    }
}
