//! Selection of the sections and configurations that apply to a file.

use relayout_layout::catalog::TypeCatalog;
use relayout_layout::suggestions;

use crate::select;
use crate::{
    BuildConfiguration, CheckConfig, ConfigPosition, Error, FileFacts, KconfigOption, RuleSection,
    SectionCondition, TypePresence,
};

/// Default size of a cache line in bytes.
const LINE_BYTES: u64 = 64;

/// Configurations and sections that apply to one file.
#[derive(Clone, Debug)]
pub struct ApplicableSections<'c> {
    /// Configurations in force, in the order of the text.
    pub configurations: Vec<&'c BuildConfiguration>,
    /// Sections that apply, each with its cache line size in bytes.
    pub sections: Vec<(&'c RuleSection, u64)>,
}

impl ApplicableSections<'_> {
    /// Names of the configurations in force.
    pub fn configuration_names(&self) -> Vec<String> {
        let names = self.configurations.iter();
        names
            .map(|configuration| configuration.name.clone())
            .collect()
    }
}

/// Returns the configurations and sections of `config` that apply to a file. `named` lists the
/// configurations that the caller adds to those whose conditions the file meets.
///
/// # Errors
/// - A named configuration does not exist or does not fit the file.
/// - A condition asks for something that is unknown about the file.
/// - The configurations in force contradict each other.
pub fn applicable_sections<'c>(
    config: &'c CheckConfig,
    named: &[String],
    facts: &FileFacts,
    catalog: &TypeCatalog<'_>,
) -> Result<ApplicableSections<'c>, Error> {
    let evaluator = ConditionEvaluator { facts, catalog };
    for name in named {
        evaluator.require_conditions_of(config, name)?;
    }
    let mut configurations = Vec::new();
    for configuration in &config.configurations {
        let meets = || evaluator.all_hold(&configuration.conditions, configuration.at);
        if named.contains(&configuration.name) || !configuration.conditions.is_empty() && meets()? {
            configurations.push(configuration);
        }
    }
    let line_bytes = line_bytes(config, &configurations, facts)?;
    let mut sections = Vec::new();
    for section in &config.sections {
        let is_in = |names: &[String]| {
            configurations
                .iter()
                .any(|configuration| names.contains(&configuration.name))
        };
        let is_included = section.configurations.is_empty() || is_in(&section.configurations);
        if is_included
            && !is_in(&section.not_configurations)
            && evaluator.all_hold(&section.conditions, section.at)?
        {
            sections.push((section, section.line_bytes.unwrap_or(line_bytes)));
        }
    }
    Ok(ApplicableSections {
        configurations,
        sections,
    })
}

fn line_bytes(
    config: &CheckConfig,
    in_force: &[&BuildConfiguration],
    facts: &FileFacts,
) -> Result<u64, Error> {
    let mut given = in_force
        .iter()
        .filter_map(|configuration| Some((&configuration.name, configuration.line_bytes?)));
    let Some((first, bytes)) = given.next() else {
        return Ok(config.line_bytes.unwrap_or(LINE_BYTES));
    };
    match given.find(|(_, other)| *other != bytes) {
        Some((second, _)) => Err(Error::LineSizes {
            file: facts.path.clone(),
            first: first.clone(),
            second: second.clone(),
        }),
        None => Ok(bytes),
    }
}

/// Evaluates the conditions of sections and configurations for one file.
struct ConditionEvaluator<'a, 'f> {
    facts: &'a FileFacts,
    catalog: &'a TypeCatalog<'f>,
}

impl ConditionEvaluator<'_, '_> {
    fn require_conditions_of(&self, config: &CheckConfig, name: &str) -> Result<(), Error> {
        let Some(configuration) = config
            .configurations
            .iter()
            .find(|other| other.name == name)
        else {
            let names = config
                .configurations
                .iter()
                .map(|configuration| configuration.name.as_str());
            return Err(Error::UnknownConfiguration {
                name: name.to_owned(),
                close: suggestions::similar_names(names, name).into_iter().next(),
            });
        };
        for condition in &configuration.conditions {
            if !self.holds(condition, configuration.at)? {
                return Err(Error::NotOfConfiguration {
                    file: self.facts.path.clone(),
                    name: name.to_owned(),
                    needs: condition_text(condition),
                });
            }
        }
        Ok(())
    }

