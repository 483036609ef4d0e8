//! Text output of `relayout probe --contend`.

use std::fmt::Write as _;

use relayout_probe::{
    AdjacentTest, ContentionTests, CoreThreadTest, HoldTest, LoadStoreCost, MachineFile,
    OwnerOrder, ProbeEstimate, ReaderTest, SampledPairs, UpgradeTest,
};

use super::probe::relation;

/// Columns of the names.
const NAME_COLUMNS: usize = 22;
/// Accesses of [`LoadStoreCost`] after a load, with the names of their rows.
const AFTER_LOAD: [(&str, &str); 2] = [
    ("compare-exchange", "load, then exchange"),
    ("store", "load, then store"),
];

/// Renders the tests of contention: a result with its interval, or the reason for having none.
pub(super) fn contention_rows(file: &MachineFile, contention: &ContentionTests) -> String {
    let mut rows = ContentionRows {
        file,
        out: String::new(),
    };
    rows.known_positives(contention);
    if contention.shows_false_sharing() {
        rows.pairs(&contention.pairs);
        rows.core_threads(&contention.core_threads);
        rows.owners(&contention.owners);
        contention.hold.iter().for_each(|hold| rows.hold(hold));
        rows.readers(&contention.readers);
        rows.load_store(&contention.load_store);
        rows.upgrade(&contention.upgrade);
        rows.adjacent(&contention.adjacent);
        rows.rules(contention);
    } else {
        let why = rows.reason("contention").to_owned();
        rows.add("everything else", &format!("cannot be told here: {why}"));
    }
    rows.out
}

struct ContentionRows<'a> {
    file: &'a MachineFile,
    out: String,
}

