//! The guest from its boot to the end of its window.

use std::sync::atomic::Ordering::*;
use std::time::{Duration, Instant};

use relayout_files::InterruptFlag;
use relayout_messages::RecordingProgress;
use relayout_shadow::control::RecordingStage;

use super::KernelRecording;
use super::boot_progress::BootProgress;
use crate::Error;
use crate::host_load::HostLoad;
use crate::qemu::QemuMachine;
use crate::workspace::RecordingWorkspace;

const POLL_INTERVAL: Duration = Duration::from_millis(10);
/// Line of the console that says that the guest has booted.
const GUEST_IS_UP: &str = "relayout-guest: ready";

/// End of a window.
pub enum WindowEnding {
    /// The marker closed the window.
    Closed,
    /// An error ended the window early, and a part was recorded.
    CutShort(Error),
}

impl WindowEnding {
    /// The error that ended the window early, if one did.
    pub fn error(&self) -> Option<&Error> {
        match self {
            Self::Closed => None,
            Self::CutShort(error) => Some(error),
        }
    }
}

/// A window that has ended.
pub struct WatchedWindow {
    pub ending: WindowEnding,
    /// [`RecordedRun::lost_share`](relayout_profile::RecordedRun::lost_share)
    pub lost_share: Option<f64>,
}

/// Waits until the window closes or something ends it.
///
/// # Errors
/// QEMU or the guest ended before the window opened.
pub fn watch_window(
    machine: &mut QemuMachine,
    workspace: &RecordingWorkspace,
    recording: &KernelRecording,
    progress: &dyn RecordingProgress,
    interrupt: InterruptFlag,
) -> Result<WatchedWindow, Error> {
    let control = workspace.control();
    let mut load = None;
    let ended = |ending, load: &Option<HostLoad>| {
        let own_ns = control.window_cpu_ns.load(Acquire);
        Ok(WatchedWindow {
            ending,
            lost_share: load.as_ref().and_then(|load| load.lost_share(own_ns)),
        })
    };
    let mut deadline = Instant::now() + recording.time_limit;
    let mut boot = BootProgress::default();
    loop {
        let stage = RecordingStage::from_u32(control.state.load(Acquire));
        if load.is_none() && stage != RecordingStage::Waiting && stage != RecordingStage::Starting {
            load = Some(HostLoad::begin());
            deadline = Instant::now() + recording.time_limit;
            progress.step("recording");
        }
        match stage {
            RecordingStage::Closed | RecordingStage::Finished if !has_guest_failed(machine) => {
                return ended(WindowEnding::Closed, &load);
            }
            RecordingStage::Failed => {
                let error = collector_failed(machine, workspace);
                return ended(WindowEnding::CutShort(error), &load);
            }
            _ => {}
        }
        let has_opened = load.is_some();
        let outside = OutsideLimits {
            deadline,
            time_limit: recording.time_limit,
            interrupt,
            has_opened,
        };
        if let Some(error) = outside_end(machine, &outside, &mut boot) {
            return match has_opened {
                true => ended(WindowEnding::CutShort(error), &load),
                false => Err(error),
            };
        }
        if has_opened {
            let read = |n: &std::sync::atomic::AtomicU64| n.load(Relaxed);
            progress.window(
                read(&control.accesses),
                read(&control.transfers),
                read(&control.operations),
            );
        }
        std::thread::sleep(POLL_INTERVAL);
    }
}

/// Waits until the guest is held at its start marker.
///
/// # Errors
/// QEMU or the guest ended before, the time is over, or the user interrupts.
pub fn wait_for_marker(
    machine: &mut QemuMachine,
    workspace: &RecordingWorkspace,
    recording: &KernelRecording,
    interrupt: InterruptFlag,
) -> Result<(), Error> {
    let outside = OutsideLimits {
        deadline: Instant::now() + recording.time_limit,
        time_limit: recording.time_limit,
        interrupt,
        has_opened: false,
    };
    let mut boot = BootProgress::default();
    let stage = || RecordingStage::from_u32(workspace.control().state.load(Acquire));
    while stage() != RecordingStage::Held {
        if let Some(error) = outside_end(machine, &outside, &mut boot) {
            return Err(error);
        }
        std::thread::sleep(POLL_INTERVAL);
    }
    Ok(())
}

