//! Text about contended variables without members: the advice of `report` on their findings.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use relayout_advice::ContendedVariable;
use relayout_contend::Finding;
use relayout_profile::ProfileMeta;

use crate::documents::report::{declaring_document, source_position};
use crate::words::finding::declaring_words;
use crate::words::remedy::{RemedyContext, remedy_sentence};
use crate::words::saving::OutlookWords;
use crate::words::wrap::wrap_text;
use crate::words::{ContextNoun, counted};

/// Spaces before the advice on a variable.
const INDENT: usize = 2;

/// Pushes a paragraph for each variable. Variables on one line share a finding, whose advice stands at
/// the first of them.
pub(crate) fn push_variables(
    text: &mut String,
    meta: &ProfileMeta,
    variables: &[ContendedVariable],
) {
    let mut first_names: BTreeMap<u32, &str> = BTreeMap::new();
    for variable in variables {
        let declared = variable
            .declaring
            .as_ref()
            .map(|declaring| declaring_words(&declaring_document(declaring)));
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
                None => finding_sentences(meta, finding),
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

fn finding_sentences(meta: &ProfileMeta, finding: &Finding) -> Vec<String> {
    let outlook = OutlookWords::of_number();
    let context = RemedyContext {
        context_noun: ContextNoun::from_meta(meta).singular(),
        outlook: &outlook,
    };
    let remedies = finding.remedies.iter();
    let sentences = remedies.map(|remedy| remedy_sentence(remedy, context, source_position));
    sentences
        .chain([format!(
            "Finding #{} of `relayout report`, {}.",
            finding.rank,
            finding.kind.as_str()
        )])
        .collect()
}
