//! Columns of each table, with their meaning.

use super::ColumnKind::{Day, Integer, Number, Text};
use super::{ColumnKind, DataTable, TableColumn};

/// A query with a name.
#[derive(Clone, Copy, Debug)]
pub struct TableView {
    /// Name.
    pub name: &'static str,
    /// Sentence about its rows.
    pub meaning: &'static str,
    /// Its query.
    pub query: &'static str,
}

/// Order of the recordings in the order of the host that recorded, as `ProfileMeta::order_words` has it.
pub const HOST_ORDER: &str = "host";

/// Views, which queries use as tables.
pub const TABLE_VIEWS: [TableView; 2] = [
    TableView {
        name: "builds",
        meaning: "One row for each build and order: a kernel's release or a program's path, with its build id.",
        query: "SELECT target, release, build_id, access_order, MIN(date) AS first_date, MAX(date) AS last_date, \
                COUNT(*) AS recordings, SUM(all_transfers) AS all_transfers \
                FROM recordings GROUP BY target, release, build_id, access_order",
    },
    TableView {
        name: "costs",
        meaning: "One row for each member over all recordings of an order. Divide `share_sum` by the number of recordings \
                  for its mean share.",
        query: "SELECT type, variable, member, access_order, SUM(share) AS share_sum, SUM(transfers) AS transfers, \
                COUNT(*) AS recordings FROM members WHERE transfers > 0 GROUP BY type, variable, member, access_order",
    },
];

const fn column(name: &'static str, kind: ColumnKind, meaning: &'static str) -> TableColumn {
    TableColumn {
        name,
        kind,
        is_nullable: false,
        meaning,
        older_value: None,
    }
}

const fn optional(name: &'static str, kind: ColumnKind, meaning: &'static str) -> TableColumn {
    TableColumn {
        is_nullable: true,
        ..column(name, kind, meaning)
    }
}

/// Columns that say what a row was recorded on.
const ORIGIN: [TableColumn; 13] = [
    column(
        "recording",
        Text,
        "Identity of the recording: the same in every profile that holds it.",
    ),
    column("date", Day, "Day of the profile."),
    column("target", Text, "`kernel` or `program`."),
    column(
        "build_id",
        Text,
        "Build id of the kernel or program; empty where it has none.",
    ),
    column("release", Text, "Release of a kernel, path of a program."),
    column(
        "machine",
        Text,
        "Processor architecture: `x86_64`, `aarch64`.",
    ),
    column("collector", Text, "Collector, with its version."),
    TableColumn {
        older_value: Some(HOST_ORDER),
        ..column(
            "access_order",
            Text,
            "Order of the accesses: `host`, or the simulated machine that gave it, as in `sapphire-rapids-2s (pack)`. \
             Sums of different orders mean nothing. `host` in files of format 1, which lack the column.",
        )
    },
    column(
        "workload",
        Text,
        "Workload of a kernel, command line of a program without its folder.",
    ),
    column("cpus", Integer, "CPUs of the guest; threads of a program."),
    column("line_bytes", Integer, "Bytes of a cache line."),
    optional(
        "operations",
        Number,
        "Operations that the recording marked, scaled to the recorded time.",
    ),
    column(
        "all_transfers",
        Integer,
        "Transfers of the whole recording, those of memory without a name too.",
    ),
];

const RECORDING: [TableColumn; 6] = [
    column("seed", Integer, "Seed of the recording."),
    column("accesses", Integer, "Recorded accesses."),
    column(
        "wall_ns",
        Integer,
        "Recorded wall time in nanoseconds; of a simulated machine, its time.",
    ),
    optional(
        "operations_per_second",
        Number,
        "Operations a second on the simulated machine of `access_order`. Empty for recordings in the order of the host, for \
         those without operations, and in files of formats 1 and 2, which lack the column.",
    ),
    column("tool_version", Text, "Version of relayout that recorded."),
    column("profile", Text, "Path of the profile when it was added."),
];

const SUBJECT: [TableColumn; 4] = [
    column(
        "type",
        Text,
        "Type; empty for a variable that is of no struct or class.",
    ),
    column(
        "variable",
        Text,
        "Variable; empty for objects that are none.",
    ),
    column(
        "member",
        Text,
        "Path of the member from the type; empty for a hole, and for a variable without members.",
    ),
    column(
        "member_key",
        Integer,
        "Number that stands for type, variable and member. It is quick to group and to join by.",
    ),
];

const MEMBER: [TableColumn; 7] = [
    column(
        "offset_bytes",
        Integer,
        "Bytes from the start of the object, or of the element of an array; 0 for a hole.",
    ),
    column("size_bytes", Integer, "Size in bytes; 0 for a hole."),
    column(
        "transfers",
        Integer,
        "Transfers in which an access to the member missed what another CPU had written.",
    ),
    column(
        "share",
        Number,
        "`transfers` as a fraction of `all_transfers`.",
    ),
    column("reads", Integer, "Loads, while its line was contended."),
    column("writes", Integer, "Stores, while its line was contended."),
    column("member_cpus", Integer, "CPUs or threads that accessed it."),
];

const MEETING: [TableColumn; 12] = [
    column(
        "access",
        Text,
        "Access that missed: `read`, `write` or `read-write`.",
    ),
    optional("function", Text, "Function that it is in."),
    optional(
        "inlined",
        Text,
        "Functions inlined there, from the outside inwards.",
    ),
    optional("file", Text, "Source file."),
    optional("line", Integer, "Line in it, from 1."),
    column(
        "other_member",
        Text,
        "Member on the other side; with its object's name before it if that is another one.",
    ),
    column("other_access", Text, "Access on the other side."),
    optional("other_function", Text, "Function on the other side."),
    optional("other_inlined", Text, "Functions inlined there."),
    optional("other_file", Text, "Source file on the other side."),
    optional("other_line", Integer, "Line in it."),
    column("transfers", Integer, "Transfers."),
];

const LAYOUT: [TableColumn; 14] = [
    column("date", Day, "Day of the profile."),
    column("target", Text, "`kernel` or `program`."),
    column("build_id", Text, "Build id."),
    column("release", Text, "Release of a kernel, path of a program."),
    column("line_bytes", Integer, "Bytes of a cache line."),
    column("type", Text, "Type."),
    column("type_bytes", Integer, "Size of the type in bytes."),
    column(
        "position",
        Integer,
        "Place of the member in the order of declaration, from 0.",
    ),
    column(
        "member",
        Text,
        "Path of the member; those of anonymous structs and unions are members of the type.",
    ),
    column("offset_bytes", Integer, "Bytes from the start of the type."),
    column(
        "size_bytes",
        Integer,
        "Size in bytes, of a whole array; 0 where it is unknown.",
    ),
    optional(
        "bit_offset",
        Integer,
        "For bit-fields: bits from the start of the type.",
    ),
    optional("bit_size", Integer, "For bit-fields: size in bits."),
    column("member_type", Text, "Type of the member."),
];

pub(super) fn columns_of(table: DataTable) -> Vec<TableColumn> {
    match table {
        DataTable::Recordings => [&ORIGIN[..], &RECORDING].concat(),
        DataTable::Members => [&ORIGIN[..], &SUBJECT, &MEMBER].concat(),
        DataTable::Meetings => [&ORIGIN[..], &SUBJECT, &MEETING].concat(),
        DataTable::Layouts => LAYOUT.to_vec(),
    }
}
