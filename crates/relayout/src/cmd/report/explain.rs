//! `relayout report --explain RANK`: why a finding is taken for what it is.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use relayout_contend::identify::{Identify as _, Source};
use relayout_contend::{Finding, Findings};
use relayout_resolve::evidence::Trust;
use relayout_resolve::{Explanation, Heard, Object, ObjectId, ObjectKind, Says};
use serde::Serialize;

use crate::identify::Identified;
use crate::input::Input;

/// The document's name and version.
const SCHEMA: &str = "relayout/explain/1";
/// Objects and instructions that the text lists.
const SHOWN: usize = 10;

/// A rank that no finding has; exit code 2.
#[derive(Debug, thiserror::Error)]
#[error("there is no finding of rank {rank}: the profile has {findings}")]
pub struct NoSuchRank {
    rank: u32,
    findings: usize,
}

#[derive(Serialize)]
struct Document<'a> {
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
pub fn render(
    rank: u32,
    json: bool,
    input: &Input<'_>,
    identified: &Identified<'_, '_>,
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
        .explain(input.profile, &objects(input, finding));
    if json {
        let mut text =
            serde_json::to_string_pretty(&document(finding, &explained, input, identified))?;
        text.push('\n');
        return Ok(text);
    }
    Ok(text(finding, &explained, input, identified))
}

/// The objects of the finding's type or variable that something moved.
fn objects(input: &Input<'_>, finding: &Finding) -> BTreeSet<ObjectId> {
    let is_one = |id: &ObjectId| {
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
        .filter(is_one)
        .collect()
}

fn document<'a>(
    finding: &'a Finding,
    explained: &'a Explanation,
    input: &Input<'a>,
    identified: &Identified<'_, '_>,
) -> Document<'a> {
    let object = |id: &ObjectId| {
        let object = input.resolution.object(*id);
        let (memory, owner) = memory(object);
        ObjectDocument {
            run: object.run,
            base: format!("{:#x}", object.base),
            bytes: object.bytes,
            memory,
            owner,
            confidence: object.confidence,
            support: object.votes.support,
            against: object.votes.against,
        }
    };
    let instruction = |heard: &'a Heard| {
        let source = identified.source(heard.site);
        InstructionDocument {
            pc: format!("{:#x}", input.profile.sites[heard.site as usize].pc),
            function: source.function,
            inlined: source.inlined,
            file: source.file,
            line: source.line,
            access: if heard.writes { "write" } else { "read" },
            accesses: heard.accesses,
            says: says(heard.opinion.says),
            type_name: &heard.opinion.type_name,
            offset: heard.opinion.offset,
            trust: heard.opinion.trust.map(trust),
        }
    };
    Document {
        schema: SCHEMA,
        rank: finding.rank,
        type_name: finding.subject.type_name(),
        variable: finding.subject.variable(),
        objects_total: explained.objects.len(),
        objects: explained.objects.iter().map(object).collect(),
        instructions: explained.heard.iter().map(instruction).collect(),
    }
}

fn text(
    finding: &Finding,
    explained: &Explanation,
    input: &Input<'_>,
    identified: &Identified<'_, '_>,
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
    for id in explained.objects.iter().take(SHOWN) {
        let object = input.resolution.object(*id);
        let _ = writeln!(text, "  {:#x}  {}", object.base, why(object));
    }
    rest(&mut text, explained.objects.len(), "objects");
    for kind in [Says::Same, Says::Other, Says::Scalar, Says::Nothing] {
        let all = explained.heard.iter().filter(|h| h.opinion.says == kind);
        let all: Vec<&Heard> = all.collect();
        if all.is_empty() {
            continue;
        }
        let accesses: u64 = all.iter().map(|h| h.accesses).sum();
        let _ = writeln!(
            text,
            "{} with {accesses} accesses {}",
            counted(all.len(), "instruction"),
            words(kind)
        );
        for heard in all.iter().take(SHOWN) {
            let source = identified.source(heard.site);
            let _ = writeln!(
                text,
                "  {:>10}  {}{}",
                heard.accesses,
                place(&source),
                opinion(heard)
            );
        }
        rest(&mut text, all.len(), "instructions");
    }
    text
}

fn counted(number: usize, what: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{number} {what}{plural}")
}

fn rest(text: &mut String, all: usize, what: &str) {
    if all > SHOWN {
        let _ = writeln!(text, "  and {} more {what}", all - SHOWN);
    }
}

/// What an object's type rests on.
fn why(object: &Object) -> String {
    let (memory, owner) = memory(object);
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
fn memory(object: &Object) -> (&'static str, &str) {
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

fn place(source: &Source) -> String {
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

fn opinion(heard: &Heard) -> String {
    let opinion = &heard.opinion;
    let Some(sure) = opinion.trust else {
        return String::new();
    };
    format!(
        ": {} +{}, {}",
        opinion.type_name,
        opinion.offset,
        trust(sure)
    )
}

fn says(says: Says) -> &'static str {
    match says {
        Says::Same => "same",
        Says::Other => "other",
        Says::Scalar => "number",
        Says::Nothing => "nothing",
    }
}

fn words(says: Says) -> &'static str {
    match says {
        Says::Same => "say the same by themselves",
        Says::Other => "say that it is something else, or elsewhere",
        Says::Scalar => "say no more than a number's type",
        Says::Nothing => "say nothing",
    }
}

fn trust(trust: Trust) -> &'static str {
    match trust {
        Trust::Stated => "stated",
        Trust::Followed => "followed",
        Trust::Guessed => "guessed",
    }
}
