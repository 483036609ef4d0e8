//! Reader of the conditions of sections and configurations.

use relayout_layout::suggestions;

use super::reader::{TomlTable, TomlValue};
use crate::{
    GlobPattern, KconfigOption, MachineArchitecture, MemberPattern, SectionCondition, TypePattern,
    TypePresence,
};

/// Minimum number of digits of a build id. Shorter prefixes could match another build.
const BUILD_ID_DIGITS_MIN: usize = 8;

pub(super) fn read_conditions(table: &mut TomlTable<'_, '_>) -> Vec<SectionCondition> {
    let mut found = Vec::new();
    if let Some(value) = table.take_key("files") {
        let globs = value
            .strings()
            .into_iter()
            .map(|(glob, _)| GlobPattern::new(glob));
        found.push(SectionCondition::Files(globs.collect()));
    }
    if let Some(value) = table.take_key("machine") {
        let machines = value.strings().into_iter();
        let machines = machines.filter_map(|(name, value)| parse_machine(name, &value));
        found.push(SectionCondition::Machine(machines.collect()));
    }
    if let Some(value) = table.take_key("pointer_size") {
        match value.integer() {
            Some(bytes @ (4 | 8)) => found.push(SectionCondition::PointerBytes(bytes)),
            Some(bytes) => value.add_problem(format!("pointers have 4 or 8 bytes, not {bytes}")),
            None => {}
        }
    }
    if let Some(value) = table.take_key("endian") {
        match value.string() {
            Some("little") => found.push(SectionCondition::LittleEndian(true)),
            Some("big") => found.push(SectionCondition::LittleEndian(false)),
            Some(_) => value.add_problem("this must be `little` or `big`"),
            None => {}
        }
    }
    if let Some(value) = table.take_key("build_id") {
        let ids = value.strings().into_iter();
        found.push(SectionCondition::BuildId(
            ids.filter_map(|(id, value)| parse_build_id(id, &value))
                .collect(),
        ));
    }
    if let Some(value) = table.take_key("kconfig") {
        let options = value.strings().into_iter();
        found.push(SectionCondition::Kconfig(
            options
                .filter_map(|(text, value)| parse_kconfig(text, &value))
                .collect(),
        ));
    }
    if let Some(value) = table.take_key("has") {
        let presences = value.strings().into_iter();
        found.push(SectionCondition::Has(
            presences
                .filter_map(|(text, value)| parse_presence(text, &value))
                .collect(),
        ));
    }
    found
}

fn parse_machine(name: &str, value: &TomlValue<'_, '_>) -> Option<MachineArchitecture> {
    let machine = MachineArchitecture::from_name(name);
    if machine.is_none() {
        let suggestions = suggestions::similar_names(MachineArchitecture::names(), name);
        let remedy = match suggestions.first() {
            Some(close) => format!("did you mean `{close}`?"),
            None => {
                let names: Vec<&str> = MachineArchitecture::names().collect();
                format!("there are {}", super::reader::quoted_list(&names))
            }
        };
        value.add_remedied(format!("unknown machine `{name}`"), remedy);
    }
    machine
}

fn parse_build_id(id: &str, value: &TomlValue<'_, '_>) -> Option<String> {
    let hexadecimal = id.bytes().all(|digit| digit.is_ascii_hexdigit());
    if !hexadecimal || id.len() < BUILD_ID_DIGITS_MIN {
        value.add_problem(format!(
            "`{id}` is not the beginning of a build id: at least {BUILD_ID_DIGITS_MIN} hexadecimal digits"
        ));
        return None;
    }
    Some(id.to_ascii_lowercase())
}

fn parse_kconfig(text: &str, value: &TomlValue<'_, '_>) -> Option<KconfigOption> {
    let parts = text
        .split_once('=')
        .map(|(option, is)| (option.trim(), is.trim()));
    let good = parts.filter(|(option, is)| {
        let letters = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
        option
            .strip_prefix("CONFIG_")
            .is_some_and(|name| !name.is_empty())
            && option.bytes().all(letters)
            && !is.is_empty()
    });
    if good.is_none() {
        value.add_problem(format!(
            "`{text}` is no option of a kernel's .config with its value: write `CONFIG_SMP=y`, or `=n` where it is not set"
        ));
    }
    good.map(|(option, is)| KconfigOption {
        option: option.to_owned(),
        value: is.to_owned(),
    })
}

fn parse_presence(text: &str, value: &TomlValue<'_, '_>) -> Option<TypePresence> {
    let (not, rest) = match text.strip_prefix('!') {
        Some(rest) => (true, rest),
        None => (false, text),
    };
    let (type_name, member) = match dot_outside_brackets(rest) {
        Some(dot) => (&rest[..dot], Some(&rest[dot + 1..])),
        None => (rest, None),
    };
    let parse = || {
        let type_name = TypePattern::parse(type_name)?;
        let member = member.map(MemberPattern::parse).transpose()?;
        if type_name.is_open() || member.as_ref().is_some_and(MemberPattern::is_open) {
            return Err(format!(
                "`{text}` must name one type or member, without `*` and `?`"
            ));
        }
        Ok(TypePresence {
            not,
            type_name,
            member,
        })
    };
    parse().map_err(|message| value.add_problem(message)).ok()
}

/// Returns the position of the first dot outside template arguments.
fn dot_outside_brackets(text: &str) -> Option<usize> {
    let mut depth = 0u32;
    text.bytes().position(|byte| {
        match byte {
            b'<' => depth += 1,
            b'>' => depth = depth.saturating_sub(1),
            _ => {}
        }
        byte == b'.' && depth == 0
    })
}
