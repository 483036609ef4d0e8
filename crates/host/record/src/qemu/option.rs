//! Paths in QEMU's options, which are lists of `key=value` separated by commas.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;

/// Returns `text` followed by the path as a value: QEMU reads two commas as one of the value.
pub(crate) fn path_option(text: impl AsRef<OsStr>, path: &Path) -> OsString {
    let mut bytes = text.as_ref().as_bytes().to_vec();
    for &byte in path.as_os_str().as_bytes() {
        bytes.push(byte);
        if byte == b',' {
            bytes.push(byte);
        }
    }
    OsString::from_vec(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commas_are_doubled_and_bytes_are_kept() {
        let path = Path::new(OsStr::from_bytes(b"/a,b,,c=d/\xff"));
        let expect = OsStr::from_bytes(b"dir=/a,,b,,,,c=d/\xff");
        assert_eq!(path_option("dir=", path), expect);
    }
}
