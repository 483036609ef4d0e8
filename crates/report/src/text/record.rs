//! Summaries of recordings, and the workloads of the guest.

use std::path::Path;

use relayout_profile::{Profile, RecordedRun};

use crate::words::simulated_time::{simulated_machine_words, simulated_time_words};
use crate::words::{busy_host_words, counted, out_of_order_words, recorded_time_words};

fn total(profile: &Profile, number: fn(&RecordedRun) -> u64) -> u64 {
    profile.meta.runs.iter().map(number).sum()
}

/// Returns `812 accesses`, `69.8 M accesses`.
fn access_count(profile: &Profile) -> String {
    const IN_FULL_MAX: u64 = 100_000;
    match total(profile, |run| run.accesses) {
        count @ ..IN_FULL_MAX => counted(count, "access"),
        count => format!("{:.1} M accesses", count as f64 / 1e6),
    }
}

/// Returns lines that warn of an order that cannot be trusted, or nothing.
fn order_warnings(profile: &Profile) -> String {
    let meta = &profile.meta;
    let busy =
        busy_host_words(meta).map(|words| format!("{words}; record again when it is idle\n"));
    let out_of_order = out_of_order_words(meta).map(|words| words + "\n");
    { busy.into_iter() }.chain(out_of_order).collect()
}

/// Returns a line that says which part of the time was recorded, or nothing if all of it was.
fn recorded_time_line(profile: &Profile) -> String {
    let times = profile.meta.recorded_times();
    let remedy = match times.iter().any(|time| time.whole_ns > 0) {
        true => " (--slices 1 records all of it)",
        false => "",
    };
    recorded_time_words(&profile.meta)
        .map_or(String::new(), |words| format!("recorded {words}{remedy}\n"))
}

/// Summarizes the recording of a kernel.
pub fn kernel_summary(output: &Path, profile: &Profile) -> String {
    let system = format!(" of Linux {}", profile.meta.release);
    guest_summary(output, profile, &system)
}

/// Summarizes the recording of a program in simulated time.
pub fn simulated_program_summary(output: &Path, profile: &Profile) -> String {
    guest_summary(output, profile, "")
}

/// Summarizes a recording in a guest, whose CPUs are those of `system`.
fn guest_summary(output: &Path, profile: &Profile, system: &str) -> String {
    let time = simulated_time_words(&profile.meta.runs).unwrap_or_else(|| {
        let cpu_ns = total(profile, |run| run.window_cpu_ns);
        format!("{:.1} s of CPU time in the window", cpu_ns as f64 / 1e9)
    });
    let machine = { profile.meta.simulated_machine.as_ref() }.map_or(String::new(), |machine| {
        simulated_machine_words(machine) + "\n"
    });
    // A program without markers has no operations.
    let operations = match total(profile, |run| run.operations) {
        0 => String::new(),
        count => counted(count, "operation") + ", ",
    };
    format!(
        "{}: {} on {} CPUs{system}: {operations}{}, {}, {time}\n{machine}{}",
        output.display(),
        profile.meta.workload,
        profile.meta.contexts,
        access_count(profile),
        counted(profile.transfers(), "transfer"),
        order_warnings(profile),
    )
}

/// Summarizes the recording of a program.
pub fn program_summary(output: &Path, profile: &Profile) -> String {
    let runs = &profile.meta.runs;
    let threads = runs.iter().map(|run| run.threads.len());
    let further = runs.iter().filter(|run| run.is_further_process()).count();
    let threads = match further {
        0 => counted(threads.max().unwrap_or(0) as u64, "thread"),
        _ => format!(
            "{} processes, {}",
            runs.len(),
            counted(threads.sum::<usize>() as u64, "thread")
        ),
    };
    format!(
        "{}: {}: {threads}, {}, {}, {:.1} s of CPU time\n{}{}",
        output.display(),
        profile.meta.workload,
        access_count(profile),
        counted(profile.transfers(), "transfer"),
        total(profile, |run| run.window_cpu_ns) as f64 / 1e9,
        recorded_time_line(profile),
        order_warnings(profile),
    )
}

/// Summarizes imported samples.
pub fn samples_summary(output: &Path, profile: &Profile) -> String {
    let meta = &profile.meta;
    let origin = match meta.target.as_str() {
        "kernel" => format!("kernel addresses, by {} CPUs", meta.contexts),
        _ => format!("{}, by {} threads", meta.release, meta.contexts),
    };
    let hitm = if meta.hitm_seen {
        "HITM told"
    } else {
        "HITM not told"
    };
    format!(
        "{}: {} samples of {origin}: {} instructions, {} places; {hitm}\n",
        output.display(),
        total(profile, |run| run.accesses),
        profile.sites.len(),
        profile.counts.len(),
    )
}

/// Renders the windows of a recording without a workload.
pub fn idle_text(profile: &Profile) -> String {
    let runs = profile.meta.runs.iter();
    runs.map(|run| {
        let counted = match run.accesses {
            0 => String::new(),
            accesses => format!(", {accesses} accesses"),
        };
        format!(
            "idle window: {:.3} s of CPU time, {:.3} s, {} operations{counted}\n",
            run.window_cpu_ns as f64 / 1e9,
            run.window_wall_ns as f64 / 1e9,
            run.operations
        )
    })
    .collect()
}
