//! Facts about Rust structs that their source trees have: attributes, and the crates that their projects use.

use std::path::Path;

use relayout_advice::RustSourceFacts;
use relayout_files::read_regular_text;
use relayout_layout::SourceLine;
use relayout_patch::{
    StructSource, bare_type_name, crate_folder, is_repr_c, source_path_candidates,
};

use super::patch::TreeFiles;

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
    let manifest = crate_folder(&TreeFiles::new(source, false), &path)
        .and_then(|folder| read_regular_text(&source.join(folder).join("Cargo.toml")).ok());
    RustSourceFacts {
        is_repr_c: text.and_then(|text| {
            let name = bare_type_name(type_name);
            is_repr_c(StructSource::new(
                &path,
                &text,
                name,
                Some(declaration.line),
            ))
            .ok()
        }),
        padding_module: manifest.and_then(|manifest| padding_module(&manifest)),
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
