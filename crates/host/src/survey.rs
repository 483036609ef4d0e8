//! What recording and measuring programs needs, and what of it is here.

use std::env;
use std::fs;

use crate::Cache;
use crate::cc::try_out;
use crate::installed::installed;
use crate::perf::{Sampler, find_perf, sampler};
use crate::program::{RUNTIME, can_fix_addresses};
use crate::qemu::find_program_collector;

/// One thing that was looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// What.
    pub what: &'static str,
    /// How it stands.
    pub state: State,
    /// What is there, or what would help.
    pub text: String,
}

/// How a thing stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// It is there, and works.
    Works,
    /// It is not there; something can be done about it.
    Missing,
    /// This machine cannot do it, or only in part; other ways remain.
    Limited,
}

/// Looks at all of it. Takes about a second: compilers are tried out.
pub fn survey() -> Vec<Finding> {
    vec![
        runtime(),
        compiler("gcc", "package gcc"),
        compiler("clang", "package clang, 14 or newer; gcc alone will do"),
        qemu_user(),
        perf(),
        addresses(),
        priority(),
        cpus(),
    ]
}

fn finding(what: &'static str, state: State, text: impl Into<String>) -> Finding {
    Finding {
        what,
        state,
        text: text.into(),
    }
}

fn runtime() -> Finding {
    match installed("runtime of recorded programs", RUNTIME) {
        Ok(path) => finding("runtime", State::Works, path.display().to_string()),
        Err(error) => finding("runtime", State::Missing, error.to_string()),
    }
}

fn compiler(name: &'static str, package: &str) -> Finding {
    if !in_path(name) {
        return finding(name, State::Missing, package);
    }
    match try_out(name) {
        Ok(()) => finding(name, State::Works, "builds programs with relayout cc"),
        Err(why) => finding(name, State::Missing, why),
    }
}

fn qemu_user() -> Finding {
    let what = "qemu-user";
    match find_program_collector(Cache::locate().as_ref()) {
        Ok(collector) => finding(
            what,
            State::Works,
            format!(
                "{}: {}; for programs that were not built with relayout cc",
                collector.qemu.display(),
                collector.describe()
            ),
        ),
        Err(error) => finding(
            what,
            State::Missing,
            format!(
                "{}; programs built with relayout cc do without",
                error.to_string().replace('\n', " ")
            ),
        ),
    }
}

fn perf() -> Finding {
    let what = "hardware samples";
    let Some(name) = sampler().map(Sampler::name) else {
        return finding(
            what,
            State::Limited,
            "this machine has none (no mem-loads, ibs_op or arm_spe; virtual machines seldom do); perf.data \
             of another one can be imported",
        );
    };
    if find_perf().is_none() {
        return finding(
            what,
            State::Missing,
            format!("{name} is here; perf is not: package linux-perf"),
        );
    }
    let level = first_line("/proc/sys/kernel/perf_event_paranoid").unwrap_or_default();
    let text = format!("{name}, by record run --with perf; perf_event_paranoid is {level}");
    finding(what, State::Works, text)
}

fn addresses() -> Finding {
    match can_fix_addresses() {
        true => finding(
            "addresses",
            State::Works,
            "programs are recorded at the same addresses each time",
        ),
        false => finding(
            "addresses",
            State::Limited,
            "randomised: this container or sandbox forbids personality(2), so that addresses differ between \
             recordings",
        ),
    }
}

fn priority() -> Finding {
    // A thread of its own, because it is that thread's priority which changes.
    let works = std::thread::spawn(|| {
        // SAFETY: plain system calls.
        unsafe {
            let parameters = libc::sched_param { sched_priority: 1 };
            libc::sched_setscheduler(0, libc::SCHED_FIFO, &parameters) == 0
        }
    });
    match works.join() {
        Ok(true) => finding(
            "real-time priority",
            State::Works,
            "SCHED_FIFO for probe and verify",
        ),
        _ => finding(
            "real-time priority",
            State::Limited,
            "SCHED_FIFO is not permitted: probe and verify are noisier. As root, or with 'ulimit -r 1', it is",
        ),
    }
}

fn cpus() -> Finding {
    match std::thread::available_parallelism().map_or(1, |n| n.get()) {
        1 => finding(
            "CPUs",
            State::Limited,
            "1 for this process: threads take turns. Recording works, with yields; probe and verify measure \
             no contention",
        ),
        n => finding("CPUs", State::Works, format!("{n} for this process")),
    }
}

pub(crate) fn in_path(name: &str) -> bool {
    let dirs = env::var_os("PATH").unwrap_or_default();
    env::split_paths(&dirs).any(|dir| dir.join(name).is_file())
}

fn first_line(path: &str) -> Option<String> {
    fs::read_to_string(path)
        .ok()?
        .lines()
        .next()
        .map(str::to_owned)
}
