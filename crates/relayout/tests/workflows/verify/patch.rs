//! A patch, built and measured in two copies of a source.

use std::fs;
use std::process::Command;

use serde_json::Value;

use super::{json, run};
use crate::common::{Place, names, start};

const PATCH: &str = "\
--- a/bench.sh
+++ b/bench.sh
@@ -1,2 +1,2 @@
 #!/bin/sh
-echo rate: 1000
+echo rate: 2000
";

/// A project whose build makes `bench`, and a patch that makes it faster.
fn place() -> Place {
    let place = Place::new();
    fs::create_dir(place.path("project")).unwrap();
    place.write("project/bench.sh", "#!/bin/sh\necho rate: 1000\n");
    place.write("fix.patch", PATCH);
    place
}

fn repository(place: &Place) {
    let script = "git init -q && git add . && git -c user.name=a -c user.email=a@b commit -q -m x";
    let mut git = Command::new("sh");
    git.args(["-c", script]).current_dir(place.path("project"));
    assert!(start(&mut git).wait().unwrap().success());
}

const ARGUMENTS: &[&str] = &[
    "--patch",
    "fix.patch",
    "--source",
    "project",
    "--bench",
    "./bench",
    "--runs",
    "6",
    "--metric",
    "rate=regex:rate: (.*)",
    "--json",
];
const BUILD: &str = "cp bench.sh bench && chmod +x bench";

#[track_caller]
fn check(place: &Place) {
    let before = place.files();
    let ended = run(place, &[ARGUMENTS, &["--build", BUILD]].concat());
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let found = json(&ended);
    assert_eq!(found["verdict"], "better", "{found}");
    assert_eq!(
        found["metrics"][0]["change_percent"]
            .as_f64()
            .map(f64::round),
        Some(100.0)
    );
    assert_eq!(names(&place.path("tmp")), Vec::<String>::new());
    assert!(!place.path("project/bench").exists());
    let after = place.files();
    let worktrees = |files: &[(std::path::PathBuf, u64)]| {
        files
            .iter()
            .filter(|(path, _)| path.to_string_lossy().contains("worktrees/"))
            .count()
    };
    assert_eq!(worktrees(&before), worktrees(&after));
}

#[test]
fn of_a_folder() {
    check(&place());
}

#[test]
fn of_a_repository() {
    let place = place();
    repository(&place);
    check(&place);
}

#[track_caller]
fn refuses(place: &Place, build: &str, code: i32, expect: &str) {
    let ended = run(place, &[ARGUMENTS, &["--build", build]].concat());
    assert_eq!(ended.code, Some(code), "{ended:?}");
    let line = ended.stderr.lines().last().expect("an error");
    let error: Value = serde_json::from_str(line).unwrap();
    let message = error["message"].as_str().expect("a message");
    assert!(message.contains(expect), "{ended:?}");
    assert_eq!(names(&place.path("tmp")), Vec::<String>::new());
}

#[test]
fn refused() {
    let place = place();
    let expect =
        "cannot build 'before': 'echo no rule >&2; exit 2' ended with exit code 2:\n  no rule";
    refuses(&place, "echo no rule >&2; exit 2", 4, expect);
    refuses(&place, "true", 2, "cannot run './bench' in ");
    place.write("fix.patch", PATCH.replace("1000", "1001"));
    let expect = "[DIR]/fix.patch does not apply to [DIR]/project";
    refuses(&place, BUILD, 2, expect);
    fs::remove_file(place.path("fix.patch")).unwrap();
    refuses(&place, BUILD, 2, "cannot read fix.patch: No such file");
}
