//! What is checked: files that are there, and headers that were compiled.

use std::path::Path;

use anyhow::Context;
use relayout_check::{CheckConfig, FileFacts, KernelConfig, TypeRules, defines_type};
use relayout_layout::catalog::{DebugInfoFormat, TypeCatalog};
use relayout_layout::dwarf::SectionStore;

use super::Args;
use super::source::{self, CompiledHeader};

/// One of them.
pub enum CheckedSubject {
    /// A file, by its place among the arguments.
    File(usize),
    /// A header in one configuration.
    Header {
        /// What came of compiling it.
        built: CompiledHeader,
        /// The configurations that it is of.
        named: Vec<String>,
        /// Which rules it is checked against: those for types that it defines and no header before it
        /// did. By the places of their section, and in that.
        rules: Vec<(usize, usize)>,
    },
}

/// All that is to be checked. Headers are compiled; what none of them defines is told of.
///
/// # Errors
/// Those of compiling; headers that define nothing of what is asserted.
pub fn checked_subjects(args: &Args, config: &CheckConfig) -> anyhow::Result<Vec<CheckedSubject>> {
    let mut subjects: Vec<CheckedSubject> =
        (0..args.files.len()).map(CheckedSubject::File).collect();
    if args.source.headers.is_empty() {
        return Ok(subjects);
    }
    let mut defined: Vec<(usize, usize)> = Vec::new();
    let mut taken: Vec<(Option<String>, usize, usize)> = Vec::new();
    for built in source::compile_headers(&args.source, &template_instances(config))? {
        let facts = facts_of_header(args, &built)?;
        let rules = with_object(&built, |catalog| {
            rules_with_definitions(config, catalog, &facts)
        })?;
        defined.extend(&rules);
        let is_new = |(section, of_type): &(usize, usize)| {
            let key = (built.configuration.clone(), *section, *of_type);
            !taken.contains(&key)
        };
        let new: Vec<(usize, usize)> = rules.iter().copied().filter(is_new).collect();
        // What it defines was checked as what an earlier header includes.
        if new.is_empty() && !rules.is_empty() {
            continue;
        }
        let keys = new.iter();
        taken.extend(
            keys.map(|(section, of_type)| (built.configuration.clone(), *section, *of_type)),
        );
        let mut named = args.configuration.clone();
        named.extend(built.configuration.clone());
        subjects.push(CheckedSubject::Header {
            built,
            named,
            rules: new,
        });
    }
    note_undefined_types(args, config, &defined);
    Ok(subjects)
}

impl CheckedSubject {
    /// Opens it for its types; `then` is also given what conditions ask of it, the configurations that
    /// it is said to be of, and which rules are wanted of it.
    ///
    /// # Errors
    /// A file that cannot be read or has no types, and those of `then`.
    pub fn with<T>(
        &self,
        args: &Args,
        config: &CheckConfig,
        then: impl FnOnce(
            &TypeCatalog<'_>,
            &FileFacts,
            &[String],
            &dyn Fn(&TypeRules) -> bool,
        ) -> anyhow::Result<T>,
    ) -> anyhow::Result<T> {
        match self {
            Self::File(index) => super::with_file(args, &args.files[*index], |catalog, facts| {
                then(catalog, facts, &args.configuration, &|_| true)
            }),
            Self::Header {
                built,
                named,
                rules,
            } => {
                let facts = facts_of_header(args, built)?;
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

/// Types that only exist where they are named: instances of templates.
fn template_instances(config: &CheckConfig) -> Vec<String> {
    let sections = config.sections.iter();
    let names = sections
        .flat_map(|section| &section.types)
        .map(|rules| &rules.name);
    let closed = names.filter(|name| !name.is_open() && name.as_str().contains('<'));
    let mut found: Vec<String> = closed.map(|name| name.as_str().to_owned()).collect();
    found.sort();
    found.dedup();
    found
}

fn facts_of_header(args: &Args, built: &CompiledHeader) -> anyhow::Result<FileFacts> {
    let mut facts = FileFacts::from_headers(built.header.display().to_string(), &built.object);
    let text = match &args.kconfig {
        Some(path) => Some(super::input::read_text(path)?),
        None => built.kernel_config.clone(),
    };
    let config = text.map(|text| KernelConfig::parse(&text));
    facts.kernel_config = config.filter(|config| !config.is_empty());
    Ok(facts)
}

fn with_object<T>(
    built: &CompiledHeader,
    then: impl FnOnce(&TypeCatalog<'_>) -> anyhow::Result<T>,
) -> anyhow::Result<T> {
    let store = SectionStore::default();
    let catalog =
        TypeCatalog::parse(&built.object, &store, DebugInfoFormat::Any).with_context(|| {
            format!(
                "cannot read what {} was compiled to",
                built.header.display()
            )
        })?;
    then(&catalog)
}

fn rules_with_definitions(
    config: &CheckConfig,
    catalog: &TypeCatalog<'_>,
    facts: &FileFacts,
) -> anyhow::Result<Vec<(usize, usize)>> {
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

/// A name that is not spelt as it should be would go unchecked otherwise.
fn note_undefined_types(args: &Args, config: &CheckConfig, defined: &[(usize, usize)]) {
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
        let headers: Vec<String> = (args.source.headers.iter())
            .map(|header| Path::display(header).to_string())
            .collect();
        eprintln!(
            "relayout: note: not checked, because not defined by {}: {}",
            headers.join(" or "),
            names.join(", ")
        );
    }
}
