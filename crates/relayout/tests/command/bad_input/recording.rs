//! `record kernel` needs a boot image, its debug file, QEMU and the plugin, a workload, and a
//! folder to write to.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Stdio};
use std::time::Duration;

use super::{kernel, refuses_value};
use crate::common::restricted::no_reading_of_all;
use crate::common::{KERNEL_FLAGS, KERNEL_NEEDS, Place, names, profile, start};

const RECORD: &str = "record kernel --workload mntns -o out";

fn record(more: &str) -> String {
    format!("{RECORD} --image bzImage --debug vmlinux {more}")
}

#[test]
fn debug_file_is_not_elf() {
    let place = kernel();
    place.write("vmlinux", "some text");
    place.refuses(
        &record(""),
        2,
        "relayout: cannot read the debug information of vmlinux: not an ELF file: it \
         starts with bytes 73 6f 6d 65; a vmlinux, program or object file with debug \
         information is needed",
    );
}

#[test]
fn debug_file_has_no_debug_information() {
    let place = kernel();
    place.compile(
        "vmlinux",
        "int x;",
        &["-g0", "-nostdlib", "-static", "-Wl,-e,0"],
    );
    place.refuses(
        &record(""),
        2,
        "relayout: cannot read the debug information of vmlinux: no debug information: \
         neither DWARF (.debug_info) nor BTF (.BTF); build with -g, or take the \
         unstripped file from the distribution's debug package",
    );
}

#[test]
fn debug_file_is_missing() {
    let place = kernel();
    fs::remove_file(place.path("vmlinux")).unwrap();
    place.refuses(
        &record(""),
        2,
        "relayout: cannot open vmlinux: No such file or directory (os error 2)",
    );
}

#[test]
fn debug_file_is_cut_off() {
    let place = kernel();
    let bytes = fs::read(place.path("vmlinux")).unwrap();
    place.write("vmlinux", &bytes[..60]);
    place.refuses(
        &record(""),
        2,
        "relayout: cannot read the debug information of vmlinux: truncated ELF file: the \
         header ends at byte 64, the file has 60; copy or build it again",
    );
}

#[test]
fn debug_file_is_of_no_kernel() {
    let place = kernel();
    place.compile("vmlinux", "int x;", KERNEL_FLAGS);
    place.refuses(
        &record(""),
        2,
        "relayout: vmlinux has no linux_banner: is it the vmlinux of a kernel with debug \
         information?",
    );
}

#[test]
fn image_and_debug_file_are_of_different_builds() {
    let place = kernel();
    place.image("6.1.0-other (a@b) #1 SMP (2024-01-01)");
    place.refuses(
        &record(""),
        2,
        "relayout: bzImage and vmlinux are of different builds:\n\
         \x20 image: 6.1.0-other (a@b) #1 SMP (2024-01-01)\n\
         \x20 debug: Linux version 6.1.0-test (a@b) (gcc) #1 SMP (2024-01-01)\n\
         take both from packages of one version",
    );
}

#[test]
fn image_is_not_a_boot_image() {
    let place = kernel();
    place.write("bzImage", "no kernel");
    place.refuses(
        &record(""),
        2,
        "relayout: bzImage is not a Linux boot image (x86 bzImage, arm64 Image): \
         the file is too short; give the vmlinuz of the kernel's package, or \
         arch/x86/boot/bzImage or arch/arm64/boot/Image of its build",
    );
    // Easily mistaken for it.
    fs::copy(place.path("vmlinux"), place.path("bzImage")).unwrap();
    place.refuses(
        &record(""),
        2,
        "relayout: bzImage is not a Linux boot image (x86 bzImage, arm64 Image): \
         no boot signature; give the vmlinuz of the kernel's package, or \
         arch/x86/boot/bzImage or arch/arm64/boot/Image of its build",
    );
}

/// Writes the head of an arm64 boot image.
fn write_arm64_image(place: &Place, version: &str) {
    let mut image = vec![0; 56];
    image.extend(b"ARM\x64");
    image.extend(format!("Linux version {version}\n\0").as_bytes());
    place.write("bzImage", image);
}

const ARM64_VERSION: &str = "6.12.1-test (a@b) (gcc) #1 SMP (2024-01-01)";

