//! Reads what a file must be for a section or configuration.

use relayout_layout::close;

use super::reader::{Table, Value};
use crate::{Condition, Glob, Has, Kconfig, Machine, MemberPattern, TypePattern};

/// Fewer digits of a build id could be those of another build.
const BUILD_ID_DIGITS_MIN: usize = 8;

pub(super) fn conditions(table: &mut Table<'_, '_>) -> Vec<Condition> {
    let mut found = Vec::new();
    if let Some(value) = table.take("files") {
        let globs = value.strings().into_iter().map(|(glob, _)| Glob::new(glob));
        found.push(Condition::Files(globs.collect()));
    }
    if let Some(value) = table.take("machine") {
        let machines = value.strings().into_iter();
        let machines = machines.filter_map(|(name, value)| machine(name, &value));
        found.push(Condition::Machine(machines.collect()));
    }
    if let Some(value) = table.take("pointer_size") {
        match value.integer() {
            Some(bytes @ (4 | 8)) => found.push(Condition::PointerBytes(bytes)),
            Some(bytes) => value.wrong(format!("pointers have 4 or 8 bytes, not {bytes}")),
            None => {}
        }
    }
    if let Some(value) = table.take("endian") {
        match value.string() {
            Some("little") => found.push(Condition::LittleEndian(true)),
            Some("big") => found.push(Condition::LittleEndian(false)),
            Some(_) => value.wrong("this must be `little` or `big`"),
            None => {}
        }
    }
    if let Some(value) = table.take("build_id") {
        let ids = value.strings().into_iter();
        found.push(Condition::BuildId(
            ids.filter_map(|(id, value)| build_id(id, &value)).collect(),
        ));
    }
    if let Some(value) = table.take("kconfig") {
        let options = value.strings().into_iter();
        found.push(Condition::Kconfig(
            options
                .filter_map(|(text, value)| kconfig(text, &value))
                .collect(),
        ));
    }
    if let Some(value) = table.take("has") {
        let all = value.strings().into_iter();
        found.push(Condition::Has(
            all.filter_map(|(text, value)| has(text, &value)).collect(),
        ));
    }
    found
}

fn machine(name: &str, value: &Value<'_, '_>) -> Option<Machine> {
    let machine = Machine::from_name(name);
    if machine.is_none() {
        let close = close::names(Machine::names(), name);
        let hint = match close.first() {
            Some(close) => format!("; did you mean `{close}`?"),
            None => {
                let names: Vec<&str> = Machine::names().collect();
                format!("; there are {}", super::reader::listed(&names))
            }
        };
        value.wrong(format!("unknown machine `{name}`{hint}"));
    }
    machine
}

fn build_id(id: &str, value: &Value<'_, '_>) -> Option<String> {
    let hexadecimal = id.bytes().all(|digit| digit.is_ascii_hexdigit());
    if !hexadecimal || id.len() < BUILD_ID_DIGITS_MIN {
        value.wrong(format!(
            "`{id}` is not the beginning of a build id: at least {BUILD_ID_DIGITS_MIN} hexadecimal digits"
        ));
        return None;
    }
    Some(id.to_ascii_lowercase())
}

fn kconfig(text: &str, value: &Value<'_, '_>) -> Option<Kconfig> {
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
        value.wrong(format!(
            "`{text}` is no option of a kernel's .config with its value: write `CONFIG_SMP=y`, or `=n` where it is not set"
        ));
    }
    good.map(|(option, is)| Kconfig {
        option: option.to_owned(),
        value: is.to_owned(),
    })
}

fn has(text: &str, value: &Value<'_, '_>) -> Option<Has> {
    let (not, rest) = match text.strip_prefix('!') {
        Some(rest) => (true, rest),
        None => (false, text),
    };
    let (type_name, member) = match dot_outside_brackets(rest) {
        Some(dot) => (&rest[..dot], Some(&rest[dot + 1..])),
        None => (rest, None),
    };
    let read = || {
        let type_name = TypePattern::parse(type_name)?;
        let member = member.map(MemberPattern::parse).transpose()?;
        if type_name.is_open() || member.as_ref().is_some_and(MemberPattern::is_open) {
            return Err(format!(
                "`{text}` must name one type or member, without `*` and `?`"
            ));
        }
        Ok(Has {
            not,
            type_name,
            member,
        })
    };
    read().map_err(|message| value.wrong(message)).ok()
}

/// The first dot that is not within the arguments of a template.
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
