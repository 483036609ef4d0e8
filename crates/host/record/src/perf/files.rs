//! The files whose code was sampled, as far as this machine has them.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use memmap2::Mmap;
use object::read::elf::{FileHeader, ProgramHeader};
use object::{Endianness, elf};
use relayout_files::{DebugFile, is_owned_by_user_or_root, map_named_elf};
use relayout_layout::dwarf::DwarfFile;
use relayout_layout::word_lists::word_list;
use relayout_perf_data::{MappedFile, PerfRecording, kernel_text, process_modules};
use relayout_profile::LoadedModule;

use super::{INSTRUCTION_BYTES_MAX, kernel_build_id};
use crate::Error;
use crate::elf::build_id;

/// Paths that a note names, at most.
const NAMED_PATHS_MAX: usize = 4;
/// Bytes of the kernel image if the debug file has no `_end`: x86-64 maps a gigabyte for it.
const IMAGE_BYTES_MAX: u64 = 1 << 30;

/// A mapped file, as this machine has it.
enum LocalFile {
    /// The file is the mapped one, as far as build id and inode tell.
    Matching(Mmap),
    /// The file is missing or cannot be read.
    Missing,
    /// The file is of another build.
    OtherBuild,
}

/// The files of a process.
pub struct ModuleFiles {
    modules: Vec<(MappedFile, LoadedModule, LocalFile)>,
    /// Files without a build id or inode that would prove them the same.
    unproven: Vec<String>,
}

impl ModuleFiles {
    pub fn open(recording: &PerfRecording, pid: u32) -> Self {
        let mut unproven = Vec::new();
        let open = |mapped: MappedFile| {
            let (found, build_id) = find_local_file(&mapped, &mut unproven);
            let bias = match &found {
                LocalFile::Matching(map) => load_bias(map, &mapped),
                // The layout of most linkers, if nothing precedes the text.
                _ => mapped
                    .pieces
                    .first()
                    .map(|(start, _, offset)| start.wrapping_sub(*offset)),
            };
            let module = LoadedModule {
                path: mapped.path.clone(),
                build_id,
                start: mapped.start(),
                end: mapped.end(),
                bias: bias.unwrap_or(0),
            };
            (mapped, module, found)
        };
        let modules = process_modules(recording, pid)
            .into_iter()
            .map(open)
            .collect();
        Self { modules, unproven }
    }

    pub fn modules(&self) -> Vec<LoadedModule> {
        self.modules
            .iter()
            .map(|(_, module, _)| module.clone())
            .collect()
    }

    /// The bytes at an address, from the file that was mapped there.
    pub fn code(&self, pc: u64) -> Option<&[u8]> {
        self.modules
            .iter()
            .find_map(|(mapped, _, found)| match found {
                LocalFile::Matching(map) => {
                    let offset = usize::try_from(mapped.file_offset(pc)?).ok()?;
                    let rest = map.get(offset..)?;
                    Some(&rest[..rest.len().min(INSTRUCTION_BYTES_MAX)])
                }
                _ => None,
            })
    }

    pub fn notes(&self) -> Vec<String> {
        let paths = |is_wanted: fn(&LocalFile) -> bool| -> Vec<&str> {
            self.modules
                .iter()
                .filter(|(_, _, found)| is_wanted(found))
                .map(|(mapped, _, _)| mapped.path.as_str())
                .collect()
        };
        let missing = paths(|found| matches!(found, LocalFile::Missing));
        let others = paths(|found| matches!(found, LocalFile::OtherBuild));
        let unproven: Vec<&str> = self.unproven.iter().map(String::as_str).collect();
        let note_paths = |paths: &[&str], text: &str| {
            (!paths.is_empty()).then(|| format!("{text}: {}", word_list(paths, NAMED_PATHS_MAX)))
        };
        [
            note_paths(&missing, "mapped files that are not here"),
            note_paths(&others, "files that are of another build than was mapped, and are not used"),
            note_paths(&unproven, "files that may be of another build than was mapped (the recording has no build id)"),
        ]
        .into_iter()
        .flatten()
        .collect()
    }
}

