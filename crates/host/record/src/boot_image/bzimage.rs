//! The head of an x86 boot image. Offsets are from the kernel's "Linux/x86 Boot Protocol".

/// The version text of a bzImage: release, builder, build number and date.
pub(super) fn version(image: &[u8]) -> Result<String, &'static str> {
    let field = |at: usize, len: usize| image.get(at..at + len).ok_or("the file is too short");
    if field(0x1fe, 2)? != [0x55, 0xaa] {
        return Err("no boot signature");
    }
    if field(0x202, 4)? != b"HdrS" {
        return Err("no setup header");
    }
    let pointer = field(0x20e, 2)?;
    let pointer = u16::from_le_bytes([pointer[0], pointer[1]]);
    if pointer == 0 {
        return Err("it does not say its version");
    }
    let text = image
        .get(usize::from(pointer) + 0x200..)
        .ok_or("the version is outside of the file")?;
    let end = text
        .iter()
        .take(512)
        .position(|&b| b == 0)
        .ok_or("the version has no end")?;
    Ok(String::from_utf8_lossy(&text[..end]).into_owned())
}

#[cfg(test)]
pub mod tests {
    use super::*;

    /// An image with nothing but its head.
    pub fn image() -> Vec<u8> {
        let mut image = vec![0u8; 0x300];
        image[0x1fe..0x200].copy_from_slice(&[0x55, 0xaa]);
        image[0x202..0x206].copy_from_slice(b"HdrS");
        image[0x20e..0x210].copy_from_slice(&[0x80, 0]);
        image[0x280..0x284].copy_from_slice(b"6.1\0");
        image
    }

    #[test]
    fn refuses_what_is_no_image() {
        for bad in [&b""[..], &[0; 100], &[0; 4096]] {
            assert!(version(bad).is_err());
        }
        let mut image = image();
        image[0x20e..0x210].copy_from_slice(&[0, 0]);
        assert_eq!(version(&image), Err("it does not say its version"));
        assert_eq!(
            version(&image[..0x20e]),
            Err("the file is too short"),
            "ends within the header"
        );
        image[0x20e..0x210].copy_from_slice(&[0xff, 0xff]);
        assert_eq!(version(&image), Err("the version is outside of the file"));
        image[0x20e..0x210].copy_from_slice(&[0x80, 0]);
        assert_eq!(version(&image).as_deref(), Ok("6.1"));
    }
}
