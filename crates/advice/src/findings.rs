//! Findings of a resolved profile.

use std::collections::BTreeSet;

use relayout_check::RecordedHotMember;
use relayout_contend::finding::FindingMember;
use relayout_contend::{FindSettings, Findings, find_with};
use relayout_layout::TypePattern;
use relayout_layout::known_names::{KnownName, NameMatch, list_meant};
use relayout_messages::UserError;

use crate::objects::{known_structs, struct_names};
use crate::{ResolvedNames, ResolvedProfile};

/// Ranks the contended cache lines of a profile.
///
/// `pair_coefficient` is the cost of a pair transfer in transfers. Above 0, adjacent lines are
/// findings.
pub fn rank_findings(
    resolved: &ResolvedProfile<'_>,
    names: &ResolvedNames<'_, '_>,
    pair_coefficient: Option<f64>,
) -> Findings {
    resolved.progress.step("ranking cache lines");
    find_with(resolved.profile, names, &FindSettings { pair_coefficient })
}

/// Returns a finding's member with its traffic; `None` for one before the start of its object.
pub fn recorded_member(member: &FindingMember) -> Option<RecordedHotMember> {
    Some(RecordedHotMember {
        path: member.path.clone(),
        offset: u64::try_from(member.offset).ok()?,
        size: member.size,
        reads: member.reads,
        writes: member.writes,
        contexts: member.contexts(),
        transfers: member.transfers,
    })
}

/// Returns the names of all types and variables of the profile, contended or not.
pub fn recorded_names(resolved: &ResolvedProfile<'_>) -> BTreeSet<String> {
    let mut names = struct_names(resolved);
    let objects = resolved.resolution.objects().iter();
    names.extend(objects.filter_map(|object| object.variable().map(str::to_owned)));
    names
}

/// Returns the type or variable of the profile, contended or not, that `name` means: as findings call it.
/// A name that nothing has is a slip of the pen, and an empty report would look like the absence of
/// contention.
///
/// # Errors
/// No object of the profile has the name, or a type of the name in it.
pub fn recorded_name(
    name: &str,
    resolved: &ResolvedProfile<'_>,
    findings: &Findings,
) -> Result<String, UserError> {
    let pattern = TypePattern::parse(name).map_err(UserError::input)?;
    let wanted = pattern.bare_name();
    let mut findings_about = findings.findings.iter();
    if findings_about.any(|finding| finding.is_about(wanted)) {
        return Ok(wanted.to_owned());
    }
    let objects = resolved.resolution.objects().iter();
    let variables = { objects.filter_map(|object| object.variable()) }
        .map(|variable| KnownName::printed(variable, variable.to_owned()));
    let known: Vec<KnownName<'_, String>> = known_structs(resolved).chain(variables).collect();
    let inline = resolved.resolution.types().inline_namespaces();
    match pattern.find_known(&known, inline) {
        NameMatch::Unique(name) => Ok(name),
        NameMatch::Several(names) => Err(UserError::ambiguous_name(wanted, &list_meant(&names))),
        NameMatch::Unknown => {
            let mut close = findings.similar_names(wanted);
            if close.is_empty() {
                close = pattern.similar_printed(known.iter().map(|name| &*name.printed));
            }
            let message = format!("no type or variable of the profile is named `{wanted}`");
            let list = "`relayout report PROFILE --top 0` lists those that are contended";
            Err(UserError::unknown_name(message, &close, Some(list)))
        }
    }
}
