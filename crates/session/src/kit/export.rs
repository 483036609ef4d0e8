//! Makes kits.

use std::fmt::Write as _;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use relayout_files::{InterruptFlag, cannot};
use relayout_measure::ProgramCommand;
use relayout_temporary::{PARTIAL_PREFIX, TemporaryFolder};
use relayout_verify::plan::ExperimentSide;

use super::KitError;
use super::evidence::KitEvidence;
use super::manifest::{FORMAT, KitManifest};
use crate::judgement::fnv1a;
use crate::verify::{
    ComparedPrograms, ComparedSides, ExperimentProgress, ProgramSettings, prepare_sides,
    seed_from_clock,
};

/// Script that measures.
const RUN_SCRIPT: &str = include_str!("run.sh");
/// Events that perf counts where there is one.
const EVENTS: &str = "cycles,instructions,cache-references,cache-misses";
/// Folder that is not packed.
const GIT_FOLDER: &str = ".git";

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
) -> Result<ExportedKit, KitError> {
    if request.folder.symlink_metadata().is_ok() {
        return Err(KitError::Exists(request.folder.clone()));
    }
    let parent = request.folder.parent();
    let parent = parent.filter(|parent| !parent.as_os_str().is_empty());
    let parent = parent.unwrap_or(Path::new("."));
    let partial = TemporaryFolder::create(parent, PARTIAL_PREFIX)
        .map_err(cannot("create a folder in", parent))?;
    let sides = prepare_sides(&request.settings, interrupt, progress)?;
    progress.step("packing both builds");
    let mut packed = PackedSides::default();
    for side in ExperimentSide::ALL {
        packed.add(side, &sides, &partial.path().join(side.as_str()))?;
    }
    let manifest = manifest(request, &sides)?;
    write_files(partial.path(), request, &manifest, &packed)?;
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
        bytes: packed.bytes,
        notes,
    })
}

fn manifest(request: &KitRequest, sides: &ComparedSides) -> Result<KitManifest, KitError> {
    let settings = &request.settings;
    let command = |side| sides.command(side).text.clone();
    let (before, after) = (
        command(ExperimentSide::Before),
        command(ExperimentSide::After),
    );
    let mut manifest = KitManifest {
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
        evidence: request.evidence.clone(),
    };
    manifest.id = format!(
        "{:016x}",
        fnv1a(serde_json::to_string(&manifest)?.as_bytes())
    );
    Ok(manifest)
}

/// Returns the subject of a patch's mail, or its file name.
fn patch_subject(patch: &Path) -> String {
    let text = fs::read(patch).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    let subject = text.lines().find_map(|line| line.strip_prefix("Subject: "));
    subject.map_or_else(
        || patch.file_name().unwrap_or_default().display().to_string(),
        |subject| subject.trim_start_matches("[PATCH] ").to_owned(),
    )
}

fn write_files(
    folder: &Path,
    request: &KitRequest,
    manifest: &KitManifest,
    packed: &PackedSides,
) -> Result<(), KitError> {
    let write = |name: &str, text: &str, mode: u32| {
        let path = folder.join(name);
        fs::write(&path, text)
            .and_then(|()| fs::set_permissions(&path, Permissions::from_mode(mode)))
            .map_err(cannot("write", &path))
    };
    write(
        "kit.json",
        &(serde_json::to_string(manifest)? + "\n"),
        0o644,
    )?;
    write("kit.sh", &settings_text(request, packed), 0o644)?;
    write("plan", &plan_text(manifest), 0o644)?;
    Ok(write("run", RUN_SCRIPT, 0o755)?)
}

/// Returns the order of the starts: `pair 0 before`, a line each.
fn plan_text(manifest: &KitManifest) -> String {
    let plan = manifest.plan();
    let lines = |kind: &'static str, count: usize| {
        (0..count).flat_map(move |number| {
            let sides = plan.order(number).into_iter();
            sides.map(move |side| format!("{kind} {number} {}\n", side.as_str()))
        })
    };
    lines("warmup", manifest.warmups)
        .chain(lines("pair", manifest.pairs))
        .collect()
}

