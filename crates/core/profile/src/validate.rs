//! Validates a profile: the conditions between its rows that its users rely on.
//!
//! Both the writer and the reader of the format check it: what is written can be read.

use crate::ids::{Addr, ContextId, RunId, SiteId};
use crate::model::{Profile, ProfileMeta};

/// Most bytes of an x86 instruction.
pub(crate) const SITE_BYTES_MAX: usize = 15;

/// A row that contradicts another one or the metadata.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("table `{table}`, row {row}: {problem}")]
pub struct InvalidRow {
    /// Name of the table; `meta` for the metadata.
    pub table: &'static str,
    /// Row, from 0.
    pub row: usize,
    /// Contradiction in the row.
    pub problem: RowProblem,
}

impl InvalidRow {
    /// A row that belongs before its predecessor.
    pub(crate) fn out_of_order(table: &'static str, row: usize) -> Self {
        Self {
            table,
            row,
            problem: RowProblem::OutOfOrder,
        }
    }
}

/// Contradiction in a row.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RowProblem {
    /// A column refers to a site, context or run that is not there.
    #[error("{column} is {found}, of {count}")]
    OutOfRange {
        /// Column.
        column: &'static str,
        /// Number found.
        found: u64,
        /// Number that the profile has, numbered from 0.
        count: u64,
    },
    /// An access to no bytes.
    #[error("{column} is 0")]
    Zero {
        /// Column.
        column: &'static str,
    },
    /// A part is larger than the whole.
    #[error("{column} is {found}, more than {whole}")]
    MoreThan {
        /// Column.
        column: &'static str,
        /// Its value.
        found: u64,
        /// Column that it is a part of.
        whole: &'static str,
    },
    /// The row belongs before its predecessor, or (bursts, sites) has the same place.
    #[error("out of order")]
    OutOfOrder,
    /// An address that is not the start of a line.
    #[error("line {line:#x} is not a multiple of {line_bytes} bytes")]
    NotALine {
        /// The address.
        line: Addr,
        /// Bytes of a line.
        line_bytes: u32,
    },
    /// Not a line size.
    #[error("line_bytes is {0}, not a power of two")]
    LineBytes(u32),
}

/// Checks a whole profile.
///
/// # Errors
/// The first row that is wrong.
pub fn validate(profile: &Profile) -> Result<(), InvalidRow> {
    let meta = &profile.meta;
    let limits = RowLimits::from_profile(profile);
    if !meta.line_bytes.is_power_of_two() {
        let problem = RowProblem::LineBytes(meta.line_bytes);
        return Err(InvalidRow {
            table: "meta",
            row: 0,
            problem,
        });
    }
    for run in &meta.runs {
        validate_each("gaps", &run.gaps, |row| {
            limits.validate_context("context", ContextId(row.context))?;
            validate_not_zero("samples", row.samples)
        })?;
    }
    validate_each("sites", &profile.sites, |site| {
        validate_site_length(site.bytes.len())
    })?;
    validate_totals(profile, &limits)?;
    validate_pairs(profile, &limits)?;
    validate_waits(profile, &limits)?;
    validate_bursts(profile, &limits)?;
    validate_each("ranges", &profile.ranges, |row| {
        limits.validate_run(row.run)
    })
}

fn validate_totals(profile: &Profile, limits: &RowLimits) -> Result<(), InvalidRow> {
    validate_each("lines", &profile.lines, |row| {
        limits.validate_run(row.run)?;
        limits.validate_context("context", row.context)?;
        let first_reads = row.first_reads.unwrap_or(0);
        validate_part(
            "first_reads",
            first_reads,
            "read_transfers",
            row.read_transfers,
        )?;
        validate_line_start(row.line, &profile.meta)
    })?;
    validate_order("lines", &profile.lines, |a, b| {
        (a.run, a.line) <= (b.run, b.line)
    })?;
    validate_each("counts", &profile.counts, |row| {
        limits.validate_run(row.run)?;
        limits.validate_context("context", row.context)?;
        limits.validate_site("site", row.site)?;
        validate_part("silent", row.silent.unwrap_or(0), "count", row.count)?;
        validate_not_zero("size", row.size)
    })?;
    validate_order("counts", &profile.counts, |a, b| {
        (a.run, a.addr) <= (b.run, b.addr)
    })?;
    validate_each("conflicts", &profile.conflicts, |row| {
        limits.validate_run(row.run)?;
        limits.validate_context("context", row.context)?;
        limits.validate_context("other_context", row.other_context)?;
        limits.validate_site("site", row.site)?;
        limits.validate_site("other_site", row.other_site)?;
        validate_part(
            "false_first_touch",
            row.false_first_touch,
            "count",
            row.count,
        )?;
        validate_part("false_lifetime", row.false_lifetime, "count", row.count)?;
        validate_part(
            "first_reads",
            row.first_reads.unwrap_or(0),
            "count",
            row.count,
        )?;
        validate_not_zero("size", row.size)?;
        validate_not_zero("other_size", row.other_size)
    })?;
    validate_order("conflicts", &profile.conflicts, |a, b| {
        (a.run, a.addr) <= (b.run, b.addr)
    })
}

