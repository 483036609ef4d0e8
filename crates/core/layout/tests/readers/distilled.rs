//! Kernel modules whose BTF has a distilled base, against the kernel's BTF as gcc writes it.

use relayout_layout::btf::{BtfFile, BtfTypeLoader};
use relayout_layout::{Type, TypeArena};

use super::tools::TestFolder;

const KERNEL: &str = "
struct unrelated { char c[3]; };
struct device { long id; };
enum mode { SLOW, FAST };
struct lock { int count; enum mode mode; };
struct device device; struct lock lock; struct unrelated unrelated;
";

const INT: u32 = 1;
const POINTER: u32 = 2;
const ARRAY: u32 = 3;
const STRUCT: u32 = 4;
const ENUM: u32 = 6;
const FORWARD: u32 = 7;
const PROTOTYPE: u32 = 13;

/// Raw BTF, written by the format's definition (kernel: Documentation/bpf/btf.rst).
struct BtfWriter {
    words: Vec<u32>,
    strings: Vec<u8>,
    /// Bytes of names of the base.
    first_string: u32,
}

impl BtfWriter {
    fn new(base: Option<&Self>) -> Self {
        Self {
            words: Vec::new(),
            strings: vec![0; usize::from(base.is_none())],
            first_string: base.map_or(0, |base| base.strings.len() as u32),
        }
    }

    fn name(&mut self, name: &str) -> u32 {
        let at = self.first_string + self.strings.len() as u32;
        self.strings.extend(name.as_bytes());
        self.strings.push(0);
        at
    }

    fn record(&mut self, name: u32, kind: u32, count: u32, last: u32, rest: &[u32]) {
        self.words.extend([name, kind << 24 | count, last]);
        self.words.extend(rest);
    }

    fn bytes(&self) -> Vec<u8> {
        let (types, strings) = (4 * self.words.len() as u32, self.strings.len() as u32);
        let head = [24, 0, types, types, strings];
        let words = head.into_iter().chain(self.words.iter().copied());
        let mut bytes = vec![0x9f, 0xeb, 1, 0];
        bytes.extend(words.flat_map(u32::to_le_bytes));
        bytes.extend(&self.strings);
        bytes
    }
}

/// A module with a struct that holds a `struct lock` of `lock_bytes`, and points to a device.
fn module(folder: &TestFolder, lock_bytes: u32) {
    let mut base = BtfWriter::new(None);
    let [int, lock, device, mode] = ["int", "lock", "device", "mode"].map(|name| base.name(name));
    base.record(int, INT, 0, 4, &[1 << 24 | 32]);
    base.record(lock, STRUCT, 0, lock_bytes, &[]);
    base.record(device, FORWARD, 0, 0, &[]);
    base.record(mode, ENUM, 0, 4, &[]);
    let mut own = BtfWriter::new(Some(&base));
    let [state, busy, call] = ["state", "busy", "call"].map(|name| own.name(name));
    own.record(0, POINTER, 0, 3, &[]); // 5
    own.record(0, ARRAY, 0, 0, &[4, 1, 2]); // 6
    own.record(0, PROTOTYPE, 1, 1, &[0, 5]); // 7
    own.record(0, POINTER, 0, 7, &[]); // 8
    // The members `lock`, `device` and `mode` have the names of types of the base.
    let members = [
        [busy, 1, 0],
        [lock, 2, 32],
        [device, 5, 128],
        [mode, 6, 192],
        [call, 8, 256],
    ];
    own.record(state, STRUCT, 5, 40, members.as_flattened());
    std::fs::write(folder.path("own.btf"), own.bytes()).unwrap();
    std::fs::write(folder.path("base.btf"), base.bytes()).unwrap();
    folder.write("empty.c", "");
    folder.run("gcc -c empty.c -o empty.o");
    folder.run(
        "objcopy --add-section .BTF=own.btf --add-section .BTF.base=base.btf empty.o module.ko",
    );
}

fn kernel(folder: &TestFolder) -> Vec<u8> {
    folder.write("kernel.c", KERNEL);
    folder.run("gcc -c -gbtf kernel.c -o kernel.o");
    folder.read("kernel.o")
}

/// Name, type, offset and size of the members of the first definition of a name.
fn members(types: &mut BtfTypeLoader<'_, '_>, btf: &BtfFile<'_>, name: &str) -> Vec<String> {
    let id = types
        .load(btf.find_types(name)[0])
        .expect("it can be loaded");
    let arena: &TypeArena = types.types();
    let found = arena.aggregate(id).expect("a struct");
    let describe = |member: &relayout_layout::Member| {
        let name = member.name.as_deref().unwrap_or("?");
        let size = arena.size_of(member.ty).unwrap_or(0);
        format!(
            "{name}: {} {} {size}",
            arena.name_of(member.ty),
            member.offset
        )
    };
    found.members.iter().map(describe).collect()
}

#[test]
fn a_module_is_relocated_to_its_kernel() {
    let folder = TestFolder::new();
    module(&folder, 8);
    let (module, kernel) = (folder.read("module.ko"), kernel(&folder));
    let btf = BtfFile::parse_split(&module, &kernel).expect("the kernel has all types");
    let names: Vec<&str> = btf.definitions().map(|(name, ..)| name).collect();
    assert_eq!(names, ["state"]);
    let mut types = BtfTypeLoader::new(&btf);
    let expect = [
        "busy: int 0 4",
        "lock: struct lock 4 8",
        "device: struct device * 16 8",
        "mode: enum mode [2] 24 8",
        "call: int (*)(struct device *) 32 8",
    ];
    assert_eq!(members(&mut types, &btf, "state"), expect);
    // What the base only names has the members of the kernel.
    assert_eq!(
        members(&mut types, &btf, "lock"),
        ["count: int 0 4", "mode: enum mode 4 4"]
    );
    let mode = types.load(btf.find_types("mode")[0]).unwrap();
    assert!(
        matches!(types.types().get(mode), Type::Enum { enumerators, .. } if enumerators.len() == 2)
    );
}

#[test]
fn a_kernel_with_other_types_is_refused() {
    let folder = TestFolder::new();
    module(&folder, 12);
    let (module, kernel) = (folder.read("module.ko"), kernel(&folder));
    let error = BtfFile::parse_split(&module, &kernel).expect_err("another lock");
    let text = error.to_string();
    assert!(text.contains("struct lock of 12 bytes"), "{text}");
    assert!(
        text.contains("is not there in the BTF of the kernel"),
        "{text}"
    );
    let error = BtfFile::parse(&module).expect_err("no kernel").to_string();
    assert!(error.contains("--btf-base"), "{error}");
}
