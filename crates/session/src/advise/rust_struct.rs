//! Rules for the layout of a Rust struct, from its source and its project.
//!
//! The debug information does not tell whether a struct is `#[repr(C)]`. The source does; without it,
//! an order of fields that the compiler would not choose is taken for `#[repr(C)]`.

use std::path::{Path, PathBuf};

use relayout_layout::abi::StructShape;
use relayout_layout::{Aggregate, SourceLine};
use relayout_patch::{FieldWrapper, is_repr_c, source_path_candidates};
use relayout_search::{RustFieldRules, may_be_compiler_ordered};

/// Bytes of `CachePadded` on x86-64, whose processors may fetch pairs of lines.
const PADDED_BYTES: u64 = 128;

/// Rules of a Rust struct.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RustStructRules {
    /// Rules for its candidates.
    pub fields: RustFieldRules,
    /// Type that fields are wrapped in.
    pub wrapper: FieldWrapper,
}

impl RustStructRules {
    /// Returns the rules by the layout alone; `None` for a type of another language.
    pub fn from_layout(
        aggregate: &Aggregate,
        shape: &StructShape,
        line_bytes: u32,
    ) -> Option<Self> {
        let declaration = aggregate.decl.as_ref()?;
        declaration.file.ends_with(".rs").then(|| Self {
            fields: RustFieldRules {
                is_repr_c: !may_be_compiler_ordered(shape),
                wrapper_bytes: u64::from(line_bytes),
                line_bytes: u64::from(line_bytes),
            },
            wrapper: FieldWrapper::Added { bytes: line_bytes },
        })
    }

    /// Returns the rules with the attributes of the struct in the source tree, and the wrapper that
    /// its project has. What cannot be read stays as it is.
    pub fn with_source(
        &self,
        source: &Path,
        type_name: &str,
        declaration: Option<&SourceLine>,
    ) -> Self {
        let mut rules = self.clone();
        let paths = declaration.map_or(Vec::new(), |place| source_path_candidates(&place.file));
        let mut paths = paths.into_iter().filter(|path| source.join(path).is_file());
        let (Some(path), Some(declaration)) = (paths.next(), declaration) else {
            return rules;
        };
        if let Ok(text) = relayout_files::read_regular_text(&source.join(&path))
            && let Ok(found) =
                is_repr_c(&path, &text, source_name(type_name), Some(declaration.line))
        {
            rules.fields.is_repr_c = found;
        }
        if let Some(folder) = crate_folder(source, &source.join(&path))
            && let Ok(manifest) = relayout_files::read_regular_text(&folder.join("Cargo.toml"))
            && let Some(module) = padding_module(&manifest)
        {
            rules.fields.wrapper_bytes = PADDED_BYTES;
            rules.wrapper = FieldWrapper::Padded {
                module: module.to_owned(),
            };
        }
        rules
    }
}

/// Returns the name of a type in the source, without its module and the values of its parameters.
pub fn source_name(type_name: &str) -> &str {
    let name = type_name.split('<').next().unwrap_or(type_name);
    name.rsplit("::").next().unwrap_or(name).trim()
}

/// Returns the closest folder around a file of the tree that has a `Cargo.toml`.
pub fn crate_folder(source: &Path, file: &Path) -> Option<PathBuf> {
    let folders = file.ancestors().skip(1);
    let mut folders = folders.take_while(|folder| folder.starts_with(source));
    let found = folders.find(|folder| folder.join("Cargo.toml").is_file());
    found.map(Path::to_owned)
}

/// Returns the module that has `CachePadded`, if the manifest depends on its crate by that name.
fn padding_module(manifest: &str) -> Option<&'static str> {
    const MODULES: [(&str, &str); 2] = [
        ("crossbeam-utils", "crossbeam_utils"),
        ("crossbeam", "crossbeam::utils"),
    ];
    let mut section = String::new();
    let mut found = Vec::new();
    for line in manifest.lines().map(str::trim) {
        if let Some(name) = line.strip_prefix('[') {
            section = name.trim_end_matches(']').replace(['"', ' '], "");
            found.extend(section.strip_prefix("dependencies.").map(str::to_owned));
        } else if section == "dependencies" && !line.contains("package") {
            let key = line.split(['=', '.']).next().unwrap_or_default();
            found.push(key.trim().trim_matches('"').to_owned());
        }
    }
    let mut modules = MODULES.iter();
    let module = modules.find(|(name, _)| found.iter().any(|key| key == name));
    module.map(|(_, module)| *module)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_the_source_have_no_module_and_no_values() {
        for name in ["Stats", "Stats<u64>", "five::Stats<alloc::vec::Vec<u8>>"] {
            assert_eq!(source_name(name), "Stats", "{name}");
        }
    }

    #[test]
    fn the_crate_with_padding_is_a_dependency() {
        let check = |manifest: &str, expect: Option<&str>| {
            assert_eq!(padding_module(manifest), expect, "{manifest}");
        };
        check(
            "[dependencies]\ncrossbeam-utils = \"0.8\"\n",
            Some("crossbeam_utils"),
        );
        check(
            "[dependencies]\ncrossbeam-utils.workspace = true\n",
            Some("crossbeam_utils"),
        );
        check(
            "[dependencies.crossbeam]\nversion = \"0.8\"\n",
            Some("crossbeam::utils"),
        );
        check("[dev-dependencies]\ncrossbeam-utils = \"0.8\"\n", None);
        check(
            "[dependencies]\nu = { package = \"crossbeam-utils\" }\n",
            None,
        );
        check("[package]\nname = \"crossbeam-utils\"\n", None);
    }
}
