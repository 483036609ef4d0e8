//! `record kernel --module`: modules of the kernel that a workload needs.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use serde_json::json;

use crate::stand::Stand;

/// Least share of transfers that have a name.
const RESOLVED_MIN: f64 = 0.95;

/// Mounts an overlay of two folders, and looks files up in it from four threads.
const OVERLAY: &str = r#"
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>
static const char *const folders[] = { "/tmp/lower", "/tmp/upper", "/tmp/work", "/tmp/merged" };
static void *look(void *unused)
{
	for (int i = 0; i < 100; i++) {
		char path[64];
		struct stat found;
		snprintf(path, sizeof path, "/tmp/merged/%d", i % 16);
		int fd = open(path, O_RDONLY);
		if (stat(path, &found) < 0 || fd < 0)
			exit(2);
		close(fd);
	}
	return unused;
}
int main(void)
{
	pthread_t threads[4];
	for (int i = 0; i < 4; i++)
		mkdir(folders[i], 0755);
	for (int i = 0; i < 16; i++) {
		char path[64];
		snprintf(path, sizeof path, "/tmp/lower/%d", i);
		close(open(path, O_CREAT | O_WRONLY, 0644));
	}
	if (mount("overlay", "/tmp/merged", "overlay", 0,
		  "lowerdir=/tmp/lower,upperdir=/tmp/upper,workdir=/tmp/work") < 0) {
		perror("mount");
		return 1;
	}
	for (int i = 0; i < 4; i++)
		pthread_create(&threads[i], NULL, look, NULL);
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
"#;

/// A folder with the program `overlay`, and the file of the module in the cache folder.
fn stand_with_module(kernel: &str) -> (Stand, PathBuf) {
    let stand = Stand::new();
    let module = stand
        .cache
        .join(format!("kernel/{kernel}/modules/overlay.ko"));
    relayout_testkit::require_file("scripts/setup.sh --module overlay", &module);
    let flags = ["-static", "-pthread"];
    stand.place.compile("overlay", OVERLAY, &flags);
    (stand, module)
}

/// Records the program, in whose findings types and functions of the module have names.
#[track_caller]
fn check_overlay(kernel: &str, arguments: &str) {
    let (stand, _) = stand_with_module(kernel);
    stand.record(&format!("{arguments} --run overlay --module overlay"));
    let report = stand.report();
    assert_eq!(report["left_out_readers"], json!([]));
    let share = report["resolved_share"].as_f64().expect("a number");
    assert!(share >= RESOLVED_MIN, "resolved {share}");
    let findings = report["findings"].as_array().expect("findings");
    let has_type = { findings.iter() }.any(|finding| finding["type"] == "ovl_inode");
    assert!(has_type, "no finding about ovl_inode in {}", findings.len());
    let sites = { findings.iter() }
        .filter_map(|finding| finding["sites"].as_array())
        .flatten();
    let functions = sites.filter_map(|site| site["function"].as_str());
    let own = functions.filter(|name| name.starts_with("ovl_")).count();
    assert!(own > 0, "no finding names a function of the module");
}

#[test]
fn modules_are_loaded_and_resolved() {
    check_overlay("current", "");
}

#[test]
#[ignore = "needs a further kernel: scripts/setup.sh --kernel newest --module overlay"]
fn modules_of_the_newest_kernel_are_loaded_and_resolved() {
    check_overlay("newest", "--kernel newest");
}

/// Without the module, the kernel does not know the filesystem.
#[test]
fn a_program_without_its_module_fails() {
    let (stand, _) = stand_with_module("current");
    let ended = stand.run("record kernel -o out --run overlay");
    assert_eq!(ended.code, Some(4), "{ended:?}");
    assert!(ended.stderr.contains("mount: No such device"), "{ended:?}");
}

#[test]
fn modules_that_are_unknown_or_for_another_kernel_are_refused_before_the_boot() {
    let (stand, module) = stand_with_module("current");
    let ended = stand.run("record kernel -o out --workload mntns --module overlai");
    assert_eq!(ended.code, Some(2), "{ended:?}");
    assert!(
        ended.stderr.contains("there is no module 'overlai'"),
        "{ended:?}"
    );
    assert!(
        ended.stderr.contains("(did you mean 'overlay'?)"),
        "{ended:?}"
    );
    // One letter of the release is another.
    let mut bytes = fs::read(&module).expect("the module");
    let magic = b"vermagic=6";
    let at = { bytes.windows(magic.len()) }.position(|part| part == magic);
    bytes[at.expect("a release") + magic.len() - 1] = b'5';
    fs::write(stand.place.path("old.ko"), bytes).expect("written");
    let ended = stand.run("record kernel -o out --workload mntns --module old.ko");
    assert_eq!(ended.code, Some(2), "{ended:?}");
    assert!(
        ended
            .stderr
            .contains("old.ko cannot be loaded into the guest: it was built for the kernel 5"),
        "{ended:?}"
    );
    stand.check_clean();
}

/// The kernel's own line says why.
#[test]
fn a_module_that_the_guest_refuses_is_an_error() {
    let (stand, module) = stand_with_module("current");
    let (versions, refused) = (stand.place.path("versions"), stand.place.path("refused.ko"));
    // Versions of symbols that are all 0 in place of those of the kernel.
    let run = |arguments: &[&str]| {
        let status = Command::new("objcopy").args(arguments).status();
        assert!(status.is_ok_and(|done| done.success()), "objcopy failed");
    };
    let text = |path: &std::path::Path| path.to_str().expect("a name").to_owned();
    let (module, versions, refused) = (text(&module), text(&versions), text(&refused));
    run(&[
        "--dump-section",
        &format!("__versions={versions}"),
        &module,
        &refused,
    ]);
    let mut bytes = fs::read(&versions).expect("dumped");
    for entry in bytes.chunks_mut(64) {
        entry[..8].fill(0);
    }
    fs::write(&versions, bytes).expect("written");
    run(&[
        "--update-section",
        &format!("__versions={versions}"),
        &module,
        &refused,
    ]);
    let ended = stand.run("record kernel -o out --workload mntns --module refused.ko");
    assert_eq!(ended.code, Some(4), "{ended:?}");
    assert!(
        ended
            .stderr
            .contains("the guest failed: loading the module refused.ko (Exec format error)"),
        "{ended:?}"
    );
    assert!(
        ended
            .stderr
            .contains("overlay: disagrees about version of symbol"),
        "{ended:?}"
    );
    stand.check_clean();
}
