//! `relayout doctor`: what works here, and what to install.

use std::path::PathBuf;

use relayout_host::kernel_build::check_needs;
use relayout_host::survey::{Finding, State, survey};
use relayout_host::{Cache, find_collector};

use crate::exit::Exit;
use crate::print::print;

/// Say what recording and measuring need, what of it is here, and how to get the rest
///
/// Ends with 3 if neither a kernel nor a program can be recorded here.
#[derive(Debug, clap::Args)]
pub struct Args {}

/// Runs the command.
///
/// # Errors
/// Standard output cannot be written to.
pub fn run(_args: &Args) -> anyhow::Result<Exit> {
    let kernels = kernels();
    let programs = survey();
    let works = |findings: &[Finding], what: &str| {
        findings
            .iter()
            .any(|f| f.what == what && f.state == State::Works)
    };
    let kernel = ["QEMU with plugin", "kernel image", "vmlinux"]
        .iter()
        .all(|what| works(&kernels, what));
    let program =
        works(&programs, "runtime") && (works(&programs, "gcc") || works(&programs, "clang"));
    let mut text = String::from("Recording kernels\n");
    kernels
        .iter()
        .for_each(|finding| text.push_str(&line(finding)));
    text.push_str("Recording and measuring programs\n");
    programs
        .iter()
        .for_each(|finding| text.push_str(&line(finding)));
    print(&text)?;
    Ok(match kernel || program {
        true => Exit::Done,
        false => Exit::Environment,
    })
}

fn line(finding: &Finding) -> String {
    let state = match finding.state {
        State::Works => "ok",
        State::Missing => "missing",
        State::Limited => "limited",
    };
    format!("  {state:<8} {:<18} {}\n", finding.what, finding.text)
}

fn kernels() -> Vec<Finding> {
    let cache = Cache::locate();
    let file = |what, of: fn(&Cache) -> Option<PathBuf>| match cache.as_ref().and_then(of) {
        Some(path) => Finding {
            what,
            state: State::Works,
            text: path.display().to_string(),
        },
        None => Finding {
            what,
            state: State::Missing,
            text: "run scripts/setup.sh, or name your own file".into(),
        },
    };
    vec![
        qemu(cache.as_ref()),
        file("kernel image", Cache::image),
        file("vmlinux", Cache::debug),
        file("kernel source", Cache::source),
        builds(),
    ]
}

fn builds() -> Finding {
    let what = "kernel builds";
    match check_needs() {
        Ok(()) => Finding {
            what,
            state: State::Works,
            text: "make, gcc and the rest that `verify kernel` builds with".into(),
        },
        Err(error) => Finding {
            what,
            state: State::Missing,
            text: error.to_string(),
        },
    }
}

fn qemu(cache: Option<&Cache>) -> Finding {
    let what = "QEMU with plugin";
    match find_collector(None, cache) {
        Ok(collector) => {
            let not = if collector.sees_values() { "" } else { "not " };
            Finding {
                what,
                state: State::Works,
                text: format!(
                    "{}: {}, silent stores are {not}seen",
                    collector.qemu.display(),
                    collector.describe()
                ),
            }
        }
        Err(error) => Finding {
            what,
            state: State::Missing,
            text: error.to_string().replace('\n', " "),
        },
    }
}
