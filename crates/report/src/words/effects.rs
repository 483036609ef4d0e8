//! Ways in which the numbers of a run came about. No sentence mixes two of them.

use relayout_probe::MachineIdentity;
use relayout_workflows::tune::{SHARE_MIN, TuneEnding, TuneOutcome, TuneSettings, TuneTarget};

use crate::words::counted;
use crate::words::percent::whole_percent;

/// Says how measurements with these numbers of pairs came about: `Measured on AMD EPYC, 2 CPUs of a
/// virtual machine, in 10 pairs of starts`.
pub(crate) fn measured_words(machine: &MachineIdentity, pairs: &[usize]) -> String {
    let of_machine = match machine.virtual_machine {
        true => " of a virtual machine",
        false => "",
    };
    format!(
        "Measured on {}, {}{of_machine}, in {} of starts",
        machine.cpu,
        counted(machine.cpus.into(), "CPU"),
        range_words(pairs, "pair")
    )
}

/// Says how counts in these numbers of recordings came about: `Counted under QEMU with 4 CPUs, in 6 pairs
/// of boots`. Programs have no CPUs of guests.
pub(crate) fn counted_words(guest_cpus: Option<u16>, recordings: &[usize]) -> String {
    match guest_cpus {
        Some(cpus) => format!(
            "Counted under QEMU with {}, in {} of boots",
            counted(cpus.into(), "CPU"),
            range_words(recordings, "pair")
        ),
        None => format!(
            "Counted in {} of each build",
            range_words(recordings, "recording")
        ),
    }
}

/// Says how rates in simulated time came about: `Simulated on sapphire-rapids-2s with 16 CPUs, in 12 pairs of boots`.
pub(crate) fn simulated_words(machine: &str, guest_cpus: Option<u16>, pairs: &[usize]) -> String {
    let cpus = guest_cpus.map_or(0, u64::from);
    format!(
        "Simulated on {machine} with {}, in {} of boots",
        counted(cpus, "CPU"),
        range_words(pairs, "pair")
    )
}

/// Returns the machine in whose simulated time guests execute; `None` for other orders.
pub(crate) fn guest_machine(settings: &TuneSettings) -> Option<String> {
    let TuneTarget::Kernel(kernel) = &settings.target else {
        return None;
    };
    { kernel.machine.as_ref() }.map(|machine| machine.name.display().to_string())
}

/// Returns the CPUs of guests; `None` for programs.
pub(crate) fn guest_cpus(settings: &TuneSettings) -> Option<u16> {
    match &settings.target {
        TuneTarget::Kernel(kernel) => Some(kernel.cpus),
        TuneTarget::Program(_) => None,
    }
}

/// Returns `10 pairs`, or `10 to 30 pairs`.
fn range_words(counts: &[usize], noun: &str) -> String {
    let least = counts.iter().min().copied().unwrap_or(0);
    let most = counts.iter().max().copied().unwrap_or(0);
    match least == most {
        true => counted(most as u64, noun),
        false => format!("{least} to {}", counted(most as u64, noun)),
    }
}

/// Says what came out of a run, in one sentence.
pub(crate) fn outcome_words(outcome: &TuneOutcome) -> String {
    let kept = outcome.kept().count() as u64;
    let rejected = outcome.changes.len() as u64 - kept;
    let ending = match outcome.ending {
        TuneEnding::NothingLeft => format!(
            "no other type is left of which a layout saves {} of the transfers of {}",
            whole_percent(SHARE_MIN),
            outcome.settings.main_bench()
        ),
        TuneEnding::Time => {
            "the time is spent; the same command with more --time goes on".to_owned()
        }
        TuneEnding::Changes => {
            "as many are kept as --changes allows; the same command with more goes on".to_owned()
        }
    };
    format!(
        "{} kept and {rejected} rejected, in {} of work: {ending}",
        counted(kept, "change"),
        duration_words(outcome.seconds)
    )
}

/// Returns `45 s`, `3 min`, `1 h 20 min`.
fn duration_words(seconds: f64) -> String {
    let minutes = (seconds / 60.0).round() as u64;
    match minutes {
        0 | 1 => format!("{seconds:.0} s"),
        2..60 => format!("{minutes} min"),
        _ => format!("{} h {} min", minutes / 60, minutes % 60),
    }
}
