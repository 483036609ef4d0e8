//! Application of waivers to violations.

use crate::outcome::{ExpiredWaiver, WaivedViolation};
use crate::{CheckOutcome, CheckWarning, Date, Violation, Waiver};

/// Splits `broken` into violations and waived violations, and warns about waivers without effect.
pub(crate) fn apply_waivers(
    waivers: &[Waiver],
    today: Date,
    found: Vec<Violation>,
    outcome: &mut CheckOutcome,
) {
    let mut used = vec![false; waivers.len()];
    for mut violation in found {
        let mut matching = Vec::new();
        for (index, waiver) in waivers.iter().enumerate() {
            if covers(waiver, &violation) {
                used[index] = true;
                matching.push(waiver);
            }
        }
        if let Some(waiver) = matching.iter().find(|waiver| waiver.expires >= today) {
            outcome.waived.push(WaivedViolation {
                violation,
                reason: waiver.reason.clone(),
                expires: waiver.expires,
                at: waiver.at,
            });
            continue;
        }
        // Of several expired waivers, the violation names the last to expire.
        let last = matching.iter().max_by_key(|waiver| waiver.expires);
        violation.expired = last.map(|waiver| ExpiredWaiver {
            expires: waiver.expires,
            reason: waiver.reason.clone(),
            at: waiver.at,
        });
        outcome.violations.push(violation);
    }
    for (waiver, _) in waivers.iter().zip(used).filter(|(_, used)| !used) {
        outcome.warnings.push(CheckWarning {
            at: Some(waiver.at),
            message: format!(
                "the waiver for {} matches no violation; take it out",
                waiver.type_name
            ),
        });
    }
}

fn covers(waiver: &Waiver, violation: &Violation) -> bool {
    let name = violation.file.rsplit('/').next().unwrap_or_default();
    let of_member = |glob: &crate::GlobPattern| {
        glob.matches(&violation.member)
            || violation
                .members
                .iter()
                .any(|seen| glob.matches(&seen.span.path))
    };
    let (scope, own) = match crate::TypePattern::parse(&violation.type_name) {
        Ok(pattern) => {
            let (own, scope) = pattern.name_and_scope();
            (scope, own.to_owned())
        }
        Err(_) => (None, violation.type_name.clone()),
    };
    // A name may leave out namespaces and arguments, which only the file tells: the rule and the
    // waiver then have it alike.
    let is_like_rule = waiver.type_name.as_str() == violation.rule_type;
    (is_like_rule || waiver.type_name.applies_to(scope.as_deref(), &own))
        && waiver.rule.is_none_or(|rule| rule == violation.rule)
        && waiver.member.as_ref().is_none_or(of_member)
        && (waiver.files.is_empty()
            || waiver
                .files
                .iter()
                .any(|glob| glob.matches(&violation.file) || glob.matches(name)))
}
