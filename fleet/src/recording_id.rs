//! Identities of recordings.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// Identity of a recording: the same in each profile that holds it. Files and tables have it as 16 hexadecimal digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RecordingId(pub u64);

impl fmt::Display for RecordingId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

impl FromStr for RecordingId {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let is_plain = text.len() == 16 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        let number = is_plain
            .then(|| u64::from_str_radix(text, 16).ok())
            .flatten();
        number
            .map(Self)
            .ok_or_else(|| format!("{text:?} is no identity of a recording"))
    }
}

impl Serialize for RecordingId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for RecordingId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct DigitVisitor;

        impl de::Visitor<'_> for DigitVisitor {
            type Value = RecordingId;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("16 hexadecimal digits")
            }

            // A year of recordings has millions of them: none is copied.
            fn visit_str<E: de::Error>(self, text: &str) -> Result<RecordingId, E> {
                text.parse().map_err(E::custom)
            }
        }

        deserializer.deserialize_str(DigitVisitor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identities_are_read_as_they_are_written() {
        let id = RecordingId(0x00ab_0000_0000_0001);
        assert_eq!(id.to_string(), "00ab000000000001");
        assert_eq!(id.to_string().parse(), Ok(id));
        for wrong in ["", "ab", "+0ab000000000001", "00ab00000000000g"] {
            assert!(wrong.parse::<RecordingId>().is_err(), "{wrong}");
        }
    }
}