impl ContentionRows<'_> {
    fn add(&mut self, name: &str, text: &str) {
        let row = format!("{name:<NAME_COLUMNS$}{text}");
        // Writing to a string does not fail.
        let _ = writeln!(self.out, "{}", row.trim_end());
    }

    /// Reason for the first unknown value whose key begins with `key`.
    fn reason(&self, key: &str) -> &str {
        let mut unknown = self.file.unknown.iter();
        let value = unknown.find(|value| value.what.starts_with(key));
        value.map_or("it was not measured", |value| value.why.as_str())
    }

    /// Value with its interval, or the reason for having none.
    fn estimate(&self, estimate: ProbeEstimate, unit: &str, key: &str) -> String {
        match with_interval(estimate, unit) {
            Some(text) => text,
            None => format!("cannot be told here: {}", self.reason(key)),
        }
    }

    fn known_positives(&mut self, contention: &ContentionTests) {
        for positive in &contention.known_positives {
            let (program, a, b) = (&positive.program, positive.cpu_a, positive.cpu_b);
            let key = format!("contention.known_positives[{program},{a},{b}]");
            let ratio = self.estimate(positive.ratio, "times", &key);
            let verdict = if positive.shows {
                "shows"
            } else {
                "does not show"
            };
            let distance = relation(positive.relation);
            self.add(
                "known false sharing",
                &format!("{program}, CPU {a} and CPU {b} ({distance}): {ratio}: {verdict}"),
            );
        }
    }

    fn pairs(&mut self, pairs: &[SampledPairs]) {
        for sample in pairs {
            let transfers = self.file.transfers.iter();
            let same = transfers.filter(|transfer| transfer.relation == sample.relation);
            let times: Vec<f64> = same.filter_map(|transfer| transfer.ns).collect();
            let [least, most] = [
                times.iter().copied().fold(f64::INFINITY, f64::min),
                times.iter().copied().fold(0.0, f64::max),
            ];
            let times = match times.len() {
                0 => format!("cannot be told here: {}", self.reason("transfers")),
                1 => format!("{least:.0} ns to move a line"),
                _ => format!("{least:.0} to {most:.0} ns to move a line"),
            };
            let SampledPairs {
                pairs, measured, ..
            } = sample;
            let distance = relation(sample.relation);
            self.add(
                "pairs of CPUs",
                &format!("{distance}: {times}; {measured} of {pairs} pairs"),
            );
        }
    }

    fn core_threads(&mut self, tests: &[CoreThreadTest]) {
        let agrees = |test: &&CoreThreadTest| test.measured == Some(test.named_by_kernel);
        let agreeing = tests.iter().filter(agrees).count();
        let threads = tests
            .iter()
            .filter(|test| test.measured == Some(true))
            .count();
        let named = tests.iter().filter(|test| test.named_by_kernel).count();
        self.add(
            "threads of a core",
            &format!(
                "{threads} of {} tested pairs do not move a line, the kernel names {named}; \
                 {agreeing} agree",
                tests.len()
            ),
        );
        for test in tests.iter().filter(|test| !agrees(test)) {
            let kernel = if test.named_by_kernel {
                "one core"
            } else {
                "two cores"
            };
            let key = format!("contention.core_threads[{},{}]", test.cpu_a, test.cpu_b);
            let visit = self.estimate(test.visit_ns, "ns", &key);
            let text = format!(
                "CPU {} and CPU {}: {kernel} by the kernel; a visit waits {visit}",
                test.cpu_a, test.cpu_b
            );
            self.add("", &text);
        }
    }

    fn owners(&mut self, owners: &[OwnerOrder]) {
        for order in owners {
            let OwnerOrder {
                placement, cpus, ..
            } = order;
            let key = format!("contention.owners[{placement},{cpus}]");
            let ticket = self.estimate(order.ticket_ns, "ns", &format!("{key}.ticket_ns"));
            let ends = order.smallest_share.value.zip(order.largest_share.value);
            let shares = ends.map(|(low, high)| format!("; shares {low:.2} to {high:.2} of equal"));
            self.add(
                &format!("owners, {cpus} {placement}"),
                &format!("{ticket} a ticket{}", shares.unwrap_or_default()),
            );
            for runs in &order.runs {
                let group = &runs.group;
                let run_key = format!("{key}.{group}.length");
                let length = self.estimate(runs.length, "tickets", &run_key);
                let beside = [
                    ("at random", runs.random_length),
                    ("in turn", runs.in_turn_length),
                ];
                let beside = beside
                    .iter()
                    .filter_map(|(name, value)| Some(format!("{name} {:.1}", (*value)?)));
                let beside = beside.collect::<Vec<_>>().join(", ");
                let near = { runs.near_share.value.zip(runs.near_share_by_chance) }.map(
                    |(near, chance)| {
                        let (near, chance) = (100.0 * near, 100.0 * chance);
                        format!("; {near:.0} % of hand-overs stay, by chance {chance:.0} %")
                    },
                );
                let near = near.unwrap_or_default();
                self.add("", &format!("runs of a {group}: {length}; {beside}{near}"));
            }
        }
    }

    fn hold(&mut self, hold: &HoldTest) {
        let (a, b) = (hold.cpu_a, hold.cpu_b);
        let half = self.estimate(
            hold.half_ns,
            "ns",
            &format!("contention.hold[{a},{b}].half_ns"),
        );
        let points = hold.points.iter();
        let points = points.filter_map(|point| Some((point.ns, point.share.value?)));
        let shares = points.map(|(ns, share)| format!("{ns:.0} ns {:.0}", 100.0 * share));
        self.add(
            "hold after loss",
            &format!("CPU {a}, wanted by CPU {b}: half after {half}"),
        );
        let shares = shares.collect::<Vec<_>>().join(", ");
        self.add("", &format!("second add in time, %: {shares}"));
    }

    fn readers(&mut self, readers: &ReaderTest) {
        let points = readers.points.iter().filter_map(|point| {
            Some(format!(
                "{} {:.0} ns",
                point.readers, point.ownership_ns.value?
            ))
        });
        let points = points.collect::<Vec<_>>().join(", ");
        let slope = self.estimate(readers.slope_ns, "ns", "contention.readers.slope_ns");
        self.add("clean reads", &format!("each further reader: {slope}"));
        self.add(
            "",
            &format!("from ownership to ownership, by readers: {points}"),
        );
    }

    fn load_store(&mut self, costs: &[LoadStoreCost]) {
        let cost_text = |cost: &LoadStoreCost| match cost.ns.value {
            Some(ns) => format!("{ns:.0}"),
            None => "?".to_owned(),
        };
        let exchange = costs.iter().find(|cost| cost.between.is_none());
        if let Some(cost) = exchange {
            let text = self.estimate(cost.ns, "ns", "contention.load_store[exchange]");
            self.add("exchange alone", &format!("{text} a visit"));
        }
        for (access, name) in AFTER_LOAD {
            let own: Vec<&LoadStoreCost> =
                costs.iter().filter(|cost| cost.access == access).collect();
            let counted = own.iter().filter(|cost| cost.instructions.is_some());
            let counted = counted.map(|cost| {
                let count = cost.instructions.unwrap_or_default();
                format!("{count}: {}", cost_text(cost))
            });
            let counted = counted.collect::<Vec<_>>().join(", ");
            let others = own.iter().filter(|cost| cost.instructions.is_none());
            let others = others.map(|cost| {
                let between = cost.between.as_deref().unwrap_or_default();
                format!("{between} {}", cost_text(cost))
            });
            let others = others.collect::<Vec<_>>().join(", ");
            self.add(
                name,
                &format!("ns by instructions between: {counted}; {others}"),
            );
            if own.iter().any(|cost| cost.ns.value.is_none()) {
                let why = self
                    .reason(&format!("contention.load_store[{access}"))
                    .to_owned();
                self.add("", &format!("? cannot be told here: {why}"));
            }
        }
    }

    fn upgrade(&mut self, upgrade: &UpgradeTest) {
        let points = upgrade.points.iter();
        let known = points.filter_map(|point| {
            let cost = with_interval(point.ns, "ns")?;
            Some(format!("over {}: {cost}", point.sharers))
        });
        let known: Vec<String> = known.collect();
        let costs = match known.is_empty() {
            true => format!(
                "cannot be told here: {}",
                self.reason("contention.upgrade.points")
            ),
            false => known.join(", "),
        };
        self.add("upgrade over copies", &costs);
        let slope = self.estimate(upgrade.slope_ns, "ns", "contention.upgrade.slope_ns");
        self.add("", &format!("each further copy: {slope}"));
    }

    fn adjacent(&mut self, tests: &[AdjacentTest]) {
        for test in tests {
            let (a, b, pattern) = (test.cpu_a, test.cpu_b, &test.pattern);
            let key = format!("contention.adjacent[{pattern},{a},{b}]");
            let coefficient = self.estimate(test.coefficient, "", &key);
            self.add(
                "adjacent lines",
                &format!("{pattern}, CPU {a} and CPU {b}: {coefficient} of sharing a line"),
            );
        }
    }

    fn rules(&mut self, contention: &ContentionTests) {
        let mut name = "rules";
        for rule in &contention.rules {
            let estimate = ProbeEstimate::new(rule.value, rule.low, rule.high);
            let value = with_interval(estimate, "").unwrap_or_default();
            self.add(name, &format!("{} {value}", rule.rule));
            name = "";
        }
        let begin = "contention.rules[";
        let unknown = self.file.unknown.iter();
        let reasons: Vec<String> = unknown
            .filter_map(|value| {
                let rule = value.what.strip_prefix(begin)?.strip_suffix(']')?;
                Some(format!("{rule} cannot be told here: {}", value.why))
            })
            .collect();
        for reason in reasons {
            self.add(name, &reason);
            name = "";
        }
    }
}

/// Value with its interval and unit; `None` if it is not known.
fn with_interval(estimate: ProbeEstimate, unit: &str) -> Option<String> {
    let (value, low, high) = (estimate.value?, estimate.low?, estimate.high?);
    let digits = match value.abs() {
        large if large >= 100.0 => 0,
        middle if middle >= 10.0 => 1,
        _ => 2,
    };
    let space = if unit.is_empty() { "" } else { " " };
    Some(format!(
        "{value:.digits$}{space}{unit} ({low:.digits$} to {high:.digits$})"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_have_three_digits_and_an_interval() {
        let check = |values: [f64; 3], unit, expect: &str| {
            let [value, low, high] = values;
            let text = with_interval(ProbeEstimate::new(value, low, high), unit);
            assert_eq!(text.as_deref(), Some(expect));
        };
        check([101.4, 99.0, 103.0], "ns", "101 ns (99 to 103)");
        check([21.44, 21.0, 22.0], "ns", "21.4 ns (21.0 to 22.0)");
        check([-0.5, -1.0, 0.0], "", "-0.50 (-1.00 to 0.00)");
        assert_eq!(with_interval(ProbeEstimate::default(), "ns"), None);
    }
}
