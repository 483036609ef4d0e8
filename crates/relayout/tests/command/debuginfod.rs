//! Programs and debug information from a server of debuginfod, which is asked only if the user wants it.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use crate::common::programs::recording_place;
use crate::common::{Place, start};
use relayout_layout::links::DebugLinks;
use relayout_testkit::require_programs;

const SOURCE: &str =
    "struct point { int x; char tag; long y; } origin; int main(void) { return 0; }";

/// A web server of the folder `served`, in the arrangement of debuginfod.
struct DebugServer {
    process: Child,
    url: String,
}

impl DebugServer {
    fn start(place: &Place) -> Self {
        require_programs(&["python3", "debuginfod-find"]);
        let words = ["-u", "-m", "http.server", "0", "--bind", "127.0.0.1"];
        let mut command = Command::new("python3");
        command
            .args(words)
            .current_dir(place.path("served"))
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        let mut process = start(&mut command);
        let mut line = String::new();
        let output = process.stdout.as_mut().expect("a pipe");
        BufReader::new(output)
            .read_line(&mut line)
            .expect("its first line");
        // Serving HTTP on 127.0.0.1 port 40123 (http://127.0.0.1:40123/) ...
        let url = line
            .split(['(', ')'])
            .nth(1)
            .expect("its address")
            .to_owned();
        Self { process, url }
    }

    /// The command, which may ask this server.
    fn command(&self, place: &Place, words: &[&str]) -> Command {
        let mut command = place.relayout(words);
        place.with_system(&mut command);
        command
            .env("RELAYOUT_DEBUGINFOD", "1")
            .env("DEBUGINFOD_URLS", &self.url)
            .env("DEBUGINFOD_CACHE_PATH", place.path("fetched"))
            .env("RELAYOUT_DEBUG_PATH", "none");
        command
    }
}

impl Drop for DebugServer {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Serves a file under the build id of `program`.
fn serve(place: &Place, program: &str, file: &Path, kind: &str) {
    let bytes = fs::read(place.path(program)).expect("the program");
    let id = DebugLinks::read(&bytes)
        .expect("its links")
        .build_id
        .expect("its build id");
    let id: String = id.iter().map(|byte| format!("{byte:02x}")).collect();
    let folder = place.path(&format!("served/buildid/{id}"));
    fs::create_dir_all(&folder).expect("a folder");
    fs::copy(file, folder.join(kind)).expect("a copy");
}

fn split_off(place: &Place) {
    place.compile("program", SOURCE, &["-g", "-Wl,--build-id"]);
    for words in [
        vec!["--only-keep-debug", "program", "program.debug"],
        vec!["--strip-debug", "program"],
    ] {
        let mut command = Command::new("objcopy");
        let status = start(command.args(words).current_dir(place.path(""))).wait();
        assert!(status.expect("objcopy").success());
    }
}

#[test]
fn split_debug_information_is_fetched() {
    let place = Place::new();
    split_off(&place);
    serve(&place, "program", &place.path("program.debug"), "debuginfo");
    let server = DebugServer::start(&place);
    let ended = place.ended(&mut server.command(&place, &["show", "program", "point"]));
    assert_eq!((ended.code, &*ended.stderr), (Some(0), ""));
    assert!(
        ended.stdout.starts_with("struct point {\n"),
        "{}",
        ended.stdout
    );

    let mut unasked = server.command(&place, &["show", "program", "point"]);
    let ended = place.ended(unasked.env_remove("RELAYOUT_DEBUGINFOD"));
    assert_eq!(ended.code, Some(2), "{}", ended.stdout);
}

#[test]
fn a_served_file_of_another_build_is_not_read() {
    let place = Place::new();
    split_off(&place);
    place.compile(
        "other",
        "int main(void) { return 1; }",
        &["-g", "-Wl,--build-id"],
    );
    serve(&place, "program", &place.path("other"), "debuginfo");
    let server = DebugServer::start(&place);
    let ended = place.ended(&mut server.command(&place, &["show", "program", "point"]));
    assert_eq!(ended.code, Some(2), "{}", ended.stdout);
}

#[test]
fn what_asking_needs_is_said() {
    let place = Place::new();
    place.compile("program", SOURCE, &["-g"]);
    let mut command = place.relayout(&["show", "program"]);
    command.env("RELAYOUT_DEBUGINFOD", "1");
    let ended = place.ended(command.env_remove("DEBUGINFOD_URLS"));
    let expect = "relayout: a server for RELAYOUT_DEBUGINFOD=1 is missing (name one in DEBUGINFOD_URLS, \
                  such as https://debuginfod.debian.net)\n";
    assert_eq!((ended.code, &*ended.stderr), (Some(3), expect));
    command
        .env("PATH", "none")
        .env("DEBUGINFOD_URLS", "http://127.0.0.1/");
    let ended = place.ended(&mut command);
    assert!(
        ended.stderr.contains("install debuginfod"),
        "{}",
        ended.stderr
    );
}

/// The recorded program was built again in its place, and there is no copy of it.
#[test]
fn a_recorded_program_is_fetched() {
    let place = recording_place();
    place.shared("-g -O1 -Wl,--build-id");
    let recorded = place.said("record run -o out -- ./shared 2000");
    assert_eq!(recorded.code, Some(0), "{}", recorded.stderr);
    serve(&place, "shared", &place.path("shared"), "executable");
    place.shared("-g -O0 -Wl,--build-id");
    let server = DebugServer::start(&place);
    let report = |command: &mut Command| place.ended(command.env("RELAYOUT_NO_CACHE", "1"));
    let mut unasked = server.command(&place, &["report", "out"]);
    let ended = report(unasked.env_remove("RELAYOUT_DEBUGINFOD"));
    assert_eq!(ended.code, Some(2), "{}", ended.stdout);
    let ended = report(&mut server.command(&place, &["report", "out"]));
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
}
