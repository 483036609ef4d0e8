//! Split units: a skeleton in the linked file names a `.dwo` file, or a unit of a package (`.dwp`),
//! that has its types.
//!
//! Skeleton and split unit know each other by an id. Type units of a `.dwo` come along with the
//! units that may refer to them; of equal type units the first counts.
use gimli::{DwarfPackage, EndianSlice, Reader as _, SectionId};
use rustc_hash::{FxHashMap, FxHashSet};

use super::companions::{CompanionFiles, MissingCompanion, SplitUnit};
use super::die::{Dwarf, Reader};
use super::parts::DwarfUnits;
use super::sections::{DwarfSections, SectionBuffers, SectionNaming, SectionStore};
use crate::Error;
use crate::elf::ElfBinary;

type Package<'a> = DwarfPackage<Reader<'a>>;

/// Slots of skeletons by id.
pub(super) type Skeletons = FxHashMap<u64, usize>;

/// Adds the split units of `wanted`, each with the slot of its skeleton. Returns those that cannot
/// be used.
pub(super) fn attach_split_units<'a>(
    units: &mut DwarfUnits<'a>,
    elf: &ElfBinary<'a>,
    wanted: Vec<(usize, SplitUnit)>,
    companions: &'a dyn CompanionFiles,
    store: Option<&'a SectionStore>,
) -> Vec<MissingCompanion> {
    let mut missing = Vec::new();
    let skeletons: Skeletons = wanted.iter().map(|(slot, unit)| (unit.id, *slot)).collect();
    let mut open: Vec<SplitUnit> = wanted.into_iter().map(|(_, unit)| unit).collect();
    let found = add_units_in_object(units, elf, &skeletons, store);
    open.retain(|unit| !found.contains(&unit.id));
    if open.is_empty() {
        return missing;
    }
    if let Some(bytes) = companions.package() {
        let store = store.map(|store| &store.package);
        match add_from_package(units, bytes, &open, &skeletons, store) {
            Ok(found) => open.retain(|unit| !found.contains(&unit.id)),
            Err(source) => missing.push(MissingCompanion::Unreadable {
                path: "the package of split units (.dwp)".to_owned(),
                cause: Box::new(source),
            }),
        }
    }
    if !open.is_empty() {
        let store = store.map(|store| &store.split);
        add_from_files(units, open, &skeletons, companions, store, &mut missing);
    }
    missing
}

/// Adds the split units that an object of single-file split DWARF has in sections beside the
/// others.
fn add_units_in_object<'a>(
    units: &mut DwarfUnits<'a>,
    elf: &ElfBinary<'a>,
    skeletons: &Skeletons,
    store: Option<&'a SectionStore>,
) -> FxHashSet<u64> {
    if !elf.has_section(".debug_info.dwo") {
        return FxHashSet::default();
    }
    let store = store.map(|store| &store.in_object);
    let sections = DwarfSections::read(elf, SectionNaming::Split, store);
    sections
        .and_then(|sections| add_file(units, &sections, skeletons))
        .unwrap_or_default()
}

fn add_from_files<'a>(
    units: &mut DwarfUnits<'a>,
    open: Vec<SplitUnit>,
    skeletons: &Skeletons,
    companions: &'a dyn CompanionFiles,
    store: Option<&'a SectionBuffers>,
    missing: &mut Vec<MissingCompanion>,
) {
    // Units of one file, such as those by link-time optimisation, each name the file.
    let mut seen = FxHashSet::default();
    let files: Vec<SplitUnit> = open
        .iter()
        .filter(|unit| seen.insert(unit.path()))
        .cloned()
        .collect();
    let bytes = companions.split_units(&files);
    let mut elfs = Vec::new();
    let mut names = Vec::new();
    for (unit, bytes) in files.iter().zip(bytes) {
        let path = unit.path();
        match bytes.map(ElfBinary::parse) {
            None => missing.push(MissingCompanion::Split {
                path,
                package: "PROGRAM.dwp",
            }),
            Some(Err(source)) => missing.push(MissingCompanion::unreadable(path, source)),
            Some(Ok(elf)) => {
                elfs.push(elf);
                names.push(path);
            }
        }
    }
    let by_reference: Vec<&ElfBinary<'a>> = elfs.iter().collect();
    let files_sections = match DwarfSections::read_all(&by_reference, SectionNaming::Split, store) {
        Ok(all) => all,
        Err(source) => {
            missing.push(MissingCompanion::unreadable(
                "a .dwo file".to_owned(),
                source,
            ));
            return;
        }
    };
    for (sections, path) in files_sections.into_iter().zip(names) {
        let added = sections.and_then(|sections| add_file(units, &sections, skeletons));
        match added {
            Err(source) => missing.push(MissingCompanion::unreadable(path, source)),
            Ok(found) => {
                let here = open.iter().filter(|unit| unit.path() == path);
                if let Some(unit) = here.into_iter().find(|unit| !found.contains(&unit.id)) {
                    missing.push(MissingCompanion::OtherBuild { path, id: unit.id });
                }
            }
        }
    }
}

