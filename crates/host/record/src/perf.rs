//! Hardware samples: `perf.data` files, and taking them where there is a PMU.

mod files;
mod sampler;

use std::path::PathBuf;

use files::{KernelFile, ModuleFiles};
use relayout_files::{DebugFile, cannot, canonical_name, map_file};
use relayout_perf_data::{PerfRecording, RecordingOrigin};
use relayout_profile::perf::{self, ImportOptions, ImportTarget, SampledInstruction};

use crate::{Error, RecordingOutcome};

pub(crate) use sampler::PerfSampler;
pub use sampler::{SamplingHardware, find_perf, find_sampling_hardware};

/// Bytes of a cache line where the file does not say.
const LINE_BYTES: u32 = 64;
/// Most bytes of an instruction.
pub const INSTRUCTION_BYTES_MAX: usize = 15;

/// A `perf.data` file to import, and the accesses to take from it.
#[derive(Clone, Debug, Default)]
pub struct PerfImport {
    /// The `perf.data` file.
    pub file: PathBuf,
    /// The process; `None` for the one with most samples.
    pub pid: Option<u32>,
    /// Accesses to kernel addresses instead.
    pub kernel: bool,
    /// The program's debug file, or the kernel's.
    pub debug: Option<PathBuf>,
}

/// Decodes the instruction at the start of some bytes, given its address.
pub type InstructionDecoder<'d> = &'d dyn Fn(u64, &[u8]) -> Option<SampledInstruction>;

/// Reads a `perf.data` file and the files that were mapped, as far as they are here, and makes a
/// profile. `decode` reads x86-64 instructions.
///
/// # Errors
/// The file cannot be read, or holds no accesses; the debug file is not the recorded kernel's.
pub fn import_perf(
    import: &PerfImport,
    decode: InstructionDecoder<'_>,
) -> Result<RecordingOutcome, Error> {
    let failed = |source| Error::Perf {
        path: import.file.clone(),
        source,
    };
    let map = map_file(&import.file).map_err(cannot("open", &import.file))?;
    let recording = relayout_perf_data::decode(&map).map_err(|source| Error::PerfData {
        path: import.file.clone(),
        source,
    })?;
    let what = perf::choose_target(&recording, import.pid, import.kernel).map_err(failed)?;
    let line_bytes = recording.origin.line_bytes.unwrap_or(LINE_BYTES);
    // Other machines' instructions are not decoded.
    let is_decodable = recording.origin.arch == "x86_64";
    match what {
        ImportTarget::Process(pid) => {
            let files = ModuleFiles::open(&recording, pid);
            let modules = files.modules();
            let options = ImportOptions {
                target: what,
                slide: 0,
                image: (0, 0),
                line_bytes,
                modules,
            };
            let mut code = |pc| decode(pc, files.code(pc).filter(|_| is_decodable)?);
            let mut imported =
                perf::import_samples(&recording, &options, &mut code).map_err(failed)?;
            if let Some(main) = options.modules.first() {
                let meta = &mut imported.profile.meta;
                meta.debug_file = main.path.clone();
                meta.release = main.path.clone();
                meta.build_id = main.build_id.clone();
            }
            if let Some(debug) = &import.debug {
                imported.profile.meta.debug_file = canonical_name(debug);
            }
            imported.notes.extend(files.notes());
            Ok(recording_outcome(imported))
        }
        ImportTarget::Kernel => import_kernel(import, &recording, line_bytes, is_decodable, decode),
    }
}

fn import_kernel(
    import: &PerfImport,
    recording: &PerfRecording,
    line_bytes: u32,
    is_decodable: bool,
    decode: InstructionDecoder<'_>,
) -> Result<RecordingOutcome, Error> {
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
    let options = ImportOptions {
        target: ImportTarget::Kernel,
        slide,
        image,
        line_bytes,
        modules: Vec::new(),
    };
    let mut code = |pc| decode(pc, file.as_ref().filter(|_| is_decodable)?.code(pc)?);
    let mut imported = perf::import_samples(recording, &options, &mut code).map_err(failed)?;
    let meta = &mut imported.profile.meta;
    match (&file, &import.debug) {
        (Some(file), Some(path)) => {
            meta.debug_file = canonical_name(path);
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
    Ok(recording_outcome(imported))
}

/// The kernel's build id, as perf noted it.
fn kernel_build_id(origin: &RecordingOrigin) -> Option<&str> {
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

fn recording_outcome(imported: perf::ImportedProfile) -> RecordingOutcome {
    RecordingOutcome {
        rates: None,
        kernel_profile: None,
        profile: imported.profile,
        problem: None,
        notes: imported.notes,
    }
}
