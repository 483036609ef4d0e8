//! Text of a unit: its includes, and the declarations that keep types in the debug information.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use super::Error;

/// A translation unit that includes a header.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HeaderUnit {
    /// Headers that the header relies on, included before it as by `#include "..."`.
    pub included_before: Vec<String>,
    /// The header; absolute, or as the flags' folders find it.
    pub header: PathBuf,
    /// Types that must be complete after it, with their keyword where C wants one. Instances of
    /// templates are nowhere unless they are named here.
    pub types: Vec<String>,
}

impl HeaderUnit {
    /// Its text.
    ///
    /// # Errors
    /// A name that cannot be written into an `#include`.
    pub fn source_text(&self) -> Result<String, Error> {
        let mut text = String::new();
        let before = self.included_before.iter().map(Path::new);
        for path in before.chain([self.header.as_path()]) {
            let name = path
                .to_str()
                .filter(|name| !name.contains(['"', '\n', '\r', '\\']))
                .ok_or_else(|| Error::HeaderName {
                    path: path.to_owned(),
                })?;
            let _ = writeln!(text, "#include \"{name}\"");
        }
        for (index, name) in self.types.iter().enumerate() {
            // What the compiler refuses for a type should name the type, not a line of ours.
            let _ = writeln!(text, "#line 1 \"{}\"", printable_name(name));
            let _ = writeln!(text, "typedef {name} relayout_type_{index};");
            let _ = writeln!(text, "relayout_type_{index} *relayout_pointer_{index};");
            let _ = writeln!(
                text,
                "unsigned long relayout_size_{index} = sizeof(relayout_type_{index});"
            );
        }
        Ok(text)
    }
}

fn printable_name(name: &str) -> String {
    name.chars()
        .filter(|c| !c.is_control() && !matches!(c, '"' | '\\'))
        .collect()
}
