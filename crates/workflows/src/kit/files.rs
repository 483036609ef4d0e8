//! Files of a kit.

use std::fmt::Write as _;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use relayout_files::cannot;
use relayout_measure::ProgramCommand;
use relayout_messages::UserError;

use super::manifest::KitManifest;
use crate::shell_word;

/// Script that measures.
const RUN_SCRIPT: &str = include_str!("run.sh");
/// Events that perf counts where there is one.
const EVENTS: &str = "cycles,instructions,cache-references,cache-misses";
/// Folder that is not packed.
const GIT_FOLDER: &str = ".git";

/// Files of a kit: builds, which are copied at once, and texts.
#[derive(Default)]
pub(super) struct KitFiles {
    texts: Vec<(&'static str, String, u32)>,
    /// Bytes of what was copied.
    pub(super) bytes: u64,
}

impl KitFiles {
    /// Adds what the kit is about, as the result repeats it.
    pub(super) fn add_manifest(&mut self, manifest: &KitManifest) {
        let line = serde_json::to_string(manifest).unwrap_or_default() + "\n";
        self.texts.push(("kit.json", line, 0o644));
    }

    /// Adds the order of the starts: `pair 0 before`, a line each.
    pub(super) fn add_plan(&mut self, manifest: &KitManifest) {
        let plan = manifest.plan();
        let lines = |kind: &'static str, count: usize| {
            (0..count).flat_map(move |number| {
                let sides = plan.order(number).into_iter();
                sides.map(move |side| format!("{kind} {number} {}\n", side.as_str()))
            })
        };
        let text = lines("warmup", manifest.warmups)
            .chain(lines("pair", manifest.pairs))
            .collect();
        self.texts.push(("plan", text, 0o644));
    }

    /// Adds the settings of the script, and the shell's code that runs the benchmark of the side `$1`.
    pub(super) fn add_settings(&mut self, pin: Option<&str>, manifest: &KitManifest, code: &str) {
        let mut text = "# Settings and commands of this kit.\n".to_owned();
        let disturbed = manifest
            .disturbed_code
            .map_or(String::new(), |code| code.to_string());
        let mut settings = vec![
            ("KIT_CPUS", pin.unwrap_or_default().to_owned()),
            ("KIT_DISTURBED", disturbed),
            ("KIT_EVENTS", EVENTS.to_owned()),
        ];
        if let Some(kernels) = &manifest.kernels {
            settings.extend([
                ("KIT_BEFORE", kernels.before.clone()),
                ("KIT_AFTER", kernels.after.clone()),
                ("KIT_STARTS", kernels.runs.to_string()),
                ("KIT_WARMUPS", manifest.warmups.to_string()),
            ]);
        }
        for (name, value) in settings {
            let _ = writeln!(text, "{name}={}", shell_word(&value));
        }
        let _ = write!(
            text,
            "\n# Runs the benchmark of a side; keep_cpus is empty, or keeps the CPUs.\nrun_side() {{\n{code}}}\n"
        );
        self.texts.push(("kit.sh", text, 0o644));
    }

    /// Writes the texts, and the script, into the folder of the kit.
    ///
    /// # Errors
    /// A file cannot be written.
    pub(super) fn write(&self, kit: &Path) -> Result<(), UserError> {
        let script = ("run", RUN_SCRIPT.to_owned(), 0o755);
        for (name, text, mode) in self.texts.iter().chain([&script]) {
            let path = kit.join(name);
            fs::write(&path, text)
                .and_then(|()| fs::set_permissions(&path, Permissions::from_mode(*mode)))
                .map_err(cannot("write", &path))?;
        }
        Ok(())
    }

    /// Copies the program of a command into the new folder `to`, and returns its name there.
    ///
    /// # Errors
    /// The program is no file by its path, or cannot be copied.
    pub(super) fn copy_program(
        &mut self,
        command: &ProgramCommand,
        to: &Path,
    ) -> Result<String, UserError> {
        let program = PathBuf::from(&command.words[0]);
        let Some(name) = program.file_name().filter(|_| program.is_file()) else {
            let (program, command) = (&command.words[0], &command.text);
            let message = format!("cannot pack the program of '{command}': {program} is no file");
            let remedy = format!("give its path, as in ./{program}");
            return Err(UserError::input(message).with_remedy(remedy));
        };
        fs::create_dir(to).map_err(cannot("create", to))?;
        self.copy_file(&program, &to.join(name))?;
        Ok(format!("./{}", name.display()))
    }

    /// Copies files, links and folders; not git's own, and nothing that is no file.
    ///
    /// # Errors
    /// One cannot be read or written.
    pub(super) fn copy_tree(&mut self, from: &Path, to: &Path) -> Result<(), UserError> {
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

    fn copy_file(&mut self, from: &Path, to: &Path) -> Result<(), UserError> {
        self.bytes += fs::copy(from, to).map_err(cannot("copy", from))?;
        Ok(())
    }
}

/// Returns a command as a shell takes it.
pub(super) fn command_words(command: &ProgramCommand) -> String {
    let environment = command.environment.iter();
    let environment = environment.map(|(name, value)| format!("{name}={value}"));
    let env = (!command.environment.is_empty()).then(|| "env".to_owned());
    let words = env
        .into_iter()
        .chain(environment)
        .chain(command.words.iter().cloned());
    let words: Vec<String> = words.map(|word| shell_word(&word)).collect();
    words.join(" ")
}

/// Returns the subject of a patch's mail, or its file name.
pub(super) fn patch_subject(patch: &Path) -> String {
    let text = fs::read(patch).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    let subject = text.lines().find_map(|line| line.strip_prefix("Subject: "));
    subject.map_or_else(
        || patch.file_name().unwrap_or_default().display().to_string(),
        |subject| subject.trim_start_matches("[PATCH] ").to_owned(),
    )
}
