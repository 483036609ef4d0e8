//! What a check starts from: the rules, the lock file, and what conditions ask of a file.

use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};
use std::{env, fs, io};

use anyhow::Context;
use relayout_check::{CheckConfig, ConfigError, Date, FileFacts, KernelConfig, LayoutLock};

use super::Args;

/// The file that holds the rules, in this folder or above.
const CONFIG_NAME: &str = "relayout.toml";
/// The file that holds what was recorded, beside the rules.
const LOCK_NAME: &str = "relayout.lock";

/// Rules that cannot be used; exit code 2.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// There is no file of the usual name.
    #[error(
        "there is no {CONFIG_NAME} in {} or above; write one (`relayout check --help` shows how) or give one with --config FILE",
        .0.display()
    )]
    NoConfig(PathBuf),
    /// The text is wrong.
    #[error("{}", problem_lines(path, problems_found))]
    Config {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        problems_found: ConfigError,
    },
    /// The file is there but sets nothing.
    #[error("{} is no kernel configuration: no line of it sets an option", .0.display())]
    NoKconfig(PathBuf),
    /// No rule of the configuration applies to any of the files.
    #[error("{}: no rule applies to any of the files, so nothing was checked", .0.display())]
    NothingChecked(PathBuf),
}

/// `relayout.toml:3:1: unknown key`, one on each line.
fn problem_lines(path: &Path, error: &ConfigError) -> String {
    let place = path.display();
    let lines = error.problems.iter();
    let lines = lines.map(|problem| format!("{place}:{}: {}", problem.at, problem.message));
    lines.collect::<Vec<String>>().join("\n")
}

/// Rules with what was recorded.
pub struct CheckRules {
    /// Where the rules are.
    pub path: PathBuf,
    /// The rules.
    pub config: CheckConfig,
    /// What was recorded, if there is a lock file.
    pub lock: Option<LayoutLock>,
}

impl CheckRules {
    /// Reads the rules and the lock file that `args` name, or those of the usual names.
    pub fn read(args: &Args) -> anyhow::Result<Self> {
        let path = match &args.config {
            Some(path) => path.clone(),
            None => find_config()?,
        };
        let text = read_text(&path)?;
        let config = CheckConfig::parse(&text).map_err(config_error(&path))?;
        let lock_path = lock_path(args, &path);
        let lock = match fs::read_to_string(&lock_path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound && args.lock.is_none() => None,
            text => {
                let text = text.with_context(|| format!("cannot read {}", lock_path.display()))?;
                Some(LayoutLock::parse(&text).map_err(config_error(&lock_path))?)
            }
        };
        Ok(Self { path, config, lock })
    }
}

/// Where the lock file is, or is to be.
pub fn lock_path(args: &Args, config: &Path) -> PathBuf {
    let beside = || config.with_file_name(LOCK_NAME);
    args.lock.clone().unwrap_or_else(beside)
}

fn config_error(path: &Path) -> impl FnOnce(ConfigError) -> Error {
    |problems_found| Error::Config {
        path: path.to_owned(),
        problems_found,
    }
}

fn find_config() -> anyhow::Result<PathBuf> {
    let here = env::current_dir().context("cannot tell the current folder")?;
    let mut above = here.ancestors().map(|folder| folder.join(CONFIG_NAME));
    let found = above
        .find(|path| path.is_file())
        .ok_or_else(|| Error::NoConfig(here.clone()))?;
    // As the user would write it, if it is in this folder.
    let short = found.strip_prefix(&here).map(Path::to_owned);
    Ok(short.unwrap_or(found))
}

/// The path from the root, links left as they are.
pub fn absolute(path: &Path) -> anyhow::Result<PathBuf> {
    std::path::absolute(path).with_context(|| format!("cannot tell where {} is", path.display()))
}

/// What conditions ask of the file at `path`. The kernel's configuration is the one given, or else
/// the `.config` beside the file, where its build leaves it.
pub fn facts(path: &Path, kconfig: Option<&Path>) -> anyhow::Result<FileFacts> {
    let bytes =
        relayout_host::map_file(path).with_context(|| format!("cannot read {}", path.display()))?;
    let mut facts = FileFacts::from_headers(path.display().to_string(), &bytes);
    let beside = path.with_file_name(".config");
    let source = kconfig.or_else(|| beside.is_file().then_some(&*beside));
    if let Some(source) = source {
        let config = KernelConfig::parse(&read_text(source)?);
        if config.is_empty() {
            return Err(Error::NoKconfig(source.to_owned()).into());
        }
        facts.kernel_config = Some(config);
    }
    Ok(facts)
}

/// The text of a file.
pub fn read_text(path: &Path) -> anyhow::Result<String> {
    fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))
}

/// The day of `$SOURCE_DATE_EPOCH`, which reproducible builds set, or else today.
pub fn today() -> Date {
    let set = env::var("SOURCE_DATE_EPOCH").ok();
    let set = set.and_then(|text| text.parse::<u64>().ok());
    let now = || {
        let since = SystemTime::now().duration_since(UNIX_EPOCH);
        since.map_or(0, |since| since.as_secs())
    };
    Date::from_unix_seconds(set.unwrap_or_else(now))
}

/// A date on the command line.
pub fn date(text: &str) -> Result<Date, String> {
    Date::parse(text).ok_or_else(|| "not a date (2027-01-31)".to_owned())
}
