//! `relayout check --emit`: what is asserted, as C.

use clap::ValueEnum;
use relayout_check::emit::{self, Emitter};

use super::input::{self, Rules};
use super::{Args, Subject};

/// What the C is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Form {
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
    rules: &Rules,
    subjects: &[Subject],
    form: Form,
) -> anyhow::Result<String> {
    let form = match form {
        Form::StaticAssert => emit::Form::StaticAssert,
        Form::Kernel => emit::Form::Kernel,
    };
    let today = args.today.unwrap_or_else(input::today);
    let mut emitter = Emitter::new(&rules.config, rules.lock.as_ref(), form, today);
    for subject in subjects {
        subject.with(args, &rules.config, |catalog, facts, named, wanted| {
            Ok(emitter.add(facts, named, catalog, wanted)?)
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
