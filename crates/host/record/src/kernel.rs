//! A kernel to record: boot image and debug file of one build.

use std::path::{Path, PathBuf};

use object::Object as _;
use relayout_files::{DebugFile, cannot, read_regular};
use relayout_layout::dwarf::{DwarfFile, ElfSymbol};

use crate::boot_image::{BootImage, same_build};
use crate::{Error, GuestMachine};

/// Functions that only fill or copy whole pages of data. Their accesses tell nothing about structs,
/// and are a large share of all.
const BULK_CODE: &[&str] = &[
    "clear_page_rep",
    "clear_page_orig",
    "clear_page_erms",
    "clear_page",
    "clear_pages",
    "__clear_pages_unrolled",
    "copy_page",
    "copy_page_regs",
];

/// Symbols before an address that are tried.
const NEARBY_SYMBOLS_MAX: usize = 8;

/// Image and debug information, checked to belong together.
pub struct GuestKernel<'a> {
    /// Machine that the kernel runs on.
    pub machine: GuestMachine,
    /// The boot image.
    pub image_path: PathBuf,
    /// The boot image, unpacked, if the file has it compressed and QEMU may not unpack it.
    pub unpacked_image: Option<Vec<u8>>,
    /// The debug file.
    pub debug_path: PathBuf,
    /// Its debug information.
    pub dwarf: DwarfFile<'a>,
    /// `6.1.0-..-cloud-amd64`
    pub release: String,
    /// Build id of the debug file in hexadecimal; empty if it has none.
    pub build_id: String,
}

impl<'a> GuestKernel<'a> {
    /// Reads the image and the debug information, and compares their versions.
    ///
    /// # Errors
    /// One of the two cannot be read or is of another kind, or they are of different builds.
    pub fn open(image: &Path, debug: &'a DebugFile) -> Result<Self, Error> {
        let bytes = read_regular(image).map_err(cannot("read", image))?;
        let boot_image = BootImage::parse(&bytes).map_err(|why| Error::Image {
            path: image.to_owned(),
            why,
        })?;
        let machine = boot_image.machine;
        let debug_machine = elf_machine_name(debug.bytes());
        if debug_machine.is_some_and(|name| name != machine.name()) {
            return Err(Error::OtherMachine {
                image: image.to_owned(),
                image_machine: machine.name(),
                debug: debug.path().to_owned(),
                debug_machine: debug_machine.unwrap_or_default(),
            });
        }
        let image_version = boot_image.version.clone();
        let unpacked_image = boot_image.is_unpacked();
        let unpacked_image = unpacked_image.then(|| boot_image.bytes.into_owned());
        let dwarf = debug.dwarf()?;
        let build_id = dwarf.build_id_text().unwrap_or_default();
        let mut kernel = Self {
            machine,
            unpacked_image,
            image_path: image.to_owned(),
            debug_path: debug.path().to_owned(),
            dwarf,
            release: String::new(),
            build_id,
        };
        let banner = kernel.read_banner()?;
        if !same_build(&image_version, &banner) {
            return Err(Error::Mismatch {
                image: image.to_owned(),
                debug: kernel.debug_path,
                image_version,
                debug_version: banner.trim_end().to_owned(),
            });
        }
        kernel.release = image_version
            .split(' ')
            .next()
            .unwrap_or_default()
            .to_owned();
        Ok(kernel)
    }

    /// Address of a symbol.
    ///
    /// # Errors
    /// The debug file has no such symbol: it is not a kernel's.
    pub fn symbol_address(&self, name: &str) -> Result<u64, Error> {
        self.find_symbol(name)
            .map(|(address, _)| address)
            .ok_or_else(|| Error::NotAKernel {
                path: self.debug_path.clone(),
                missing: format!("symbol '{name}'"),
            })
    }

