//! Variables of a function in the debug information: home, addresses and type of each pointer.
//! Inlined functions and their parameters count.

use gimli::{Expression, Operation, constants as dw};
use relayout_layout::TypeId;
use relayout_layout::dwarf::{DieOffset, DwarfFile, Reader};

use super::knowledge::{LocalVariable, ValueHome, VariableFact};
use crate::images::FileId;
use crate::insn::DwarfRegister;
use crate::types::die::{self, Entry, Unit};
use crate::types::{FileDie, TypeStore};

/// Entries read in one function, at most.
const ENTRIES_MAX: usize = 200_000;
/// Entries of nested functions that are skipped, at most. Functions nested many levels deep would
/// be read again and again.
const NESTED_MAX: usize = 10_000;
/// Entries read of all location and range lists of one function, at most. The largest function of a
/// kernel has about a tenth of that.
const LOCATIONS_MAX: usize = 200_000;

/// First address, and first address after.
type Range = (u64, u64);

/// Addresses for which a location holds. `fixed` locations hold in the variable's whole scope.
#[derive(Clone, Copy, Debug)]
struct ValiditySpan {
    range: Range,
    fixed: bool,
}

/// Pointer variables and frame aggregates of one function.
#[derive(Clone, Debug, Default)]
pub struct FunctionVariables {
    /// Pointer variables.
    pub facts: Vec<VariableFact>,
    /// Aggregates in the frame.
    pub locals: Vec<LocalVariable>,
    /// Variables of any type in memory, which is in the frame unless the base register points
    /// elsewhere.
    pub in_memory: Vec<FrameVariable>,
}

/// Variable in the frame of a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrameVariable {
    /// Entry of the variable.
    pub entry: DieOffset,
    /// Entry of the function that declares it, which may be inlined.
    pub function: DieOffset,
    /// Entry of its type.
    pub ty: DieOffset,
    /// First address for which it lives there.
    pub start: u64,
    /// First address after its life.
    pub end: u64,
    /// Home of its first byte; never a register.
    pub home: ValueHome,
    /// The variable has this home in its whole scope.
    pub fixed: bool,
}

impl FunctionVariables {
    /// Reads the variables of the function at `die`. Malformed entries are left out.
    pub fn read<'f, 'a>(
        debug_file: &'f DwarfFile<'a>,
        file: FileId,
        store: &TypeStore<'f, 'a>,
        die: DieOffset,
    ) -> Self {
        let mut variables = Self::default();
        if let Some((unit, offset)) = debug_file.locate_die(die) {
            let mut reading = VariableReader {
                debug_file,
                file,
                store,
                dwarf: debug_file.dwarf_of(die),
                function: die,
                unit_start: die.0.wrapping_sub(offset.0),
                unit,
                frame: frame_base(unit, offset),
                locations_left: LOCATIONS_MAX,
                variables: &mut variables,
            };
            // A malformed entry ends the walk; the variables before it are kept.
            let _ = reading.read_function(offset);
        }
        variables
    }
}

struct VariableReader<'r, 'f, 'a> {
    debug_file: &'f DwarfFile<'a>,
    file: FileId,
    store: &'r TypeStore<'f, 'a>,
    dwarf: &'f gimli::Dwarf<Reader<'f>>,
    function: DieOffset,
    /// Offset of the unit's first byte.
    unit_start: usize,
    unit: &'f Unit<'f>,
    frame: Option<FrameBase>,
    /// List entries that may still be read.
    locations_left: usize,
    variables: &'r mut FunctionVariables,
}

/// Entries of a variable, of the function that declares it, and of its type.
#[derive(Clone, Copy, Debug)]
struct DeclaredVariable {
    entry: DieOffset,
    function: DieOffset,
    ty: DieOffset,
}

/// Location of a variable's value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum VariableLocation {
    /// Value of the register, plus this many bytes.
    Register(DwarfRegister, i64),
    /// Value in memory.
    Memory(ValueHome),
}

