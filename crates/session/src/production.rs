//! Placement of the recorded variables in the production build.
//!
//! Instrumentation changes the order in which the linker places variables. Variables that share a
//! line in the recorded build need not share one in the production build. Members of a type do not
//! move.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::Path;

use relayout_contend::{Finding, Findings};
use relayout_files::DebugFile;
use relayout_layout::dwarf::DwarfFile;
use relayout_messages::{RecordingProgress, UserError};

use crate::type_files::debug_places;

/// Placement of the findings' variables in the production build.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProductionBuild {
    placements_by_rank: BTreeMap<u32, ProductionPlacement>,
}

/// Placement of the variables on a finding's line, relative to the variable that names the finding.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProductionPlacement {
    /// Variables on the same line.
    pub same_line: Vec<String>,
    /// Variables on other lines.
    pub other_line: Vec<String>,
    /// Variables that the production build does not have; all of them if it lacks the naming
    /// variable.
    pub unknown: Vec<String>,
}

impl ProductionBuild {
    /// Reads the variables of `findings` from the program at `path`: from its debug information or,
    /// without any, its symbols.
    ///
    /// # Errors
    /// The program cannot be read, or has neither.
    pub fn read(
        path: &Path,
        findings: &Findings,
        progress: &dyn RecordingProgress,
    ) -> Result<Self, UserError> {
        let unreadable = || format!("cannot read the variables of {}", path.display());
        let map = relayout_files::map_file(path).map_err(UserError::wrap(unreadable()))?;
        let file = DebugFile::find_or_keep(path, map, debug_places()?);
        let debug = file.dwarf_with_code().or_else(|_| file.symbols());
        let extents = read_variable_extents(&debug.map_err(UserError::wrap(unreadable()))?);
        if extents.is_empty() {
            let message = format!("{} has no symbols", path.display());
            return Err(
                UserError::input(message).with_remedy("give the program before it was stripped")
            );
        }
        let mut variables = findings
            .findings
            .iter()
            .filter_map(|finding| finding.subject.variable())
            .peekable();
        if variables.peek().is_some() && !variables.any(|name| extents.contains_key(name)) {
            progress.warn(&format!(
                "{} has none of the variables that were recorded: is it a build of the recorded \
                 program?",
                path.display()
            ));
        }
        Ok(Self::new(findings, |name| {
            extents.get(name).copied().flatten()
        }))
    }

    /// Looks up the variables of all findings that have several on their line.
    ///
    /// `extent` returns the address and size of a variable in the production build, in bytes.
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

    /// Returns the placement for the finding of rank `rank`; `None` if it has only one variable.
    pub fn get(&self, rank: u32) -> Option<&ProductionPlacement> {
        self.placements_by_rank.get(&rank)
    }
}

/// Returns the names on the finding's line, without `name`.
fn variables_beside<'f>(finding: &'f Finding, name: &str) -> BTreeSet<&'f str> {
    let members = match finding.subject.has_members() {
        true => &[],
        false => finding.members.as_slice(),
    };
    let members = members.iter().map(|member| member.path.as_str());
    let neighbours = finding.neighbours.keys().map(String::as_str);
    members
        .chain(neighbours)
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

/// Returns addresses and sizes of variables in bytes, by name; `None` for a name of several
/// variables.
fn read_variable_extents(file: &DwarfFile<'_>) -> HashMap<String, Option<(u64, u64)>> {
    let symbols = file.symbols().iter().filter(|symbol| symbol.is_object());
    let sizes: HashMap<u64, u64> = symbols
        .clone()
        .map(|symbol| (symbol.address, symbol.size))
        .collect();
    let declared = file
        .globals()
        .iter()
        .chain(file.static_locals())
        .map(|global| (global.name, global.address));
    let mut extents: HashMap<String, Option<(u64, u64)>> = HashMap::new();
    for (name, address) in declared.chain(symbols.map(|symbol| (symbol.name, symbol.address))) {
        let extent = (address, sizes.get(&address).copied().unwrap_or(1));
        let known = extents.entry(name.to_owned()).or_insert(Some(extent));
        if *known != Some(extent) {
            *known = None;
        }
    }
    extents
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
