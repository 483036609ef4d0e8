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
