//! A blocking byte stream over TCP, plain or TLS. Knows nothing of HTTP.

use std::io::{Read, Result, Write};
use std::net::TcpStream;
use std::os::fd::AsRawFd;
use std::sync::Arc;

use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection, ServerConfig, ServerConnection, StreamOwned};

use narrows_wire::sys;

pub enum Stream {
    Plain(TcpStream),
    Server(Box<StreamOwned<ServerConnection, TcpStream>>),
    Client(Box<StreamOwned<ClientConnection, TcpStream>>),
}

fn refused(e: rustls::Error) -> std::io::Error {
    std::io::Error::other(e)
}

impl Stream {
    /// Of a server; the handshake is over when this returns.
    pub fn accept(mut socket: TcpStream, tls: Option<&Arc<ServerConfig>>) -> Result<Stream> {
        let Some(config) = tls else {
            return Ok(Stream::Plain(socket));
        };
        let mut connection = ServerConnection::new(config.clone()).map_err(refused)?;
        while connection.is_handshaking() {
            connection.complete_io(&mut socket)?;
        }
        Ok(Stream::Server(Box::new(StreamOwned::new(connection, socket))))
    }

    /// Of a client; the handshake is over when this returns.
    pub fn connect(mut socket: TcpStream, tls: Option<&Arc<ClientConfig>>) -> Result<Stream> {
        let Some(config) = tls else {
            return Ok(Stream::Plain(socket));
        };
        let name = ServerName::IpAddress(socket.peer_addr()?.ip().into());
        let mut connection = ClientConnection::new(config.clone(), name).map_err(refused)?;
        while connection.is_handshaking() {
            connection.complete_io(&mut socket)?;
        }
        Ok(Stream::Client(Box::new(StreamOwned::new(connection, socket))))
    }

    /// A read wakes up for this many bytes of plaintext, not for every packet. Not over TLS: part of a record may
    /// have been taken from the socket already, and what is left of it may be less.
    pub fn set_low_water(&self, bytes: u32) -> Result<()> {
        match self {
            Stream::Plain(socket) => sys::set_receive_low_water(socket.as_raw_fd(), bytes),
            _ => Ok(()),
        }
    }
}

impl Read for Stream {
    fn read(&mut self, into: &mut [u8]) -> Result<usize> {
        match self {
            Stream::Plain(socket) => socket.read(into),
            Stream::Server(stream) => stream.read(into),
            Stream::Client(stream) => stream.read(into),
        }
    }
}

impl Write for Stream {
    fn write(&mut self, bytes: &[u8]) -> Result<usize> {
        match self {
            Stream::Plain(socket) => socket.write(bytes),
            Stream::Server(stream) => stream.write(bytes),
            Stream::Client(stream) => stream.write(bytes),
        }
    }

    fn flush(&mut self) -> Result<()> {
        match self {
            Stream::Plain(socket) => socket.flush(),
            Stream::Server(stream) => stream.flush(),
            Stream::Client(stream) => stream.flush(),
        }
    }
}

impl Drop for Stream {
    /// TLS says that it is over: without that an end is taken for a cut.
    fn drop(&mut self) {
        if let Stream::Server(stream) = self {
            stream.conn.send_close_notify();
            let _ = stream.flush();
        }
    }
}
