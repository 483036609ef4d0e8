//! What must hold between the rows of a profile, so that its users need not ask.
//!
//! Both the writer and the reader of the format check it: what is written can be read.

use crate::model::{Meta, Profile};

/// Most bytes of an x86 instruction.
pub(crate) const SITE_BYTES_MAX: usize = 15;

/// A row that contradicts another one or the metadata.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("table `{table}`, row {row}: {problem}")]
pub struct Invalid {
    /// Name of the table; `meta` for the metadata.
    pub table: &'static str,
    /// Row, from 0.
    pub row: usize,
    /// What is wrong with it.
    pub problem: Problem,
}

impl Invalid {
    /// A row that belongs before its predecessor.
    pub(crate) fn out_of_order(table: &'static str, row: usize) -> Self {
        Self {
            table,
            row,
            problem: Problem::OutOfOrder,
        }
    }
}

/// What is wrong with a row.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Problem {
    /// A column refers to a site, context or run that is not there.
    #[error("{column} is {found}, of {count}")]
    OutOfRange {
        /// Column.
        column: &'static str,
        /// Number found.
        found: u64,
        /// How many there are, numbered from 0.
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
        line: u64,
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
pub fn check(profile: &Profile) -> Result<(), Invalid> {
    let meta = &profile.meta;
    let limits = Limits::of(profile);
    if !meta.line_bytes.is_power_of_two() {
        let problem = Problem::LineBytes(meta.line_bytes);
        return Err(Invalid {
            table: "meta",
            row: 0,
            problem,
        });
    }
    for run in &meta.runs {
        each("gaps", &run.gaps, |row| {
            limits.context("context", row.context)?;
            not_zero("samples", row.samples)
        })?;
    }
    each("sites", &profile.sites, |site| at_most(site.bytes.len()))?;
    check_totals(profile, &limits)?;
    check_pairs(profile, &limits)?;
    check_bursts(profile, &limits)?;
    each("ranges", &profile.ranges, |row| limits.run(row.run))
}

fn check_totals(profile: &Profile, limits: &Limits) -> Result<(), Invalid> {
    each("lines", &profile.lines, |row| {
        limits.run(row.run)?;
        limits.context("context", row.context)?;
        line_start(row.line, &profile.meta)
    })?;
    ordered("lines", &profile.lines, |a, b| {
        (a.run, a.line) <= (b.run, b.line)
    })?;
    each("counts", &profile.counts, |row| {
        limits.run(row.run)?;
        limits.context("context", row.context)?;
        limits.site("site", row.site)?;
        part("silent", row.silent.unwrap_or(0), "count", row.count)?;
        not_zero("size", row.size)
    })?;
    ordered("counts", &profile.counts, |a, b| {
        (a.run, a.addr) <= (b.run, b.addr)
    })?;
    each("conflicts", &profile.conflicts, |row| {
        limits.run(row.run)?;
        limits.context("context", row.context)?;
        limits.context("other_context", row.other_context)?;
        limits.site("site", row.site)?;
        limits.site("other_site", row.other_site)?;
        part(
            "false_first_touch",
            row.false_first_touch,
            "count",
            row.count,
        )?;
        part("false_lifetime", row.false_lifetime, "count", row.count)?;
        not_zero("size", row.size)?;
        not_zero("other_size", row.other_size)
    })?;
    ordered("conflicts", &profile.conflicts, |a, b| {
        (a.run, a.addr) <= (b.run, b.addr)
    })
}

fn check_pairs(profile: &Profile, limits: &Limits) -> Result<(), Invalid> {
    each("pairs", &profile.pairs, |row| {
        limits.run(row.run)?;
        limits.context("context", row.context)?;
        limits.context("other_context", row.other_context)?;
        limits.site("site", row.site)?;
        limits.site("other_site", row.other_site)?;
        not_zero("size", row.size)?;
        not_zero("other_size", row.other_size)
    })?;
    ordered("pairs", &profile.pairs, |a, b| {
        (a.run, a.addr) <= (b.run, b.addr)
    })
}

fn check_bursts(profile: &Profile, limits: &Limits) -> Result<(), Invalid> {
    each("bursts", &profile.bursts, |row| {
        limits.run(row.run)?;
        limits.context("context", row.context)?;
        limits.site("site", row.site)?;
        not_zero("size", row.size)
    })?;
    ordered("bursts", &profile.bursts, |a, b| {
        (a.run, a.ticket) < (b.run, b.ticket)
    })?;
    each("regions", &profile.regions, |row| {
        limits.run(row.run)?;
        part(
            "first_ticket",
            row.first_ticket,
            "end_ticket",
            row.end_ticket,
        )?;
        part("first_op", row.first_op, "end_op", row.end_op)
    })?;
    ordered("regions", &profile.regions, |a, b| {
        (a.run, a.start) <= (b.run, b.start)
    })
}

/// How many runs, contexts and sites there are.
struct Limits {
    runs: u64,
    contexts: u64,
    sites: u64,
}

impl Limits {
    fn of(profile: &Profile) -> Self {
        Self {
            runs: profile.meta.runs.len() as u64,
            contexts: u64::from(profile.meta.contexts),
            sites: profile.sites.len() as u64,
        }
    }

    fn run(&self, run: u16) -> Result<(), Problem> {
        below("run", u64::from(run), self.runs)
    }

    fn context(&self, column: &'static str, context: u16) -> Result<(), Problem> {
        below(column, u64::from(context), self.contexts)
    }

    fn site(&self, column: &'static str, site: u32) -> Result<(), Problem> {
        below(column, u64::from(site), self.sites)
    }
}

fn each<R>(
    table: &'static str,
    rows: &[R],
    check: impl Fn(&R) -> Result<(), Problem>,
) -> Result<(), Invalid> {
    let named = |(row, problem)| Invalid {
        table,
        row,
        problem,
    };
    let first = rows
        .iter()
        .enumerate()
        .find_map(|(i, row)| Some((i, check(row).err()?)));
    first.map(named).map_or(Ok(()), Err)
}

fn ordered<R>(
    table: &'static str,
    rows: &[R],
    in_order: impl Fn(&R, &R) -> bool,
) -> Result<(), Invalid> {
    match rows
        .windows(2)
        .position(|pair| !in_order(&pair[0], &pair[1]))
    {
        Some(before) => Err(Invalid::out_of_order(table, before + 1)),
        None => Ok(()),
    }
}

fn below(column: &'static str, found: u64, count: u64) -> Result<(), Problem> {
    if found < count {
        Ok(())
    } else {
        Err(Problem::OutOfRange {
            column,
            found,
            count,
        })
    }
}

fn part(column: &'static str, found: u64, whole: &'static str, limit: u64) -> Result<(), Problem> {
    if found <= limit {
        Ok(())
    } else {
        Err(Problem::MoreThan {
            column,
            found,
            whole,
        })
    }
}

fn not_zero(column: &'static str, size: impl Into<u64>) -> Result<(), Problem> {
    if size.into() > 0 {
        Ok(())
    } else {
        Err(Problem::Zero { column })
    }
}

fn at_most(site_bytes: usize) -> Result<(), Problem> {
    let (found, count) = (site_bytes as u64, SITE_BYTES_MAX as u64 + 1);
    below("length of bytes", found, count)
}

fn line_start(line: u64, meta: &Meta) -> Result<(), Problem> {
    let line_bytes = meta.line_bytes;
    if line.is_multiple_of(u64::from(line_bytes)) {
        return Ok(());
    }
    Err(Problem::NotALine { line, line_bytes })
}
