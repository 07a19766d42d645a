//! The NDT7 server: one thread, one epoll, any number of clients. Accepts, upgrades or refuses, runs tests.
//!
//! Nothing a client sends or leaves out may stop the others: every connection has a deadline and bounded buffers,
//! and there is a bound on connections. The rules of a test are in `peer`.

mod accepting;
mod connection;

use self::connection::{Connection, Stage};
use crate::args::ServerArgs;
use crate::handshake::{self, Refusal};
use crate::measurement::{rfc3339, ConnectionInfo};
use crate::outbox::{Frames, Outbox};
use crate::output::{figures, note_line};
use crate::peer::{End, Peer, Settings, Side};
use narrows_wire::args::Way;
use narrows_wire::lines::{keyed, Lines};
use narrows_wire::sys::{self, Epoll, Interest, Ready, Timer};
use narrows_wire::tls::Identity;
use narrows_wire::transport::{Received, Transport};
use serde_json::{json, Map, Value};
use std::collections::{BTreeSet, HashMap};
use std::io;
use std::net::TcpListener;
use std::os::fd::AsRawFd;
use std::sync::Arc;
use std::time::SystemTime;

const MAX_CONNECTIONS: usize = 1024;
/// A client gets this long for TLS and its request.
const HEAD_TIMEOUT_NS: u64 = 5_000_000_000;
const SCRATCH_BYTES: usize = 1 << 20;

const LISTENER: u64 = 0;
const TIMER: u64 = 1;
const SIGNAL: u64 = 2;
const FIRST_CONNECTION: u64 = 3;

pub struct Server {
    args: ServerArgs,
    pub listener: TcpListener,
    tls: Option<Arc<rustls::ServerConfig>>,
    epoll: Epoll,
    timer: Timer,
    /// What the timer is set to; unknown once it went off, since only setting it anew makes it forget that.
    timer_at_ns: Option<Option<u64>>,
    connections: HashMap<u64, Connection>,
    deadlines: BTreeSet<(u64, u64)>,
    next_token: u64,
    pub max_connections: usize,
    pub head_timeout_ns: u64,
    frames: Frames,
    scratch: Vec<u8>,
    log: Lines,
}

/// Serves until SIGINT or SIGTERM.
pub fn run(args: ServerArgs) -> Result<(), String> {
    let stop = sys::stop_signals().map_err(|e| format!("cannot wait for signals: {e}"))?;
    let log = Lines::open(args.log.as_deref())?;
    Server::start(args, log, &stop)?.serve()
}

impl Server {
    /// Listens; `stop` becomes readable when the server is to end.
    pub fn start(args: ServerArgs, mut log: Lines, stop: &impl AsRawFd) -> Result<Server, String> {
        let tls = if args.tls {
            Some(Identity::of_server(args.cert_and_key.as_ref(), args.listen)?.into_config()?)
        } else {
            None
        };
        let listener =
            TcpListener::bind(args.listen).map_err(|e| format!("--listen {}: {e}", args.listen))?;
        let io_error = |e: io::Error| format!("cannot serve: {e}");
        listener.set_nonblocking(true).map_err(io_error)?;
        let (epoll, timer) = (Epoll::new().map_err(io_error)?, Timer::new().map_err(io_error)?);
        let read = Interest { read: true, write: false };
        epoll.add(listener.as_raw_fd(), LISTENER, read).map_err(io_error)?;
        epoll.add(timer.as_raw_fd(), TIMER, read).map_err(io_error)?;
        epoll.add(stop.as_raw_fd(), SIGNAL, read).map_err(io_error)?;
        let address = listener.local_addr().map_err(io_error)?;
        let value = json!({"address": address.to_string(), "tls": tls.is_some(), "cca": args.cca,
                           "duration_ms": args.duration_ns / 1_000_000});
        log.write(&keyed("listening", sys::monotonic_ns(), value))?;
        Ok(Server {
            args,
            listener,
            tls,
            epoll,
            timer,
            timer_at_ns: None,
            connections: HashMap::new(),
            deadlines: BTreeSet::new(),
            next_token: FIRST_CONNECTION,
            head_timeout_ns: HEAD_TIMEOUT_NS,
            max_connections: MAX_CONNECTIONS.min(sys::raise_file_limit().saturating_sub(32).max(1) as usize),
            frames: Frames::new(false),
            scratch: vec![0; SCRATCH_BYTES],
            log,
        })
    }

    pub fn serve(&mut self) -> Result<(), String> {
        let mut ready = Vec::new();
        loop {
            self.epoll.wait(&mut ready).map_err(|e| format!("cannot wait for events: {e}"))?;
            for event in &ready {
                match event.token {
                    LISTENER => self.accept(),
                    TIMER => self.on_time()?,
                    SIGNAL => return self.stop(),
                    token => self.on_ready(token, *event)?,
                }
            }
            self.arm_timer()?;
        }
    }

