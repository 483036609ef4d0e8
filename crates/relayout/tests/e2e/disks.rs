//! `record kernel --root`, `--file`: folders that do not fit into the guest's memory.

use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::Command;

use crate::stand::Stand;

/// Files of 300 MB, which `MEMORY` has no room for.
const LARGE_BYTES: u64 = 300_000_000;
/// Least part of the transfers that have a name.
const RESOLVED_MIN: f64 = 0.90;
const MEMORY: &str = "--memory 512M";

/// Reads and writes files of its root, which is ext4. Its arguments are a small file of another
/// place, and a file of another disk.
const PROGRAM: &str = r#"
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>
static int has_text(const char *path, const char *text)
{
	char found[64] = "";
	int fd = open(path, O_RDONLY);
	return fd >= 0 && read(fd, found, 63) > 0 && strcmp(found, text) == 0;
}
int main(int count, char **words)
{
	struct stat large, root, extra;
	struct statfs system;
	if (!has_text("/etc/greeting", "hello") || count != 3 || !has_text(words[1], "given"))
		return 2;
	if (stat("/large", &large) < 0 || large.st_size != 300000000)
		return 3;
	int fd = open("/etc/answer", O_CREAT | O_EXCL | O_WRONLY, 0644);
	for (int i = 0; i < 100; i++)
		if (write(fd, "answer", 6) != 6)
			return 4;
	if (fsync(fd) < 0 || stat("/etc/answer", &root) < 0 || root.st_size != 600)
		return 5;
	if (statfs("/", &system) < 0 || system.f_type != 0xef53)
		return 6;
	if (access("/proc/self/exe", F_OK) < 0 || access("/dev/null", W_OK) < 0 ||
	    access("/sys/fs/cgroup", F_OK) < 0)
		return 7;
	if (stat(words[2], &extra) < 0 || extra.st_dev == root.st_dev)
		return 8;
	return 0;
}
"#;

/// Writes a file of [`LARGE_BYTES`] with a hole.
fn write_large(path: &Path) {
    let mut file = fs::File::create(path).expect("made");
    file.write_all(&[7; 1 << 20]).expect("written");
    file.set_len(LARGE_BYTES).expect("extended");
}

/// Records a program of a root that has a disk of its own, with a folder that has another, and with
/// a file that moves from memory to the root's.
#[track_caller]
fn check_disks(kernel: &str, compiler: &str) {
    let stand = Stand::new();
    let path = |name: &str| stand.place.path(name);
    for folder in ["root/opt/bin", "root/etc", "extra"] {
        fs::create_dir_all(path(folder)).expect("made");
    }
    stand.place.write("root/etc/greeting", "hello");
    stand.place.write("given", "given");
    write_large(&path("root/large"));
    write_large(&path("extra/large"));
    let code = stand.place.write("tool.c", PROGRAM);
    let mut command = Command::new(compiler);
    let command = command
        .args(["-static", "-o"])
        .arg(path("root/opt/bin/tool"));
    let status = command.arg(code).status();
    assert!(status.is_ok_and(|done| done.success()), "{compiler} failed");
    let arguments = format!(
        "--run-arg {} --run-arg {}",
        path("given").display(),
        path("extra/large").display()
    );
    let ended = stand.record(&format!(
        "{kernel} {MEMORY} --root root --run /opt/bin/tool {arguments} --file given --file extra"
    ));
    for name in ["root", "extra"] {
        let step = format!("making a disk image of {name} (286 MiB)");
        assert!(ended.stderr.contains(&step), "{ended:?}");
    }
    let report = stand.report();
    assert_eq!(report["runs"][0]["complete"], true);
    let disks = "/ (nvme), [DIR]/extra (nvme)";
    assert_eq!(report["settings"]["disks"], disks);
    let unwatched = &report["machine"]["boot"]["not_watched"];
    let names = unwatched.as_array().expect("a list");
    assert!(names.contains(&"dma".into()), "{unwatched}");
    let share = report["resolved_share"].as_f64().expect("a number");
    assert!(share >= RESOLVED_MIN, "resolved {share}");
}

#[test]
fn folders_larger_than_the_guests_memory_come_on_disks() {
    check_disks("", "cc");
}

#[test]
#[ignore = "takes two minutes, and is the same with another kernel"]
fn disks_of_the_newest_kernel_are_mounted() {
    check_disks("--kernel newest", "cc");
}

#[test]
#[ignore = "needs arm64 kernels: scripts/setup.sh --arm64"]
fn disks_of_arm64_kernels_are_mounted() {
    check_disks("--kernel 6.12-arm64", "aarch64-linux-gnu-gcc");
}
