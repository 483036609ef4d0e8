//! Measures how often the types of heap memory are right, by the confidence that relayout states.
//!
//! ```text
//! cargo run --release -p relayout-session --example type_calibration -- TABLE PROFILE...
//! ```
//!
//! TABLE says which type each program allocates at which line; nothing of it comes from a vote. A line has
//! words between tabs: the name of the profile up to its first dot, since one table serves builds by several
//! compilers (`pool.gcc-O2.relayout`); a line of the source on the call stack (`pool.c:12`), of which the
//! innermost one that TABLE has counts; the bytes of the allocation or `*`; and the names that are right for
//! its objects, between `|`, with clang's lambdas by file (`(lambda at pool.cc:4:2)`). `Item@40` is right 40 bytes from the start, or at multiples of its size from
//! there. Elements of an array have the name of one element. Lines that begin with `#` are comments.
//!
//! Printed are, by bands of the stated confidence, the objects, those whose type and start are right, and
//! the allocations without a type. `--list` prints each object instead, in the form of TABLE, with the
//! type that was found; `--wrong` prints those that are wrong or have no type.

use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;
use std::path::Path;

use relayout_profile::{Addr, Profile, RangeKind, RangeRow, RunId};
use relayout_resolve::{DebugImages, Resolution, ResolvedObject, SourceMaps};
use relayout_session::{ResolvedProfile, SilentProgress, with_resolved_profile};

/// Lower ends of the bands, in percent.
const BANDS: [u8; 12] = [0, 10, 20, 30, 40, 50, 60, 70, 80, 90, 95, 100];

/// Folders of source that belongs to no program.
const LIBRARY_FOLDERS: [&str; 4] = ["/usr/", "/rustc/", "/.cargo/", "/.rustup/"];

fn main() -> Result<(), Box<dyn Error>> {
    let (options, paths): (Vec<String>, Vec<String>) =
        { std::env::args().skip(1) }.partition(|argument| argument.starts_with("--"));
    let has_option = |name: &str| options.iter().any(|option| option == name);
    let is_list = has_option("--list");
    let (table, profiles) = match paths.split_first() {
        Some((table, profiles)) if !is_list => (TypeTable::read(table)?, profiles),
        _ => (TypeTable::default(), paths.as_slice()),
    };
    let mut bands: BTreeMap<u8, BandCounts> = BTreeMap::new();
    let mut untyped = 0;
    for path in profiles {
        let program = program_name(path);
        let add = |resolved: &ResolvedProfile<'_>, images: &DebugImages<'_, '_>| {
            for allocation in read_allocations(resolved, images) {
                if is_list {
                    allocation.print(program);
                    continue;
                }
                let Some(wanted) = table.types_at(program, &allocation) else {
                    continue;
                };
                untyped += u64::from(allocation.objects.is_empty());
                for object in &allocation.objects {
                    let is_right = object.is_one_of(wanted);
                    let counts = bands.entry(band_of(object.percent)).or_default();
                    counts.objects += 1;
                    counts.right += u64::from(is_right);
                    if !is_right && has_option("--wrong") {
                        let place = allocation.places.join("<");
                        println!("{path}: {place} is said to be {object:?}, not {wanted:?}");
                    }
                }
                if allocation.objects.is_empty() && has_option("--wrong") {
                    let place = allocation.places.join("<");
                    println!("{path}: {place} has no type, not {wanted:?}");
                }
            }
            Ok::<(), relayout_session::UserError>(())
        };
        with_resolved_profile(Path::new(path), &[], &SilentProgress, add)?;
    }
    if !is_list {
        print_bands(&bands, untyped);
    }
    Ok(())
}

/// Returns the name of a profile's program: `pool` of `out/pool.gcc-O2.relayout`.
fn program_name(path: &str) -> &str {
    let name = path
        .trim_end_matches('/')
        .rsplit('/')
        .next()
        .unwrap_or(path);
    name.split('.').next().unwrap_or(name)
}

