//! Measures how often the types of heap memory are right, by the confidence that relayout states.
//!
//! ```text
//! cargo run --release -p relayout-session --example type_calibration -- TABLE PROFILE...
//! ```
//!
//! TABLE says which type each program allocates at which line; nothing of it comes from a vote. A line has
//! words between tabs: the name of the profile up to its first dot, since one table serves builds by several
//! compilers (`pool.gcc-O2.relayout`); a line of the source on the call stack (`pool.c:12`), of which the
//! innermost one that TABLE has counts; the bytes of the allocation or `*`; and the objects that are right,
//! between `|`, with clang's lambdas by file (`(lambda at pool.cc:4:2)`). Lines that begin with `#` are comments.
//!
//! An object has the name of its type, and its place. It is right if the type, the first byte and the last
//! byte are:
//!
//! | form | right |
//! | --- | --- |
//! | `Item`, `Item@40` | one `Item` of its own size at byte 0, at byte 40 |
//! | `log@0..` | one `log` from byte 0 to the end of the allocation, for a flexible last member |
//! | `Item@0+16` | an `Item` at byte 0 and each 16 bytes from there to the end: one array of all, or elements |
//! | `request@32+64..512` | the same, up to byte 512 |
//!
//! Printed are, by bands of the stated confidence, the objects, those that are right, and
//! the allocations without a type. `--list` prints each object instead, in the form of TABLE, with the
//! type that was found; `--wrong` prints those that are wrong or have no type.

use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;
use std::fmt;
use std::path::Path;

