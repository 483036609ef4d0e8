//! Pass over all units that finds the names of types.
//!
//! The pass visits every entry outside functions once, so it decides how long opening a file takes.
//! Abbreviations are read for skipping, values that nobody needs are not decoded, and a name stays
//! an offset into its section until all units are joined. `DW_AT_sibling` lets the scan skip bodies
//! and members. Without it, children are read and ignored.

mod walk;

use gimli::{Encoding, Reader as _, Section as _};
use rayon::prelude::*;
use walk::NameScan;

use super::abbrev::{AbbreviationTable, ScanExtent};
use super::parts::{DwarfUnits, UnitSlot};
use super::unit_names::UnitNames;
use crate::Error;

/// Scans all units from index `from` on, in parallel. The result does not depend on the number of
/// threads. Functions are passed over: they are most of a file, and few have types inside.
pub(super) fn scan_type_names<'s>(
    units: &DwarfUnits<'s>,
    from: usize,
) -> Result<Vec<UnitNames<'s>>, Error> {
    let slots = units.slots.get(from..).unwrap_or_default();
    slots
        .par_iter()
        .map_init(AbbreviationCache::default, |cache, slot| {
            let place = || format!("the unit at {:#x} of .debug_info", slot.start);
            let names = cache.scan_unit(units, slot, ScanExtent::TopLevel);
            names.map_err(|error| Error::dwarf(place())(error))
        })
        .collect()
}

/// Scans the functions of all units, in parallel. Units with malformed functions have no names.
pub(super) fn scan_local_names<'s>(units: &DwarfUnits<'s>) -> Vec<UnitNames<'s>> {
    let slots = units.slots.par_iter();
    slots
        .map_init(AbbreviationCache::default, |cache, slot| {
            let names = cache.scan_unit(units, slot, ScanExtent::FunctionBodies);
            names.unwrap_or_default()
        })
        .collect()
}

/// Abbreviations that were read last. Units with the same table follow each other.
#[derive(Default)]
struct AbbreviationCache {
    abbreviations: AbbreviationTable,
    read: Option<(usize, usize, Encoding)>,
}

impl AbbreviationCache {
    fn scan_unit<'s>(
        &mut self,
        units: &DwarfUnits<'s>,
        slot: &UnitSlot<'s>,
        extent: ScanExtent,
    ) -> gimli::Result<UnitNames<'s>> {
        if slot.hidden {
            return Ok(UnitNames::default());
        }
        self.prepare(units, slot, extent)?;
        let mut scan = NameScan::new(units, slot, &self.abbreviations, extent);
        scan.walk()?;
        Ok(scan.found)
    }

    fn prepare<'s>(
        &mut self,
        units: &DwarfUnits<'s>,
        slot: &UnitSlot<'s>,
        extent: ScanExtent,
    ) -> gimli::Result<()> {
        let (at, encoding) = (slot.header.debug_abbrev_offset().0, slot.header.encoding());
        let key = Some((slot.part, at, encoding));
        if self.read == key {
            return Ok(());
        }
        self.read = None;
        let mut input = *units.part(slot).dwarf.debug_abbrev.reader();
        input.skip(at)?;
        self.abbreviations.read(input, encoding, extent)?;
        self.read = key;
        Ok(())
    }
}