/// A place with an arm64 boot image and its debug file.
fn arm64_kernel() -> Place {
    let place = kernel();
    write_arm64_image(&place, ARM64_VERSION);
    let source = format!("const char linux_banner[] = \"Linux version {ARM64_VERSION}\\n\";\n");
    let compiled = Command::new("aarch64-linux-gnu-gcc")
        .args(["-g", "-nostdlib", "-static", "-Wl,-e,0", "-o"])
        .arg(place.path("vmlinux"))
        .arg(place.write("vmlinux.c", source))
        .status();
    assert!(compiled.is_ok_and(|status| status.success()));
    place
}

#[test]
fn image_and_debug_file_are_of_different_machines() {
    let place = kernel();
    write_arm64_image(&place, ARM64_VERSION);
    place.refuses(
        &record(""),
        2,
        "relayout: bzImage is a boot image for aarch64, and vmlinux is for x86_64; take both from \
         packages of one version",
    );
    let place = arm64_kernel();
    place.image("6.1.0-test (a@b) #1 SMP (2024-01-01)");
    place.refuses(
        &record(""),
        2,
        "relayout: bzImage is a boot image for x86_64, and vmlinux is for aarch64; take both from \
         packages of one version",
    );
}

#[test]
fn an_arm64_image_whose_compressed_part_is_damaged() {
    let place = arm64_kernel();
    place.write("bzImage", b"\x1f\x8b no gzip");
    place.refuses(
        &record(""),
        2,
        "relayout: bzImage is not a Linux boot image (x86 bzImage, arm64 Image): \
         its compressed part is damaged; give the vmlinuz of the kernel's package, or \
         arch/x86/boot/bzImage or arch/arm64/boot/Image of its build",
    );
}

#[test]
fn an_arm64_kernel_without_what_it_needs() {
    let place = arm64_kernel();
    place.refuses(
        &record(""),
        3,
        "relayout: qemu-system-aarch64 is missing (package qemu-system-arm, or scripts/setup.sh \
         --arm64)",
    );
    let qemu = fs::read(place.path("bin/qemu-system-x86_64")).unwrap();
    place.program("bin/qemu-system-aarch64", &qemu);
    place.refuses(
        &record(""),
        3,
        "relayout: the guest's program for aarch64 is missing (run scripts/setup.sh --arm64, which \
         compiles it)",
    );
}

#[test]
fn no_kernel_in_the_cache() {
    let place = Place::new();
    place.qemu();
    place.refuses(
        RECORD,
        3,
        "relayout: a kernel image is missing (give one with --image, or run \
         scripts/setup.sh to fetch Debian's)",
    );
}

#[test]
fn named_kernel_is_missing() {
    let place = kernel();
    place.refuses(
        &format!("{RECORD} --kernel 4.19"),
        3,
        "relayout: a kernel 4.19 is missing (run scripts/setup.sh --kernel 4.19 to fetch \
         Debian's, or give the folder of a kernel that was built)",
    );
    fs::create_dir(place.path("tree")).unwrap();
    place.refuses(
        &format!("{RECORD} --kernel tree"),
        3,
        "relayout: a boot image with its vmlinux in tree is missing (build the tree with \
         CONFIG_DEBUG_INFO, or give the files with --image and --debug)",
    );
}

#[test]
fn no_qemu() {
    let place = kernel();
    fs::remove_file(place.path("bin/qemu-system-x86_64")).unwrap();
    place.refuses(
        &record(""),
        3,
        "relayout: qemu-system-x86_64 is missing (package qemu-system-x86, or \
         scripts/setup.sh)",
    );
    place.refuses(
        &record("--qemu /nonexistent"),
        3,
        "relayout: /nonexistent is missing (package qemu-system-x86, or scripts/setup.sh)",
    );
}

#[test]
fn qemu_without_plugins() {
    let place = kernel();
    let refuse = "case $1 in --version) echo 'QEMU emulator version 8.0.0';;\n\
                  *) echo \"$0: -plugin: invalid option\" >&2; exit 1;; esac";
    place.script("bin/qemu-system-x86_64", refuse);
    place.refuses(
        &record(""),
        3,
        "relayout: [DIR]/bin/qemu-system-x86_64 cannot load the recording plugin: \
         [DIR]/bin/qemu-system-x86_64: -plugin: invalid option\n\
         a QEMU built with plugins is needed: Debian's qemu-system-x86 7.2 or 10.0 for kernels, \
         Debian 12's qemu-user 7.2 for programs (later ones are linked statically); \
         scripts/setup.sh unpacks both",
    );
    place.script("bin/qemu-system-x86_64", "echo hello");
    place.refuses(
        &record(""),
        3,
        "relayout: [DIR]/bin/qemu-system-x86_64 cannot load the recording plugin: it does \
          not say its version as QEMU does\n\
         a QEMU built with plugins is needed: Debian's qemu-system-x86 7.2 or 10.0 for kernels, \
         Debian 12's qemu-user 7.2 for programs (later ones are linked statically); \
         scripts/setup.sh unpacks both",
    );
}

