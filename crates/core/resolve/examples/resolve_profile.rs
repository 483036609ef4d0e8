//! Resolves a recorded profile and prints the unresolved accesses.
//!
//!     cargo run --release -p relayout-resolve --example resolve_profile -- VMLINUX PROFILE
//!
//! Of a program, only its own debug information is used; `relayout report` also reads that of its
//! libraries.

use std::collections::BTreeMap;
use std::error::Error;
use std::fs::File;
use std::path::Path;
use std::time::Instant;

use relayout_layout::dwarf::DwarfFile;
use relayout_profile::{CoherenceEvent, Profile};
use relayout_resolve::{AddressOwner, DebugImages, Options, Resolution, SourceMaps, resolve};

const ROWS: usize = 40;

fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [debug, profile] = args.as_slice() else {
        return Err("usage: resolve_profile VMLINUX PROFILE".into());
    };
    // SAFETY: the file is not changed while this runs.
    let bytes = unsafe { memmap2::Mmap::map(&File::open(debug)?)? };
    let file = DwarfFile::parse(&bytes)?;
    let profile = relayout_profile::store::read(Path::new(profile))?;
    let images = DebugImages::from_modules(&profile, &file, |_| None);
    let start = Instant::now();
    let resolution = resolve(&profile, &images, Options::default())?;
    let share = resolution.resolved_share(&profile);
    println!(
        "{} sites, {} objects, {:.1?}",
        profile.sites.len(),
        resolution.objects().len(),
        start.elapsed()
    );
    println!(
        "resolved {} of {} transfers: {:.3}",
        share.resolved,
        share.transfers,
        share.fraction()
    );
    println!("in holes {}", share.in_holes);
    for (class, count) in &share.unresolved {
        println!("{count:>9} {class}");
    }
    let source = SourceMaps::new(&images);
    print_places(&profile, &resolution);
    print_unresolved(&profile, &resolution, &source);
    Ok(())
}

fn print_places(profile: &Profile, resolution: &Resolution) {
    let mut places: BTreeMap<String, u64> = BTreeMap::new();
    for row in profile
        .conflicts
        .iter()
        .filter(|r| r.transfer != CoherenceEvent::Upgrade)
    {
        let name = match resolution.address_owner(row.run, row.addr, u64::from(row.size)) {
            AddressOwner::Member { object, path } => {
                let object = resolution.object(object);
                format!(
                    "{}.{} ({:?} {:.2})",
                    object.type_name, path.path, object.kind, object.confidence
                )
            }
            AddressOwner::ScalarGlobal { symbol, .. } => symbol,
            AddressOwner::Unresolved(class) => format!("? {class}"),
        };
        *places.entry(name).or_default() += row.count;
    }
    print_top("places", places);
}

fn print_unresolved(profile: &Profile, resolution: &Resolution, source: &SourceMaps<'_, '_>) {
    let mut sites: BTreeMap<String, u64> = BTreeMap::new();
    for row in profile
        .conflicts
        .iter()
        .filter(|r| r.transfer != CoherenceEvent::Upgrade)
    {
        let AddressOwner::Unresolved(class) =
            resolution.address_owner(row.run, row.addr, u64::from(row.size))
        else {
            continue;
        };
        let pc = profile.sites[row.site.index()].pc;
        let place = resolution
            .site_address(row.site)
            .and_then(|at| source.look_up(at));
        let function = place.as_ref().map_or("?", |p| p.function.as_str());
        let inlined = place
            .as_ref()
            .and_then(|p| p.inlined.first())
            .map_or("", |f| f.function.as_str());
        let line = place.as_ref().and_then(|p| p.line).unwrap_or(0);
        *sites
            .entry(format!(
                "{class}: {pc:#x} {function} {inlined}:{line} {:#x}",
                row.addr.align_down(0x1000)
            ))
            .or_default() += row.count;
    }
    print_top("unresolved", sites);
}

fn print_top(title: &str, rows: BTreeMap<String, u64>) {
    let mut rows: Vec<_> = rows.into_iter().collect();
    rows.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    println!("\n{title}");
    for (name, count) in rows.into_iter().take(ROWS) {
        println!("{count:>9} {name}");
    }
}
