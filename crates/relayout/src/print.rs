//! Results on standard output.

use std::io::{self, Write};

use anyhow::Context;

/// Writes `text`; a reader that has seen enough (`| head`) is no error.
///
/// # Errors
/// Any other failure to write, such as a full disk.
pub fn print(text: &str) -> anyhow::Result<()> {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        result => result.context("cannot write to standard output"),
    }
}
