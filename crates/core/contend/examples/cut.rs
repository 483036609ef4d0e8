//! Cuts a small profile out of a recording, for tests: a part of what was logged in order, and
//! nothing else.
//!
//!     cargo run --release -p relayout-contend --example cut -- PROFILE OUT ACCESSES LINES
//!     cargo run --release -p relayout-contend --example cut -- PROFILE OUT ACCESSES ADDRESS:BYTES...
//!
//! The first ACCESSES of each object; or about ACCESSES in all of the LINES with most transfers, of
//! each the same part from its beginning. A site keeps its address, not its bytes.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::ExitCode;

use relayout_contend::{ObjectExtent, PreparedTrace, RecordedPlacement, TraceIndex};
use relayout_profile::{Addr, BurstRow, Profile, RegionRow, RunId, Site, SiteId, WriteOptions};

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match cut(&arguments) {
        Ok(kept) => {
            println!("{kept} accesses kept");
            ExitCode::SUCCESS
        }
        Err(why) => {
            eprintln!("{why}");
            ExitCode::FAILURE
        }
    }
}

fn cut(arguments: &[String]) -> Result<usize, String> {
    let [from, to, accesses, objects_or_lines @ ..] = arguments else {
        return Err("PROFILE OUT ACCESSES, and LINES or objects as ADDRESS:BYTES".to_owned());
    };
    let mut profile =
        relayout_profile::read(Path::new(from)).map_err(|e| format!("{from}: {e:?}"))?;
    let accesses: usize = number(accesses)?;
    let wanted: Vec<(ObjectExtent, usize)> = match objects_or_lines {
        [lines] if !lines.contains(':') => hottest(&profile, number(lines)?, accesses),
        objects => {
            let extents: Result<Vec<ObjectExtent>, String> =
                objects.iter().map(|text| object(text)).collect();
            extents?
                .into_iter()
                .map(|extent| (extent, accesses))
                .collect()
        }
    };
    let (mut bursts, mut regions) = (Vec::new(), Vec::new());
    for (extent, accesses) in wanted {
        let found = logged(&profile, extent, accesses);
        let (region, rows) =
            found.ok_or(format!("{:#x} was not logged as a whole", extent.base))?;
        regions.push(region);
        bursts.extend(rows);
    }
    bursts.sort_by_key(|row: &BurstRow| (row.run, row.ticket));
    bursts.dedup_by_key(|row| (row.run, row.ticket));
    regions.sort_by_key(|row: &RegionRow| (row.run, row.start));
    let mut kept: BTreeMap<u32, u32> = BTreeMap::new();
    for burst in &mut bursts {
        let next = kept.len() as u32;
        burst.site = SiteId(*kept.entry(burst.site.0).or_insert(next));
    }
    let mut sites = vec![None; kept.len()];
    for (old, new) in kept {
        let pc = profile.sites.get(old as usize).map_or(0, |site| site.pc);
        sites[new as usize] = Some(Site {
            pc,
            bytes: Vec::new(),
        });
    }
    let count = bursts.len();
    // Nothing of the machine that it was recorded on.
    profile.meta.command = vec!["cut".to_owned()];
    profile.meta.debug_file.clear();
    profile.meta.settings.clear();
    profile
        .meta
        .runs
        .iter_mut()
        .for_each(|run| run.console_tail.clear());
    let small = Profile {
        meta: profile.meta,
        sites: sites.into_iter().flatten().collect(),
        bursts,
        regions,
        ..Profile::default()
    };
    relayout_profile::write(Path::new(to), &small, &WriteOptions { overwrite: true })
        .map_err(|e| format!("{to}: {e:?}"))?;
    Ok(count)
}

fn number<T: std::str::FromStr>(text: &str) -> Result<T, String> {
    text.parse()
        .map_err(|_| format!("'{text}' is not a number"))
}

fn object(text: &str) -> Result<ObjectExtent, String> {
    let (base, bytes) = text.split_once(':').ok_or("ADDRESS:BYTES")?;
    let base = u64::from_str_radix(base.trim_start_matches("0x"), 16);
    Ok(ObjectExtent {
        run: RunId(0),
        base: Addr(base.map_err(|_| format!("'{text}' is no address"))?),
        bytes: number(bytes)?,
    })
}

/// The lines with most transfers among what was logged, and how many accesses to keep of each.
fn hottest(profile: &Profile, lines: usize, accesses: usize) -> Vec<(ObjectExtent, usize)> {
    let index = TraceIndex::new(profile);
    let bytes = profile.meta.line_bytes;
    let line = |row: &BurstRow| (row.run, row.addr.align_down(bytes.into()));
    let mut all: Vec<(RunId, Addr)> = profile.bursts.iter().map(line).collect();
    all.sort_unstable();
    all.dedup();
    let mut ranked: Vec<(u64, usize, ObjectExtent)> = all
        .into_iter()
        .map(|(run, base)| {
            let extent = ObjectExtent {
                run: RunId(run.0),
                base: Addr(base.0),
                bytes,
            };
            let traces = index.traces(extent);
            let moved = |trace| {
                PreparedTrace::new(trace)
                    .tally(0, &RecordedPlacement, bytes)
                    .transfers()
            };
            let transfers = traces.iter().map(moved).sum();
            let accesses = traces.iter().map(|trace| trace.accesses.len()).sum();
            (transfers, accesses, extent)
        })
        .collect();
    ranked.sort_by_key(|(transfers, ..)| std::cmp::Reverse(*transfers));
    ranked.truncate(lines);
    let logged: usize = ranked.iter().map(|(_, accesses, _)| accesses).sum();
    let part = |of: usize| (of as f64 * accesses as f64 / logged.max(1) as f64).ceil() as usize;
    ranked
        .into_iter()
        .map(|(_, of, extent)| (extent, part(of).max(1)))
        .collect()
}

/// The first accesses to an object while all of it was logged.
fn logged(
    profile: &Profile,
    extent: ObjectExtent,
    accesses: usize,
) -> Option<(RegionRow, Vec<BurstRow>)> {
    let end = extent.base + u64::from(extent.bytes);
    let meets = |start: u64, bytes: u64| start < end.0 && start + bytes > extent.base.0;
    let overlapping: Vec<&RegionRow> = profile
        .regions
        .iter()
        .filter(|row| row.run == extent.run && meets(row.start.0, row.bytes.into()))
        .collect();
    let first_ticket = overlapping.iter().map(|row| row.first_ticket).max()?;
    let end_ticket = overlapping.iter().map(|row| row.end_ticket).min()?;
    let rows: Vec<BurstRow> = profile
        .bursts
        .iter()
        .filter(|row| row.run == extent.run && meets(row.addr.0, row.size.into()))
        .filter(|row| (first_ticket..end_ticket).contains(&row.ticket))
        .take(accesses)
        .copied()
        .collect();
    let region = RegionRow {
        start: extent.base,
        bytes: extent.bytes,
        first_ticket,
        end_ticket: rows.last()?.ticket + 1,
        visits_end_ticket: None,
        ..*overlapping[0]
    };
    Some((region, rows))
}
