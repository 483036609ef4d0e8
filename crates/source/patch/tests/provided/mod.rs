//! What tests need that not every machine has: without it they say so and pass, and with `CI=true` fail.

// Not every test uses all of it.
#![allow(dead_code)]

use std::path::PathBuf;
use std::process::Command;

/// The file or folder that a variable names, as `./test` sets it.
pub fn file(variable: &str) -> Option<PathBuf> {
    let path = std::env::var_os(variable).map(PathBuf::from);
    let found = path.filter(|path| path.exists());
    if found.is_none() {
        pass_over(&format!(
            "{variable} does not name what is there: run ./test, or scripts/setup.sh and set it to what that \
             fetches"
        ));
    }
    found
}

/// Whether all these programs are installed.
pub fn programs(names: &[&str]) -> bool {
    let missing =
        { names.iter() }.find(|name| Command::new(name).arg("--version").output().is_err());
    if let Some(name) = missing {
        pass_over(&format!("{name} is not installed"));
    }
    missing.is_none()
}

fn pass_over(why: &str) {
    let demanded = std::env::var("CI").is_ok_and(|value| value == "true");
    assert!(!demanded, "{why}");
    eprintln!("PASSED OVER: {why}");
}
