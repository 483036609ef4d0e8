//! Kernel modules: relocatable files that are linked against a kernel.

use relayout_layout::dwarf::{DwarfFile, SectionStore};
use relayout_layout::kernel_module::{
    PER_CPU_SECTION, is_module_address, link_module, module_description, module_sections,
};

use relayout_testkit::compile_c as gcc;

const SOURCE: &str = r#"
struct counter { long hits; int state; };
struct counter total = { 5, 7 };
static __attribute__((section(".data..percpu"))) struct counter own_total;
struct counter *current_counter = &total;
extern int kernel_function(struct counter *);
const char depends[] __attribute__((section(".modinfo"))) = "depends=base,other_one";
const char magic[] __attribute__((section(".modinfo"))) = "vermagic=6.1.0 SMP";
int module_function(void) { own_total.hits++; return kernel_function(&total); }
"#;

const KERNEL_FUNCTION: u64 = 0xffff_ffff_8112_3450;

fn compile(flags: &[&str]) -> Vec<u8> {
    let folder = tempfile::tempdir().expect("a folder");
    let source = folder.path().join("module.c");
    std::fs::write(&source, SOURCE).expect("written");
    let common = [
        "-c",
        "-g",
        "-O1",
        "-fno-pie",
        "-mcmodel=kernel",
        "-fcf-protection=none",
    ];
    gcc(&source, &[&common, flags].concat())
}

fn link(module: &[u8]) -> Vec<u8> {
    let kernel = |name: &str| (name == "kernel_function").then_some(KERNEL_FUNCTION);
    link_module(module, &kernel).expect("a module")
}

#[track_caller]
fn check_linked(module: &[u8]) {
    let linked = link(module);
    let store = SectionStore::default();
    let debug = DwarfFile::parse_with_store(&linked, &store).expect("debug information");
    let section = |name: &str| {
        let sections = module_sections(module).expect("sections");
        let found = sections.into_iter().find(|section| section.name == name);
        found.expect("a section")
    };
    let symbol = |name: &str| {
        let mut symbols = debug.symbols().iter();
        symbols.find(|s| s.name == name).expect("a symbol").address
    };
    let global = |name: &str| {
        let mut globals = debug.globals().iter();
        let found = globals.find(|global| global.name == name);
        found.expect("a variable").address
    };
    // Variables have the addresses of their sections, by symbols and by debug information.
    let (data, own) = (section(".data"), section(PER_CPU_SECTION));
    assert!(is_module_address(data.address) && !is_module_address(KERNEL_FUNCTION));
    for name in ["total", "current_counter"] {
        assert_eq!(global(name), symbol(name));
        assert!((data.address..data.address + data.bytes).contains(&symbol(name)));
    }
    assert_eq!(global("own_total"), own.address);
    assert_eq!(
        debug.section_addresses(PER_CPU_SECTION),
        Some(own.address..own.address + own.bytes)
    );
    let pointer = debug.bytes_at(symbol("current_counter"), 8).expect("data");
    assert_eq!(pointer, symbol("total").to_le_bytes());
    // Functions have theirs, and the call leads to the kernel.
    let function = debug.functions().first().expect("a function");
    assert_eq!(function.low, symbol("module_function"));
    let len = (function.high - function.low) as usize;
    let code = debug.bytes_at(function.low, len).expect("code");
    let target = |at: usize| {
        let distance = i32::from_le_bytes(code[at + 1..at + 5].try_into().ok()?);
        let next = function.low + at as u64 + 5;
        (code[at] == 0xe8).then(|| next.wrapping_add_signed(distance.into()))
    };
    let calls: Vec<u64> = (0..code.len() - 4).filter_map(target).collect();
    assert!(calls.contains(&KERNEL_FUNCTION), "{calls:x?}");
}

#[test]
fn modules_are_linked_against_their_kernel() {
    check_linked(&compile(&[]));
    check_linked(&compile(&["-gz=zlib"]));
}

#[test]
fn link_time_addresses_follow_from_the_file_alone() {
    let module = compile(&[]);
    let sections = module_sections(&module).expect("sections");
    let mut last = 0;
    for section in &sections {
        assert!(section.address >= last, "{sections:?}");
        last = section.address + section.bytes;
    }
    assert_eq!(link(&module), link(&module));
}

#[test]
fn modules_say_what_they_need() {
    let description = module_description(&compile(&[])).expect("a module");
    assert_eq!(description.version_magic, "6.1.0 SMP");
    assert_eq!(description.dependencies, ["base", "other_one"]);
}

#[test]
fn other_files_are_no_modules() {
    let program = std::fs::read("/proc/self/exe").expect("this program");
    for bytes in [&b"text"[..], &program] {
        assert!(module_sections(bytes).is_err());
        assert!(link_module(bytes, &|_| None).is_err());
        assert!(module_description(bytes).is_err());
    }
}

/// A damaged file is an error or another module, never a panic.
#[test]
fn damaged_modules_are_read_without_panics() {
    let module = compile(&[]);
    let read = |bytes: &[u8]| {
        let _ = module_sections(bytes);
        let _ = module_description(bytes);
        if let Ok(linked) = link_module(bytes, &|_| Some(1)) {
            let store = SectionStore::default();
            let _ = DwarfFile::parse_with_store(&linked, &store).map(|debug| debug.globals().len());
        }
    };
    for length in (0..module.len()).step_by(97) {
        read(&module[..length]);
    }
    let table = u64::from_le_bytes(module[40..48].try_into().expect("a header")) as usize;
    for at in (0..64).chain(table..module.len()).step_by(3) {
        let mut damaged = module.clone();
        damaged[at] ^= 0xff;
        read(&damaged);
    }
}
