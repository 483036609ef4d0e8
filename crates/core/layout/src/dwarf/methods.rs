//! Parameters of functions that point to structs, counted by struct.

use gimli::{UnitOffset, constants as dw};
use rayon::prelude::*;
use rustc_hash::FxHashMap;

use super::DwarfFile;
use super::die::{self, Dwarf, Reader, Unit};
use super::parts::{DwarfUnits, UnitSlot};

type Entry<'s> = gimli::DebuggingInformationEntry<Reader<'s>>;

/// Name and size of a struct.
type StructKey<'s> = (&'s str, u64);

impl DwarfFile<'_> {
    /// Named structs with the number of parameters of functions that are pointers to them, in the order of the functions.
    /// Each unit counts by itself, with the inline functions of the headers that it includes. A pointer to a const struct,
    /// and one by a typedef, does not count: pahole calls the others methods. Units that are malformed are left out.
    pub(crate) fn method_counts(&self) -> Vec<(String, u64)> {
        let units = &self.units;
        let slots = { units.slots.par_iter() }
            .filter(|slot| !slot.hidden && !self.is_excluded(super::DieOffset(slot.start)));
        let parts: Vec<Vec<(StructKey<'_>, u64)>> = slots
            .map(|slot| count_in_unit(units, slot).unwrap_or_default())
            .collect();
        let mut rows: FxHashMap<StructKey<'_>, usize> = FxHashMap::default();
        let mut counts: Vec<(String, u64)> = Vec::new();
        for (key, count) in parts.into_iter().flatten() {
            let row = *rows.entry(key).or_insert_with(|| {
                counts.push((key.0.to_owned(), 0));
                counts.len() - 1
            });
            counts[row].1 += count;
        }
        counts
    }
}

fn count_in_unit<'s>(
    units: &DwarfUnits<'s>,
    slot: &UnitSlot<'s>,
) -> gimli::Result<Vec<(StructKey<'s>, u64)>> {
    let unit = units.parse_unit(slot)?;
    let mut counter = MethodCounter {
        dwarf: &units.part(slot).dwarf,
        unit: &unit,
        known: FxHashMap::default(),
        rows: FxHashMap::default(),
        counts: Vec::new(),
    };
    let mut tree = unit.entries_tree(None)?;
    let mut children = tree.root()?.children();
    while let Some(function) = children.next()? {
        if function.entry().tag() != dw::DW_TAG_subprogram {
            continue;
        }
        let mut parameters = function.children();
        while let Some(parameter) = parameters.next()? {
            if parameter.entry().tag() == dw::DW_TAG_formal_parameter {
                counter.add(parameter.entry());
            }
        }
    }
    Ok(counter.counts)
}

struct MethodCounter<'u, 's> {
    dwarf: &'u Dwarf<'s>,
    unit: &'u Unit<'s>,
    /// Structs behind the types of parameters.
    known: FxHashMap<UnitOffset, Option<StructKey<'s>>>,
    rows: FxHashMap<StructKey<'s>, usize>,
    counts: Vec<(StructKey<'s>, u64)>,
}

impl<'s> MethodCounter<'_, 's> {
    fn add(&mut self, parameter: &Entry<'s>) {
        let Some(ty) = self.type_of_parameter(parameter) else {
            return;
        };
        let key = match self.known.get(&ty) {
            Some(known) => *known,
            None => {
                let found = self.pointed_struct(ty);
                self.known.insert(ty, found);
                found
            }
        };
        if let Some(key) = key {
            let row = *self.rows.entry(key).or_insert_with(|| {
                self.counts.push((key, 0));
                self.counts.len() - 1
            });
            self.counts[row].1 += 1;
        }
    }

    /// Type of a parameter, or of the one that it is an instance of.
    fn type_of_parameter(&self, parameter: &Entry<'s>) -> Option<UnitOffset> {
        reference(parameter, dw::DW_AT_type).or_else(|| {
            let origin = reference(parameter, dw::DW_AT_abstract_origin)?;
            reference(&self.unit.entry(origin).ok()?, dw::DW_AT_type)
        })
    }

    /// Struct with a name and members that `ty` is a pointer to.
    fn pointed_struct(&self, ty: UnitOffset) -> Option<StructKey<'s>> {
        let pointer = self.unit.entry(ty).ok()?;
        let target = reference(&pointer, dw::DW_AT_type)
            .filter(|_| pointer.tag() == dw::DW_TAG_pointer_type)?;
        let found = self.unit.entry(target).ok()?;
        let is_struct = matches!(
            found.tag(),
            dw::DW_TAG_structure_type | dw::DW_TAG_class_type
        );
        let is_declared = found.attr(dw::DW_AT_declaration).is_some();
        if !is_struct || is_declared {
            return None;
        }
        let name = found.attr_value(dw::DW_AT_name)?;
        let size = found.attr_value(dw::DW_AT_byte_size);
        let size = size.and_then(|size| size.udata_value()).unwrap_or(0);
        Some((die::attribute_text(self.dwarf, self.unit, name)?, size))
    }
}

/// Offset in the unit that an attribute refers to.
fn reference(entry: &Entry<'_>, name: gimli::DwAt) -> Option<UnitOffset> {
    match entry.attr_value(name)? {
        gimli::AttributeValue::UnitRef(offset) => Some(offset),
        _ => None,
    }
}
