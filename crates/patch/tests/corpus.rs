//! The corpus example over the C library's headers: real structs, moved and compiled.

#[path = "../examples/corpus/pick.rs"]
#[allow(dead_code)]
mod pick;
#[path = "../examples/corpus/trial.rs"]
#[allow(dead_code)]
mod trial;
#[path = "../examples/corpus/unit.rs"]
mod unit;

use std::path::PathBuf;
use std::process::Command;

use trial::{Back, Outcome};
use unit::Compiler;

/// Structs that are tried.
const COUNT: usize = 30;

/// Where Debian's libc6-dev and the like have them, below /usr/include.
const FOLDERS: [&str; 4] = ["arpa", "net", "netinet", "rpc"];

#[test]
fn moved_members_are_where_the_engine_says() {
    if Command::new("gcc").arg("--version").output().is_err() {
        assert!(std::env::var_os("CI").is_none(), "gcc is not installed");
        eprintln!("PASSED OVER: gcc is not installed");
        return;
    }
    let root = PathBuf::from("/usr/include");
    let mut found = Vec::new();
    for folder in FOLDERS {
        for mut one in pick::of_headers(&root.join(folder)) {
            one.path = format!("{folder}/{}", one.path);
            found.push(one);
        }
    }
    let scratch = tempfile::tempdir().unwrap();
    let command = vec!["gcc".to_owned()];
    let mut compiler = Compiler::new(
        command,
        root.clone(),
        root,
        &["."],
        scratch.path().to_owned(),
    );
    let (mut tried, mut right, mut back) = (0, 0, 0);
    for candidate in pick::in_order(found) {
        let trial = trial::run(&candidate, &mut compiler);
        let what = format!("{candidate:?}: {}", trial.asked);
        tried += usize::from(!matches!(trial.outcome, Outcome::Passed(_)));
        match trial.outcome {
            Outcome::Passed(_) => {}
            Outcome::Right(returned) => {
                right += 1;
                back += usize::from(returned == Back::SameBytes);
                if let Back::Other(how) = returned {
                    eprintln!("{what}\n    {how}");
                }
            }
            Outcome::Refused(refusal) => eprintln!("{what}\n    {refusal}"),
            Outcome::Wrong(why) => panic!("{what}\n    {why}"),
        }
        if tried == COUNT {
            break;
        }
    }
    eprintln!("{tried} tried, {right} right, {back} moved back to the same bytes");
    assert_eq!(
        tried, COUNT,
        "the headers of the C library are not installed"
    );
    assert!(right * 20 >= tried * 19, "{right} of {tried}");
    assert!(back * 10 >= right * 9, "{back} of {right}");
}
