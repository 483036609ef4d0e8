//! Savings of layouts by type: one judgement, which `advise` and `report` share.
//!
//! A search of layouts takes seconds, so its conclusion is kept in the user's cache, by `relayout_session`.
//! `advise` keeps what it found with all of its effort. `report --by saving` searches the types of
//! its findings with less. `report` alone searches nothing, and shows what is kept.

use std::collections::BTreeMap;

use relayout_contend::{Finding, Findings, strip_type_tag};
use relayout_layout::TypeArena;
use relayout_search::AdviceVerdict;
use serde::{Deserialize, Serialize};

use crate::ResolvedProfile;
use crate::advised_type::AdvisedType;
use crate::inner_types::{InnerType, inner_types};
use crate::subject::subject_names;

/// Parts that a change is rounded to.
const MILLION: f64 = 1e6;
/// Structs in each other that a judgement is followed through; more is damaged debug information.
pub(crate) const INNER_DEPTH_MAX: usize = 8;

/// Conclusion of a search of a type's layouts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TypeJudgement {
    /// Name of the type that was searched, without tag. A wrapper of a standard library, an array or a
    /// variable leads to it too.
    pub type_name: String,
    /// Change of the transfers on the type with the recommended layout: -0.33; `None` if none is
    /// recommended.
    pub change: Option<f64>,
    /// Members that it moves.
    pub moved: usize,
    /// Reason why no layout is recommended; empty if one is.
    pub reason: String,
    /// True if the search had all of its effort, or none could help.
    pub is_thorough: bool,
    /// True if enough was replayed, and no layout that was found saves at least 1% of the transfers,
    /// with or without store guards.
    pub finds_nothing: bool,
    /// Structs in it that have an order of their own to look for, if no order of its members helps.
    pub inner: Vec<InnerType>,
}

/// Judgements by the name of the type, without tag.
pub type TypeJudgements = BTreeMap<String, TypeJudgement>;

/// Savings of a layout for a finding's type.
#[derive(Clone, Debug, PartialEq)]
pub struct FindingSaving {
    /// Name of the type whose layout it is, without tag.
    pub type_name: String,
    /// Transfers that the layout saves, of all findings of the type.
    pub transfers: f64,
    /// The same as a fraction of all transfers of the profile.
    pub share: f64,
    /// Change of the transfers on the type: -0.33.
    pub change: f64,
    /// Members that the layout moves.
    pub moved: usize,
    /// True if the search had all of its effort.
    pub is_thorough: bool,
}

/// Conclusion about other layouts of what a finding is about. A report says that moving members does
/// not help only for [`LayoutOutlook::NothingHelps`].
#[derive(Clone, Debug, PartialEq)]
pub enum LayoutOutlook {
    /// There are no members to move.
    NoMembers,
    /// Nothing was searched.
    NotSearched {
        /// Type to search, without tag.
        type_name: String,
    },
    /// A layout saves transfers.
    Saves(FindingSaving),
    /// A search recommends nothing, which does not say that nothing helps.
    NothingRecommended {
        /// Type that was searched, without tag.
        type_name: String,
        /// Reason.
        reason: String,
        /// True if the search had all of its effort.
        is_thorough: bool,
    },
    /// A search with all of its effort found no layout of the whole type that saves at least 1% of the
    /// transfers, nor one of a struct in it that has members of the finding.
    NothingHelps {
        /// Type that was searched, without tag.
        type_name: String,
        /// Reason.
        reason: String,
    },
}

/// Returns the name by which a finding's type is judged first; `None` for what has no members to move.
pub fn judged_type_name(finding: &Finding) -> Option<&str> {
    let name = strip_type_tag(finding.subject.type_name());
    let has_members = finding.members.iter().any(|member| member.path != name);
    (!name.is_empty() && (has_members || finding.elements.is_some())).then_some(name)
}

/// Returns the type whose layout decides about a finding, without tag: the finding's own; or, if no
/// order of its members helps, the struct in it that has the finding's member with most transfers,
/// or one on the way to this member that is known to have a better layout.
pub fn deciding_type<'f>(finding: &'f Finding, judgements: &'f TypeJudgements) -> Option<&'f str> {
    let saves = |name: &str| {
        let judgement = judgements.get(name);
        judgement.is_some_and(|judgement| judgement.change.is_some())
    };
    let mut name = judged_type_name(finding)?;
    let most = finding.members.iter().max_by_key(|member| member.transfers);
    let mut path = most.map(|most| most.name.as_str());
    for _ in 0..INNER_DEPTH_MAX {
        if saves(name) {
            return Some(name);
        }
        let inner = judgements.get(name).map_or(&[][..], |found| &found.inner);
        let within =
            { inner.iter() }.find_map(|inner| Some((&inner.type_name, inner.path_within(path?)?)));
        let Some((type_name, rest)) = within else {
            break;
        };
        (name, path) = (strip_type_tag(type_name), Some(rest));
    }
    let on_the_way = finding.types_path.iter().map(|name| strip_type_tag(name));
    Some(
        on_the_way
            .into_iter()
            .find(|name| saves(name))
            .unwrap_or(name),
    )
}

