//! Sentences about the recommended layout.

use relayout_advice::LayoutPool;
use relayout_layout::word_lists::word_series;
use relayout_search::{
    AdviceVerdict, ComparedBy, EditSize, LayoutAdvice, RankedLayout, Recommendation, change,
};
use relayout_session::advise::PatchedType;

use crate::words::advice::verdict::uneven_words;
use crate::words::counted;
use crate::words::percent::{signed_percent, whole_percent};

/// Returns the reason for the recommended candidate of a type, or the reason why there is none.
pub(crate) fn recommendation_reason(
    patched: &PatchedType<'_>,
    recommended: Option<&Recommendation>,
) -> String {
    match recommended {
        Some(recommended) => {
            let crowded = &patched.advised.searched.crowded.candidates;
            let pool = patched.advised.unguarded_pool();
            let advice = pool.map(|pool| pool.advice);
            let most = advice.and_then(|advice| advice.candidates.get(recommended.most.0));
            let is_most_uneven = most.is_some_and(|most| most.parts.lacks_gain());
            let knee = match is_most_uneven || crowded.contains(&recommended.most.0) {
                true => kept_words(recommended) + ".",
                false => knee_sentence(recommended),
            };
            let sentences = [
                knee,
                most.and_then(uneven_sentence).unwrap_or_default(),
                crowded_sentence(patched),
                limited_sentence(patched).unwrap_or_default(),
                advice.map_or(String::new(), compared_sentence),
            ];
            let said = sentences.iter().filter(|sentence| !sentence.is_empty());
            said.map(String::as_str).collect::<Vec<_>>().join(" ")
        }
        None => no_recommendation_sentence(patched),
    }
}

/// Says how the executed layouts are compared; empty where none was executed.
fn compared_sentence(advice: &LayoutAdvice) -> String {
    match advice.compared_by {
        ComparedBy::SimulatedTime { cpus } => {
            format!("The executed layouts are compared by the time of an operation on {cpus} CPUs, simulated.")
        }
        ComparedBy::Transfers if advice.is_simulated() => {
            "The draws of the machine's rules disagree about the executed layouts, so these are compared by transfers.".to_owned()
        }
        ComparedBy::Transfers => String::new(),
    }
}

/// Returns `It keeps 73% of the most gain found with 2 members moved; the most takes 17 members
/// moved. Larger edits gain little more.`
pub(crate) fn knee_sentence(recommended: &Recommendation) -> String {
    let (most_index, most) = &recommended.most;
    if *most_index == recommended.index || recommended.gain_kept >= 1.0 {
        return format!(
            "It has the most gain found, with {}.",
            edit_words(&recommended.edit)
        );
    }
    format!(
        "{}; the most takes {}. Larger edits gain little more.",
        kept_words(recommended),
        edit_words(most)
    )
}

/// Says why the layout with the most gain is not recommended; `None` where it gains on all parts.
fn uneven_sentence(most: &RankedLayout) -> Option<String> {
    let reason = uneven_words(most)?;
    Some(format!(
        "The layout with the most gain is not recommended: {} transfers are left over all, but {reason}.",
        most.tally.transfers()
    ))
}

/// Says which layout would be recommended without the limits of the source, and which limit forbids
/// it; `None` where the limits cost nothing.
pub(crate) fn limited_sentence(patched: &PatchedType<'_>) -> Option<String> {
    let searched = &patched.advised.searched;
    let forbidden = searched.forbidden.as_ref()?;
    let changes = change::describe_edits(&forbidden.ranked.changes, &searched.gathered.shape);
    Some(format!(
        "Without the limits that the source sets, transfers would change by {} ({}): {}.",
        signed_percent(forbidden.change),
        changes.join(", "),
        forbidden.limit
    ))
}

fn kept_words(recommended: &Recommendation) -> String {
    format!(
        "It keeps {} of the most gain found, with {}",
        whole_percent(recommended.gain_kept),
        edit_words(&recommended.edit)
    )
}

/// Returns `2 layouts are not recommended, because they bring members onto a line with 'rounds'.`;
/// empty where no layout does.
pub(crate) fn crowded_sentence(patched: &PatchedType<'_>) -> String {
    let crowded = &patched.advised.searched.crowded;
    let count = crowded.candidates.len() as u64;
    let (verb, pronoun) = match count {
        0 => return String::new(),
        1 => ("is", "it brings"),
        _ => ("are", "they bring"),
    };
    let names: Vec<String> = { crowded.variables.iter() }
        .map(|name| format!("'{name}'"))
        .collect();
    let others = match names.is_empty() {
        true => "other variables".to_owned(),
        false => names.join(", "),
    };
    format!(
        "{} {verb} not recommended: {pronoun} members onto a line with {others}, and the transfers \
         stay.",
        counted(count, "layout")
    )
}

/// Returns `2 members moved, 1 alignment and 56 bytes of growth`.
pub(crate) fn edit_words(edit: &EditSize) -> String {
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
    match words.as_slice() {
        [] => "no change of the struct".to_owned(),
        words => word_series(words, usize::MAX),
    }
}

/// Says that the layouts with fewer transfers are no faster.
fn no_faster_sentence(pool: LayoutPool<'_>) -> String {
    let mut ratios = pool.advice.simulated_ratios();
    let best = ratios
        .clone()
        .map(|simulated| simulated.ratio)
        .fold(0.0, f64::max);
    let cpus = ratios.next().map_or(0, |simulated| simulated.cpus);
    let count = counted(pool.advice.simulated_ratios().count() as u64, "layout");
    format!(
        "Of {count} with fewer transfers that were executed on {cpus} CPUs in simulated time, the best has {best:.2} times today's \
         operations."
    )
}

fn no_recommendation_sentence(patched: &PatchedType<'_>) -> String {
    let Some(pool) = patched.advised.unguarded_pool() else {
        return "Nothing was searched.".to_owned();
    };
    let limit = patched.advised.limits.moves_max;
    let found = match limit {
        Some(most) => format!(
            "No layout that moves at most {}",
            counted(most as u64, "member")
        ),
        None => "No layout found".to_owned(),
    };
    let words = match pool.advice.verdict {
        AdviceVerdict::NoTransfers => "It has no transfers.".to_owned(),
        AdviceVerdict::NothingBetter { .. } => "No layout found has fewer transfers.".to_owned(),
        AdviceVerdict::Unclear => "No layout found is clearly better.".to_owned(),
        AdviceVerdict::Unstable => {
            "The best has fewer transfers in some recordings and more in others.".to_owned()
        }
        AdviceVerdict::Slight => "The best saves less than 1% of the transfers.".to_owned(),
        AdviceVerdict::Uneven => {
            let reason = pool.best().and_then(uneven_words);
            let reason = reason.unwrap_or_default();
            format!("The best has fewer transfers over all, but {reason}.")
        }
        AdviceVerdict::NoFaster => no_faster_sentence(pool),
        AdviceVerdict::Traded | AdviceVerdict::Slower | AdviceVerdict::Better => {
            format!("{found} is clearly better and harmless elsewhere.")
        }
    };
    let limited = limited_sentence(patched).unwrap_or_default();
    let sentences = [words, crowded_sentence(patched), limited];
    let said = sentences.iter().filter(|sentence| !sentence.is_empty());
    said.map(String::as_str).collect::<Vec<_>>().join(" ")
}
