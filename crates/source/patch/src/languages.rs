//! The languages whose structs are edited.

use crate::c::CLanguage;
use crate::cxx::CxxLanguage;
use crate::language::{SourceLanguage, StructSource};
use crate::rust::RustLanguage;

/// The languages, in the order in which a file is offered to them. The last takes every file.
static LANGUAGES: [&dyn SourceLanguage; 3] = [&RustLanguage, &CLanguage, &CxxLanguage];

/// Returns the language of a file, by its name and its text. Without a text, a header is one of C.
///
/// ```
/// use relayout_patch::source_language;
///
/// assert!(source_language("src/ring.rs", "").compiler_orders_members());
/// assert!(source_language("ring.c", "").is_unit("ring.c"));
/// let words = source_language("ring.hpp", "").padded_element("long", 64);
/// assert_eq!(words, "`struct alignas(64) padded { long value; }`");
/// ```
pub fn source_language(file_name: &str, text: &str) -> &'static dyn SourceLanguage {
    let mut languages = LANGUAGES.into_iter();
    let found = languages.find(|language| language.recognizes(file_name, text));
    found.unwrap_or(&CxxLanguage)
}

impl StructSource<'_> {
    /// Returns the language of the file.
    pub fn language(&self) -> &'static dyn SourceLanguage {
        source_language(self.file, self.text)
    }
}
