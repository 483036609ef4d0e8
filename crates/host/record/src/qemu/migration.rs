//! State of a stopped machine, written to a file and read from one. QEMU calls both a migration.
//!
//! The guest's memory is no part of the file, because it is a file itself (`x-ignore-shared`).

use std::fs::File;
use std::os::fd::AsRawFd;
use std::time::{Duration, Instant};

use relayout_files::InterruptFlag;
use serde_json::{Value, json};

use super::QemuMachine;
use crate::Error;

const POLL_INTERVAL: Duration = Duration::from_millis(2);
/// Time that a few megabytes may take on a busy host.
const TIME_LIMIT: Duration = Duration::from_secs(60);
/// Bytes a second that QEMU writes at most: no limit.
const BANDWIDTH_MAX: u64 = 1 << 40;

impl QemuMachine {
    /// Writes the state of the stopped machine to `file`, which this QEMU has inherited.
    ///
    /// # Errors
    /// QEMU refuses or fails, or the user interrupts.
    pub fn save_state(&mut self, file: &File, interrupt: InterruptFlag) -> Result<(), Error> {
        self.leave_memory_out()?;
        let parameters = json!({ "max-bandwidth": BANDWIDTH_MAX });
        self.run_command("migrate-set-parameters", parameters)?;
        self.run_command("migrate", json!({ "uri": inherited_uri(file) }))?;
        self.await_migration(interrupt)
    }

    /// Reads the state of the machine from `file`, which then stands still.
    ///
    /// # Errors
    /// QEMU refuses or fails, or the user interrupts.
    pub fn restore_state(&mut self, file: &File, interrupt: InterruptFlag) -> Result<(), Error> {
        self.leave_memory_out()?;
        self.run_command("migrate-incoming", json!({ "uri": inherited_uri(file) }))?;
        self.await_migration(interrupt)
    }

    /// Lets a machine run that stands still.
    pub fn go_on(&mut self) -> Result<(), Error> {
        self.run_command("cont", json!({})).map(drop)
    }

    fn leave_memory_out(&mut self) -> Result<(), Error> {
        let capability = json!({ "capability": "x-ignore-shared", "state": true });
        let arguments = json!({ "capabilities": [capability] });
        self.run_command("migrate-set-capabilities", arguments)
            .map(drop)
    }

    fn await_migration(&mut self, interrupt: InterruptFlag) -> Result<(), Error> {
        let deadline = Instant::now() + TIME_LIMIT;
        loop {
            let answer = self.run_command("query-migrate", json!({}))?;
            match answer["status"].as_str() {
                Some("completed") => return Ok(()),
                Some("failed" | "cancelled") => {
                    let why = answer["error-desc"].as_str().unwrap_or("no reason given");
                    return Err(self.qemu_error(&format!("failed to copy its state ({why})")));
                }
                _ => {}
            }
            if interrupt.is_set() {
                return Err(Error::Interrupted);
            }
            if Instant::now() > deadline {
                return Err(self.qemu_error("did not copy its state in time"));
            }
            std::thread::sleep(POLL_INTERVAL);
        }
    }
}

/// Address of an open file that QEMU has under the same number.
fn inherited_uri(file: &File) -> Value {
    format!("file:/proc/self/fd/{}", file.as_raw_fd()).into()
}
