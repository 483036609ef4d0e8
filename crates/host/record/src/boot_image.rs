//! Boot images of kernels: their machine, and the build that they are of.

use std::borrow::Cow;

use crate::GuestMachine;

mod arm64;
mod bzimage;
mod packed;

/// A boot image, as QEMU can load it.
#[derive(Debug)]
pub struct BootImage<'a> {
    /// Machine that it boots on.
    pub machine: GuestMachine,
    /// The image, unpacked if the file has it compressed and the machine has no loader for that.
    pub bytes: Cow<'a, [u8]>,
    /// Version text: release, builder, build number and date.
    pub version: String,
}

impl<'a> BootImage<'a> {
    /// Reads the file of a boot image. The error says what is wrong with it.
    pub fn parse(file: &'a [u8]) -> Result<Self, &'static str> {
        if let Some(unpacked) = packed::unpack_image(file)? {
            return Self::parse_arm64(unpacked.into());
        }
        if arm64::is_image(file) {
            return Self::parse_arm64(file.into());
        }
        Ok(Self {
            machine: GuestMachine::X86,
            bytes: file.into(),
            version: bzimage::version(file)?,
        })
    }

    fn parse_arm64(bytes: Cow<'a, [u8]>) -> Result<Self, &'static str> {
        if !arm64::is_image(&bytes) {
            return Err("what it has compressed is no arm64 image");
        }
        Ok(Self {
            machine: GuestMachine::Aarch64,
            version: arm64::version(&bytes)?,
            bytes,
        })
    }

    /// Returns true if the image has to be written to a file of its own before QEMU can load it.
    pub fn is_unpacked(&self) -> bool {
        matches!(self.bytes, Cow::Owned(_))
    }
}

/// Returns true if a boot image with the version `image` and a vmlinux with the banner `banner` are
/// of one build: the release at the front must be the same, and the build number and date at the
/// end.
pub fn same_build(image: &str, banner: &str) -> bool {
    let Some(banner) = banner.trim_end().strip_prefix("Linux version ") else {
        return false;
    };
    let release = |text: &str| text.split(' ').next().unwrap_or_default().to_owned();
    let build = |text: &str| text.find('#').map(|at| text[at..].trim_end().to_owned());
    release(image) == release(banner) && build(image).is_some() && build(image) == build(banner)
}

#[cfg(test)]
mod tests {
    use super::*;

    const IMAGE: &str =
        "6.1.0-9-cloud-amd64 (x@y) #1 SMP PREEMPT_DYNAMIC Debian 6.1.27-1 (2023-05-08)";
    const BANNER: &str = "Linux version 6.1.0-9-cloud-amd64 (x@y) (gcc-12 (Debian) 12.2.0, GNU ld) \
                          #1 SMP PREEMPT_DYNAMIC Debian 6.1.27-1 (2023-05-08)\n";

    #[test]
    fn tells_builds_apart() {
        assert!(same_build(IMAGE, BANNER));
        assert!(!same_build(&IMAGE.replace("6.1.27-1", "6.1.28-1"), BANNER));
        assert!(!same_build(&IMAGE.replace("cloud-", ""), BANNER));
        assert!(!same_build("6.1.0", BANNER));
        assert!(!same_build(IMAGE, "no banner"));
    }

    #[test]
    fn images_tell_their_machine() {
        let arm64 = arm64::tests::image("6.12.1 (x@y) #1 SMP");
        let image = BootImage::parse(&arm64).expect("an image");
        assert_eq!(image.machine, GuestMachine::Aarch64);
        assert_eq!(image.version, "6.12.1 (x@y) #1 SMP");
        assert!(!image.is_unpacked());
        let bzimage = bzimage::tests::image();
        let image = BootImage::parse(&bzimage).expect("an image");
        assert_eq!((image.machine, &*image.version), (GuestMachine::X86, "6.1"));
    }

    #[test]
    fn compressed_images_are_unpacked() {
        let arm64 = arm64::tests::image("6.12.1 (x@y) #1 SMP");
        for file in packed::tests::packed_files(&arm64) {
            let image = BootImage::parse(&file).expect("an image");
            assert_eq!(image.machine, GuestMachine::Aarch64);
            assert_eq!(*image.bytes, arm64);
            assert!(image.is_unpacked());
        }
        for file in packed::tests::packed_files(b"no image") {
            let error = BootImage::parse(&file).expect_err("no image");
            assert_eq!(error, "what it has compressed is no arm64 image");
        }
    }
}
