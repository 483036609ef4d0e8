//! Layouts of files and headers, checked against the rules of `relayout.toml`.
//!
//! ```no_run
//! use relayout_session::check::{CheckRequest, CheckRules, check_subjects, open_subjects};
//! use relayout_messages::SilentProgress;
//!
//! let request = CheckRequest {
//!     files: vec!["vmlinux".into()],
//!     ..CheckRequest::default()
//! };
//! let rules = CheckRules::read(&request)?;
//! let notify = |note: &str| println!("{note}");
//! let subjects = open_subjects(&request, &rules.config, &SilentProgress, &notify)?;
//! let outcome = check_subjects(&request, &rules, &subjects, &notify)?;
//! println!("{} violations", outcome.violations.len());
//! # Ok::<(), relayout_messages::UserError>(())
//! ```

mod headers;
mod lock_update;
mod rules;
mod subjects;

use std::path::{Path, PathBuf};

use relayout_check::emit::{AssertionEmitter, EmitForm, EmittedAssertions};
use relayout_check::{CheckOutcome, CheckSettings, Date, FileFacts, LayoutCheck};
use relayout_files::cannot;
use relayout_layout::catalog::{DebugInfoFormat, TypeCatalog};
use relayout_messages::UserError;

use crate::with_types;

pub use headers::{CompiledHeader, HeaderSources, NamedDatabase};
pub use lock_update::{HotProfiles, UpdatedLock, update_lock};
pub use rules::{CheckRules, today};
pub use subjects::{CheckedSubject, open_subjects};

/// Files to check, and the rules for them.
#[derive(Clone, Debug, Default)]
pub struct CheckRequest {
    /// Files with debug information.
    pub files: Vec<PathBuf>,
    /// Headers to compile and check.
    pub sources: HeaderSources,
    /// File of the rules; `None` for `relayout.toml` in the current folder or above.
    pub config: Option<PathBuf>,
    /// Configurations that the files are of.
    pub configurations: Vec<String>,
    /// The kernel's `.config`; `None` for the one beside the file.
    pub kconfig: Option<PathBuf>,
    /// Lock file; `None` for `relayout.lock` beside the rules.
    pub lock: Option<PathBuf>,
    /// Earlier build, to name the changes that moved a member.
    pub baseline: Option<PathBuf>,
    /// Debug information to read.
    pub format: DebugInfoFormat,
    /// Base of split BTF.
    pub btf_base: Option<PathBuf>,
    /// Day for waivers; `None` for today.
    pub today: Option<Date>,
}

/// Judges the subjects by the rules.
///
/// # Errors
/// A file cannot be read, a condition cannot be told, or no rule applies to any subject.
pub fn check_subjects(
    request: &CheckRequest,
    rules: &CheckRules,
    subjects: &[CheckedSubject],
    notify: &dyn Fn(&str),
) -> Result<CheckOutcome, UserError> {
    let baseline = match &request.baseline {
        Some(path) => with_file(request, path, notify, |catalog, facts| {
            Ok(relayout_check::baseline_types(
                &rules.config,
                facts,
                catalog,
            )?)
        })?,
        None => Vec::new(),
    };
    // Only an update makes a lock file that was asked for.
    if let (Some(path), None) = (&request.lock, &rules.lock) {
        std::fs::metadata(path).map_err(cannot("read", path))?;
    }
    let settings = CheckSettings {
        today: request.today.unwrap_or_else(today),
        configurations: &request.configurations,
        lock: rules.lock.as_ref(),
        baseline: &baseline,
    };
    let mut check = LayoutCheck::new(&rules.config, settings);
    for subject in subjects {
        let config = &rules.config;
        subject.with_types(request, config, notify, |catalog, facts, named, wanted| {
            Ok(check.judge_file_where(catalog, facts, named, wanted)?)
        })?;
    }
    Ok(check.finish())
}

/// Renders the assertions that apply to the subjects as C.
///
/// # Errors
/// Those of [`check_subjects`].
pub fn emit_assertions(
    request: &CheckRequest,
    rules: &CheckRules,
    subjects: &[CheckedSubject],
    form: EmitForm,
    notify: &dyn Fn(&str),
) -> Result<EmittedAssertions, UserError> {
    let today = request.today.unwrap_or_else(today);
    let mut emitter = AssertionEmitter::new(&rules.config, rules.lock.as_ref(), form, today);
    for subject in subjects {
        let config = &rules.config;
        subject.with_types(request, config, notify, |catalog, facts, named, wanted| {
            Ok(emitter.add_file(facts, named, catalog, wanted)?)
        })?;
    }
    let headers: Vec<String> = request
        .sources
        .headers
        .iter()
        .map(|path| path.display().to_string())
        .collect();
    Ok(emitter.finish(&headers))
}

/// Opens a file for its types and for the facts that conditions need.
fn with_file<T>(
    request: &CheckRequest,
    path: &Path,
    notify: &dyn Fn(&str),
    then: impl FnOnce(&TypeCatalog<'_>, &FileFacts) -> Result<T, UserError>,
) -> Result<T, UserError> {
    let base = request.btf_base.as_deref();
    with_types(path, request.format, base, notify, |catalog| {
        let facts = rules::file_facts(path, request.kconfig.as_deref())?;
        then(catalog, &facts)
    })
}
