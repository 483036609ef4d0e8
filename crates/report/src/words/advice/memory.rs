//! Sentences about the memory of layouts.

use std::fmt::Write as _;

use relayout_advice::GatheredType;
use relayout_layout::word_lists::word_list_with_rest;
use relayout_search::{LayoutAdvice, ScoredLayout};

use crate::words::advice::given_name;
use crate::words::{count_more, counted};

/// Types that are named of those that hold the struct.
const HOLDERS_MAX: usize = 3;

/// Returns a sentence about an alignment that the program's own allocator has to give.
pub(crate) fn own_allocator_sentence(
    gathered: &GatheredType<'_>,
    today: &ScoredLayout,
    then: &ScoredLayout,
) -> Option<String> {
    (gathered.has_named && then.layout.align > today.layout.align).then(|| {
        format!(
            "The program places objects by itself (relayout_object): it has to put them at multiples of {} \
             bytes.",
            then.layout.align
        )
    })
}

/// Returns the bytes per object, today and with other layouts.
pub(crate) fn memory_sentences(gathered: &GatheredType<'_>, advice: &LayoutAdvice) -> String {
    let today = &advice.current.memory;
    let mut text = format!(
        "Memory: {} bytes per object today ({})",
        today.bytes_per_object,
        cache_words(gathered, today.cache.as_deref())
    );
    let others = advice
        .user_layouts
        .iter()
        .map(|given| (given_name(given), given));
    let best = advice.candidates.first().map(|best| ("best found", best));
    for (name, scored) in others.chain(best) {
        let bytes = scored.memory.bytes_per_object as i128 - today.bytes_per_object as i128;
        let (count, seen) = match gathered.size_effects.array_elements {
            elements if elements > gathered.objects => (elements, "in their arrays"),
            _ => (gathered.objects, "seen"),
        };
        let bytes_in_total = bytes * i128::from(count);
        let _ = write!(
            text,
            "; {name}: {} ({}), {bytes_in_total:+} bytes for the {} {seen}",
            scored.memory.bytes_per_object,
            cache_words(gathered, scored.memory.cache.as_deref()),
            counted(count, "object"),
        );
    }
    text.push('.');
    let holder_counts = &gathered.size_effects.holder_counts;
    if !holder_counts.is_empty() {
        let mut ranked: Vec<(&String, &u64)> = holder_counts.iter().collect();
        ranked.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
        let names: Vec<String> = { ranked.iter() }
            .map(|(name, count)| format!("{count} {name}"))
            .collect();
        let more_types = |more: usize| count_more(more as u64, "type");
        let _ = write!(
            text,
            " It lies inside of {}: what is behind it there moves as its size changes, which is \
             not judged.",
            word_list_with_rest(&names, HOLDERS_MAX, more_types)
        );
    }
    if gathered.size_effects.per_cpu_objects > 0 {
        let _ = write!(
            text,
            " {} of the objects are one to each CPU.",
            gathered.size_effects.per_cpu_objects
        );
    }
    text
}

/// Returns `kmalloc-192, 21 to a slab`.
fn cache_words(gathered: &GatheredType<'_>, name: Option<&str>) -> String {
    let Some(name) = name else {
        return "not from a slab".to_owned();
    };
    match gathered.size_effects.objects_per_slab.get(name) {
        Some(count) => format!("{name}, {count} to a slab"),
        None => name.to_owned(),
    }
}
