//! Whether variables that share a line in the recorded build do so in the build that is used.
//!
//! Instrumentation changes what the linker puts beside what, so that a line of several variables in a
//! recording need not be one elsewhere. Inside a type nothing moves.

use std::collections::{BTreeMap, BTreeSet};

use relayout_contend::{Finding, FindingSubject, Findings};

/// The variables of another build, and how the findings' variables lie there.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProductionBuild {
    placements_by_rank: BTreeMap<u32, ProductionPlacement>,
}

/// How the variables on a finding's line lie in the other build, against the one that the finding is
/// called by.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProductionPlacement {
    /// On a line with it.
    pub same_line: Vec<String>,
    /// On others.
    pub other_line: Vec<String>,
    /// Not variables of the other build; or all of them, if the one that gives the name is not.
    pub unknown: Vec<String>,
}

impl ProductionBuild {
    /// Looks up the variables of all findings that have several on their line. `extent` gives a
    /// variable's address and size in bytes in the other build.
    pub fn new(findings: &Findings, extent: impl Fn(&str) -> Option<(u64, u64)>) -> Self {
        let placement_of_finding = |finding: &Finding| {
            let name = finding.subject.variable()?;
            let others = variables_beside(finding, name);
            let line = u64::from(finding.line_bytes.max(1));
            (!others.is_empty())
                .then(|| (finding.rank, place_variables(name, others, line, &extent)))
        };
        Self {
            placements_by_rank: findings
                .findings
                .iter()
                .filter_map(placement_of_finding)
                .collect(),
        }
    }

    /// How the variables of the finding with that rank lie; `None` if it has one variable only.
    pub fn get(&self, rank: u32) -> Option<&ProductionPlacement> {
        self.placements_by_rank.get(&rank)
    }
}

/// Names of what shares the line with the variable `name` of the finding.
fn variables_beside<'f>(finding: &'f Finding, name: &str) -> BTreeSet<&'f str> {
    let members = match finding.subject {
        FindingSubject::Scalar { .. } => finding.members.as_slice(),
        _ => &[],
    };
    let members = members.iter().map(|member| member.name.as_str());
    let neighbours = finding.neighbours.keys().map(String::as_str);
    { members.chain(neighbours) }
        .filter(|other| *other != name && !other.is_empty())
        .collect()
}

fn place_variables(
    name: &str,
    others: BTreeSet<&str>,
    line_bytes: u64,
    extent: impl Fn(&str) -> Option<(u64, u64)>,
) -> ProductionPlacement {
    let lines = |(start, bytes): (u64, u64)| {
        let last = start.saturating_add(bytes.saturating_sub(1));
        (start / line_bytes, last / line_bytes)
    };
    let own_lines = extent(name).map(lines);
    let mut placement = ProductionPlacement::default();
    for other in others {
        let list = match (own_lines, extent(other).map(lines)) {
            (Some(own), Some(there)) if own.0 <= there.1 && there.0 <= own.1 => {
                &mut placement.same_line
            }
            (Some(_), Some(_)) => &mut placement.other_line,
            _ => &mut placement.unknown,
        };
        list.push(other.to_owned());
    }
    placement
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_the_other_build() {
        let extent = |name: &str| match name {
            "hot" => Some((0x1038, 8)),
            "near" => Some((0x1000, 4)),
            "wide" => Some((0x0f00, 0x140)),
            "far" => Some((0x1040, 8)),
            _ => None,
        };
        let others = BTreeSet::from(["near", "wide", "far", "item"]);
        let placed = place_variables("hot", others, 64, extent);
        assert_eq!(placed.same_line, ["near", "wide"]);
        assert_eq!(placed.other_line, ["far"]);
        assert_eq!(placed.unknown, ["item"]);
    }
}
