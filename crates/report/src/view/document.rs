//! The parts of a `relayout/report/1` document that a terminal shows, read back from its JSON.
//!
//! Like the scripts of a page, the view reads the document of `report --json`, so its numbers are those of the document.
//! Keys that it does not show are skipped.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::words::notes::FindingNote;

/// A report, as the view needs it.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct ViewedReport {
    pub machine: ViewedMachine,
    pub workload: String,
    pub runs: Vec<ViewedRun>,
    pub estimated: bool,
    pub host_was_busy: bool,
    pub transfers_total: u64,
    pub false_lifetime: u64,
    pub upgrades: u64,
    pub resolved_share: f64,
    pub source_root: String,
    pub findings_total: usize,
    pub findings: Vec<ViewedFinding>,
}

#[derive(Clone, Debug, Deserialize)]
pub(super) struct ViewedMachine {
    pub arch: String,
    pub target: String,
    pub release: String,
    pub collector: String,
    pub contexts: u16,
    pub line_bytes: u32,
    pub values_seen: bool,
    pub boot: Option<ViewedBoot>,
}

#[derive(Clone, Debug, Deserialize)]
pub(super) struct ViewedBoot {
    pub changes: Vec<String>,
    pub not_watched: Vec<String>,
}

#[derive(Clone, Debug, Deserialize)]
pub(super) struct ViewedRun {
    pub complete: bool,
    pub ended: String,
    pub accesses: u64,
    pub operations: u64,
}

#[derive(Clone, Debug, Deserialize)]
pub(super) struct ViewedFinding {
    pub rank: u32,
    pub kind: String,
    #[serde(rename = "type")]
    pub type_name: String,
    pub variable: Option<String>,
    pub types_path: Vec<String>,
    pub line_offset: i64,
    pub places: Vec<ViewedPlace>,
    pub estimated: bool,
    pub transfers: u64,
    pub read_transfers: u64,
    pub first_reads: Option<u64>,
    pub write_transfers: u64,
    pub upgrades: u64,
    pub false_first_touch: u64,
    pub false_lifetime: u64,
    pub share: f64,
    pub saving: Option<ViewedSaving>,
    pub saving_why: Option<String>,
    #[serde(default)]
    pub saving_words: Option<String>,
    pub objects: u64,
    pub uncertain_objects: u64,
    pub type_confidence_percent: u8,
    pub contexts: u32,
    pub members: Vec<ViewedMember>,
    pub sites: Vec<ViewedSite>,
    pub pairs: Vec<ViewedPair>,
    pub adjacent: Option<ViewedAdjacent>,
    #[serde(default)]
    pub notes: Vec<FindingNote>,
    pub advice: Vec<ViewedAdvice>,
    pub neighbours: BTreeMap<String, u64>,
    #[serde(default)]
    pub allocated: BTreeMap<String, u64>,
}

#[derive(Clone, Debug, Deserialize)]
pub(super) struct ViewedPlace {
    pub line_offset: i64,
}

#[derive(Clone, Debug, Deserialize)]
pub(super) struct ViewedSaving {
    #[serde(rename = "type")]
    pub type_name: String,
    pub transfers: f64,
    pub share: f64,
    pub moved: u64,
}

#[derive(Clone, Debug, Deserialize)]
pub(super) struct ViewedMember {
    pub name: String,
    pub offset: i64,
    pub size: u64,
    pub reads: u64,
    pub writes: u64,
    pub context_ids: Vec<u16>,
    pub writers: u32,
    pub writer_ids: Vec<u16>,
    pub counted: bool,
    pub transfers: u64,
}

#[derive(Clone, Debug, Deserialize)]
pub(super) struct ViewedSite {
    pub access: String,
    pub count: u64,
    pub transfers: u64,
    pub caused: u64,
    #[serde(flatten)]
    pub position: ViewedPosition,
}

/// A place in the source.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct ViewedPosition {
    pub function: Option<String>,
    pub inlined: Option<String>,
    pub file: Option<String>,
    pub line: Option<u32>,
}

#[derive(Clone, Debug, Deserialize)]
pub(super) struct ViewedPair {
    pub transfers: u64,
    pub upgrades: u64,
    pub here: ViewedSide,
    pub there: ViewedSide,
}

#[derive(Clone, Debug, Deserialize)]
pub(super) struct ViewedSide {
    pub member: String,
    pub access: String,
    #[serde(flatten)]
    pub position: ViewedPosition,
}

/// Two adjacent lines that disturb each other; the numbers are estimates.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct ViewedAdjacent {
    pub samples: u64,
    pub pair_transfers_estimated: u64,
    pub pairs: Vec<ViewedAdjacentPair>,
}

#[derive(Clone, Debug, Deserialize)]
pub(super) struct ViewedAdjacentPair {
    pub pair_transfers_estimated: u64,
    pub here: ViewedSide,
    pub there: ViewedSide,
}

#[derive(Clone, Debug, Deserialize)]
pub(super) struct ViewedAdvice {
    pub words: String,
}

impl ViewedFinding {
    /// Returns the variable, else the type.
    pub fn subject(&self) -> &str {
        self.variable.as_deref().unwrap_or(&self.type_name)
    }

    /// Returns the offset of the finding's line within its type: `+64`.
    pub fn line_words(&self) -> String {
        format!("{:+}", self.line_offset)
    }

    /// Returns the names that a search looks in, in lower case, one per line.
    pub fn search_text(&self) -> String {
        let names = [Some(&self.type_name), self.variable.as_ref()];
        let members = self.members.iter().map(|member| &member.name);
        let positions = self.sites.iter().map(|site| &site.position);
        let positions = positions.flat_map(|position| {
            [&position.function, &position.inlined, &position.file].map(Option::as_ref)
        });
        let names = { names.into_iter().flatten() }
            .chain(members)
            .chain(positions.flatten());
        let mut text = String::new();
        for name in names {
            text.push_str(&name.to_lowercase());
            text.push('\n');
        }
        text
    }
}
