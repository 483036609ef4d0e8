//! Values of options: types and parsers that several commands use, and forms of output.

use std::io;
use std::path::Path;
use std::time::Duration;

use relayout_layout::suggestions::similar_names;
use relayout_machine::{DescriptionProblem, MachineRule, RULES};
use relayout_messages::UserError;
use relayout_verify::runs::PAIRS_MAX;
use serde::Serialize;

/// Parses a number of pairs of starts.
pub fn pairs(text: &str) -> Result<usize, String> {
    let pairs = text.parse().ok();
    pairs
        .filter(|pairs| (2..=PAIRS_MAX).contains(pairs))
        .ok_or_else(|| format!("not a number from 2 to {PAIRS_MAX}"))
}

/// Answer to what is no time.
const NO_TIME: &str = "not a time: 90, 1.5s, 200ms, 5m, 2h";

/// Longest window in simulated time.
const SIMULATED_MAX: Duration = Duration::from_secs(1);

/// Simulated time: 5ms, 200us; at most 1s.
pub fn simulated_time(text: &str) -> Result<Duration, String> {
    { time(text).ok() }
        .filter(|time| *time <= SIMULATED_MAX)
        .ok_or_else(|| "not a simulated time of at most 1s: 5ms, 200us".to_owned())
}

/// Seconds, or with a unit: 90, 1.5s, 200ms, 50us, 5m, 2h.
pub fn time(text: &str) -> Result<Duration, String> {
    let digits = text.trim_end_matches(|letter: char| letter.is_ascii_alphabetic());
    let factor = match &text[digits.len()..] {
        "us" => 1e-6,
        "ms" => 1e-3,
        "" | "s" => 1.0,
        "m" | "min" => 60.0,
        "h" => 3600.0,
        _ => return Err(NO_TIME.to_owned()),
    };
    let number: f64 = digits.parse().map_err(|_| NO_TIME.to_owned())?;
    let time = Duration::try_from_secs_f64(factor * number).ok();
    time.filter(|time| !time.is_zero())
        .ok_or_else(|| NO_TIME.to_owned())
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

/// Parses the size of a guest's memory: `2G`, `512M`, or a number of MiB, between 256 MiB and 64 GiB.
pub fn size(text: &str) -> Result<u64, String> {
    let has_suffix = text.ends_with(|letter: char| letter.is_ascii_alphabetic());
    let mib = if has_suffix { 1 } else { 1 << 20 };
    let size = bytes(text).ok().and_then(|size| size.checked_mul(mib));
    match size {
        Some(size @ 0x1000_0000..=0x10_0000_0000) => Ok(size),
        Some(_) => Err("not between 256M and 64G".into()),
        None => Err("not a size: 512M, 2G".into()),
    }
}

/// Parses a number of bytes, in hexadecimal too, with a suffix for powers of 1024: `4096`, `0x40`, `4K`, `1MiB`.
pub fn bytes(text: &str) -> Result<u64, String> {
    number_with_suffix(text, 1024).ok_or_else(|| "not a size: 4096, 0x40, 4K, 1M".to_owned())
}

/// Parses the size of a cache line: as [`bytes`], above 0.
pub fn line_size(text: &str) -> Result<u64, String> {
    match bytes(text)? {
        0 => Err("not above 0".to_owned()),
        size => Ok(size),
    }
}

/// Parses a number with a suffix for powers of 1000: `4000000`, `200k`, `4M`.
pub fn count(text: &str) -> Result<u64, String> {
    number_with_suffix(text, 1000).ok_or_else(|| "not a number: 4000000, 200k, 4M".to_owned())
}

/// Parses a whole number without a sign.
pub fn whole<T: TryFrom<u64>>(text: &str) -> Result<T, String> {
    let number = count(text)?;
    T::try_from(number).map_err(|_| "too large".to_owned())
}

/// Parses a number above 0, as [`count`] does.
pub fn positive_count(text: &str) -> Result<u64, String> {
    match count(text)? {
        0 => Err("not above 0".to_owned()),
        number => Ok(number),
    }
}

/// Parses a number in which K, M, G and T stand for powers of `step`; `B` and `iB` may follow them.
fn number_with_suffix(text: &str, step: u64) -> Option<u64> {
    if let Some(digits) = text.strip_prefix("0x") {
        return u64::from_str_radix(digits, 16).ok();
    }
    let digits = text.trim_end_matches(|letter: char| letter.is_ascii_alphabetic());
    let suffix = text[digits.len()..].to_ascii_lowercase();
    let letter = suffix.trim_end_matches("b").trim_end_matches('i');
    let power = ["", "k", "m", "g", "t"]
        .iter()
        .position(|name| *name == letter)?;
    let factor = step.checked_pow(u32::try_from(power).ok()?)?;
    let number: u64 = digits.parse().ok()?;
    number.checked_mul(factor)
}

/// Parses a fraction from 0.001 to 1.
pub fn share(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(share) if (0.001..=1.0).contains(&share) => Ok(share),
        _ => Err("not a fraction from 0.001 to 1".into()),
    }
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
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, clap::ValueEnum)]
pub enum FindingOrder {
    /// Rank: in simulated time the time for which CPUs stood still, else transfers; most first.
    Rank,
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
pub fn verify_source(tree: Option<&Path>) -> Result<(), UserError> {
    match tree {
        Some(tree) if !tree.is_dir() => Err(UserError::input(format!(
            "--source {}: not a folder",
            tree.display()
        ))),
        _ => Ok(()),
    }
}

/// Lets the command compute in `jobs` threads; `None` for as many as there are CPUs.
///
/// # Errors
/// A thread cannot be started.
pub fn limit_threads(jobs: Option<u16>) -> Result<(), UserError> {
    let Some(jobs) = jobs else {
        return Ok(());
    };
    rayon::ThreadPoolBuilder::new()
        .num_threads(usize::from(jobs))
        .build_global()
        .map_err(|error| {
            UserError::input("cannot start threads").caused_by(io::Error::other(error))
        })
}

/// A rule of a simulated machine with its value: `upgrade=0.5`.
pub fn rule(text: &str) -> Result<(MachineRule, f64), String> {
    let (key, value) = text
        .split_once('=')
        .ok_or("write NAME=VALUE: upgrade=0.5")?;
    let Some(rule) = MachineRule::from_key(key) else {
        let similar = similar_names(RULES.iter().map(|facts| facts.key), key);
        let similar = { similar.first() }.map(|name| format!(" (did you mean '{name}'?)"));
        return Err(format!(
            "there is no rule '{key}'{}; `relayout probe --rules` lists them",
            similar.unwrap_or_default()
        ));
    };
    let found = { value.parse() }.map_err(|_| format!("'{value}' is no number"))?;
    match rule.facts().allows(found) {
        true => Ok((rule, found)),
        false => Err(DescriptionProblem::Rule { rule, found }.to_string()),
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
        assert_eq!(bytes("4096"), Ok(4096));
        assert_eq!(bytes("0x40"), Ok(64));
        assert_eq!(bytes("4K"), Ok(4096));
        assert_eq!(bytes("1MiB"), Ok(1 << 20));
        assert_eq!(bytes("128B"), Ok(128));
        assert_eq!(count("200k"), Ok(200_000));
        assert_eq!(count("4M"), Ok(4_000_000));
        for bad in [
            "",
            "K",
            "1.5K",
            "-1",
            "0x",
            "4KK",
            "4kk",
            "4P",
            "20000000000G",
        ] {
            assert!(bytes(bad).is_err(), "{bad}");
            assert!(count(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn shares() {
        assert_eq!(share("0.05"), Ok(0.05));
        assert_eq!(share("1"), Ok(1.0));
        for bad in ["0", "1.1", "-0.5", "NaN", "inf", "1e-9", "x", ""] {
            assert!(share(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn rules_have_a_name_and_a_value_in_their_range() {
        assert_eq!(rule("upgrade=0.5"), Ok((MachineRule::Upgrade, 0.5)));
        let check = |text: &str, expect: &str| {
            let error = rule(text).unwrap_err();
            assert!(error.contains(expect), "{error}");
        };
        check("upgrade", "write NAME=VALUE");
        check("upgrad=1", "did you mean 'upgrade'?");
        check("upgrade=x", "'x' is no number");
        check("upgrade=0.4", "upgrade is 0.4, not a factor from 0.5 to 1");
        check("near-first=1.5", "not a whole number from 0 to 8");
        check("quantum=inf", "not nanoseconds from 500 to 10000");
    }
}
