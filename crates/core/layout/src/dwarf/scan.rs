//! Pass over all units that finds variables and functions.
//!
//! The first pass visits only entries outside functions. `DW_AT_sibling` lets the scan skip bodies
//! and members. Variables inside functions need a pass of their own.
use gimli::{Abbreviation, AttributeValue, DwTag, EntriesRaw, UnitOffset, constants as dw};
use rayon::prelude::*;

use super::die::{self, DieOffset, DieReference, Dwarf, Reader, Unit, Value, is_aggregate_tag};
use super::index::{CodeIndex, FunctionRange, GlobalVariable};
use super::parts::{DwarfUnits, UnitSlot};

/// Most specifications and abstract origins that are followed to a variable's name and type.
const ORIGINS_MAX: usize = 4;

/// Variables and functions outside functions, scanned in parallel. The result does not depend on
/// the number of threads. Malformed units are left out.
pub(super) fn scan_code<'s>(units: &DwarfUnits<'s>) -> CodeIndex<'s> {
    let parts = units
        .slots
        .par_iter()
        .map(|slot| scan_unit(units, slot, ScanScope::TopLevel).unwrap_or_default());
    CodeIndex::join(parts.collect())
}

/// Static variables inside functions. Units with malformed functions are left out.
pub(super) fn static_locals<'s>(units: &DwarfUnits<'s>) -> Vec<GlobalVariable<'s>> {
    scan_variables(units, ScanScope::Bodies)
}

/// Address ranges of functions inside functions, sorted by start: code that the compiler outlined,
/// functions of local classes, and nested functions.
pub(super) fn nested_functions(units: &DwarfUnits<'_>) -> Vec<FunctionRange> {
    let mut found: Vec<FunctionRange> = units
        .slots
        .par_iter()
        .flat_map_iter(|slot| {
            let part = scan_unit(units, slot, ScanScope::NestedFunctions);
            part.map(|part| part.functions).unwrap_or_default()
        })
        .collect();
    found.sort_by_key(|range| (range.low, range.high, range.die));
    found
}

/// Thread-local variables, inside functions or not, by their offsets in the thread-local segment.
pub(super) fn thread_locals<'s>(units: &DwarfUnits<'s>) -> Vec<GlobalVariable<'s>> {
    scan_variables(units, ScanScope::ThreadLocals)
}

fn scan_variables<'s>(units: &DwarfUnits<'s>, scope: ScanScope) -> Vec<GlobalVariable<'s>> {
    let mut found: Vec<GlobalVariable<'s>> = units
        .slots
        .par_iter()
        .flat_map_iter(|slot| {
            let part = scan_unit(units, slot, scope);
            part.map(|part| part.globals).unwrap_or_default()
        })
        .collect();
    found.sort_by_key(|global| (global.address, global.die));
    found
}

fn scan_unit<'s>(
    units: &DwarfUnits<'s>,
    slot: &UnitSlot<'s>,
    scope: ScanScope,
) -> gimli::Result<CodeIndex<'s>> {
    let unit = units.parse_unit(slot)?;
    let mut scan = CodeScan {
        units,
        slot,
        dwarf: &units.part(slot).dwarf,
        unit: &unit,
        scope,
        found: CodeIndex::default(),
    };
    scan.walk()?;
    Ok(scan.found)
}

/// Entries that a scan collects.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ScanScope {
    /// Variables and functions outside functions.
    TopLevel,
    /// Variables inside functions.
    Bodies,
    /// Functions inside functions.
    NestedFunctions,
    /// Thread-local variables anywhere.
    ThreadLocals,
}

struct CodeScan<'u, 's> {
    dwarf: &'u Dwarf<'s>,
    units: &'u DwarfUnits<'s>,
    slot: &'u UnitSlot<'s>,
    unit: &'u Unit<'s>,
    scope: ScanScope,
    found: CodeIndex<'s>,
}

