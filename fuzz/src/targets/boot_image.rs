use relayout_record::bzimage;

/// The version text of a boot image, and its comparison with a banner made of the same bytes.
pub fn boot_image(data: &[u8]) {
    if let Ok(version) = bzimage::version(data) {
        bzimage::same_build(&version, &format!("Linux version {version}\n"));
    }
    let text = String::from_utf8_lossy(data);
    bzimage::same_build(&text, &text);
}