fn settings_text(request: &KitRequest, packed: &PackedSides) -> String {
    let settings = &request.settings;
    let code = settings
        .disturbed_code
        .map_or(String::new(), |code| code.to_string());
    let mut text = format!(
        "# Settings and commands of this kit.\nKIT_CPUS={}\nKIT_DISTURBED={code}\nKIT_EVENTS={EVENTS}\n\n# Runs the \
         benchmark of a side; keep_cpus is empty, or keeps the CPUs.\nrun_side() {{\n\tcase $1 in\n",
        shell_word(settings.pin.as_deref().unwrap_or_default())
    );
    for (side, command) in ExperimentSide::ALL.into_iter().zip(&packed.commands) {
        let mut words = String::new();
        for (name, value) in &command.environment {
            let _ = write!(words, " {}", shell_word(&format!("{name}={value}")));
        }
        if !words.is_empty() {
            words.insert_str(0, "env");
            words.push(' ');
        }
        let program: Vec<String> = command.words.iter().map(|word| shell_word(word)).collect();
        let _ = writeln!(
            text,
            "\t{0})\n\t\t# shellcheck disable=SC2086\n\t\tcd \"$kit/{0}\" && $keep_cpus {words}{1}\n\t\t;;",
            side.as_str(),
            program.join(" ")
        );
    }
    text + "\tesac\n}\n"
}

/// Returns a word that a shell takes as it is.
fn shell_word(text: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-+=./:,@%".contains(c);
    match !text.is_empty() && text.chars().all(is_plain) {
        true => text.to_owned(),
        false => format!("'{}'", text.replace('\'', r"'\''")),
    }
}

/// Builds in the kit.
#[derive(Default)]
struct PackedSides {
    commands: Vec<ProgramCommand>,
    bytes: u64,
}

impl PackedSides {
    /// Copies the build of a side: its source tree, or its program alone.
    fn add(
        &mut self,
        side: ExperimentSide,
        sides: &ComparedSides,
        to: &Path,
    ) -> Result<(), KitError> {
        let mut command = sides.command(side).clone();
        match sides.dir(side) {
            Some(dir) => self.copy_tree(dir, to)?,
            None => {
                let program = PathBuf::from(&command.words[0]);
                let name = program.file_name().filter(|_| program.is_file());
                let Some(name) = name else {
                    return Err(KitError::Program {
                        program: command.words[0].clone(),
                        command: command.text,
                    });
                };
                fs::create_dir(to).map_err(cannot("create", to))?;
                self.copy_file(&program, &to.join(name))?;
                command.words[0] = format!("./{}", name.display());
            }
        }
        self.commands.push(command);
        Ok(())
    }

    /// Copies files, links and folders; not git's own, and nothing that is no file.
    fn copy_tree(&mut self, from: &Path, to: &Path) -> Result<(), KitError> {
        fs::create_dir(to).map_err(cannot("create", to))?;
        for entry in fs::read_dir(from).map_err(cannot("read", from))? {
            let entry = entry.map_err(cannot("read", from))?;
            let (path, target) = (entry.path(), to.join(entry.file_name()));
            let kind = entry.file_type().map_err(cannot("read", &path))?;
            if entry.file_name() == GIT_FOLDER {
                continue;
            }
            if kind.is_dir() {
                self.copy_tree(&path, &target)?;
            } else if kind.is_symlink() {
                let points_to = fs::read_link(&path).map_err(cannot("read", &path))?;
                std::os::unix::fs::symlink(points_to, &target)
                    .map_err(cannot("create", &target))?;
            } else if kind.is_file() {
                self.copy_file(&path, &target)?;
            }
        }
        Ok(())
    }

    fn copy_file(&mut self, from: &Path, to: &Path) -> Result<(), KitError> {
        self.bytes += fs::copy(from, to).map_err(cannot("copy", from))?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_for_a_shell() {
        for (text, expect) in [
            ("./server", "./server"),
            ("a b", "'a b'"),
            ("it's", r"'it'\''s'"),
            ("", "''"),
            ("$(x)", "'$(x)'"),
        ] {
            assert_eq!(shell_word(text), expect);
        }
    }
}
