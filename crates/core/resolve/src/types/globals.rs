//! Variables by link-time address.

use std::ops::Range;
use std::sync::OnceLock;

use relayout_layout::TypeId;
use relayout_layout::dwarf::{DieOffset, DwarfFile, ElfSymbol, GlobalVariable};
use relayout_layout::kernel_module::PER_CPU_SECTION;

use super::{FileDie, TypeStore, die};
use crate::images::FileId;

/// Variables and symbols before an address that are tried, at most.
const CANDIDATES_MAX: usize = 8;

/// No image has variables below this address.
const LEAST_IMAGE_ADDRESS: u64 = 4096;

/// Variable that holds an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProgramVariable<'f> {
    name: VariableName<'f>,
    /// Address of the first byte.
    pub start: u64,
    /// Size in bytes.
    pub bytes: u64,
    /// Type; `None` if only the symbol table has the variable.
    pub ty: Option<TypeId>,
}

/// Source of a variable's name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum VariableName<'f> {
    Symbol(&'f str),
    Entry(DieOffset),
}

/// Variable with the address that the debug information gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct PlacedVariable {
    /// Link-time address; for a thread-local variable, the offset in the file's segment.
    pub address: u64,
    /// Entry of the variable's type.
    pub ty: DieOffset,
    /// Entry of the variable.
    pub entry: DieOffset,
}

/// All variables of one file with a fixed address, including static ones in functions, and the
/// thread-local ones.
pub struct GlobalVariables<'f, 'a> {
    file: &'f DwarfFile<'a>,
    id: FileId,
    /// Variables with a fixed address, read when the first of them is looked up.
    typed: OnceLock<Vec<PlacedVariable>>,
    /// Thread-local variables, read when a program's thread-local memory is first met.
    threads: OnceLock<Vec<PlacedVariable>>,
    /// Addresses of per-cpu variables: from 0 on, or those of a section of the image; empty in
    /// programs.
    per_cpu: Range<u64>,
    this_cpu_off: Option<u64>,
    per_cpu_offset: Option<(u64, u64)>,
}

impl<'f, 'a> GlobalVariables<'f, 'a> {
    /// Makes the table of `file`, whose number is `id`, from the `known` variables by address, or
    /// else from all that the file has, which takes half a second for a kernel and is put off until a
    /// variable is looked up.
    pub fn new(file: &'f DwarfFile<'a>, id: FileId, known: Option<&[PlacedVariable]>) -> Self {
        let known = known.map(<[PlacedVariable]>::to_vec);
        let symbol = |name: &str| file.symbols().iter().find(|s| s.name == name);
        Self {
            file,
            id,
            typed: known.map_or_else(OnceLock::new, OnceLock::from),
            threads: OnceLock::new(),
            per_cpu: {
                let address = |name: &str| symbol(name).map(|s| s.address);
                let of_kernel = address("__per_cpu_start").zip(address("__per_cpu_end"));
                let of_module = || file.section_addresses(PER_CPU_SECTION).unwrap_or_default();
                of_kernel.map_or_else(of_module, |(start, end)| start..end)
            },
            this_cpu_off: symbol("this_cpu_off").map(|s| s.address),
            per_cpu_offset: symbol("__per_cpu_offset").map(|s| (s.address, s.address + s.size)),
        }
    }

    /// Returns all variables with a fixed address, sorted by it.
    pub fn placed(&self) -> &[PlacedVariable] {
        let all = || self.file.globals().iter().chain(self.file.static_locals());
        self.typed.get_or_init(|| sorted_variables(all()))
    }

    /// Returns a variable's name; empty if it has none.
    pub fn name_of(&self, variable: &ProgramVariable<'f>) -> &'f str {
        match variable.name {
            VariableName::Symbol(name) => name,
            VariableName::Entry(entry) => die::name_of(self.file, entry).unwrap_or_default(),
        }
    }

    /// Returns the variable that holds a per-cpu offset.
    pub fn per_cpu_variable(
        &self,
        store: &TypeStore<'f, 'a>,
        offset: u64,
    ) -> Option<ProgramVariable<'f>> {
        { self.per_cpu.contains(&offset) }
            .then(|| self.find_variable(store, offset))
            .flatten()
    }

