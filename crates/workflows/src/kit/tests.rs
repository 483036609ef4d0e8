//! A kit with kernels, whose script is told by other small tools which kernel is booted.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Command, Output};

use relayout_verify::judge::JudgingRules;
use relayout_verify::judged_change::ChangeVerdict;

use super::evidence::KitEvidence;
use super::files::KitFiles;
use super::import::import_result;
use super::manifest::{FORMAT, KitKernels, KitManifest};

fn write_script(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, format!("#!/bin/sh\n{text}\n")).unwrap();
    fs::set_permissions(path, Permissions::from_mode(0o755)).unwrap();
}

/// Writes a kit whose benchmark prints a rate that depends on the kernel.
fn write_kit(kit: &Path) {
    let manifest = KitManifest {
        format: FORMAT.to_owned(),
        id: "1".to_owned(),
        version: "0.1.0".to_owned(),
        subject: "s".to_owned(),
        before: "./bench".to_owned(),
        after: "./bench".to_owned(),
        metrics: vec!["rate=regex:rate: ([0-9]+)".to_owned()],
        seed: 0,
        pairs: 6,
        warmups: 1,
        disturbed_code: None,
        kernels: Some(KitKernels {
            before: "6.1-before".to_owned(),
            after: "6.1-after".to_owned(),
            runs: 3,
        }),
        evidence: KitEvidence::default(),
    };
    let mut files = KitFiles::default();
    files.add_manifest(&manifest);
    files.add_settings(
        None,
        &manifest,
        "\tcd \"$kit/bench\" && $keep_cpus ./bench\n",
    );
    fs::create_dir(kit).unwrap();
    files.write(kit).unwrap();
    write_script(
        &kit.join("bench/bench"),
        "case $RELEASE in *before) echo rate: 100 ;; *) echo rate: 130 ;; esac",
    );
}

/// Runs the script of a kit under a kernel, in a boot.
fn run_kit(folder: &Path, release: &str, boot: &str) -> Output {
    let tools = folder.join("tools");
    write_script(&tools.join("uname"), "echo \"$RELEASE\"");
    write_script(
        &tools.join("cat"),
        "case ${1-} in /proc/*boot_id) echo \"$BOOT\" ;; *) exec /bin/cat \"$@\" ;; esac",
    );
    let mut command = Command::new(folder.join("kit/run"));
    command
        .arg(folder.join("result"))
        .env("PATH", format!("{}:/usr/bin:/bin", tools.display()))
        .env("RELEASE", release)
        .env("BOOT", boot);
    command.output().unwrap()
}

#[test]
fn boots_of_two_kernels_are_pairs() {
    let folder = tempfile::tempdir().unwrap();
    write_kit(&folder.path().join("kit"));
    for boot in 0..12 {
        let release = if boot % 2 == 0 {
            "6.1-before"
        } else {
            "6.1-after"
        };
        let ended = run_kit(folder.path(), release, &format!("boot-{boot}"));
        assert!(ended.status.success(), "{ended:?}");
    }
    let rules = JudgingRules { margin: 0.02 };
    let imported = import_result(&folder.path().join("result"), &rules).unwrap();
    let outcome = &imported.judged.outcome;
    assert_eq!((outcome.pairs, outcome.verdict), (6, ChangeVerdict::Better));
    assert_eq!(outcome.metrics[0].before.median, 100.0);
    // Three runs in each boot are one value.
    assert_eq!(imported.runs.starts[0].values[0][""], [100.0; 3]);
    assert_eq!(imported.notes, [""; 0]);
}

#[test]
fn other_kernels_and_boots_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    write_kit(&folder.path().join("kit"));
    let other = run_kit(folder.path(), "6.1", "boot-0");
    assert_eq!(other.status.code(), Some(2));
    let text = String::from_utf8_lossy(&other.stderr).into_owned();
    assert!(
        text.contains("is none of the kit: boot 6.1-before or 6.1-after"),
        "{text}"
    );
    assert!(
        run_kit(folder.path(), "6.1-after", "boot-1")
            .status
            .success()
    );
    let again = run_kit(folder.path(), "6.1-after", "boot-1");
    assert_eq!(again.status.code(), Some(2));
    let text = String::from_utf8_lossy(&again.stderr).into_owned();
    assert!(text.contains("this boot is measured already"), "{text}");
}
