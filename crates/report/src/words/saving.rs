//! Effect of other layouts of a finding's type, as data of a document and in words.
//!
//! All sentences about layouts that save, and about those that do not, are made here, so that no
//! output denies what another one says.

use relayout_advice::{LayoutOutlook, TypeJudgements, layout_outlook};
use relayout_contend::{Finding, Findings};
use relayout_workflows::shell_word;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::counted;
use super::percent::{percent, signed_percent};

/// Words where no layout of the type was searched.
const NOT_SEARCHED: &str = "not searched";
/// Words where there is nothing to move.
const NO_MEMBERS: &str = "no members to move";

/// Key of what is known of other layouts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum OutlookKey {
    Saves,
    NothingHelps,
    NothingRecommended,
    NotSearched,
    NoMembers,
}

/// Effort of a search of layouts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum SearchEffort {
    Quick,
    Thorough,
}

/// What a layout of the finding's type, or of a struct in it, can save.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct SavingDocument {
    /// Name of the type whose layout it is.
    #[serde(rename = "type")]
    pub(crate) type_name: String,
    /// Transfers that the recommended layout saves, of all findings of the type.
    pub(crate) transfers: f64,
    /// The same as a fraction of all transfers.
    pub(crate) share: f64,
    /// Change of the transfers on the type: -0.33.
    pub(crate) change: f64,
    /// Members that move.
    pub(crate) moved: usize,
}

/// Outlook for other layouts of a finding, with the profile that commands name.
#[derive(Clone, Debug)]
pub struct OutlookWords<'a> {
    outlook: LayoutOutlook,
    /// Path of the profile, as the user typed it.
    profile: &'a str,
}

impl<'a> OutlookWords<'a> {
    /// Looks up what is known for a finding. Without `judgements`, nothing is.
    pub fn new(
        finding: &Finding,
        findings: &Findings,
        judgements: Option<&TypeJudgements>,
        profile: &'a str,
    ) -> Self {
        let none = TypeJudgements::new();
        let outlook = layout_outlook(finding, findings, judgements.unwrap_or(&none));
        Self { outlook, profile }
    }

    /// Returns the outlook for a variable without members.
    pub(crate) fn of_number() -> Self {
        Self {
            outlook: LayoutOutlook::NoMembers,
            profile: "",
        }
    }

    /// Returns what layouts do for a line whose transfers bring what is used: the beginning of a
    /// sentence.
    pub(crate) fn true_sharing(&self) -> &'static str {
        match self.outlook {
            LayoutOutlook::Saves(_) => "Mostly true sharing, but another layout saves a part",
            LayoutOutlook::NothingHelps { .. } => "Moving members of this line does not help",
            LayoutOutlook::NoMembers
            | LayoutOutlook::NotSearched { .. }
            | LayoutOutlook::NothingRecommended { .. } => "Mostly true sharing",
        }
    }

    /// Returns ` ... searches layouts.`, with the command that searches; `None` where a search has
    /// had its effort, and where there is nothing to search.
    pub(crate) fn search_sentence(&self) -> Option<String> {
        let type_name = match &self.outlook {
            LayoutOutlook::NotSearched { type_name } => type_name,
            LayoutOutlook::NothingRecommended {
                type_name,
                is_thorough: false,
                ..
            } => type_name,
            _ => return None,
        };
        Some(format!(
            "{} searches layouts.",
            self.advise_command(type_name)
        ))
    }

    /// Returns the reason why a search with all of its effort recommends nothing; `None` where there
    /// was none, or it recommends a layout.
    pub(crate) fn refusal_reason(&self) -> Option<&str> {
        match &self.outlook {
            LayoutOutlook::NothingRecommended {
                reason,
                is_thorough: true,
                ..
            }
            | LayoutOutlook::NothingHelps { reason, .. } => Some(reason),
            _ => None,
        }
    }

    /// Returns the saving as data, or the reason why there is none.
    pub(crate) fn saving_document(&self) -> Result<SavingDocument, String> {
        match &self.outlook {
            LayoutOutlook::Saves(saving) => Ok(SavingDocument {
                type_name: saving.type_name.clone(),
                transfers: saving.transfers,
                share: saving.share,
                change: saving.change,
                moved: saving.moved,
            }),
            LayoutOutlook::NoMembers => Err(NO_MEMBERS.to_owned()),
            LayoutOutlook::NotSearched { .. } => Err(NOT_SEARCHED.to_owned()),
            LayoutOutlook::NothingRecommended { reason, .. }
            | LayoutOutlook::NothingHelps { reason, .. } => Err(reason.clone()),
        }
    }

    /// Returns the key of what is known.
    pub(crate) fn key(&self) -> OutlookKey {
        match self.outlook {
            LayoutOutlook::NoMembers => OutlookKey::NoMembers,
            LayoutOutlook::NotSearched { .. } => OutlookKey::NotSearched,
            LayoutOutlook::Saves(_) => OutlookKey::Saves,
            LayoutOutlook::NothingRecommended { .. } => OutlookKey::NothingRecommended,
            LayoutOutlook::NothingHelps { .. } => OutlookKey::NothingHelps,
        }
    }

    /// Returns the effort of the search; `None` where nothing was searched.
    pub(crate) fn search_effort(&self) -> Option<SearchEffort> {
        let is_thorough = match &self.outlook {
            LayoutOutlook::NoMembers | LayoutOutlook::NotSearched { .. } => return None,
            LayoutOutlook::Saves(saving) => saving.is_thorough,
            LayoutOutlook::NothingRecommended { is_thorough, .. } => *is_thorough,
            LayoutOutlook::NothingHelps { .. } => true,
        };
        Some(match is_thorough {
            true => SearchEffort::Thorough,
            false => SearchEffort::Quick,
        })
    }

    /// Returns the saving in words; `None` where there are no members to move.
    pub(crate) fn saving_words(&self) -> Option<String> {
        Some(match &self.outlook {
            LayoutOutlook::NoMembers => return None,
            LayoutOutlook::NotSearched { .. } => {
                let profile = shell_word(self.profile);
                format!("unknown; try `relayout report {profile} --by saving`.")
            }
            LayoutOutlook::Saves(saving) => format!(
                "{} of the transfers on all lines of {} by another layout, with {} moved{}.",
                percent(-saving.change),
                saving.type_name,
                counted(saving.moved as u64, "member"),
                if saving.is_thorough {
                    ""
                } else {
                    " (quick search)"
                },
            ),
            LayoutOutlook::NothingRecommended {
                type_name,
                reason,
                is_thorough: false,
            } => format!(
                "unknown; a quick search of {type_name} recommends none ({reason}), try {}.",
                self.advise_command(type_name)
            ),
            LayoutOutlook::NothingRecommended {
                type_name, reason, ..
            }
            | LayoutOutlook::NothingHelps { type_name, reason } => {
                format!("none by another layout of {type_name}: {reason}.")
            }
        })
    }

    fn advise_command(&self, type_name: &str) -> String {
        let [profile, type_name] = [self.profile, type_name].map(shell_word);
        format!("`relayout advise {profile} {type_name}`")
    }
}

