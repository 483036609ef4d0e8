//! Small file systems.

use std::ffi::CString;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// A small file system in memory.
pub struct SmallDisk(PathBuf);

impl SmallDisk {
    pub fn mount(at: PathBuf, size: &str) -> Self {
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
    pub fn fill(&self) {
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

impl Drop for SmallDisk {
    fn drop(&mut self) {
        // SAFETY: as above.
        unsafe { libc::umount2(c_path(&self.0).as_ptr(), libc::MNT_DETACH) };
    }
}

fn c_path(path: &Path) -> CString {
    CString::new(path.as_os_str().as_bytes()).unwrap()
}