#[test]
fn plugins_are_not_built() {
    let place = kernel();
    // Away from those that were built beside it.
    let bytes = fs::read(env!("CARGO_BIN_EXE_relayout")).unwrap();
    let program = place.program("bin/relayout", &bytes);
    fs::remove_file(place.path("plugins/librelayout_qemu_api4.so")).unwrap();
    let words = record("");
    let arguments: Vec<&str> = words.split_whitespace().collect();
    let ended = place.ended(&mut place.command(&program, &arguments));
    assert_eq!(
        ended.stderr,
        "relayout: the QEMU plugin librelayout_qemu_api4.so is missing ('relayout setup --libraries' \
         builds it, or say where it is with RELAYOUT_PLUGIN_DIR)\n"
    );
    assert_eq!(ended.code, Some(3));
}

#[test]
fn unknown_workload() {
    let place = Place::new();
    place.refuses(
        "record kernel --workload mntnss -o out",
        2,
        "relayout: there is no workload 'mntnss' (did you mean 'mntns'?); 'list' names \
         them",
    );
    place.refuses(
        "record kernel --workload swimming -o out",
        2,
        "relayout: there is no workload 'swimming'; 'list' names them",
    );
}

#[test]
fn output_cannot_be_written() {
    let place = kernel();
    place.write("file", "");
    place.refuses(
        &record("").replace("-o out", "-o file/out"),
        2,
        "relayout: cannot look at file/out: Not a directory (os error 20)",
    );
    place.refuses(
        &record("").replace("-o out", "-o none/out"),
        2,
        "relayout: cannot write to none: No such file or directory (os error 2)",
    );
    place.refuses(
        &record("").replace("-o out", "-o /proc/out"),
        2,
        "relayout: cannot write to /proc: No such file or directory (os error 2)",
    );
    place.write("mntns.relayout", "mine");
    place.refuses(
        &record("").replace("-o out", ""),
        2,
        "relayout: mntns.relayout exists and is not a relayout profile (it is not a folder); it is left alone",
    );
}

#[test]
fn output_exists() {
    let place = kernel();
    profile::write(&place, "out", &place.path("vmlinux"), "");
    place.refuses(
        &record(""),
        2,
        "relayout: out already exists; --force replaces it",
    );
}

#[test]
fn output_is_something_else() {
    let place = kernel();
    place.write("out", "my notes");
    for force in ["", "--force"] {
        place.refuses(
            &record(force),
            2,
            "relayout: out exists and is not a relayout profile (it is not a folder); it is \
             left alone",
        );
    }
    fs::remove_file(place.path("out")).unwrap();
    fs::create_dir(place.path("out")).unwrap();
    place.write("out/notes", "mine");
    place.refuses(
        &record("--force"),
        2,
        "relayout: out exists and is not a relayout profile (it has no meta.json); it is \
         left alone",
    );
    place.refuses(
        &record("--force").replace("-o out", "-o /"),
        2,
        "relayout: / does not name a folder",
    );
}

#[test]
fn the_kernel_lacks_what_the_guest_needs() {
    let place = kernel();
    let without = |variables: &str, why: &str| {
        place.vmlinux_with(variables);
        let message = format!("relayout: bzImage cannot be recorded: it was built {why}");
        place.refuses(&record("--memory 256M"), 2, &message);
    };
    without(
        "char univ8250_console, devtmpfs_init, cgroup_init;",
        "without CONFIG_BLK_DEV_INITRD, and the guest's files come in an initramfs",
    );
    without(
        "char initrd_start, devtmpfs_init, cgroup_init;",
        "without CONFIG_SERIAL_8250_CONSOLE, and the guest reports on its serial console",
    );
    without(
        "char initrd_start, univ8250_console, cgroup_init;",
        "without CONFIG_DEVTMPFS, and the guest's devices are in devtmpfs",
    );
    place.vmlinux();
    place.refuses(
        &record("--memory 256M --cpus 9"),
        2,
        "relayout: bzImage cannot be recorded: it was built for at most 8 CPUs (CONFIG_NR_CPUS), and \
         --cpus is 9",
    );
}

fn run_program(words: &str) -> String {
    record("").replace("--workload mntns", &format!("--memory 256M --run {words}"))
}