/// Attributes that the scan reads.
#[derive(Default)]
struct CodeAttributes<'s> {
    name: Option<Value<'s>>,
    ty: Option<DieReference>,
    origin: Option<DieReference>,
    location: Option<Value<'s>>,
    low: Option<Value<'s>>,
    high: Option<Value<'s>>,
    ranges: Option<Value<'s>>,
    sibling: Option<UnitOffset>,
}

impl<'s> CodeScan<'_, 's> {
    fn walk(&mut self) -> gimli::Result<()> {
        let mut entries = self.unit.entries_raw(None)?;
        let Some(root) = entries.read_abbreviation()? else {
            return Ok(());
        };
        CodeAttributes::read(&mut entries, root)?;
        if !root.has_children() {
            return Ok(());
        }
        // `depth` counts open entries. Entries are ignored until `depth` falls back to `muted`.
        let mut depth = 1usize;
        let mut muted: Option<usize> = None;
        while depth > 0 && !entries.is_empty() {
            let offset = entries.next_offset();
            let Some(abbreviation) = entries.read_abbreviation()? else {
                depth -= 1;
                if muted.is_some_and(|above| depth <= above) {
                    muted = None;
                }
                continue;
            };
            let tag = abbreviation.tag();
            let wanted = muted.is_none() && self.wants(tag, depth);
            if !wanted && !abbreviation.has_children() {
                entries.skip_attributes(abbreviation.attributes())?;
                continue;
            }
            let attributes = CodeAttributes::read(&mut entries, abbreviation)?;
            if wanted {
                self.collect(tag, offset, &attributes);
            }
            if !abbreviation.has_children() {
                continue;
            }
            if muted.is_none() && self.descends(tag) {
                depth += 1;
            } else if let Some(next) = attributes
                .sibling
                .filter(|next| *next > entries.next_offset())
            {
                entries = self.unit.entries_raw(Some(next))?;
            } else {
                muted = muted.or(Some(depth));
                depth += 1;
            }
        }
        Ok(())
    }

    fn wants(&self, tag: DwTag, depth: usize) -> bool {
        match self.scope {
            ScanScope::TopLevel => matches!(tag, dw::DW_TAG_variable | dw::DW_TAG_subprogram),
            ScanScope::Bodies => depth > 1 && tag == dw::DW_TAG_variable,
            ScanScope::NestedFunctions => depth > 1 && tag == dw::DW_TAG_subprogram,
            ScanScope::ThreadLocals => tag == dw::DW_TAG_variable,
        }
    }

    fn descends(&self, tag: DwTag) -> bool {
        match self.scope {
            ScanScope::TopLevel => {
                matches!(tag, dw::DW_TAG_namespace | dw::DW_TAG_module) || is_aggregate_tag(tag)
            }
            ScanScope::Bodies => matches!(
                tag,
                dw::DW_TAG_namespace
                    | dw::DW_TAG_module
                    | dw::DW_TAG_subprogram
                    | dw::DW_TAG_lexical_block
            ),
            ScanScope::NestedFunctions | ScanScope::ThreadLocals => {
                matches!(
                    tag,
                    dw::DW_TAG_namespace
                        | dw::DW_TAG_module
                        | dw::DW_TAG_subprogram
                        | dw::DW_TAG_lexical_block
                ) || is_aggregate_tag(tag)
            }
        }
    }

    fn collect(&mut self, tag: DwTag, offset: UnitOffset, attributes: &CodeAttributes<'s>) {
        match tag {
            dw::DW_TAG_variable => self.collect_variable(offset, attributes),
            _ => self.collect_function(offset, attributes),
        }
    }

    fn collect_variable(&mut self, offset: UnitOffset, attributes: &CodeAttributes<'s>) {
        let place = match self.scope {
            ScanScope::ThreadLocals => die::thread_local_offset,
            ScanScope::TopLevel | ScanScope::Bodies | ScanScope::NestedFunctions => {
                die::fixed_address
            }
        };
        let address = attributes.location.as_ref();
        let Some(address) = address.and_then(|at| place(self.dwarf, self.unit, at)) else {
            return;
        };
        let (mut name, mut ty) = (attributes.name, attributes.ty);
        let mut origin = self.origin_of(attributes);
        for _ in 0..ORIGINS_MAX {
            let Some(next) = &origin else { break };
            name = name.or(next.name);
            ty = ty.or(next.ty);
            origin = self.origin_of(next);
        }
        let Some(type_die) = ty.and_then(|ty| self.resolve(ty)) else {
            return;
        };
        let name = name
            .and_then(|name| die::attribute_text(self.dwarf, self.unit, name))
            .unwrap_or_default();
        let die = self.die_at(offset);
        self.found.globals.push(GlobalVariable {
            address,
            name,
            type_die,
            die,
        });
    }

    fn collect_function(&mut self, offset: UnitOffset, attributes: &CodeAttributes<'s>) {
        let die = self.die_at(offset);
        if let Some((low, high)) = self.contiguous_range(attributes) {
            if low < high {
                self.found.functions.push(FunctionRange { low, high, die });
            }
            return;
        }
        let ranges = attributes
            .ranges
            .and_then(|at| self.dwarf.attr_ranges(self.unit, at).ok()?);
        let Some(mut ranges) = ranges else { return };
        while let Ok(Some(range)) = ranges.next() {
            if range.begin < range.end {
                self.found.functions.push(FunctionRange {
                    low: range.begin,
                    high: range.end,
                    die,
                });
            }
        }
    }

    fn contiguous_range(&self, attributes: &CodeAttributes<'s>) -> Option<(u64, u64)> {
        let low = self.dwarf.attr_address(self.unit, attributes.low?).ok()??;
        let high = attributes.high?;
        match self.dwarf.attr_address(self.unit, high).ok()? {
            Some(high) => Some((low, high)),
            None => Some((low, low.checked_add(high.udata_value()?)?)),
        }
    }

    /// Attributes of the entry that this one completes, if it is in the same unit.
    fn origin_of(&self, attributes: &CodeAttributes<'s>) -> Option<CodeAttributes<'s>> {
        let die = self.resolve(attributes.origin?)?;
        let offset = self.slot.offset_of(die)?;
        let mut entries = self.unit.entries_raw(Some(offset)).ok()?;
        let abbreviation = entries.read_abbreviation().ok()??;
        CodeAttributes::read(&mut entries, abbreviation).ok()
    }

    fn resolve(&self, reference: DieReference) -> Option<DieOffset> {
        self.units.resolve_reference(self.slot, reference)
    }

    fn die_at(&self, offset: UnitOffset) -> DieOffset {
        DieOffset(self.slot.start.saturating_add(offset.0))
    }
}

impl<'s> CodeAttributes<'s> {
    fn read(
        entries: &mut EntriesRaw<'_, Reader<'s>>,
        abbreviation: &Abbreviation,
    ) -> gimli::Result<Self> {
        let mut found = Self::default();
        for spec in abbreviation.attributes() {
            let attribute = entries.read_attribute_inline(*spec)?;
            let raw = attribute.raw_value();
            match attribute.name() {
                dw::DW_AT_name => found.name = Some(raw),
                dw::DW_AT_type => found.ty = die::die_reference(&raw),
                dw::DW_AT_specification | dw::DW_AT_abstract_origin => {
                    found.origin = die::die_reference(&raw);
                }
                dw::DW_AT_location => found.location = Some(attribute.value()),
                dw::DW_AT_low_pc => found.low = Some(attribute.value()),
                dw::DW_AT_high_pc => found.high = Some(attribute.value()),
                dw::DW_AT_ranges => found.ranges = Some(attribute.value()),
                dw::DW_AT_sibling => {
                    if let AttributeValue::UnitRef(offset) = raw {
                        found.sibling = Some(offset);
                    }
                }
                _ => {}
            }
        }
        Ok(found)
    }
}
