use relayout_record::boot_image::{BootImage, same_build};

/// The version text of a boot image, and its comparison with a banner made of the same bytes.
pub fn boot_image(data: &[u8]) {
    if let Ok(BootImage { version, .. }) = BootImage::parse(data) {
        same_build(&version, &format!("Linux version {version}\n"));
    }
    let text = String::from_utf8_lossy(data);
    same_build(&text, &text);
}
