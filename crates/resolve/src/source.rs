//! From a pc to function, file and line, inlined functions included.

use addr2line::Context;
use gimli::Dwarf;
use relayout_layout::dwarf::{DwarfFile, Reader};

/// One function on the way from the code to what was inlined at a pc.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    /// Function; empty where it has no name.
    pub function: String,
    /// Source file as the debug information names it.
    pub file: Option<String>,
    /// 1-based line.
    pub line: Option<u32>,
}

/// The source behind a pc.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourcePlace {
    /// The function that the code belongs to, by the symbol that a disassembly shows: everything
    /// in `inlined` was inlined into it.
    pub function: String,
    /// File of the innermost frame.
    pub file: Option<String>,
    /// Line of the innermost frame.
    pub line: Option<u32>,
    /// Inlined functions, innermost first; empty where nothing was inlined.
    pub inlined: Vec<Frame>,
}

/// Looks up source places; not shared between threads, reads units as they are asked for.
pub struct SourceMap<'f, 'a> {
    context: Option<Context<Reader<'f>>>,
    file: &'f DwarfFile<'a>,
}

impl<'f, 'a> SourceMap<'f, 'a> {
    /// Prepares the lookup. With damaged line information only symbols are found.
    pub fn new(file: &'f DwarfFile<'a>) -> Self {
        Self {
            context: Context::from_dwarf(copy(file.dwarf())).ok(),
            file,
        }
    }

    /// The source at `pc`; `None` where neither code nor symbol is known.
    pub fn look_up(&self, pc: u64) -> Option<SourcePlace> {
        let mut frames = self.frames(pc);
        let symbol = self.symbol(pc);
        let Some(outer) = frames.pop() else {
            let function = symbol?.to_owned();
            return Some(SourcePlace {
                function,
                file: None,
                line: None,
                inlined: Vec::new(),
            });
        };
        let innermost = frames.first().unwrap_or(&outer);
        Some(SourcePlace {
            file: innermost.file.clone(),
            line: innermost.line,
            function: symbol.map_or_else(|| outer.function.clone(), str::to_owned),
            inlined: frames,
        })
    }

    fn frames(&self, pc: u64) -> Vec<Frame> {
        let Some(context) = &self.context else {
            return Vec::new();
        };
        let Ok(mut found) = context.find_frames(pc).skip_all_loads() else {
            return Vec::new();
        };
        let mut frames = Vec::new();
        while let Ok(Some(frame)) = found.next() {
            let name = frame.function.as_ref().and_then(|f| f.raw_name().ok());
            frames.push(Frame {
                function: name.map(|n| n.into_owned()).unwrap_or_default(),
                file: frame
                    .location
                    .as_ref()
                    .and_then(|l| l.file)
                    .map(str::to_owned),
                line: frame.location.as_ref().and_then(|l| l.line),
            });
        }
        frames
    }

    fn symbol(&self, pc: u64) -> Option<&'f str> {
        let symbols = self.file.symbols();
        let after = symbols.partition_point(|s| s.address <= pc);
        let near = symbols[..after]
            .iter()
            .rev()
            .take(16)
            .filter(|s| s.is_function());
        let holds = |s: &&relayout_layout::dwarf::Symbol<'f>| pc - s.address < s.size;
        let symbol = { near }.find(holds)?;
        Some(symbol.name)
    }
}

/// The same sections again; nothing is copied but slices.
fn copy<'f>(dwarf: &Dwarf<Reader<'f>>) -> Dwarf<Reader<'f>> {
    Dwarf {
        debug_abbrev: dwarf.debug_abbrev,
        debug_addr: dwarf.debug_addr,
        debug_aranges: dwarf.debug_aranges,
        debug_info: dwarf.debug_info,
        debug_line: dwarf.debug_line,
        debug_line_str: dwarf.debug_line_str,
        debug_str: dwarf.debug_str,
        debug_str_offsets: dwarf.debug_str_offsets,
        locations: dwarf.locations,
        ranges: dwarf.ranges,
        ..Default::default()
    }
}
