//! An arm64 boot image (`Image`), as described in the kernel's "Booting AArch64 Linux".
//!
//! Its head does not say its version. The image is not compressed, so the kernel's banner is in it.

/// Offset of the magic number.
const MAGIC_AT: usize = 56;
const MAGIC: &[u8] = b"ARM\x64";
/// Beginning of the kernel's banner.
const BANNER: &[u8] = b"Linux version ";
/// Longest banner that is believed.
const BANNER_MAX: usize = 512;

/// Returns true for a file with the head of an arm64 image.
pub(super) fn is_image(file: &[u8]) -> bool {
    file.get(MAGIC_AT..)
        .is_some_and(|rest| rest.starts_with(MAGIC))
}

/// The version text, as the banner has it: release, builder, compiler, build number and date.
pub(super) fn version(image: &[u8]) -> Result<String, &'static str> {
    let banners = memchr::memmem::find_iter(image, BANNER);
    let texts = banners.filter_map(|at| banner_text(&image[at + BANNER.len()..]));
    // Other texts of the kernel begin with these words, too: a format, and a banner from before the
    // build had its number.
    let mut versions = texts.filter(|text| is_version(text));
    versions.next().ok_or("it does not say its version")
}

/// Returns true for a text with a release at its beginning, and the number of a build.
fn is_version(text: &str) -> bool {
    let begins_with_digit = |text: &str| text.starts_with(|c: char| c.is_ascii_digit());
    let build = text.split_once('#');
    begins_with_digit(text) && build.is_some_and(|(_, number)| begins_with_digit(number))
}

fn banner_text(bytes: &[u8]) -> Option<String> {
    let bytes = &bytes[..bytes.len().min(BANNER_MAX)];
    let end = bytes.iter().position(|&b| b == 0 || b == b'\n')?;
    Some(std::str::from_utf8(&bytes[..end]).ok()?.to_owned())
}

#[cfg(test)]
pub mod tests {
    use super::*;

    /// An image with nothing but its head and a banner.
    pub fn image(version: &str) -> Vec<u8> {
        let mut image = vec![0u8; 64];
        image[MAGIC_AT..MAGIC_AT + 4].copy_from_slice(MAGIC);
        image.extend(b"Linux version %s\0");
        image.extend(b"Linux version 6.12.1 (x@y) (gcc) # SMP\n\0");
        image.extend(BANNER);
        image.extend(version.as_bytes());
        image.extend(b"\n\0");
        image
    }

    #[test]
    fn the_banner_is_the_version() {
        let image = image("6.12.1 (x@y) (gcc) #1 SMP");
        assert!(is_image(&image));
        assert_eq!(version(&image).as_deref(), Ok("6.12.1 (x@y) (gcc) #1 SMP"));
    }

    #[test]
    fn refuses_what_is_no_image() {
        for bad in [&b""[..], &[0; 56], &[0; 4096]] {
            assert!(!is_image(bad));
        }
        let whole = image("6.12.1 #1");
        for len in 60..whole.len() - 2 {
            assert_eq!(version(&whole[..len]), Err("it does not say its version"));
        }
    }
}
