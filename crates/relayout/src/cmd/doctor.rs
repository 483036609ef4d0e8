//! `relayout doctor`: what works here, and what to install.

use std::path::PathBuf;

use relayout_files::CacheFolder;
use relayout_record::find_collector;
use relayout_session::survey::{SurveyItem, SurveyState, survey_machine};
use relayout_toolchain::kernel_build::require_needs;

use crate::exit::ExitStatus;
use crate::print::print_text;

/// Say what recording and measuring need, what of it is here, and how to get the rest
///
/// Ends with 3 if neither a kernel nor a program can be recorded here.
#[derive(Debug, clap::Args)]
pub struct Args {}

/// Runs the command.
///
/// # Errors
/// Standard output cannot be written to.
pub fn run(_args: &Args) -> anyhow::Result<ExitStatus> {
    let kernels = kernel_findings();
    let programs = survey_machine();
    let works = |findings: &[SurveyItem], name: &str| {
        findings
            .iter()
            .any(|f| f.subject == name && f.state == SurveyState::Works)
    };
    let kernel = ["QEMU with plugin", "kernel image", "vmlinux"]
        .iter()
        .all(|name| works(&kernels, name));
    let program =
        works(&programs, "runtime") && (works(&programs, "gcc") || works(&programs, "clang"));
    let mut text = String::from("Recording kernels\n");
    kernels
        .iter()
        .for_each(|finding| text.push_str(&finding_line(finding)));
    text.push_str("Recording and measuring programs\n");
    programs
        .iter()
        .for_each(|finding| text.push_str(&finding_line(finding)));
    print_text(&text)?;
    Ok(match kernel || program {
        true => ExitStatus::Done,
        false => ExitStatus::Environment,
    })
}

fn finding_line(finding: &SurveyItem) -> String {
    let state = match finding.state {
        SurveyState::Works => "ok",
        SurveyState::Missing => "missing",
        SurveyState::Limited => "limited",
    };
    format!("  {state:<8} {:<18} {}\n", finding.subject, finding.text)
}

fn kernel_findings() -> Vec<SurveyItem> {
    let cache = CacheFolder::locate();
    let file =
        |what, locate: fn(&CacheFolder) -> Option<PathBuf>| match cache.as_ref().and_then(locate) {
            Some(path) => SurveyItem {
                subject: what,
                state: SurveyState::Works,
                text: path.display().to_string(),
            },
            None => SurveyItem {
                subject: what,
                state: SurveyState::Missing,
                text: "run scripts/setup.sh, or name your own file".into(),
            },
        };
    vec![
        qemu_finding(cache.as_ref()),
        file("kernel image", CacheFolder::kernel_image),
        file("vmlinux", CacheFolder::kernel_debug_file),
        file("kernel source", CacheFolder::kernel_source),
        build_finding(),
    ]
}

fn build_finding() -> SurveyItem {
    let what = "kernel builds";
    match require_needs() {
        Ok(()) => SurveyItem {
            subject: what,
            state: SurveyState::Works,
            text: "make, gcc and the rest that `verify kernel` builds with".into(),
        },
        Err(error) => SurveyItem {
            subject: what,
            state: SurveyState::Missing,
            text: error.to_string(),
        },
    }
}

fn qemu_finding(cache: Option<&CacheFolder>) -> SurveyItem {
    let what = "QEMU with plugin";
    match find_collector(None, cache) {
        Ok(collector) => {
            let not = if collector.sees_values() { "" } else { "not " };
            SurveyItem {
                subject: what,
                state: SurveyState::Works,
                text: format!(
                    "{}: {}, silent stores are {not}seen",
                    collector.qemu.display(),
                    collector.describe()
                ),
            }
        }
        Err(error) => SurveyItem {
            subject: what,
            state: SurveyState::Missing,
            text: error.to_string().replace('\n', " "),
        },
    }
}
