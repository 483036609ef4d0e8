//! `relayout check --emit`: what is asserted, as C.

use clap::ValueEnum;
use relayout_check::emit::{self, AssertionEmitter};

use super::input::{self, CheckRules};
use super::{Args, CheckedSubject};

/// What the C is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum EmitTarget {
    /// C11 or C++11, with the standard headers.
    StaticAssert,
    /// A source file of the Linux kernel.
    Kernel,
}

/// The text, from what is asserted of the types of `subjects`.
///
/// # Errors
/// As those of checking them.
pub fn render(
    args: &Args,
    rules: &CheckRules,
    subjects: &[CheckedSubject],
    form: EmitTarget,
) -> anyhow::Result<String> {
    let form = match form {
        EmitTarget::StaticAssert => emit::EmitForm::StaticAssert,
        EmitTarget::Kernel => emit::EmitForm::Kernel,
    };
    let today = args.today.unwrap_or_else(input::today);
    let mut emitter = AssertionEmitter::new(&rules.config, rules.lock.as_ref(), form, today);
    for subject in subjects {
        subject.with(args, &rules.config, |catalog, facts, named, wanted| {
            Ok(emitter.add_file(facts, named, catalog, wanted)?)
        })?;
    }
    let headers = args.source.headers.iter();
    let headers: Vec<String> = headers.map(|path| path.display().to_string()).collect();
    let emitted = emitter.finish(&headers);
    if emitted.note_count > 0 {
        eprintln!(
            "relayout: note: assertions: {}; comments on what is not asserted, and why: {}",
            emitted.assertion_count, emitted.note_count
        );
    }
    Ok(emitted.text)
}
