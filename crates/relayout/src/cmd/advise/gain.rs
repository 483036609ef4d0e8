//! What candidates are predicted to gain, on the machine that was probed.

use std::path::{Path, PathBuf};

use anyhow::bail;
use relayout_contend::throughput::{Costs, Gain, Habit, Load, Question, waiting};
use relayout_contend::{Extent, TraceAccess};
use relayout_host::probe::{self, AccessCost, MachineFile};
use relayout_host::{Error, Progress as _};
use relayout_layout::abi::Layout;
use relayout_search::{Advice, Instance, Subject, Verdict, waits_by_stretch};

use super::TypeAdvice;
use crate::input::Input;

/// Where predictions come from.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct Machine {
    /// Predict throughput, and weigh pairs of lines, by what is in this file [default: what `relayout probe`
    /// measured on this machine]
    #[arg(long, value_name = "FILE")]
    pub machine: Option<PathBuf>,
    /// Predict it for N CPUs that do what the recorded ones do [default: as many as were recorded]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(2..=4096))]
    pub cpus: Option<u32>,
}

/// What is known of the machine that is asked about.
#[derive(Clone, Debug, Default)]
pub struct Probed {
    /// What a pair transfer costs there, in transfers; 0 where it is not known.
    pub pair_coefficient: f64,
    /// Why no throughput is predicted although the machine was probed: a sentence.
    note: Option<String>,
    costs: Option<Costs>,
    cpus: Option<u32>,
}

impl Machine {
    /// Reads what was measured; a `pair_coefficient` that is given counts instead of the measured one.
    ///
    /// # Errors
    /// A file that cannot be read, or that was named and has no costs.
    pub(in crate::cmd) fn probed(&self, pair_coefficient: Option<f64>) -> anyhow::Result<Probed> {
        let file = match &self.machine {
            Some(path) => Some(MachineFile::read(path).map_err(unreadable)?),
            None => probe::load()?,
        };
        let measured = file.as_ref().and_then(|file| file.pair_coefficient.value);
        let mut probed = Probed {
            pair_coefficient: pair_coefficient.or(measured).unwrap_or(0.0),
            costs: file.as_ref().and_then(costs),
            cpus: self.cpus,
            note: None,
        };
        if file.is_some() && probed.costs.is_none() {
            match &self.machine {
                Some(path) => bail!("{}", without_costs(path, "relayout probe -o FILE")),
                None => {
                    let path = MachineFile::default_path().unwrap_or_default();
                    let why = without_costs(&path, "relayout probe");
                    probed.note = Some(format!("No throughput is predicted: {why}."));
                }
            }
        }
        Ok(probed)
    }
}

/// Errors of the document itself say what to do.
fn unreadable(error: Error) -> anyhow::Error {
    match error {
        Error::MachineFile { .. } => error.into(),
        error => anyhow::Error::from(error)
            .context("`relayout probe -o FILE` writes what --machine reads"),
    }
}

fn without_costs(path: &Path, command: &str) -> String {
    format!(
        "{}: it does not have what all accesses cost: an earlier version wrote it, or the machine was too noisy; \
         `{command}` measures again",
        path.display()
    )
}

impl Probed {
    /// Adds what the first `top` candidates and the given layouts gain, if that can be told; gives sentences that
    /// say why not.
    pub(in crate::cmd) fn predict(
        &self,
        input: &Input<'_>,
        all: &mut [TypeAdvice<'_>],
        top: usize,
    ) -> Vec<String> {
        let mut notes: Vec<String> = self.note.iter().cloned().collect();
        let Some(costs) = &self.costs else {
            return notes;
        };
        for one in all {
            if let Some(why) = waits(one) {
                notes.push(why);
                continue;
            }
            input
                .progress
                .step(&format!("predicting what layouts of {} gain", one.name));
            add(input, one, top, (costs, self.cpus));
        }
        notes
    }
}

/// Where contexts wait for one another's stores to objects of the type, none of them is as fast as it would be
/// by itself.
fn waits(one: &TypeAdvice<'_>) -> Option<String> {
    let found = waiting(one.instances.iter().map(|instance| &instance.trace));
    let most = found.iter().max_by_key(|waiting| waiting.times)?;
    let layout = one.shape.lay_out(&one.shape.current());
    let holds = |instance: &&Instance| one.atom_at(&layout, instance, most.offset).is_some();
    let instance = one.instances.iter().find(holds)?;
    let atom = one.atom_at(&layout, instance, most.offset)?;
    Some(format!(
        "No throughput is predicted for struct {}: contexts wait for one another there ({} looks at '{}' until \
         another has stored to it, {} times in what was recorded in order).",
        one.name, most.context, one.shape.atoms[atom].name, most.times
    ))
}

fn costs(file: &MachineFile) -> Option<Costs> {
    let mut costs = Costs {
        // The first is of the CPUs on which accesses were measured.
        transfer_ns: file.transfers.first()?.ns?,
        ..Costs::default()
    };
    for own in Habit::ALL {
        for other in Habit::ALL {
            if (own, other) == (Habit::Load, Habit::Load) {
                continue;
            }
            let of = |cost: &&AccessCost| cost.kind == name(own) && cost.against == name(other);
            let cost = file.accesses.iter().find(of)?;
            costs.alone_ns[own as usize] = cost.alone_ns.value?;
            costs.contended_ns[own as usize][other as usize] = cost.contended_ns.value?;
        }
    }
    Some(costs)
}

/// As the machine file has it.
fn name(habit: Habit) -> &'static str {
    match habit {
        Habit::Load => "load",
        Habit::Store => "store",
        Habit::Update => "update",
        Habit::Exchange => "exchange",
    }
}

