//! The terminal that output goes to.

/// Returns the columns of the terminal on standard output; `None` where it is none, or tells none.
pub fn terminal_columns() -> Option<usize> {
    let size = rustix::termios::tcgetwinsize(std::io::stdout()).ok()?;
    (size.ws_col > 0).then_some(usize::from(size.ws_col))
}
