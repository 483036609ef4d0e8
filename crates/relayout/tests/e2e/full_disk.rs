//! A full disk is said to be one, and takes nothing along.

use std::fs;

use crate::common::disk::SmallDisk;
use crate::stand::Stand;

#[test]
#[ignore = "needs the right to mount a file system"]
fn no_room_to_begin_with() {
    let stand = Stand::new();
    let disk = SmallDisk::mount(stand.place.path("tmp"), "64k");
    for _ in 0..2 {
        let ended = stand.run("record kernel -o out --workload mntns");
        assert_eq!((ended.code, &*ended.stdout), (Some(3), ""), "{ended:?}");
        assert!(ended.stderr.contains("[DIR]/tmp"), "{ended:?}");
        assert!(
            ended.stderr.contains("No space left on device"),
            "{ended:?}"
        );
        assert!(!stand.place.path("out").exists());
        disk.fill();
    }
}

#[test]
#[ignore = "needs the right to mount a file system"]
fn no_room_for_the_recording() {
    let stand = Stand::new();
    let _disk = SmallDisk::mount(stand.place.path("tmp"), "6m");
    let ended = stand.run("record kernel -o out --workload mntns");
    assert_eq!(ended.code, Some(3), "{ended:?}");
    assert!(
        ended
            .stderr
            .contains("cannot write the recording to [DIR]/tmp"),
        "{ended:?}"
    );
    assert!(
        ended.stderr.contains("No space left on device"),
        "{ended:?}"
    );
    stand.check_clean();
    assert_eq!(stand.report()["runs"][0]["complete"], false);
}

#[test]
#[ignore = "needs the right to mount a file system"]
fn no_room_for_the_profile() {
    let stand = Stand::new();
    fs::create_dir(stand.place.path("disk")).unwrap();
    let _disk = SmallDisk::mount(stand.place.path("disk"), "64k");
    let ended = stand.run("record kernel -o disk/out --workload mntns --iterations 20");
    assert_eq!((ended.code, &*ended.stdout), (Some(3), ""), "{ended:?}");
    assert!(ended.stderr.contains("cannot write disk/out/"), "{ended:?}");
    assert!(
        ended.stderr.contains("No space left on device"),
        "{ended:?}"
    );
    stand.check_clean();
    assert_eq!(
        crate::common::names(&stand.place.path("disk")),
        Vec::<String>::new()
    );
}

#[test]
#[ignore = "needs the right to mount a file system"]
fn no_room_for_a_disk_image() {
    let stand = Stand::new();
    stand
        .place
        .compile("plain", "int main(void) { return 0; }", &["-static"]);
    fs::create_dir(stand.place.path("root")).unwrap();
    let large = fs::File::create(stand.place.path("root/large")).unwrap();
    large.set_len(300 << 20).unwrap();
    let _disk = SmallDisk::mount(stand.place.path("tmp"), "6m");
    let ended = stand.run("record kernel -o out --run plain --root root --memory 512M");
    assert_eq!(ended.code, Some(3), "{ended:?}");
    let message = " are free in [DIR]/tmp; TMPDIR names another folder\n";
    assert!(ended.stderr.ends_with(message), "{ended:?}");
    assert!(
        ended.stderr.contains("the disk image of root needs "),
        "{ended:?}"
    );
    stand.check_clean();
}
