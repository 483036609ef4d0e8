//! Results on standard output, notes on standard error: the only place that prints. Characters that
//! a terminal would obey are escaped here.

use std::io::{self, Write};
use std::ops::ControlFlow;

use anyhow::Context;
use relayout_report::escape_text;

/// Writes `text`; a reader that has seen enough (`| head`) is no error.
///
/// # Errors
/// Any other failure to write, such as a full disk.
pub fn print_text(text: &str) -> anyhow::Result<()> {
    print_part(text).map(|_| ())
}

/// Writes a part of the output; breaks when the reader has closed the pipe.
///
/// # Errors
/// Those of [`print_text`].
pub fn print_part(text: &str) -> anyhow::Result<ControlFlow<()>> {
    let mut out = io::stdout().lock();
    match out
        .write_all(escape_text(text).as_bytes())
        .and_then(|()| out.flush())
    {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(ControlFlow::Break(())),
        Err(error) => Err(error).context("cannot write to standard output"),
        Ok(()) => Ok(ControlFlow::Continue(())),
    }
}

/// Writes a sentence to standard error, after the name of the command.
pub fn print_note(text: &str) {
    print_line(&format!("relayout: {text}"));
}

/// Writes a line to standard error. A closed pipe is no error.
pub fn print_line(text: &str) {
    let line = format!("{}\n", escape_text(text));
    let _ = io::stderr().lock().write_all(line.as_bytes());
}
