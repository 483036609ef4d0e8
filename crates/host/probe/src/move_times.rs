//! Times to move a line, from the measurements of a machine file.

use crate::estimate::ProbeEstimate;
use crate::file::MachineFile;
use crate::topology::CpuRelation;

/// Nanoseconds that a visit takes at least if its line moves.
pub const MOVED_NS_MIN: f64 = 8.0;

/// Cost of a load and an exchange in turn over that of an exchange, up to which the load has taken the line away from
/// its owner, and from which on it has not.
pub const TAKEN_BY_LOAD: [f64; 2] = [1.15, 1.3];

/// Nanoseconds to move a modified line once.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MoveTimes {
    /// Between cores that share a last-level cache; between the nearest two CPUs where none do.
    pub cluster_ns: f64,
    /// Between cores of one package that share none, if there are such.
    pub socket_ns: Option<f64>,
    /// Between nodes, if there are several.
    pub other_node_ns: Option<f64>,
    /// Between the nearest two CPUs, with the ends of its interval; `None` without an interval.
    pub nearest_interval: Option<[f64; 3]>,
}

impl MachineFile {
    /// Returns the times to move a line; `None` if none was measured, or visits did not move any: then the two probed
    /// CPUs were threads of one core.
    pub fn move_times(&self) -> Option<MoveTimes> {
        let nearest = { self.transfers.iter() }.find(|transfer| transfer.ns.is_some())?;
        let nearest_ns = nearest.ns?;
        // A word that is handed over moves its line once or twice, as the protocol has it; a visit moves it once.
        let visit = self.visit_cost("exchange", None);
        let is_moved = visit.is_some_and(|visit| visit[0] >= MOVED_NS_MIN);
        if !self.visits.is_empty() && !is_moved {
            return None;
        }
        let moves = visit.map_or(1.0, |visit| nearest_ns / visit[0]);
        let time = |relation: CpuRelation| {
            let own = { self.transfers.iter() }.filter(|transfer| transfer.relation == relation);
            let times: Vec<f64> = own.filter_map(|transfer| transfer.ns).collect();
            relayout_statistics::median(&times).map(|ns| ns / moves)
        };
        let handed_over = [Some(nearest_ns), nearest.ns_low, nearest.ns_high];
        Some(MoveTimes {
            cluster_ns: time(CpuRelation::SameCache).unwrap_or(nearest_ns / moves),
            socket_ns: time(CpuRelation::SamePackage),
            other_node_ns: time(CpuRelation::OtherNode),
            nearest_interval: visit.or_else(|| all_above_zero(handed_over)),
        })
    }

    /// Returns whether a load of a line that another CPU has modified takes it away from there; `None` if visits do not
    /// tell.
    pub fn loads_take_lines(&self) -> Option<bool> {
        let [exchange, both] =
            ["exchange", "load-then-exchange"].map(|kind| self.visit_cost(kind, None));
        let [taken_max, kept_min] = TAKEN_BY_LOAD;
        match both?[0] / exchange?[0] {
            ratio if ratio < taken_max => Some(true),
            ratio if ratio >= kept_min => Some(false),
            _ => None,
        }
    }

    /// Returns the cost of a visit with its interval.
    pub fn visit_cost(&self, kind: &str, instructions: Option<u32>) -> Option<[f64; 3]> {
        let mut visits = self.visits.iter();
        visits
            .find(|visit| visit.kind == kind && visit.instructions == instructions)?
            .ns
            .interval()
    }
}

impl ProbeEstimate {
    /// Returns the value and the ends of its interval if all are above 0.
    pub fn interval(&self) -> Option<[f64; 3]> {
        all_above_zero([self.value, self.low, self.high])
    }
}

fn all_above_zero([value, low, high]: [Option<f64>; 3]) -> Option<[f64; 3]> {
    let all = [value?, low?, high?];
    all.iter().all(|number| *number > 0.0).then_some(all)
}
