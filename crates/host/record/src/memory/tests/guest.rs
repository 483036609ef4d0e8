//! A kernel in miniature, which a C compiler lays out, and its memory.

use std::path::PathBuf;
use std::process::Command;

use relayout_layout::dwarf::{DwarfFile, SectionStore};

use super::{GuestKernel, GuestMachine};

/// Address of the image, which is that of physical memory.
pub const IMAGE: u64 = 0xffff_ffff_8000_0000;
/// Bytes of physical memory.
pub const MEMORY_BYTES: u64 = 64 * 4096;

/// The kernel, linked to its place, in the forms that the macros `definitions` choose.
pub fn compile_guest(definitions: &[&str]) -> Vec<u8> {
    let folder = tempfile::tempdir().expect("a folder");
    let source = folder.path().join("guest.c");
    std::fs::write(&source, include_str!("guest.c")).expect("written");
    let out = folder.path().join("vmlinux");
    let status = Command::new("cc")
        .args(["-g", "-O0", "-fno-pie", "-no-pie", "-static", "-nostdlib"])
        .args(["-ffreestanding", "-mcmodel=kernel", "-fcf-protection=none"])
        .args(["-Wl,-Ttext-segment=0xffffffff80000000", "-Wl,-e,0"])
        .args(definitions.iter().map(|name| format!("-D{name}")))
        .args(["-Wl,--defsym=_text=0xffffffff80000000", "-o"])
        .args([&out, &source])
        .status();
    assert!(status.is_ok_and(|done| done.success()), "cc failed");
    std::fs::read(out).expect("linked")
}

/// The kernel with its debug information.
pub fn kernel<'a>(elf: &'a [u8], store: &'a SectionStore) -> GuestKernel<'a> {
    GuestKernel {
        machine: GuestMachine::X86,
        unpacked_image: None,
        image_path: PathBuf::from("bzImage"),
        debug_path: PathBuf::from("vmlinux"),
        dwarf: DwarfFile::parse_with_store(elf, store).expect("the compiler's own file"),
        release: String::new(),
        build_id: String::new(),
    }
}

/// The physical memory of the kernel.
pub fn physical_memory(kernel: &GuestKernel<'_>) -> Vec<u8> {
    let byte = |address| kernel.dwarf.bytes_at(address, 1).map_or(0, |byte| byte[0]);
    (IMAGE..IMAGE + MEMORY_BYTES).map(byte).collect()
}
