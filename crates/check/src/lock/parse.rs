//! Reads a lock file.

use crate::config::reader::{Reader, Table, Value};
use crate::known::{KnownMember, KnownType};
use crate::{ConfigError, HotMember, Lock, Machine, ProfileFacts, Record, RecordedType};

/// The version that is written and read.
pub(super) const VERSION: u64 = 1;

impl Lock {
    /// Reads the text of a lock file. Never panics, whatever the text is.
    ///
    /// # Errors
    /// Everything that is wrong with the text.
    pub fn parse(text: &str) -> Result<Self, ConfigError> {
        Reader::read(text, lock)
    }
}

fn lock(table: &mut Table<'_, '_>) -> Lock {
    if let Some(value) = table.need("version", "a lock file")
        && let Some(version) = value.integer()
        && version != VERSION
    {
        value.wrong(format!(
            "this relayout reads lock files of version {VERSION}, not {version}; write it again with `relayout check --update`"
        ));
    }
    let records = table.take("record").map(|value| value.list());
    let records = records.unwrap_or_default();
    Lock {
        records: records.iter().filter_map(record).collect(),
    }
}

fn record(value: &Value<'_, '_>) -> Option<Record> {
    let mut table = value.table()?;
    let text = |value: Option<Value<'_, '_>>| {
        let text = value.and_then(|value| value.string().map(str::to_owned));
        text.unwrap_or_default()
    };
    let names = table.take("configuration").map(|value| value.strings());
    let machine = table.take("machine").and_then(|value| {
        let machine = Machine::from_name(value.string()?);
        if machine.is_none() {
            value.wrong("unknown machine");
        }
        machine
    });
    let record = Record {
        configurations: names
            .unwrap_or_default()
            .into_iter()
            .map(|(name, _)| name.to_owned())
            .collect(),
        machine,
        pointer_bytes: table.take("pointer_size").and_then(|value| value.integer()),
        build_id: table
            .take("build_id")
            .and_then(|value| value.string().map(str::to_owned)),
        file: text(table.take("file")),
        profile: table.take("profile").and_then(|value| {
            let mut table = value.table()?;
            let facts = ProfileFacts {
                workload: text(table.take("workload")),
                build_id: text(table.take("build_id")),
                transfers: table.take("transfers").and_then(|value| value.integer())?,
            };
            table.finish();
            Some(facts)
        }),
        types: {
            let types = table.take("type").map(|value| value.list());
            let types = types.unwrap_or_default();
            types.iter().filter_map(one_type).collect()
        },
    };
    table.finish();
    Some(record)
}

fn one_type(value: &Value<'_, '_>) -> Option<RecordedType> {
    let mut table = value.table()?;
    let mut number = |key, what: &str| table.need(key, what).and_then(|value| value.integer());
    let size = number("size", "a recorded type");
    let line_bytes = number("cacheline_size", "a recorded type");
    let phase = table.take("phase").and_then(|value| value.integer());
    let name = table.need("name", "a recorded type");
    let name = name.and_then(|value| value.string().map(str::to_owned));
    let hot = table.take("hot").map(|value| value.list());
    let members = table.take("members").map(|value| value.strings());
    let members = members.unwrap_or_default().into_iter();
    let members = members.filter_map(|(text, value)| {
        let member = known_member(text);
        if member.is_none() {
            value.wrong("this is not `OFFSET SIZE NAME`");
        }
        member
    });
    let recorded = RecordedType {
        line_bytes: line_bytes.filter(|bytes| *bytes > 0)?,
        phase: phase.unwrap_or(0),
        hot: hot
            .unwrap_or_default()
            .iter()
            .filter_map(hot_member)
            .collect(),
        layout: KnownType {
            name: name?,
            size: size?,
            members: members.collect(),
        },
    };
    table.finish();
    Some(recorded)
}

/// `80 8 pgd`, `80:3 0:1 flag`: bytes, and bits after the colon.
fn known_member(text: &str) -> Option<KnownMember> {
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

fn hot_member(value: &Value<'_, '_>) -> Option<HotMember> {
    let mut table = value.table()?;
    let path = table.need("member", "a hot member");
    let path = path.and_then(|value| value.string().map(str::to_owned));
    let mut number = |key| {
        table
            .need(key, "a hot member")
            .and_then(|value| value.integer())
    };
    let member = HotMember {
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
