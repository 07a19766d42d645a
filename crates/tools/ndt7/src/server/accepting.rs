//! New connections, and who makes room for them.

use super::connection::{Connection, Stage};
use super::{Server, LISTENER};
use crate::outbox::Outbox;
use narrows_wire::sys::{self, Interest};
use narrows_wire::tls;
use narrows_wire::transport::Transport;
use std::io::ErrorKind;
use std::net::TcpStream;
use std::os::fd::AsRawFd;

/// Pause after the system could not give us another connection.
const ACCEPT_PAUSE_NS: u64 = 100_000_000;

impl Server {
    pub(super) fn accept(&mut self) {
        // One burst at a time: connections in a test come first again after it.
        for _ in 0..64 {
            match self.listener.accept() {
                Ok((socket, client)) => {
                    if let Err(e) = self.admit(socket, client.to_string()) {
                        self.warn(None, &format!("connection of {client} was dropped: {e}"));
                    }
                }
                Err(e) if e.kind() == ErrorKind::WouldBlock => return,
                Err(e) if matches!(e.kind(), ErrorKind::ConnectionAborted | ErrorKind::Interrupted) => {}
                Err(e) => {
                    self.warn(None, &format!("cannot accept a connection now: {e}"));
                    self.listen(false);
                    self.deadlines.insert((sys::monotonic_ns() + ACCEPT_PAUSE_NS, LISTENER));
                    return;
                }
            }
        }
    }

    pub(super) fn listen(&mut self, on: bool) {
        let _ = self.epoll.modify(self.listener.as_raw_fd(), LISTENER, Interest { read: on, write: false });
    }

    fn admit(&mut self, socket: TcpStream, client: String) -> Result<(), String> {
        socket.set_nonblocking(true).and_then(|()| socket.set_nodelay(true)).map_err(|e| e.to_string())?;
        if self.connections.len() >= self.max_connections {
            self.evict_idle()?;
        }
        let tls = self.tls.as_ref().map(tls::server).transpose()?;
        let transport = Transport::new(socket, tls);
        let token = self.next_token;
        self.next_token += 1;
        let interest = Interest { read: true, write: false };
        self.epoll.add(transport.fd(), token, interest).map_err(|e| e.to_string())?;
        let deadline_ns = sys::monotonic_ns() + self.head_timeout_ns;
        self.deadlines.insert((deadline_ns, token));
        let stage = Stage::Head { transport, outbox: Outbox::new(false, token), head: Vec::new() };
        self.connections.insert(token, Connection { stage, client, deadline_ns, interest, request: None });
        Ok(())
    }

    /// Makes room by closing the oldest connection that has not started a test.
    fn evict_idle(&mut self) -> Result<(), String> {
        let idle = self
            .connections
            .iter()
            .filter(|(_, c)| !matches!(c.stage, Stage::Test(_)))
            .map(|(t, _)| *t)
            .min();
        let token = idle.ok_or_else(|| format!("{} tests are running already", self.connections.len()))?;
        self.forget(token);
        Ok(())
    }
}