/// Objects of one band.
#[derive(Clone, Copy, Debug, Default)]
struct BandCounts {
    objects: u64,
    right: u64,
}

fn band_of(percent: u8) -> u8 {
    let below = BANDS.partition_point(|&band| band <= percent);
    BANDS[below.saturating_sub(1)]
}

fn print_bands(bands: &BTreeMap<u8, BandCounts>, untyped: u64) {
    println!("| stated | objects | right | share |");
    println!("| --- | ---: | ---: | ---: |");
    let mut all = BandCounts::default();
    for (&band, counts) in bands {
        let above = BANDS.iter().find(|&&other| other > band);
        let name = above.map_or(format!("{band}%"), |above| format!("{band}-{above}%"));
        print_band(&name, *counts);
        all.objects += counts.objects;
        all.right += counts.right;
    }
    print_band("all", all);
    println!("\nallocations without a type: {untyped}");
}

fn print_band(name: &str, BandCounts { objects, right }: BandCounts) {
    let share = 100.0 * right as f64 / objects.max(1) as f64;
    println!("| {name} | {objects} | {right} | {share:.1}% |");
}

/// Types by program, line of the source and size of the allocation.
#[derive(Clone, Debug, Default)]
struct TypeTable(BTreeMap<(String, String, String), Vec<String>>);

impl TypeTable {
    fn read(path: &str) -> Result<Self, Box<dyn Error>> {
        let mut types = BTreeMap::new();
        let text = std::fs::read_to_string(path)?;
        for line in text
            .lines()
            .filter(|line| !line.is_empty() && !line.starts_with('#'))
        {
            let words: Vec<&str> = line.split('\t').collect();
            let [program, place, bytes, names] = words[..] else {
                return Err(format!("{path}: {line:?} has not four words between tabs").into());
            };
            let key = (program.to_owned(), place.to_owned(), bytes.to_owned());
            types.insert(key, names.split('|').map(str::to_owned).collect());
        }
        Ok(Self(types))
    }

    /// Returns the types of an allocation by the innermost line that the table has.
    fn types_at(&self, program: &str, allocation: &ProgramAllocation) -> Option<&[String]> {
        let types = |place: &String, bytes: String| {
            let found = self.0.get(&(program.to_owned(), place.clone(), bytes));
            found.map(Vec::as_slice)
        };
        { allocation.places.iter() }.find_map(|place| {
            types(place, allocation.bytes.to_string()).or_else(|| types(place, "*".to_owned()))
        })
    }
}

/// Heap memory that was accessed.
#[derive(Clone, Debug)]
struct ProgramAllocation {
    /// Lines of the program's own source on the call stack, innermost first: `pool.c:12`.
    places: Vec<String>,
    bytes: u64,
    objects: Vec<TypedObject>,
}

/// Object as relayout found it.
#[derive(Clone, Debug)]
struct TypedObject {
    /// Name of the type; of an array, that of an element.
    name: String,
    percent: u8,
    /// Bytes from the start of the allocation.
    offset: u64,
    /// Bytes of the type, or of an element.
    bytes: u64,
}

impl TypedObject {
    /// Returns true if the object has one of the types, and begins where one of them does: at a multiple of
    /// its size, or after a header (`name@16`).
    fn is_one_of(&self, names: &[String]) -> bool {
        names.iter().any(|wanted| {
            let (name, first) = wanted.split_once('@').unwrap_or((wanted, "0"));
            let first = first.parse::<u64>().unwrap_or(0);
            let steps = self.offset.checked_sub(first);
            let begins = steps.is_some_and(|steps| steps.is_multiple_of(self.bytes.max(1)));
            name == lambdas_by_file(&self.name) && begins
        })
    }
}

/// Start of clang's name of a lambda, which has the path of the file on the machine that compiled it.
const CLANG_LAMBDA: &str = "(lambda at ";

