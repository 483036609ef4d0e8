//! A type with scored layouts.

use relayout_layout::abi::StructShape;
use relayout_messages::UserError;
use relayout_search::{AdviceRefusal, AdviceSubject, LayoutAdvice, Options, UserLayout};

use super::crowded::CrowdedLayouts;
use super::forbidden::ForbiddenLayout;
use super::gathered::{GatheredType, gather_type};
use crate::ResolvedProfile;

/// A type with the layouts that were scored by replay.
pub struct SearchedType<'a> {
    /// Recorded objects and accesses.
    pub gathered: GatheredType<'a>,
    /// Layouts given by the user.
    pub user_layouts: Vec<UserLayout>,
    /// Shapes of the type in other configurations.
    pub builds: Vec<StructShape>,
    /// Candidates and scores, or the reason why nothing was searched.
    pub outcome: Result<LayoutAdvice, AdviceRefusal>,
    /// Candidates that would move transfers to other variables.
    pub crowded: CrowdedLayouts,
    /// Layout that would be recommended if the source tree set no limits; `None` where they cost
    /// nothing.
    pub forbidden: Option<ForbiddenLayout>,
}

impl<'a> SearchedType<'a> {
    /// Scores `user_layouts`, and searches for better ones.
    pub fn search(
        gathered: GatheredType<'a>,
        user_layouts: Vec<UserLayout>,
        builds: Vec<StructShape>,
        resolved: &ResolvedProfile<'_>,
        options: &Options,
    ) -> Self {
        let step = format!("replaying layouts of {}", gathered.name);
        resolved.progress.step(&step);
        let options = gathered.pinned_options(options);
        let subject = gathered.subject(resolved.line_bytes, &builds);
        let outcome = relayout_search::advise(subject, &user_layouts, &options);
        let crowded = { outcome.as_ref().ok() }
            .map(|advice| CrowdedLayouts::find(resolved, &gathered, advice));
        Self {
            crowded: crowded.unwrap_or_default(),
            forbidden: None,
            gathered,
            user_layouts,
            builds,
            outcome,
        }
    }

    /// Returns the input of the search.
    pub fn subject(&self, line_bytes: u32) -> AdviceSubject<'_> {
        self.gathered.subject(line_bytes, &self.builds)
    }
}

/// Scores the layouts that `make_layouts` returns for the struct `name`.
///
/// Nothing else is searched if `options.budget_accesses` is 0.
///
/// # Errors
/// Those of [`gather_type`] and of `make_layouts`.
pub fn score_layouts<'a, E: From<UserError>>(
    resolved: &ResolvedProfile<'a>,
    name: &str,
    options: &Options,
    make_layouts: impl FnOnce(&StructShape) -> Result<Vec<UserLayout>, E>,
) -> Result<SearchedType<'a>, E> {
    let gathered = gather_type(resolved, name, &options.keep)?;
    let user_layouts = make_layouts(&gathered.shape)?;
    Ok(SearchedType::search(
        gathered,
        user_layouts,
        Vec::new(),
        resolved,
        options,
    ))
}
