//! `verify kernel`: what is refused before anything is copied, built or booted. What it finds is in
//! the tests of the parts, and in docs/kernel-walkthrough.md with a kernel.

use super::run;
use crate::common::{Place, names};

const PATCH: &str = "\
--- a/mm/a.h
+++ b/mm/a.h
@@ -1,4 +1,4 @@
 struct a {
-\tint kept;
 \tlong moved;
+\tint kept;
 };
";

/// A sandbox with a tree that looks like a kernel's source, and a patch to it.
fn place() -> Place {
    let place = Place::new();
    for dir in ["linux", "linux/arch", "linux/arch/x86", "linux/mm"] {
        std::fs::create_dir(place.path(dir)).unwrap();
    }
    for name in ["Makefile", "Kconfig", "arch/x86/Makefile"] {
        place.write(&format!("linux/{name}"), "");
    }
    place.write(
        "linux/mm/a.h",
        "struct a {\n\tint kept;\n\tlong moved;\n};\n",
    );
    place.write("fix.patch", PATCH);
    place
}

#[track_caller]
fn refuses(spoil: impl Fn(&Place), more: &[&str], code: i32, expect: &str) {
    let place = place();
    spoil(&place);
    let arguments = ["kernel", "--source", "linux", "--patch", "fix.patch"];
    let before = names(&place.path("linux"));
    let ended = run(&place, &[&arguments[..], more].concat());
    assert!(ended.stderr.contains(expect), "{}", ended.stderr);
    assert_eq!((ended.code, &*ended.stdout), (Some(code), ""), "{ended:?}");
    assert_eq!(names(&place.path("tmp")), Vec::<String>::new());
    assert_eq!(names(&place.path("linux")), before);
}

const MNTNS: &[&str] = &["--workload", "mntns"];

#[test]
fn workloads() {
    let nothing = |_: &Place| ();
    refuses(nothing, &["--workload", "mntn"], 2, "did you mean 'mntns'?");
    refuses(nothing, &["--workload", "list"], 2, "the workloads are ");
    refuses(
        nothing,
        &[MNTNS, &["--also", "x"]].concat(),
        2,
        "no workload 'x'",
    );
    refuses(
        nothing,
        &[MNTNS, &["--cpus", "1"]].concat(),
        2,
        "1 is not in 2..=1024",
    );
}

#[test]
fn sources() {
    let no_kconfig = |place: &Place| std::fs::remove_file(place.path("linux/Kconfig")).unwrap();
    refuses(
        no_kconfig,
        MNTNS,
        2,
        "is not the top of a Linux source tree: it has no Kconfig",
    );
    let built = |place: &Place| drop(place.write("linux/.config", ""));
    refuses(
        built,
        MNTNS,
        2,
        "was configured or built in place (.config is there)",
    );
    let gone = |place: &Place| std::fs::remove_dir_all(place.path("linux/arch")).unwrap();
    refuses(gone, MNTNS, 2, "it has no arch/x86/Makefile");
}

#[test]
fn patches() {
    let other = |place: &Place| drop(place.write("linux/mm/a.h", "struct a {\n};\n"));
    refuses(other, MNTNS, 2, "patch failed: mm/a.h:1");
    let nothing = |_: &Place| ();
    let reverse = [MNTNS, &["--reverse"]].concat();
    refuses(
        nothing,
        &reverse,
        2,
        "--reverse is for a source that has the patch already",
    );
    let gone = |place: &Place| std::fs::remove_file(place.path("fix.patch")).unwrap();
    refuses(gone, MNTNS, 2, "cannot read fix.patch");
}

#[test]
fn without_qemu() {
    refuses(|_| (), MNTNS, 3, "qemu-system-x86_64");
}
