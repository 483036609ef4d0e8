//! Reader of lock files.

use crate::config::reader::{TomlReader, TomlTable, TomlValue};
use crate::known::{KnownMember, KnownType};
use crate::{
    ConfigError, LayoutLock, LockRecord, MachineArchitecture, ProfileFacts, RecordedHotMember,
    RecordedType,
};

/// Version of the format.
pub(super) const VERSION: u64 = 1;

impl LayoutLock {
    /// Parses the text of a lock file. The parser does not panic on any text.
    ///
    /// # Errors
    /// Lists every problem of the text.
    pub fn parse(text: &str) -> Result<Self, ConfigError> {
        TomlReader::read(text, read_lock)
    }
}

fn read_lock(table: &mut TomlTable<'_, '_>) -> LayoutLock {
    if let Some(value) = table.require_key("version", "a lock file")
        && let Some(version) = value.integer()
        && version != VERSION
    {
        value.add_remedied(
            format!("this relayout reads lock files of version {VERSION}, not {version}"),
            "write it again with `relayout check --update`".to_owned(),
        );
    }
    LayoutLock {
        records: table
            .take_list("record")
            .iter()
            .filter_map(read_record)
            .collect(),
    }
}

fn read_record(value: &TomlValue<'_, '_>) -> Option<LockRecord> {
    let mut table = value.table()?;
    let names = table.take_strings("configuration").into_iter();
    let machine = table.take_key("machine").and_then(|value| {
        let machine = MachineArchitecture::from_name(value.string()?);
        if machine.is_none() {
            value.add_problem("unknown machine");
        }
        machine
    });
    let record = LockRecord {
        configurations: names.map(|(name, _)| name.to_owned()).collect(),
        machine,
        pointer_bytes: table.take_integer("pointer_size"),
        build_id: table.take_string("build_id").map(str::to_owned),
        file: table.take_string("file").unwrap_or_default().to_owned(),
        profile: table.take_key("profile").and_then(|value| {
            let mut table = value.table()?;
            let mut text = |key| table.take_string(key).unwrap_or_default().to_owned();
            let facts = ProfileFacts {
                workload: text("workload"),
                build_id: text("build_id"),
                transfers: table.take_integer("transfers")?,
            };
            table.finish();
            Some(facts)
        }),
        types: table
            .take_list("type")
            .iter()
            .filter_map(read_type)
            .collect(),
    };
    table.finish();
    Some(record)
}

fn read_type(value: &TomlValue<'_, '_>) -> Option<RecordedType> {
    let mut table = value.table()?;
    let mut number = |key, owner: &str| {
        table
            .require_key(key, owner)
            .and_then(|value| value.integer())
    };
    let size = number("size", "a recorded type");
    let line_bytes = number("cacheline_size", "a recorded type");
    let phase = table.take_integer("phase");
    let name = table.require_key("name", "a recorded type");
    let name = name.and_then(|value| value.string().map(str::to_owned));
    let hot = table.take_list("hot");
    let members = table.take_strings("members").into_iter();
    let members = members.filter_map(|(text, value)| {
        let member = parse_known_member(text);
        if member.is_none() {
            value.add_problem("this is not `OFFSET SIZE NAME`");
        }
        member
    });
    let recorded = RecordedType {
        line_bytes: line_bytes.filter(|bytes| *bytes > 0)?,
        phase: phase.unwrap_or(0),
        hot: hot.iter().filter_map(read_hot_member).collect(),
        layout: KnownType {
            name: name?,
            size: size?,
            members: members.collect(),
        },
    };
    table.finish();
    Some(recorded)
}

/// Parses a member: `80 8 pgd`, or `80:3 0:1 flag` with bits after the colon.
fn parse_known_member(text: &str) -> Option<KnownMember> {
    let mut words = text.splitn(3, ' ');
    let mut bits = || {
        let word = words.next()?;
        let (bytes, bits) = word.split_once(':').unwrap_or((word, "0"));
        let bytes: u64 = bytes.parse().ok()?;
        bytes.checked_mul(8)?.checked_add(bits.parse().ok()?)
    };
    let (first_bit, size_bits) = (bits()?, bits()?);
    let path = words.next().filter(|path| !path.is_empty())?.to_owned();
    Some(KnownMember {
        path,
        first_bit,
        size_bits,
    })
}

fn read_hot_member(value: &TomlValue<'_, '_>) -> Option<RecordedHotMember> {
    let mut table = value.table()?;
    let path = table.require_key("member", "a hot member");
    let path = path.and_then(|value| value.string().map(str::to_owned));
    let mut number = |key| {
        table
            .require_key(key, "a hot member")
            .and_then(|value| value.integer())
    };
    let member = RecordedHotMember {
        path: path?,
        offset: number("offset")?,
        size: number("size")?,
        reads: number("reads")?,
        writes: number("writes")?,
        contexts: u32::try_from(number("contexts")?).unwrap_or(u32::MAX),
        transfers: number("transfers")?,
    };
    table.finish();
    Some(member)
}
