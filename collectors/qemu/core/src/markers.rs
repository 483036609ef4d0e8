//! Marker instructions: `nopl imm32(%rax,%rax,1)`, eight bytes, with the meaning in the immediate.
//! The same numbers are in `collectors/guest/marker.h`.

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
}

impl GuestMarker {
    /// Returns the marker that these instruction bytes encode, if any.
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let [0x0f, 0x1f, 0x84, 0x00, a, b, c, d] = *bytes else {
            return None;
        };
        Some(match u32::from_le_bytes([a, b, c, d]) {
            0x524c_0001 => Self::Start,
            0x524c_0002 => Self::Stop,
            0x524c_0003 => Self::Operation,
            0x524c_0004 => Self::StartDefault,
            0x524c_0005 => Self::StopDefault,
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decodes_only_markers() {
        assert_eq!(
            GuestMarker::decode(&[0x0f, 0x1f, 0x84, 0, 3, 0, 0x4c, 0x52]),
            Some(GuestMarker::Operation)
        );
        assert_eq!(
            GuestMarker::decode(&[0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0]),
            None
        );
        assert_eq!(GuestMarker::decode(&[0x90]), None);
        assert_eq!(GuestMarker::decode(&[]), None);
        let start = [0x0f, 0x1f, 0x84, 0, 1, 0, 0x4c, 0x52];
        assert_eq!(GuestMarker::decode(&start), Some(GuestMarker::Start));
        assert_eq!(GuestMarker::decode(&start[..7]), None, "cut");
        assert_eq!(
            GuestMarker::decode(&[0x66, 0x0f, 0x1f, 0x84, 0, 1, 0, 0x4c, 0x52]),
            None
        );
    }
}
