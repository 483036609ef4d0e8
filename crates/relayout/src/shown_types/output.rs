//! Types on standard output, as many at a time as are known.

use std::ops::ControlFlow;

use relayout_messages::UserError;
use relayout_report::text::highlight::TextKind;

use crate::print;

/// Gathers texts, and the frame of the JSON document around them.
pub struct TypesOutput {
    is_json: bool,
    buffer: String,
    /// Something was added, though it may have left already.
    is_begun: bool,
}

impl TypesOutput {
    pub fn new(is_json: bool) -> Self {
        Self {
            is_json,
            buffer: String::new(),
            is_begun: false,
        }
    }

    fn kind(&self) -> TextKind {
        match self.is_json {
            true => TextKind::Plain,
            false => TextKind::Layout,
        }
    }

    /// Adds one type.
    pub fn add(&mut self, text: &str) {
        if self.is_json {
            self.buffer.push_str(match self.is_begun {
                true => ",\n",
                false => "{\"schema\":\"relayout/show/1\",\"types\":[\n",
            });
        }
        self.is_begun = true;
        self.buffer.push_str(text);
    }

    /// Writes what was added; breaks where nobody reads any more.
    ///
    /// # Errors
    /// As `print::print_part`.
    pub fn flush(&mut self) -> Result<ControlFlow<()>, UserError> {
        let done = print::print_part(&self.buffer, self.kind());
        self.buffer.clear();
        done
    }

    /// Writes the rest.
    ///
    /// # Errors
    /// As `print::print_text`.
    pub fn finish(mut self) -> Result<(), UserError> {
        if self.is_json {
            self.buffer.push_str("\n]}\n");
        }
        print::print_part(&self.buffer, self.kind()).map(|_| ())
    }
}
