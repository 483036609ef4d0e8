//! Code in a source tree that depends on the order of a struct's members.

use std::path::{Path, PathBuf};

use rayon::prelude::*;
use relayout_files::{c_source_files, read_regular};
use relayout_patch::{SuspiciousUse, UseKind, find_suspicious_uses};

/// Uses listed for one struct.
const USES_SHOWN_MAX: usize = 8;

/// Returns sentences about the first uses in the C and C++ files below `source`.
pub(in crate::advise) fn order_use_sentences(source: &Path, name: &str) -> Vec<String> {
    let files = c_source_files(source);
    let in_file = |path: &PathBuf| {
        let bytes = read_regular(path).unwrap_or_default();
        if memchr::memmem::find(&bytes, name.as_bytes()).is_none() {
            return Vec::new();
        }
        let relative_path = path.strip_prefix(source).unwrap_or(path);
        // A name in a comment may be in another encoding.
        let text = String::from_utf8_lossy(&bytes);
        find_suspicious_uses(&relative_path.to_string_lossy(), &text, name)
    };
    let order_uses: Vec<SuspiciousUse> = files.par_iter().flat_map_iter(in_file).collect();
    let more = order_uses.len().saturating_sub(USES_SHOWN_MAX);
    let mut sentences: Vec<String> = order_uses
        .iter()
        .take(USES_SHOWN_MAX)
        .map(|order_use| {
            format!(
                "{}: struct {name} {}: {}",
                order_use.place,
                use_words(&order_use.kind),
                order_use.text
            )
        })
        .collect();
    if more > 0 {
        sentences.push(format!("and {more} more such uses of struct {name}"));
    }
    sentences
}

fn use_words(kind: &UseKind) -> String {
    match kind {
        UseKind::PositionalInitializer => "is initialised by position".to_owned(),
        UseKind::Offsetof { member } => format!("has the offset of {member} used as a number"),
        UseKind::StaticAssert => "has its layout asserted".to_owned(),
        UseKind::Randomized => "may be shuffled by the compiler (CONFIG_RANDSTRUCT)".to_owned(),
    }
}
