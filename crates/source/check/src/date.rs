//! Calendar dates for the expiry of waivers.

use std::fmt;

/// Day of the Gregorian calendar.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Date {
    year: u16,
    month: u8,
    day: u8,
}

impl Date {
    /// Creates a date. Returns `None` if the day does not exist.
    pub fn new(year: u16, month: u8, day: u8) -> Option<Self> {
        let there = (1..=12).contains(&month) && day >= 1 && day <= days_in(year, month);
        there.then_some(Self { year, month, day })
    }

    /// Parses a date such as `2027-01-31`. Returns `None` for any other text.
    pub fn parse(text: &str) -> Option<Self> {
        let mut parts = text.split('-');
        let mut next = |digits: usize| {
            let part = parts.next()?;
            let plain = part.len() == digits && part.bytes().all(|byte| byte.is_ascii_digit());
            plain.then(|| part.parse::<u16>().ok()).flatten()
        };
        let (year, month, day) = (next(4)?, next(2)?, next(2)?);
        let whole = parts.next().is_none();
        let date = Self::new(year, u8::try_from(month).ok()?, u8::try_from(day).ok()?);
        date.filter(|_| whole)
    }

    /// Returns the UTC day of a time in seconds since 1970-01-01T00:00:00Z. Times after the year
    /// 9999 give the last representable day.
    pub fn from_unix_seconds(seconds: u64) -> Self {
        let mut days = seconds / (24 * 60 * 60);
        let mut date = Self {
            year: 1970,
            month: 1,
            day: 1,
        };
        while date.year < 9999 && days >= days_in_year(date.year) {
            days -= days_in_year(date.year);
            date.year += 1;
        }
        while date.month < 12 && days >= u64::from(days_in(date.year, date.month)) {
            days -= u64::from(days_in(date.year, date.month));
            date.month += 1;
        }
        let last = u64::from(days_in(date.year, date.month)) - 1;
        date.day = days.min(last) as u8 + 1;
        date
    }
}

impl fmt::Display for Date {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:04}-{:02}-{:02}", self.year, self.month, self.day)
    }
}

fn is_leap(year: u16) -> bool {
    year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400))
}

fn days_in_year(year: u16) -> u64 {
    if is_leap(year) { 366 } else { 365 }
}

fn days_in(year: u16, month: u8) -> u8 {
    match month {
        4 | 6 | 9 | 11 => 30,
        2 if is_leap(year) => 29,
        2 => 28,
        _ => 31,
    }
}

#[cfg(test)]
mod tests {
    use super::Date;

    #[track_caller]
    fn check(seconds: u64, expect: &str) {
        assert_eq!(Date::from_unix_seconds(seconds).to_string(), expect);
    }

    // Expected values come from `date -u -d @SECONDS +%F`.
    #[test]
    fn days_of_unix_times() {
        check(0, "1970-01-01");
        check(951_782_399, "2000-02-28");
        check(951_782_400, "2000-02-29");
        check(1_801_353_599, "2027-01-30");
        check(1_801_353_600, "2027-01-31");
        check(4_107_542_399, "2100-02-28");
        check(4_107_542_400, "2100-03-01");
        check(u64::MAX, "9999-12-31");
    }

    #[test]
    fn reads_what_it_writes_and_nothing_else() {
        for good in ["2027-01-31", "2028-02-29", "0001-12-31"] {
            assert_eq!(Date::parse(good).unwrap().to_string(), good);
        }
        for bad in [
            "2027-02-29",
            "2027-13-01",
            "2027-00-01",
            "2027-01-00",
            "27-01-31",
            "2027-1-31",
            "2027-01-31-01",
            "2027-01",
            "+027-01-31",
            "",
        ] {
            assert_eq!(Date::parse(bad), None, "{bad}");
        }
    }
}
