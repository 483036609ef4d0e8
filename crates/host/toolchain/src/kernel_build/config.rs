//! The configuration: as little as the workloads need, so that a kernel is built in minutes.

use std::path::Path;

use relayout_files::{cannot, read_regular_text};

use super::Error;

/// Options that are set. `make allnoconfig` switches the others off, or derives them.
const DEFAULT_OPTIONS: &str = include_str!("kernel.config");
/// Options without which nothing boots here, or nothing of a recording can be named.
const INDISPENSABLE: &[&str] = &[
    "CONFIG_64BIT=y",
    "CONFIG_SMP=y",
    "CONFIG_PRINTK=y",
    "CONFIG_SERIAL_8250_CONSOLE=y",
    "CONFIG_BLK_DEV_INITRD=y",
    "CONFIG_RD_GZIP=y",
    "CONFIG_BINFMT_ELF=y",
    "CONFIG_DEVTMPFS=y",
    "CONFIG_TMPFS=y",
    "CONFIG_PROC_FS=y",
    "CONFIG_SYSFS=y",
    "CONFIG_PCI=y",
    "CONFIG_KALLSYMS=y",
    // Makes the bases of memory areas variables, which can be read.
    "CONFIG_RANDOMIZE_MEMORY=y",
    "CONFIG_DEBUG_INFO_DWARF5=y",
];

/// The options, with the user's own, which win, behind.
///
/// # Errors
/// The user's file cannot be read.
pub fn merged_options(user_file: Option<&Path>) -> Result<String, Error> {
    let mut text = DEFAULT_OPTIONS.to_owned();
    if let Some(path) = user_file {
        text.push_str(&read_regular_text(path).map_err(cannot("read", path))?);
    }
    Ok(text)
}

/// Returns the options that a source did not take, because it has none of that name or their
/// dependencies are off.
///
/// # Errors
/// One of them is indispensable.
pub fn options_not_taken(options: &str, config: &str) -> Result<Vec<String>, Error> {
    let option_name = |line: &str| line.split('=').next().unwrap_or_default().to_owned();
    let wanted: Vec<&str> = options
        .lines()
        .map(str::trim)
        .filter(|line| line.starts_with("CONFIG_"))
        .collect();
    // The last one of a name counts, as for kconfig.
    let is_last_of_name = |nth: usize, line: &str| {
        !wanted[nth + 1..]
            .iter()
            .any(|later| option_name(later) == option_name(line))
    };
    let missing: Vec<String> = wanted
        .iter()
        .enumerate()
        .filter(|(nth, line)| is_last_of_name(*nth, line) && !has_option(config, line))
        .map(|(_, line)| (*line).to_owned())
        .collect();
    let options: Vec<String> = INDISPENSABLE
        .iter()
        .filter(|line| !has_option(config, line))
        .map(|line| (*line).to_owned())
        .collect();
    match options.is_empty() {
        true => Ok(missing),
        false => Err(Error::Options { options }),
    }
}

fn has_option(config: &str, line: &str) -> bool {
    match line.strip_suffix("=n") {
        Some(name) => !config
            .lines()
            .any(|set| set.starts_with(&format!("{name}="))),
        None => config.lines().any(|set| set == line),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_indispensable_option_is_asked_for() {
        for line in INDISPENSABLE {
            assert!(has_option(DEFAULT_OPTIONS, line), "{line}");
        }
    }

    #[track_caller]
    fn check(options: &str, config: &str, expect: &[&str]) {
        let config = format!("{}\n{config}", INDISPENSABLE.join("\n"));
        assert_eq!(options_not_taken(options, &config).unwrap(), expect);
    }

    #[test]
    fn tells_what_was_not_taken() {
        check("CONFIG_A=y\n# CONFIG_X=y\n", "CONFIG_A=y", &[]);
        check(
            "CONFIG_A=y\nCONFIG_B=4\n",
            "CONFIG_B=5",
            &["CONFIG_A=y", "CONFIG_B=4"],
        );
        check("CONFIG_A=n\n", "# CONFIG_A is not set", &[]);
        check("CONFIG_A=n\n", "CONFIG_A=y", &["CONFIG_A=n"]);
        // What the user writes behind ours wins.
        check("CONFIG_A=y\nCONFIG_A=n\n", "", &[]);
        check("CONFIG_A=y\nCONFIG_AB=y\n", "CONFIG_AB=y", &["CONFIG_A=y"]);
    }

    #[test]
    fn without_a_console_it_is_an_error() {
        let config = INDISPENSABLE.join("\n").replace("CONFIG_PRINTK=y\n", "");
        let error = options_not_taken("", &config).unwrap_err().to_string();
        assert!(error.contains("CONFIG_PRINTK=y"), "{error}");
    }
}
