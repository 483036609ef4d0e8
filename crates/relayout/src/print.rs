//! Results on standard output, notes on standard error: the only place that prints. Characters that
//! a terminal would obey are escaped here, before colours are added.

use std::borrow::Cow;
use std::io::{self, Write};
use std::ops::ControlFlow;
use std::sync::{Mutex, OnceLock, PoisonError};

use relayout_messages::UserError;
pub use relayout_report::text::highlight::TextKind;
use relayout_report::text::highlight::highlight;
use relayout_report::{Document as _, ErrorDocument, escape_text};

use crate::pager::Pager;

/// How to print, as the options of the command line say.
#[derive(Clone, Copy, Debug, Default)]
pub struct OutputSettings {
    /// No notes and no progress.
    pub quiet: bool,
    /// Colours on standard output.
    pub colored: bool,
    /// Colours on standard error.
    pub colored_notes: bool,
    /// Standard output goes through a pager.
    pub paged: bool,
    /// Errors are JSON documents.
    pub error_documents: bool,
}

static SETTINGS: OnceLock<OutputSettings> = OnceLock::new();
static PAGER: Mutex<Option<Pager>> = Mutex::new(None);

/// Sets how to print, once, before anything is printed.
pub fn set_output(settings: OutputSettings) {
    // The second of two calls changes nothing.
    let _ = SETTINGS.set(settings);
}

fn settings() -> OutputSettings {
    SETTINGS.get().copied().unwrap_or_default()
}

/// Returns true if notes and progress are not wanted.
pub fn is_quiet() -> bool {
    settings().quiet
}

/// Writes `text`; a reader that has seen enough (`| head`) is no error.
///
/// # Errors
/// Any other failure to write, such as a full disk.
pub fn print_text(text: &str) -> Result<(), UserError> {
    print_part(text, TextKind::Plain).map(|_| ())
}

/// Writes a document as it is, or a text of a kind in colours, where they are wanted.
///
/// # Errors
/// Those of [`print_text`].
pub fn print_rendered(text: &str, is_document: bool, kind: TextKind) -> Result<(), UserError> {
    let kind = if is_document { TextKind::Plain } else { kind };
    print_part(text, kind).map(|_| ())
}

/// Writes a part of the output, which ends with a line; breaks when the reader has closed the pipe.
///
/// # Errors
/// Those of [`print_text`].
pub fn print_part(text: &str, kind: TextKind) -> Result<ControlFlow<()>, UserError> {
    let escaped = escape_text(text);
    let written = match settings().colored {
        true => write_output(highlight(&escaped, kind).as_bytes()),
        false => write_output(escaped.as_bytes()),
    };
    match written {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(ControlFlow::Break(())),
        Err(error) => Err(UserError::input("cannot write to standard output").caused_by(error)),
        Ok(()) => Ok(ControlFlow::Continue(())),
    }
}

/// Writes to the pager, which the first text starts, or to standard output.
fn write_output(text: &[u8]) -> io::Result<()> {
    if settings().paged {
        let mut pager = PAGER.lock().unwrap_or_else(PoisonError::into_inner);
        if pager.is_none() {
            *pager = Pager::start();
        }
        if let Some(pager) = pager.as_mut() {
            return pager.write(text);
        }
    }
    let mut out = io::stdout().lock();
    out.write_all(text)?;
    out.flush()
}

/// Waits until the user has left the pager, if one was started.
pub fn finish_output() {
    let pager = PAGER.lock().unwrap_or_else(PoisonError::into_inner).take();
    if let Some(pager) = pager {
        pager.finish();
    }
}

/// Writes a sentence to standard error, after the name of the command, unless the user wants less.
pub fn print_note(text: &str) {
    if !is_quiet() {
        print_after_name(text, NoteKind::Note);
    }
}

/// Writes a warning to standard error, after the name of the command.
pub fn print_warning(text: &str) {
    print_after_name(text, NoteKind::Warning);
}

/// Writes an error to standard error: after the name of the command, or as a document.
pub fn print_failure(error: &UserError, code: u8) {
    if settings().error_documents {
        let (message, remedy) = (error.chain_message(), error.chain_remedy());
        print_error_document(&ErrorDocument::new(message, remedy, code));
    } else {
        print_after_name(&error.chain_text(), NoteKind::Failure);
    }
}

/// Writes the document of an error to standard error.
pub fn print_error_document(document: &ErrorDocument) {
    match document.to_json_line() {
        Ok(json) => write_line(&(json + "\n")),
        Err(_) => print_after_name(&document.message, NoteKind::Failure),
    }
}

/// Kind of a line on standard error.
#[derive(Clone, Copy)]
enum NoteKind {
    Note,
    Warning,
    Failure,
}

fn print_after_name(text: &str, kind: NoteKind) {
    let name: Cow<'_, str> = match (settings().colored_notes, kind) {
        (true, NoteKind::Warning) => "\x1b[1;33mrelayout:\x1b[0m".into(),
        (true, NoteKind::Failure) => "\x1b[1;31mrelayout:\x1b[0m".into(),
        _ => "relayout:".into(),
    };
    write_line(&format!("{name} {}\n", escape_text(text)));
}

/// Writes a line to standard error. A closed pipe is no error.
pub fn print_line(text: &str) {
    write_line(&format!("{}\n", escape_text(text)));
}

fn write_line(line: &str) {
    let _ = io::stderr().lock().write_all(line.as_bytes());
}
