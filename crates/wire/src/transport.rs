//! A non-blocking byte stream over TCP, plain or TLS. Knows nothing of WebSocket.

use crate::sys;
use rustls::Connection;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::fd::{AsRawFd, RawFd};

/// Most plaintext encrypted ahead of the socket: user space must not hold seconds of data.
const TLS_CHUNK_BYTES: usize = 64 << 10;
/// Most bytes read at once where they are looked at (bulk payload is discarded in the kernel instead).
const PLAIN_READ_BYTES: usize = 4 << 10;
const TLS_READ_BYTES: usize = 256 << 10;

pub struct Transport {
    socket: TcpStream,
    tls: Option<Tls>,
    /// Most bytes that one `read` takes from a plain connection.
    pub plain_read_bytes: usize,
}

struct Tls {
    connection: Connection,
    /// Ciphertext that the socket has not taken yet.
    out: Vec<u8>,
    out_at: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Received {
    /// Bytes came, and the socket was emptied.
    Drained,
    /// Bytes came, and more may wait.
    More,
    /// Nothing waits now.
    Blocked,
    Eof,
}

impl Transport {
    /// The socket must not block.
    pub fn new(socket: TcpStream, tls: Option<Connection>) -> Transport {
        let tls = tls.map(|mut connection| {
            connection.set_buffer_limit(Some(TLS_CHUNK_BYTES));
            Tls { connection, out: Vec::new(), out_at: 0 }
        });
        Transport { socket, tls, plain_read_bytes: PLAIN_READ_BYTES }
    }

    pub fn fd(&self) -> RawFd {
        self.socket.as_raw_fd()
    }

    pub fn is_tls(&self) -> bool {
        self.tls.is_some()
    }

    pub fn peer(&self) -> io::Result<SocketAddr> {
        self.socket.peer_addr()
    }

    pub fn local(&self) -> io::Result<SocketAddr> {
        self.socket.local_addr()
    }

    /// Why connecting failed, if it did.
    pub fn take_error(&self) -> io::Result<Option<io::Error>> {
        self.socket.take_error()
    }

    /// Round trips of the TLS handshake before the client may send: its own time is a multiple of the path's.
    pub fn tls_round_trips(&self) -> Option<u32> {
        let connection = &self.tls.as_ref()?.connection;
        let retried = connection.handshake_kind() == Some(rustls::HandshakeKind::FullWithHelloRetryRequest);
        let first = match connection.protocol_version()? {
            rustls::ProtocolVersion::TLSv1_3 => 1,
            _ => 2,
        };
        Some(first + u32::from(retried))
    }

    /// The protocol that ALPN chose.
    pub fn alpn(&self) -> Option<&[u8]> {
        self.tls.as_ref()?.connection.alpn_protocol()
    }

    /// Appends what was received to `plain`; `scratch` is working space.
    pub fn read(&mut self, scratch: &mut [u8], plain: &mut Vec<u8>) -> io::Result<Received> {
        let most = if self.tls.is_some() { TLS_READ_BYTES } else { self.plain_read_bytes }.min(scratch.len());
        let n = match sys::receive(self.fd(), &mut scratch[..most]) {
            Ok(0) => return Ok(Received::Eof),
            Ok(n) => n,
            Err(e) if e.kind() == ErrorKind::WouldBlock => return Ok(Received::Blocked),
            Err(e) => return Err(e),
        };
        let received = if n == most { Received::More } else { Received::Drained };
        let Some(tls) = &mut self.tls else {
            plain.extend_from_slice(&scratch[..n]);
            return Ok(received);
        };
        let mut ciphertext = &scratch[..n];
        let mut ended = false;
        while !ciphertext.is_empty() && !ended {
            tls.connection.read_tls(&mut ciphertext)?;
            let state = tls.connection.process_new_packets();
            if state.is_err() {
                // The alert that tells the peer why; the error below ends the connection anyway.
                let _ = tls.encrypt_pending();
                let _ = self.flush();
                return Err(io::Error::new(
                    ErrorKind::InvalidData,
                    state.err().map_or(String::new(), |e| e.to_string()),
                ));
            }
            ended = match tls.connection.reader().read_to_end(plain) {
                Ok(_) => true,
                Err(e) if e.kind() == ErrorKind::WouldBlock => false,
                Err(e) => return Err(e),
            };
        }
        tls.encrypt_pending()?;
        self.flush()?;
        Ok(if ended { Received::Eof } else { received })
    }

    /// Drops up to `most` waiting bytes inside the kernel. Plain connections only.
    pub fn discard(&mut self, most: u64, scratch: &mut [u8]) -> io::Result<(Received, u64)> {
        debug_assert!(self.tls.is_none());
        let most = (most.min(scratch.len() as u64)) as usize;
        match sys::discard(self.fd(), &mut scratch[..most]) {
            Ok(0) => Ok((Received::Eof, 0)),
            Ok(n) => Ok((if n == most { Received::More } else { Received::Drained }, n as u64)),
            Err(e) if e.kind() == ErrorKind::WouldBlock => Ok((Received::Blocked, 0)),
            Err(e) => Err(e),
        }
    }

    /// How many of the bytes were taken: fewer than given (perhaps 0) when the socket is full.
    pub fn write(&mut self, mut bytes: &[u8]) -> io::Result<usize> {
        if self.tls.is_none() {
            return match sys::send(self.fd(), bytes) {
                Err(e) if e.kind() == ErrorKind::WouldBlock => Ok(0),
                other => other,
            };
        }
        let given = bytes.len();
        while !bytes.is_empty() && self.flush()? {
            let Some(tls) = &mut self.tls else { break };
            let n = tls.connection.writer().write(bytes)?;
            tls.encrypt_pending()?;
            bytes = &bytes[n..];
            if n == 0 {
                break; // the handshake is not over
            }
        }
        self.flush()?;
        Ok(given - bytes.len())
    }

    /// Whether ciphertext waits for the socket.
    pub fn has_pending(&self) -> bool {
        self.tls.as_ref().is_some_and(|tls| tls.out_at < tls.out.len())
    }

    /// Sends waiting ciphertext; true when none is left.
    pub fn flush(&mut self) -> io::Result<bool> {
        let fd = self.fd();
        let Some(tls) = &mut self.tls else { return Ok(true) };
        while tls.out_at < tls.out.len() {
            match sys::send(fd, &tls.out[tls.out_at..]) {
                Ok(n) => tls.out_at += n,
                Err(e) if e.kind() == ErrorKind::WouldBlock => return Ok(false),
                Err(e) => return Err(e),
            }
        }
        tls.out.clear();
        tls.out_at = 0;
        Ok(true)
    }

    /// Starts a TLS handshake (a client speaks first).
    pub fn start(&mut self) -> io::Result<()> {
        if let Some(tls) = &mut self.tls {
            tls.encrypt_pending()?;
        }
        self.flush().map(|_| ())
    }

    pub fn is_handshaking(&self) -> bool {
        self.tls.as_ref().is_some_and(|tls| tls.connection.is_handshaking())
    }

    /// Tells the peer that nothing more will be sent.
    pub fn shutdown_write(&mut self) {
        if let Some(tls) = &mut self.tls {
            tls.connection.send_close_notify();
            let _ = tls.encrypt_pending();
            let _ = self.flush();
        }
        let _ = self.socket.shutdown(std::net::Shutdown::Write);
    }
}

impl Tls {
    fn encrypt_pending(&mut self) -> io::Result<()> {
        while self.connection.wants_write() {
            self.connection.write_tls(&mut self.out)?;
        }
        Ok(())
    }
}
