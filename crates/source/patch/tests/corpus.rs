//! The corpus example over the C library's headers and the kernel's: real structs, moved and
//! compiled.

#[path = "../examples/corpus/pick.rs"]
mod pick;
#[path = "../examples/corpus/trial.rs"]
#[allow(dead_code)]
mod trial;
#[path = "../examples/corpus/unit.rs"]
mod unit;

use std::path::{Path, PathBuf};
use std::process::Command;

use pick::Candidate;
use relayout_testkit::{kernel_source, require_programs, vmlinux};
use trial::{Back, Outcome};
use unit::Compiler;

/// Structs that are tried.
const COUNT: usize = 30;

/// Folders of Debian's libc6-dev and the like, below /usr/include.
const FOLDERS: [&str; 4] = ["arpa", "net", "netinet", "rpc"];

#[test]
fn moved_members_are_where_the_engine_says() {
    require_programs(&["gcc"]);
    let root = PathBuf::from("/usr/include");
    let mut found = Vec::new();
    for folder in FOLDERS {
        for mut candidate in pick::of_headers(&root.join(folder)) {
            candidate.path = format!("{folder}/{}", candidate.path);
            found.push(candidate);
        }
    }
    let scratch = tempfile::tempdir().unwrap();
    let command = vec!["gcc".to_owned()];
    let scratch = scratch.path().to_owned();
    let compiler = Compiler::new(command, root.clone(), root, &["."], scratch);
    check(found, compiler);
}

/// Objects of the kernel: its headers, without an edit and with it, as its own build would compile
/// them.
#[test]
fn members_of_the_kernel_too() {
    require_programs(&["make", "gcc", "flex", "bison", "bc"]);
    let source = kernel_source().canonicalize().unwrap();
    let scratch = tempfile::tempdir().unwrap();
    let build = scratch.path().join("build");
    prepare(&source, &build);
    let found = pick::of_debug_file(&std::fs::read(vmlinux()).unwrap(), &source);
    let scratch = scratch.path().to_owned();
    check(found, Compiler::of_kernel(build, source, scratch));
}

/// Builds the headers that every object of the kernel needs; the source itself is only read.
fn prepare(source: &Path, build: &Path) {
    std::fs::create_dir(build).unwrap();
    let jobs = std::thread::available_parallelism().map_or(1, usize::from);
    let done = Command::new("make")
        .arg("-C")
        .arg(source)
        .arg(format!("O={}", build.display()))
        .arg(format!("-j{jobs}"))
        .args(["-s", "defconfig", "prepare"])
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success(), "make defconfig prepare: {said}");
}

fn check(found: Vec<Candidate>, mut compiler: Compiler) {
    let (mut tried, mut right, mut back) = (0, 0, 0);
    for candidate in pick::in_order(found, 0) {
        let trial = trial::run(&candidate, &mut compiler);
        let title = format!("{candidate:?}: {}", trial.asked);
        tried += usize::from(!matches!(trial.outcome, Outcome::Passed(_)));
        match trial.outcome {
            Outcome::Passed(_) => {}
            Outcome::Right(returned) => {
                right += 1;
                back += usize::from(returned == Back::SameBytes);
                if let Back::Other(how) = returned {
                    eprintln!("{title}\n    {how}");
                }
            }
            Outcome::Refused(refusal) => eprintln!("{title}\n    {refusal}"),
            Outcome::Wrong(why) => panic!("{title}\n    {why}"),
        }
        if tried == COUNT {
            break;
        }
    }
    eprintln!("{tried} tried, {right} right, {back} moved back to the same bytes");
    assert_eq!(tried, COUNT, "there are not enough structs");
    assert!(right * 20 >= tried * 19, "{right} of {tried}");
    // Not that of a last member behind a `#define`: nothing names its place.
    assert!(back * 20 >= right * 19, "{back} of {right}");
}
