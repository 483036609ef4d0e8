//! Days, as recordings are dated by.

use std::fmt;
use std::str::FromStr;
use std::time::{SystemTime, UNIX_EPOCH};

use crate::rows::CellValue;

const SECONDS: u64 = 24 * 60 * 60;

/// Day of the Gregorian calendar, in UTC: days since 1970-01-01.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Day(pub i32);

impl Day {
    /// Returns the day of a time; the first one for times before 1970.
    pub fn of_time(time: SystemTime) -> Self {
        let seconds = time
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default()
            .as_secs();
        Self(i32::try_from(seconds / SECONDS).unwrap_or(i32::MAX))
    }

    /// Returns the value of a cell.
    pub fn cell(self) -> CellValue {
        CellValue::Integer(self.0.into())
    }
}

impl fmt::Display for Day {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match arrow::temporal_conversions::date32_to_datetime(self.0) {
            Some(time) => write!(f, "{}", time.format("%Y-%m-%d")),
            None => write!(f, "day {}", self.0),
        }
    }
}

impl FromStr for Day {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        use arrow::datatypes::Date32Type;
        let is_plain = text.len() == 10 && text.bytes().all(|b| b.is_ascii_digit() || b == b'-');
        {
            is_plain
                .then(|| <Date32Type as arrow::compute::kernels::cast_utils::Parser>::parse(text))
        }
        .flatten()
        .map(Self)
        .ok_or_else(|| format!("{text:?} is no day; give it as 2026-11-27"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_are_read_as_they_are_written() {
        for text in ["1970-01-01", "2026-11-27", "2024-02-29"] {
            let day: Day = text.parse().expect("a day");
            assert_eq!(day.to_string(), text);
        }
        assert_eq!("2026-11-27".parse(), Ok(Day(20_784)));
        for wrong in [
            "",
            "2026-13-01",
            "yesterday",
            "2026-11-27T00:00",
            "2025-02-29",
        ] {
            assert!(wrong.parse::<Day>().is_err(), "{wrong}");
        }
    }
}
