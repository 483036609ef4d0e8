//! Recordings: repeated, merged into one profile, signed and written.

mod unseen_strings;

use std::fs;
use std::path::{Path, PathBuf};

use relayout_files::{CacheFolder, DISTRIBUTION, cannot, parent_folder, setup_command};
use relayout_messages::UserError;
use relayout_profile::perf::SampledInstruction;
use relayout_profile::{Profile, WriteOptions};
use relayout_record::RecordingOutcome;
use relayout_resolve::insn::x86::X86InsnSet;
use relayout_resolve::insn::{DecodedInsn, InstructionSet as _};

use crate::kept_programs::{build_id_of_file, keep_programs};

/// Profiles of several recordings, up to the first that failed.
#[derive(Debug)]
pub struct FinishedRecordings {
    /// Profiles, of the failed recording too.
    pub profiles: Vec<Profile>,
    /// Failure of the last recording.
    pub problem: Option<relayout_record::Error>,
}

/// Boot image and vmlinux of a kernel.
#[derive(Clone, Debug)]
pub struct KernelFiles {
    /// Boot image.
    pub image: PathBuf,
    /// Debug file.
    pub debug: PathBuf,
    /// Folder with the kernel's modules, if it is known.
    pub modules: Option<PathBuf>,
}

/// Boot images of a folder, and the debug file beside each: of a kernel that setup fetched, of a
/// source tree that was built.
const FOLDER_FILES: [(&str, &str); 5] = [
    ("vmlinuz", "vmlinux"),
    ("arch/x86/boot/bzImage", "vmlinux"),
    ("arch/arm64/boot/Image", "vmlinux"),
    ("arch/arm64/boot/Image.gz", "vmlinux"),
    ("arch/arm64/boot/vmlinuz.efi", "vmlinux"),
];

impl KernelFiles {
    /// Returns the files of the kernel `kernel`: a folder, such as a source tree that was built, or
    /// the name by which `scripts/setup.sh --kernel` fetched a kernel into the cache folder.
    ///
    /// # Errors
    /// There is no such folder, or it lacks a boot image or vmlinux.
    pub fn find_kernel(kernel: &Path, cache: Option<&CacheFolder>) -> Result<Self, UserError> {
        let fetched = || cache?.kernel_folder(kernel.to_str()?);
        let folder = match kernel.is_dir() {
            true => kernel.to_owned(),
            false => fetched().ok_or_else(|| missing_named_kernel(kernel))?,
        };
        let file_pairs = FOLDER_FILES.iter().map(|(image, debug)| Self {
            image: folder.join(image),
            debug: folder.join(debug),
            modules: Some(module_folder(&folder)),
        });
        let mut complete = file_pairs.filter(|pair| pair.image.exists() && pair.debug.exists());
        complete.next().ok_or_else(|| {
            let missing = format!("a boot image with its vmlinux in {}", folder.display());
            UserError::from(relayout_files::Error::Missing {
                missing,
                remedy: Some(
                    "build the tree with CONFIG_DEBUG_INFO, or give the files with --image and \
                     --debug"
                        .to_owned(),
                ),
            })
        })
    }

    /// Returns the files of a recorded kernel, by its build id, among those that were fetched into the cache folder.
    ///
    /// # Errors
    /// It is not there.
    pub fn find_recorded(
        release: &str,
        build_id: &str,
        cache: Option<&CacheFolder>,
    ) -> Result<Self, UserError> {
        let names = cache.map_or_else(Vec::new, |cache| cache.kernel_names(""));
        let fetched = names
            .iter()
            .filter_map(|name| Self::find_kernel(name.as_ref(), cache).ok());
        let mut found =
            fetched.filter(|files| build_id_of_file(&files.debug).as_deref() == Some(build_id));
        found.next().ok_or_else(|| {
            UserError::from(relayout_files::Error::Missing {
                missing: format!("the recorded kernel {release}"),
                remedy: Some(
                    "give the folder with its boot image and vmlinux with --kernel".to_owned(),
                ),
            })
        })
    }

