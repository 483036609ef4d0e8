//! Text of a source file, or the place of what is no text.
//!
//! Patches are UTF-8, so a byte in another encoding could not be written back as it was.

/// Byte of a source file that is not UTF-8.
///
/// ```
/// use relayout_patch::decode_source;
///
/// let refusal = decode_source(b"int a;\n/* Andr\xe9 */\n".to_vec(), "queue.h").unwrap_err();
/// assert_eq!((refusal.line, refusal.byte), (2, 0xe9));
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{file}:{line}: the byte 0x{byte:02x} is not UTF-8; convert the file and commit it: iconv -f \
     ISO-8859-1 -t UTF-8 {file} > {file}.utf8 && mv {file}.utf8 {file}"
)]
pub struct EncodingError {
    /// File, as the message names it.
    pub file: String,
    /// Line of the first such byte, from 1.
    pub line: usize,
    /// The byte.
    pub byte: u8,
}

/// Returns the text of a source file.
///
/// # Errors
/// A byte is not UTF-8.
pub fn decode_source(bytes: Vec<u8>, file: &str) -> Result<String, EncodingError> {
    String::from_utf8(bytes).map_err(|error| {
        let valid = error.utf8_error().valid_up_to();
        let bytes = error.as_bytes();
        EncodingError {
            file: file.to_owned(),
            line: 1 + bytes[..valid].iter().filter(|&&byte| byte == b'\n').count(),
            byte: bytes.get(valid).copied().unwrap_or_default(),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn place_and_remedy() {
        assert_eq!(
            decode_source("/* André */".into(), "a.h").unwrap(),
            "/* André */"
        );
        let refused = decode_source(b"\n\n// Andr\xe9\n// Ren\xe9e\n".to_vec(), "a/b.h");
        assert_eq!(
            refused.unwrap_err().to_string(),
            "a/b.h:3: the byte 0xe9 is not UTF-8; convert the file and commit it: iconv -f \
             ISO-8859-1 -t UTF-8 a/b.h > a/b.h.utf8 && mv a/b.h.utf8 a/b.h"
        );
        // A character that is cut off at the end of the file.
        assert_eq!(decode_source(b"\xc3".to_vec(), "a.h").unwrap_err().line, 1);
    }
}