/// Returns whether the console says so, in a line that may not be complete.
fn has_guest_failed(machine: &QemuMachine) -> bool {
    failure_on_console(&machine.console()).is_some()
}

/// Limits of a window, besides its guest.
struct OutsideLimits {
    deadline: Instant,
    /// Time up to the deadline.
    time_limit: Duration,
    interrupt: InterruptFlag,
    has_opened: bool,
}

/// Returns the event that ends the window from outside, if one happened.
fn outside_end(
    machine: &mut QemuMachine,
    outside: &OutsideLimits,
    boot: &mut BootProgress,
) -> Option<Error> {
    let OutsideLimits {
        deadline,
        time_limit,
        interrupt,
        has_opened,
    } = *outside;
    if interrupt.is_set() {
        return Some(Error::Interrupted);
    }
    // What a guest that has ended wrote is complete.
    let exit_status = machine.exit_status();
    let console = machine.console();
    let is_up = has_opened || console.contains(GUEST_IS_UP);
    let standstill = || boot.standstill(Instant::now(), machine.cpu_time()?);
    let event = boot_fault(&console).filter(|_| !has_opened);
    if let Some(event) = event.or_else(|| (!is_up).then(standstill).flatten()) {
        return Some(Error::BootFault {
            event,
            console: machine.console_tail(),
        });
    }
    let said = match exit_status {
        Some(_) => &console,
        None => complete_lines(&console),
    };
    if let Some(why) = failure_on_console(said) {
        return Some(Error::Guest {
            why,
            console: machine.console_tail(),
        });
    }
    if let Some(status) = exit_status {
        return Some(if is_up {
            Error::Guest {
                why: format!("ended before its workload was done (QEMU: {status})"),
                console: machine.console_tail(),
            }
        } else {
            machine.qemu_error(&format!("ended before the guest was up ({status})"))
        });
    }
    if Instant::now() > deadline {
        let progress_text = if has_opened {
            "is still running its workload"
        } else {
            "has not begun its workload"
        };
        let why = format!(
            "{progress_text} after {} s (see --time-limit)",
            time_limit.as_secs()
        );
        return Some(Error::Guest {
            why,
            console: machine.console_tail(),
        });
    }
    None
}

/// Returns the console without the line that the guest is still writing.
fn complete_lines(console: &str) -> &str {
    console.rfind('\n').map_or("", |end| &console[..=end])
}

/// Returns the failure of a program whose script went on without programs that the guest lacks, by what its shell wrote.
pub(super) fn missing_programs_failure(console: &str) -> Option<String> {
    let mut names: Vec<&str> = console.lines().filter_map(missing_program).collect();
    names.dedup();
    (!names.is_empty()).then(|| {
        let names = names.join(", ");
        format!("has no {names}, which the script calls (--file PATH brings a program)")
    })
}

/// Returns the program that a shell did not find: `x.sh: 3: fio: not found`, `x.sh: line 3: fio: command not found`.
fn missing_program(line: &str) -> Option<&str> {
    let rest = line.trim_end().strip_suffix(": not found");
    let rest = rest.or_else(|| line.trim_end().strip_suffix(": command not found"))?;
    let (before, name) = rest.rsplit_once(": ")?;
    let (_, number) = before.rsplit_once(": ")?;
    let number = number.strip_prefix("line ").unwrap_or(number);
    let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then_some(name)
}

/// Returns the failure that the console reports, if one.
fn failure_on_console(console: &str) -> Option<String> {
    console.lines().find_map(|line| {
        if let Some(at) = line.find("Kernel panic - not syncing") {
            return Some(format!("panicked: {}", &line[at..]));
        }
        let said = line.trim().strip_prefix("relayout-guest: ")?;
        if let Some(why) = said.strip_prefix("failed: ") {
            return Some(format!("failed: {why}"));
        }
        let status = said.strip_prefix("program exited with status ");
        if status.is_some_and(|s| s.trim() != "0") || said.starts_with("program killed by signal") {
            return Some(format!("failed: {said}"));
        }
        None
    })
}

/// Returns the event by which the boot failed, if it is rare enough to boot again.
fn boot_fault(console: &str) -> Option<String> {
    if has_lost_timer(console) {
        return Some("a timer interrupt was lost".to_owned());
    }
    crash_in_boot(console).map(str::to_owned)
}

