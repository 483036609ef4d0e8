//! Debug information of all files, for the analysis of their functions.

use std::sync::{OnceLock, RwLock};

use relayout_layout::TypeId;
use relayout_layout::dwarf::{DieOffset, DwarfFile, FunctionRange};
use relayout_layout::kernel_module::is_module_address;
use rustc_hash::FxHashMap;

use super::code::FunctionCode;
use super::flow::AnalysedFunction;
use super::knowledge::{CallEffect, OperandEvidence, OperandQuery, TypeEvidence, TypeKnowledge};
use super::variables::{FrameVariable, FunctionVariables};
use crate::images::{DebugImages, FileId, LinkedAddress};
use crate::insn::{
    AddressSegment, DecodedInsn, DwarfRegister, InsnFlow, InstructionSet, MemoryOperand,
};
use crate::kept::{FileIndex, KeptEvidence};
use crate::types::{FileDie, GlobalVariables, TypeStore, die, shape};

/// Functions that leave all registers alone, called by tracing and by mitigations.
const HOOKS: [&str; 4] = [
    "__fentry__",
    "mcount",
    "__x86_return_thunk",
    "__sanitizer_cov_trace_pc",
];

/// Start of the names of stubs that jump through the register in their name.
const RETPOLINE: &str = "__x86_indirect_thunk_";

/// The kernel's struct around pointers to functions that save all registers but the result.
const CALLEE_SAVE: &str = "paravirt_callee_save";

/// Instructions of a stub before its jump, at most: `endbr64`.
const STUB_INSNS: usize = 3;

/// Longest call instruction, in bytes.
const CALL_BYTES_MAX: u64 = 8;

/// Code, types and variables of all files.
pub struct AnalysedProgram<'f, 'a> {
    machine: &'f dyn InstructionSet,
    files: Vec<ProgramFile<'f, 'a>>,
    /// Types of all files.
    pub store: TypeStore<'f, 'a>,
    /// Functions by name, for calls from one file to another.
    exported: OnceLock<FxHashMap<&'f str, LinkedAddress>>,
    /// The files are a kernel and modules that are linked against it.
    has_kernel_modules: bool,
    /// The files are a program and its libraries.
    is_program: bool,
}

/// Code and variables of one file.
struct ProgramFile<'f, 'a> {
    file: &'f DwarfFile<'a>,
    globals: GlobalVariables<'f, 'a>,
    /// Ranges of all functions by their first address, if they were kept.
    kept_functions: Option<Vec<FunctionRange>>,
    /// Ranges of each function, including cold ones; made for the first function that is analysed.
    ranges: OnceLock<FxHashMap<DieOffset, Vec<FunctionRange>>>,
    hooks: Vec<u64>,
    calls: RwLock<FxHashMap<u64, CallEffect>>,
}

/// View of one of the files. Addresses are link-time addresses of the file.
#[derive(Clone, Copy)]
pub struct FileView<'p, 'f, 'a> {
    program: &'p AnalysedProgram<'f, 'a>,
    analysed: &'p ProgramFile<'f, 'a>,
    id: FileId,
}

impl<'f, 'a> AnalysedProgram<'f, 'a> {
    /// Prepares the files. No type is loaded yet.
    pub fn new(images: &DebugImages<'f, 'a>, machine: &'f dyn InstructionSet) -> Self {
        Self::with_kept(images, machine, None)
    }

    /// Does the same with kept evidence, and adds what is missing to it.
    pub fn with_kept(
        images: &DebugImages<'f, 'a>,
        machine: &'f dyn InstructionSet,
        mut kept: Option<&mut KeptEvidence>,
    ) -> Self {
        let files = images.files().iter().enumerate();
        let files = files.map(|(id, file)| {
            let id = FileId(id as u16);
            let known = kept.as_ref().and_then(|kept| kept.file_index(id));
            let is_new = known.is_none();
            let file = ProgramFile::new(file, id, known);
            if let Some(kept) = kept.as_mut().filter(|_| is_new) {
                kept.keep_file_index(id, file.index());
            }
            file
        });
        Self {
            machine,
            files: files.collect(),
            store: TypeStore::new(images),
            exported: OnceLock::new(),
            has_kernel_modules: images.has_kernel_modules(),
            is_program: images.is_program(),
        }
    }

