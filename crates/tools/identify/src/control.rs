//! The control connection: one JSON object a line, and blocks of bytes behind a line that announces them.

use std::io::{self, BufRead, BufReader, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, TryRecvError};
use std::time::Duration;

use serde_json::{json, Value};

const MOST_LINE: u64 = 1 << 18;
const MOST_BLOCK: u64 = 128 << 20;

type Item = io::Result<(Value, Vec<u8>)>;

pub struct Control {
    stream: TcpStream,
    lines: Receiver<Item>,
}

fn gone() -> io::Error {
    io::Error::new(ErrorKind::ConnectionAborted, "the other end closed the connection")
}

impl Control {
    /// `most_block`: whether blocks are taken, which only a client does.
    pub fn new(stream: TcpStream, takes_blocks: bool) -> io::Result<Control> {
        stream.set_nodelay(true)?;
        let reader = stream.try_clone()?;
        let (tell, lines) = mpsc::sync_channel(64);
        std::thread::Builder::new().spawn(move || {
            let mut reader = BufReader::new(reader);
            loop {
                let item = read(&mut reader, takes_blocks);
                let over = item.is_err();
                if tell.send(item).is_err() || over {
                    return;
                }
            }
        })?;
        Ok(Control { stream, lines })
    }

    pub fn tell(&mut self, line: &Value) -> io::Result<()> {
        let mut text = line.to_string();
        text.push('\n');
        self.stream.write_all(text.as_bytes())
    }

    /// A line that says how many bytes follow, and they.
    pub fn tell_block(&mut self, mut line: Value, block: &[u8]) -> io::Result<()> {
        line["block"] = json!(block.len());
        self.tell(&line)?;
        self.stream.write_all(block)
    }

    /// What has been said, if anything was.
    pub fn heard(&mut self) -> io::Result<Option<(Value, Vec<u8>)>> {
        match self.lines.try_recv() {
            Ok(item) => refused(item?).map(Some),
            Err(TryRecvError::Empty) => Ok(None),
            Err(TryRecvError::Disconnected) => Err(gone()),
        }
    }

    /// The next line, within so long.
    pub fn hear(&mut self, patience: Duration) -> io::Result<(Value, Vec<u8>)> {
        match self.lines.recv_timeout(patience) {
            Ok(item) => refused(item?),
            Err(RecvTimeoutError::Timeout) => {
                Err(io::Error::new(ErrorKind::TimedOut, format!("no answer within {} s", patience.as_secs())))
            }
            Err(RecvTimeoutError::Disconnected) => Err(gone()),
        }
    }
}

/// What the other end does not do is an error with its words.
fn refused(item: (Value, Vec<u8>)) -> io::Result<(Value, Vec<u8>)> {
    match item.0["error"].as_str() {
        Some(why) => Err(io::Error::other(why.to_owned())),
        None => Ok(item),
    }
}

fn read(reader: &mut impl BufRead, takes_blocks: bool) -> Item {
    let mut line = vec![];
    reader.take(MOST_LINE).read_until(b'\n', &mut line)?;
    if line.is_empty() {
        return Err(gone());
    }
    let strange = || io::Error::new(ErrorKind::InvalidData, "the other end is no narrows identify");
    let value: Value = serde_json::from_slice(&line).map_err(|_| strange())?;
    let bytes = value["block"].as_u64().unwrap_or(0);
    if bytes > 0 && (!takes_blocks || bytes > MOST_BLOCK) {
        return Err(strange());
    }
    let mut block = vec![0; bytes as usize];
    reader.read_exact(&mut block)?;
    Ok((value, block))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_and_their_blocks_are_read_and_anything_else_is_refused() {
        let mut bytes: &[u8] = b"{\"a\":1}\n{\"block\":3}\nxyz{\"b\":2}\n";
        assert_eq!(read(&mut bytes, true).unwrap().0["a"], 1);
        assert_eq!(read(&mut bytes, true).unwrap().1, b"xyz");
        assert_eq!(read(&mut bytes, true).unwrap().0["b"], 2);
        assert!(read(&mut bytes, true).is_err(), "the end");
        assert!(read(&mut &b"HTTP/1.1 400 Bad Request\r\n"[..], true).is_err());
        assert!(read(&mut &b"{\"block\":3}\nxyz"[..], false).is_err());
        assert!(read(&mut &b"{\"block\":999999999999}\n"[..], true).is_err());
    }
}
