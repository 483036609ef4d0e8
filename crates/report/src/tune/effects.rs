//! Ways in which the numbers of a run came about. No sentence mixes two of them.

use relayout_advice::BenchEffect;
use relayout_probe::MachineIdentity;
use relayout_workflows::tune::{TuneSettings, TuneTarget};

use crate::words::counted;

/// Says how measurements came about: `Measured on AMD EPYC, 2 CPUs of a virtual machine, in 10 pairs
/// of starts`.
pub(super) fn measured_words(machine: &MachineIdentity, effects: &[&BenchEffect]) -> String {
    let of_machine = match machine.virtual_machine {
        true => " of a virtual machine",
        false => "",
    };
    format!(
        "Measured on {}, {}{of_machine}, in {} of starts",
        machine.cpu,
        counted(machine.cpus.into(), "CPU"),
        range_words(effects.iter().map(|effect| effect.samples), "pair")
    )
}

/// Says how counts came about: `Counted under QEMU with 4 CPUs, in 6 pairs of boots`.
pub(super) fn counted_words(settings: &TuneSettings, effects: &[&BenchEffect]) -> String {
    let recordings = effects.iter().map(|effect| effect.samples);
    match &settings.target {
        TuneTarget::Kernel(kernel) => format!(
            "Counted under QEMU with {}, in {} of boots",
            counted(kernel.cpus.into(), "CPU"),
            range_words(recordings, "pair")
        ),
        TuneTarget::Program(_) => format!(
            "Counted in {} of each build",
            range_words(recordings, "recording")
        ),
    }
}

/// Returns `10 pairs`, or `10 to 30 pairs`.
fn range_words(counts: impl Iterator<Item = usize> + Clone, noun: &str) -> String {
    let least = counts.clone().min().unwrap_or(0);
    let most = counts.max().unwrap_or(0);
    match least == most {
        true => counted(most as u64, noun),
        false => format!("{least} to {}", counted(most as u64, noun)),
    }
}
