//! Hardware samples: `perf.data` files, and taking them where there is a PMU.

mod files;
mod sampler;

use std::path::PathBuf;

use relayout_profile::perf::{self, Instruction, Options, Origin, Recording, What};

use crate::file_error::cannot;
use crate::files::full_name;
use crate::{DebugFile, Error, Recorded, map_file};
use files::{KernelFile, ModuleFiles};

pub(crate) use sampler::Sampling;
pub use sampler::{Sampler, find_perf, sampler};

/// Bytes of a cache line where the file does not say.
const LINE_BYTES: u32 = 64;
/// Most bytes of an instruction.
pub const INSTRUCTION_BYTES_MAX: usize = 15;

/// What to import.
#[derive(Clone, Debug, Default)]
pub struct PerfImport {
    /// The `perf.data` file.
    pub file: PathBuf,
    /// The process [default: the one with most samples].
    pub pid: Option<u32>,
    /// Accesses to kernel addresses instead.
    pub kernel: bool,
    /// The program's debug file, or the kernel's.
    pub debug: Option<PathBuf>,
}

/// Decodes the instruction at the start of some bytes, given its address.
pub type Decoder<'d> = &'d dyn Fn(u64, &[u8]) -> Option<Instruction>;

/// Reads a `perf.data` file and the files that were mapped, as far as they are here, and makes a
/// profile. `decode` reads x86-64 instructions.
///
/// # Errors
/// The file cannot be read, or holds no accesses; the debug file is not the recorded kernel's.
pub fn import_perf(import: &PerfImport, decode: Decoder<'_>) -> Result<Recorded, Error> {
    let failed = |source| Error::Perf {
        path: import.file.clone(),
        source,
    };
    let map = map_file(&import.file).map_err(cannot("open", &import.file))?;
    let recording = perf::decode(&map).map_err(failed)?;
    let what = perf::choose(&recording, import.pid, import.kernel).map_err(failed)?;
    let line_bytes = recording.origin.line_bytes.unwrap_or(LINE_BYTES);
    // Other machines' instructions are not decoded.
    let decodes = recording.origin.arch == "x86_64";
    match what {
        What::Process(pid) => {
            let files = ModuleFiles::open(&recording, pid);
            let modules = files.modules();
            let options = Options {
                what,
                slide: 0,
                image: (0, 0),
                line_bytes,
                modules,
            };
            let mut code = |pc| decode(pc, files.code(pc).filter(|_| decodes)?);
            let mut imported = perf::import(&recording, &options, &mut code).map_err(failed)?;
            if let Some(main) = options.modules.first() {
                let meta = &mut imported.profile.meta;
                meta.debug_file = main.path.clone();
                meta.release = main.path.clone();
                meta.build_id = main.build_id.clone();
            }
            if let Some(debug) = &import.debug {
                imported.profile.meta.debug_file = full_name(debug);
            }
            imported.notes.extend(files.notes());
            Ok(recorded(imported))
        }
        What::Kernel => kernel(import, &recording, line_bytes, decodes, decode),
    }
}

fn kernel(
    import: &PerfImport,
    recording: &Recording,
    line_bytes: u32,
    decodes: bool,
    decode: Decoder<'_>,
) -> Result<Recorded, Error> {
    let failed = |source| Error::Perf {
        path: import.file.clone(),
        source,
    };
    let debug = import.debug.as_deref().map(DebugFile::open).transpose()?;
    let file = debug
        .as_ref()
        .map(|debug| KernelFile::open(debug, recording))
        .transpose()?;
    let (slide, image) = file
        .as_ref()
        .map_or((0, (0, 0)), |file| (file.slide, file.image));
    let options = Options {
        what: What::Kernel,
        slide,
        image,
        line_bytes,
        modules: Vec::new(),
    };
    let mut code = |pc| decode(pc, file.as_ref().filter(|_| decodes)?.code(pc)?);
    let mut imported = perf::import(recording, &options, &mut code).map_err(failed)?;
    let meta = &mut imported.profile.meta;
    match (&file, &import.debug) {
        (Some(file), Some(path)) => {
            meta.debug_file = full_name(path);
            meta.build_id = file.build_id.clone();
        }
        _ => {
            meta.build_id = kernel_build_id(&recording.origin)
                .unwrap_or_default()
                .to_owned();
            let note = "without --debug VMLINUX addresses are as the kernel ran: they fit its debug file \
                        only if it was started with nokaslr";
            imported.notes.push(note.into());
        }
    }
    Ok(recorded(imported))
}

/// The kernel's build id, as perf noted it.
fn kernel_build_id(origin: &Origin) -> Option<&str> {
    let names = [
        "[kernel.kallsyms]",
        "[kernel.kallsyms]_text",
        "[kernel.kallsyms]_stext",
    ];
    names
        .iter()
        .find_map(|name| origin.build_ids.get(*name))
        .map(String::as_str)
}

fn recorded(imported: perf::Imported) -> Recorded {
    Recorded {
        profile: imported.profile,
        problem: None,
        notes: imported.notes,
    }
}
