//! Subjects of a check: files with debug information, and compiled headers.

use std::path::Path;

use relayout_check::{CheckConfig, FileFacts, KernelConfig, TypeRules, defines_type};
use relayout_layout::catalog::{DebugInfoFormat, TypeCatalog};
use relayout_layout::dwarf::SectionStore;
use relayout_messages::{RecordingProgress, UserError};

use super::CheckRequest;
use super::headers::{CompiledHeader, compile_headers};
use super::rules::read_text;

/// A file, or a header in one configuration.
#[derive(Clone, Debug)]
pub enum CheckedSubject {
    /// A file: index in [`CheckRequest::files`].
    File(usize),
    /// A header in one configuration.
    Header {
        /// The compiled header.
        built: CompiledHeader,
        /// Its configurations.
        named: Vec<String>,
        /// Rules for the types that it defines and no earlier header does: indices of the section,
        /// and in that.
        rules: Vec<(usize, usize)>,
    },
}

/// Compiles the headers and returns all subjects. `notify` receives the names of types that no
/// header defines.
///
/// # Errors
/// A header cannot be compiled, or its object cannot be read.
pub fn open_subjects(
    request: &CheckRequest,
    config: &CheckConfig,
    progress: &dyn RecordingProgress,
    notify: &dyn Fn(&str),
) -> Result<Vec<CheckedSubject>, UserError> {
    let mut subjects: Vec<CheckedSubject> =
        (0..request.files.len()).map(CheckedSubject::File).collect();
    if request.sources.headers.is_empty() {
        return Ok(subjects);
    }
    let mut defined: Vec<(usize, usize)> = Vec::new();
    let mut taken: Vec<(Option<String>, usize, usize)> = Vec::new();
    for built in compile_headers(&request.sources, &template_instances(config), progress)? {
        let facts = facts_of_header(request, &built)?;
        let rules = with_object(&built, |catalog| {
            rules_with_definitions(config, catalog, &facts)
        })?;
        defined.extend(&rules);
        let is_new = |(section, of_type): &(usize, usize)| {
            let key = (built.configuration.clone(), *section, *of_type);
            !taken.contains(&key)
        };
        let new: Vec<(usize, usize)> = rules.iter().copied().filter(is_new).collect();
        // An earlier header includes it.
        if new.is_empty() && !rules.is_empty() {
            continue;
        }
        let keys = new.iter();
        taken.extend(
            keys.map(|(section, of_type)| (built.configuration.clone(), *section, *of_type)),
        );
        let mut named = request.configurations.clone();
        named.extend(built.configuration.clone());
        subjects.push(CheckedSubject::Header {
            built,
            named,
            rules: new,
        });
    }
    note_undefined_types(request, config, &defined, notify);
    Ok(subjects)
}

impl CheckedSubject {
    /// Opens the subject and calls `then` with its types, the facts about it, its configurations,
    /// and the choice of rules that apply.
    ///
    /// # Errors
    /// The file cannot be read or has no types; and those of `then`.
    pub(super) fn with_types<T>(
        &self,
        request: &CheckRequest,
        config: &CheckConfig,
        notify: &dyn Fn(&str),
        then: impl FnOnce(
            &TypeCatalog<'_>,
            &FileFacts,
            &[String],
            &dyn Fn(&TypeRules) -> bool,
        ) -> Result<T, UserError>,
    ) -> Result<T, UserError> {
        match self {
            Self::File(index) => {
                super::with_file(request, &request.files[*index], notify, |catalog, facts| {
                    then(catalog, facts, &request.configurations, &|_| true)
                })
            }
            Self::Header {
                built,
                named,
                rules,
            } => {
                let facts = facts_of_header(request, built)?;
                let wanted = |rule: &TypeRules| {
                    (rules.iter()).any(|(section, of_type)| {
                        std::ptr::eq(&config.sections[*section].types[*of_type], rule)
                    })
                };
                with_object(built, |catalog| then(catalog, &facts, named, &wanted))
            }
        }
    }
}

/// Returns the instances of templates that the rules name.
fn template_instances(config: &CheckConfig) -> Vec<String> {
    let closed = config
        .sections
        .iter()
        .flat_map(|section| &section.types)
        .map(|rules| &rules.name)
        .filter(|name| !name.is_open() && name.as_str().contains('<'));
    let mut found: Vec<String> = closed.map(|name| name.as_str().to_owned()).collect();
    found.sort();
    found.dedup();
    found
}

fn facts_of_header(request: &CheckRequest, built: &CompiledHeader) -> Result<FileFacts, UserError> {
    let mut facts = FileFacts::from_headers(built.header.display().to_string(), &built.object);
    let text = match &request.kconfig {
        Some(path) => Some(read_text(path)?),
        None => built.kernel_config.clone(),
    };
    let config = text.map(|text| KernelConfig::parse(&text));
    facts.kernel_config = config.filter(|config| !config.is_empty());
    Ok(facts)
}

fn with_object<T>(
    built: &CompiledHeader,
    then: impl FnOnce(&TypeCatalog<'_>) -> Result<T, UserError>,
) -> Result<T, UserError> {
    let store = SectionStore::default();
    let catalog = TypeCatalog::parse(&built.object, &store, DebugInfoFormat::Any).map_err(
        UserError::wrap(format!(
            "cannot read what {} was compiled to",
            built.header.display()
        )),
    )?;
    then(&catalog)
}

fn rules_with_definitions(
    config: &CheckConfig,
    catalog: &TypeCatalog<'_>,
    facts: &FileFacts,
) -> Result<Vec<(usize, usize)>, UserError> {
    let mut found = Vec::new();
    for (index, section) in config.sections.iter().enumerate() {
        for (of_type, rules) in section.types.iter().enumerate() {
            if defines_type(catalog, facts, rules)? {
                found.push((index, of_type));
            }
        }
    }
    Ok(found)
}

/// Names the types of rules that no header defines: a misspelt name would go unchecked otherwise.
fn note_undefined_types(
    request: &CheckRequest,
    config: &CheckConfig,
    defined: &[(usize, usize)],
    notify: &dyn Fn(&str),
) {
    let mut names: Vec<&str> = Vec::new();
    for (index, section) in config.sections.iter().enumerate() {
        for (of_type, rules) in section.types.iter().enumerate() {
            let name = rules.name.as_str();
            if !defined.contains(&(index, of_type)) && !names.contains(&name) {
                names.push(name);
            }
        }
    }
    if !names.is_empty() {
        let headers: Vec<String> = (request.sources.headers.iter())
            .map(|header| Path::display(header).to_string())
            .collect();
        notify(&format!(
            "note: not checked, because not defined by {}: {}",
            headers.join(" or "),
            names.join(", ")
        ));
    }
}
