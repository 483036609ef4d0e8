//! Flags that are added before and after the user's own arguments.

use std::ffi::OsString;
use std::path::Path;

use super::arguments::{BuildRequest, BuildStage};
use super::calls::call_flags;
use super::compiler::CompilerFamily;

/// First GCC that can leave out the calls at each function's begin and end, which we do not need.
const GCC_WITHOUT_ENTRY_CALLS: u32 = 12;
/// First GCC that warns at each fence that its ThreadSanitizer does not understand fences.
const GCC_WITH_FENCE_WARNINGS: u32 = 11;

/// Returns the flags to put before, and those to put after the user's arguments. In `stand_in` GCC
/// finds an empty library instead of libtsan.
///
/// The user's own flags for debug information and instrumentation come later, and win.
pub fn recording_flags(
    compiler: CompilerFamily,
    request: &BuildRequest,
    runtime: &Path,
    stand_in: Option<&Path>,
) -> (Vec<OsString>, Vec<OsString>) {
    let mut before: Vec<OsString> = Vec::new();
    let mut after: Vec<OsString> = Vec::new();
    if request.stage == BuildStage::Preprocess {
        // Preprocessed text shows none of the added flags.
        return (before, after);
    }
    // Code that asks whether it is instrumented is to be as it is in production.
    before.extend(["-g", "-fsanitize=thread", "-U__SANITIZE_THREAD__"].map(OsString::from));
    // A function that ends by a jump into the runtime, or into a function of the C library, would
    // leave only the place that called it.
    before.push("-fno-optimize-sibling-calls".into());
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
                    // Without it, `x++` would be a write alone.
                    "-mllvm",
                    "-tsan-compound-read-before-write=1",
                ]
                .map(OsString::from),
            );
        }
    }
    after.push("-fno-omit-frame-pointer".into());
    if let CompilerFamily::Gcc { major } = compiler {
        after.extend(gcc_code_flags(major, request.is_c));
    }
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

/// Returns GCC's flags for code that the runtime sees all of.
fn gcc_code_flags(major: Option<u32>, is_c: bool) -> Vec<OsString> {
    let mut flags: Vec<OsString> = vec!["-mstringop-strategy=libcall".into()];
    if major >= Some(GCC_WITH_FENCE_WARNINGS) {
        flags.push("-Wno-tsan".into());
    }
    if is_c {
        flags.extend(call_flags(major));
    }
    flags
}

/// Adds flags about which Clang would warn in steps that do not use them.
fn push_without_warnings(flags: &mut Vec<OsString>, arguments: impl IntoIterator<Item = OsString>) {
    flags.push("--start-no-unused-arguments".into());
    flags.extend(arguments);
    flags.push("--end-no-unused-arguments".into());
}

/// Returns the flags that link the runtime, even if the user drops unneeded libraries. The program
/// finds the runtime at its present path.
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
