//! Predicted gain over the number of CPUs, by the timed model.

mod site_roles;

use std::collections::{BTreeMap, BTreeSet};

use relayout_contend::{AccessTarget, AddressNamer as _};
use relayout_layout::abi::StructLayout;
use relayout_profile::{AccessKind, Addr, ClockUnit, RunId, SiteId};
use relayout_search::{ObjectPlacements, ObjectPlacer};
use relayout_timed::{
    AccessStep, CurveInputs, LineLayout as _, LineName, MachineRules, MissingOperations,
    OperationAccess, OperationDivision, OperationLog, PUBLISHED_CPUS, PlacedOperations,
    PredictedCurve, SiteRole, SiteRoles, TimedMachine,
};

use super::gains::waiting_words;
use super::searched::SearchedType;
use crate::{ResolvedNames, ResolvedProfile};
use site_roles::{is_of_program_lock, role_of_functions, waiting_function};

/// Seed of the simulations: the same recording gives the same curve.
const SEED: u64 = 0x7265_6c61_796f_7574;
/// Fraction of the accesses to contended lines for which the model has no rule, from which on there is no curve.
const UNMODELLED_SHARE_MAX: f64 = 0.02;

/// Fraction of the accesses to the type that are left out as waiting, from which on there is no curve.
const LEFT_OUT_SHARE_MAX: f64 = 0.2;

/// Nanoseconds of a system call beside its recorded code.
const SYSTEM_CALL_NS: f64 = 50.0;

/// What a curve is to be computed for.
#[derive(Clone, Debug)]
pub struct CurveRequest {
    /// Machine.
    pub machine: TimedMachine,
    /// Rules of the machine, each with its range.
    pub rules: MachineRules,
    /// The user named a machine of the table, and is told why there is no curve of any recording.
    pub is_asked_for: bool,
    /// Numbers of CPUs; empty for powers of two up to those of the machine.
    pub cpus: Vec<u32>,
    /// Nanoseconds of the program's own code between two operations, beside the system call.
    pub think_ns: f64,
}

impl CurveRequest {
    /// Returns the request of a user who names no machine, no numbers of CPUs and no time between operations.
    pub fn plain(machine: TimedMachine, rules: MachineRules) -> Self {
        Self {
            machine,
            rules,
            is_asked_for: false,
            cpus: Vec::new(),
            think_ns: 0.0,
        }
    }

    /// Returns the numbers of CPUs.
    fn cpu_counts(&self) -> Vec<u32> {
        if !self.cpus.is_empty() {
            return self.cpus.clone();
        }
        let all = self.machine.cpus();
        let powers = (1..).map(|power| 1 << power).take_while(|cpus| *cpus < all);
        let mut counts: Vec<u32> = powers.chain([PUBLISHED_CPUS.min(all), all]).collect();
        counts.sort_unstable();
        counts.dedup();
        counts
    }
}

/// Predicts the curves of the candidates that are worth showing for `top` and of the user's layouts, and stores them
/// in the advice. Returns a sentence if there are none.
pub fn predict_curves(
    resolved: &ResolvedProfile<'_>,
    names: &ResolvedNames<'_, '_>,
    searched: &mut SearchedType<'_>,
    request: &CurveRequest,
    top: usize,
) -> Option<String> {
    let has_clock = resolved.profile.meta.clock == Some(ClockUnit::Instructions);
    let advice = searched.outcome.as_ref().ok()?;
    let predicted = CurvePredictor::new(resolved, names, searched, request).and_then(|predictor| {
        let shown = advice.shown_candidates(top).into_iter();
        let predict = |layout: &StructLayout| predictor.predict(layout);
        let by_candidate: Result<Vec<(usize, PredictedCurve)>, String> = shown
            .map(|index| Ok((index, predict(&advice.candidates[index].layout)?)))
            .collect();
        let given = advice.user_layouts.iter();
        let of_user_layouts: Result<Vec<PredictedCurve>, String> =
            given.map(|given| predict(&given.layout)).collect();
        Ok((by_candidate?, of_user_layouts?))
    });
    match predicted {
        Ok((by_candidate, of_user_layouts)) => {
            if let Ok(advice) = &mut searched.outcome {
                advice.set_curves(by_candidate, of_user_layouts);
            }
            None
        }
        Err(why) => (request.is_asked_for || has_clock).then(|| {
            format!(
                "No gain of {} over the number of CPUs is predicted: {why}.",
                searched.gathered.name
            )
        }),
    }
}

/// Computes curves of layouts of one type.
struct CurvePredictor<'p> {
    resolved: &'p ResolvedProfile<'p>,
    request: &'p CurveRequest,
    placer: ObjectPlacer<'p>,
    log: OperationLog,
    today: PlacedOperations,
    line_names: Vec<String>,
}

