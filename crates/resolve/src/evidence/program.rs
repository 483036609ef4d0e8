//! What the debug information of the files knows, for the analysis of their functions.

use std::sync::{OnceLock, RwLock};

use relayout_layout::TypeId;
use relayout_layout::dwarf::{DieOffset, DwarfFile, FunctionRange};
use rustc_hash::FxHashMap;

use super::code::Code;
use super::flow::Function;
use super::knowledge::{Call, Evidence, Knowledge};
use super::variables::Variables;
use crate::images::{FileId, Images, Linked};
use crate::insn::{Flow, Insn, Machine, Memory, Reg, Segment};
use crate::kept::Kept;
use crate::types::{Die, Globals, Placed, TypeStore, die, shape};

/// Functions that leave all registers alone, called by tracing and by mitigations.
const HOOKS: [&str; 4] = [
    "__fentry__",
    "mcount",
    "__x86_return_thunk",
    "__sanitizer_cov_trace_pc",
];

/// Start of the names of stubs that jump through the register named after it.
const RETPOLINE: &str = "__x86_indirect_thunk_";

/// The kernel's struct around pointers to functions that save all registers but the result.
const CALLEE_SAVE: &str = "paravirt_callee_save";

/// Instructions of a stub before it jumps to the function that it stands for: `endbr64`.
const STUB_INSNS: usize = 3;

/// Longest call instruction that is looked for, in bytes.
const CALL_BYTES_MAX: u64 = 8;

/// All files' code, types and variables.
pub struct Program<'f, 'a> {
    machine: &'f dyn Machine,
    files: Vec<ProgramFile<'f, 'a>>,
    /// Types of all files.
    pub store: TypeStore<'f, 'a>,
    /// Functions by name, for calls from one file to another.
    exported: OnceLock<FxHashMap<&'f str, Linked>>,
}

/// What belongs to one of the files.
struct ProgramFile<'f, 'a> {
    file: &'f DwarfFile<'a>,
    globals: Globals<'f, 'a>,
    /// Ranges of each function, the cold ones included; read when one is analysed.
    ranges: OnceLock<FxHashMap<DieOffset, Vec<FunctionRange>>>,
    hooks: Vec<u64>,
    calls: RwLock<FxHashMap<u64, Call>>,
}

/// One of the files among the others; addresses are its own, as linked.
#[derive(Clone, Copy)]
pub struct View<'p, 'f, 'a> {
    program: &'p Program<'f, 'a>,
    own: &'p ProgramFile<'f, 'a>,
    id: FileId,
}

impl<'f, 'a> Program<'f, 'a> {
    /// Prepares the files; no type is loaded yet.
    pub fn new(images: &Images<'f, 'a>, machine: &'f dyn Machine) -> Self {
        Self::with(images, machine, None)
    }

    /// The same with what is known of the files; what is not is found, and added to it.
    pub fn with(
        images: &Images<'f, 'a>,
        machine: &'f dyn Machine,
        mut kept: Option<&mut Kept>,
    ) -> Self {
        let files = images.files().iter().enumerate();
        let files = files.map(|(id, file)| {
            let id = FileId(id as u16);
            let known = kept.as_ref().and_then(|kept| kept.variables(id));
            let is_new = known.is_none();
            let file = ProgramFile::new(file, id, known);
            if let Some(kept) = kept.as_mut().filter(|_| is_new) {
                kept.keep_variables(id, file.globals.placed().to_vec());
            }
            file
        });
        Self {
            machine,
            files: files.collect(),
            store: TypeStore::new(images),
            exported: OnceLock::new(),
        }
    }

    /// The decoder of its code.
    pub fn machine(&self) -> &'f dyn Machine {
        self.machine
    }

    /// The kernel, or the program itself.
    pub fn main(&self) -> View<'_, 'f, 'a> {
        self.file(FileId::MAIN)
    }

    /// One of the files.
    ///
    /// # Panics
    /// With an id of other images.
    pub fn file(&self, id: FileId) -> View<'_, 'f, 'a> {
        View {
            program: self,
            own: &self.files[usize::from(id.0)],
            id,
        }
    }

    /// The function of that name in whichever file has it first.
    fn exported(&self, name: &str) -> Option<Linked> {
        let collect = || {
            let mut all = FxHashMap::default();
            for (n, own) in self.files.iter().enumerate() {
                let file = FileId(n as u16);
                for symbol in own.file.symbols().iter().filter(|s| s.is_function()) {
                    let address = symbol.address;
                    all.entry(symbol.name).or_insert(Linked { file, address });
                }
            }
            all
        };
        self.exported.get_or_init(collect).get(name).copied()
    }
}