/// Returns how the kernel names the exception that it died of, if that was before any program ran.
///
/// Seen on x86 under QEMU 7.2, in the idle task of a CPU that had just come up.
fn crash_in_boot(console: &str) -> Option<&str> {
    let is_fatal = console.contains("Kernel panic - not syncing: Fatal exception");
    if !is_fatal || console.contains(GUEST_IS_UP) {
        return None;
    }
    const NAMES: [&str; 3] = ["BUG: ", "Oops: ", "Kernel panic - "];
    NAMES.iter().find_map(|name| {
        let from = console.find(name)?;
        console[from..].lines().next()
    })
}

/// Returns whether the kernel says that a timer was due long ago, and its interrupt did not come.
///
/// QEMU 10.0 rarely loses the write by which an x86 CPU ends a timer interrupt, early in the boot: its
/// APIC has the interrupt in service from then on, and lets no other of its priority or less through.
fn has_lost_timer(console: &str) -> bool {
    console.lines().any(|line| {
        line.contains("rcu: ") && line.contains(" kthread timer wakeup didn't happen for ")
    })
}

fn collector_failed(machine: &QemuMachine, workspace: &RecordingWorkspace) -> Error {
    match workspace.collector_errno() {
        0 => machine.qemu_error("lost its recording plugin"),
        _ => workspace.write_error(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(console: &str, expect: Option<&str>) {
        assert_eq!(failure_on_console(console).as_deref(), expect, "{console}");
    }

    #[test]
    fn tells_a_lost_timer_on_the_console() {
        let check = |console, expect| assert_eq!(has_lost_timer(console), expect, "{console}");
        check(
            "[  253.7] rcu: rcu_preempt kthread timer wakeup didn't happen for 5251 jiffies! g-1139 f0x0\n",
            true,
        );
        check(
            "[   21.0] rcu: INFO: rcu_preempt self-detected stall on CPU\n",
            false,
        );
        check("relayout-guest: ready\n", false);
    }

    #[test]
    fn tells_a_crash_in_the_boot() {
        let check = |console: &str, expect| assert_eq!(crash_in_boot(console), expect, "{console}");
        let panic = "Kernel panic - not syncing: Fatal exception in interrupt";
        let crash = format!(
            "[    1.4] BUG: kernel NULL pointer dereference, address: 0\n[    1.4] {panic}\n"
        );
        check(
            &crash,
            Some("BUG: kernel NULL pointer dereference, address: 0"),
        );
        check(&format!("relayout-guest: ready\n{crash}"), None);
        check(&format!("[    1.4] {panic}\n"), Some(panic));
        check("[    1.0] Kernel panic - not syncing: VFS\n", None);
        check("[    1.0] BUG: sleeping function called\n", None);
    }

    #[test]
    fn a_failure_is_told_when_its_line_is_complete() {
        let console = "relayout-guest: ready\nrelayout-guest: failed: append: 41 re";
        assert_eq!(complete_lines(console), "relayout-guest: ready\n");
        let console = format!("{console}cords of 40\n");
        assert_eq!(complete_lines(&console), console);
        assert_eq!(complete_lines("relayout"), "");
    }

    #[test]
    fn tells_programs_that_a_shell_did_not_find() {
        let console =
            "x.sh: 3: fio: not found\nx.sh: line 4: dbench: command not found\nfile x: not found\n";
        let expect = "has no fio, dbench, which the script calls (--file PATH brings a program)";
        assert_eq!(missing_programs_failure(console).as_deref(), Some(expect));
        assert_eq!(missing_programs_failure("key: value: not found\n"), None);
    }

    #[test]
    fn tells_failures_on_the_console() {
        check(
            "relayout-guest: ready\nrelayout-guest: done operations=3\n",
            None,
        );
        check(
            "[    1.0] Kernel panic - not syncing: VFS\n",
            Some("panicked: Kernel panic - not syncing: VFS"),
        );
        check(
            "relayout-guest: failed: mmap (No memory)\n",
            Some("failed: mmap (No memory)"),
        );
        check("relayout-guest: program exited with status 0\n", None);
        check(
            "relayout-guest: program exited with status 3\n",
            Some("failed: program exited with status 3"),
        );
    }
}