    /// Returns true if all conditions hold. One false condition decides, even if another condition
    /// cannot be evaluated.
    fn all_hold(&self, conditions: &[SectionCondition], at: ConfigPosition) -> Result<bool, Error> {
        let mut unknown = None;
        for condition in conditions {
            match self.holds(condition, at) {
                Ok(true) => {}
                Ok(false) => return Ok(false),
                Err(error) => unknown = unknown.or(Some(error)),
            }
        }
        unknown.map_or(Ok(true), Err)
    }

    fn holds(&self, condition: &SectionCondition, at: ConfigPosition) -> Result<bool, Error> {
        let facts = self.facts;
        let outcome = match condition {
            SectionCondition::Files(globs) => Ok(globs
                .iter()
                .any(|glob| glob.matches(&facts.path) || glob.matches(facts.file_name()))),
            SectionCondition::Machine(machines) => {
                let machine = facts.machine.as_ref();
                let machine = machine.map(|machine| machines.contains(machine));
                machine.ok_or("its file does not say for which machine it is")
            }
            SectionCondition::PointerBytes(bytes) => {
                let found = facts.pointer_bytes.map(|found| found == *bytes);
                found.ok_or("its file does not say how large a pointer is")
            }
            SectionCondition::LittleEndian(little) => {
                let found = facts.little_endian.map(|found| found == *little);
                found.ok_or("its file does not say in which order bytes are")
            }
            SectionCondition::BuildId(ids) => {
                let id = facts.build_id.as_deref().unwrap_or_default();
                Ok(ids.iter().any(|start| id.starts_with(start.as_str())))
            }
            SectionCondition::Kconfig(options) => match &facts.kernel_config {
                Some(config) => Ok(options
                    .iter()
                    .all(|wanted| config.value(&wanted.option) == wanted.value)),
                None => Err("the kernel's .config was not given (--kconfig FILE)"),
            },
            SectionCondition::Has(presences) => Ok(self.defines_all(presences)?),
        };
        outcome.map_err(|unknown| Error::Unknown {
            file: facts.path.clone(),
            at,
            needs: condition_text(condition),
            unknown,
        })
    }

    fn defines_all(&self, presences: &[TypePresence]) -> Result<bool, Error> {
        for presence in presences {
            let is_defined = select::has_definition(
                self.catalog,
                &self.facts.path,
                &presence.type_name,
                presence.member.as_ref(),
            )?;
            if is_defined == presence.not {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

/// Text of the condition in the syntax of the configuration.
fn condition_text(condition: &SectionCondition) -> String {
    fn list<T>(key: &str, values: &[T], text: impl Fn(&T) -> String) -> String {
        let all: Vec<String> = values.iter().map(text).collect();
        format!("{key} {}", all.join(", "))
    }
    match condition {
        SectionCondition::Files(globs) => list("file", globs, ToString::to_string),
        SectionCondition::Machine(machines) => list("machine", machines, ToString::to_string),
        SectionCondition::PointerBytes(bytes) => format!("pointer_size {bytes}"),
        SectionCondition::LittleEndian(true) => "endian little".to_owned(),
        SectionCondition::LittleEndian(false) => "endian big".to_owned(),
        SectionCondition::BuildId(ids) => list("build_id", ids, Clone::clone),
        SectionCondition::Kconfig(options) => list("kconfig", options, |option: &KconfigOption| {
            format!("{}={}", option.option, option.value)
        }),
        SectionCondition::Has(presences) => list("has", presences, |presence: &TypePresence| {
            let not = if presence.not { "!" } else { "" };
            match &presence.member {
                Some(member) => format!("{not}{}.{member}", presence.type_name),
                None => format!("{not}{}", presence.type_name),
            }
        }),
    }
}