fn validate_pairs(profile: &Profile, limits: &RowLimits) -> Result<(), InvalidRow> {
    validate_each("pairs", &profile.pairs, |row| {
        limits.validate_run(row.run)?;
        limits.validate_context("context", row.context)?;
        limits.validate_context("other_context", row.other_context)?;
        limits.validate_site("site", row.site)?;
        limits.validate_site("other_site", row.other_site)?;
        validate_not_zero("size", row.size)?;
        validate_not_zero("other_size", row.other_size)
    })?;
    validate_order("pairs", &profile.pairs, |a, b| {
        (a.run, a.addr) <= (b.run, b.addr)
    })
}

fn validate_waits(profile: &Profile, limits: &RowLimits) -> Result<(), InvalidRow> {
    validate_each("waits", &profile.waits, |row| {
        limits.validate_run(row.run)?;
        limits.validate_site("site", row.site)?;
        validate_part("misses", row.misses, "requests", row.requests)?;
        validate_not_zero("size", row.size)
    })?;
    validate_order("waits", &profile.waits, |a, b| {
        (a.run, a.addr) <= (b.run, b.addr)
    })
}

fn validate_bursts(profile: &Profile, limits: &RowLimits) -> Result<(), InvalidRow> {
    validate_each("bursts", &profile.bursts, |row| {
        limits.validate_run(row.run)?;
        limits.validate_context("context", row.context)?;
        limits.validate_site("site", row.site)?;
        validate_not_zero("size", row.size)
    })?;
    validate_order("bursts", &profile.bursts, |a, b| {
        (a.run, a.ticket) < (b.run, b.ticket)
    })?;
    validate_each("visits", &profile.visits, |row| {
        limits.validate_run(row.run)?;
        limits.validate_context("context", row.context)?;
        limits.validate_site("site", row.site)?;
        validate_not_zero("size", row.size)
    })?;
    validate_order("visits", &profile.visits, |a, b| {
        (a.run, a.ticket) < (b.run, b.ticket)
    })?;
    validate_each("regions", &profile.regions, |row| {
        limits.validate_run(row.run)?;
        validate_part(
            "first_ticket",
            row.first_ticket,
            "end_ticket",
            row.end_ticket,
        )?;
        validate_part("first_op", row.first_op, "end_op", row.end_op)?;
        let visits_end = row.visits_end_ticket.unwrap_or(0);
        validate_part(
            "visits_end_ticket",
            visits_end,
            "end_ticket",
            row.end_ticket,
        )
    })?;
    validate_order("regions", &profile.regions, |a, b| {
        (a.run, a.start) <= (b.run, b.start)
    })
}

/// Numbers of runs, contexts and sites.
struct RowLimits {
    runs: u64,
    contexts: u64,
    sites: u64,
}

impl RowLimits {
    fn from_profile(profile: &Profile) -> Self {
        Self {
            runs: profile.meta.runs.len() as u64,
            contexts: u64::from(profile.meta.contexts),
            sites: profile.sites.len() as u64,
        }
    }

    fn validate_run(&self, run: RunId) -> Result<(), RowProblem> {
        validate_below("run", run.0.into(), self.runs)
    }

    fn validate_context(&self, column: &'static str, context: ContextId) -> Result<(), RowProblem> {
        validate_below(column, context.0.into(), self.contexts)
    }

    fn validate_site(&self, column: &'static str, site: SiteId) -> Result<(), RowProblem> {
        validate_below(column, site.0.into(), self.sites)
    }
}

fn validate_each<R>(
    table: &'static str,
    rows: &[R],
    validate_row: impl Fn(&R) -> Result<(), RowProblem>,
) -> Result<(), InvalidRow> {
    let named = |(row, problem)| InvalidRow {
        table,
        row,
        problem,
    };
    let first = rows
        .iter()
        .enumerate()
        .find_map(|(i, row)| Some((i, validate_row(row).err()?)));
    first.map(named).map_or(Ok(()), Err)
}

fn validate_order<R>(
    table: &'static str,
    rows: &[R],
    in_order: impl Fn(&R, &R) -> bool,
) -> Result<(), InvalidRow> {
    match rows
        .windows(2)
        .position(|pair| !in_order(&pair[0], &pair[1]))
    {
        Some(before) => Err(InvalidRow::out_of_order(table, before + 1)),
        None => Ok(()),
    }
}

fn validate_below(column: &'static str, found: u64, count: u64) -> Result<(), RowProblem> {
    if found < count {
        Ok(())
    } else {
        Err(RowProblem::OutOfRange {
            column,
            found,
            count,
        })
    }
}

fn validate_part(
    column: &'static str,
    found: u64,
    whole: &'static str,
    limit: u64,
) -> Result<(), RowProblem> {
    if found <= limit {
        Ok(())
    } else {
        Err(RowProblem::MoreThan {
            column,
            found,
            whole,
        })
    }
}

fn validate_not_zero(column: &'static str, size: impl Into<u64>) -> Result<(), RowProblem> {
    if size.into() > 0 {
        Ok(())
    } else {
        Err(RowProblem::Zero { column })
    }
}

fn validate_site_length(site_bytes: usize) -> Result<(), RowProblem> {
    let (found, count) = (site_bytes as u64, SITE_BYTES_MAX as u64 + 1);
    validate_below("length of bytes", found, count)
}

fn validate_line_start(line: Addr, meta: &ProfileMeta) -> Result<(), RowProblem> {
    let line_bytes = meta.line_bytes;
    if line.0.is_multiple_of(u64::from(line_bytes)) {
        return Ok(());
    }
    Err(RowProblem::NotALine { line, line_bytes })
}