    /// Returns the instruction set of the code.
    pub fn machine(&self) -> &'f dyn InstructionSet {
        self.machine
    }

    /// Returns the view of the kernel, or of the program itself.
    pub fn main_view(&self) -> FileView<'_, 'f, 'a> {
        self.file_view(FileId::MAIN)
    }

    /// Returns the view of a file.
    ///
    /// # Panics
    /// Panics if the id belongs to other images.
    pub fn file_view(&self, id: FileId) -> FileView<'_, 'f, 'a> {
        FileView {
            program: self,
            analysed: &self.files[usize::from(id.0)],
            id,
        }
    }

    /// Returns the function of that name in the first file that has one.
    fn exported_function(&self, name: &str) -> Option<LinkedAddress> {
        let collect = || {
            let mut functions = FxHashMap::default();
            for (n, own) in self.files.iter().enumerate() {
                let file = FileId(n as u16);
                for symbol in own.file.symbols().iter().filter(|s| s.is_function()) {
                    let address = symbol.address;
                    functions
                        .entry(symbol.name)
                        .or_insert(LinkedAddress { file, address });
                }
            }
            functions
        };
        self.exported.get_or_init(collect).get(name).copied()
    }
}

impl<'f, 'a> ProgramFile<'f, 'a> {
    fn new(file: &'f DwarfFile<'a>, id: FileId, known: Option<&FileIndex>) -> Self {
        let variables = known.map(|index| index.variables.as_slice());
        let hook = |s: &&relayout_layout::dwarf::ElfSymbol<'_>| HOOKS.contains(&s.name);
        Self {
            file,
            globals: GlobalVariables::new(file, id, variables),
            kept_functions: known.map(|index| index.functions.clone()),
            ranges: OnceLock::new(),
            hooks: file
                .symbols()
                .iter()
                .filter(hook)
                .map(|s| s.address)
                .collect(),
            calls: RwLock::default(),
        }
    }

    /// Returns the index to keep.
    fn index(&self) -> FileIndex {
        FileIndex {
            variables: self.globals.placed().to_vec(),
            functions: self.functions().to_vec(),
        }
    }

    /// Returns the ranges of all functions by their first address.
    fn functions(&self) -> &[FunctionRange] {
        let kept = self.kept_functions.as_deref();
        kept.unwrap_or_else(|| self.file.functions())
    }

    fn ranges(&self, function: DieOffset) -> Option<&[FunctionRange]> {
        let by_function = || {
            let mut ranges: FxHashMap<DieOffset, Vec<FunctionRange>> = FxHashMap::default();
            for range in self.functions() {
                ranges.entry(range.die).or_default().push(*range);
            }
            ranges
        };
        let ranges = self.ranges.get_or_init(by_function);
        ranges.get(&function).map(Vec::as_slice)
    }
}

impl<'p, 'f, 'a> FileView<'p, 'f, 'a> {
    /// Returns the view of the file that an address in this file's code is about: the code of a
    /// kernel's module names functions and variables of the kernel.
    fn holder_of(&self, address: u64) -> Self {
        let is_kernels = self.program.has_kernel_modules && !is_module_address(address);
        match is_kernels {
            true => self.program.main_view(),
            false => *self,
        }
    }

    /// Returns the debug file of this view.
    pub fn debug_file(&self) -> &'f DwarfFile<'a> {
        self.analysed.file
    }

