//! The guest's first file system: a cpio archive in "newc" form, as described in the kernel's
//! "initramfs buffer format".

/// Writes the archive: `/init`, `/dev/console`, and the program to run with its arguments, if one.
pub fn build_archive(init: &[u8], program: Option<(&[u8], &[String])>) -> Vec<u8> {
    let mut archive = CpioArchive::default();
    archive.add_entry("dev", 0o040_755, &[], None);
    archive.add_entry("dev/console", 0o020_600, &[], Some((5, 1)));
    archive.add_entry("init", 0o100_755, init, None);
    if let Some((program, arguments)) = program {
        archive.add_entry("run-program", 0o100_755, program, None);
        let mut joined = Vec::new();
        for argument in arguments {
            joined.extend_from_slice(argument.as_bytes());
            joined.push(0);
        }
        archive.add_entry("run-args", 0o100_600, &joined, None);
    }
    archive.add_entry("TRAILER!!!", 0, &[], None);
    archive.bytes
}

#[derive(Default)]
struct CpioArchive {
    bytes: Vec<u8>,
    inode: u32,
}

impl CpioArchive {
    fn add_entry(&mut self, name: &str, mode: u32, data: &[u8], device: Option<(u32, u32)>) {
        self.inode += 1;
        let (major, minor) = device.unwrap_or((0, 0));
        let size = data.len() as u32;
        let name_size = name.len() as u32 + 1;
        let fields = [
            self.inode, mode, 0, 0, 1, 0, size, 0, 0, major, minor, name_size, 0,
        ];
        self.bytes.extend_from_slice(b"070701");
        for field in fields {
            self.bytes
                .extend_from_slice(format!("{field:08X}").as_bytes());
        }
        self.bytes.extend_from_slice(name.as_bytes());
        self.bytes.push(0);
        self.align();
        self.bytes.extend_from_slice(data);
        self.align();
    }

    fn align(&mut self) {
        self.bytes.resize(self.bytes.len().next_multiple_of(4), 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn archive_is_read_back() {
        let bytes = build_archive(b"#!x", Some((b"prog", &["a".into(), "b c".into()])));
        let mut names = Vec::new();
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
            names.push((
                String::from_utf8_lossy(name).into_owned(),
                bytes[data..data + field(6)].to_vec(),
            ));
            at = (data + field(6)).next_multiple_of(4);
            if name == b"TRAILER!!!" {
                break;
            }
        }
        assert_eq!(at, bytes.len());
        assert_eq!(names[2], ("init".into(), b"#!x".to_vec()));
        assert_eq!(names[4], ("run-args".into(), b"a\0b c\0".to_vec()));
    }
}