    /// Returns where a variable of the kernel's image lies in the guest's memory, in bytes from its
    /// start: x86-64 kernels are not moved (`nokaslr`).
    pub(crate) fn image_offset(&self, name: &str) -> Option<u64> {
        /// Address at which the image of an x86-64 kernel is mapped.
        const IMAGE: u64 = 0xffff_ffff_8000_0000;
        self.find_symbol(name)?.0.checked_sub(IMAGE)
    }

    /// Name of the function that holds an address.
    pub(crate) fn function_at(&self, address: u64) -> Option<&'a str> {
        let symbols = self.dwarf.symbols();
        let after = symbols.partition_point(|s| s.address <= address);
        let mut near = symbols[..after].iter().rev().take(NEARBY_SYMBOLS_MAX);
        let holds = |s: &&ElfSymbol<'_>| s.is_function() && address - s.address < s.size;
        near.find(holds).map(|s| s.name)
    }

    /// Functions not to watch, with their code as `[from, to)`.
    pub fn bulk_code(&self) -> impl Iterator<Item = (&'static str, (u64, u64))> {
        BULK_CODE.iter().filter_map(|name| {
            let (address, size) = self.find_largest(|symbol| is_copy_of(symbol, name))?;
            (size > 0).then_some((*name, (address, address + size)))
        })
    }

    /// Returns true if the kernel has a symbol with this name.
    pub(crate) fn has_symbol(&self, name: &str) -> bool {
        self.find_symbol(name).is_some()
    }

    /// Returns the size of a symbol.
    pub(crate) fn symbol_bytes(&self, name: &str) -> Option<u64> {
        Some(self.find_symbol(name)?.1)
    }

    fn find_symbol(&self, name: &str) -> Option<(u64, u64)> {
        self.find_largest(|symbol| symbol == name)
    }

    /// Returns address and size of the largest symbol whose name `is_meant`.
    fn find_largest(&self, is_meant: impl Fn(&str) -> bool) -> Option<(u64, u64)> {
        let symbols = self.dwarf.symbols().iter();
        let found = symbols
            .filter(|s| is_meant(s.name))
            .max_by_key(|s| s.size)?;
        Some((found.address, found.size))
    }

    /// Returns the text with which the kernel names itself: `Linux version 6.1.0-...`.
    pub(crate) fn read_banner(&self) -> Result<String, Error> {
        let missing = || Error::NotAKernel {
            path: self.debug_path.clone(),
            missing: "linux_banner".into(),
        };
        let (address, size) = self.find_symbol("linux_banner").ok_or_else(missing)?;
        let bytes = self
            .dwarf
            .bytes_at(address, size as usize)
            .ok_or_else(missing)?;
        let end = bytes.iter().position(|&b| b == 0).unwrap_or(bytes.len());
        Ok(String::from_utf8_lossy(&bytes[..end]).into_owned())
    }
}

/// Returns the name of the machine that an ELF file is for; `None` if the file is no ELF file.
fn elf_machine_name(elf: &[u8]) -> Option<&'static str> {
    let architecture = object::File::parse(elf).ok()?.architecture();
    let machine = GuestMachine::from_architecture(architecture);
    Some(machine.map_or("another machine", GuestMachine::name))
}

/// Returns true if `symbol` is the function `name`, or a copy of it that the compiler specialised.
fn is_copy_of(symbol: &str, name: &str) -> bool {
    let ending = symbol.strip_prefix(name);
    ending.is_some_and(|ending| ending.is_empty() || ending.starts_with(".constprop."))
}

#[cfg(test)]
mod tests {
    use super::is_copy_of;

    #[test]
    fn specialised_copies_have_the_name_of_the_function() {
        assert!(is_copy_of("clear_pages", "clear_pages"));
        assert!(is_copy_of("clear_pages.constprop.0", "clear_pages"));
        assert!(!is_copy_of("clear_pages.cold", "clear_pages"));
        assert!(!is_copy_of("clear_page_range", "clear_page"));
    }
}
