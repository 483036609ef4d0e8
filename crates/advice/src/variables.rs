//! Advice on variables without members: numbers on a stack or in an image. No layout can be searched
//! for them, so the remedies of their findings are the advice, as in a report.
//!
//! Example: `long hits, misses` of a function, which one thread each counts up, need lines of their own.

use relayout_contend::finding::FindingSubject;
use relayout_contend::{DeclaringFunction, Finding};

use super::objects::ContendedType;
use super::subject::{AdvisedSubject, LocalDeclaration};
use crate::{ResolvedNames, ResolvedProfile, rank_findings};

/// A contended variable without members, with its advice.
#[derive(Clone, Debug)]
pub struct ContendedVariable {
    /// Name of the variable.
    pub name: String,
    /// Type of the number.
    pub type_name: String,
    /// Function that declares the variable, if it is local.
    pub declaring: Option<DeclaringFunction>,
    /// Read and write transfers on it.
    pub transfers: u64,
    /// Findings with remedies on its cache lines, most transfers first. Other variables on a line share
    /// its finding.
    pub findings: Vec<Finding>,
}

/// Splits the skipped variables whose findings have remedies from the others, which stay in `skipped`.
pub fn split_advised_variables(
    resolved: &ResolvedProfile<'_>,
    names: &ResolvedNames<'_, '_>,
    skipped: &mut Vec<ContendedType>,
) -> Vec<ContendedVariable> {
    let is_number =
        |contended: &ContendedType| matches!(contended.subject, AdvisedSubject::Scalars { .. });
    // Ranking takes as long as a report.
    if !skipped.iter().any(is_number) {
        return Vec::new();
    }
    let findings = rank_findings(resolved, names, None).findings;
    let mut advised = Vec::new();
    skipped.retain(|contended| match advised_variable(contended, &findings) {
        Some(variable) => {
            advised.push(variable);
            false
        }
        None => true,
    });
    advised
}

/// Returns the variable with the findings on its lines; `None` if none of them has a remedy.
fn advised_variable(contended: &ContendedType, findings: &[Finding]) -> Option<ContendedVariable> {
    let AdvisedSubject::Scalars {
        name,
        element,
        local,
    } = &contended.subject
    else {
        return None;
    };
    let is_advice = |finding: &&Finding| {
        !finding.remedies.is_empty() && is_on_line(finding, name, local.as_ref())
    };
    let findings: Vec<Finding> = findings.iter().filter(is_advice).cloned().collect();
    (!findings.is_empty()).then(|| ContendedVariable {
        name: name.clone(),
        type_name: element.clone(),
        declaring: local.as_ref().map(declaring_function),
        transfers: contended.transfers,
        findings,
    })
}

/// Returns true if the finding is of the variable, or of another one on its line.
fn is_on_line(finding: &Finding, name: &str, local: Option<&LocalDeclaration>) -> bool {
    let is_of_place = match (&finding.subject, local) {
        (FindingSubject::Local { declaring, .. }, Some(local)) => declaring.name == local.function,
        (FindingSubject::Scalar { .. }, None) => true,
        _ => false,
    };
    let is_named = || {
        finding.subject.variable() == Some(name)
            || finding.members.iter().any(|member| member.path == name)
    };
    is_of_place && is_named()
}

fn declaring_function(local: &LocalDeclaration) -> DeclaringFunction {
    DeclaringFunction {
        name: local.function.clone(),
        file: Some(local.file.clone()).filter(|file| !file.is_empty()),
        line: Some(local.line).filter(|line| *line > 0),
    }
}