impl<'f, 'a> VariableReader<'_, 'f, 'a> {
    fn read_function(&mut self, function: gimli::UnitOffset) -> gimli::Result<()> {
        let mut entries = self.unit.entries_at_offset(function)?;
        // Ranges of the open scopes, by depth. A variable without a location list lives in its
        // whole scope.
        let mut scopes: Vec<(isize, Vec<Range>)> = Vec::new();
        // Inlined functions that are open, by depth.
        let mut inlined: Vec<(isize, DieOffset)> = Vec::new();
        let mut top = None;
        // Depth of a nested function, which has a frame of its own.
        let mut nested: Option<isize> = None;
        let mut passed_over = 0;
        for _ in 0..ENTRIES_MAX {
            let Some(entry) = entries.next_dfs()? else {
                break;
            };
            let depth = entry.depth();
            if top.is_some_and(|top| depth <= top) {
                break;
            }
            if nested.is_some_and(|nested| depth > nested) {
                passed_over += 1;
                if passed_over > NESTED_MAX {
                    break;
                }
                continue;
            }
            nested = None;
            let is_own = *top.get_or_insert(depth) == depth;
            scopes.retain(|s| s.0 < depth);
            inlined.retain(|function| function.0 < depth);
            match entry.tag() {
                dw::DW_TAG_subprogram if !is_own => nested = Some(depth),
                dw::DW_TAG_variable | dw::DW_TAG_formal_parameter => {
                    let scope = scopes.last().map_or(&[][..], |s| &s.1);
                    let function = inlined.last().map_or(self.function, |function| function.1);
                    self.add_variable(entry, function, scope);
                }
                dw::DW_TAG_subprogram
                | dw::DW_TAG_inlined_subroutine
                | dw::DW_TAG_lexical_block => {
                    if entry.tag() == dw::DW_TAG_inlined_subroutine {
                        inlined.push((depth, self.die_of(entry)));
                    }
                    let ranges = self.ranges(entry);
                    if !ranges.is_empty() {
                        scopes.push((depth, ranges));
                    }
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn ranges(&mut self, entry: &Entry<'f>) -> Vec<Range> {
        let Ok(ranges) = self.dwarf.die_ranges(self.unit, entry) else {
            return Vec::new();
        };
        let ranges: Vec<Range> = ranges
            .map_while(Result::ok)
            .take(self.locations_left)
            .map(|r| (r.begin, r.end))
            .collect();
        self.locations_left -= ranges.len();
        ranges
    }

    fn die_of(&self, entry: &Entry<'f>) -> DieOffset {
        DieOffset(self.unit_start.wrapping_add(entry.offset().0))
    }

    fn add_variable(
        &mut self,
        entry: &Entry<'f>,
        function: DieOffset,
        scope: &[Range],
    ) -> Option<()> {
        let location = entry.attr_value(dw::DW_AT_location)?;
        let ty = die::type_of(self.debug_file, self.function, entry)?;
        let declared = DeclaredVariable {
            entry: self.die_of(entry),
            function,
            ty,
        };
        let mut kind = None;
        if let Some(expression) = location.exprloc_value() {
            let place = self.parse_location(expression)?;
            let scope = &scope[..scope.len().min(self.locations_left)];
            self.locations_left -= scope.len();
            for &range in scope {
                let span = ValiditySpan { range, fixed: true };
                self.add_location(place, span, declared, &mut kind);
            }
            return Some(());
        }
        let list = self.dwarf.attr_locations(self.unit, location).ok()??;
        for located in list.map_while(Result::ok).take(self.locations_left) {
            self.locations_left = self.locations_left.saturating_sub(1);
            if let Some(place) = self.parse_location(located.data) {
                let range = (located.range.begin, located.range.end);
                self.add_location(
                    place,
                    ValiditySpan {
                        range,
                        fixed: false,
                    },
                    declared,
                    &mut kind,
                );
            }
        }
        Some(())
    }

    fn add_location(
        &mut self,
        place: VariableLocation,
        span: ValiditySpan,
        declared: DeclaredVariable,
        kind: &mut Option<Kind>,
    ) {
        let DeclaredVariable {
            entry,
            function,
            ty,
        } = declared;
        let ValiditySpan {
            range: (start, end),
            fixed,
        } = span;
        if let VariableLocation::Memory(home) = place {
            self.variables.in_memory.push(FrameVariable {
                entry,
                function,
                ty,
                start,
                end,
                home,
                fixed,
            });
        }
        let kind = *kind.get_or_insert_with(|| self.variable_kind(ty));
        let mut fact = |home, target, offset| {
            self.variables.facts.push(VariableFact {
                start,
                end,
                home,
                target,
                offset,
                fixed,
            });
        };
        match (place, kind) {
            (VariableLocation::Register(reg, plus), Kind::Pointer(target)) => {
                fact(ValueHome::Register(reg), target, plus.wrapping_neg());
            }
            (VariableLocation::Memory(home), Kind::Pointer(target)) => fact(home, target, 0),
            (VariableLocation::Memory(home), Kind::Aggregate(ty)) => {
                self.variables.locals.push(LocalVariable {
                    start,
                    end,
                    home,
                    ty,
                });
            }
            _ => {}
        }
    }

    fn variable_kind(&self, ty: DieOffset) -> Kind {
        let ty = FileDie {
            file: self.file,
            offset: ty,
        };
        if let Some(target) = self.store.pointee(ty) {
            return Kind::Pointer(target);
        }
        match self.store.load(ty) {
            Some(ty) if self.store.types().aggregate(ty).is_some() => Kind::Aggregate(ty),
            _ => Kind::Other,
        }
    }

    /// Parses a location description of a form that can be followed. Pieces, entry values and
    /// computations give `None`.
    fn parse_location(&self, expression: Expression<Reader<'f>>) -> Option<VariableLocation> {
        let mut operations = expression.operations(self.unit.encoding());
        let first = operations.next().ok()??;
        let second = operations.next().ok()?;
        let third = second
            .as_ref()
            .map(|_| operations.next().ok())
            .unwrap_or(Some(None))?;
        let reg = |register: gimli::Register| u8::try_from(register.0).ok().map(DwarfRegister);
        match (first, second, third) {
            (Operation::Register { register }, None, None) => {
                Some(VariableLocation::Register(reg(register)?, 0))
            }
            (
                Operation::RegisterOffset {
                    register, offset, ..
                },
                Some(Operation::StackValue),
                None,
            ) => Some(VariableLocation::Register(reg(register)?, offset)),
            (
                Operation::RegisterOffset {
                    register, offset, ..
                },
                None,
                None,
            ) => Some(VariableLocation::Memory(ValueHome::Behind(
                reg(register)?,
                offset,
            ))),
            (Operation::FrameOffset { offset }, None, None) => {
                Some(VariableLocation::Memory(match self.frame? {
                    FrameBase::Cfa => ValueHome::Slot(offset),
                    FrameBase::Register(reg) => ValueHome::Behind(reg, offset),
                }))
            }
            _ => None,
        }
    }
}

/// Base of a function's frame offsets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FrameBase {
    /// Canonical frame address.
    Cfa,
    /// Value of a register.
    Register(DwarfRegister),
}

fn frame_base(unit: &Unit<'_>, function: gimli::UnitOffset) -> Option<FrameBase> {
    let entry = unit.entry(function).ok()?;
    let expression = entry.attr_value(dw::DW_AT_frame_base)?.exprloc_value()?;
    match expression.operations(unit.encoding()).next().ok()?? {
        Operation::CallFrameCFA => Some(FrameBase::Cfa),
        Operation::Register { register } => Some(FrameBase::Register(DwarfRegister(
            u8::try_from(register.0).ok()?,
        ))),
        _ => None,
    }
}

/// Kind of a variable's type.
#[derive(Clone, Copy, Debug)]
enum Kind {
    Pointer(TypeId),
    Aggregate(TypeId),
    Other,
}
