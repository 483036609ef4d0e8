//! Ledger of measured changes: what was known before, what was measured, and whether they agree.
//!
//! A line of JSON for each metric of a result. A result that is added twice is there once.

use std::collections::BTreeSet;
use std::path::Path;

use relayout_advice::EffectSubject;
use relayout_files::{cannot, read_regular_text, write_atomically};
use relayout_messages::UserError;
use relayout_verify::judge::JudgedMetric;
use relayout_verify::judged_change::{ChangeVerdict, JudgedChange};
use serde::{Deserialize, Serialize};

use super::evidence::KitEvidence;
use super::import::{ImportedResult, KitMachine};

/// A metric of a measured change.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LedgerEntry {
    /// Number of the result.
    pub result: String,
    /// Number of the kit.
    pub kit: String,
    /// What changes.
    pub subject: String,
    /// Command that was measured.
    pub command: String,
    /// Machine.
    pub machine: KitMachine,
    /// Metric.
    pub metric: String,
    /// Change of the metric.
    #[serde(flatten)]
    pub judged: JudgedChange,
    /// Pairs of starts.
    pub pairs: usize,
    /// What was predicted and counted before.
    pub evidence: KitEvidence,
    /// Agreement of both.
    pub agreement: Agreement,
}

/// Agreement of what was known before with what was measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Agreement {
    /// The change was to make it better, and did; or worse, and did.
    Hit,
    /// It went the other way.
    Miss,
    /// The measurement shows no change beyond the margin.
    NoEffect,
    /// The measurement cannot tell, or nothing was known before.
    Undecided,
}

impl Agreement {
    /// All agreements.
    pub const ALL: [Self; 4] = [Self::Hit, Self::Miss, Self::NoEffect, Self::Undecided];

    /// Name in documents and texts.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Hit => "hit",
            Self::Miss => "miss",
            Self::NoEffect => "no effect",
            Self::Undecided => "undecided",
        }
    }

    /// Returns the agreement of evidence with a verdict.
    pub fn judge(evidence: &KitEvidence, verdict: ChangeVerdict) -> Self {
        match (evidence.expects_gain(), verdict) {
            (None, _) | (_, ChangeVerdict::Unclear) => Self::Undecided,
            (_, ChangeVerdict::Same) => Self::NoEffect,
            (Some(true), ChangeVerdict::Better) | (Some(false), ChangeVerdict::Worse) => Self::Hit,
            (Some(_), _) => Self::Miss,
        }
    }
}

impl KitEvidence {
    /// Returns true if the evidence speaks for a gain, false for a loss, `None` if it says nothing:
    /// the counts of all memory where they are clear, else the predicted transfers.
    pub fn expects_gain(&self) -> Option<bool> {
        let mut totals = self
            .counted
            .iter()
            .filter(|counted| counted.subject == EffectSubject::Memory);
        let clear = totals.find_map(|counted| match counted.judged.verdict {
            ChangeVerdict::Better => Some(true),
            ChangeVerdict::Worse => Some(false),
            ChangeVerdict::Same | ChangeVerdict::Unclear => None,
        });
        let before: u64 = self
            .predicted
            .iter()
            .map(|predicted| predicted.before)
            .sum();
        let after: u64 = self.predicted.iter().map(|predicted| predicted.after).sum();
        let predicted = (before != after).then_some(after < before);
        clear.or(predicted)
    }
}

impl ImportedResult {
    /// Returns the entries of the ledger, one for each metric.
    pub fn ledger_entries(&self) -> Vec<LedgerEntry> {
        let metrics = self.judged.outcome.metrics.iter();
        metrics.map(|metric| self.entry(metric)).collect()
    }

    fn entry(&self, metric: &JudgedMetric) -> LedgerEntry {
        LedgerEntry {
            result: self.id.clone(),
            kit: self.manifest.id.clone(),
            subject: self.manifest.subject.clone(),
            command: self.manifest.before.clone(),
            machine: self.machine.clone(),
            metric: metric.description.name.clone(),
            judged: metric.judged.clone(),
            pairs: self.judged.outcome.pairs,
            evidence: self.manifest.evidence.clone(),
            agreement: Agreement::judge(&self.manifest.evidence, metric.judged.verdict),
        }
    }
}

/// Adds entries to the ledger at `path`, which need not be there, and returns all of it. Results
/// that are in it already are left as they are.
///
/// # Errors
/// The file is no ledger, or cannot be written.
pub fn add_to_ledger(path: &Path, entries: &[LedgerEntry]) -> Result<Vec<LedgerEntry>, UserError> {
    let mut ledger = match path.exists() {
        true => read_ledger(path)?,
        false => Vec::new(),
    };
    let known: BTreeSet<String> = ledger.iter().map(|entry| entry.result.clone()).collect();
    let new = entries
        .iter()
        .filter(|entry| !known.contains(&entry.result));
    ledger.extend(new.cloned());
    let lines = ledger
        .iter()
        .map(|entry| Ok(serde_json::to_string(entry)? + "\n"));
    let text: String = lines.collect::<Result<_, UserError>>()?;
    write_atomically(path, text.as_bytes())?;
    Ok(ledger)
}

/// Reads a ledger.
///
/// # Errors
/// The file cannot be read, or a line is no entry.
pub fn read_ledger(path: &Path) -> Result<Vec<LedgerEntry>, UserError> {
    let text = read_regular_text(path).map_err(cannot("read", path))?;
    let lines = (1..).zip(text.lines()).filter(|(_, line)| !line.is_empty());
    let entries = lines.map(|(line, text)| {
        let place = format!("{}, line {line}, is no entry of a ledger", path.display());
        serde_json::from_str(text).map_err(UserError::wrap::<serde_json::Error>(place))
    });
    entries.collect()
}

#[cfg(test)]
mod tests {
    use super::super::evidence::PredictedChange;
    use super::*;

    fn predicted(before: u64, after: u64) -> KitEvidence {
        KitEvidence {
            predicted: vec![PredictedChange {
                type_name: "t".to_owned(),
                workload: "w".to_owned(),
                before,
                after,
                gains: Vec::new(),
            }],
            counted: Vec::new(),
        }
    }

    #[test]
    fn agreement_needs_both() {
        use ChangeVerdict::*;
        let fewer = predicted(10, 5);
        assert_eq!(Agreement::judge(&fewer, Better), Agreement::Hit);
        assert_eq!(Agreement::judge(&fewer, Worse), Agreement::Miss);
        assert_eq!(Agreement::judge(&fewer, Same), Agreement::NoEffect);
        assert_eq!(Agreement::judge(&fewer, Unclear), Agreement::Undecided);
        assert_eq!(Agreement::judge(&predicted(5, 10), Worse), Agreement::Hit);
        assert_eq!(
            Agreement::judge(&KitEvidence::default(), Better),
            Agreement::Undecided
        );
    }
}