/// Returns what is known of other layouts for a finding.
pub fn layout_outlook(
    finding: &Finding,
    findings: &Findings,
    judgements: &TypeJudgements,
) -> LayoutOutlook {
    let Some(name) = deciding_type(finding, judgements) else {
        return LayoutOutlook::NoMembers;
    };
    let Some(judgement) = judgements.get(name) else {
        return LayoutOutlook::NotSearched {
            type_name: name.to_owned(),
        };
    };
    if let Some(saving) = finding_saving(finding, findings, judgements) {
        return LayoutOutlook::Saves(saving);
    }
    let (type_name, reason) = (judgement.type_name.clone(), judgement.reason.clone());
    match nothing_helps(finding, judgements) {
        true => LayoutOutlook::NothingHelps { type_name, reason },
        false => LayoutOutlook::NothingRecommended {
            type_name,
            reason,
            is_thorough: judgement.is_thorough,
        },
    }
}

/// Returns true if searches with all of their effort found nothing in the finding's type, nor in the
/// structs in it that have members of the finding, nor in those on the way to the member with most
/// transfers: another search of these may look at objects elsewhere, too.
fn nothing_helps(finding: &Finding, judgements: &TypeJudgements) -> bool {
    let paths = finding.members.iter().map(|member| member.name.as_str());
    let paths: Vec<&str> = paths.collect();
    let mut on_the_way = finding.types_path.iter().map(|name| strip_type_tag(name));
    judged_type_name(finding).is_some_and(|name| is_exhausted(name, &paths, judgements, 0))
        && on_the_way.all(|name| {
            judgements
                .get(name)
                .is_some_and(TypeJudgement::is_exhausted)
        })
}

fn is_exhausted(name: &str, paths: &[&str], judgements: &TypeJudgements, depth: usize) -> bool {
    let Some(judgement) = judgements.get(name).filter(|_| depth < INNER_DEPTH_MAX) else {
        return false;
    };
    let is_inner_exhausted = |inner: &InnerType| {
        // Nothing tells which members are of a base class, so all may be.
        let within: Vec<&str> = match inner.member {
            None => paths.to_vec(),
            Some(_) => { paths.iter() }
                .filter_map(|path| inner.path_within(path))
                .collect(),
        };
        let name = strip_type_tag(&inner.type_name);
        within.is_empty() || is_exhausted(name, &within, judgements, depth + 1)
    };
    judgement.is_exhausted() && judgement.inner.iter().all(is_inner_exhausted)
}

/// Returns what a layout can save of the finding's type, or of a struct in it; `None` where nothing
/// was searched, or nothing is saved.
pub fn finding_saving(
    finding: &Finding,
    findings: &Findings,
    judgements: &TypeJudgements,
) -> Option<FindingSaving> {
    let judged = |finding: &Finding| judgements.get(deciding_type(finding, judgements)?);
    let judgement = judged(finding)?;
    let change = judgement.change?;
    let of_type = |other: &&Finding| {
        judged(other).is_some_and(|other| other.type_name == judgement.type_name)
    };
    let transfers: u64 = { findings.findings.iter() }
        .filter(of_type)
        .map(|other| other.tally.transfers())
        .sum();
    let saved = -change * transfers as f64;
    Some(FindingSaving {
        type_name: judgement.type_name.clone(),
        transfers: saved,
        share: saved / findings.totals.tally.transfers().max(1) as f64,
        change,
        moved: judgement.moved,
        is_thorough: judgement.is_thorough,
    })
}

/// Sorts the findings by what a layout of their type can save, most first; those without a saving
/// follow in their order. Ranks stay.
pub fn sort_by_saving(findings: &mut Findings, judgements: &TypeJudgements) {
    let savings: Vec<f64> = { findings.findings.iter() }
        .map(|finding| {
            let saving = finding_saving(finding, findings, judgements);
            saving.map_or(0.0, |saving| saving.transfers)
        })
        .collect();
    let mut keyed: Vec<(f64, Finding)> = savings
        .into_iter()
        .zip(findings.findings.drain(..))
        .collect();
    keyed.sort_by(|(a, _), (b, _)| b.total_cmp(a));
    findings.findings = keyed.into_iter().map(|(_, finding)| finding).collect();
}

impl TypeJudgement {
    /// True if a search with all of its effort found nothing.
    fn is_exhausted(&self) -> bool {
        self.is_thorough && self.finds_nothing
    }

    /// Returns the judgement of a searched type.
    pub fn from_advised(advised: &AdvisedType<'_>, types: &TypeArena, is_thorough: bool) -> Self {
        let searched = &advised.searched;
        let name = &searched.gathered.name;
        match (&searched.outcome, advised.recommended(None)) {
            (Ok(advice), Some(found)) => {
                let (before, after) = (advice.current.cost, advice.candidates[found.index].cost);
                let change = after as f64 / before.max(1) as f64 - 1.0;
                Self {
                    // A short number comes back from a file of JSON as it was.
                    change: Some((change * MILLION).round() / MILLION),
                    moved: found.edit.members,
                    ..Self::without_saving(name, "", is_thorough)
                }
            }
            (Ok(advice), None) => Self {
                inner: inner_types(&searched.gathered, types, advice),
                finds_nothing: advised.finds_nothing(),
                ..Self::without_saving(name, verdict_words(&advice.verdict), is_thorough)
            },
            (Err(refusal), _) => Self::without_saving(name, &refusal.to_string(), true),
        }
    }