use relayout_advice::ResolvedProfile;
use relayout_messages::SilentProgress;
use relayout_profile::{Addr, Profile, RangeKind, RangeRow, RunId};
use relayout_resolve::{DebugImages, Resolution, ResolvedObject, SourceMaps};
use relayout_session::with_resolved_profile;

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
    let mut counts = CalibrationCounts::default();
    for path in profiles {
        let add = |resolved: &ResolvedProfile<'_>, images: &DebugImages<'_, '_>| {
            for allocation in read_allocations(resolved, images) {
                if is_list {
                    allocation.print(program_name(path));
                } else if let Some(expected) = table.objects_at(program_name(path), &allocation) {
                    counts.add(path, &allocation, expected, has_option("--wrong"));
                }
            }
            Ok::<(), relayout_messages::UserError>(())
        };
        with_resolved_profile(Path::new(path), &[], &SilentProgress, add)?;
    }
    if !is_list {
        counts.print();
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

/// Objects of all bands, by the bands' lower ends, and allocations without objects.
#[derive(Clone, Debug, Default)]
struct CalibrationCounts {
    bands: BTreeMap<u8, BandCounts>,
    untyped: u64,
    /// Allocations with objects, and with accesses outside of them.
    incomplete: u64,
}

impl CalibrationCounts {
    fn add(
        &mut self,
        path: &str,
        allocation: &ProgramAllocation,
        expected: &[ExpectedObject],
        is_wrong_printed: bool,
    ) {
        let place = allocation.places.join("<");
        for object in &allocation.objects {
            let is_right = { expected.iter() }.any(|right| right.accepts(object, allocation.bytes));
            let counts = self.bands.entry(band_of(object.percent)).or_default();
            counts.objects += 1;
            counts.right += u64::from(is_right);
            if !is_right && is_wrong_printed {
                let bytes = allocation.bytes;
                println!(
                    "{path}: {place}, {bytes} bytes, is said to be {object:?}, not {expected:?}"
                );
            }
        }
        if allocation.objects.is_empty() {
            self.untyped += 1;
        } else if allocation.stray_accesses > 0 {
            self.incomplete += 1;
        }
        if allocation.objects.is_empty() && is_wrong_printed {
            println!("{path}: {place} has no type, not {expected:?}");
        }
    }

    fn print(&self) {
        println!("| stated | objects | right | share |");
        println!("| --- | ---: | ---: | ---: |");
        let mut all = BandCounts::default();
        for (&band, counts) in &self.bands {
            let above = BANDS.iter().find(|&&other| other > band);
            let name = above.map_or(format!("{band}%"), |above| format!("{band}-{above}%"));
            print_band(&name, *counts);
            all.objects += counts.objects;
            all.right += counts.right;
        }
        print_band("all", all);
        println!("\nallocations without a type: {}", self.untyped);
        let incomplete = self.incomplete;
        println!("allocations with accesses outside of their objects: {incomplete}");
    }
}

fn band_of(percent: u8) -> u8 {
    let below = BANDS.partition_point(|&band| band <= percent);
    BANDS[below.saturating_sub(1)]
}

fn print_band(name: &str, BandCounts { objects, right }: BandCounts) {
    let share = 100.0 * right as f64 / objects.max(1) as f64;
    println!("| {name} | {objects} | {right} | {share:.1}% |");
}

/// Right objects by program, line of the source and size of the allocation.
#[derive(Clone, Debug, Default)]
struct TypeTable(BTreeMap<(String, String, String), Vec<ExpectedObject>>);

impl TypeTable {
    fn read(path: &str) -> Result<Self, Box<dyn Error>> {
        let mut table = BTreeMap::new();
        let text = std::fs::read_to_string(path)?;
        for line in text
            .lines()
            .filter(|line| !line.is_empty() && !line.starts_with('#'))
        {
            let words: Vec<&str> = line.split('\t').collect();
            let [program, place, bytes, objects] = words[..] else {
                return Err(format!("{path}: {line:?} has not four words between tabs").into());
            };
            let objects: Option<_> = objects.split('|').map(ExpectedObject::parse).collect();
            let objects =
                objects.ok_or_else(|| format!("{path}: {line:?} has an object without a place"))?;
            let key = (program.to_owned(), place.to_owned(), bytes.to_owned());
            if table.insert(key, objects).is_some() {
                return Err(format!("{path}: {line:?} is the second line of its place").into());
            }
        }
        Ok(Self(table))
    }

    /// Returns the right objects of an allocation by the innermost line that the table has.
    fn objects_at(
        &self,
        program: &str,
        allocation: &ProgramAllocation,
    ) -> Option<&[ExpectedObject]> {
        let objects = |place: &String, bytes: String| {
            let found = self.0.get(&(program.to_owned(), place.clone(), bytes));
            found.map(Vec::as_slice)
        };
        { allocation.places.iter() }.find_map(|place| {
            objects(place, allocation.bytes.to_string()).or_else(|| objects(place, "*".to_owned()))
        })
    }
}

/// Object that is right for an allocation, or elements of an array that are.
#[derive(Clone, PartialEq, Eq)]
struct ExpectedObject {
    /// Name of the type, or of an element.
    name: String,
    /// Offset of the object, or of the first element.
    first: u64,
    extent: ExpectedExtent,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ExpectedExtent {
    /// One object that has the bytes of its type.
    Type,
    /// One object up to the end of the allocation.
    Rest,
    /// Elements at a distance of `stride` bytes, up to the offset `end` or the end of the allocation.
    Elements { stride: u64, end: Option<u64> },
}

impl ExpectedObject {
    /// Parses an object of the table; `None` where what follows `@` is no place.
    fn parse(text: &str) -> Option<Self> {
        let (name, place) = text.rsplit_once('@').unwrap_or((text, "0"));
        let (begin, end) = match place.split_once("..") {
            Some((begin, end)) => (begin, Some(end)),
            None => (place, None),
        };
        let (first, extent) = match (begin.split_once('+'), end) {
            (None, None) => (begin, ExpectedExtent::Type),
            (None, Some("")) => (begin, ExpectedExtent::Rest),
            (None, Some(_)) => return None,
            (Some((first, stride)), end) => {
                let end = end.map(str::parse).transpose().ok()?;
                let stride = stride.parse().ok().filter(|&stride| stride > 0)?;
                (first, ExpectedExtent::Elements { stride, end })
            }
        };
        Some(Self {
            name: name.to_owned(),
            first: first.parse().ok()?,
            extent,
        })
    }

    /// Returns true if the object of an allocation of some bytes is this one, or an element or all
    /// elements of this array.
    fn accepts(&self, object: &TypedObject, allocation_bytes: u64) -> bool {
        let has_type_bytes = object.bytes == object.type_bytes;
        if self.name != lambdas_by_file(&object.name) {
            return false;
        }
        match self.extent {
            ExpectedExtent::Type => {
                object.array.is_none() && object.offset == self.first && has_type_bytes
            }
            ExpectedExtent::Rest => {
                let is_rest = object.offset + object.bytes == allocation_bytes;
                object.array.is_none() && object.offset == self.first && is_rest
            }
            ExpectedExtent::Elements { stride, end } => {
                let end = end.unwrap_or(allocation_bytes);
                let steps = object.offset.checked_sub(self.first);
                let begins = steps.is_some_and(|steps| steps.is_multiple_of(stride));
                let is_all = object.array.map_or(has_type_bytes, |array| {
                    let count = end.saturating_sub(self.first) / stride;
                    (array.offset, array.stride, array.count) == (self.first, stride, count)
                });
                begins && is_all && object.offset + object.bytes <= end
            }
        }
    }
}

/// Writes the form of the table.
impl fmt::Debug for ExpectedObject {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}@{}", self.name, self.first)?;
        match self.extent {
            ExpectedExtent::Type => Ok(()),
            ExpectedExtent::Rest => write!(out, ".."),
            ExpectedExtent::Elements { stride, end } => {
                write!(out, "+{stride}")?;
                end.map_or(Ok(()), |end| write!(out, "..{end}"))
            }
        }
    }
}

