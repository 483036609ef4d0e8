//! The tables: name, columns, and how each column is coded. Everything else in this folder works
//! from these descriptions.

use super::column::{AnyColumn, ColumnCoding, TableColumn};
use crate::ids::{Addr, ContextId, RunId, SiteId};
use crate::model::{
    AccessKind, BurstRow, CoherenceEvent, ConflictRow, CountRow, LineRow, PairRow, RangeKind,
    RangeRow, RegionRow, VisitRow, WaitRow,
};

/// A row type that has a file of its own.
pub(super) trait TableRow: Clone + Send + 'static {
    /// Name of the table; its file is `NAME.parquet`.
    const NAME: &'static str;

    /// A row to read into.
    fn blank() -> Self;

    /// The columns, in file order.
    fn columns() -> Vec<Box<dyn AnyColumn<Self>>>;
}

/// A [`crate::Site`] with its number, which other tools need to join on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SiteRow {
    pub(super) site: SiteId,
    pub(super) pc: u64,
    pub(super) bytes: Vec<u8>,
}

macro_rules! tables {
    ($($row:ident $name:literal { $($field:ident: $coding:ident = $blank:expr,)* })*) => {$(
        impl TableRow for $row {
            const NAME: &'static str = $name;

            fn blank() -> Self {
                Self { $($field: $blank,)* }
            }

            fn columns() -> Vec<Box<dyn AnyColumn<Self>>> {
                vec![$(Box::new(TableColumn {
                    name: stringify!($field),
                    coding: ColumnCoding::$coding,
                    get: |row: &Self| &row.$field,
                    get_mut: |row: &mut Self| &mut row.$field,
                }),)*]
            }
        }
    )*};
}

tables! {
    SiteRow "sites" {
        site: Delta = SiteId(0),
        pc: Delta = 0,
        bytes: Dictionary = Vec::new(),
    }
    LineRow "lines" {
        run: Dictionary = RunId(0),
        line: Delta = Addr(0),
        context: Dictionary = ContextId(0),
        reads: Delta = 0,
        writes: Delta = 0,
        read_transfers: Dictionary = 0,
        write_transfers: Dictionary = 0,
        upgrades: Dictionary = 0,
        order_errors: Dictionary = None,
        first_reads: Dictionary = None,
    }
    CountRow "counts" {
        run: Dictionary = RunId(0),
        addr: Delta = Addr(0),
        size: Dictionary = 0,
        context: Dictionary = ContextId(0),
        site: Dictionary = SiteId(0),
        access: Dictionary = AccessKind::Read,
        count: Delta = 0,
        silent: Dictionary = None,
    }
    ConflictRow "conflicts" {
        run: Dictionary = RunId(0),
        transfer: Dictionary = CoherenceEvent::Read,
        context: Dictionary = ContextId(0),
        addr: Delta = Addr(0),
        size: Dictionary = 0,
        site: Dictionary = SiteId(0),
        access: Dictionary = AccessKind::Read,
        other_context: Dictionary = ContextId(0),
        other_addr: Delta = Addr(0),
        other_size: Dictionary = 0,
        other_site: Dictionary = SiteId(0),
        other_access: Dictionary = AccessKind::Read,
        count: Dictionary = 0,
        false_first_touch: Dictionary = 0,
        false_lifetime: Dictionary = 0,
        first_reads: Dictionary = None,
    }
    PairRow "pairs" {
        run: Dictionary = RunId(0),
        context: Dictionary = ContextId(0),
        addr: Delta = Addr(0),
        size: Dictionary = 0,
        site: Dictionary = SiteId(0),
        access: Dictionary = AccessKind::Read,
        other_context: Dictionary = ContextId(0),
        other_addr: Delta = Addr(0),
        other_size: Dictionary = 0,
        other_site: Dictionary = SiteId(0),
        other_access: Dictionary = AccessKind::Read,
        samples: Dictionary = 0,
    }
    WaitRow "waits" {
        run: Dictionary = RunId(0),
        addr: Delta = Addr(0),
        size: Dictionary = 0,
        site: Dictionary = SiteId(0),
        access: Dictionary = AccessKind::Read,
        requests: Delta = 0,
        misses: Delta = 0,
        wait_ps: Delta = 0,
    }
    BurstRow "bursts" {
        run: Dictionary = RunId(0),
        ticket: Delta = 0,
        context: Dictionary = ContextId(0),
        site: Dictionary = SiteId(0),
        addr: Dictionary = Addr(0),
        size: Dictionary = 0,
        access: Dictionary = AccessKind::Read,
        silent: Plain = None,
    }
    VisitRow "visits" {
        run: Dictionary = RunId(0),
        ticket: Delta = 0,
        context: Dictionary = ContextId(0),
        clock: Delta = 0,
        operation: Delta = 0,
        site: Dictionary = SiteId(0),
        addr: Dictionary = Addr(0),
        size: Dictionary = 0,
        access: Dictionary = AccessKind::Read,
        locked: Plain = false,
        compare_exchange: Plain = false,
        string: Plain = false,
        stored: Plain = None,
    }
    RegionRow "regions" {
        run: Dictionary = RunId(0),
        start: Delta = Addr(0),
        bytes: Dictionary = 0,
        first_ticket: Delta = 0,
        end_ticket: Delta = 0,
        first_op: Delta = 0,
        end_op: Delta = 0,
        visits_end_ticket: Dictionary = None,
    }
    RangeRow "ranges" {
        run: Dictionary = RunId(0),
        kind: Dictionary = RangeKind::Slab,
        start: Delta = Addr(0),
        bytes: Dictionary = 0,
        owner: Dictionary = String::new(),
        id: Dictionary = 0,
        first: Delta = Addr(0),
        stride: Dictionary = 0,
        object_bytes: Dictionary = 0,
    }
}
