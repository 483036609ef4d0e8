//! Facts that the headers of an ELF file tell.

use object::elf::{DT_NEEDED, DT_RPATH, DT_RUNPATH, FileHeader64, PT_LOAD, PT_TLS};
use object::read::elf::{FileHeader, ProgramHeader};
use object::{Endianness, Object as _};

use crate::GuestMachine;
use crate::memory::PAGE_BYTES;

/// Libraries that a program or library needs, as its dynamic section says.
pub(crate) struct LibraryNeeds {
    /// Names, or paths.
    pub names: Vec<String>,
    /// Folders in which the loader looks, each text with several between `:`.
    pub folders: Vec<String>,
    /// The folders come before those of the environment (`DT_RPATH`).
    pub comes_first: bool,
}

/// Reads what an ELF file needs: nothing if it has no dynamic section.
///
/// # Errors
/// The file is damaged.
pub(crate) fn library_needs(bytes: &[u8]) -> object::Result<LibraryNeeds> {
    let header = FileHeader64::<Endianness>::parse(bytes)?;
    let endian = header.endian()?;
    let table = header
        .sections(endian, bytes)?
        .dynamic_table(endian, bytes)?;
    let texts = |tag| -> object::Result<Vec<String>> {
        let entries = table.iter().filter(|entry| entry.tag == tag);
        let text = |entry| Ok(String::from_utf8_lossy(table.string(entry)?).into_owned());
        entries.map(text).collect()
    };
    let later = texts(DT_RUNPATH)?;
    let comes_first = later.is_empty();
    Ok(LibraryNeeds {
        names: texts(DT_NEEDED)?,
        folders: if comes_first { texts(DT_RPATH)? } else { later },
        comes_first,
    })
}

/// Returns true for an ELF file of this machine.
pub(crate) fn is_for_machine(bytes: &[u8], machine: GuestMachine) -> bool {
    let file = object::File::parse(bytes);
    file.is_ok_and(|file| GuestMachine::from_architecture(file.architecture()) == Some(machine))
}

/// Returns the loader that a 64-bit program asks for; `None` if it is linked statically.
pub(crate) fn requested_loader(bytes: &[u8]) -> Option<String> {
    let header = FileHeader64::<Endianness>::parse(bytes).ok()?;
    let endian = header.endian().ok()?;
    let segments = header.program_headers(endian, bytes).ok()?;
    let interpreter = |segment: &_| ProgramHeader::interpreter(segment, endian, bytes).ok()?;
    let path = segments.iter().find_map(interpreter)?;
    Some(String::from_utf8_lossy(path).into_owned())
}

/// Returns the GNU build id of a file, in hexadecimal.
pub(crate) fn build_id(bytes: &[u8]) -> Option<String> {
    let file = object::File::parse(bytes).ok()?;
    let id = file.build_id().ok()??;
    Some(id.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// Addresses that an ELF file has in a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ImagePlace {
    /// First address.
    pub start: u64,
    /// Address after the last.
    pub end: u64,
    /// Run-time minus link-time address.
    pub bias: u64,
}

impl ImagePlace {
    /// Returns the place of an ELF file whose bytes from `file_offset` on, with which its first segment begins, are
    /// mapped at `address`. `None` if the segment begins elsewhere.
    pub(crate) fn find(bytes: &[u8], address: u64, file_offset: u64) -> Option<Self> {
        let header = FileHeader64::<Endianness>::parse(bytes).ok()?;
        let endian = header.endian().ok()?;
        let segments = header.program_headers(endian, bytes).ok()?;
        let loads = || segments.iter().filter(|s| s.p_type(endian) == PT_LOAD);
        let first = loads().next()?;
        let page_of = |number: u64| number & !(PAGE_BYTES - 1);
        if page_of(first.p_offset(endian)) != file_offset {
            return None;
        }
        let bias = address.wrapping_sub(page_of(first.p_vaddr(endian)));
        let start = loads().map(|s| page_of(s.p_vaddr(endian))).min()?;
        let ends = loads().map(|s| s.p_vaddr(endian).saturating_add(s.p_memsz(endian)));
        let end = ends.max()?.checked_next_multiple_of(PAGE_BYTES)?;
        Some(Self {
            start: start.wrapping_add(bias),
            end: end.wrapping_add(bias),
            bias,
        })
    }
}

/// Thread-local storage of a program, in each of its threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ThreadLocalBlock {
    /// Bytes.
    pub bytes: u64,
    /// Bytes from its start to the thread pointer.
    pub before_pointer: u64,
}

impl ThreadLocalBlock {
    /// Reads what a program needs: variant II of "ELF Handling For Thread-Local Storage", 3.4.6, as on x86-64. `None`
    /// if it has no such storage.
    pub(crate) fn read(program: &[u8]) -> Option<Self> {
        let header = FileHeader64::<Endianness>::parse(program).ok()?;
        let endian = header.endian().ok()?;
        let segments = header.program_headers(endian, program).ok()?;
        let segment = segments.iter().find(|s| s.p_type(endian) == PT_TLS)?;
        let (bytes, align) = (segment.p_memsz(endian), segment.p_align(endian).max(1));
        let first = segment.p_vaddr(endian).wrapping_neg() % align;
        let rounded = bytes
            .saturating_sub(first)
            .checked_next_multiple_of(align)?;
        Some(Self {
            bytes,
            before_pointer: rounded.checked_add(first)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(target_arch = "x86_64")]
    thread_local! {
        static OWN: std::cell::Cell<u64> = const { std::cell::Cell::new(0x5245_4c41_594f_5554) };
    }

    /// This test is a program itself: the addresses of its function and its variable are known.
    #[test]
    fn places_of_this_program() {
        let path = std::env::current_exe().expect("this test is a file");
        let bytes = std::fs::read(&path).expect("readable");
        let maps = std::fs::read_to_string("/proc/self/maps").expect("readable");
        let is_own = |line: &&str| line.ends_with(path.to_str().expect("a plain path"));
        let first = maps.lines().find(is_own).expect("mapped");
        let start = u64::from_str_radix(first.split('-').next().expect("a start"), 16);
        let place = ImagePlace::find(&bytes, start.expect("a number"), 0).expect("an ELF file");
        let code = places_of_this_program as fn() as usize as u64;
        assert!((place.start..place.end).contains(&code), "{place:x?}");
        assert_eq!(ImagePlace::find(&bytes, 0x40_0000, 0x7000), None);
    }

    #[cfg(target_arch = "x86_64")]
    #[test]
    fn storage_of_this_thread() {
        let path = std::env::current_exe().expect("this test is a file");
        let bytes = std::fs::read(path).expect("readable");
        let pointer: u64;
        // SAFETY: reads the thread pointer, which its own word holds.
        unsafe {
            std::arch::asm!("mov {}, fs:0", out(reg) pointer);
        }
        let block = ThreadLocalBlock::read(&bytes).expect("a variable of threads");
        let start = pointer - block.before_pointer;
        let own = OWN.with(|own| std::ptr::from_ref(own) as u64);
        assert!((start..start + block.bytes).contains(&own), "{block:x?}");
    }
}
