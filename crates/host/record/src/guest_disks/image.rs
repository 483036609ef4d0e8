//! Disk images: a folder as an ext4 file system, made by mke2fs.

use std::fs::{self, File};
use std::io;
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use relayout_files::{
    InterruptFlag, cannot, die_with_parent, find_system_program, free_bytes, last_lines,
};
use relayout_messages::{ProblemReason, RecordingProgress};

use crate::Error;
use crate::child::OwnedChild;
use crate::guest_program::{DiskFolder, FolderSize, MOUNT_POINTS};
use crate::workspace::{RecordingWorkspace, create_private_file};

/// The program that makes file systems.
pub const MKE2FS: &str = "mke2fs";
const PURPOSE: &str = "make a disk image of a folder that does not fit into the guest's memory";
/// Pages of all guests, so that any of them can mount it.
const BLOCK_BYTES: u64 = 4096;
const INODE_BYTES: u64 = 256;
const JOURNAL_MIB: u64 = 64;
/// Room for files that the guest creates.
const ROOM_BYTES: u64 = 1 << 30;
const ROOM_INODES: u64 = 1 << 16;
/// Part of a file system that its own tables take, beside inodes and journal.
const TABLES_SHARE: f64 = 0.02;
const POLL_INTERVAL: Duration = Duration::from_millis(20);
/// Bytes of the program's messages that are kept.
const MESSAGE_BYTES_MAX: u64 = 2000;
const STAT_BLOCK_BYTES: u64 = 512;

/// A disk image: a file without a name, which is gone when nobody has it open any more.
pub struct DiskImage {
    file: File,
}

impl DiskImage {
    /// Makes the image of a folder, with this label, in the workspace's file system.
    ///
    /// # Errors
    /// mke2fs is missing or fails, the disk has too little room, or the user stopped it.
    pub fn make(
        folder: &DiskFolder,
        label: &str,
        workspace: &RecordingWorkspace,
        progress: &dyn RecordingProgress,
        interrupt: InterruptFlag,
    ) -> Result<Self, Error> {
        let size = ImageSize::for_content(&folder.size);
        require_imageable(folder, workspace.dir())?;
        require_room(folder, size, workspace.dir(), free_bytes(workspace.dir()))?;
        let image = Self::create(size.bytes, workspace)?;
        let program = find_system_program(MKE2FS);
        let mut maker = ImageMaker::start(program, &image, folder, label, size, workspace)?;
        loop {
            if let Some(status) = maker.child.exit_status() {
                return match status.success() {
                    true => Ok(image),
                    false => Err(refuse(folder, maker.describe_failure())),
                };
            }
            if interrupt.is_set() {
                return Err(Error::Interrupted);
            }
            progress.disk_image(image.stored_bytes(), size.stored_bytes);
            std::thread::sleep(POLL_INTERVAL);
        }
    }

    /// Number of the open file.
    pub fn number(&self) -> RawFd {
        self.file.as_raw_fd()
    }

    fn create(bytes: u64, workspace: &RecordingWorkspace) -> Result<Self, Error> {
        let path = workspace.file_path("disk");
        let create = || -> io::Result<File> {
            let file = create_private_file(&path)?;
            fs::remove_file(&path)?;
            file.set_len(bytes)?;
            Ok(file)
        };
        let file = create().map_err(cannot("make a disk image:", &path))?;
        Ok(Self { file })
    }

    fn stored_bytes(&self) -> u64 {
        { self.file.metadata() }.map_or(0, |file| file.blocks() * STAT_BLOCK_BYTES)
    }
}

/// Size of an image.
#[derive(Clone, Copy, Debug)]
struct ImageSize {
    /// Size of the disk.
    bytes: u64,
    /// Space that the image takes at first, about.
    stored_bytes: u64,
    inodes: u64,
}

impl ImageSize {
    fn for_content(content: &FolderSize) -> Self {
        let inodes = content.entries + content.entries / 4 + ROOM_INODES;
        // A folder or a file's last part takes a block.
        let own_bytes = inodes * INODE_BYTES + content.entries * BLOCK_BYTES + (JOURNAL_MIB << 20);
        let bytes = content.file_bytes.saturating_add(own_bytes + ROOM_BYTES);
        let bytes = bytes.saturating_add((bytes as f64 * TABLES_SHARE) as u64);
        Self {
            bytes: bytes.div_ceil(BLOCK_BYTES).saturating_mul(BLOCK_BYTES),
            stored_bytes: content.stored_bytes.saturating_add(own_bytes),
            inodes,
        }
    }
}