#[test]
fn program_to_run_cannot_run_there() {
    let place = kernel();
    place.refuses(
        &run_program("none"),
        2,
        "relayout: cannot record none: there is no such program in $PATH",
    );
    place.program("text", b"some text\n");
    place.refuses(
        &run_program("text"),
        2,
        "relayout: text cannot run in the guest: it is neither an ELF program nor a script: a \
         script's first line says what runs it, as #!/bin/sh does",
    );
    let object = fs::read(place.compile("object.o", "int x;", &["-c"])).unwrap();
    place.program("object", &object);
    place.refuses(
        &run_program("object"),
        2,
        "relayout: object cannot run in the guest: it is not a linked program",
    );
    place.compile("dynamic", "int main(void) { return 0; }", &[]);
    let mut arm = fs::read(place.path("dynamic")).unwrap();
    arm[18] = 183;
    place.program("arm", &arm);
    place.refuses(
        &run_program("arm"),
        2,
        "relayout: arm cannot run in the guest: it is not an x86-64 program",
    );
}

#[test]
fn program_to_run_lacks_a_library_or_an_interpreter() {
    let place = kernel();
    let folder = format!("-L{}", place.path("").display());
    place.compile("libgone.so", "int gone(void) { return 0; }", &["-shared"]);
    place.compile(
        "needs",
        "int gone(void); int main(void) { return gone(); }",
        &[&folder, "-lgone"],
    );
    fs::remove_file(place.path("libgone.so")).unwrap();
    place.refuses(
        &run_program("needs"),
        2,
        "relayout: needs cannot run in the guest: it needs libgone.so, which is in no folder in \
         which the loader looks: $LD_LIBRARY_PATH names further ones",
    );
    place.program("script", b"#!/usr/bin/env no-such-interpreter\n");
    place.refuses(
        &run_program("script"),
        2,
        "relayout: script cannot run in the guest: cannot record no-such-interpreter: there is \
         no such program in $PATH",
    );
}

#[test]
fn files_for_the_guest_are_missing_or_too_large() {
    let place = kernel();
    place.compile("plain", "int main(void) { return 0; }", &["-static"]);
    place.refuses(
        &run_program("plain --file none"),
        2,
        "relayout: cannot look at none: No such file or directory (os error 2)",
    );
    fs::create_dir(place.path("root")).unwrap();
    let large = fs::File::create(place.path("root/large")).unwrap();
    large.set_len(200 << 20).unwrap();
    place.refuses(
        &run_program("plain --file root/large"),
        2,
        "relayout: with root/large, the guest has at least 200 MiB of files, which do not fit into its \
         256 MiB of memory (they are there twice at first); --memory gives it more, and a folder (--file \
         FOLDER, --root) comes on a disk if it is larger",
    );
    place.refuses(
        &run_program("plain --root none"),
        2,
        "relayout: cannot read none: No such file or directory (os error 2)",
    );
}

/// A place with a kernel that has these variables too, a program, and a root that is larger than the
/// guest's memory.
fn place_with_large_root(variables: &str) -> Place {
    let place = kernel();
    place.vmlinux_with(&format!("{KERNEL_NEEDS}\n{variables}"));
    place.compile("plain", "int main(void) { return 0; }", &["-static"]);
    fs::create_dir(place.path("root")).unwrap();
    let large = fs::File::create(place.path("root/large")).unwrap();
    large.set_len(200 << 20).unwrap();
    place
}

#[test]
fn a_large_root_needs_a_kernel_that_reads_disks() {
    let refuses = |variables: &str, missing: &str| {
        place_with_large_root(variables).refuses(
            &run_program("plain --root root"),
            2,
            &format!(
                "relayout: root has 200 MiB of files, which do not fit into the guest's 256 MiB of memory (they are \
                 there twice at first). They cannot come on a disk, because the kernel has {missing}. --memory \
                 gives the guest more memory; where the kernel has drivers as modules, scripts/setup.sh --module \
                 ext4,nvme fetches them"
            ),
        );
    };
    refuses("char nvme_probe;", "no ext4 (CONFIG_EXT4_FS)");
    refuses(
        "char ext4_fill_super, virtblk_probe;",
        "no driver of a disk (CONFIG_BLK_DEV_NVME, or CONFIG_VIRTIO_PCI and CONFIG_VIRTIO_BLK)",
    );
}

