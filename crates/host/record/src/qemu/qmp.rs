//! The needed part of QEMU's machine protocol (QMP): a greeting, and commands one at a time.

use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

/// Time that QEMU may take to answer.
const TIMEOUT: Duration = Duration::from_secs(20);

/// A connection on which commands can be given.
pub struct QmpConnection {
    reader: BufReader<UnixStream>,
    writer: UnixStream,
}

impl QmpConnection {
    /// Connects to the socket, which QEMU may not have made yet.
    pub fn connect(path: &Path) -> io::Result<Self> {
        let deadline = Instant::now() + TIMEOUT;
        let stream = loop {
            match UnixStream::connect(path) {
                Ok(stream) => break stream,
                Err(error) if Instant::now() > deadline => return Err(error),
                Err(_) => std::thread::sleep(Duration::from_millis(20)),
            }
        };
        stream.set_read_timeout(Some(TIMEOUT))?;
        let mut qmp = Self {
            reader: BufReader::new(stream.try_clone()?),
            writer: stream,
        };
        qmp.read_message()?;
        qmp.send_command("qmp_capabilities")?;
        Ok(qmp)
    }

    /// Gives a command without arguments and waits for its answer; events in between are dropped.
    pub fn send_command(&mut self, name: &str) -> io::Result<()> {
        writeln!(self.writer, "{}", json!({ "execute": name }))?;
        loop {
            let answer = self.read_message()?;
            if answer.get("return").is_some() {
                return Ok(());
            }
            if let Some(error) = answer.get("error") {
                return Err(io::Error::other(format!("QEMU refuses '{name}': {error}")));
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
