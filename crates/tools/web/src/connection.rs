//! One connection of a client: requests and what is answered to them.

use super::stream::Stream;
use narrows_units::MS;
use narrows_wire::http1::{self, Broken};
use narrows_wire::sys;
use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::fd::AsRawFd;
use std::sync::Arc;
use std::time::Duration;

const PATIENCE: Duration = Duration::from_secs(30);
const BUFFER_BYTES: usize = 256 << 10;
const LOW_WATER_BYTES: u64 = 32 << 10;
const HEAD_BYTES: usize = 16 << 10;

/// How a server is reached.
#[derive(Clone)]
pub struct Connect {
    pub server: SocketAddr,
    pub cca: Option<String>,
    pub tls: Option<Arc<rustls::ClientConfig>>,
}

pub struct Connection {
    pub stream: Stream,
    scratch: Vec<u8>,
}

impl Connection {
    /// TCP, and TLS if that is asked for.
    pub fn open(
        to: &Connect,
        opened: impl FnOnce(&TcpStream) -> std::io::Result<()>,
    ) -> std::io::Result<Connection> {
        let socket = TcpStream::connect_timeout(&to.server, PATIENCE)?;
        socket.set_nodelay(true)?;
        socket.set_read_timeout(Some(PATIENCE))?;
        socket.set_write_timeout(Some(PATIENCE))?;
        if let Some(cca) = &to.cca {
            sys::set_cca(socket.as_raw_fd(), cca)?;
        }
        opened(&socket)?;
        Ok(Connection { stream: Stream::connect(socket, to.tls.as_ref())?, scratch: vec![0; BUFFER_BYTES] })
    }

    pub fn send_head(&mut self, method: &str, path: &str, body_bytes: u64) -> std::io::Result<()> {
        let head =
            format!("{method} {path} HTTP/1.1\r\nHost: narrows\r\nContent-Length: {body_bytes}\r\n\r\n");
        self.stream.write_all(head.as_bytes())
    }

    /// Reads an answer; tells of the bytes of its body as they come.
    pub fn read_answer(&mut self, mut count: impl FnMut(u64)) -> std::io::Result<()> {
        let bad = |text: &str| std::io::Error::new(ErrorKind::InvalidData, text.to_owned());
        let mut head = Vec::new();
        let (length, mut got) = loop {
            let n = self.read(HEAD_BYTES)?;
            head.extend_from_slice(&self.scratch[..n]);
            let answer = http1::response(&head, HEAD_BYTES, |answer, bytes| {
                let length = http1::header(answer.headers, "content-length");
                (answer.code.unwrap_or(0), length.and_then(|text| text.parse::<u64>().ok()), bytes)
            });
            match answer {
                Ok(Some((200, length, bytes))) => {
                    let length = length.ok_or_else(|| bad("an answer without Content-Length"))?;
                    break (length, (head.len() - bytes) as u64);
                }
                Ok(Some((code, _, _))) => return Err(bad(&format!("the server answers {code}"))),
                Ok(None) => {}
                Err(Broken::Endless) => return Err(bad("an endless head")),
                Err(Broken::NotHttp(e)) => return Err(bad(&format!("not HTTP: {e}"))),
            }
        };
        count(got);
        let mut mark = 1;
        while got < length {
            let wanted = (length - got).min(LOW_WATER_BYTES);
            if wanted != mark {
                self.stream.set_low_water(wanted as u32)?;
                mark = wanted;
            }
            let n = self.read((length - got).min(BUFFER_BYTES as u64) as usize)? as u64;
            got += n;
            count(n);
        }
        if mark != 1 {
            self.stream.set_low_water(1)?;
        }
        Ok(())
    }

    fn read(&mut self, most: usize) -> std::io::Result<usize> {
        loop {
            match self.stream.read(&mut self.scratch[..most]) {
                Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                other => return other,
            }
        }
    }

    /// An empty request's time, in ms.
    pub fn ping(&mut self) -> std::io::Result<(u64, f64)> {
        let began_ns = sys::monotonic_ns();
        self.send_head("GET", "/latency", 0)?;
        self.read_answer(|_| ())?;
        Ok((began_ns, (sys::monotonic_ns() - began_ns) as f64 / MS as f64))
    }
}