/// The file, and its build id: the recording's, else its own.
fn find_local_file(mapped: &MappedFile, unproven: &mut Vec<String>) -> (LocalFile, String) {
    let path = Path::new(&mapped.path);
    let recorded = mapped.build_id.clone();
    let Ok(map) = map_named_elf(path) else {
        return (LocalFile::Missing, recorded);
    };
    let own = build_id(&map).unwrap_or_default();
    if !recorded.is_empty() {
        // perf pads short ids with zeros.
        let same = !own.is_empty() && recorded.trim_end_matches('0') == own.trim_end_matches('0');
        return (
            if same {
                LocalFile::Matching(map)
            } else {
                LocalFile::OtherBuild
            },
            if same { own } else { recorded },
        );
    }
    let inode = fs::metadata(path).map(|meta| meta.ino()).ok();
    if mapped.inode.is_some() && mapped.inode != inode {
        return (LocalFile::OtherBuild, recorded);
    }
    if mapped.inode.is_none() {
        if !is_owned_by_user_or_root(path) {
            return (LocalFile::OtherBuild, recorded);
        }
        unproven.push(mapped.path.clone());
    }
    (LocalFile::Matching(map), own)
}

/// Returns the difference of run-time and link-time addresses, from the first piece that a loadable
/// segment holds.
fn load_bias(file: &[u8], mapped: &MappedFile) -> Option<u64> {
    let header = elf::FileHeader64::<Endianness>::parse(file).ok()?;
    let endian = header.endian().ok()?;
    let segments = header.program_headers(endian, file).ok()?;
    let loads: Vec<_> = segments
        .iter()
        .filter(|s| s.p_type(endian) == elf::PT_LOAD)
        .map(|s| (s.p_offset(endian), s.p_filesz(endian), s.p_vaddr(endian)))
        .collect();
    mapped.pieces.iter().find_map(|(start, end, offset)| {
        let last = offset.saturating_add(end - start);
        // A mapping begins at the page of the segment's first byte.
        let holds = |s: &&(u64, u64, u64)| {
            (*offset..last).contains(&s.0) || (s.0..s.0.saturating_add(s.1)).contains(offset)
        };
        // Pages at borders are mapped twice; the segment that begins here is the right one.
        loads
            .iter()
            .filter(holds)
            .max_by_key(|s| s.0.min(*offset + 0xfff))
            .map(|s| start.wrapping_sub(offset.wrapping_sub(s.0).wrapping_add(s.2)))
    })
}

/// The kernel's debug file, and how far the kernel ran from where it was linked.
pub struct KernelFile<'f> {
    dwarf: DwarfFile<'f>,
    /// Build id of the debug file, in lower-case hexadecimal.
    pub build_id: String,
    /// Address as it ran, less that as linked.
    pub slide: u64,
    /// Start and end of the image as it ran.
    pub image: (u64, u64),
}

impl<'f> KernelFile<'f> {
    pub fn open(debug: &'f DebugFile, recording: &PerfRecording) -> Result<Self, Error> {
        let dwarf = DwarfFile::symbols_only(debug.bytes()).map_err(|source| {
            relayout_files::Error::Debug {
                path: debug.path().to_owned(),
                source,
            }
        })?;
        let symbol = |name: &str| {
            dwarf
                .symbols()
                .iter()
                .find(|s| s.name == name)
                .map(|s| s.address)
        };
        let missing = |name: &str| Error::NotAKernel {
            path: debug.path().to_owned(),
            missing: format!("symbol '{name}'"),
        };
        let build_id = dwarf.build_id_text().unwrap_or_default();
        if let Some(recorded) = kernel_build_id(&recording.origin).filter(|id| *id != build_id) {
            return Err(Error::OtherKernel {
                path: debug.path().to_owned(),
                found: build_id,
                recorded: recorded.to_owned(),
            });
        }
        let linked_text = symbol("_text").ok_or_else(|| missing("_text"))?;
        let slide = match kernel_text(recording) {
            Some((name, ran)) => ran.wrapping_sub(symbol(name).ok_or_else(|| missing(name))?),
            None => 0,
        };
        let start = linked_text.wrapping_add(slide);
        let bytes = symbol("_end").map_or(IMAGE_BYTES_MAX, |end| end.saturating_sub(linked_text));
        let image = (start, start.saturating_add(bytes));
        Ok(Self {
            dwarf,
            build_id,
            slide,
            image,
        })
    }

    /// The bytes of the code that ran at `pc`, as linked: the kernel may have patched them since.
    pub fn code(&self, pc: u64) -> Option<&'f [u8]> {
        let at = pc.wrapping_sub(self.slide);
        (1..=INSTRUCTION_BYTES_MAX)
            .rev()
            .find_map(|bytes| self.dwarf.bytes_at(at, bytes))
    }
}