    /// Returns the files of the kernel in the cache folder.
    ///
    /// # Errors
    /// There is none.
    pub fn find_cached(cache: Option<&CacheFolder>) -> Result<Self, UserError> {
        Self::find(None, None, cache).map_err(|_| {
            let missing = "a kernel for the guest".to_owned();
            let remedy = format!(
                "run {} to fetch {DISTRIBUTION}'s, or give --kernel",
                setup_command()
            );
            UserError::from(relayout_files::Error::Missing {
                missing,
                remedy: Some(remedy),
            })
        })
    }

    /// Returns the given files, or else those in the cache folder.
    ///
    /// # Errors
    /// A file is neither given nor in the cache folder.
    pub fn find(
        image: Option<&Path>,
        debug: Option<&Path>,
        cache: Option<&CacheFolder>,
    ) -> Result<Self, UserError> {
        let given = |path: Option<&Path>| path.map(Path::to_owned);
        let modules = match (image, debug) {
            (None, None) => cache.map(|cache| cache.dir().join("kernel/current/modules")),
            _ => None,
        };
        let image = given(image).or_else(|| cache?.kernel_image());
        let debug = given(debug).or_else(|| cache?.kernel_debug_file());
        Ok(Self {
            image: image.ok_or_else(|| missing_kernel("kernel image", "--image"))?,
            debug: debug
                .ok_or_else(|| missing_kernel("vmlinux with debug information", "--debug"))?,
            modules,
        })
    }
}

/// Returns the folder with the modules of the kernel in `folder`: the folder itself for a source tree
/// that was built, else the one beside the boot image.
fn module_folder(folder: &Path) -> PathBuf {
    match folder.join("modules.order").exists() {
        true => folder.to_owned(),
        false => folder.join("modules"),
    }
}

fn missing_named_kernel(kernel: &Path) -> UserError {
    let name = kernel.display();
    UserError::from(relayout_files::Error::Missing {
        missing: format!("a kernel {name}"),
        remedy: Some(format!(
            "run {} --kernel {name} to fetch {DISTRIBUTION}'s, or give the folder of \
             a kernel that was built",
            setup_command()
        )),
    })
}

fn missing_kernel(file: &str, option: &str) -> UserError {
    UserError::from(relayout_files::Error::Missing {
        missing: format!("a {file}"),
        remedy: Some(format!(
            "give one with {option}, or run {} to fetch {DISTRIBUTION}'s",
            setup_command()
        )),
    })
}

/// Calls `record` with 0, 1, ... until it fails or has made `times` recordings. `notify` receives
/// the notes of each.
///
/// # Errors
/// The first recording recorded nothing.
pub fn record_repeatedly(
    times: u16,
    notify: &dyn Fn(&str),
    record: impl Fn(u16) -> Result<RecordingOutcome, relayout_record::Error>,
) -> Result<FinishedRecordings, UserError> {
    let mut profiles = Vec::new();
    let mut problem = None;
    for number in 0..times {
        match record(number) {
            Ok(outcome) => {
                outcome.notes.iter().for_each(|note| notify(note));
                profiles.push(outcome.profile);
                problem = outcome.problem;
            }
            // The earlier recordings are kept.
            Err(error) if !profiles.is_empty() => problem = Some(error),
            Err(error) => return Err(error.into()),
        }
        if problem.is_some() {
            break;
        }
    }
    Ok(FinishedRecordings { profiles, problem })
}