    fn stop(&mut self) -> Result<(), String> {
        let tokens: Vec<u64> = self.connections.keys().copied().collect();
        for token in tokens {
            if let Some(Connection { stage: Stage::Test(peer), .. }) = self.connections.get_mut(&token) {
                peer.finish(End::Failed("the server was stopped".into()));
            }
            self.settle(token)?;
        }
        self.log.write(&keyed("stopped", sys::monotonic_ns(), json!({})))
    }

    fn arm_timer(&mut self) -> Result<(), String> {
        let first = self.deadlines.first().map(|(at, _)| *at);
        if Some(first) != self.timer_at_ns {
            self.timer.set(first).map_err(|e| format!("cannot set the timer: {e}"))?;
            self.timer_at_ns = Some(first);
        }
        Ok(())
    }

    fn on_time(&mut self) -> Result<(), String> {
        let now = sys::monotonic_ns();
        self.timer_at_ns = None;
        while let Some((at, token)) = self.deadlines.first().copied().filter(|(at, _)| *at <= now) {
            self.deadlines.remove(&(at, token));
            if token == LISTENER {
                self.listen(true);
                continue;
            }
            let Some(connection) = self.connections.get_mut(&token) else {
                continue;
            };
            match &mut connection.stage {
                Stage::Test(peer) => peer.on_time(now, &mut self.frames, &mut self.scratch),
                Stage::Head { .. } => {
                    let refusal = Refusal {
                        status: 408,
                        why: format!("no complete request in {} s", self.head_timeout_ns / 1_000_000_000),
                    };
                    connection.refuse(refusal, now, &mut self.log)?;
                }
                Stage::Refused { .. } => connection.stage = Stage::Over,
                Stage::Over => {}
            }
            self.settle(token)?;
        }
        Ok(())
    }

    fn on_ready(&mut self, token: u64, ready: Ready) -> Result<(), String> {
        let Some(connection) = self.connections.get_mut(&token) else {
            return Ok(());
        };
        match &mut connection.stage {
            Stage::Test(peer) => peer.on_ready(ready, &mut self.frames, &mut self.scratch),
            Stage::Head { .. } => self.read_head(token)?,
            Stage::Refused { transport, outbox } => {
                let mut ignored = Vec::new();
                let gone = match transport.read(&mut self.scratch, &mut ignored) {
                    Ok(received) => received == Received::Eof,
                    Err(_) => true,
                };
                if gone || outbox.write(transport, &mut self.frames).is_err() {
                    connection.stage = Stage::Over;
                } else if outbox.is_empty() {
                    transport.shutdown_write();
                }
            }
            Stage::Over => {}
        }
        self.settle(token)
    }

    fn read_head(&mut self, token: u64) -> Result<(), String> {
        let Some(connection) = self.connections.get_mut(&token) else {
            return Ok(());
        };
        let Stage::Head { transport, head, .. } = &mut connection.stage else {
            return Ok(());
        };
        match transport.read(&mut self.scratch, head) {
            Ok(Received::Eof) | Err(_) => {
                connection.stage = Stage::Over;
                return Ok(());
            }
            Ok(_) => {}
        }
        match handshake::parse_request(head) {
            Ok(None) => {}
            Err(refusal) => connection.refuse(refusal, sys::monotonic_ns(), &mut self.log)?,
            Ok(Some((request, used))) => {
                let Stage::Head { transport, mut outbox, head } =
                    std::mem::replace(&mut connection.stage, Stage::Over)
                else {
                    return Ok(());
                };
                outbox.push_raw(&handshake::switching_protocols(&request.key));
                connection.request = Some(request);
                self.begin(token, transport, outbox, &head[used..])?;
            }
        }
        Ok(())
    }

