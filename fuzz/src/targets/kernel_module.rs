use relayout_layout::dwarf::{DwarfFile, SectionStore};
use relayout_layout::kernel_module::{link_module, module_description, module_sections};

/// Address of every symbol of the kernel.
const KERNEL_SYMBOL: u64 = 0xffff_ffff_8100_0000;

/// A kernel module: its description, its sections, and its debug information once it is linked.
pub fn kernel_module(data: &[u8]) {
    let _ = module_description(data);
    let sections = module_sections(data);
    let linked = link_module(data, &|_| Some(KERNEL_SYMBOL));
    assert!(sections.is_ok() || linked.is_err());
    if let Ok(linked) = linked {
        let store = SectionStore::default();
        if let Ok(file) = DwarfFile::parse_with_store(&linked, &store) {
            file.symbols();
            file.globals();
        }
    }
}