impl<'f, 'a> ProgramFile<'f, 'a> {
    fn new(file: &'f DwarfFile<'a>, id: FileId, variables: Option<&[Placed]>) -> Self {
        let hook = |s: &&relayout_layout::dwarf::Symbol<'_>| HOOKS.contains(&s.name);
        Self {
            file,
            globals: Globals::new(file, id, variables),
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

    fn ranges(&self, function: DieOffset) -> Option<&[FunctionRange]> {
        let by_function = || {
            let mut ranges: FxHashMap<DieOffset, Vec<FunctionRange>> = FxHashMap::default();
            for range in self.file.functions() {
                ranges.entry(range.die).or_default().push(*range);
            }
            ranges
        };
        let ranges = self.ranges.get_or_init(by_function);
        ranges.get(&function).map(Vec::as_slice)
    }
}

impl<'p, 'f, 'a> View<'p, 'f, 'a> {
    /// The file itself.
    pub fn file(&self) -> &'f DwarfFile<'a> {
        self.own.file
    }

    /// All files.
    pub fn program(&self) -> &'p Program<'f, 'a> {
        self.program
    }

    /// Its variables.
    pub fn globals(&self) -> &'p Globals<'f, 'a> {
        &self.own.globals
    }

    /// The function whose code holds `pc`.
    pub fn function_at(&self, pc: u64) -> Option<DieOffset> {
        let functions = self.file().functions();
        let after = functions.partition_point(|f| f.low <= pc);
        let near = functions[..after].iter().rev().take(4);
        { near }.find(|f| pc < f.high).map(|f| f.die)
    }

    /// Analyses a function; `None` if the file has no code for it.
    pub fn analyse(&self, function: DieOffset) -> Option<Function> {
        let ranges = self.own.ranges(function)?;
        let bytes = |r: &FunctionRange| {
            let len = usize::try_from(r.high.checked_sub(r.low)?).ok()?;
            Some((r.low, self.file().bytes_at(r.low, len)?))
        };
        let pieces: Vec<_> = ranges.iter().filter_map(bytes).collect();
        let code = Code::decode(self.program.machine, &pieces);
        let variables = Variables::read(self, function);
        let (unit, entry) = die::entry(self.file(), function)?;
        let low = entry.attr_value(gimli::constants::DW_AT_low_pc);
        let dwarf = self.file().dwarf_of(function);
        let low = low.and_then(|v| dwarf.attr_address(unit, v).ok().flatten());
        let entry = low.or_else(|| pieces.first().map(|p| p.0))?;
        let Variables { facts, locals } = variables;
        Some(Function::analyse(
            self.program.machine,
            self,
            code,
            facts,
            locals,
            entry,
        ))
    }

    /// Decodes the instruction that the file has at `pc`.
    pub fn insn_at(&self, pc: u64) -> Option<Insn> {
        let bytes = (1..=15)
            .rev()
            .find_map(|len| self.file().bytes_at(pc, len))?;
        self.program.machine.decode(pc, bytes)
    }

    /// What an operand of `insn` in `function` accesses, by the instruction alone.
    pub fn evidence(&self, function: &Function, insn: &Insn, operand: &Memory) -> Option<Evidence> {
        function.evidence(self.program.machine, self, insn, operand)
    }

