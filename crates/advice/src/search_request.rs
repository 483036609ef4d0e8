//! Inputs of a layout search besides the profile.

use relayout_search::Options;

use crate::ProbedMachine;
use crate::recommended::RecommendationLimits;

/// Divisor of the search effort for each of several types.
const EFFORT_DIVISOR: u64 = 10;

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
    /// True to advise on types in spite of doubts.
    pub force: bool,
}

impl SearchRequest {
    /// Candidates worth showing, unless the user says otherwise.
    pub const TOP_DEFAULT: usize = 5;

    /// Returns the request of a user who names types and nothing else.
    pub fn plain(types: Vec<String>, machine: ProbedMachine) -> Self {
        Self {
            types,
            top: Self::TOP_DEFAULT,
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

/// Returns the search effort, which is less for each of several types.
pub(crate) fn search_effort(has_several_types: bool) -> Options {
    let full = Options::default();
    match has_several_types {
        false => full,
        true => Options {
            budget_accesses: full.budget_accesses / EFFORT_DIVISOR,
            effort_rows: full.effort_rows / EFFORT_DIVISOR,
            two_moves_max: full.two_moves_max / EFFORT_DIVISOR as usize,
            ..full
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_named_type_gets_all_of_the_effort() {
        let request = SearchRequest {
            types: vec!["pcpu_chunk".to_owned()],
            top: 7,
            ..SearchRequest::default()
        };
        let expect = Options {
            intervals: 7,
            ..Options::default()
        };
        assert_eq!(request.options(), expect);
    }

    #[test]
    fn each_of_several_types_gets_a_tenth_of_it() {
        let request = SearchRequest {
            machine: ProbedMachine {
                pair_coefficient: 0.5,
                ..ProbedMachine::default()
            },
            ..SearchRequest::default()
        };
        let full = Options::default();
        let expect = Options {
            budget_accesses: full.budget_accesses / 10,
            effort_rows: full.effort_rows / 10,
            two_moves_max: full.two_moves_max / 10,
            intervals: 0,
            pair_coefficient: 0.5,
            ..full
        };
        assert_eq!(request.options(), expect);
    }

    #[test]
    fn a_request_without_options_shows_five_candidates_of_any_number_of_moves() {
        let request = SearchRequest::plain(Vec::new(), ProbedMachine::default());
        let limits = RecommendationLimits {
            top: 5,
            moves_max: None,
        };
        assert_eq!(request.limits(), limits);
        assert!(!request.force);
    }
}
