//! Text about contended variables without members: the advice of `report` on their findings.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use crate::documents::advise::{AdvisedVariableDocument, VariableFindingDocument};
use crate::words::counted;
use crate::words::finding::declaring_words;
use crate::words::wrap::wrap_text;

/// Spaces before the advice on a variable.
const INDENT: usize = 2;

/// Pushes a paragraph for each variable. Variables on one line share a finding, whose advice stands at
/// the first of them.
pub(crate) fn push_variables(text: &mut String, variables: &[AdvisedVariableDocument]) {
    let mut first_names: BTreeMap<u32, &str> = BTreeMap::new();
    for variable in variables {
        let declared = variable.declared_in.as_ref().map(declaring_words);
        let declared = declared.map_or(String::new(), |words| format!(" of {words}"));
        let transfers = counted(variable.transfers, "transfer");
        let (name, type_name) = (&variable.name, &variable.type_name);
        let heading = format!("Variable: {name}{declared}, {type_name} ({transfers}):");
        let _ = writeln!(text, "{}", wrap_text(&heading, 0));
        for finding in &variable.findings {
            let sentences = match first_names.get(&finding.rank) {
                Some(first) => vec![format!(
                    "It is on the cache line of `{first}`, whose advice is for both."
                )],
                None => finding_sentences(finding),
            };
            first_names.entry(finding.rank).or_insert(name);
            for sentence in sentences {
                let indented = format!("{:INDENT$}{sentence}", "");
                let _ = writeln!(text, "{}", wrap_text(&indented, INDENT));
            }
        }
        text.push('\n');
    }
}

fn finding_sentences(finding: &VariableFindingDocument) -> Vec<String> {
    let sentences = finding.advice.iter().map(|advice| advice.words.clone());
    sentences
        .chain([format!(
            "Finding #{} of `relayout report`, {}.",
            finding.rank, finding.kind
        )])
        .collect()
}
