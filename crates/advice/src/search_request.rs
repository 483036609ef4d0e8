//! What a search of layouts is asked for.

use relayout_search::Options;

use crate::ProbedMachine;
use crate::curves::CurveRequest;
use crate::recommended::RecommendationLimits;
use crate::stages::search_effort;

/// Inputs of a search besides the profile.
#[derive(Clone, Debug, Default)]
pub struct SearchRequest {
    /// Structs; if empty, those with the most transfers.
    pub types: Vec<String>,
    /// Members that stay at their offsets, in a single struct.
    pub pinned: Vec<String>,
    /// Candidates worth showing, by rank. Only those that are shown can be recommended.
    pub top: usize,
    /// Members that a recommended layout moves at most; `None` for any number.
    pub moves_max: Option<usize>,
    /// Machine that predictions are for.
    pub machine: ProbedMachine,
    /// Larger machine whose gain over the number of CPUs is predicted.
    pub curve: Option<CurveRequest>,
    /// True to advise on types in spite of doubts.
    pub force: bool,
}

impl SearchRequest {
    /// Candidates worth showing, unless the user says otherwise.
    pub const TOP_DEFAULT: usize = 5;

    /// Returns the request of a user who names types and nothing else.
    pub fn plain(types: Vec<String>, machine: ProbedMachine) -> Self {
        let timed = machine.timed.clone();
        Self {
            types,
            top: Self::TOP_DEFAULT,
            curve: timed.map(|(machine, rules)| CurveRequest::plain(machine, rules)),
            machine,
            ..Self::default()
        }
    }

    /// Returns the limits of recommendations.
    pub fn limits(&self) -> RecommendationLimits {
        RecommendationLimits {
            top: self.top,
            moves_max: self.moves_max,
        }
    }

    /// Returns the options of the search: less effort for each of several types.
    pub(crate) fn options(&self) -> Options {
        Options {
            intervals: self.top,
            pair_coefficient: self.machine.pair_coefficient,
            ..search_effort(self.types.is_empty())
        }
    }
}