/// Heap memory that was accessed.
#[derive(Clone, Debug)]
struct ProgramAllocation {
    /// Lines of the program's own source on the call stack, innermost first: `pool.c:12`.
    places: Vec<String>,
    bytes: u64,
    objects: Vec<TypedObject>,
    /// Accessed addresses outside of the objects.
    stray_accesses: usize,
}

/// Object as relayout found it.
#[derive(Clone, Debug)]
struct TypedObject {
    /// Name of the type; of an array, that of an element.
    name: String,
    percent: u8,
    /// Bytes from the start of the allocation.
    offset: u64,
    /// Bytes of the object; of an array, those of its elements that are one object.
    bytes: u64,
    /// Bytes of the object's type, or 0.
    type_bytes: u64,
    array: Option<ArrayPlace>,
}

/// Array that an object is, or is an element of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct ArrayPlace {
    /// Bytes from the start of the allocation, modulo 2^64 if it begins before.
    offset: u64,
    stride: u64,
    count: u64,
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
    let allocation = |range: &RangeRow| {
        let end = range.start.saturating_add(range.bytes);
        let addresses: Vec<_> = { touched.range((range.run, range.start)..(range.run, end)) }
            .map(|&(_, addr)| addr - range.start)
            .collect();
        if addresses.is_empty() {
            return None;
        }
        let objects = objects_in(resolved.resolution, range);
        let holds = |object: &TypedObject, at: u64| {
            (object.offset..object.offset + object.bytes).contains(&at)
        };
        let is_stray = |&&at: &&u64| !objects.iter().any(|object| holds(object, at));
        Some(ProgramAllocation {
            places: own_places(range, images, &sources),
            bytes: range.bytes,
            stray_accesses: addresses.iter().filter(is_stray).count(),
            objects,
        })
    };
    heap.filter_map(allocation).collect()
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
        bytes: object.bytes,
        type_bytes: types.size_of(object.ty).unwrap_or(0),
        array: object.array.map(|array| ArrayPlace {
            offset: array.base.0.wrapping_sub(range.start.0),
            stride: array.stride,
            count: array.count,
        }),
    };
    resolution
        .objects()
        .iter()
        .filter(is_inside)
        .map(typed)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Compares an object of 8-byte elements, or of one number of 8 bytes, in 40 bytes with the table's form.
    fn check(form: &str, offset: u64, bytes: u64, count: u64, expect: bool) {
        let object = TypedObject {
            name: "log".to_owned(),
            percent: 99,
            offset,
            bytes,
            type_bytes: if count > 0 { bytes } else { 8 },
            array: (count > 0).then_some(ArrayPlace {
                offset,
                stride: 8,
                count,
            }),
        };
        let expected = ExpectedObject::parse(form).expect("forms of tests are right");
        assert_eq!(format!("{expected:?}"), form);
        assert_eq!(expected.accepts(&object, 40), expect, "{form} {object:?}");
    }

    #[test]
    fn one_object_has_its_place_and_bytes() {
        check("log@0", 0, 8, 0, true);
        check("log@8", 8, 8, 0, true);
        check("log@0", 8, 8, 0, false);
        check("log@0", 0, 40, 0, false);
        check("log@0", 0, 40, 5, false);
        check("text@0", 0, 8, 0, false);
    }

    #[test]
    fn a_flexible_object_ends_with_the_allocation() {
        check("log@0..", 0, 40, 0, true);
        check("log@0..", 0, 8, 0, false);
        check("log@0..", 0, 40, 5, false);
        check("log@0..", 8, 32, 0, false);
    }

    #[test]
    fn an_array_has_all_elements() {
        check("log@0+8", 0, 40, 5, true);
        check("log@0+8", 16, 8, 0, true);
        check("log@0+8", 12, 8, 0, false);
        check("log@0+8", 0, 16, 2, false);
        check("log@8+8", 8, 32, 4, true);
        check("log@8+8", 0, 40, 5, false);
        check("log@0+16", 0, 40, 5, false);
        check("log@0+16..32", 16, 8, 0, true);
        check("log@0+16..32", 32, 8, 0, false);
    }

    #[test]
    fn a_place_is_numbers() {
        for text in [
            "log@",
            "log@x",
            "log@0+0",
            "log@0+x",
            "log@0..8",
            "log@0+8..x",
        ] {
            assert_eq!(ExpectedObject::parse(text), None, "{text}");
        }
    }
}