    /// Returns all files.
    pub fn program(&self) -> &'p AnalysedProgram<'f, 'a> {
        self.program
    }

    /// Returns the file's variables.
    pub fn globals(&self) -> &'p GlobalVariables<'f, 'a> {
        &self.analysed.globals
    }

    /// Returns the function whose code holds `pc`.
    pub fn function_at(&self, pc: u64) -> Option<DieOffset> {
        let functions = self.analysed.functions();
        let after = functions.partition_point(|f| f.low <= pc);
        let near = functions[..after].iter().rev().take(4);
        let found = { near }.find(|f| pc < f.high);
        found.or_else(|| self.nested_at(pc)).map(|f| f.die)
    }

    /// Returns the function inside another one whose code holds `pc`. A kernel has none, and its
    /// bodies would take long to walk.
    fn nested_at(&self, pc: u64) -> Option<&'f FunctionRange> {
        let nested = self.nested_functions();
        let after = nested.partition_point(|f| f.low <= pc);
        let mut near = nested[..after].iter().rev().take(4);
        near.find(|f| pc < f.high)
    }

    fn nested_functions(&self) -> &'f [FunctionRange] {
        match self.program.is_program {
            true => self.debug_file().nested_functions(),
            false => &[],
        }
    }

    /// Analyses a function; `None` if the file has no code for it.
    pub fn analyse(&self, function: DieOffset) -> Option<AnalysedFunction> {
        let nested: Vec<FunctionRange>;
        let ranges = match self.analysed.ranges(function) {
            Some(ranges) => ranges,
            None => {
                let own = self.nested_functions().iter().filter(|f| f.die == function);
                nested = own.copied().collect();
                (!nested.is_empty()).then_some(nested.as_slice())?
            }
        };
        let bytes = |r: &FunctionRange| {
            let len = usize::try_from(r.high.checked_sub(r.low)?).ok()?;
            Some((r.low, self.debug_file().bytes_at(r.low, len)?))
        };
        let pieces: Vec<_> = ranges.iter().filter_map(bytes).collect();
        let code = FunctionCode::decode(self.program.machine, &pieces);
        let variables =
            FunctionVariables::read(self.debug_file(), self.id, &self.program.store, function);
        let (unit, entry) = die::read_entry(self.debug_file(), function)?;
        let low = entry.attr_value(gimli::constants::DW_AT_low_pc);
        let dwarf = self.debug_file().dwarf_of(function);
        let low = low.and_then(|v| dwarf.attr_address(unit, v).ok().flatten());
        // Of a function in two parts, the first in its list is the one that is called. A cold part
        // may have lower addresses.
        let first_part = || {
            let mut ranges = dwarf.die_ranges(unit, &entry).ok()?;
            ranges.next().ok().flatten().map(|range| range.begin)
        };
        let is_own = |address: &u64| pieces.iter().any(|piece| piece.0 == *address);
        let low = low.or_else(first_part).filter(is_own);
        let entry = low.or_else(|| pieces.first().map(|p| p.0))?;
        let FunctionVariables { facts, locals, .. } = variables;
        Some(AnalysedFunction::analyse(
            self.program.machine,
            self,
            code,
            facts,
            locals,
            entry,
        ))
    }

    /// Decodes the file's instruction at `pc`.
    pub fn insn_at(&self, pc: u64) -> Option<DecodedInsn> {
        let bytes = (1..=15)
            .rev()
            .find_map(|len| self.debug_file().bytes_at(pc, len))?;
        self.program.machine.decode(pc, bytes)
    }

    /// Returns the evidence of an operand of `insn` in `function`.
    pub fn evidence(
        &self,
        function: &AnalysedFunction,
        insn: &DecodedInsn,
        operand: &MemoryOperand,
    ) -> Option<TypeEvidence> {
        function.evidence(self.program.machine, self, insn, operand)
    }

    /// Returns the evidence of many operands in `function`, in the order of `queries`.
    pub fn evidence_of_all(
        &self,
        function: &AnalysedFunction,
        queries: &[OperandQuery],
    ) -> Vec<OperandEvidence> {
        function.evidence_of_all(self.program.machine, self, queries)
    }

    /// Returns the variables that have a place in the frame of a function, with their offsets from the
    /// canonical frame address.
    pub fn frame_variables(&self, function: DieOffset) -> Vec<(FrameVariable, i64)> {
        let Some(analysed) = self.analyse(function) else {
            return Vec::new();
        };
        let variables =
            FunctionVariables::read(self.debug_file(), self.id, &self.program.store, function);
        let machine = self.program.machine;
        let placed = variables.in_memory.into_iter().filter_map(|variable| {
            let home = (variable.home, variable.start..variable.end);
            let offset = analysed.home_offset(machine, self, home)?;
            Some((variable, offset))
        });
        placed.collect()
    }

    /// Returns the name of a call's target: through the procedure linkage table, through a slot of
    /// the dynamic linker, or directly.
    pub fn callee_name(&self, call: &DecodedInsn) -> Option<&'f str> {
        match call.flow {
            InsnFlow::Call(Some(target)) => self.holder_of(target).name_at(target),
            _ => self.import_name(call.target_slot()?),
        }
    }

    /// Returns the name of the target of the call that returns to `back`.
    pub fn call_before(&self, back: u64) -> Option<&'f str> {
        (1..=CALL_BYTES_MAX).find_map(|len| {
            let insn = self.insn_at(back.checked_sub(len)?)?;
            let is_call = matches!(insn.flow, InsnFlow::Call(_)) && insn.next_address() == back;
            is_call.then(|| self.callee_name(&insn)).flatten()
        })
    }

    fn name_at(&self, target: u64) -> Option<&'f str> {
        if let Some(name) = self.stub_target_name(target) {
            return Some(name);
        }
        let mut same = self.debug_file().symbols_at(target);
        same.find(|s| s.is_function()).map(|s| s.name)
    }

    /// Returns the name of the function that the stub at `target` jumps to.
    fn stub_target_name(&self, target: u64) -> Option<&'f str> {
        let mut pc = target;
        for _ in 0..STUB_INSNS {
            let insn = self.insn_at(pc)?;
            match insn.flow {
                InsnFlow::Next => pc = insn.next_address(),
                _ => return self.import_name(insn.target_slot()?),
            }
        }
        None
    }

    fn import_name(&self, slot: u64) -> Option<&'f str> {
        let imports = self.debug_file().imports();
        let at = imports.binary_search_by_key(&slot, |i| i.slot).ok()?;
        Some(imports[at].name)
    }

    fn look_up_call(&self, target: u64) -> CallEffect {
        if self.analysed.hooks.contains(&target) {
            return CallEffect::Nothing;
        }
        let own = LinkedAddress {
            file: self.id,
            address: target,
        };
        if let Some(reg) = self.thunk_register(target) {
            return CallEffect::Through(reg);
        }
        let result = self.returned_pointee(own).or_else(|| {
            let name = self.stub_target_name(target)?;
            self.returned_pointee(self.program.exported_function(name)?)
        });
        CallEffect::Returns(result)
    }

    /// Returns the register through which the code at `target` jumps, if it is a retpoline.
    fn thunk_register(&self, target: u64) -> Option<DwarfRegister> {
        let mut same = self.debug_file().symbols_at(target);
        let name = same.find_map(|s| s.name.strip_prefix(RETPOLINE))?;
        self.program.machine.register_by_name(name)
    }

    /// Returns the target of the pointer that a function returns.
    fn returned_pointee(&self, callee: LinkedAddress) -> Option<TypeId> {
        let view = self.program.file_view(callee.file);
        let (debug_file, functions) = (view.debug_file(), view.analysed.functions());
        let at = functions.partition_point(|f| f.low < callee.address);
        let function = functions.get(at).filter(|f| f.low == callee.address)?;
        let (_, entry) = die::read_entry(debug_file, function.die)?;
        let offset = die::type_of(debug_file, function.die, &entry)?;
        let file = callee.file;
        self.program.store.pointee(FileDie { file, offset })
    }

    fn type_at(
        &self,
        variable: crate::types::ProgramVariable<'f>,
        at: u64,
    ) -> Option<(TypeId, i64)> {
        Some((variable.ty?, i64::try_from(at - variable.start).ok()?))
    }

    /// Returns the type of the thread-local variable at an offset from the thread pointer, and the
    /// offset in it. Only the program's own block has a fixed offset.
    fn thread_local(&self, offset: u64) -> Option<(TypeId, i64)> {
        let tls = self
            .debug_file()
            .tls_segment()
            .filter(|_| self.id == FileId::MAIN)?;
        let machine = self.program.machine;
        let at = machine.thread_local(offset, tls.bytes, tls.align)?;
        let variable = self
            .analysed
            .globals
            .thread_local_variable(&self.program.store, at)?;
        self.type_at(variable, at)
    }
}

