//! Programs that are built with `relayout cc` and recorded.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::{Ended, Place, json};

/// The library that programs built with `relayout cc` load.
const RUNTIME: &str = "librelayout_rt.so";
/// Folders of compilers and their tools.
const SYSTEM: &str = "/usr/local/bin:/usr/bin:/bin";

/// Fails the test unless the runtime that recorded programs load is beside the command.
#[track_caller]
pub fn require_runtime() {
    let command = Path::new(env!("CARGO_BIN_EXE_relayout"));
    relayout_testkit::require_built(&command.with_file_name(RUNTIME), "relayout-rt");
}

/// A folder for building and recording programs.
#[track_caller]
pub fn recording_place() -> Place {
    require_runtime();
    Place::new()
}

/// A file of `tests/data`.
pub fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/data")
        .join(name)
}

/// Runs the command, which must end with this exit code.
#[track_caller]
pub fn ends(place: &Place, words: &str, code: i32) -> Ended {
    let ended = place.said(words);
    assert_eq!(ended.code, Some(code), "{words}: {ended:?}");
    ended
}

/// Returns the transfers of findings whose type, or a type that it is part of, has such a name.
pub fn transfers_about(place: &Place, profile: &str, is_named: impl Fn(&str) -> bool) -> u64 {
    let report = json(place, &format!("report {profile} --top 0"));
    let findings = report["findings"].as_array().expect("findings");
    let about = findings.iter().filter(|finding| {
        let path = finding["types_path"].as_array().into_iter().flatten();
        let names = path.chain([&finding["type"]]);
        { names.filter_map(|name| name.as_str()) }.any(&is_named)
    });
    about
        .filter_map(|finding| finding["transfers"].as_u64())
        .sum()
}

impl Place {
    /// The command, which finds compilers, and may be found by what it starts.
    pub fn tool(&self, words: &str) -> Command {
        let mut command = self.relayout(&words.split_whitespace().collect::<Vec<_>>());
        self.with_system(&mut command);
        command
    }

    /// Gives a command the system's programs, and the command under test.
    pub fn with_system(&self, command: &mut Command) {
        let own = Path::new(env!("CARGO_BIN_EXE_relayout")).parent().unwrap();
        let path = format!("{}:{}:{SYSTEM}", self.path("bin").display(), own.display());
        command.env("PATH", path).env("LC_ALL", "C");
    }

    /// Runs the command with words separated by spaces.
    pub fn said(&self, words: &str) -> Ended {
        self.ended(&mut self.tool(words))
    }

    /// Runs another program here.
    pub fn other(&self, program: &str, words: &str) -> Ended {
        let mut command = self.command(
            Path::new(program),
            &words.split_whitespace().collect::<Vec<_>>(),
        );
        self.with_system(&mut command);
        self.ended(&mut command)
    }

    /// `tests/data/shared.c` as the program `shared`.
    pub fn shared(&self, flags: &str) {
        let source = data("shared.c");
        let ended = self.said(&format!("cc -- gcc {flags} {} -o shared", source.display()));
        assert_eq!((ended.code, &*ended.stderr), (Some(0), ""), "{flags}");
    }
}
