//! The terminal that output goes to and keys come from.

use std::io;
use std::os::fd::AsFd;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

/// Returns the columns of the terminal on standard output; `None` where it is none, or tells none.
pub fn terminal_columns() -> Option<usize> {
    let size = rustix::termios::tcgetwinsize(io::stdout()).ok()?;
    (size.ws_col > 0).then_some(usize::from(size.ws_col))
}

/// Waits until a key may have been pressed, a signal arrived, or `delay` is over. Returns false if nobody is at the
/// terminal's other end.
///
/// # Errors
/// Those of poll(2).
pub fn wait_for_key(terminal: &impl AsFd, delay: Duration) -> io::Result<bool> {
    let delay = Timespec::try_from(delay).map_err(io::Error::other)?;
    let mut waited = [PollFd::new(terminal, PollFlags::IN)];
    match poll(&mut waited, Some(&delay)) {
        Ok(_) => Ok(!waited[0]
            .revents()
            .intersects(PollFlags::HUP | PollFlags::ERR)),
        Err(Errno::INTR) => Ok(true),
        Err(error) => Err(error.into()),
    }
}