#[test]
fn a_large_root_has_an_unreadable_file() {
    let place = place_with_large_root("char ext4_fill_super, nvme_probe;");
    let secret = place.write("root/secret", "text");
    fs::set_permissions(&secret, fs::Permissions::from_mode(0o000)).unwrap();
    let words = run_program("plain --root root");
    let words: Vec<&str> = words.split_whitespace().collect();
    let ended = place.ended(no_reading_of_all(&mut place.relayout(&words)));
    let message = "relayout: cannot read root/secret: Permission denied (os error 13)\n";
    assert_eq!((ended.code, &*ended.stderr), (Some(2), message));
}

#[test]
fn a_large_root_has_the_folder_for_temporary_files() {
    let place = place_with_large_root("char ext4_fill_super, nvme_probe;");
    fs::create_dir(place.path("root/tmp")).unwrap();
    let words = run_program("plain --root root");
    let words: Vec<&str> = words.split_whitespace().collect();
    let mut command = place.relayout(&words);
    let ended = place.ended(command.env("TMPDIR", place.path("root/tmp")));
    assert_eq!(ended.code, Some(2), "{ended:?}");
    let message = "relayout: cannot make a disk image of root: the folder for temporary files is in it, \
                   [DIR]/root/tmp; let TMPDIR name a folder elsewhere\n";
    assert!(ended.stderr.ends_with(message), "{ended:?}");
    assert_eq!(names(&place.path("root/tmp")), Vec::<String>::new());
}

#[test]
fn the_maker_of_disk_images_fails() {
    let place = place_with_large_root("char ext4_fill_super, nvme_probe;");
    place.script("bin/mke2fs", "echo 'mke2fs: out of luck' >&2; exit 1");
    let ended = place.run_words(&run_program("plain --root root"));
    assert_eq!(ended.code, Some(2), "{ended:?}");
    let message = "relayout: cannot make a disk image of root: mke2fs: out of luck\n";
    assert!(ended.stderr.ends_with(message), "{ended:?}");
    assert_eq!(names(&place.path("tmp")), Vec::<String>::new());
}

#[test]
fn ctrl_c_while_a_disk_image_is_made_leaves_nothing() {
    let place = place_with_large_root("char ext4_fill_super, nvme_probe;");
    place.script("bin/mke2fs", "echo > started; exec /bin/sleep 100");
    let words = run_program("plain --root root");
    let words: Vec<&str> = words.split_whitespace().collect();
    let child = start(place.relayout(&words).stderr(Stdio::null()));
    while !place.path("started").exists() {
        std::thread::sleep(Duration::from_millis(10));
    }
    // SAFETY: a process that this test started.
    unsafe { libc::kill(child.id() as i32, libc::SIGINT) };
    let status = child.wait_with_output().unwrap().status;
    assert_eq!(status.code(), Some(130));
    assert_eq!(names(&place.path("tmp")), Vec::<String>::new());
    assert!(!place.path("out").exists());
}

#[test]
fn windows_of_programs_that_time_themselves() {
    let place = kernel();
    let source = "int main(void) {\n\
                  __asm__ volatile(\".byte 0x0f, 0x1f, 0x84, 0x00, 0x01, 0x00, 0x4c, 0x52\");\n\
                  return 0; }\n";
    place.compile("marked", source, &["-static"]);
    place.refuses(
        &run_program("marked --for 1s"),
        2,
        "relayout: marked cannot run in the guest: it has markers, which open and close its window: \
         --after, --for and the like cannot do so too",
    );
    let ended = place.run_words(&record("--for 1s"));
    assert_eq!(ended.code, Some(2), "{ended:?}");
    let conflict = "'--workload <NAME>' cannot be used with '--for <TIME>'";
    assert!(ended.stderr.contains(conflict), "{ended:?}");
}

#[test]
fn sizes_and_ranges() {
    let place = Place::new();
    for bad in [
        "--memory 1M",
        "--memory 2T",
        "--cpus 0",
        "--cpus 1025",
        "--cpus many",
        "--threads 0",
        "--iterations 0",
        "--repeat 0",
        "--repeat 65",
        "--time-limit 0",
        "--bursts x",
        "--yield x",
    ] {
        refuses_value(&place, RECORD, bad);
    }
    place.refuses(
        "record kernel --workload mntns --run x -o out",
        2,
        "error: the argument '--workload <NAME>' cannot be used with '--run <PROGRAM>'\n\n\
         Usage: relayout record kernel --workload <NAME> --output <OUT> [-- \
         <QEMU-ARGS>...]\n\n\
         For more information, try '--help'.",
    );
}