/// Adds the units of one `.dwo` file, if any of them is wanted; returns the ids of those that are.
fn add_file<'a>(
    units: &mut DwarfUnits<'a>,
    sections: &DwarfSections<'a>,
    skeletons: &Skeletons,
) -> Result<FxHashSet<u64>, Error> {
    let mut dwarf = sections.dwarf()?;
    if let Some(parent) = units.parts.first() {
        dwarf.make_dwo(&parent.dwarf);
    }
    add_wanted_units(units, dwarf, skeletons)
}

fn add_wanted_units<'a>(
    units: &mut DwarfUnits<'a>,
    dwarf: Dwarf<'a>,
    skeletons: &Skeletons,
) -> Result<FxHashSet<u64>, Error> {
    let mut new = units.read_part(dwarf)?;
    let mut found = FxHashSet::default();
    let dwarf = &new.part.dwarf;
    new.slots.retain_mut(|slot| {
        use gimli::UnitType::{SplitType, Type};
        if matches!(slot.header.type_(), Type { .. } | SplitType { .. }) {
            return true;
        }
        let unit = gimli::Unit::new(dwarf, slot.header).ok();
        let Some(id) = unit.and_then(|unit| unit.dwo_id) else {
            return false;
        };
        slot.skeleton = skeletons.get(&id.0).copied();
        slot.skeleton.is_some() && found.insert(id.0)
    });
    if !found.is_empty() {
        units.add_part(new);
    }
    Ok(found)
}

fn add_from_package<'a>(
    units: &mut DwarfUnits<'a>,
    bytes: &'a [u8],
    wanted: &[SplitUnit],
    skeletons: &Skeletons,
    store: Option<&'a SectionBuffers>,
) -> Result<FxHashSet<u64>, Error> {
    let elf = ElfBinary::parse(bytes)?;
    let sections = DwarfSections::read(&elf, SectionNaming::Split, store)?;
    let package = open_package(&sections)?;
    let malformed = || Error::dwarf("the index of the package (.debug_cu_index)");
    let none = Dwarf::default();
    let parent = units.parts.first().map_or(&none, |part| &part.dwarf);
    let mut split = Vec::new();
    for unit in wanted {
        split.extend(
            package
                .find_cu(gimli::DwoId(unit.id), parent)
                .map_err(malformed())?,
        );
    }
    if split.is_empty() {
        return Ok(FxHashSet::default());
    }
    let typed = type_units(&package, parent)?;
    let mut found = FxHashSet::default();
    for dwarf in split {
        found.extend(add_wanted_units(units, dwarf, skeletons)?);
    }
    for dwarf in typed {
        let new = units.read_part(dwarf)?;
        units.add_part(new);
    }
    Ok(found)
}

fn open_package<'a>(sections: &DwarfSections<'a>) -> Result<Package<'a>, Error> {
    let empty = EndianSlice::new(&[], sections.get(SectionId::DebugInfo).endian());
    let load = |id| Ok::<_, gimli::Error>(sections.get(id));
    DwarfPackage::load(load, empty).map_err(Error::dwarf("the package's index"))
}

fn type_units<'a>(package: &Package<'a>, parent: &Dwarf<'a>) -> Result<Vec<Dwarf<'a>>, Error> {
    let malformed = || Error::dwarf("the index of the package (.debug_tu_index)");
    let rows = 1..=package.tu_index.unit_count();
    rows.map(|row| package.tu_sections(row, parent).map_err(malformed()))
        .collect()
}

/// Units of a `.dwo` or `.dwp` that is read without the program that has its addresses.
pub(super) fn read_without_program<'a>(
    sections: &DwarfSections<'a>,
) -> Result<Vec<Dwarf<'a>>, Error> {
    let parent = Dwarf::default();
    if sections.has(SectionId::DebugCuIndex) {
        let package = open_package(sections)?;
        let malformed = || Error::dwarf("the index of the package (.debug_cu_index)");
        let rows = 1..=package.cu_index.unit_count();
        let units = rows.map(|row| package.cu_sections(row, &parent).map_err(malformed()));
        let mut all: Vec<Dwarf<'a>> = units.collect::<Result<_, _>>()?;
        all.extend(type_units(&package, &parent)?);
        return Ok(all);
    }
    let mut dwarf = sections.dwarf()?;
    dwarf.make_dwo(&parent);
    Ok(vec![dwarf])
}

impl MissingCompanion {
    fn unreadable(path: String, source: Error) -> Self {
        Self::Unreadable {
            path,
            cause: Box::new(source),
        }
    }
}