/// Adds to the first `top` candidates, without checks and with them, and to the user's layouts, what they gain.
fn add(
    input: &Input<'_>,
    one: &mut TypeAdvice<'_>,
    top: usize,
    (costs, contexts): (&Costs, Option<u32>),
) {
    let Ok(advice) = &one.outcome else { return };
    let subject = one.subject(input.line_bytes);
    let load = Load::new(input.profile, &extents(&subject));
    let question = Question {
        load: &load,
        costs,
        contexts,
    };
    let plain = Predicted::of(&question, subject, |_| false, advice, advice.shown(top));
    let checked = one.check.as_ref().map(|check| {
        let advice = &check.checked.advice;
        let mut wanted = advice.shown(top);
        let alone = check.checked.alone_at();
        wanted.extend(alone.filter(|alone| !wanted.contains(alone)));
        Predicted::of(&question, subject, check.guards(), advice, wanted)
    });
    if let Ok(advice) = &mut one.outcome {
        plain.put_into(advice);
    }
    if let (Some(checked), Some(check)) = (checked, &mut one.check) {
        checked.put_into(&mut check.checked.advice);
    }
}

/// What layouts gain, if that can be told.
struct Predicted {
    /// Candidates, by index.
    wanted: Vec<usize>,
    /// Theirs, then those of the given layouts.
    gains: Vec<Option<Gain>>,
}

impl Predicted {
    /// Of these candidates of `advice` and what was given, with a check before stores that are `guarded`.
    fn of(
        question: &Question<'_>,
        subject: Subject<'_>,
        guarded: impl Fn(&TraceAccess) -> bool,
        advice: &Advice,
        wanted: Vec<usize>,
    ) -> Self {
        let candidates = wanted.iter().map(|index| &advice.candidates[*index]);
        let layouts = candidates.chain(&advice.given).map(|one| &one.layout);
        let layouts: Vec<&Layout> = layouts.collect();
        let stretches = waits_by_stretch(subject, guarded, &layouts);
        Self {
            wanted,
            gains: stretches.iter().map(|one| question.gain(one)).collect(),
        }
    }

    fn put_into(self, advice: &mut Advice) {
        let mut gains = self.gains.into_iter();
        for index in self.wanted {
            advice.candidates[index].gain = gains.next().flatten();
        }
        for given in &mut advice.given {
            given.gain = gains.next().flatten();
        }
        let best = advice
            .candidates
            .first()
            .and_then(|best| best.gain.as_ref());
        if advice.verdict == Verdict::Better && best.is_some_and(Gain::is_loss) {
            advice.verdict = Verdict::Slower;
        }
    }
}

/// Where the objects are that were logged in order: what replay says is of those.
fn extents(subject: &Subject<'_>) -> Vec<Extent> {
    let end = |instance: &Instance| instance.trace.covered.iter().map(|bytes| bytes.end).max();
    let instances = subject.instances.iter();
    let mut extents: Vec<Extent> = instances
        .map(|instance| Extent {
            run: instance.run,
            base: instance.trace.base,
            bytes: end(instance).unwrap_or(0),
        })
        .collect();
    extents.sort_unstable();
    extents.dedup();
    extents
}
