//! What the debug information of one file knows, for the analysis of its functions.

use std::sync::RwLock;

use relayout_layout::TypeId;
use relayout_layout::dwarf::{DieOffset, DwarfFile, FunctionRange};
use rustc_hash::FxHashMap;

use super::code::Code;
use super::flow::Function;
use super::knowledge::{Call, Evidence, Knowledge};
use super::variables::Variables;
use crate::insn::{Insn, Machine, Memory, Segment};
use crate::types::{Globals, TypeStore, die};

/// Functions that leave all registers alone, called by tracing and by mitigations.
const HOOKS: [&str; 4] = [
    "__fentry__",
    "mcount",
    "__x86_return_thunk",
    "__sanitizer_cov_trace_pc",
];

/// The kernel's struct around pointers to functions that save all registers but the result.
const CALLEE_SAVE: &str = "paravirt_callee_save";

/// One file's code, types and variables.
pub struct Program<'f, 'a> {
    file: &'f DwarfFile<'a>,
    machine: &'f dyn Machine,
    /// Its types.
    pub store: TypeStore<'f, 'a>,
    /// Its variables.
    pub globals: Globals<'f, 'a>,
    /// Ranges of each function, the cold ones included.
    ranges: FxHashMap<DieOffset, Vec<FunctionRange>>,
    hooks: Vec<u64>,
    calls: RwLock<FxHashMap<u64, Call>>,
}

impl<'f, 'a> Program<'f, 'a> {
    /// Prepares the file; no type is loaded yet.
    pub fn new(file: &'f DwarfFile<'a>, machine: &'f dyn Machine) -> Self {
        let mut ranges: FxHashMap<DieOffset, Vec<FunctionRange>> = FxHashMap::default();
        for range in file.functions() {
            ranges.entry(range.die).or_default().push(*range);
        }
        let hook = |s: &&relayout_layout::dwarf::Symbol<'_>| HOOKS.contains(&s.name);
        Self {
            file,
            machine,
            store: TypeStore::new(file),
            globals: Globals::new(file),
            ranges,
            hooks: file
                .symbols()
                .iter()
                .filter(hook)
                .map(|s| s.address)
                .collect(),
            calls: RwLock::default(),
        }
    }

    /// The file.
    pub fn file(&self) -> &'f DwarfFile<'a> {
        self.file
    }

    /// The decoder of its code.
    pub fn machine(&self) -> &'f dyn Machine {
        self.machine
    }

    /// The function whose code holds `pc`.
    pub fn function_at(&self, pc: u64) -> Option<DieOffset> {
        let functions = self.file.functions();
        let after = functions.partition_point(|f| f.low <= pc);
        let near = functions[..after].iter().rev().take(4);
        { near }.find(|f| pc < f.high).map(|f| f.die)
    }

    /// Analyses a function; `None` if the file has no code for it.
    pub fn analyse(&self, function: DieOffset) -> Option<Function> {
        let ranges = self.ranges.get(&function)?;
        let bytes = |r: &FunctionRange| {
            let len = usize::try_from(r.high.checked_sub(r.low)?).ok()?;
            Some((r.low, self.file.bytes_at(r.low, len)?))
        };
        let pieces: Vec<_> = ranges.iter().filter_map(bytes).collect();
        let code = Code::decode(self.machine, &pieces);
        let variables = Variables::read(self.file, &self.store, function);
        let (unit, entry) = die::entry(self.file, function)?;
        let low = entry.attr_value(gimli::constants::DW_AT_low_pc);
        let low = low.and_then(|v| self.file.dwarf().attr_address(unit, v).ok().flatten());
        let entry = low.or_else(|| pieces.first().map(|p| p.0))?;
        let Variables { facts, locals } = variables;
        Some(Function::analyse(
            self.machine,
            self,
            code,
            facts,
            locals,
            entry,
        ))
    }

    /// Decodes the instruction that the file has at `pc`.
    pub fn insn_at(&self, pc: u64) -> Option<Insn> {
        let bytes = (1..=15).rev().find_map(|len| self.file.bytes_at(pc, len))?;
        self.machine.decode(pc, bytes)
    }

    /// What an operand of `insn` in `function` accesses, by the instruction alone.
    pub fn evidence(&self, function: &Function, insn: &Insn, operand: &Memory) -> Option<Evidence> {
        function.evidence(self.machine, self, insn, operand)
    }

    fn look_up_call(&self, target: u64) -> Call {
        if self.hooks.contains(&target) {
            return Call::Nothing;
        }
        let functions = self.file.functions();
        let at = functions.partition_point(|f| f.low < target);
        let callee = functions.get(at).filter(|f| f.low == target);
        let result = callee.and_then(|f| {
            let (unit, entry) = die::entry(self.file, f.die)?;
            self.store.pointee(die::type_of(self.file, unit, &entry)?)
        });
        Call::Returns(result)
    }

    fn place(&self, variable: crate::types::Variable<'f>, at: u64) -> Option<(TypeId, i64)> {
        Some((variable.ty?, i64::try_from(at - variable.start).ok()?))
    }
}

impl Knowledge for Program<'_, '_> {
    fn size_of(&self, ty: TypeId) -> Option<u64> {
        self.store.types().size_of(ty)
    }

    fn loaded(&self, ty: TypeId, offset: i64) -> Option<TypeId> {
        self.store.loaded(ty, u64::try_from(offset).ok()?)
    }

    fn element(&self, ty: TypeId, offset: i64) -> Option<(TypeId, i64)> {
        let (ty, offset) = self.store.element(ty, u64::try_from(offset).ok()?)?;
        Some((ty, i64::try_from(offset).ok()?))
    }

    fn contains(&self, outer: TypeId, offset: i64, inner: TypeId) -> bool {
        u64::try_from(offset).is_ok_and(|offset| self.store.contains(outer, offset, inner))
    }

    fn is_aggregate(&self, ty: TypeId) -> bool {
        self.store.types().aggregate(ty).is_some()
    }

    fn global(&self, address: u64) -> Option<(TypeId, i64)> {
        self.place(self.globals.image(&self.store, address)?, address)
    }

    fn local(&self, offset: u64) -> Option<(TypeId, i64)> {
        self.place(self.globals.per_cpu(&self.store, offset)?, offset)
    }

    fn is_local_base(&self, memory: &Memory) -> bool {
        let at = memory.displacement as u64;
        match (memory.segment, memory.base) {
            (Segment::Local, None) => memory.index.is_none() && self.globals.is_this_cpu_off(at),
            (Segment::Flat, None) => self.globals.is_per_cpu_offset(at),
            _ => false,
        }
    }

    fn call(&self, target: u64) -> Call {
        let known = self
            .calls
            .read()
            .ok()
            .and_then(|calls| calls.get(&target).copied());
        known.unwrap_or_else(|| {
            let call = self.look_up_call(target);
            if let Ok(mut calls) = self.calls.write() {
                calls.insert(target, call);
            }
            call
        })
    }

    fn call_through(&self, ty: TypeId, offset: i64) -> Call {
        let Ok(offset) = u64::try_from(offset) else {
            return Call::Returns(None);
        };
        let path = self.store.types().member_at(ty, offset, 8);
        let saves = path.is_some_and(|p| p.types_path.iter().any(|t| t == CALLEE_SAVE));
        if saves {
            Call::OnlyReturns
        } else {
            Call::Returns(None)
        }
    }
}
