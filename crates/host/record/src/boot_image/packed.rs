//! Compressed arm64 images: `Image.gz`, and `vmlinuz.efi` (EFI zboot), whose head is described in the
//! kernel's `drivers/firmware/efi/libstub/zboot-header.S`.

use std::io::Read;

use flate2::read::GzDecoder;
use ruzstd::decoding::StreamingDecoder;

/// Most bytes of an image that are believed.
const IMAGE_BYTES_MAX: u64 = 1 << 30;
const GZIP: &[u8] = &[0x1f, 0x8b];
const ZBOOT: &[u8] = b"zimg";
const ZBOOT_AT: usize = 4;
const PAYLOAD_START_AT: usize = 8;
const PAYLOAD_BYTES_AT: usize = 12;
const COMPRESSION_AT: usize = 24;

/// Returns the image in a compressed file; `None` if the file is not compressed.
pub(super) fn unpack_image(file: &[u8]) -> Result<Option<Vec<u8>>, &'static str> {
    if file.starts_with(GZIP) {
        return read_whole(GzDecoder::new(file)).map(Some);
    }
    if !file
        .get(ZBOOT_AT..)
        .is_some_and(|rest| rest.starts_with(ZBOOT))
    {
        return Ok(None);
    }
    let payload = zboot_payload(file).ok_or("the compressed part is outside of the file")?;
    let compression = file.get(COMPRESSION_AT..).unwrap_or_default();
    if compression.starts_with(b"gzip\0") {
        return read_whole(GzDecoder::new(payload)).map(Some);
    }
    if compression.starts_with(b"zstd") {
        let decoder = StreamingDecoder::new(payload).map_err(|_| DAMAGED)?;
        return read_whole(decoder).map(Some);
    }
    Err("it is compressed by another program than gzip or zstd")
}

const DAMAGED: &str = "its compressed part is damaged";

fn zboot_payload(file: &[u8]) -> Option<&[u8]> {
    let number = |at: usize| {
        let bytes = file.get(at..at + 4)?.try_into().ok()?;
        usize::try_from(u32::from_le_bytes(bytes)).ok()
    };
    let start = number(PAYLOAD_START_AT)?;
    file.get(start..start.checked_add(number(PAYLOAD_BYTES_AT)?)?)
}

fn read_whole(decoder: impl Read) -> Result<Vec<u8>, &'static str> {
    let mut image = Vec::new();
    let read = decoder.take(IMAGE_BYTES_MAX).read_to_end(&mut image);
    read.map_err(|_| DAMAGED)?;
    Ok(image)
}

#[cfg(test)]
pub mod tests {
    use std::io::Write;

    use flate2::Compression;
    use flate2::write::GzEncoder;
    use ruzstd::encoding::{CompressionLevel, compress_to_vec};

    use super::*;

    fn gzip(image: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(image).expect("written");
        encoder.finish().expect("written")
    }

    fn zboot(name: &[u8], payload: &[u8]) -> Vec<u8> {
        let mut file = b"MZ\0\0zimg".to_vec();
        file.extend(64u32.to_le_bytes());
        file.extend((payload.len() as u32).to_le_bytes());
        file.resize(COMPRESSION_AT, 0);
        file.extend(name);
        file.resize(64, 0);
        file.extend(payload);
        file
    }

    /// Files of each kind with this image.
    pub fn packed_files(image: &[u8]) -> [Vec<u8>; 3] {
        let zstd = compress_to_vec(image, CompressionLevel::Fastest);
        [
            gzip(image),
            zboot(b"gzip\0", &gzip(image)),
            zboot(b"zstd\0", &zstd),
        ]
    }

    #[test]
    fn images_are_unpacked() {
        for file in packed_files(b"an image") {
            assert_eq!(unpack_image(&file), Ok(Some(b"an image".to_vec())));
        }
        assert_eq!(unpack_image(b"MZ, not compressed"), Ok(None));
        assert_eq!(unpack_image(b""), Ok(None));
    }

    #[test]
    fn damaged_files_are_refused() {
        for file in packed_files(&[7; 1000]) {
            for len in 8..file.len() {
                assert!(unpack_image(&file[..len]).is_err(), "{len} bytes");
            }
        }
        let other = zboot(b"lzma\0", b"");
        let expect = "it is compressed by another program than gzip or zstd";
        assert_eq!(unpack_image(&other), Err(expect));
    }
}
