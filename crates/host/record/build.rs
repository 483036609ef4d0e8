//! Compiles the guest's program (`collectors/guest`) into one static binary, which is embedded, and
//! asks it for its list of workloads.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

use system_package::system_package;

/// The table of packages that messages of the command use, too.
#[allow(dead_code)]
#[path = "system_package.rs"]
mod system_package;

fn main() {
    let guest = Path::new("guest");
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    let binary = out.join("relayout-guest");
    println!("cargo::rerun-if-changed={}", guest.display());
    println!("cargo::rerun-if-env-changed=CC");
    let compiler = env::var("CC").unwrap_or_else(|_| "cc".into());
    let mut sources: Vec<PathBuf> = fs::read_dir(guest)
        .expect("collectors/guest is part of the source tree")
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.extension().is_some_and(|e| e == "c"))
        .collect();
    sources.sort();
    let status = Command::new(&compiler)
        .args([
            "-std=gnu11",
            "-O2",
            "-Wall",
            "-Wextra",
            "-static",
            "-pthread",
            "-o",
        ])
        .arg(&binary)
        .args(&sources)
        .status();
    match status {
        Ok(status) if status.success() => {}
        Ok(_) => {
            let package = system_package("libc.a");
            fail(&format!(
                "the guest's program did not compile (it needs a static C library: {package})"
            ))
        }
        Err(error) => {
            let package = system_package("gcc");
            fail(&format!(
                "cannot run {compiler}: {error} (package {package})"
            ))
        }
    }
    let list = Command::new(&binary)
        .arg("list")
        .output()
        .unwrap_or_else(|error| fail(&format!("the guest's program does not run: {error}")));
    fs::write(out.join("workloads.txt"), list.stdout).expect("OUT_DIR can be written to");
}

fn fail(why: &str) -> ! {
    println!("cargo::error={why}");
    std::process::exit(1)
}
