//! Text about the layouts that were replayed, and those that were not.

use std::fmt::Write as _;

use relayout_layout::word_lists::word_list;

use crate::documents::advise::AdvisedTypeDocument;
use crate::documents::advise::evidence::{BoundDocument, LeftOutDocument};
use crate::text::advise::order_text;
use crate::words::counted;
use crate::words::percent::percent;
use crate::words::wrap::wrap_text;

/// Appends the numbers of candidates that were replayed and left out.
pub(crate) fn push_left_out(text: &mut String, advised: &AdvisedTypeDocument) {
    let LeftOutDocument {
        unrecorded,
        kept,
        grouped,
        groups,
        order: _,
        budget,
        two_moves,
        builds,
    } = &advised.left_out;
    let mut push_line = |line: String| {
        let _ = writeln!(text, "{}", wrap_text(&line, 2));
    };
    push_line(format!(
        "{} replayed.{}",
        counted(advised.tried as u64, "layout"),
        advised.bound.as_ref().map_or(String::new(), bound_sentence)
    ));
    if *unrecorded > 0 {
        push_line(format!(
            "{unrecorded} skipped: they would bring together members whose accesses were not all \
             recorded ({}).",
            shorten_names(&advised.unrecorded_members)
        ));
    }
    if *kept > 0 {
        push_line(format!("{kept} skipped: they would move a pinned member."));
    }
    if *grouped > 0 {
        push_line(format!(
            "{grouped} skipped: they would move a member into a cache line group or out of one ({}).",
            shorten_names(groups)
        ));
    }
    if *budget > 0 {
        push_line(format!(
            "{budget} estimated only, behind those that were replayed: too many accesses."
        ));
    }
    if advised.ranking_configurations > 0 {
        push_line(format!(
            "Ranked by what each costs where it does worst: as recorded, or in the {}.{}",
            match advised.ranking_configurations {
                1 => "other configuration".to_owned(),
                count => format!("{count} other configurations"),
            },
            match builds {
                0 => String::new(),
                count =>
                    format!(" {count} behind those were scored as recorded only, and left out."),
            }
        ));
    }
    if *two_moves > 0 {
        push_line(format!("{two_moves} pairs of moves not tried: too many."));
    }
    order_text::push_order(text, advised);
}

/// Returns the distance of the best candidate from the lower bound.
fn bound_sentence(bound: &BoundDocument) -> String {
    let (least, best) = (bound.transfers, bound.fewest);
    if best < least {
        return format!(
            " No order and alignment of the members alone can have fewer than {least} transfers in this \
             recording; the best found moves elements of arrays."
        );
    }
    match bound.gap == 0.0 {
        true => format!(
            " No layout of whole objects on lines of their own has fewer than {best} transfers in this \
             recording: proven."
        ),
        false => format!(
            " No layout of whole objects on lines of their own can have fewer than {least} transfers in this \
             recording, so the best found is within {} of the best there is.",
            percent(bound.gap)
        ),
    }
}

fn shorten_names(names: &[String]) -> String {
    const SHOWN: usize = 6;
    match names {
        [] => "in no one object".to_owned(),
        names => word_list(names, SHOWN),
    }
}