impl TypeKnowledge for FileView<'_, '_, '_> {
    fn size_of(&self, ty: TypeId) -> Option<u64> {
        self.program.store.types().size_of(ty)
    }

    fn is_open_ended(&self, ty: TypeId) -> bool {
        shape::has_flexible_tail(&self.program.store.types(), ty)
    }

    fn is_in_open_tail(&self, ty: TypeId, offset: u32) -> bool {
        let tail = shape::open_tail(&self.program.store.types(), ty);
        tail.is_some_and(|tail| u64::from(offset) >= tail.offset)
    }

    fn pointee_at(&self, ty: TypeId, offset: i64) -> Option<TypeId> {
        self.program
            .store
            .pointee_at(ty, u64::try_from(offset).ok()?)
    }

    fn element_at(&self, ty: TypeId, offset: i64, stride: u32) -> Option<(TypeId, i64)> {
        self.program.store.element_at(ty, offset, stride)
    }

    fn contains(&self, outer: TypeId, offset: i64, inner: TypeId) -> bool {
        u64::try_from(offset).is_ok_and(|offset| self.program.store.contains(outer, offset, inner))
    }

    fn is_aggregate(&self, ty: TypeId) -> bool {
        self.program.store.types().aggregate(ty).is_some()
    }

    fn global_at(&self, address: u64) -> Option<(TypeId, i64)> {
        let globals = self.holder_of(address).globals();
        let variable = globals.image_variable(&self.program.store, address)?;
        self.type_at(variable, address)
    }

    fn local_at(&self, offset: u64) -> Option<(TypeId, i64)> {
        let globals = self.holder_of(offset).globals();
        match globals.per_cpu_variable(&self.program.store, offset) {
            Some(variable) => self.type_at(variable, offset),
            None => self.thread_local(offset),
        }
    }

    fn is_local_base(&self, memory: &MemoryOperand) -> bool {
        let at = memory.displacement as u64;
        let globals = self.holder_of(at).globals();
        if self.debug_file().tls_segment().is_some() {
            return self.program.machine.is_thread_pointer(memory);
        }
        match (memory.segment, memory.base) {
            (AddressSegment::Local, None) => memory.index.is_none() && globals.is_this_cpu_off(at),
            (AddressSegment::Flat, None) => globals.is_per_cpu_offset(at),
            _ => false,
        }
    }

    fn call_effect(&self, target: u64) -> CallEffect {
        let known = self
            .analysed
            .calls
            .read()
            .ok()
            .and_then(|calls| calls.get(&target).copied());
        known.unwrap_or_else(|| {
            let call = self.holder_of(target).look_up_call(target);
            if let Ok(mut calls) = self.analysed.calls.write() {
                calls.insert(target, call);
            }
            call
        })
    }

    fn indirect_call_effect(&self, ty: TypeId, offset: i64) -> CallEffect {
        let Ok(offset) = u64::try_from(offset) else {
            return CallEffect::Returns(None);
        };
        let path = self.program.store.types().member_at(ty, offset, 8);
        let saves = path.is_some_and(|p| p.types_path.iter().any(|t| t == CALLEE_SAVE));
        if saves {
            return CallEffect::OnlyReturns;
        }
        let function = self.program.store.pointee_at(ty, offset);
        CallEffect::Returns(function.and_then(|function| self.result_type(function)))
    }

    fn result_type(&self, function: TypeId) -> Option<TypeId> {
        self.program.store.returned_pointee(function)
    }
}
