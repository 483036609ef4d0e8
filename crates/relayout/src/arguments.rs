//! Values of options: types and parsers that several commands use, and forms of output.

use std::path::Path;
use std::time::Duration;

use anyhow::bail;
use relayout_verify::runs::PAIRS_MAX;

/// Parses a number of pairs of starts.
pub fn pairs(text: &str) -> Result<usize, String> {
    let pairs = text.parse().ok();
    pairs
        .filter(|pairs| (2..=PAIRS_MAX).contains(pairs))
        .ok_or_else(|| format!("not a number from 2 to {PAIRS_MAX}"))
}

/// Seconds, or with a unit: 90, 1.5s, 200ms, 5m, 2h.
pub fn time(text: &str) -> Result<Duration, String> {
    let digits = text.trim_end_matches(|letter: char| letter.is_ascii_alphabetic());
    let factor = match &text[digits.len()..] {
        "ms" => 1e-3,
        "" | "s" => 1.0,
        "m" | "min" => 60.0,
        "h" => 3600.0,
        unit => return Err(format!("'{unit}' is none of ms, s, m and h")),
    };
    let number: f64 = digits.parse().map_err(|_| "not a number".to_owned())?;
    let time = Duration::try_from_secs_f64(factor * number).ok();
    time.filter(|time| !time.is_zero())
        .ok_or_else(|| "not a time".to_owned())
}

/// Percent above 0, as a fraction.
pub fn margin(text: &str) -> Result<f64, String> {
    let number: f64 = text
        .trim_end_matches('%')
        .parse()
        .map_err(|_| "not a number".to_owned())?;
    match number > 0.0 && number <= 100.0 {
        true => Ok(number / 100.0),
        false => Err("not above 0 and up to 100".to_owned()),
    }
}

/// Parses `2G`, `512M`, or a number of MiB, between 256 MiB and 64 GiB.
pub fn size(text: &str) -> Result<u64, String> {
    let digits = text.trim_end_matches(['G', 'g', 'M', 'm']);
    let mib = match text.strip_prefix(digits).unwrap_or_default() {
        "" | "M" | "m" => 1,
        "G" | "g" => 1024,
        _ => return Err("not a size: 512M, 2G".into()),
    };
    let number: u64 = digits
        .parse()
        .map_err(|_| "not a size: 512M, 2G".to_owned())?;
    match number.checked_mul(mib) {
        Some(n @ 256..=65536) => Ok(n << 20),
        _ => Err("not between 256M and 64G".into()),
    }
}

/// Parses a fraction from 0.001 to 1.
pub fn share(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(share) if (0.001..=1.0).contains(&share) => Ok(share),
        _ => Err("not a fraction from 0.001 to 1".into()),
    }
}

/// Parses a number of seconds.
pub fn seconds(text: &str) -> Result<Duration, String> {
    let number = text.parse().ok().filter(|n| (0.001..=1e9).contains(n));
    number
        .map(Duration::from_secs_f64)
        .ok_or_else(|| "not a number of seconds".into())
}

/// Parses the cost of a pair transfer, in transfers.
pub fn coefficient(text: &str) -> Result<f64, String> {
    let value: f64 = text.parse().map_err(|_| "not a number".to_owned())?;
    if (0.0..=1.0).contains(&value) {
        Ok(value)
    } else {
        Err("not between 0 and 1".to_owned())
    }
}

/// Parses a percentage from 0 to 100.
pub fn percent(text: &str) -> Result<f64, String> {
    let value: f64 = text
        .trim_end_matches('%')
        .parse()
        .map_err(|_| "not a number".to_owned())?;
    if (0.0..=100.0).contains(&value) {
        Ok(value)
    } else {
        Err("not between 0 and 100".to_owned())
    }
}

/// Form of a report's text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum TextForm {
    /// Everything, for a terminal.
    Terminal,
    /// The findings with pictures of their lines, in 80 columns.
    Mail,
    /// The same lines as an SVG picture.
    Svg,
}

/// Order of the findings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum FindingOrder {
    /// Transfers, most first.
    Transfers,
    /// Transfers that another layout of the type saves, most first.
    Saving,
}

/// Returns the widest line in columns, by default that of the terminal; `None` for any width.
pub fn text_width(asked: Option<u16>) -> Option<usize> {
    let asked = asked.map(usize::from);
    asked.or_else(relayout_files::terminal_columns)
}

/// Rejects a source tree that is no folder.
pub fn verify_source(tree: Option<&Path>) -> anyhow::Result<()> {
    match tree {
        Some(tree) if !tree.is_dir() => bail!("--source {}: not a folder", tree.display()),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times() {
        let check = |text, expect_ms| {
            assert_eq!(time(text), Ok(Duration::from_millis(expect_ms)), "{text}")
        };
        check("90", 90_000);
        check("1.5s", 1500);
        check("200ms", 200);
        check("5m", 300_000);
        check("2h", 7_200_000);
        for text in ["", "s", "-1", "0", "5x", "1e999", "nan"] {
            assert!(time(text).is_err(), "{text}");
        }
    }

    #[test]
    fn margins() {
        assert_eq!(margin("0.5%"), Ok(0.005));
        for text in ["0", "-1", "nan", "101", "x"] {
            assert!(margin(text).is_err(), "{text}");
        }
    }

    #[test]
    fn sizes() {
        assert_eq!(size("2G"), Ok(2 << 30));
        assert_eq!(size("512m"), Ok(512 << 20));
        assert_eq!(size("1024"), Ok(1 << 30));
        for bad in ["", "G", "1", "2T", "-1G", "99999999999999999999G", "2GG"] {
            assert!(size(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn shares_and_seconds() {
        assert_eq!(share("0.05"), Ok(0.05));
        assert_eq!(share("1"), Ok(1.0));
        assert_eq!(seconds("1.5"), Ok(Duration::from_millis(1500)));
        for bad in ["0", "1.1", "-0.5", "NaN", "inf", "1e-9", "x", ""] {
            assert!(share(bad).is_err(), "{bad}");
        }
        for bad in ["0", "-1", "NaN", "inf", "1e30", "x", ""] {
            assert!(seconds(bad).is_err(), "{bad}");
        }
    }
}
