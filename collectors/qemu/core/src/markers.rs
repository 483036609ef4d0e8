//! Marker instructions, which do nothing elsewhere and have their meaning in an immediate:
//! `nopl imm32(%rax,%rax,1)` (eight bytes) on x86-64, `movz xzr, #imm16` on AArch64. The same numbers
//! are in `collectors/guest/marker.h`.

/// Request of a marker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GuestMarker {
    /// Open the window.
    Start,
    /// Close the window.
    Stop,
    /// The workload finished an operation.
    Operation,
    /// Open the window, unless the program has markers of its own.
    StartDefault,
    /// Close the window if it is still open.
    StopDefault,
    /// The workload has failed, and is about to say why.
    Failure,
}

impl GuestMarker {
    fn from_number(number: u32) -> Option<Self> {
        Some(match number {
            1 => Self::Start,
            2 => Self::Stop,
            3 => Self::Operation,
            4 => Self::StartDefault,
            5 => Self::StopDefault,
            6 => Self::Failure,
            _ => return None,
        })
    }
}

/// Returns the marker that the bytes of an x86-64 instruction encode, if any.
pub fn decode_x86(bytes: &[u8]) -> Option<GuestMarker> {
    let [0x0f, 0x1f, 0x84, 0x00, number, 0x00, 0x4c, 0x52] = *bytes else {
        return None;
    };
    GuestMarker::from_number(number.into())
}

/// Returns the marker that the bytes of an AArch64 instruction encode, if any.
pub fn decode_aarch64(bytes: &[u8]) -> Option<GuestMarker> {
    // `movz xzr, #0x5200`, to whose immediate the number is added.
    const MARKER: u32 = 0xd28a_401f;
    const NUMBER_AT: u32 = 5;
    let word = u32::from_le_bytes(bytes.try_into().ok()?);
    let number = word.checked_sub(MARKER)?;
    (number & ((1 << NUMBER_AT) - 1) == 0).then(|| GuestMarker::from_number(number >> NUMBER_AT))?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decodes_only_markers() {
        let decode = decode_x86;
        assert_eq!(
            decode(&[0x0f, 0x1f, 0x84, 0, 3, 0, 0x4c, 0x52]),
            Some(GuestMarker::Operation)
        );
        assert_eq!(decode(&[0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0]), None);
        assert_eq!(decode(&[0x90]), None);
        assert_eq!(decode(&[]), None);
        let start = [0x0f, 0x1f, 0x84, 0, 1, 0, 0x4c, 0x52];
        assert_eq!(decode(&start), Some(GuestMarker::Start));
        assert_eq!(decode(&start[..7]), None, "cut");
        assert_eq!(decode(&[0x66, 0x0f, 0x1f, 0x84, 0, 1, 0, 0x4c, 0x52]), None);
    }

    #[test]
    fn decodes_only_markers_of_aarch64() {
        let decode = |word: u32| decode_aarch64(&word.to_le_bytes());
        assert_eq!(decode(0xd28a_403f), Some(GuestMarker::Start)); // movz xzr, #0x5201
        assert_eq!(decode(0xd28a_40bf), Some(GuestMarker::StopDefault));
        assert_eq!(decode(0xd28a_401f), None, "no number");
        assert_eq!(decode(0xd28a_40df), Some(GuestMarker::Failure));
        assert_eq!(decode(0xd28a_40ff), None, "a number too large");
        assert_eq!(decode(0xd28a_403e), None, "mov x30, #0x5201");
        assert_eq!(decode(0xd503_201f), None, "nop");
        assert_eq!(decode_aarch64(&[0x3f, 0x40]), None);
    }
}