impl FinishedRecordings {
    /// Writes the recordings as one profile that names `command`, unless the user aborts that. Returns
    /// the profile and the failure of the last recording.
    ///
    /// # Errors
    /// The recordings cannot be merged, the profile cannot be written, or `is_aborted` returned true.
    pub fn save(
        self,
        output: &Path,
        overwrite: bool,
        command: &[String],
        is_aborted: &dyn Fn() -> bool,
    ) -> Result<(Profile, Option<relayout_record::Error>), UserError> {
        let mut profile = match <[Profile; 1]>::try_from(self.profiles) {
            Ok([profile]) => profile,
            Err(profiles) => relayout_profile::merge(profiles)
                .map_err(UserError::wrap("cannot merge the recordings"))?,
        };
        profile.meta.unseen_strings = unseen_strings::find_unseen_strings(&profile.meta);
        sign_profile(&mut profile, command);
        keep_programs(&profile.meta);
        let options = WriteOptions { overwrite };
        relayout_profile::write_unless(output, &profile, &options, is_aborted).map_err(
            |error| match error {
                relayout_profile::Error::Aborted { .. } => {
                    relayout_record::Error::Interrupted.into()
                }
                other => UserError::from(other),
            },
        )?;
        Ok((profile, self.problem))
    }
}

/// Names the tool's version and the command in the profile.
pub fn sign_profile(profile: &mut Profile, command: &[String]) {
    profile.meta.tool_version = env!("CARGO_PKG_VERSION").to_owned();
    profile.meta.command = command.to_vec();
}

/// Tests that a profile can be written to `output`, before minutes are spent on recording.
///
/// # Errors
/// The profile exists and must not be replaced, or its folder cannot be written.
pub fn require_writable(output: &Path, overwrite: bool) -> Result<(), UserError> {
    match relayout_profile::validate_target(output, &WriteOptions { overwrite }) {
        Err(exists @ relayout_profile::Error::Exists { .. }) => {
            return Err(UserError::input(exists.to_string()).with_remedy("--force replaces it"));
        }
        other => other?,
    }
    let parent = parent_folder(output);
    let probe = parent.join(format!(".relayout-{}", std::process::id()));
    fs::create_dir(&probe)
        .and_then(|()| fs::remove_dir(&probe))
        .map_err(cannot("write to", parent))
        .map_err(UserError::from)
}

/// Decodes the x86-64 instruction of a sample.
pub fn decode_sampled_instruction(pc: u64, bytes: &[u8]) -> Option<SampledInstruction> {
    let insn: DecodedInsn = X86InsnSet.decode(pc, bytes)?;
    let mut operands = insn.memory.iter().flatten();
    let size = |bytes: u32| u8::try_from(bytes).unwrap_or(0);
    let operand = insn.operand(false).filter(|operand| !operand.string);
    Some(SampledInstruction {
        bytes: bytes.get(..usize::from(insn.len))?.to_vec(),
        access_bytes: operand.map_or(0, |operand| size(operand.bytes)),
        modifies: operands.any(|operand| operand.reads && operand.writes),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write_files(folder: &Path, names: &[&str]) {
        for name in names {
            let path = folder.join(name);
            fs::create_dir_all(parent_folder(&path)).expect("a folder");
            fs::write(path, "").expect("written");
        }
    }

    #[test]
    fn kernels_are_found_by_name_and_by_folder() {
        let folder = tempfile::tempdir().expect("a folder");
        let place = folder.path();
        let image = "tree/arch/x86/boot/bzImage";
        let fetched = ["kernel/6.12/vmlinuz", "kernel/6.12/vmlinux"];
        write_files(place, &fetched);
        write_files(place, &[image, "tree/vmlinux", "half/vmlinux"]);
        let cache = CacheFolder::new(place.to_owned());
        let found = |kernel: &Path| {
            let files = KernelFiles::find_kernel(kernel, Some(&cache)).ok()?;
            Some([files.image, files.debug])
        };
        let paths = |names: [&str; 2]| Some(names.map(|name| place.join(name)));
        assert_eq!(found("6.12".as_ref()), paths(fetched));
        assert_eq!(found(&place.join("tree")), paths([image, "tree/vmlinux"]));
        assert_eq!(found(&place.join("half")), None);
        assert_eq!(found("newest".as_ref()), None);
        assert_eq!(found("../kernel/6.12".as_ref()), None);
    }
}
