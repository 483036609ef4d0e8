//! Requirements of tests: programs, kernels and sources that a machine may lack.
//!
//! A function of this crate returns what a test needs, or fails the test with the command that
//! installs it. No test passes because something was missing, neither in CI nor elsewhere:
//!
//! ```no_run
//! # fn main() {
//! relayout_testkit::require_programs(&["gcc", "clang"]);
//! let vmlinux: std::path::PathBuf = relayout_testkit::vmlinux();
//! # }
//! ```
//!
//! A test that needs a privilege or hardware that no package brings is marked
//! `#[ignore = "needs ..."]`, and `./test --long` runs it.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The command that installs and fetches everything that the tests need.
const REMEDY: &str = "run scripts/setup.sh --tests";

/// Fails the test unless each of these programs can be started.
#[track_caller]
pub fn require_programs(names: &[&str]) {
    for name in names {
        assert!(is_installed(name), "this test needs {name}: {REMEDY}");
    }
}

/// Fails the test unless the program says that it is exactly this version.
#[track_caller]
pub fn require_version(program: &str, version: &str) {
    let output = Command::new(program).arg("--version").output();
    let output =
        output.unwrap_or_else(|error| panic!("this test needs {program}: {error}: {REMEDY}"));
    let found = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    assert_eq!(
        found, version,
        "this test needs {program} {version}: {REMEDY}"
    );
}

/// Fails the test unless rustup has the toolchain, such as `nightly`.
#[track_caller]
pub fn require_rust_toolchain(name: &str) {
    let mut command = Command::new("rustc");
    command.arg(format!("+{name}")).arg("--version");
    let output = command.output();
    assert!(
        output.is_ok_and(|output| output.status.success()),
        "this test needs Rust's {name} toolchain: run rustup toolchain install {name}"
    );
}

/// Fails the test unless this process may use so many CPUs.
#[track_caller]
pub fn require_cpus(count: usize) {
    let found = std::thread::available_parallelism().map_or(1, usize::from);
    assert!(
        found >= count,
        "this test needs {count} CPUs, and this process may use {found}"
    );
}

/// Fails the test unless `path`, which the build of the crate `package` makes, exists.
#[track_caller]
pub fn require_built(path: &Path, package: &str) {
    assert!(
        path.exists(),
        "this test needs {}: cargo build -p {package}, with the profile of the tests",
        path.display()
    );
}

/// Returns true if `name` is a program that answers to `--version`.
pub fn is_installed(name: &str) -> bool {
    let mut command = Command::new(name);
    command.arg("--version");
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    command.status().is_ok()
}

/// Fails the test unless the compiler accepts `source`, a program of the language `language` (as
/// `-x` takes it), with `flags`.
#[track_caller]
pub fn require_compiler(program: &str, flags: &[&str], language: &str, source: &str) {
    assert!(
        compiles(program, flags, language, source),
        "this test needs {program} {}: {REMEDY}",
        flags.join(" ")
    );
}

/// Returns true if the compiler accepts the source text.
fn compiles(program: &str, flags: &[&str], language: &str, source: &str) -> bool {
    use std::io::Write as _;
    let mut command = Command::new(program);
    command
        .args(flags)
        .args(["-fsyntax-only", "-x", language, "-"]);
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let Ok(mut compiler) = command.spawn() else {
        return false;
    };
    // A compiler that ends early closes the pipe; its exit code tells.
    let _ = compiler
        .stdin
        .take()
        .map(|mut input| input.write_all(source.as_bytes()));
    compiler.wait().is_ok_and(|status| status.success())
}

/// Compiles a C file with gcc and returns the bytes of the output file.
#[track_caller]
pub fn compile_c(source: &Path, flags: &[&str]) -> Vec<u8> {
    require_programs(&["gcc"]);
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let output = folder.path().join("out");
    let mut command = Command::new("gcc");
    command.args(flags).arg("-o").args([&output, source]);
    let done = command.output().expect("gcc runs");
    let errors = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success(), "{command:?}: {errors}");
    std::fs::read(output).expect("gcc wrote its output")
}

/// Fails the test unless `path` exists; `what` names it for the reader.
#[track_caller]
pub fn require_file(what: &str, path: &Path) -> PathBuf {
    assert!(
        path.exists(),
        "this test needs {what}, and {} does not exist: {REMEDY}",
        path.display()
    );
    path.to_owned()
}

/// The cache folder of relayout: `$RELAYOUT_CACHE`, else `$XDG_CACHE_HOME/relayout`, else
/// `~/.cache/relayout`.
#[track_caller]
pub fn cache_folder() -> PathBuf {
    let variable = |name: &str| std::env::var_os(name).map(PathBuf::from);
    variable("RELAYOUT_CACHE")
        .or_else(|| variable("XDG_CACHE_HOME").map(|folder| folder.join("relayout")))
        .or_else(|| variable("HOME").map(|folder| folder.join(".cache/relayout")))
        .unwrap_or_else(|| panic!("this test needs a cache folder: set HOME or RELAYOUT_CACHE"))
}

/// The cached kernel's file with debug information; `$RELAYOUT_VMLINUX` names another.
#[track_caller]
pub fn vmlinux() -> PathBuf {
    named_or_cached(
        "a kernel's vmlinux",
        "RELAYOUT_VMLINUX",
        "kernel/current/vmlinux",
    )
}

/// The file with debug information of a further kernel in the cache: `6.12`, `newest`.
#[track_caller]
pub fn further_vmlinux(name: &str) -> PathBuf {
    let path = cache_folder().join("kernel").join(name).join("vmlinux");
    assert!(
        path.exists(),
        "this test needs kernel {name}, and {} does not exist: run scripts/setup.sh --kernel {name}",
        path.display()
    );
    path
}

/// The folder with the npm packages of `package-lock.json` in the folder `tests`.
#[track_caller]
pub fn npm_packages(tests: &Path) -> PathBuf {
    let installed = cache_folder().join("browser/current");
    let lock = |folder: &Path| std::fs::read(folder.join("package-lock.json")).ok();
    assert!(
        lock(&installed).is_some() && lock(&installed) == lock(tests),
        "this test needs the npm packages of {} in {}: {REMEDY}",
        tests.join("package-lock.json").display(),
        installed.display()
    );
    installed
}

/// The boot image of the cached kernel.
#[track_caller]
pub fn boot_image() -> PathBuf {
    require_file(
        "a kernel's boot image",
        &cache_folder().join("kernel/current/vmlinuz"),
    )
}

/// The source tree of the cached kernel; `$RELAYOUT_SOURCE` names another.
#[track_caller]
pub fn kernel_source() -> PathBuf {
    named_or_cached("a kernel's source", "RELAYOUT_SOURCE", "source/current")
}

#[track_caller]
fn named_or_cached(what: &str, variable: &str, in_cache: &str) -> PathBuf {
    let path = match std::env::var_os(variable) {
        Some(path) => PathBuf::from(path),
        None => cache_folder().join(in_cache),
    };
    require_file(what, &path)
}
