//! `relayout report --explain RANK`: why a finding is taken for what it is.

use relayout_profile::RunId;
use std::collections::BTreeSet;
use std::fmt::Write as _;

use relayout_contend::identify::{AddressNamer as _, SiteSource};
use relayout_contend::{Finding, Findings};
use relayout_resolve::evidence::EvidenceTrust;
use relayout_resolve::{
    CountedOpinion, ObjectId, ObjectKind, OpinionVerdict, ResolvedObject, TypeExplanation,
};
use serde::Serialize;

use crate::identify::ResolvedNames;
use crate::resolved::ResolvedProfile;

/// The document's name and version.
const SCHEMA: &str = "relayout/explain/1";
/// Objects and instructions that the text lists.
const SHOWN_MAX: usize = 10;

/// A rank that no finding has; exit code 2.
#[derive(Debug, thiserror::Error)]
#[error("there is no finding of rank {rank}: the profile has {findings}")]
pub struct NoSuchRank {
    rank: u32,
    findings: usize,
}

#[derive(Serialize)]
struct ExplainDocument<'a> {
    schema: &'static str,
    rank: u32,
    #[serde(rename = "type")]
    type_name: &'a str,
    variable: Option<&'a str>,
    objects_total: usize,
    objects: Vec<ObjectDocument<'a>>,
    instructions: Vec<InstructionDocument<'a>>,
}

#[derive(Serialize)]
struct ObjectDocument<'a> {
    run: u16,
    base: String,
    bytes: u64,
    memory: &'static str,
    owner: &'a str,
    confidence: f32,
    support: f64,
    against: f64,
}

#[derive(Serialize)]
struct InstructionDocument<'a> {
    pc: String,
    function: Option<String>,
    inlined: Option<String>,
    file: Option<String>,
    line: Option<u32>,
    access: &'static str,
    accesses: u64,
    says: &'static str,
    #[serde(rename = "type")]
    type_name: &'a str,
    offset: i64,
    trust: Option<&'static str>,
}

/// What is to be said of the finding, as text or as JSON.
///
/// # Errors
/// No finding has that rank.
pub fn render_explanation(
    rank: u32,
    json: bool,
    input: &ResolvedProfile<'_>,
    identified: &ResolvedNames<'_, '_>,
    findings: &Findings,
) -> anyhow::Result<String> {
    let missing = NoSuchRank {
        rank,
        findings: findings.findings.len(),
    };
    let finding = { findings.findings.iter() }
        .find(|finding| finding.rank == rank)
        .ok_or(missing)?;
    let explained = input
        .resolution
        .explain(input.profile, &contended_objects(input, finding));
    if json {
        let mut text = serde_json::to_string_pretty(&explain_document(
            finding, &explained, input, identified,
        ))?;
        text.push('\n');
        return Ok(text);
    }
    Ok(explain_text(finding, &explained, input, identified))
}

/// The objects of the finding's type or variable that something moved.
fn contended_objects(input: &ResolvedProfile<'_>, finding: &Finding) -> BTreeSet<ObjectId> {
    let is_of_subject = |id: &ObjectId| {
        let object = input.resolution.object(*id);
        let named = match finding.subject.variable() {
            Some(name) => object.variable() == Some(name),
            None => object.variable().is_none(),
        };
        let type_name = finding.subject.type_name();
        let scalar = object.variable() == Some(type_name);
        named && (scalar || object.type_name == type_name)
    };
    let rows = input.profile.conflicts.iter();
    rows.filter_map(|row| input.resolution.object_id_at(row.run, row.addr))
        .filter(is_of_subject)
        .collect()
}

