//! From a profile to findings, advice and a patch:
//! `cargo run -p relayout-session --example profile_to_patch -- out.relayout linux`.

use std::path::{Path, PathBuf};

use relayout_advice::{ResolvedNames, rank_findings};
use relayout_messages::{SilentProgress, UserError};
use relayout_session::advise::{AdviceRequest, PatchOutcome, advise_types};
use relayout_session::{read_machine, with_resolved_profile};

fn main() -> Result<(), UserError> {
    let mut arguments = std::env::args_os().skip(1).map(PathBuf::from);
    let profile = arguments.next().unwrap_or_else(|| "out.relayout".into());
    let request = AdviceRequest {
        source: arguments.next(),
        ..AdviceRequest::plain(Vec::new(), read_machine(None, None, None)?)
    };
    print_advice(&profile, &request)
}

fn print_advice(profile: &Path, request: &AdviceRequest) -> Result<(), UserError> {
    with_resolved_profile(profile, &[], &SilentProgress, |resolved, images| {
        let names = ResolvedNames::new(resolved, images);
        for finding in rank_findings(resolved, &names, None).findings {
            println!(
                "{} transfers on {}",
                finding.tally.transfers(),
                finding.subject.type_name()
            );
        }
        for patched in advise_types(resolved, &names, request, None)?.types {
            let best = patched.advised.best_candidate();
            let transfers = best.map(|best| best.tally.transfers());
            println!(
                "struct {}: {transfers:?}",
                patched.advised.searched.gathered.name
            );
            if let Some(PatchOutcome::Diff(written)) = &patched.patch {
                println!("{}", written.edited.diff);
            }
        }
        Ok(())
    })
}
