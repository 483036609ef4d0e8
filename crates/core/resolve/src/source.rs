//! Source places: from a pc to function, file and line, including inlined functions.

use std::borrow::Cow;
use std::cell::OnceCell;

use addr2line::Context;
use gimli::Dwarf;
use relayout_layout::dwarf::{DwarfFile, Reader};

use crate::images::{DebugImages, LinkedAddress};

/// Function on the way from the code to the code that was inlined at a pc.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceFrame {
    /// Name of the function; empty if it has none.
    pub function: String,
    /// Source file as the debug information names it.
    pub file: Option<String>,
    /// Line number, from 1.
    pub line: Option<u32>,
}

/// Source place of a pc.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourcePlace {
    /// Function that the code belongs to, by the symbol that a disassembly shows. The functions of
    /// `inlined` were inlined into it.
    pub function: String,
    /// File of the innermost frame.
    pub file: Option<String>,
    /// Line of the innermost frame.
    pub line: Option<u32>,
    /// Inlined functions, innermost first; empty if nothing was inlined.
    pub inlined: Vec<SourceFrame>,
    /// The function itself, with the line in it; `None` if only the symbol is known.
    pub outer: Option<SourceFrame>,
}

/// Source places of all files.
pub struct SourceMaps<'f, 'a>(Vec<SourceMap<'f, 'a>>);

impl<'f, 'a> SourceMaps<'f, 'a> {
    /// Makes maps of all files.
    pub fn new(images: &DebugImages<'f, 'a>) -> Self {
        Self(
            { images.files().iter() }
                .map(|file| SourceMap::new(file))
                .collect(),
        )
    }

    /// Reads the units of all files, which the first lookup in a file does otherwise.
    pub fn load_units(&self) {
        for map in &self.0 {
            map.context();
        }
    }

    /// Returns the source place of the instruction at `at`.
    pub fn look_up(&self, at: LinkedAddress) -> Option<SourcePlace> {
        self.0.get(usize::from(at.file.0))?.look_up(at.address)
    }

    /// Returns the source place of the call that returns to `return_address`.
    pub fn look_up_call(&self, return_address: LinkedAddress) -> Option<SourcePlace> {
        self.look_up(LinkedAddress {
            address: return_address.address.wrapping_sub(1),
            ..return_address
        })
    }
}

/// Source places of one file. It reads units on demand and is not shared between threads.
pub struct SourceMap<'f, 'a> {
    /// `None` if the line information is damaged. Made by the first lookup: a kernel has thousands
    /// of units.
    context: OnceCell<Option<Context<Reader<'f>>>>,
    file: &'f DwarfFile<'a>,
}

impl<'f, 'a> SourceMap<'f, 'a> {
    /// Makes the map of a file. If the line information is damaged, only symbols are found.
    ///
    /// ```no_run
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use relayout_layout::dwarf::DwarfFile;
    /// use relayout_resolve::SourceMap;
    ///
    /// let bytes = std::fs::read("vmlinux")?;
    /// let debug_file = DwarfFile::parse(&bytes)?;
    /// if let Some(place) = SourceMap::new(&debug_file).look_up(0xffff_ffff_8100_0000) {
    ///     println!("{} {:?}:{:?}", place.function, place.file, place.line);
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub fn new(file: &'f DwarfFile<'a>) -> Self {
        Self {
            context: OnceCell::new(),
            file,
        }
    }

    fn context(&self) -> Option<&Context<Reader<'f>>> {
        let read = || Context::from_dwarf(copy_dwarf(self.file.dwarf())).ok();
        self.context.get_or_init(read).as_ref()
    }

    /// Returns the source place of `pc`; `None` if there is neither code nor a symbol.
    pub fn look_up(&self, pc: u64) -> Option<SourcePlace> {
        let mut frames = self.frames(pc);
        let symbol = self.symbol(pc);
        let Some(outer) = frames.pop() else {
            let function = readable_name(symbol?.into());
            return Some(SourcePlace {
                function,
                file: None,
                line: None,
                inlined: Vec::new(),
                outer: None,
            });
        };
        let innermost = frames.first().unwrap_or(&outer);
        Some(SourcePlace {
            file: innermost.file.clone(),
            line: innermost.line,
            function: symbol
                .map_or_else(|| outer.function.clone(), |name| readable_name(name.into())),
            inlined: frames,
            outer: Some(outer),
        })
    }

    fn frames(&self, pc: u64) -> Vec<SourceFrame> {
        let Some(context) = self.context() else {
            return Vec::new();
        };
        let Ok(mut found) = context.find_frames(pc).skip_all_loads() else {
            return Vec::new();
        };
        let mut frames = Vec::new();
        while let Ok(Some(frame)) = found.next() {
            let name = frame.function.as_ref().and_then(|f| f.raw_name().ok());
            frames.push(SourceFrame {
                function: name.map(readable_name).unwrap_or_default(),
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
        let mut near = self.file.symbols_up_to(pc).take(16);
        let symbol = near.find(|s| s.is_function() && pc - s.address < s.size)?;
        Some(symbol.name)
    }
}

/// Copies the sections, which are slices.
fn copy_dwarf<'f>(dwarf: &Dwarf<Reader<'f>>) -> Dwarf<Reader<'f>> {
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
        sup: dwarf.sup.clone(),
        ..Default::default()
    }
}

