//! `relayout doctor`: what works here, and what to install.

use relayout_host::{Cache, find_collector};

use crate::exit::Exit;
use crate::print::print;

/// Say which tools and files recording needs, which are here, and how to get the rest
#[derive(Debug, clap::Args)]
pub struct Args {}

/// Runs the command. Ends with 3 if recording a kernel is not possible.
///
/// # Errors
/// Standard output cannot be written to.
pub fn run(_args: &Args) -> anyhow::Result<Exit> {
    let cache = Cache::locate();
    let mut all_there = true;
    let mut lines = String::new();
    let mut line = |what: &str, found: Result<String, String>| {
        all_there &= found.is_ok();
        let state = if found.is_ok() { "ok" } else { "missing" };
        let text = found.unwrap_or_else(|text| text);
        lines.push_str(&format!("{state:<8} {what:<16} {text}\n"));
    };
    let fetch = || "run scripts/setup.sh, or name your own file".to_owned();
    let shown =
        |path: Option<std::path::PathBuf>| path.map(|p| p.display().to_string()).ok_or_else(fetch);
    line(
        "QEMU with plugin",
        match find_collector(None, cache.as_ref()) {
            Ok(collector) => Ok(format!(
                "{}: {}, {}",
                collector.qemu.display(),
                collector.describe(),
                if collector.sees_values() {
                    "silent stores are seen"
                } else {
                    "silent stores are not seen"
                }
            )),
            Err(error) => Err(error.to_string()),
        },
    );
    line("kernel image", shown(cache.as_ref().and_then(Cache::image)));
    line("vmlinux", shown(cache.as_ref().and_then(Cache::debug)));
    line(
        "kernel source",
        shown(cache.as_ref().and_then(Cache::source)),
    );
    print(&lines)?;
    Ok(if all_there {
        Exit::Done
    } else {
        Exit::Environment
    })
}
