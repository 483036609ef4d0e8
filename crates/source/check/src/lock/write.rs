//! Writer of lock files. The same content gives the same text, with one line for each member, so
//! that a change is readable as a patch.

use std::fmt::{self, Write};

use super::parse::VERSION;
use crate::known::KnownMember;
use crate::{LayoutLock, LockRecord, RecordedHotMember, RecordedType};

const HEAD: &str = "\
# Which members are hot, and where they were: written by `relayout check --update`. Keep it beside
# relayout.toml. What is in it: docs/check.md.
";

impl LayoutLock {
    /// Renders the text of the lock file.
    pub fn to_text(&self) -> String {
        let mut out = String::new();
        write_lock(&mut out, self).expect("writing to a string does not fail");
        out
    }
}

fn write_lock(out: &mut String, lock: &LayoutLock) -> fmt::Result {
    writeln!(out, "{HEAD}version = {VERSION}")?;
    for record in &lock.records {
        write_record(out, record)?;
    }
    Ok(())
}

fn write_record(out: &mut String, record: &LockRecord) -> fmt::Result {
    writeln!(out, "\n[[record]]")?;
    if !record.configurations.is_empty() {
        let names: Vec<String> = record
            .configurations
            .iter()
            .map(|name| quoted(name))
            .collect();
        writeln!(out, "configuration = [{}]", names.join(", "))?;
    }
    if let Some(machine) = record.machine {
        writeln!(out, "machine = {}", quoted(machine.as_str()))?;
    }
    if let Some(bytes) = record.pointer_bytes {
        writeln!(out, "pointer_size = {bytes}")?;
    }
    if let Some(id) = &record.build_id {
        writeln!(out, "build_id = {}", quoted(id))?;
    }
    writeln!(out, "file = {}", quoted(&record.file))?;
    if let Some(profile) = &record.profile {
        writeln!(
            out,
            "profile = {{ workload = {}, build_id = {}, transfers = {} }}",
            quoted(&profile.workload),
            quoted(&profile.build_id),
            profile.transfers
        )?;
    }
    let mut types: Vec<&RecordedType> = record.types.iter().collect();
    types.sort_by(|a, b| a.layout.name.cmp(&b.layout.name));
    types
        .into_iter()
        .try_for_each(|recorded| write_type(out, recorded))
}

fn write_type(out: &mut String, recorded: &RecordedType) -> fmt::Result {
    writeln!(out, "\n[[record.type]]")?;
    writeln!(out, "name = {}", quoted(&recorded.layout.name))?;
    writeln!(out, "size = {}", recorded.layout.size)?;
    writeln!(out, "cacheline_size = {}", recorded.line_bytes)?;
    if recorded.phase > 0 {
        writeln!(out, "phase = {}", recorded.phase)?;
    }
    if !recorded.hot.is_empty() {
        writeln!(out, "hot = [")?;
        let mut line = None;
        for member in &recorded.hot {
            let here = recorded.line_of(member.offset);
            if line.replace(here) != Some(here) {
                writeln!(out, "  # line {here}")?;
            }
            writeln!(out, "  {},", hot_member_text(member))?;
        }
        writeln!(out, "]")?;
    }
    if !recorded.layout.members.is_empty() {
        writeln!(out, "members = [")?;
        for member in &recorded.layout.members {
            writeln!(out, "  {},", quoted(&known_member_text(member)))?;
        }
        writeln!(out, "]")?;
    }
    Ok(())
}

fn hot_member_text(member: &RecordedHotMember) -> String {
    format!(
        "{{ member = {}, offset = {}, size = {}, reads = {}, writes = {}, contexts = {}, transfers = {} }}",
        quoted(&member.path),
        member.offset,
        member.size,
        member.reads,
        member.writes,
        member.contexts,
        member.transfers
    )
}

fn known_member_text(member: &KnownMember) -> String {
    let bits = |bits: u64| match bits % 8 {
        0 => (bits / 8).to_string(),
        rest => format!("{}:{rest}", bits / 8),
    };
    let (first, size) = (bits(member.first_bit), bits(member.size_bits));
    format!("{first} {size} {}", member.path)
}

/// Renders a TOML string.
fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for letter in text.chars() {
        match letter {
            '"' | '\\' => out.extend(['\\', letter]),
            letter if letter.is_control() => {
                let _ = write!(out, "\\u{:04X}", u32::from(letter));
            }
            letter => out.push(letter),
        }
    }
    out.push('"');
    out
}
