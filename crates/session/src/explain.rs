//! The evidence for the type of a finding.

use std::collections::BTreeSet;

use relayout_contend::identify::{AddressNamer as _, SiteSource};
use relayout_contend::{Finding, Findings};
use relayout_resolve::{CountedOpinion, ObjectId, ResolvedObject};

use relayout_advice::{ResolvedNames, ResolvedProfile};
use relayout_messages::UserError;

/// A finding with the evidence for its type.
#[derive(Debug)]
pub struct ExplainedFinding<'a> {
    /// Finding.
    pub finding: &'a Finding,
    /// Its contended objects.
    pub objects: Vec<&'a ResolvedObject>,
    /// Instructions that accessed them.
    pub instructions: Vec<ExplainedInstruction>,
}

/// An instruction and the type that its operand has by the debug information.
#[derive(Debug)]
pub struct ExplainedInstruction {
    /// Address of the instruction.
    pub pc: u64,
    /// Function, file and line.
    pub source: SiteSource,
    /// Type of the operand, with the number of accesses.
    pub opinion: CountedOpinion,
}

/// Explains the finding of rank `rank`.
///
/// # Errors
/// No finding has that rank.
pub fn explain_finding<'a>(
    rank: u32,
    resolved: &ResolvedProfile<'a>,
    names: &ResolvedNames<'_, '_>,
    findings: &'a Findings,
) -> Result<ExplainedFinding<'a>, UserError> {
    let finding = findings
        .findings
        .iter()
        .find(|finding| finding.rank == rank)
        .ok_or_else(|| {
            UserError::input(format!(
                "there is no finding of rank {rank}: the profile has {}",
                findings.findings.len()
            ))
        })?;
    let objects = contended_objects(resolved, finding);
    let explanation = resolved.resolution.explain(resolved.profile, &objects);
    let objects = explanation.objects.iter();
    let instructions = explanation.opinions.into_iter();
    Ok(ExplainedFinding {
        finding,
        objects: objects.map(|id| resolved.resolution.object(*id)).collect(),
        instructions: instructions
            .map(|opinion| ExplainedInstruction {
                pc: resolved.profile.sites[opinion.site.index()].pc,
                source: names.source_of_site(opinion.site),
                opinion,
            })
            .collect(),
    })
}

/// Returns the objects of the finding's type or variable that a transfer hit.
fn contended_objects(resolved: &ResolvedProfile<'_>, finding: &Finding) -> BTreeSet<ObjectId> {
    let is_of_subject = |id: &ObjectId| {
        let object = resolved.resolution.object(*id);
        let is_named = match finding.subject.variable() {
            Some(name) => object.variable() == Some(name),
            None => object.variable().is_none(),
        };
        let type_name = finding.subject.type_name();
        let is_scalar = object.variable() == Some(type_name);
        is_named && (is_scalar || object.type_name == type_name)
    };
    resolved
        .profile
        .conflicts
        .iter()
        .filter_map(|row| resolved.resolution.object_id_at(row.run, row.addr))
        .filter(is_of_subject)
        .collect()
}