/// A mke2fs that runs.
struct ImageMaker<'w> {
    child: OwnedChild,
    workspace: &'w RecordingWorkspace,
}

impl<'w> ImageMaker<'w> {
    fn start(
        program: Option<PathBuf>,
        image: &DiskImage,
        folder: &DiskFolder,
        label: &str,
        size: ImageSize,
        workspace: &'w RecordingWorkspace,
    ) -> Result<Self, Error> {
        let program = program.ok_or(relayout_files::Error::NoProgram {
            program: MKE2FS,
            purpose: PURPOSE,
        })?;
        let messages = workspace.file_path(MKE2FS);
        let log = File::create(&messages).map_err(cannot("create", &messages))?;
        let file = image.number();
        let mut command = Command::new(&program);
        command
            .args(["-q", "-F", "-t", "ext4", "-m", "0"])
            .args(["-b", &BLOCK_BYTES.to_string()])
            .args(["-I", &INODE_BYTES.to_string()])
            .args(["-N", &size.inodes.to_string()])
            .args(["-J", &format!("size={JOURNAL_MIB}")])
            // The guest has no work left that the recording would see.
            .args(["-E", "lazy_itable_init=0,lazy_journal_init=0"])
            .args(["-L", label, "-d"])
            .arg(&folder.host)
            .arg(format!("/proc/self/fd/{file}"))
            .env("LC_ALL", "C")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log);
        // A terminal's Ctrl-C is for relayout.
        command.process_group(0);
        let parent = std::process::id();
        // SAFETY: only async-signal-safe calls between fork and exec.
        unsafe {
            command.pre_exec(move || {
                libc::fcntl(file, libc::F_SETFD, 0);
                die_with_parent(parent)
            });
        }
        let child = command.spawn().map_err(cannot("run", &program))?;
        Ok(Self {
            child: OwnedChild(child),
            workspace,
        })
    }

    fn describe_failure(&self) -> String {
        let lines = last_lines(&self.workspace.file_path(MKE2FS), MESSAGE_BYTES_MAX);
        let said = { lines.iter() }.filter(|line| !line.trim().is_empty());
        let said: Vec<&str> = said.map(|line| line.trim()).collect();
        match said.is_empty() {
            true => format!("{MKE2FS} failed and does not say why"),
            false => said.join("; "),
        }
    }
}

fn refuse(folder: &DiskFolder, why: impl Into<ProblemReason>) -> Error {
    Error::DiskImage {
        folder: folder.host.clone(),
        why: why.into(),
    }
}

/// Fails if the folder has something that must not be in an image: the image, or file systems of
/// the running kernel.
fn require_imageable(folder: &DiskFolder, workspace: &Path) -> Result<(), Error> {
    let host = &folder.host;
    let top = fs::metadata(host).map_err(cannot("look at", host))?;
    let real = fs::canonicalize(host).map_err(cannot("find", host))?;
    let place = fs::canonicalize(workspace).map_err(cannot("find", workspace))?;
    if place.starts_with(&real) {
        let why = ProblemReason::new(format!(
            "the folder for temporary files is in it, {}",
            workspace.parent().unwrap_or(workspace).display()
        ));
        let remedy = "let TMPDIR name a folder elsewhere";
        return Err(refuse(folder, why.with_remedy(remedy)));
    }
    if folder.guest != Path::new("/") {
        return Ok(());
    }
    for name in MOUNT_POINTS {
        let path = host.join(name);
        let is_mounted = fs::symlink_metadata(&path)
            .is_ok_and(|found| found.is_dir() && found.dev() != top.dev());
        if is_mounted {
            let why = ProblemReason::new(format!("{} is mounted", path.display()));
            return Err(refuse(folder, why.with_remedy("unmount it first")));
        }
    }
    Ok(())
}

