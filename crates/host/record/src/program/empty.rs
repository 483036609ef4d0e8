//! Recordings in which there is nothing, and how that came about.

use std::sync::atomic::Ordering::*;

use relayout_profile::{AccessCoverage, Profile};
use relayout_shadow::control::{RecordingControl, RecordingStage};

use super::ProgramBackend;
use super::facts::RecordingFacts;

/// Returns the reason why the profile is empty, and the remedy; `None` if it is not. The program did
/// not fail.
pub fn explain_empty(
    profile: &Profile,
    facts: &RecordingFacts<'_>,
    first: &RecordingControl,
) -> Option<String> {
    let follows = facts.backend.follows_forks(facts.recording);
    let others = first.others.load(Acquire);
    if !follows && others > 0 && profile.transfers() == 0 {
        let remedy = match facts.backend {
            ProgramBackend::CompiledIn => "leave out --no-follow-forks",
            _ => "build it with relayout cc, or have it stay in the foreground",
        };
        return Some(format!(
            "no line moved between threads of its first process, and processes that it forked or started, \
             as daemons do, are not recorded ({others}): {remedy}"
        ));
    }
    if profile.meta.runs.iter().any(|run| run.accesses > 0) || !profile.lines.is_empty() {
        return None;
    }
    let ended = profile
        .meta
        .runs
        .first()
        .map_or("", |run| run.ended.as_str());
    let stage = RecordingStage::from_u32(first.state.load(Acquire));
    let code = match facts.backend {
        ProgramBackend::CompiledIn => "code built with relayout cc",
        _ => "its code",
    };
    let closed = profile.meta.runs.iter().any(|run| run.window_wall_ns > 0);
    Some(if profile.meta.coverage == AccessCoverage::Sliced {
        "it made no access in the slices that were recorded: say --slices 1, or take a larger share"
            .into()
    } else if stage == RecordingStage::Waiting || !closed {
        "it has a marker that begins its recording (relayout_start), and ended before it came to that".into()
    } else if ended.starts_with("the program replaced") {
        format!("{ended}, before {code} accessed memory")
    } else {
        format!("it ended before {code} accessed memory that threads can share")
    })
}