/// Returns a function's name as C++ or Rust source spells it, without parameters. Other names are
/// returned unchanged.
pub fn readable_name(name: Cow<'_, str>) -> String {
    if !name.starts_with("_Z") && !name.starts_with("_R") {
        return name.into_owned();
    }
    let whole = addr2line::demangle_auto(name, None);
    match whole.strip_prefix("_Z").and_then(first_names) {
        Some(names) => names,
        None => without_parameters(&whole).to_owned(),
    }
}

/// Returns the leading names of a symbol that cannot be demangled: `std::make_shared` of
/// `St11make_sharedI6SharedJEESt10...`.
fn first_names(mangled: &str) -> Option<String> {
    let mut rest = mangled.trim_start_matches(['N', 'K']);
    let mut names = Vec::new();
    if let Some(after) = rest.strip_prefix("St") {
        names.push("std");
        rest = after;
    }
    while let Some(digits) = rest.find(|c: char| !c.is_ascii_digit()).filter(|&n| n > 0) {
        let bytes: usize = rest[..digits].parse().ok()?;
        let end = digits.checked_add(bytes)?;
        names.push(rest.get(digits..end)?);
        rest = &rest[end..];
    }
    (!names.is_empty()).then(|| names.join("::"))
}

/// Strips result and parameters: `ns::Pool<Item>::grow` of `void ns::Pool<Item>::grow(unsigned
/// long) const`.
fn without_parameters(name: &str) -> &str {
    let plain = name.strip_suffix(" const").unwrap_or(name);
    if !plain.ends_with(')') {
        return name;
    }
    let Some(open) = matching_open(plain.as_bytes()) else {
        return name;
    };
    let head = &plain[..open];
    if head.is_empty() || head.ends_with("operator") {
        return name;
    }
    // The result of a template stands before its name.
    let mut depth = 0usize;
    let mut start = 0;
    for (at, byte) in head.bytes().enumerate() {
        match byte {
            b'<' | b'(' => depth += 1,
            b'>' | b')' => depth = depth.saturating_sub(1),
            b' ' if depth == 0 && !head[..at].ends_with("operator") => start = at + 1,
            _ => {}
        }
    }
    &head[start..]
}

/// Returns the index of the parenthesis that the last byte closes.
fn matching_open(name: &[u8]) -> Option<usize> {
    let mut depth = 0usize;
    for (at, byte) in name.iter().enumerate().rev() {
        match byte {
            b')' => depth += 1,
            b'(' => {
                depth = depth.checked_sub(1)?;
                if depth == 0 {
                    return Some(at);
                }
            }
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(name: &str, expect: &str) {
        assert_eq!(without_parameters(name), expect);
    }

    #[test]
    fn parameters_and_results_are_left_out() {
        check("Pool::grow(unsigned long)", "Pool::grow");
        check(
            "void ns::run<int (*)(char)>(int (*)(char))",
            "ns::run<int (*)(char)>",
        );
        check("operator new(unsigned long)", "operator new");
        check("A::operator()(int) const", "A::operator()");
        check("(anonymous namespace)::f()", "(anonymous namespace)::f");
        check("main", "main");
    }

    #[test]
    fn mangled_names_are_readable() {
        assert_eq!(readable_name("_ZN4Pool4growEm".into()), "Pool::grow");
        assert_eq!(readable_name("_Znwm".into()), "operator new");
        assert_eq!(
            readable_name("_RNvNtCs1_3lib4pool4grow".into()),
            "lib::pool::grow"
        );
        assert_eq!(readable_name("raw_spin_lock".into()), "raw_spin_lock");
        let whole = "_ZSt11make_sharedI6SharedJEESt10shared_ptrINSt9enable_ifIXntsrSt8is_arrayIT_E5valueE\
                     S4_E4typeEEDpOT0_";
        assert_eq!(readable_name(whole.into()), "std::make_shared");
    }
}