impl<'p> CurvePredictor<'p> {
    /// Reads the operations of the recording.
    ///
    /// # Errors
    /// A sentence that says why there is no curve: what the recording lacks, or what the model does.
    fn new(
        resolved: &'p ResolvedProfile<'p>,
        names: &ResolvedNames<'_, '_>,
        searched: &'p SearchedType<'_>,
        request: &'p CurveRequest,
    ) -> Result<Self, String> {
        let step = format!("reading the operations for {}", searched.gathered.name);
        resolved.progress.step(&step);
        let functions = SiteFunctions::new(resolved, names);
        let placer = ObjectPlacer::new(searched.subject(resolved.line_bytes));
        let placements = placer.place_today();
        let is_subject =
            |run: RunId, addr: Addr| matches!(placements.place(run, addr).0, LineName::Object(..));
        let log = OperationLog::from_profile(resolved.profile, &is_subject, &functions)
            .map_err(missing_words)?;
        if log.division == OperationDivision::Pieces
            && let Some(why) = waiting_words(&searched.gathered)
        {
            return Err(why);
        }
        let today = PlacedOperations::new(&log, &placements);
        if let Some(why) = { functions.unmodelled(&log, &today, &placements) }
            .or_else(|| functions.left_out(&log, &is_subject))
        {
            return Err(why);
        }
        let line_names = line_names(&log, &today, &placements, names);
        Ok(Self {
            resolved,
            request,
            placer,
            log,
            today,
            line_names,
        })
    }

    /// Predicts the curve of a layout.
    ///
    /// # Errors
    /// The recorded operations cannot be executed by many CPUs at once.
    fn predict(&self, layout: &StructLayout) -> Result<PredictedCurve, String> {
        let step = format!("simulating {}", self.request.machine.name);
        self.resolved.progress.step(&step);
        let changed = PlacedOperations::new(&self.log, &self.placer.place_objects(layout));
        let inputs = CurveInputs {
            today: &self.today,
            changed: &changed,
            machine: &self.request.machine,
            rules: &self.request.rules,
            between_ns: match self.log.division {
                OperationDivision::Marks => SYSTEM_CALL_NS + self.request.think_ns,
                OperationDivision::Pieces => 0.0,
            },
            seed: SEED,
        };
        let curve = inputs.curve(&self.request.cpu_counts(), self.line_names.clone());
        curve.ok_or_else(|| {
            "recorded operations take their locks in different orders, and would wait for each other for ever".to_owned()
        })
    }
}

fn missing_words(missing: MissingOperations) -> String {
    let words = match missing {
        MissingOperations::NoClock => {
            "the recording has no clock: record it again with this version"
        }
        MissingOperations::NoInstructions => {
            "the clock of a compiled-in runtime counts accesses; that of a recording under QEMU (--with qemu) counts \
             instructions"
        }
        MissingOperations::TooFew => {
            "fewer than two contexts were logged for whole operations: record more of them, or with more --bursts"
        }
    };
    words.to_owned()
}

/// Functions of the recorded instructions, and what they do.
struct SiteFunctions {
    by_site: BTreeMap<SiteId, (Vec<String>, SiteRole)>,
}

impl SiteRoles for SiteFunctions {
    fn role(&self, site: SiteId) -> SiteRole {
        self.by_site.get(&site).map_or(SiteRole::Code, |own| own.1)
    }
}

impl SiteFunctions {
    fn new(resolved: &ResolvedProfile<'_>, names: &ResolvedNames<'_, '_>) -> Self {
        let mut by_site = BTreeMap::new();
        for visit in &resolved.profile.visits {
            by_site.entry(visit.site).or_insert_with(|| {
                let functions = names.functions_of_site(visit.site);
                let role = match is_of_program_lock(&functions) && !visit.locked {
                    // The other words of a mutex: its owner, and a count.
                    true => SiteRole::Code,
                    false => role_of_functions(&functions),
                };
                (functions, role)
            });
        }
        Self { by_site }
    }

    fn functions(&self, site: SiteId) -> &[String] {
        self.by_site.get(&site).map_or(&[], |own| own.0.as_slice())
    }

    /// Says in which function contexts wait, if a part worth mentioning of the accesses to the type is such waiting:
    /// the simulation has no nodes of queues.
    fn left_out(
        &self,
        log: &OperationLog,
        is_subject: &dyn Fn(RunId, Addr) -> bool,
    ) -> Option<String> {
        let accesses = log
            .operations
            .iter()
            .flat_map(|operation| &operation.accesses);
        let kept = accesses
            .filter(|access| is_subject(log.run, access.addr))
            .count() as u64;
        let left_out: u64 = log.left_out.values().sum();
        if left_out as f64 <= (kept + left_out) as f64 * LEFT_OUT_SHARE_MAX {
            return None;
        }
        let (site, _) = log.left_out.iter().max_by_key(|(_, count)| **count)?;
        let name = self.functions(*site).last().map_or("", String::as_str);
        let percent = 100.0 * left_out as f64 / (kept + left_out) as f64;
        Some(format!(
            "{percent:.0}% of its accesses are waiting for locks (most in {name}), which the model replaces by a queue \
             of its own"
        ))
    }