/// Returns the name with files instead of paths in clang's names of lambdas: `(lambda at pool.cc:4:2)`.
fn lambdas_by_file(name: &str) -> String {
    let mut parts = name.split(CLANG_LAMBDA);
    let mut short = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let end = part.find(')').unwrap_or(part.len());
        let file = part[..end].rfind('/').map_or(0, |slash| slash + 1);
        short += CLANG_LAMBDA;
        short += &part[file..];
    }
    short
}

impl ProgramAllocation {
    fn print(&self, program: &str) {
        let (place, bytes) = (self.places.join("<"), self.bytes);
        for object in &self.objects {
            let TypedObject {
                name,
                percent,
                offset,
                ..
            } = object;
            println!("{program}\t{place}\t{bytes}\t{name}\t{percent}%\t+{offset}");
        }
        if self.objects.is_empty() {
            println!("{program}\t{place}\t{bytes}\t");
        }
    }
}

fn read_allocations(
    resolved: &ResolvedProfile<'_>,
    images: &DebugImages<'_, '_>,
) -> Vec<ProgramAllocation> {
    let touched = touched_addresses(resolved.profile);
    let sources = SourceMaps::new(images);
    let heap = { resolved.profile.ranges.iter() }.filter(|range| range.kind == RangeKind::Heap);
    let is_touched = |range: &&RangeRow| {
        let end = range.start.saturating_add(range.bytes);
        touched
            .range((range.run, range.start)..(range.run, end))
            .next()
            .is_some()
    };
    heap.filter(is_touched)
        .map(|range| ProgramAllocation {
            places: own_places(range, images, &sources),
            bytes: range.bytes,
            objects: objects_in(resolved.resolution, range),
        })
        .collect()
}

fn touched_addresses(profile: &Profile) -> BTreeSet<(RunId, Addr)> {
    let counted = profile.counts.iter().map(|row| (row.run, row.addr));
    let missed = profile.conflicts.iter().map(|row| (row.run, row.addr));
    counted.chain(missed).collect()
}

/// Returns the lines of the program's own source on the call stack of an allocation, innermost first.
fn own_places(
    range: &RangeRow,
    images: &DebugImages<'_, '_>,
    sources: &SourceMaps<'_, '_>,
) -> Vec<String> {
    let addresses = range.owner.split_whitespace();
    let addresses =
        addresses.filter_map(|word| u64::from_str_radix(word.trim_start_matches("0x"), 16).ok());
    let mut lines = Vec::new();
    for address in addresses {
        let place = images.locate(range.run, address);
        let place = place.and_then(|at| sources.look_up_call(at));
        let frames = place
            .iter()
            .flat_map(|place| place.inlined.iter().chain(&place.outer));
        for frame in frames {
            let (Some(file), Some(line)) = (&frame.file, frame.line) else {
                continue;
            };
            if !LIBRARY_FOLDERS.iter().any(|folder| file.contains(folder)) {
                let file = file.rsplit('/').next().unwrap_or(file);
                lines.push(format!("{file}:{line}"));
            }
        }
    }
    lines
}

/// Returns the name of an element, of an array's name: `long int` of `long int [4]`.
fn element_name(name: &str) -> &str {
    let mut name = name;
    while let Some((element, count)) = name
        .strip_suffix(']')
        .and_then(|rest| rest.rsplit_once('['))
        && count.bytes().all(|digit| digit.is_ascii_digit())
    {
        name = element.trim_end();
    }
    name
}

fn objects_in(resolution: &Resolution, range: &RangeRow) -> Vec<TypedObject> {
    let end = range.start.saturating_add(range.bytes);
    let is_inside = |object: &&ResolvedObject| {
        object.run == range.run && (range.start..end).contains(&object.base)
    };
    let types = resolution.types();
    let typed = |object: &ResolvedObject| TypedObject {
        name: element_name(&object.type_name).to_owned(),
        percent: object.confidence_percent(),
        offset: object.base - range.start,
        bytes: object.array.map_or_else(
            || types.size_of(object.ty).unwrap_or(0),
            |array| array.stride,
        ),
    };
    resolution
        .objects()
        .iter()
        .filter(is_inside)
        .map(typed)
        .collect()
}