    /// Judgement that recommends nothing.
    pub(crate) fn without_saving(type_name: &str, reason: &str, is_thorough: bool) -> Self {
        Self {
            type_name: type_name.to_owned(),
            change: None,
            moved: 0,
            reason: reason.to_owned(),
            is_thorough,
            finds_nothing: false,
            inner: Vec::new(),
        }
    }
}

fn verdict_words(verdict: &AdviceVerdict) -> &'static str {
    match verdict {
        AdviceVerdict::NoTransfers => "no transfers were recorded in order",
        AdviceVerdict::NothingBetter { .. } => "no layout found has fewer transfers",
        AdviceVerdict::Unclear => "no layout is clearly better",
        AdviceVerdict::Unstable => "the best layout saves in some recordings only",
        AdviceVerdict::Slight => "the best layout saves less than 1%",
        AdviceVerdict::Uneven => "the best layout saves nothing on a part of the recording",
        AdviceVerdict::Traded => "the best layout trades transfers for upgrades",
        AdviceVerdict::Slower => "the best layout is predicted to be slower",
        AdviceVerdict::NoFaster => "the best layouts are no faster in simulated time",
        AdviceVerdict::Better => "no layout is worth its edits",
    }
}

/// Returns the judgements of searched types, by all names that lead to them.
pub fn advised_judgements<'t>(
    resolved: &ResolvedProfile<'_>,
    types: impl IntoIterator<Item = &'t AdvisedType<'t>>,
    is_thorough: bool,
) -> TypeJudgements {
    let mut judgements = TypeJudgements::new();
    for advised in types {
        let types = resolved.resolution.types();
        let judgement = TypeJudgement::from_advised(advised, types, is_thorough);
        for name in subject_names(resolved, &advised.searched.gathered) {
            judgements.insert(name, judgement.clone());
        }
    }
    judgements
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A search with all of its effort that found no layout with fewer transfers.
    fn exhausted(type_name: &str) -> TypeJudgement {
        TypeJudgement {
            finds_nothing: true,
            ..TypeJudgement::without_saving(type_name, "no layout found has fewer transfers", true)
        }
    }

    fn holding(type_name: &str, member: Option<&str>, held: &str) -> TypeJudgement {
        TypeJudgement {
            inner: vec![InnerType {
                member: member.map(str::to_owned),
                type_name: held.to_owned(),
            }],
            ..exhausted(type_name)
        }
    }

    /// Tells whether all searches for a line of `outer` with these members are exhausted.
    fn check_exhausted(paths: &[&str], judged: &[TypeJudgement], expect: bool) {
        let judgements: TypeJudgements = { judged.iter() }
            .map(|judgement| (judgement.type_name.clone(), judgement.clone()))
            .collect();
        let actual = is_exhausted("outer", paths, &judgements, 0);
        assert_eq!(actual, expect, "{paths:?} {judged:#?}");
    }

    #[test]
    fn only_a_thorough_search_that_found_nothing_is_exhausted() {
        check_exhausted(&["a"], &[], false);
        check_exhausted(&["a"], &[exhausted("outer")], true);
        let quick = TypeJudgement {
            is_thorough: false,
            ..exhausted("outer")
        };
        check_exhausted(&["a"], &[quick], false);
        // Layouts that are not clearly better may be better.
        let unclear = TypeJudgement {
            finds_nothing: false,
            ..exhausted("outer")
        };
        check_exhausted(&["a"], &[unclear], false);
    }

    #[test]
    fn structs_on_the_line_are_searched_too() {
        let outer = holding("outer", Some("data"), "struct inner");
        // The line has a member of it, and it was not searched.
        check_exhausted(&["a", "data.hits"], std::slice::from_ref(&outer), false);
        check_exhausted(
            &["a", "data.hits"],
            &[outer.clone(), exhausted("inner")],
            true,
        );
        // It lies on another line.
        check_exhausted(&["a", "database"], std::slice::from_ref(&outer), true);
        // A struct in the struct counts where the line has members of it.
        let inner = holding("inner", Some("lock"), "lock");
        check_exhausted(&["data.lock.owner"], &[outer.clone(), inner.clone()], false);
        check_exhausted(&["data.hits"], &[outer.clone(), inner.clone()], true);
        check_exhausted(
            &["data.lock.owner"],
            &[outer, inner, exhausted("lock")],
            true,
        );
    }

    #[test]
    fn a_base_class_may_have_any_member() {
        let outer = holding("outer", None, "base");
        check_exhausted(&["a"], std::slice::from_ref(&outer), false);
        check_exhausted(&["a"], &[outer, exhausted("base")], true);
    }

    #[test]
    fn types_in_each_other_end() {
        let outer = holding("outer", None, "outer");
        check_exhausted(&["a"], &[outer], false);
    }
}
