//! Flags that are added before and after the user's own arguments.

use std::ffi::OsString;
use std::path::Path;

use super::arguments::{BuildRequest, BuildStage};
use super::compiler::CompilerFamily;

/// First GCC that can leave out the calls at each function's begin and end, which we do not need.
const GCC_WITHOUT_ENTRY_CALLS: u32 = 12;

/// Returns the flags to put before, and those to put after the user's arguments. In `stand_in` GCC
/// finds an empty library instead of libtsan.
///
/// What the user says of debug information and of instrumentation wins, as it comes later.
pub fn recording_flags(
    compiler: CompilerFamily,
    request: &BuildRequest,
    runtime: &Path,
    stand_in: Option<&Path>,
) -> (Vec<OsString>, Vec<OsString>) {
    let mut before: Vec<OsString> = Vec::new();
    let mut after: Vec<OsString> = Vec::new();
    if request.stage == BuildStage::Preprocess {
        // Nothing of what is added shows in preprocessed text.
        return (before, after);
    }
    // Code that asks whether it is instrumented is to be as it is in production.
    before.extend(["-g", "-fsanitize=thread", "-U__SANITIZE_THREAD__"].map(OsString::from));
    match compiler {
        CompilerFamily::Gcc { major } => {
            if major >= Some(GCC_WITHOUT_ENTRY_CALLS) {
                before.push("--param=tsan-instrument-func-entry-exit=0".into());
            }
            if let Some(folder) = stand_in {
                before.push("-B".into());
                before.push(folder.into());
            }
        }
        CompilerFamily::Clang => {
            before.push("-fno-sanitize-link-runtime".into());
            push_without_warnings(
                &mut before,
                [
                    "-mllvm",
                    "-tsan-instrument-func-entry-exit=0",
                    // Else `x++` is a write alone.
                    "-mllvm",
                    "-tsan-compound-read-before-write=1",
                ]
                .map(OsString::from),
            );
        }
    }
    after.push("-fno-omit-frame-pointer".into());
    if request.lto {
        after.push("-fno-lto".into());
        if compiler == CompilerFamily::Clang {
            push_without_warnings(&mut after, ["-fno-whole-program-vtables".into()]);
        }
    }
    if request.stage == BuildStage::Link {
        match compiler {
            CompilerFamily::Gcc { .. } => after.extend(runtime_link_flags(runtime)),
            CompilerFamily::Clang => push_without_warnings(&mut after, runtime_link_flags(runtime)),
        }
    }
    (before, after)
}

/// Clang tells of arguments that a step has no use for; of ours it need not.
fn push_without_warnings(flags: &mut Vec<OsString>, arguments: impl IntoIterator<Item = OsString>) {
    flags.push("--start-no-unused-arguments".into());
    flags.extend(arguments);
    flags.push("--end-no-unused-arguments".into());
}

/// The runtime, whatever the user told the linker of libraries that are not needed; found again where
/// it is now.
fn runtime_link_flags(runtime: &Path) -> impl Iterator<Item = OsString> {
    let folder = runtime.parent().unwrap_or(Path::new("/"));
    [
        "--push-state".into(),
        "--no-as-needed".into(),
        "-Bdynamic".into(),
        runtime.into(),
        "--pop-state".into(),
        "-rpath".into(),
        folder.into(),
    ]
    .into_iter()
    .flat_map(|word: OsString| ["-Xlinker".into(), word])
}