fn explain_document<'a>(
    finding: &'a Finding,
    explained: &'a TypeExplanation,
    input: &ResolvedProfile<'a>,
    identified: &ResolvedNames<'_, '_>,
) -> ExplainDocument<'a> {
    let object = |id: &ObjectId| {
        let object = input.resolution.object(*id);
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
    };
    let instruction = |heard: &'a CountedOpinion| {
        let source = identified.source_of_site(heard.site);
        InstructionDocument {
            pc: format!("{:#x}", input.profile.sites[heard.site.index()].pc),
            function: source.function,
            inlined: source.inlined,
            file: source.file,
            line: source.line,
            access: if heard.writes { "write" } else { "read" },
            accesses: heard.accesses,
            says: says_key(heard.opinion.verdict),
            type_name: &heard.opinion.type_name,
            offset: heard.opinion.offset,
            trust: heard.opinion.trust.map(trust_key),
        }
    };
    ExplainDocument {
        schema: SCHEMA,
        rank: finding.rank,
        type_name: finding.subject.type_name(),
        variable: finding.subject.variable(),
        objects_total: explained.objects.len(),
        objects: explained.objects.iter().map(object).collect(),
        instructions: explained.opinions.iter().map(instruction).collect(),
    }
}

fn explain_text(
    finding: &Finding,
    explained: &TypeExplanation,
    input: &ResolvedProfile<'_>,
    identified: &ResolvedNames<'_, '_>,
) -> String {
    let mut text = String::new();
    let variable = finding.subject.variable().map(|name| format!(" {name}"));
    let _ = writeln!(
        text,
        "#{} {}{}: {}",
        finding.rank,
        finding.subject.type_name(),
        variable.unwrap_or_default(),
        counted(explained.objects.len(), "object")
    );
    for id in explained.objects.iter().take(SHOWN_MAX) {
        let object = input.resolution.object(*id);
        let _ = writeln!(text, "  {:#x}  {}", object.base, type_evidence(object));
    }
    push_rest(&mut text, explained.objects.len(), "objects");
    for says in [
        OpinionVerdict::Same,
        OpinionVerdict::Other,
        OpinionVerdict::Scalar,
        OpinionVerdict::Nothing,
    ] {
        let instructions = explained
            .opinions
            .iter()
            .filter(|heard| heard.opinion.verdict == says);
        let instructions: Vec<&CountedOpinion> = instructions.collect();
        if instructions.is_empty() {
            continue;
        }
        let accesses: u64 = instructions.iter().map(|heard| heard.accesses).sum();
        let _ = writeln!(
            text,
            "{} with {accesses} accesses {}",
            counted(instructions.len(), "instruction"),
            says_words(says)
        );
        for heard in instructions.iter().take(SHOWN_MAX) {
            let source = identified.source_of_site(heard.site);
            let _ = writeln!(
                text,
                "  {:>10}  {}{}",
                heard.accesses,
                source_words(&source),
                opinion_words(heard)
            );
        }
        push_rest(&mut text, instructions.len(), "instructions");
    }
    text
}

fn counted(number: usize, noun: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{number} {noun}{plural}")
}

fn push_rest(text: &mut String, count: usize, noun: &str) {
    if count > SHOWN_MAX {
        let _ = writeln!(text, "  and {} more {noun}", count - SHOWN_MAX);
    }
}

/// What an object's type rests on.
fn type_evidence(object: &ResolvedObject) -> String {
    let (memory, owner) = memory_kind(object);
    let owner = if owner.is_empty() {
        String::new()
    } else {
        format!(" {owner}")
    };
    if object.votes.support == 0.0 {
        return format!("{memory}{owner}: certain by that");
    }
    format!(
        "{memory}{owner}: elected, {:.0} for and {:.0} against, confidence {:.2}",
        object.votes.support, object.votes.against, object.confidence
    )
}

/// The kind of memory, and what names it there.
fn memory_kind(object: &ResolvedObject) -> (&'static str, &str) {
    match &object.kind {
        ObjectKind::Global { symbol } => ("variable", symbol),
        ObjectKind::PerCpu { symbol, .. } => ("per-cpu variable", symbol),
        ObjectKind::Slab { cache } => ("slab cache", cache),
        ObjectKind::Page => ("page descriptors", ""),
        ObjectKind::Stack { task } => ("stack", task),
        ObjectKind::Heap { site } => ("allocation", site),
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

fn opinion_words(heard: &CountedOpinion) -> String {
    let opinion = &heard.opinion;
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
