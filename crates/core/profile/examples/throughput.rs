//! Speed of writing and reading profiles: `cargo run --release -p
//! relayout-profile --example throughput [ROWS]`.
#![allow(clippy::print_stdout, reason = "a measurement for a person")]

use std::time::Instant;

use relayout_profile::{
    AccessKind, Addr, BurstRow, ContextId, Profile, ProfileMeta, RecordedRun, RunId, Site, SiteId,
    decode, encode,
};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let rows = std::env::args()
        .nth(1)
        .map_or(Ok(10_000_000), |n| n.parse())?;
    let profile = profile(rows);
    let start = Instant::now();
    let files = encode(&profile)?;
    report("encode", rows, start, files["bursts.parquet"].len());
    let start = Instant::now();
    let back = decode(files)?;
    report("decode", rows, start, size_of_val(&back.bursts[..]));
    assert!(back == profile, "a profile changed on its way");
    Ok(())
}

fn report(step: &str, rows: u64, start: Instant, bytes: usize) {
    let seconds = start.elapsed().as_secs_f64();
    let megabytes = bytes as f64 / 1e6;
    println!("{step}: {rows} bursts in {seconds:.2} s, {megabytes:.0} MB out");
}

/// Accesses as hot regions have them: few places, many sites, irregular gaps between tickets.
fn profile(rows: u64) -> Profile {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut ticket = 0;
    let burst = |_| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        let random = state >> 24;
        ticket += 1 + random % 7;
        BurstRow {
            run: RunId(0),
            ticket,
            context: ContextId((random % 8) as u16),
            site: SiteId((random / 8 % 3000) as u32),
            addr: Addr(0xffff_8880_0123_4000 + (random / 24_000 % 64) * 4096 + random / 7 % 512),
            size: 1 << (random % 4),
            access: [
                AccessKind::Read,
                AccessKind::Read,
                AccessKind::Write,
                AccessKind::ReadWrite,
            ][(random / 3 % 4) as usize],
            silent: Some(random.is_multiple_of(11)),
        }
    };
    let bursts = (0..rows).map(burst).collect();
    let site = |pc: u64| Site {
        pc: 0xffff_ffff_8100_0000 + pc * 5,
        bytes: vec![0x48, 0x8b, 0x07],
    };
    let meta = ProfileMeta {
        line_bytes: 64,
        contexts: 8,
        runs: vec![RecordedRun::default()],
        ..ProfileMeta::default()
    };
    Profile {
        meta,
        sites: (0..3000).map(site).collect(),
        bursts,
        ..Profile::default()
    }
}
