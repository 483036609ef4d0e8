//! The stages of advice that a profile and its debug files are enough for, in order.
//!
//! The caller reads source trees, builds and other recordings between them: see `relayout_session::advise`.

use relayout_layout::TypePattern;
use relayout_messages::UserError;

use crate::accesses::member_accesses;
use crate::advised_type::AdvisedType;
use crate::configuration::{ConfigurationBuild, shapes_of_type};
use crate::doubts::{advice_doubts, uncertain_type};
use crate::forbidden::ForbiddenLayout;
use crate::gains::predict_gains;
use crate::gathered::{GatheredType, gather_subject, gather_type};
use crate::guards::best_guards;
use crate::layout_files::{LayoutFile, fit_layout_files};
use crate::objects::{ContendedType, rank_contended_types};
use crate::scenarios::configuration_scores;
use crate::search_request::SearchRequest;
use crate::searched::SearchedType;
use crate::subject::{AdvisedSubject, find_subject};
use crate::{ResolvedNames, ResolvedProfile};

/// Types that are advised on if none is named.
const UNNAMED_TYPES_MAX: usize = 3;

/// Gathers the requested types, or those with the most transfers; also returns the skipped ones.
///
/// # Errors
/// A type is not in the profile, or lacks a pinned member.
pub fn gather_types<'a>(
    resolved: &ResolvedProfile<'a>,
    request: &SearchRequest,
) -> Result<(Vec<GatheredType<'a>>, Vec<ContendedType>), UserError> {
    if request.types.is_empty() {
        return Ok(most_contended_types(resolved, request.force));
    }
    let (mut gathered, mut skipped) = (Vec::new(), Vec::new());
    for name in &request.types {
        match lone_number(resolved, name)? {
            Some(number) => skipped.push(number),
            None => gathered.push(gather_type(resolved, name, &request.pinned)?),
        }
    }
    Ok((gathered, skipped))
}

/// Returns the contended number without neighbours that `name` means; `None` if it means anything else.
fn lone_number(
    resolved: &ResolvedProfile<'_>,
    name: &str,
) -> Result<Option<ContendedType>, UserError> {
    let pattern = TypePattern::parse(name).map_err(UserError::input)?;
    let subject = find_subject(resolved, &pattern)?;
    let Some(subject @ AdvisedSubject::Scalars { .. }) = subject else {
        return Ok(None);
    };
    let mut ranked = rank_contended_types(resolved).into_iter();
    Ok(ranked.find(|contended| contended.subject == subject && contended.skip_reason.is_some()))
}

/// Returns the types with the most transfers that can be laid out again, and those that were
/// skipped, among them those that are uncertain, unless the user insists.
fn most_contended_types<'a>(
    resolved: &ResolvedProfile<'a>,
    is_forced: bool,
) -> (Vec<GatheredType<'a>>, Vec<ContendedType>) {
    let (mut gathered_types, mut skipped) = (Vec::new(), Vec::new());
    for contended in rank_contended_types(resolved) {
        if gathered_types.len() == UNNAMED_TYPES_MAX {
            break;
        }
        let gathered = match contended.skip_reason {
            Some(_) => {
                skipped.push(contended);
                continue;
            }
            None => gather_subject(resolved, &contended.subject),
        };
        let skip_reason = match gathered {
            Ok(gathered) => match skip_reason(resolved, &gathered, is_forced) {
                None => {
                    gathered_types.push(gathered);
                    continue;
                }
                Some(reason) => reason,
            },
            Err(error) => error.to_string(),
        };
        skipped.push(ContendedType {
            skip_reason: Some(skip_reason),
            ..contended
        });
    }
    (gathered_types, skipped)
}

/// Returns the reason why no advice is given on a type that the user has not named.
fn skip_reason(
    resolved: &ResolvedProfile<'_>,
    gathered: &GatheredType<'_>,
    is_forced: bool,
) -> Option<String> {
    let doubt = uncertain_type(gathered).filter(|_| !is_forced);
    let unlayable = gathered.skip_reason(resolved.line_bytes);
    unlayable.or_else(|| doubt.map(|doubt| doubt.to_string()))
}

/// Searches better layouts of the types, with and without store guards, and scores those of `layout_files` and those
/// that are worth showing in the builds.
///
/// # Errors
/// A file does not describe a layout of a type.
pub fn search_types<'a>(
    resolved: &ResolvedProfile<'a>,
    names: &ResolvedNames<'_, '_>,
    gathered: Vec<GatheredType<'a>>,
    layout_files: &[LayoutFile],
    builds: &[ConfigurationBuild],
    request: &SearchRequest,
) -> Result<Vec<AdvisedType<'a>>, UserError> {
    let options = request.options();
    let mut types = Vec::new();
    for (type_index, gathered) in gathered.into_iter().enumerate() {
        let user_layouts = fit_layout_files(resolved, &gathered.shape, layout_files)?;
        let shapes = shapes_of_type(builds, type_index);
        let mut searched = SearchedType::search(gathered, user_layouts, shapes, resolved, &options);
        searched.forbidden =
            ForbiddenLayout::find(resolved, &searched, request.moves_max, &options);
        types.push(AdvisedType::new(searched, request.limits()));
    }
    for (type_index, advised) in types.iter_mut().enumerate() {
        advised.accesses = member_accesses(&advised.searched.gathered, names);
        advised.guards = best_guards(resolved, &advised.searched, names, &options);
        advised.scenarios = configuration_scores(resolved, type_index, advised, builds, &options);
    }
    Ok(types)
}

/// Predicts what the layouts of the types change, and notes the reasons for which that may not hold. Returns sentences
/// that say why something is not predicted.
pub fn predict_changes(
    resolved: &ResolvedProfile<'_>,
    types: &mut [AdvisedType<'_>],
    request: &SearchRequest,
) -> Vec<String> {
    let (machine, top) = (&request.machine, request.top);
    let mut notes: Vec<String> = machine.missing_note(resolved.profile).into_iter().collect();
    for advised in types {
        let (searched, guards) = (&mut advised.searched, advised.guards.as_mut());
        notes.extend(predict_gains(resolved, searched, guards, machine, top));
        advised.doubts = { searched.outcome.as_ref() }.map_or(Vec::new(), |advice| {
            advice_doubts(resolved, &searched.gathered, advice)
        });
    }
    notes
}