/// Returns `-33.1%`, `none`, `unknown`, or `-` where there are no members to move.
pub(crate) fn saving_cell(
    outlook: OutlookKey,
    effort: Option<SearchEffort>,
    saving: Option<&SavingDocument>,
) -> String {
    match (outlook, saving) {
        (OutlookKey::NoMembers, _) => "-".to_owned(),
        (_, Some(saving)) => signed_percent(saving.change),
        (OutlookKey::NotSearched, _) => "unknown".to_owned(),
        (OutlookKey::NothingRecommended, _) if effort == Some(SearchEffort::Quick) => {
            "unknown".to_owned()
        }
        _ => "none".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use relayout_advice::FindingSaving;

    use super::*;

    /// Formats all that is said of an outlook in the report of the profile `my out`, a line each.
    fn check(outlook: LayoutOutlook, expect: [&str; 4]) {
        let words = OutlookWords {
            outlook,
            profile: "my out",
        };
        let said = [
            words.true_sharing().to_owned(),
            words.search_sentence().unwrap_or_default(),
            { words.saving_words() }.map_or(String::new(), |saving| format!("Saving: {saving}")),
            saving_cell(
                words.key(),
                words.search_effort(),
                words.saving_document().ok().as_ref(),
            ),
        ];
        assert_eq!(said, expect);
    }

    fn none_recommended(is_thorough: bool) -> LayoutOutlook {
        LayoutOutlook::NothingRecommended {
            type_name: "dentry".to_owned(),
            reason: "no layout is clearly better".to_owned(),
            is_thorough,
        }
    }

    #[test]
    fn what_was_not_searched_is_not_denied() {
        check(
            LayoutOutlook::NotSearched {
                type_name: "Ring<int, 4>".to_owned(),
            },
            [
                "Mostly true sharing",
                "`relayout advise 'my out' 'Ring<int, 4>'` searches layouts.",
                "Saving: unknown; try `relayout report 'my out' --by saving`.",
                "unknown",
            ],
        );
        check(
            LayoutOutlook::NoMembers,
            ["Mostly true sharing", "", "", "-"],
        );
    }

    #[test]
    fn a_quick_search_denies_nothing() {
        let quick = "Saving: unknown; a quick search of dentry recommends none (no layout is clearly better), try \
                     `relayout advise 'my out' dentry`.";
        check(
            none_recommended(false),
            [
                "Mostly true sharing",
                "`relayout advise 'my out' dentry` searches layouts.",
                quick,
                "unknown",
            ],
        );
    }

    #[test]
    fn only_what_found_nothing_is_denied() {
        check(
            none_recommended(true),
            [
                "Mostly true sharing",
                "",
                "Saving: none by another layout of dentry: no layout is clearly better.",
                "none",
            ],
        );
        check(
            LayoutOutlook::NothingHelps {
                type_name: "dentry".to_owned(),
                reason: "no layout found has fewer transfers".to_owned(),
            },
            [
                "Moving members of this line does not help",
                "",
                "Saving: none by another layout of dentry: no layout found has fewer transfers.",
                "none",
            ],
        );
    }

    #[test]
    fn a_saving_is_said_of_all_lines() {
        let saving = FindingSaving {
            type_name: "dentry".to_owned(),
            transfers: 331.0,
            share: 0.1,
            change: -0.331,
            moved: 2,
            is_thorough: false,
        };
        check(
            LayoutOutlook::Saves(saving),
            [
                "Mostly true sharing, but another layout saves a part",
                "",
                "Saving: 33.1% of the transfers on all lines of dentry by another layout, with 2 members moved (quick search).",
                "-33.1%",
            ],
        );
    }
}
