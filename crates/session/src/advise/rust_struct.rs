//! Rules for the layout of a Rust struct, from its source and its project.
//!
//! The debug information does not tell whether a struct is `#[repr(C)]`. The source does; without it,
//! an order of fields that the compiler would not choose is taken for `#[repr(C)]`.

use std::path::Path;

use relayout_layout::abi::StructShape;
use relayout_layout::{Aggregate, SourceLine};
use relayout_patch::{
    StructSource, WrittenAlignment, bare_type_name, crate_folder, is_repr_c, source_language,
    source_path_candidates,
};
use relayout_search::{RustFieldRules, may_be_compiler_ordered};

use super::patch::TreeFiles;

/// Bytes of `CachePadded` on x86-64, whose processors may fetch pairs of lines.
const PADDED_BYTES: u64 = 128;

/// Rules of a Rust struct.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RustStructRules {
    /// Rules for its candidates.
    pub fields: RustFieldRules,
    /// Alignment of the type that fields are wrapped in.
    pub wrapper: WrittenAlignment,
}

impl RustStructRules {
    /// Returns the rules by the layout alone; `None` for a type of a language that orders no members.
    pub fn from_layout(
        aggregate: &Aggregate,
        shape: &StructShape,
        line_bytes: u32,
    ) -> Option<Self> {
        let declaration = aggregate.decl.as_ref()?;
        let language = source_language(&declaration.file, "");
        language.compiler_orders_members().then(|| Self {
            fields: RustFieldRules {
                is_repr_c: !may_be_compiler_ordered(shape),
                wrapper_bytes: u64::from(line_bytes),
                line_bytes: u64::from(line_bytes),
            },
            wrapper: WrittenAlignment::Bytes(line_bytes),
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
            && let name = bare_type_name(type_name)
            && let Ok(found) = is_repr_c(StructSource::new(
                &path,
                &text,
                name,
                Some(declaration.line),
            ))
        {
            rules.fields.is_repr_c = found;
        }
        if let Some(folder) = crate_folder(&TreeFiles::new(source, false), &path)
            && let manifest = source.join(folder).join("Cargo.toml")
            && let Ok(manifest) = relayout_files::read_regular_text(&manifest)
            && let Some(module) = padding_module(&manifest)
        {
            rules.fields.wrapper_bytes = PADDED_BYTES;
            rules.wrapper = WrittenAlignment::CachePadded {
                module: module.to_owned(),
            };
        }
        rules
    }
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
