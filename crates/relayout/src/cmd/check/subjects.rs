//! What is checked: files that are there, and headers that were compiled.

use std::path::Path;

use anyhow::Context;
use relayout_check::{Config, Facts, KernelConfig, TypeRules, defines};
use relayout_layout::catalog::{Catalog, Format};
use relayout_layout::dwarf::SectionStore;

use super::Args;
use super::source::{self, Built};

/// One of them.
pub enum Subject {
    /// A file, by its place among the arguments.
    File(usize),
    /// A header in one configuration.
    Header {
        /// What came of compiling it.
        built: Built,
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
pub fn all(args: &Args, config: &Config) -> anyhow::Result<Vec<Subject>> {
    let mut subjects: Vec<Subject> = (0..args.files.len()).map(Subject::File).collect();
    if args.source.headers.is_empty() {
        return Ok(subjects);
    }
    let mut defined: Vec<(usize, usize)> = Vec::new();
    let mut taken: Vec<(Option<String>, usize, usize)> = Vec::new();
    for built in source::build(&args.source, &instances(config))? {
        let facts = facts(args, &built)?;
        let rules = with_object(&built, |catalog| rules_of(config, catalog, &facts))?;
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
        subjects.push(Subject::Header {
            built,
            named,
            rules: new,
        });
    }
    tell_of_others(args, config, &defined);
    Ok(subjects)
}

impl Subject {
    /// Opens it for its types; `then` is also given what conditions ask of it, the configurations that
    /// it is said to be of, and which rules are wanted of it.
    ///
    /// # Errors
    /// A file that cannot be read or has no types, and those of `then`.
    pub fn with<T>(
        &self,
        args: &Args,
        config: &Config,
        then: impl FnOnce(
            &Catalog<'_>,
            &Facts,
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
                let facts = facts(args, built)?;
                let wanted = |one: &TypeRules| {
                    (rules.iter()).any(|(section, of_type)| {
                        std::ptr::eq(&config.sections[*section].types[*of_type], one)
                    })
                };
                with_object(built, |catalog| then(catalog, &facts, named, &wanted))
            }
        }
    }
}

/// Types that only exist where they are named: instances of templates.
fn instances(config: &Config) -> Vec<String> {
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

fn facts(args: &Args, built: &Built) -> anyhow::Result<Facts> {
    let mut facts = Facts::of(built.header.display().to_string(), &built.object);
    let text = match &args.kconfig {
        Some(path) => Some(super::input::read_text(path)?),
        None => built.kernel_config.clone(),
    };
    let config = text.map(|text| KernelConfig::parse(&text));
    facts.kernel_config = config.filter(|config| !config.is_empty());
    Ok(facts)
}

fn with_object<T>(
    built: &Built,
    then: impl FnOnce(&Catalog<'_>) -> anyhow::Result<T>,
) -> anyhow::Result<T> {
    let store = SectionStore::default();
    let catalog = Catalog::parse_in(&built.object, &store, Format::Any).with_context(|| {
        format!(
            "cannot read what {} was compiled to",
            built.header.display()
        )
    })?;
    then(&catalog)
}

fn rules_of(
    config: &Config,
    catalog: &Catalog<'_>,
    facts: &Facts,
) -> anyhow::Result<Vec<(usize, usize)>> {
    let mut found = Vec::new();
    for (index, section) in config.sections.iter().enumerate() {
        for (of_type, rules) in section.types.iter().enumerate() {
            if defines(catalog, facts, rules)? {
                found.push((index, of_type));
            }
        }
    }
    Ok(found)
}

/// A name that is not spelt as it should be would go unchecked otherwise.
fn tell_of_others(args: &Args, config: &Config, defined: &[(usize, usize)]) {
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
