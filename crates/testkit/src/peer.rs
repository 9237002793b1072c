//! A fake DevTools peer: the browser's side of the pipe, driven by a script.
//!
//! The script is a closure that runs on a thread of its own with blocking reads and writes, so that what a test does
//! to the client stands in the order in which it happens: read this command, answer it so, send these bytes. A script
//! that fails, or a client that goes away under it, ends with an error, which [`Peer::finish`] gives to the test.

use std::io::{self, BufRead, BufReader, PipeReader, PipeWriter, Write};
use std::os::fd::OwnedFd;
use std::thread::JoinHandle;

use serde::Deserialize;
use serde_json::Value;

/// The client's ends of the two pipes.
#[derive(Debug)]
pub struct ClientEnds {
    /// What the client writes to (a browser's fd 3).
    pub to_browser: OwnedFd,
    /// What the client reads from (a browser's fd 4).
    pub from_browser: OwnedFd,
}

/// A running fake peer.
#[derive(Debug)]
pub struct Peer {
    thread: JoinHandle<io::Result<()>>,
}

impl Peer {
    /// Starts a peer that does what the script says, then closes both pipes.
    ///
    /// # Errors
    /// When the machine has no pipe or thread left.
    pub fn start<F>(script: F) -> io::Result<(Self, ClientEnds)>
    where
        F: FnOnce(&mut Script) -> io::Result<()> + Send + 'static,
    {
        let (commands, to_browser) = io::pipe()?;
        let (from_browser, out) = io::pipe()?;
        let thread = std::thread::Builder::new()
            .name("fake-devtools".to_owned())
            .spawn(move || {
                script(&mut Script {
                    commands: Some(BufReader::new(commands)),
                    out: Some(out),
                })
            })?;
        let ends = ClientEnds {
            to_browser: to_browser.into(),
            from_browser: from_browser.into(),
        };
        Ok((Self { thread }, ends))
    }

    /// Waits for the end of the script.
    ///
    /// # Errors
    /// What the script failed with; a panic of it is an error too.
    pub fn finish(self) -> io::Result<()> {
        self.thread
            .join()
            .unwrap_or_else(|_| Err(io::Error::other("the script panicked")))
    }
}

/// A command that the client sent.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Received {
    /// Its id.
    pub id: u64,
    /// Its session.
    pub session_id: Option<String>,
    /// `Domain.method`.
    pub method: String,
    /// Its parameters.
    #[serde(default)]
    pub params: Value,
}

/// What a script can do.
#[derive(Debug)]
pub struct Script {
    commands: Option<BufReader<PipeReader>>,
    out: Option<PipeWriter>,
}

impl Script {
    /// Reads the next command; `None` when the client closed its end.
    ///
    /// # Errors
    /// When the pipe fails, or the client sent something that is no command.
    pub fn read(&mut self) -> io::Result<Option<Received>> {
        let commands = self.commands.as_mut().ok_or_else(closed)?;
        let mut bytes = Vec::new();
        commands.read_until(0, &mut bytes)?;
        if bytes.pop().is_none() {
            return Ok(None);
        }
        Ok(Some(serde_json::from_slice(&bytes)?))
    }

    /// Reads the next command, which must be this method.
    ///
    /// # Errors
    /// When it is another one, or the client closed its end.
    pub fn expect(&mut self, method: &str) -> io::Result<Received> {
        match self.read()? {
            Some(received) if received.method == method => Ok(received),
            other => Err(io::Error::other(format!("expected {method}, got {other:?}"))),
        }
    }

    /// Answers every command by its method until the client closes its end; a method that is not listed is refused.
    ///
    /// # Errors
    /// When a pipe fails.
    pub fn serve(&mut self, answers: &[(&str, Value)]) -> io::Result<()> {
        while let Some(command) = self.read()? {
            match answers.iter().find(|(method, _)| *method == command.method) {
                Some((_, result)) => self.answer(&command, result)?,
                None => self.refuse(&command, -32601, "no such method")?,
            }
        }
        Ok(())
    }

    /// Answers a command.
    ///
    /// # Errors
    /// When the client no longer reads.
    pub fn answer(&mut self, command: &Received, result: &Value) -> io::Result<()> {
        self.answer_id(command.id, result)
    }

    /// Answers whatever call has this id, sent or not.
    ///
    /// # Errors
    /// When the client no longer reads.
    pub fn answer_id(&mut self, id: u64, result: &Value) -> io::Result<()> {
        self.raw(format!("{{\"id\":{id},\"result\":{result}}}\0").as_bytes())
    }

    /// Refuses a command.
    ///
    /// # Errors
    /// When the client no longer reads.
    pub fn refuse(&mut self, command: &Received, code: i64, message: &str) -> io::Result<()> {
        let error = serde_json::json!({"code": code, "message": message});
        self.raw(format!("{{\"id\":{},\"error\":{error}}}\0", command.id).as_bytes())
    }

    /// Sends an event.
    ///
    /// # Errors
    /// When the client no longer reads.
    pub fn event(&mut self, session: Option<&str>, method: &str, params: &Value) -> io::Result<()> {
        let mut message = serde_json::json!({"method": method, "params": params});
        if let (Some(session), Some(fields)) = (session, message.as_object_mut()) {
            fields.insert("sessionId".to_owned(), session.into());
        }
        self.raw(format!("{message}\0").as_bytes())
    }

    /// Sends bytes as they are; a message ends with NUL.
    ///
    /// # Errors
    /// When the client no longer reads.
    pub fn raw(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.out.as_mut().ok_or_else(closed)?.write_all(bytes)
    }

    /// Sends the same bytes many times over: one long message, or many short ones.
    ///
    /// # Errors
    /// When the client no longer reads.
    pub fn repeat(&mut self, bytes: &[u8], times: usize) -> io::Result<()> {
        let per_write = (64 * 1024 / bytes.len().max(1)).clamp(1, times.max(1));
        let block = bytes.repeat(per_write);
        for _ in 0..times / per_write {
            self.raw(&block)?;
        }
        self.raw(&bytes.repeat(times % per_write))
    }

    /// Closes the end that the client writes to.
    pub fn close_reading(&mut self) {
        self.commands = None;
    }

    /// Closes the end that the client reads from.
    pub fn close_writing(&mut self) {
        self.out = None;
    }
}

fn closed() -> io::Error {
    io::Error::new(io::ErrorKind::BrokenPipe, "the script closed this half")
}
