//! Resolves a recorded profile and prints what is left.
//!
//!     cargo run --release -p relayout-resolve --example resolve_profile -- VMLINUX PROFILE
//!
//! Of programs only the program's own debug information is used; `relayout report` reads that of
//! libraries too.

use std::collections::BTreeMap;
use std::error::Error;
use std::fs::File;
use std::path::Path;
use std::time::Instant;

use relayout_layout::dwarf::DwarfFile;
use relayout_profile::{Access, Profile, Transfer};
use relayout_resolve::types::shape;
use relayout_resolve::{Images, ObjectKind, Options, Place, Resolution, Sources, resolve};

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
    let images = Images::of_program(&profile, &file, |_| None);
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
    let source = Sources::new(&images);
    print_truth(&profile, &resolution);
    print_places(&profile, &resolution);
    print_unresolved(&profile, &resolution, &source);
    Ok(())
}

/// Instruction evidence against slab caches whose type is certain by name and size: answered and
/// right, in distinct rows.
fn print_truth(profile: &Profile, resolution: &Resolution) {
    let mut caches: BTreeMap<String, [u64; 3]> = BTreeMap::new();
    let mut wrong: BTreeMap<String, u64> = BTreeMap::new();
    let types = resolution.types();
    for row in &profile.counts {
        let Some(object) = resolution.object_at(row.run, row.addr) else {
            continue;
        };
        let ObjectKind::Slab { cache } = &object.kind else {
            continue;
        };
        if object.votes.support > 0.0 {
            continue;
        }
        let counts = caches.entry(cache.clone()).or_default();
        counts[0] += 1;
        let site = resolution.evidence(row.run, row.site);
        let Some(evidence) = site.of(row.access != Access::Read) else {
            continue;
        };
        let Some(aggregate) = types.aggregate(evidence.ty) else {
            continue;
        };
        counts[1] += 1;
        let offset = (row.addr - object.base).checked_add_signed(-evidence.offset);
        let parts = offset
            .map(|offset| shape::parts(types, object.ty, offset))
            .unwrap_or_default();
        let same = |ty| {
            types
                .aggregate(ty)
                .is_some_and(|a| (&a.name, a.size) == (&aggregate.name, aggregate.size))
        };
        if parts.iter().any(|p| p.offset == 0 && same(p.ty)) {
            counts[2] += 1;
        } else {
            let name = types.name_of(evidence.ty);
            let pc = profile.sites[row.site as usize].pc;
            let what = format!(
                "{cache}: {pc:#x} says {name} {:?} at {offset:x?}",
                evidence.trust
            );
            *wrong.entry(what).or_default() += 1;
        }
    }
    let sum = caches
        .values()
        .fold([0; 3], |a, b| [a[0] + b[0], a[1] + b[1], a[2] + b[2]]);
    println!(
        "\n{:>28} {:>8} {:>8} {:>8}",
        "cache", "rows", "answered", "right"
    );
    let all = std::iter::once((String::from("all"), sum)).chain(caches);
    for (cache, [rows, answered, right]) in all {
        println!(
            "{cache:>28} {rows:>8} {answered:>8} {right:>8} {:.3}",
            right as f64 / answered.max(1) as f64
        );
    }
    print_top("wrong", wrong);
}

fn print_places(profile: &Profile, resolution: &Resolution) {
    let mut places: BTreeMap<String, u64> = BTreeMap::new();
    for row in profile
        .conflicts
        .iter()
        .filter(|r| r.transfer != Transfer::Upgrade)
    {
        let name = match resolution.place(row.run, row.addr, u64::from(row.size)) {
            Place::Member { object, path } => {
                let object = resolution.object(object);
                format!(
                    "{}.{} ({:?} {:.2})",
                    object.type_name, path.path, object.kind, object.confidence
                )
            }
            Place::ScalarGlobal { symbol, .. } => symbol,
            Place::Unresolved(class) => format!("? {class}"),
        };
        *places.entry(name).or_default() += row.count;
    }
    print_top("places", places);
}

fn print_unresolved(profile: &Profile, resolution: &Resolution, source: &Sources<'_, '_>) {
    let mut sites: BTreeMap<String, u64> = BTreeMap::new();
    for row in profile
        .conflicts
        .iter()
        .filter(|r| r.transfer != Transfer::Upgrade)
    {
        let Place::Unresolved(class) = resolution.place(row.run, row.addr, u64::from(row.size))
        else {
            continue;
        };
        let pc = profile.sites[row.site as usize].pc;
        let place = resolution
            .site_place(row.site)
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
                row.addr & !0xfff
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
