//! `relayout doctor`: what works here, and what to install.

use relayout_host::{Cache, find_collector};

use crate::exit::Exit;

/// Say which tools and files recording needs, which are here, and how to get the rest
#[derive(Debug, clap::Args)]
pub struct Args {}

/// Runs the command. Ends with 3 if recording a kernel is not possible.
///
/// # Errors
/// None.
pub fn run(_args: &Args) -> anyhow::Result<Exit> {
    let cache = Cache::locate();
    let mut all_there = true;
    let mut line = |what: &str, found: Result<String, String>| {
        all_there &= found.is_ok();
        match found {
            Ok(text) => println!("ok       {what:<16} {text}"),
            Err(text) => println!("missing  {what:<16} {text}"),
        }
    };
    let fetch = || "run scripts/setup.sh, or name your own file".to_owned();
    let shown = |path: Option<std::path::PathBuf>| path.map(|p| p.display().to_string()).ok_or_else(fetch);
    line("QEMU with plugin", match find_collector(None, cache.as_ref()) {
        Ok(collector) => Ok(format!(
            "{}: {}, {}",
            collector.qemu.display(),
            collector.describe(),
            if collector.sees_values() { "silent stores are seen" } else { "silent stores are not seen" }
        )),
        Err(error) => Err(error.to_string()),
    });
    line("kernel image", shown(cache.as_ref().and_then(Cache::image)));
    line("vmlinux", shown(cache.as_ref().and_then(Cache::debug)));
    line("kernel source", shown(cache.as_ref().and_then(Cache::source)));
    Ok(if all_there { Exit::Done } else { Exit::Environment })
}