    fn begin(
        &mut self,
        token: u64,
        transport: Transport,
        outbox: Outbox,
        received: &[u8],
    ) -> Result<(), String> {
        let Some(connection) = self.connections.get_mut(&token) else {
            return Ok(());
        };
        let Some(request) = &connection.request else {
            return Ok(());
        };
        let fd = transport.fd();
        let refused_cca = sys::set_cca(fd, &self.args.cca).err();
        let address =
            |a: io::Result<std::net::SocketAddr>| a.map_or_else(|_| "unknown".into(), |a| a.to_string());
        let info = ConnectionInfo {
            client: address(transport.peer()),
            server: address(transport.local()),
            uuid: sys::socket_cookie(fd).ok().map(|cookie| format!("narrows_{cookie:016X}")),
            start_time: SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).ok().map(rfc3339),
        };
        let settings = Settings {
            side: Side::Server,
            test: request.test,
            duration_ns: self.args.duration_ns,
            early_exit_bytes: request.early_exit_bytes.filter(|_| request.test == Way::Download),
            connection_info: Some(info.clone()),
        };
        let metadata: Map<String, Value> =
            request.metadata.iter().map(|(n, v)| (n.clone(), Value::from(v.as_str()))).collect();
        let value = json!({"Test": request.test.name(), "ConnectionInfo": info, "metadata": metadata,
                           "user_agent": request.user_agent, "cca": sys::cca(fd).ok()});
        let mut peer = Box::new(Peer::new(settings, transport, outbox, received));
        let mut line = keyed("starting", peer.start_ns, value);
        line["connection"] = json!(token);
        self.log.write(&line)?;
        // The response, and in a download the first messages, go out at once.
        peer.on_ready(
            Ready { token, read: false, write: true, closed: false },
            &mut self.frames,
            &mut self.scratch,
        );
        connection.stage = Stage::Test(peer);
        if let Some(e) = refused_cca {
            let message = format!("CCA {} could not be set: {e}", self.args.cca);
            self.warn(Some(token), &message);
        }
        Ok(())
    }

    /// After anything happened to a connection: writes its notes, updates what it waits for, or forgets it.
    fn settle(&mut self, token: u64) -> Result<(), String> {
        let Some(connection) = self.connections.get_mut(&token) else {
            return Ok(());
        };
        let old = (connection.deadline_ns, token);
        let (fd, interest) = match &mut connection.stage {
            Stage::Test(peer) => {
                for note in peer.notes.drain(..) {
                    self.log.write(&note_line(&note, &[("connection", json!(token))]))?;
                }
                if peer.end.is_some() {
                    let mut figures = figures(peer);
                    figures.insert("client".into(), json!(connection.client));
                    figures.insert("cca".into(), json!(sys::cca(peer.transport.fd()).ok()));
                    let mut line = keyed("result", sys::monotonic_ns(), Value::Object(figures));
                    line["connection"] = json!(token);
                    self.log.write(&line)?;
                    self.forget(token);
                    return Ok(());
                }
                connection.deadline_ns = peer.deadline_ns();
                (peer.transport.fd(), peer.interest())
            }
            Stage::Head { transport, .. } => {
                (transport.fd(), Interest { read: true, write: transport.has_pending() })
            }
            Stage::Refused { transport, outbox } => {
                let write = !outbox.is_empty() || transport.has_pending();
                (transport.fd(), Interest { read: true, write })
            }
            Stage::Over => {
                self.forget(token);
                return Ok(());
            }
        };
        let new = (connection.deadline_ns, token);
        // A deadline that just passed was taken out of the set, even if it did not change.
        if new != old || !self.deadlines.contains(&new) {
            self.deadlines.remove(&old);
            self.deadlines.insert(new);
        }
        if interest != connection.interest {
            connection.interest = interest;
            if self.epoll.modify(fd, token, interest).is_err() {
                self.forget(token);
            }
        }
        Ok(())
    }

    /// Closes the connection's socket, which also takes it out of the epoll.
    fn forget(&mut self, token: u64) {
        if let Some(connection) = self.connections.remove(&token) {
            self.deadlines.remove(&(connection.deadline_ns, token));
        }
    }

    fn warn(&mut self, token: Option<u64>, message: &str) {
        let mut line = keyed("warning", sys::monotonic_ns(), json!({"message": message}));
        line["connection"] = json!(token);
        // A full disk ends the server at the next measurement, with its reason.
        let _ = self.log.write(&line);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::parse_server;
    use std::net::TcpStream;

    #[test]
    fn a_timer_that_went_off_last_does_not_keep_the_server_awake() {
        let args = parse_server(&["--listen=127.0.0.1:0".to_owned()]).unwrap();
        let (stop, _never) = std::os::unix::net::UnixStream::pair().unwrap();
        let mut server = Server::start(args, Lines::to(io::sink()), &stop).unwrap();
        server.arm_timer().unwrap();
        server.timer.set(Some(1)).unwrap(); // long past
        let mut ready = Vec::new();
        server.epoll.wait(&mut ready).unwrap();
        assert_eq!(ready[0].token, TIMER);
        server.on_time().unwrap();
        server.arm_timer().unwrap();
        let _client = TcpStream::connect(server.listener.local_addr().unwrap()).unwrap();
        server.epoll.wait(&mut ready).unwrap();
        assert_eq!(ready.iter().map(|r| r.token).collect::<Vec<_>>(), [LISTENER]);
    }
}
