//! Helpers for tests over real sockets.

mod held_up;

pub use held_up::unless_held_up;

use serde_json::Value;
use std::io::{self, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

/// The words of a command line.
pub fn words(line: &str) -> Vec<String> {
    line.split_whitespace().map(str::to_owned).collect()
}

/// A server under test in a thread of its own, which ends when something is written to `stop`.
pub struct Running {
    pub address: SocketAddr,
    pub log: Shared,
    pub stop: UnixStream,
    pub thread: JoinHandle<Result<(), String>>,
}

impl Running {
    pub fn connect(&self) -> TcpStream {
        let socket = TcpStream::connect(self.address).unwrap();
        socket.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        socket
    }

    /// Ends the server, which must not have ended before; gives what it wrote.
    pub fn end(mut self) -> Shared {
        self.stop.write_all(b"x").unwrap();
        self.thread.join().unwrap().unwrap();
        self.log
    }
}

/// Where a tool under test writes its JSON lines.
#[derive(Clone, Default)]
pub struct Shared(Arc<Mutex<Vec<u8>>>);

impl Write for Shared {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Shared {
    pub fn lines(&self) -> Vec<Value> {
        let bytes = self.0.lock().unwrap();
        bytes
            .split(|b| *b == b'\n')
            .filter(|l| !l.is_empty())
            .map(|l| serde_json::from_slice(l).unwrap())
            .collect()
    }

    pub fn values(&self, key: &str) -> Vec<Value> {
        let lines = self.with_key(key).into_iter();
        lines.map(|line| line["Value"].clone()).collect()
    }

    pub fn with_key(&self, key: &str) -> Vec<Value> {
        self.lines().into_iter().filter(|line| line["Key"] == key).collect()
    }
}
