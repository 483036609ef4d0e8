//! The needed part of QEMU's machine protocol (QMP): a greeting, and commands one at a time.

use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use serde_json::{Value, json};

/// Time that QEMU may take to answer.
const TIMEOUT: Duration = Duration::from_secs(20);

/// A connection on which commands can be given.
pub struct QmpConnection {
    reader: BufReader<UnixStream>,
    writer: UnixStream,
    is_greeted: bool,
}

impl QmpConnection {
    /// Takes this end of a pair of sockets, whose other end QEMU has.
    pub fn new(stream: UnixStream) -> io::Result<Self> {
        stream.set_read_timeout(Some(TIMEOUT))?;
        Ok(Self {
            reader: BufReader::new(stream.try_clone()?),
            writer: stream,
            is_greeted: false,
        })
    }

    /// Gives a command and returns its answer; events in between are dropped.
    pub fn run_command(&mut self, name: &str, arguments: Value) -> io::Result<Value> {
        self.give_command(name, arguments)?;
        self.read_answer(name)
    }

    /// Gives a command, whose answer must be read before the next command.
    pub fn give_command(&mut self, name: &str, arguments: Value) -> io::Result<()> {
        if !self.is_greeted {
            self.read_message()?;
            self.is_greeted = true;
            self.run_command("qmp_capabilities", json!({}))?;
        }
        let command = json!({ "execute": name, "arguments": arguments });
        writeln!(self.writer, "{command}")
    }

    /// Waits for the answer to the command `name`.
    pub fn read_answer(&mut self, name: &str) -> io::Result<Value> {
        loop {
            let mut answer = self.read_message()?;
            if let Some(error) = answer.get("error") {
                return Err(io::Error::other(format!("QEMU refuses '{name}': {error}")));
            }
            if let Some(value) = answer.get_mut("return") {
                return Ok(value.take());
            }
        }
    }

    fn read_message(&mut self) -> io::Result<Value> {
        let mut line = String::new();
        if self.reader.read_line(&mut line)? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        serde_json::from_str(&line).map_err(io::Error::other)
    }
}
