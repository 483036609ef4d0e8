//! The rules, the lock file, and the facts that conditions need.

use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};
use std::{env, io};

use relayout_check::{CheckConfig, ConfigError, Date, FileFacts, KernelConfig, LayoutLock};
use relayout_files::{cannot, read_regular_text};
use relayout_messages::{ProblemReason, UserError};

use super::CheckRequest;

/// File of the rules, in the current folder or above.
const CONFIG_NAME: &str = "relayout.toml";
/// Lock file, beside the rules.
const LOCK_NAME: &str = "relayout.lock";

/// The rules and the lock file.
#[derive(Clone, Debug)]
pub struct CheckRules {
    /// File of the rules.
    pub path: PathBuf,
    /// The rules.
    pub config: CheckConfig,
    /// Path of the lock file, which may not exist.
    pub lock_path: PathBuf,
    /// The lock file; `None` if there is none.
    pub lock: Option<LayoutLock>,
}

impl CheckRules {
    /// Reads the rules and the lock file.
    ///
    /// # Errors
    /// There are no rules, or a file cannot be read or is wrong.
    pub fn read(request: &CheckRequest) -> Result<Self, UserError> {
        let path = match &request.config {
            Some(path) => path.clone(),
            None => find_config()?,
        };
        let config =
            CheckConfig::parse(&read_text(&path)?).map_err(|error| wrong_config(&path, &error))?;
        let lock_path = match &request.lock {
            Some(path) => path.clone(),
            None => path.with_file_name(LOCK_NAME),
        };
        let lock = match read_regular_text(&lock_path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            text => {
                let text = text.map_err(cannot("read", &lock_path))?;
                Some(LayoutLock::parse(&text).map_err(|error| wrong_config(&lock_path, &error))?)
            }
        };
        Ok(Self {
            path,
            config,
            lock_path,
            lock,
        })
    }
}

/// Names the file in each problem of it: `relayout.toml:3:1: unknown key`, one on each line.
fn wrong_config(path: &Path, error: &ConfigError) -> UserError {
    let place = path.display();
    let lines =
        { error.problems.iter() }.map(|problem| format!("{place}:{}: {problem}", problem.at));
    let text = lines.collect::<Vec<String>>().join("\n");
    let remedy = match &error.problems[..] {
        [problem] => problem.remedy.clone(),
        _ => None,
    };
    ProblemReason::from_sentence(text, remedy).into()
}

fn find_config() -> Result<PathBuf, UserError> {
    let current = env::current_dir().map_err(UserError::wrap("cannot tell the current folder"))?;
    let path = current
        .ancestors()
        .map(|folder| folder.join(CONFIG_NAME))
        .find(|path| path.is_file())
        .ok_or_else(|| {
            let message = format!(
                "there is no {CONFIG_NAME} in {} or above",
                current.display()
            );
            UserError::input(message).with_remedy(
                "write one (`relayout check --help` shows how) or give one with --config FILE",
            )
        })?;
    // As the user would write it, if it is in this folder.
    Ok(path
        .strip_prefix(&current)
        .map(Path::to_owned)
        .unwrap_or(path))
}

/// Reads the facts about the file at `path` that conditions need. The kernel's configuration is
/// `kconfig`, or else the `.config` that a build leaves beside the file.
pub(super) fn file_facts(path: &Path, kconfig: Option<&Path>) -> Result<FileFacts, UserError> {
    let bytes = relayout_files::map_file(path).map_err(cannot("read", path))?;
    let mut facts = FileFacts::from_headers(path.display().to_string(), &bytes);
    let beside = path.with_file_name(".config");
    let kconfig = kconfig.or_else(|| beside.is_file().then_some(&*beside));
    if let Some(kconfig) = kconfig {
        let config = KernelConfig::parse(&read_text(kconfig)?);
        if config.is_empty() {
            return Err(UserError::input(format!(
                "{} is no kernel configuration: no line of it sets an option",
                kconfig.display()
            )));
        }
        facts.kernel_config = Some(config);
    }
    Ok(facts)
}

pub(super) fn read_text(path: &Path) -> Result<String, UserError> {
    Ok(read_regular_text(path).map_err(cannot("read", path))?)
}

/// Returns the day of `$SOURCE_DATE_EPOCH`, which reproducible builds set, or else today.
pub fn today() -> Date {
    let epoch = env::var("SOURCE_DATE_EPOCH")
        .ok()
        .and_then(|text| text.parse::<u64>().ok());
    let now = || {
        let since = SystemTime::now().duration_since(UNIX_EPOCH);
        since.map_or(0, |since| since.as_secs())
    };
    Date::from_unix_seconds(epoch.unwrap_or_else(now))
}
