//! Layouts as pahole prints them.

use relayout_search::ScoredLayout;

use crate::words::advice::PoolView;

/// Returns a layout as pahole prints it.
pub(crate) fn pahole_listing(view: &PoolView<'_>, scored: &ScoredLayout) -> String {
    let gathered = view.gathered;
    if gathered.is_whole {
        let (size, align) = (scored.layout.size, scored.layout.align);
        let title = gathered.advised_subject.title();
        return format!("{title} {{ ... }}; /* size: {size}, alignment: {align} */\n");
    }
    let laid_out =
        gathered
            .shape
            .apply_arrangement(&gathered.aggregate, &scored.arrangement, &scored.layout);
    let options = relayout_pahole_text::Options {
        cacheline_size: view.resolved.line_bytes.into(),
        ..relayout_pahole_text::Options::default()
    };
    let types = view.resolved.resolution.types();
    relayout_pahole_text::render_aggregate(types, &laid_out, &options).unwrap_or_default()
}
