//! The guest's first file system: a cpio archive in "newc" form, as described in the kernel's
//! "initramfs buffer format".

use std::fs::File;
use std::io::{self, BufWriter, Read as _, Write as _};
use std::path::Path;

use relayout_files::{cannot, open_regular};

use crate::Error;
use crate::guest_program::{GuestEntry, GuestFiles};

const FOLDER: u32 = 0o040_755;
const CHARACTER_DEVICE: u32 = 0o020_600;
const FILE: u32 = 0o100_000;
const LINK: u32 = 0o120_777;
/// Number of the console's device.
const CONSOLE: (u32, u32) = (5, 1);

/// Writes the archive to the file `to`: `/init` with the content `init`, `/dev/console`, and `files`.
///
/// # Errors
/// A file cannot be read, or the archive cannot be written.
pub fn write_archive(to: &Path, init: &[u8], files: &GuestFiles) -> Result<(), Error> {
    let file = File::create(to).map_err(cannot("write", to))?;
    let mut archive = CpioArchive {
        to: BufWriter::new(file),
        written: 0,
        inode: 0,
    };
    let failed = cannot("write", to);
    for (path, entry) in files.entries() {
        archive
            .add_entry(path, entry)
            .map_err(|error| match error {
                EntryError::Host(error) => error,
                EntryError::Archive(error) => cannot("write", to)(error).into(),
            })?;
    }
    let finish = |archive: &mut CpioArchive| {
        archive.add_content("dev", FOLDER, &[], None)?;
        archive.add_content("dev/console", CHARACTER_DEVICE, &[], Some(CONSOLE))?;
        archive.add_content("init", FILE | 0o755, init, None)?;
        archive.add_content("TRAILER!!!", 0, &[], None)?;
        archive.to.flush()
    };
    finish(&mut archive).map_err(failed)?;
    Ok(())
}

/// Failure of an entry.
enum EntryError {
    /// A file of the host's cannot be read.
    Host(Error),
    /// The archive cannot be written.
    Archive(io::Error),
}

impl From<io::Error> for EntryError {
    fn from(error: io::Error) -> Self {
        Self::Archive(error)
    }
}

struct CpioArchive {
    to: BufWriter<File>,
    written: u64,
    inode: u32,
}

impl CpioArchive {
    fn add_entry(&mut self, path: &Path, entry: &GuestEntry) -> Result<(), EntryError> {
        let name = path.as_os_str().as_encoded_bytes();
        match entry {
            GuestEntry::Folder => self.add_content(name, FOLDER, &[], None)?,
            GuestEntry::Bytes { bytes, permissions } => {
                self.add_content(name, FILE | permissions, bytes, None)?;
            }
            GuestEntry::Link(target) => {
                let target = target.as_os_str().as_encoded_bytes();
                self.add_content(name, LINK, target, None)?;
            }
            GuestEntry::File {
                host,
                bytes,
                permissions,
            } => {
                let unreadable = |error| EntryError::Host(cannot("read", host)(error).into());
                let mut file = open_regular(host).map_err(unreadable)?;
                let size = u32::try_from(*bytes).unwrap_or(u32::MAX);
                self.add_header(name, FILE | permissions, size, None)?;
                let copied = io::copy(&mut (&mut file).take(*bytes), &mut self.to)?;
                if copied < *bytes {
                    let error = io::Error::other("it became shorter meanwhile");
                    return Err(unreadable(error));
                }
                self.written += copied;
                self.align()?;
            }
        }
        Ok(())
    }

    fn add_content(
        &mut self,
        name: impl AsRef<[u8]>,
        mode: u32,
        data: &[u8],
        device: Option<(u32, u32)>,
    ) -> io::Result<()> {
        self.add_header(name.as_ref(), mode, data.len() as u32, device)?;
        self.put(data)?;
        self.align()
    }

    fn add_header(
        &mut self,
        name: &[u8],
        mode: u32,
        size: u32,
        device: Option<(u32, u32)>,
    ) -> io::Result<()> {
        self.inode += 1;
        let (major, minor) = device.unwrap_or((0, 0));
        let name_size = name.len() as u32 + 1;
        let fields = [
            self.inode, mode, 0, 0, 1, 0, size, 0, 0, major, minor, name_size, 0,
        ];
        self.put(b"070701")?;
        for field in fields {
            self.put(format!("{field:08X}").as_bytes())?;
        }
        self.put(name)?;
        self.put(&[0])?;
        self.align()
    }

    fn put(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.written += bytes.len() as u64;
        self.to.write_all(bytes)
    }

    fn align(&mut self) -> io::Result<()> {
        let padding = self.written.next_multiple_of(4) - self.written;
        self.put(&[0; 3][..padding as usize])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Names and contents of an archive's entries, up to the trailer.
    fn read_archive(bytes: &[u8]) -> Vec<(String, Vec<u8>)> {
        let mut entries = Vec::new();
        let mut at = 0;
        loop {
            let field = |n: usize| {
                let from = at + 6 + n * 8;
                usize::from_str_radix(std::str::from_utf8(&bytes[from..from + 8]).unwrap(), 16)
                    .unwrap()
            };
            assert_eq!(&bytes[at..at + 6], b"070701");
            let name = &bytes[at + 110..at + 110 + field(11) - 1];
            let data = (at + 110 + field(11)).next_multiple_of(4);
            if name == b"TRAILER!!!" {
                assert_eq!(data, bytes.len());
                return entries;
            }
            entries.push((
                String::from_utf8_lossy(name).into_owned(),
                bytes[data..data + field(6)].to_vec(),
            ));
            at = (data + field(6)).next_multiple_of(4);
        }
    }

    #[test]
    fn archive_is_read_back() {
        let folder = tempfile::tempdir().unwrap();
        let host = folder.path().join("host");
        std::fs::write(&host, "12345").unwrap();
        let mut files = GuestFiles::new(1 << 20);
        files.add_file(&host, Path::new("/opt/file")).unwrap();
        files.add_bytes(Path::new("/run/order"), b"a\0b c\0".to_vec(), 0o600);
        let to = folder.path().join("initrd");
        write_archive(&to, b"#!x", &files).unwrap();
        let entries = read_archive(&std::fs::read(&to).unwrap());
        let find = |name: &str| entries.iter().find(|e| e.0 == name).map(|e| &e.1[..]);
        assert_eq!(find("opt/file"), Some(&b"12345"[..]));
        assert_eq!(find("run/order"), Some(&b"a\0b c\0"[..]));
        assert_eq!(find("init"), Some(&b"#!x"[..]));
        assert_eq!(entries.len(), 7, "with opt, run, dev and dev/console");
    }

    #[test]
    fn a_file_that_becomes_shorter_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let host = folder.path().join("host");
        std::fs::write(&host, "12345").unwrap();
        let mut files = GuestFiles::new(1 << 20);
        files.add_file(&host, Path::new("/file")).unwrap();
        std::fs::write(&host, "123").unwrap();
        let error = write_archive(&folder.path().join("initrd"), b"", &files).unwrap_err();
        assert!(format!("{error:?}").contains("shorter"), "{error:?}");
    }
}
