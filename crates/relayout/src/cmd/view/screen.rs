//! The terminal's screen, taken from the shell and given back as it was: at the end, at an error, and at a panic.

use std::io::{self, Stdout, stdout};
use std::panic;
use std::sync::Once;

use crossterm::cursor::{Hide, Show};
use crossterm::execute;
use crossterm::terminal::{
    EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode,
};
use ratatui_core::terminal::Terminal;
use ratatui_crossterm::CrosstermBackend;
use relayout_report::view::ReportView;

/// The screen while the view has it. Dropping it gives it back.
pub(super) struct TakenScreen(Terminal<CrosstermBackend<Stdout>>);

impl TakenScreen {
    /// Takes the screen: keys arrive at once and without echo, and the shell's text stays beside.
    pub fn take() -> io::Result<Self> {
        give_back_at_panic();
        let taken = enable_raw_mode()
            .and_then(|()| execute!(stdout(), EnterAlternateScreen, Hide))
            .and_then(|()| Terminal::new(CrosstermBackend::new(stdout())));
        match taken {
            Ok(terminal) => Ok(Self(terminal)),
            Err(error) => {
                give_back();
                Err(error)
            }
        }
    }

    /// Draws what changed since the last drawing.
    pub fn draw(&mut self, view: &mut ReportView) -> io::Result<()> {
        self.0
            .draw(|frame| view.render(frame.area(), frame.buffer_mut()))?;
        Ok(())
    }

    /// Makes the next drawing draw everything.
    pub fn clear(&mut self) -> io::Result<()> {
        self.0.clear()
    }
}

impl Drop for TakenScreen {
    fn drop(&mut self) {
        give_back();
    }
}

/// Gives the screen back. A terminal that has gone away is no error.
fn give_back() {
    let _ = execute!(stdout(), Show, LeaveAlternateScreen);
    let _ = disable_raw_mode();
}

/// Gives the screen back before the message of a panic, which would vanish with the screen.
fn give_back_at_panic() {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let print_message = panic::take_hook();
        panic::set_hook(Box::new(move |panic| {
            give_back();
            print_message(panic);
        }));
    });
}