    /// Name of the function that a call goes to: through the procedure linkage table, through a slot
    /// that the dynamic linker fills, or directly.
    pub fn callee_name(&self, call: &Insn) -> Option<&'f str> {
        match call.flow {
            Flow::Call(Some(target)) => self.name_at(target),
            _ => self.import(call.target_slot()?),
        }
    }

    /// Name of the function that the call which returns to `back` went to.
    pub fn call_before(&self, back: u64) -> Option<&'f str> {
        (1..=CALL_BYTES_MAX).find_map(|len| {
            let insn = self.insn_at(back.checked_sub(len)?)?;
            let is_call = matches!(insn.flow, Flow::Call(_)) && insn.next() == back;
            is_call.then(|| self.callee_name(&insn)).flatten()
        })
    }

    fn name_at(&self, target: u64) -> Option<&'f str> {
        if let Some(name) = self.stub(target) {
            return Some(name);
        }
        let symbols = self.file().symbols();
        let first = symbols.partition_point(|s| s.address < target);
        let same = symbols[first..].iter().take_while(|s| s.address == target);
        { same }.find(|s| s.is_function()).map(|s| s.name)
    }

    /// What the stub at `target` stands for.
    fn stub(&self, target: u64) -> Option<&'f str> {
        let mut pc = target;
        for _ in 0..STUB_INSNS {
            let insn = self.insn_at(pc)?;
            match insn.flow {
                Flow::Next => pc = insn.next(),
                _ => return self.import(insn.target_slot()?),
            }
        }
        None
    }

    fn import(&self, slot: u64) -> Option<&'f str> {
        let imports = self.file().imports();
        let at = imports.binary_search_by_key(&slot, |i| i.slot).ok()?;
        Some(imports[at].name)
    }

    fn look_up_call(&self, target: u64) -> Call {
        if self.own.hooks.contains(&target) {
            return Call::Nothing;
        }
        let own = Linked {
            file: self.id,
            address: target,
        };
        if let Some(reg) = self.stands_for(target) {
            return Call::Through(reg);
        }
        let result = self.returned(own).or_else(|| {
            let name = self.stub(target)?;
            self.returned(self.program.exported(name)?)
        });
        Call::Returns(result)
    }

    /// The register through which the code at `target` jumps, if it is there to do so: a retpoline.
    fn stands_for(&self, target: u64) -> Option<Reg> {
        let symbols = self.file().symbols();
        let first = symbols.partition_point(|s| s.address < target);
        let mut same = symbols[first..].iter().take_while(|s| s.address == target);
        let name = same.find_map(|s| s.name.strip_prefix(RETPOLINE))?;
        self.program.machine.register(name)
    }

    /// What a function returns a pointer to.
    fn returned(&self, callee: Linked) -> Option<TypeId> {
        let of = self.program.file(callee.file).file();
        let functions = of.functions();
        let at = functions.partition_point(|f| f.low < callee.address);
        let function = functions.get(at).filter(|f| f.low == callee.address)?;
        let (_, entry) = die::entry(of, function.die)?;
        let offset = die::type_of(of, function.die, &entry)?;
        let file = callee.file;
        self.program.store.pointee(Die { file, offset })
    }

    fn place(&self, variable: crate::types::Variable<'f>, at: u64) -> Option<(TypeId, i64)> {
        Some((variable.ty?, i64::try_from(at - variable.start).ok()?))
    }

    /// The thread-local variable at an offset from the thread pointer. Only the program's own block
    /// is at a fixed one.
    fn thread_local(&self, offset: u64) -> Option<(TypeId, i64)> {
        let tls = self.file().tls().filter(|_| self.id == FileId::MAIN)?;
        let machine = self.program.machine;
        let at = machine.thread_local(offset, tls.bytes, tls.align)?;
        let variable = self.own.globals.thread_local(&self.program.store, at)?;
        self.place(variable, at)
    }

    /// A type of the file by its entry.
    pub fn die(&self, offset: DieOffset) -> Die {
        Die {
            file: self.id,
            offset,
        }
    }
}

impl Knowledge for View<'_, '_, '_> {
    fn size_of(&self, ty: TypeId) -> Option<u64> {
        self.program.store.types().size_of(ty)
    }

    fn is_open_ended(&self, ty: TypeId) -> bool {
        shape::has_flexible_tail(&self.program.store.types(), ty)
    }

    fn loaded(&self, ty: TypeId, offset: i64) -> Option<TypeId> {
        self.program.store.loaded(ty, u64::try_from(offset).ok()?)
    }

    fn element(&self, ty: TypeId, offset: i64, stride: u32) -> Option<(TypeId, i64)> {
        self.program.store.element(ty, offset, stride)
    }

    fn contains(&self, outer: TypeId, offset: i64, inner: TypeId) -> bool {
        u64::try_from(offset).is_ok_and(|offset| self.program.store.contains(outer, offset, inner))
    }

    fn is_aggregate(&self, ty: TypeId) -> bool {
        self.program.store.types().aggregate(ty).is_some()
    }

    fn global(&self, address: u64) -> Option<(TypeId, i64)> {
        self.place(
            self.own.globals.image(&self.program.store, address)?,
            address,
        )
    }

    fn local(&self, offset: u64) -> Option<(TypeId, i64)> {
        match self.own.globals.per_cpu(&self.program.store, offset) {
            Some(variable) => self.place(variable, offset),
            None => self.thread_local(offset),
        }
    }

    fn is_local_base(&self, memory: &Memory) -> bool {
        let at = memory.displacement as u64;
        if self.file().tls().is_some() {
            return self.program.machine.is_thread_pointer(memory);
        }
        match (memory.segment, memory.base) {
            (Segment::Local, None) => {
                memory.index.is_none() && self.own.globals.is_this_cpu_off(at)
            }
            (Segment::Flat, None) => self.own.globals.is_per_cpu_offset(at),
            _ => false,
        }
    }

    fn call(&self, target: u64) -> Call {
        let known = self
            .own
            .calls
            .read()
            .ok()
            .and_then(|calls| calls.get(&target).copied());
        known.unwrap_or_else(|| {
            let call = self.look_up_call(target);
            if let Ok(mut calls) = self.own.calls.write() {
                calls.insert(target, call);
            }
            call
        })
    }

    fn call_through(&self, ty: TypeId, offset: i64) -> Call {
        let Ok(offset) = u64::try_from(offset) else {
            return Call::Returns(None);
        };
        let path = self.program.store.types().member_at(ty, offset, 8);
        let saves = path.is_some_and(|p| p.types_path.iter().any(|t| t == CALLEE_SAVE));
        if saves {
            return Call::OnlyReturns;
        }
        let function = self.program.store.loaded(ty, offset);
        Call::Returns(function.and_then(|function| self.result_of(function)))
    }

    fn result_of(&self, function: TypeId) -> Option<TypeId> {
        self.program.store.returned(function)
    }
}
