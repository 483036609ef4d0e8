//! A full disk is said to be one, and takes nothing along.

use std::ffi::CString;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use crate::stand::Stand;

/// A small file system in memory.
struct Disk(PathBuf);

impl Disk {
    fn mount(at: PathBuf, size: &str) -> Self {
        let (path, kind) = (c_path(&at), c"tmpfs");
        let options = CString::new(format!("size={size}")).unwrap();
        // SAFETY: all are NUL-terminated and outlive the call.
        let mounted = unsafe {
            libc::mount(
                kind.as_ptr(),
                path.as_ptr(),
                kind.as_ptr(),
                0,
                options.as_ptr().cast(),
            )
        };
        let error = std::io::Error::last_os_error();
        assert_eq!(mounted, 0, "cannot mount {}: {error}", at.display());
        Self(at)
    }

    /// Fills it to the last byte.
    fn fill(&self) {
        let mut bytes = 1 << 20;
        let path = self.0.join("filling");
        let mut filling = fs::File::create(path).unwrap();
        while bytes > 0 {
            match std::io::Write::write(&mut filling, &vec![0; bytes]) {
                Ok(written) if written > 0 => {}
                _ => bytes /= 2,
            }
        }
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        // SAFETY: as above.
        unsafe { libc::umount2(c_path(&self.0).as_ptr(), libc::MNT_DETACH) };
    }
}

fn c_path(path: &Path) -> CString {
    CString::new(path.as_os_str().as_bytes()).unwrap()
}

#[test]
#[ignore = "needs the right to mount a file system"]
fn no_room_to_begin_with() {
    let stand = Stand::new();
    let disk = Disk::mount(stand.place.path("tmp"), "64k");
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
    let _disk = Disk::mount(stand.place.path("tmp"), "6m");
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
    let _disk = Disk::mount(stand.place.path("disk"), "64k");
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
