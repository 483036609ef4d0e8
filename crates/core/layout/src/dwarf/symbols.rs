//! ELF symbol table, sorted by address.

use object::{Object, ObjectSymbol, SymbolSection};

use crate::elf::{ElfBinary, with_elf};

/// Kind of a symbol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SymbolKind {
    /// `STT_FUNC`
    Function,
    /// `STT_OBJECT` or `STT_COMMON`
    Object,
    /// `STT_TLS`: the address is an offset in the thread's block.
    Tls,
    /// Labels and linker-made symbols without a type.
    Other,
}

/// Defined symbol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ElfSymbol<'a> {
    /// Linked address (`st_value`).
    pub address: u64,
    /// Size in bytes; 0 where the table has none.
    pub size: u64,
    /// Name in the table.
    pub name: &'a str,
    /// Kind.
    pub kind: SymbolKind,
}

impl ElfSymbol<'_> {
    /// Returns true for code.
    pub fn is_function(&self) -> bool {
        self.kind == SymbolKind::Function
    }

    /// Returns true for data.
    pub fn is_object(&self) -> bool {
        self.kind == SymbolKind::Object
    }

    /// Returns true for thread-local data.
    pub fn is_thread_local(&self) -> bool {
        self.kind == SymbolKind::Tls
    }
}

/// Defined, named symbols by address; at one address, larger before smaller.
pub(super) fn sorted_symbols<'a>(elf: &ElfBinary<'a>) -> Vec<ElfSymbol<'a>> {
    let mut symbols: Vec<ElfSymbol<'a>> = with_elf!(elf, file => {
        // A stripped file still has its dynamic symbols.
        if file.symbol_table().is_some() {
            file.symbols().filter_map(|symbol| defined_symbol(&symbol)).collect()
        } else {
            file.dynamic_symbols().filter_map(|symbol| defined_symbol(&symbol)).collect()
        }
    });
    symbols.sort_by(|a, b| (a.address, b.size, a.name).cmp(&(b.address, a.size, b.name)));
    symbols
}

fn defined_symbol<'a>(symbol: &impl ObjectSymbol<'a>) -> Option<ElfSymbol<'a>> {
    use object::SymbolKind as Elf;
    let kind = match symbol.kind() {
        Elf::Text => SymbolKind::Function,
        Elf::Data => SymbolKind::Object,
        Elf::Tls => SymbolKind::Tls,
        Elf::Label | Elf::Unknown => SymbolKind::Other,
        _ => return None,
    };
    let name = symbol.name().ok().filter(|name| !name.is_empty())?;
    match symbol.section() {
        SymbolSection::Section(_) | SymbolSection::Absolute => {}
        _ => return None,
    }
    Some(ElfSymbol {
        address: symbol.address(),
        size: symbol.size(),
        name,
        kind,
    })
}