    /// Returns the variable that holds an address of the image. A section with per-cpu variables
    /// is only their first content.
    pub fn image_variable(
        &self,
        store: &TypeStore<'f, 'a>,
        address: u64,
    ) -> Option<ProgramVariable<'f>> {
        let is_image = address >= LEAST_IMAGE_ADDRESS && !self.per_cpu.contains(&address);
        is_image
            .then(|| self.find_variable(store, address))
            .flatten()
    }

    /// Returns the variable that holds an offset of the file's thread-local segment.
    pub fn thread_local_variable(
        &self,
        store: &TypeStore<'f, 'a>,
        offset: u64,
    ) -> Option<ProgramVariable<'f>> {
        let placed = self
            .threads
            .get_or_init(|| sorted_variables(self.file.thread_locals().iter()));
        let found = self.typed_variable(placed, store, offset);
        found.or_else(|| self.symbol_variable(|s| s.is_thread_local(), offset))
    }

    /// Returns true if the per-cpu word at `offset` is the distance to the CPU's own area.
    pub fn is_this_cpu_off(&self, offset: u64) -> bool {
        self.this_cpu_off == Some(offset)
    }

    /// Returns true if `address` is in the table of the CPUs' distances.
    pub fn is_per_cpu_offset(&self, address: u64) -> bool {
        self.per_cpu_offset
            .is_some_and(|(start, end)| (start..end).contains(&address))
    }

    fn find_variable(
        &self,
        store: &TypeStore<'f, 'a>,
        address: u64,
    ) -> Option<ProgramVariable<'f>> {
        let found = self.typed_variable(self.placed(), store, address);
        found.or_else(|| self.symbol_variable(|s| s.is_object(), address))
    }

    fn typed_variable(
        &self,
        variables: &[PlacedVariable],
        store: &TypeStore<'f, 'a>,
        address: u64,
    ) -> Option<ProgramVariable<'f>> {
        let after = variables.partition_point(|g| g.address <= address);
        let near = variables[..after].iter().rev().take(CANDIDATES_MAX);
        near.filter_map(|placed| {
            let ty = store.load(FileDie {
                file: self.id,
                offset: placed.ty,
            })?;
            let start = placed.address;
            let bytes = store.types().size_of(ty).filter(|&b| b > 0);
            let bytes = bytes.or_else(|| self.symbol_size(placed))?;
            (address - start < bytes).then_some(ProgramVariable {
                name: VariableName::Entry(placed.entry),
                start,
                bytes,
                ty: Some(ty),
            })
        })
        .next()
    }

    fn symbol_size(&self, variable: &PlacedVariable) -> Option<u64> {
        let (start, name) = (variable.address, die::name_of(self.file, variable.entry)?);
        let mut same = self.file.symbols_at(start);
        same.find(|s| s.name == name).map(|s| s.size)
    }

    fn symbol_variable(&self, is_kind: IsKind, address: u64) -> Option<ProgramVariable<'f>> {
        let mut near = self.file.symbols_up_to(address).take(CANDIDATES_MAX);
        let symbol = near.find(|s| is_kind(s) && address - s.address < s.size)?;
        Some(ProgramVariable {
            name: VariableName::Symbol(symbol.name),
            start: symbol.address,
            bytes: symbol.size,
            ty: None,
        })
    }
}

/// Filter of symbols.
type IsKind = fn(&ElfSymbol<'_>) -> bool;

fn sorted_variables<'g>(all: impl Iterator<Item = &'g GlobalVariable<'g>>) -> Vec<PlacedVariable> {
    let place = |g: &GlobalVariable<'_>| PlacedVariable {
        address: g.address,
        ty: g.type_die,
        entry: g.die,
    };
    let mut placed: Vec<PlacedVariable> = all.map(place).collect();
    placed.sort_unstable();
    placed
}
