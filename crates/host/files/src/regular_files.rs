//! Regular files, where nothing else will do: a pipe may have no writer, and a device no end.

use std::fs::{self, File, FileType, Metadata, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::Path;

use rustix::fs::OFlags;

/// Folders with the files that this process has open. A pipe among them has a writer: the user said
/// `<(COMMAND)`, or `COMMAND | relayout ... /dev/stdin`.
const OPEN_FILES: [&str; 3] = ["/dev/stdin", "/dev/fd", "/proc/self/fd"];

/// Something else than a regular file.
#[derive(Debug, thiserror::Error)]
#[error("it is {kind}, and a regular file is needed")]
struct NotRegular {
    kind: &'static str,
}

/// Opens a regular file to read it, or a pipe that this process has open already. Never waits.
///
/// # Errors
/// The file cannot be opened, or is a folder, a FIFO, a socket or a device.
pub fn open_regular(path: &Path) -> io::Result<File> {
    let is_open = OPEN_FILES.iter().any(|folder| path.starts_with(folder));
    let accept = |kind: FileType| match kind {
        kind if kind.is_file() || is_open && kind.is_fifo() => Ok(()),
        kind if kind.is_dir() => Err(io::ErrorKind::IsADirectory.into()),
        kind => {
            let kind = describe_kind(kind);
            Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                NotRegular { kind },
            ))
        }
    };
    // Before it is opened, because that alone makes some devices do something.
    let found = fs::metadata(path)?.file_type();
    accept(found)?;
    let mut options = OpenOptions::new();
    options.read(true);
    if !found.is_fifo() {
        options.custom_flags(OFlags::NONBLOCK.bits() as i32);
    }
    let file = options.open(path)?;
    accept(file.metadata()?.file_type())?;
    Ok(file)
}

/// Opens a file in a folder of outputs to write it, and creates it if necessary. A link is not
/// followed: whoever put it into the folder would choose the file that is written.
///
/// # Errors
/// The file cannot be opened, or is a link or no regular file.
pub fn open_own_file(path: &Path) -> io::Result<File> {
    require_own(path)?;
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(false);
    let file = options.custom_flags(flags.bits() as i32).open(path)?;
    match file.metadata()?.is_file() {
        true => Ok(file),
        false => require_own(path).and(Err(io::ErrorKind::InvalidInput.into())),
    }
}

/// Fails if `path`, to which a file of a folder of outputs is to be written, is a link or no
/// regular file.
///
/// # Errors
/// It is one of these.
pub(crate) fn require_own(path: &Path) -> io::Result<()> {
    require_file(fs::symlink_metadata(path))
}

/// Fails for all but regular files and what is not there.
fn require_file(found: io::Result<Metadata>) -> io::Result<()> {
    match found.map(|found| found.file_type()) {
        Ok(kind) if kind.is_dir() => Err(io::ErrorKind::IsADirectory.into()),
        Ok(kind) if !kind.is_file() => {
            let kind = describe_kind(kind);
            Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                NotRegular { kind },
            ))
        }
        _ => Ok(()),
    }
}

fn describe_kind(kind: FileType) -> &'static str {
    if kind.is_symlink() {
        "a symbolic link"
    } else if kind.is_fifo() {
        "a FIFO"
    } else if kind.is_socket() {
        "a socket"
    } else if kind.is_char_device() || kind.is_block_device() {
        "a device"
    } else {
        "of an unknown kind"
    }
}

/// Reads a regular file.
///
/// # Errors
/// Those of [`open_regular`], and failures to read.
pub fn read_regular(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open_regular(path)?.read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Reads a regular file that is text.
///
/// # Errors
/// Those of [`read_regular`], and text that is not UTF-8.
pub fn read_regular_text(path: &Path) -> io::Result<String> {
    let mut text = String::new();
    open_regular(path)?.read_to_string(&mut text)?;
    Ok(text)
}

/// Fails if `path`, to which a file is to be written, exists and is none: a device or pipe would be
/// replaced by the file.
///
/// # Errors
/// It exists and is no regular file.
pub(crate) fn require_replaceable(path: &Path) -> io::Result<()> {
    require_file(fs::metadata(path))
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixListener;

    use super::*;

    #[test]
    fn only_regular_files_are_opened() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        fs::write(path("file"), "text").unwrap();
        let fifo = (rustix::fs::FileType::Fifo, 0o600.into());
        rustix::fs::mknodat(rustix::fs::CWD, path("fifo"), fifo.0, fifo.1, 0).unwrap();
        let _socket = UnixListener::bind(path("socket")).unwrap();
        std::os::unix::fs::symlink("fifo", path("link")).unwrap();
        assert_eq!(read_regular_text(&path("file")).unwrap(), "text");
        for (name, expect) in [
            ("fifo", "it is a FIFO, and a regular file is needed"),
            ("link", "it is a FIFO, and a regular file is needed"),
            ("socket", "it is a socket, and a regular file is needed"),
            ("/dev/null", "it is a device, and a regular file is needed"),
            (".", "is a directory"),
        ] {
            let error = open_regular(&path(name)).unwrap_err().to_string();
            assert_eq!(error, expect, "{name}");
            let error = require_replaceable(&path(name)).unwrap_err().to_string();
            assert_eq!(error, expect, "{name}");
        }
    }

    #[test]
    fn own_files_are_no_links() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        fs::write(path("other"), "text").unwrap();
        std::os::unix::fs::symlink("other", path("link")).unwrap();
        std::os::unix::fs::symlink("nowhere", path("dangling")).unwrap();
        for name in ["link", "dangling"] {
            let error = open_own_file(&path(name)).unwrap_err().to_string();
            assert_eq!(error, "it is a symbolic link, and a regular file is needed");
        }
        assert!(!path("nowhere").exists());
        open_own_file(&path("new")).unwrap();
        assert_eq!(fs::metadata(path("new")).unwrap().len(), 0);
        // What is there is not cut.
        open_own_file(&path("other")).unwrap();
        assert_eq!(fs::read(path("other")).unwrap(), b"text");
    }

    #[test]
    fn an_open_pipe_is_read() {
        use std::io::Write;
        use std::os::fd::AsRawFd;
        let (reader, mut writer) = io::pipe().unwrap();
        writer.write_all(b"text").unwrap();
        drop(writer);
        let path = format!("/proc/self/fd/{}", reader.as_raw_fd());
        assert_eq!(read_regular(path.as_ref()).unwrap(), b"text");
    }
}