/// Fails if less than the image needs is free in the file system of `place`.
fn require_room(
    folder: &DiskFolder,
    size: ImageSize,
    place: &Path,
    free_bytes: Option<u64>,
) -> Result<(), Error> {
    match free_bytes {
        Some(free_bytes) if free_bytes < size.stored_bytes => Err(Error::DiskImageRoom {
            folder: folder.host.clone(),
            needed_mib: size.stored_bytes.div_ceil(1 << 20),
            place: place.parent().unwrap_or(place).to_owned(),
            free_mib: free_bytes >> 20,
        }),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::FileExt;

    use super::*;
    use crate::guest_program::GuestFiles;

    /// Progress that nobody sees.
    struct Unseen;

    impl RecordingProgress for Unseen {
        fn step(&self, _: &str) {}
        fn window(&self, _: u64, _: u64, _: u64) {}
        fn program(&self, _: u64, _: u64, _: u64) {}
        fn warn(&self, _: &str) {}
    }

    fn sample_folder(bytes: usize) -> tempfile::TempDir {
        let folder = tempfile::tempdir().expect("a folder");
        fs::write(folder.path().join("file"), vec![1; bytes]).expect("written");
        folder
    }

    fn disk_folder(host: &Path) -> DiskFolder {
        let mut files = GuestFiles::new(0);
        files.add_folder(host, Path::new("/")).expect("a disk");
        files.into_disks().remove(0)
    }

    fn make(folder: &DiskFolder) -> Result<DiskImage, String> {
        let workspace = RecordingWorkspace::create().expect("a folder");
        let interrupt = InterruptFlag::catch();
        let image = DiskImage::make(folder, "relayout-7", &workspace, &Unseen, interrupt);
        assert!(
            !workspace.file_path("disk").exists(),
            "an image has no name"
        );
        image.map_err(|error| error.to_string())
    }

    #[test]
    fn images_have_a_label_and_no_name() {
        let host = sample_folder(3 << 20);
        let image = make(&disk_folder(host.path())).expect("an image");
        let mut superblock = [0; 1024];
        let read = image.file.read_exact_at(&mut superblock, 1024);
        read.expect("a superblock");
        assert_eq!(superblock[56..58], [0x53, 0xef], "magic number of ext4");
        assert_eq!(&superblock[120..131], b"relayout-7\0");
        let length = image.file.metadata().expect("a file").len();
        assert!(length > ROOM_BYTES, "{length} bytes");
        assert!(image.stored_bytes() > 3 << 20);
        assert!(image.stored_bytes() < length / 2, "an image has holes");
    }

    #[test]
    fn a_failure_of_the_maker_is_told() {
        let host = sample_folder(3);
        let mut folder = disk_folder(host.path());
        folder.host = host.path().join("file");
        let error = make(&folder).err().expect("no folder");
        assert!(error.starts_with("cannot make a disk image of "), "{error}");
        assert!(error.contains("/file: "), "{error}");
    }

    #[test]
    fn the_package_of_the_maker_is_named() {
        let host = sample_folder(3);
        let folder = disk_folder(host.path());
        let size = ImageSize::for_content(&folder.size);
        let workspace = RecordingWorkspace::create().expect("a folder");
        let image = DiskImage::create(size.bytes, &workspace).expect("a file");
        let started = ImageMaker::start(None, &image, &folder, "label", size, &workspace);
        let error = started.err().expect("no program").to_string();
        let expect = "'mke2fs' is needed to make a disk image of a folder that does not fit into the guest's \
                      memory and is not installed (Debian package e2fsprogs)";
        assert_eq!(error, expect);
    }

    #[test]
    fn images_need_room() {
        let host = sample_folder(3);
        let folder = disk_folder(host.path());
        let size = ImageSize::for_content(&FolderSize {
            stored_bytes: 300 << 20,
            ..folder.size
        });
        let place = Path::new("/tmp/relayout-work-1");
        let check = |free| require_room(&folder, size, place, free);
        assert!(check(Some(1 << 30)).is_ok());
        assert!(check(None).is_ok());
        let error = check(Some(6 << 20)).expect_err("no room").to_string();
        let expect = " needs 381 MiB, and 6 MiB are free in /tmp; TMPDIR names another folder";
        assert!(error.ends_with(expect), "{error}");
    }

    #[test]
    fn a_folder_cannot_have_its_own_image() {
        let workspace = RecordingWorkspace::create().expect("a folder");
        let folder = disk_folder(workspace.dir());
        let error = require_imageable(&folder, workspace.dir()).expect_err("in it");
        let text = error.to_string();
        assert!(
            text.contains("let TMPDIR name a folder elsewhere"),
            "{text}"
        );
    }

    #[test]
    fn file_systems_of_this_machine_are_refused() {
        let folder = DiskFolder {
            host: "/".into(),
            guest: "/".into(),
            size: FolderSize::default(),
        };
        let error = require_imageable(&folder, Path::new("/proc")).expect_err("mounted");
        let text = error.to_string();
        assert!(
            text.starts_with("cannot make a disk image of /: "),
            "{text}"
        );
    }
}
