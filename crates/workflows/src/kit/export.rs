//! Makes kits with programs.

use std::path::{Path, PathBuf};

use relayout_files::{InterruptFlag, cannot};
use relayout_measure::ProgramCommand;
use relayout_messages::UserError;
use relayout_temporary::{PARTIAL_PREFIX, TemporaryFolder};
use relayout_verify::plan::ExperimentSide;

use super::evidence::KitEvidence;
use super::files::{KitFiles, command_words, patch_subject};
use super::manifest::{FORMAT, KitManifest};
use crate::verify::{
    ComparedPrograms, ComparedSides, ExperimentProgress, ProgramSettings, prepare_sides,
    seed_from_clock,
};

/// Kit to make.
#[derive(Clone, Debug)]
pub struct KitRequest {
    /// Folder of the kit, which must not be there.
    pub folder: PathBuf,
    /// Programs, metrics, pairs, CPUs.
    pub settings: ProgramSettings,
    /// Metrics, as the command line has them; empty for the default.
    pub metrics: Vec<String>,
    /// What was predicted and counted.
    pub evidence: KitEvidence,
}

/// Kit that was made.
#[derive(Debug)]
pub struct ExportedKit {
    /// Its folder.
    pub folder: PathBuf,
    /// What it is about.
    pub manifest: KitManifest,
    /// Bytes of both builds.
    pub bytes: u64,
    /// Sentences for the user.
    pub notes: Vec<String>,
}

/// Builds both sides and packs them with the script. The kit appears whole or not at all.
///
/// # Errors
/// Something is in its place, a side cannot be built or packed, or the user interrupts.
pub fn export_kit(
    request: &KitRequest,
    progress: &dyn ExperimentProgress,
    interrupt: InterruptFlag,
) -> Result<ExportedKit, UserError> {
    let partial = partial_folder(&request.folder)?;
    let sides = prepare_sides(&request.settings, interrupt, progress)?;
    progress.step("packing both builds");
    let mut files = KitFiles::default();
    let mut commands = Vec::new();
    for side in ExperimentSide::ALL {
        let to = partial.path().join(side.as_str());
        commands.push(pack_side(&mut files, side, &sides, &to)?);
    }
    let manifest = manifest(request, &sides).with_id()?;
    files.add_manifest(&manifest);
    files.add_plan(&manifest);
    let pin = request.settings.pin.as_deref();
    files.add_settings(pin, &manifest, &side_cases(&commands));
    files.write(partial.path())?;
    partial
        .rename_to(&request.folder)
        .map_err(cannot("create", &request.folder))?;
    let mut notes = sides.notes();
    if matches!(request.settings.programs, ComparedPrograms::Commands { .. }) {
        notes.push(
            "only the programs are packed; files that they read and libraries that they load have to be on the \
             other machine"
                .to_owned(),
        );
    }
    Ok(ExportedKit {
        folder: request.folder.clone(),
        manifest,
        bytes: files.bytes,
        notes,
    })
}

/// Returns a folder beside the place of a kit, which must be free.
pub(super) fn partial_folder(kit: &Path) -> Result<TemporaryFolder, UserError> {
    if kit.symlink_metadata().is_ok() {
        let message = format!("{} is there already", kit.display());
        return Err(UserError::input(message).with_remedy("give another folder, or remove it"));
    }
    let parent = kit.parent().filter(|parent| !parent.as_os_str().is_empty());
    let parent = parent.unwrap_or(Path::new("."));
    let created = TemporaryFolder::create(parent, PARTIAL_PREFIX);
    Ok(created.map_err(cannot("create a folder in", parent))?)
}

/// Copies the build of a side: its source tree, or its program alone. Returns the command to run in
/// the copy.
fn pack_side(
    files: &mut KitFiles,
    side: ExperimentSide,
    sides: &ComparedSides,
    to: &Path,
) -> Result<ProgramCommand, UserError> {
    let mut command = sides.command(side).clone();
    match sides.dir(side) {
        Some(dir) => files.copy_tree(dir, to)?,
        None => command.words[0] = files.copy_program(&command, to)?,
    }
    Ok(command)
}

fn manifest(request: &KitRequest, sides: &ComparedSides) -> KitManifest {
    let settings = &request.settings;
    let command = |side| sides.command(side).text.clone();
    let (before, after) = (
        command(ExperimentSide::Before),
        command(ExperimentSide::After),
    );
    KitManifest {
        format: FORMAT.to_owned(),
        id: String::new(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        subject: match &settings.programs {
            ComparedPrograms::Patch(build) => patch_subject(&build.patch),
            ComparedPrograms::Commands { .. } => format!("{before} against {after}"),
        },
        before,
        after,
        metrics: request.metrics.clone(),
        seed: settings.seed.unwrap_or_else(seed_from_clock),
        pairs: settings.pairs,
        warmups: settings.warmups,
        disturbed_code: settings.disturbed_code,
        kernels: None,
        evidence: request.evidence.clone(),
    }
}

/// Returns the shell's code that runs a side's command.
fn side_cases(commands: &[ProgramCommand]) -> String {
    let sides = ExperimentSide::ALL.into_iter().zip(commands);
    let cases = sides.map(|(side, command)| {
        let words = command_words(command);
        let side = side.as_str();
        format!("\t{side}) cd \"$kit/{side}\" && $keep_cpus {words} ;;\n")
    });
    let cases: String = cases.collect();
    format!("\tcase $1 in\n{cases}\tesac\n")
}
