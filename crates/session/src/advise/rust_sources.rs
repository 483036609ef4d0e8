//! Facts about Rust structs that their source trees have: attributes, and the crates that their projects use.

use std::path::{Path, PathBuf};

use relayout_advice::RustSourceFacts;
use relayout_files::read_regular_text;
use relayout_layout::SourceLine;
use relayout_patch::{is_repr_c, source_path_candidates};

/// Returns what the tree `source` says of a struct. What cannot be read is unknown.
pub fn read_rust_facts(
    source: &Path,
    type_name: &str,
    declaration: Option<&SourceLine>,
) -> RustSourceFacts {
    let paths = declaration.map_or(Vec::new(), |place| source_path_candidates(&place.file));
    let mut paths = paths.into_iter().filter(|path| source.join(path).is_file());
    let (Some(path), Some(declaration)) = (paths.next(), declaration) else {
        return RustSourceFacts::default();
    };
    let text = read_regular_text(&source.join(&path)).ok();
    let manifest = crate_folder(source, &source.join(&path))
        .and_then(|folder| read_regular_text(&folder.join("Cargo.toml")).ok());
    RustSourceFacts {
        is_repr_c: text.and_then(|text| {
            is_repr_c(&path, &text, source_name(type_name), Some(declaration.line)).ok()
        }),
        padding_module: manifest.and_then(|manifest| padding_module(&manifest)),
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
