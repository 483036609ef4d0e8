//! Which sections apply to a file.

use relayout_layout::catalog::Catalog;
use relayout_layout::close;

use crate::select;
use crate::{Condition, Config, Configuration, Error, Facts, Has, Kconfig, Position, Section};

/// Bytes of a cache line where nothing says so.
const LINE_BYTES: u64 = 64;

/// What applies to one file.
#[derive(Clone, Debug)]
pub struct Applied<'c> {
    /// The configurations in force, in the order of the text.
    pub configurations: Vec<&'c Configuration>,
    /// The sections that apply, with the bytes of a cache line in each.
    pub sections: Vec<(&'c Section, u64)>,
}

/// Tells what of `config` applies to a file. `named` are the configurations that the caller says
/// the file is of, beside those whose conditions it meets.
///
/// # Errors
/// A named configuration that is not there or does not fit the file, a condition on something that
/// is not known of it, configurations that contradict each other.
pub fn applied<'c>(
    config: &'c Config,
    named: &[String],
    facts: &Facts,
    catalog: &Catalog<'_>,
) -> Result<Applied<'c>, Error> {
    let ask = Ask { facts, catalog };
    for name in named {
        ask.check_named(config, name)?;
    }
    let mut configurations = Vec::new();
    for one in &config.configurations {
        let meets = || ask.all(&one.conditions, one.at);
        if named.contains(&one.name) || !one.conditions.is_empty() && meets()? {
            configurations.push(one);
        }
    }
    let line_bytes = line_bytes(config, &configurations, facts)?;
    let mut sections = Vec::new();
    for section in &config.sections {
        let is_in = |names: &[String]| configurations.iter().any(|one| names.contains(&one.name));
        let of = section.configurations.is_empty() || is_in(&section.configurations);
        if of && !is_in(&section.not_configurations) && ask.all(&section.conditions, section.at)? {
            sections.push((section, section.line_bytes.unwrap_or(line_bytes)));
        }
    }
    Ok(Applied {
        configurations,
        sections,
    })
}

fn line_bytes(config: &Config, in_force: &[&Configuration], facts: &Facts) -> Result<u64, Error> {
    let mut given = in_force
        .iter()
        .filter_map(|one| Some((&one.name, one.line_bytes?)));
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

/// A file that is asked for conditions.
struct Ask<'a, 'f> {
    facts: &'a Facts,
    catalog: &'a Catalog<'f>,
}

impl Ask<'_, '_> {
    fn check_named(&self, config: &Config, name: &str) -> Result<(), Error> {
        let Some(one) = config.configurations.iter().find(|one| one.name == name) else {
            let names = config.configurations.iter().map(|one| one.name.as_str());
            return Err(Error::UnknownConfiguration {
                name: name.to_owned(),
                close: close::names(names, name).into_iter().next(),
            });
        };
        for condition in &one.conditions {
            if !self.one(condition, one.at)? {
                return Err(Error::NotOfConfiguration {
                    file: self.facts.path.clone(),
                    name: name.to_owned(),
                    needs: words(condition),
                });
            }
        }
        Ok(())
    }

    /// Whether all hold. Where one does not, it does not matter that another cannot be told.
    fn all(&self, conditions: &[Condition], at: Position) -> Result<bool, Error> {
        let mut unknown = None;
        for condition in conditions {
            match self.one(condition, at) {
                Ok(true) => {}
                Ok(false) => return Ok(false),
                Err(error) => unknown = unknown.or(Some(error)),
            }
        }
        unknown.map_or(Ok(true), Err)
    }

    fn one(&self, condition: &Condition, at: Position) -> Result<bool, Error> {
        let facts = self.facts;
        let holds = match condition {
            Condition::Files(globs) => Ok(globs
                .iter()
                .any(|glob| glob.matches(&facts.path) || glob.matches(facts.file_name()))),
            Condition::Machine(machines) => {
                let machine = facts.machine.as_ref();
                let machine = machine.map(|machine| machines.contains(machine));
                machine.ok_or("its file does not say for which machine it is")
            }
            Condition::PointerBytes(bytes) => {
                let found = facts.pointer_bytes.map(|found| found == *bytes);
                found.ok_or("its file does not say how large a pointer is")
            }
            Condition::LittleEndian(little) => {
                let found = facts.little_endian.map(|found| found == *little);
                found.ok_or("its file does not say in which order bytes are")
            }
            Condition::BuildId(ids) => {
                let id = facts.build_id.as_deref().unwrap_or_default();
                Ok(ids.iter().any(|start| id.starts_with(start.as_str())))
            }
            Condition::Kconfig(options) => match &facts.kernel_config {
                Some(config) => Ok(options
                    .iter()
                    .all(|one| config.value(&one.option) == one.value)),
                None => Err("the kernel's .config was not given (--kconfig FILE)"),
            },
            Condition::Has(all) => Ok(self.has(all)?),
        };
        holds.map_err(|unknown| Error::Unknown {
            file: facts.path.clone(),
            at,
            needs: words(condition),
            unknown,
        })
    }

    fn has(&self, all: &[Has]) -> Result<bool, Error> {
        for one in all {
            let there = select::is_there(
                self.catalog,
                &self.facts.path,
                &one.type_name,
                one.member.as_ref(),
            )?;
            if there == one.not {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

/// The condition as it is written.
fn words(condition: &Condition) -> String {
    fn list<T>(key: &str, all: &[T], text: impl Fn(&T) -> String) -> String {
        let all: Vec<String> = all.iter().map(text).collect();
        format!("{key} {}", all.join(", "))
    }
    match condition {
        Condition::Files(globs) => list("file", globs, ToString::to_string),
        Condition::Machine(machines) => list("machine", machines, ToString::to_string),
        Condition::PointerBytes(bytes) => format!("pointer_size {bytes}"),
        Condition::LittleEndian(true) => "endian little".to_owned(),
        Condition::LittleEndian(false) => "endian big".to_owned(),
        Condition::BuildId(ids) => list("build_id", ids, Clone::clone),
        Condition::Kconfig(all) => list("kconfig", all, |one: &Kconfig| {
            format!("{}={}", one.option, one.value)
        }),
        Condition::Has(all) => list("has", all, |one: &Has| {
            let not = if one.not { "!" } else { "" };
            match &one.member {
                Some(member) => format!("{not}{}.{member}", one.type_name),
                None => format!("{not}{}", one.type_name),
            }
        }),
    }
}
