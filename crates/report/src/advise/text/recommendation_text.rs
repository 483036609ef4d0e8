//! Sentences about the recommended layout.

use relayout_search::{AdviceVerdict, EditSize, Recommendation};
use relayout_session::advise::PatchedType;

use crate::words::counted;

/// Returns the reason for the recommended candidate of a type, or the reason why there is none.
pub(in crate::advise) fn recommendation_reason(
    patched: &PatchedType<'_>,
    recommended: Option<&Recommendation>,
) -> String {
    match recommended {
        Some(recommended) => knee_sentence(recommended),
        None => no_recommendation_sentence(patched),
    }
}

/// Returns `It keeps 73% of the most gain found with 2 members moved; the most takes 17 members
/// moved.`
pub(in crate::advise) fn knee_sentence(recommended: &Recommendation) -> String {
    let (most_index, most) = &recommended.most;
    if *most_index == recommended.index {
        return format!(
            "It has the most gain found, with {}.",
            edit_words(&recommended.edit)
        );
    }
    format!(
        "It keeps {:.0}% of the most gain found, with {}; the most takes {}, too little more for \
         each.",
        recommended.gain_kept * 100.0,
        edit_words(&recommended.edit),
        edit_words(most)
    )
}

/// Returns `2 members moved, 1 alignment and 56 bytes of growth`.
pub(in crate::advise) fn edit_words(edit: &EditSize) -> String {
    let mut words = Vec::new();
    if edit.members > 0 {
        words.push(format!("{} moved", counted(edit.members as u64, "member")));
    }
    if edit.attributes > 0 {
        words.push(counted(edit.attributes as u64, "alignment"));
    }
    if edit.grown_bytes > 0 {
        words.push(format!("{} of growth", counted(edit.grown_bytes, "byte")));
    }
    match words.split_last() {
        None => "no change of the struct".to_owned(),
        Some((last, [])) => last.clone(),
        Some((last, first)) => format!("{} and {last}", first.join(", ")),
    }
}

fn no_recommendation_sentence(patched: &PatchedType<'_>) -> String {
    let Some(pool) = patched.advised.unguarded_pool() else {
        return "Nothing was searched.".to_owned();
    };
    let limit = patched.limits.moves_max;
    let found = match limit {
        Some(most) => format!(
            "No layout that moves at most {}",
            counted(most as u64, "member")
        ),
        None => "No layout found".to_owned(),
    };
    match pool.advice.verdict {
        AdviceVerdict::NoTransfers => "It has no transfers.".to_owned(),
        AdviceVerdict::NothingBetter { .. } => "No layout found has fewer transfers.".to_owned(),
        AdviceVerdict::Unclear => "No layout found is clearly better.".to_owned(),
        AdviceVerdict::Unstable => {
            "The best has fewer transfers in some recordings and more in others.".to_owned()
        }
        AdviceVerdict::Slight => "The best saves less than 1% of the transfers.".to_owned(),
        AdviceVerdict::Traded | AdviceVerdict::Slower | AdviceVerdict::Better => {
            format!("{found} is clearly better and harmless elsewhere.")
        }
    }
}