    /// Says what the accesses to contended lines need and the model lacks, if that is a part worth mentioning of them:
    /// functions in which contexts wait, and locks that are not given back in the operation.
    fn unmodelled(
        &self,
        log: &OperationLog,
        placed: &PlacedOperations,
        layout: &ObjectPlacements,
    ) -> Option<String> {
        let mut waiting: BTreeMap<&str, usize> = BTreeMap::new();
        let mut unpaired: BTreeMap<&str, usize> = BTreeMap::new();
        let mut all = 0usize;
        for_each_contended(log, placed, layout, |_, access| {
            all += 1;
            let functions = self.functions(access.site);
            if let Some(name) = functions.iter().find_map(|name| waiting_function(name)) {
                *waiting.entry(name).or_default() += 1;
            }
            let is_lock = matches!(
                self.role(access.site),
                SiteRole::Acquire(..) | SiteRole::Release
            );
            let is_store = access.kind != AccessKind::Read;
            if is_lock && is_store && access.step == AccessStep::Plain {
                let outermost = functions.last().map_or("", String::as_str);
                *unpaired.entry(outermost).or_default() += 1;
            }
        });
        let often = |counts: BTreeMap<&str, usize>| {
            let total: usize = counts.values().sum();
            let most = counts.into_iter().max_by_key(|(_, count)| *count)?;
            (total as f64 > all as f64 * UNMODELLED_SHARE_MAX).then(|| most.0.to_owned())
        };
        if let Some(name) = often(waiting) {
            return Some(format!(
                "contexts wait for each other in {name}, and the model has no rule for that"
            ));
        }
        let name = often(unpaired)?;
        Some(format!(
            "{name} takes or gives back locks whose other end lies outside of the operation, and the model has no \
             rule for that"
        ))
    }
}

/// Calls `use_access` with the line and each access to a contended line.
fn for_each_contended(
    log: &OperationLog,
    placed: &PlacedOperations,
    layout: &ObjectPlacements,
    mut use_access: impl FnMut(LineName, &OperationAccess),
) {
    let contended: BTreeSet<LineName> = placed.lines.iter().map(|line| line.name).collect();
    for access in log
        .operations
        .iter()
        .flat_map(|operation| &operation.accesses)
    {
        let (line, _) = layout.place(log.run, access.addr);
        if contended.contains(&line) {
            use_access(line, access);
        }
    }
}

/// Returns what lies on each contended line: the member or variable with the most accesses.
fn line_names(
    log: &OperationLog,
    placed: &PlacedOperations,
    layout: &ObjectPlacements,
    names: &ResolvedNames<'_, '_>,
) -> Vec<String> {
    let mut counts: BTreeMap<LineName, BTreeMap<(Addr, u8), usize>> = BTreeMap::new();
    for_each_contended(log, placed, layout, |line, access| {
        let bytes = (access.addr, access.size);
        *counts.entry(line).or_default().entry(bytes).or_default() += 1;
    });
    let name_of = |line: LineName| {
        let by_addr = counts.get(&line)?;
        let ((addr, size), _) = by_addr.iter().max_by_key(|(_, count)| **count)?;
        Some(target_words(names, log, *addr, *size))
    };
    { placed.lines.iter() }
        .map(|line| name_of(line.name).unwrap_or_default())
        .collect()
}

fn target_words(names: &ResolvedNames<'_, '_>, log: &OperationLog, addr: Addr, size: u8) -> String {
    match names.target_at(log.run, addr, size) {
        AccessTarget::Member { object, member } => {
            let outer = object
                .variable
                .as_deref()
                .or(member.types_path.first().map(String::as_str));
            format!("{}.{}", outer.unwrap_or_default(), member.path)
        }
        AccessTarget::Scalar(object) => object.variable.unwrap_or_default(),
        AccessTarget::Unresolved(class) => class,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use relayout_timed::TransferTimes;

    /// Tests the numbers of CPUs of a curve for a machine of one socket.
    #[track_caller]
    fn check_cpu_counts(cores: u32, given: &[u32], expect: &[u32]) {
        let machine = TimedMachine {
            name: String::new(),
            sockets: 1,
            cores,
            cluster_cores: cores,
            transfer: TransferTimes {
                cluster: 1.0,
                socket: 1.0,
                other_socket: 1.0,
            },
        };
        let request = CurveRequest {
            cpus: given.to_vec(),
            ..CurveRequest::plain(machine, MachineRules::default())
        };
        assert_eq!(request.cpu_counts(), expect);
    }

    #[test]
    fn a_curve_has_powers_of_two_up_to_all_cpus() {
        check_cpu_counts(1, &[], &[1]);
        // Nobody contends on one CPU.
        check_cpu_counts(8, &[], &[2, 4, 8]);
        check_cpu_counts(12, &[], &[2, 4, 8, 12]);
        // The number for which a result was published is among them.
        check_cpu_counts(64, &[], &[2, 4, 8, 16, 20, 32, 64]);
        check_cpu_counts(8, &[3, 5], &[3, 5]);
    }
}
