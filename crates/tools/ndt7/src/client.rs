//! The NDT7 client: runs the asked-for tests one after another and writes a JSON line per event and a summary.
//!
//! The rules of a test are in `peer`.

use crate::args::ClientArgs;
use crate::frame;
use crate::handshake;
use crate::outbox::{Frames, Outbox};
use crate::output::{figures, note_line};
use crate::peer::{End, Peer, Settings, Side};
use crate::spec::EARLY_EXIT_KEY;
use narrows_wire::args::Way;
use narrows_wire::lines::{keyed, Lines};
use narrows_wire::net::{resolve, use_cca};
use narrows_wire::program::{NAME, USER_AGENT, VERSION};
use narrows_wire::sys::{self, Epoll, Interest, Ready, Timer};
use narrows_wire::tls;
use narrows_wire::transport::{Received, Transport};
use serde_json::{json, Map, Value};
use socket2::{Domain, Socket, Type};
use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::Arc;
use std::time::Duration;

/// For connecting, TLS and the upgrade together; the test's time begins after them.
const SETUP_TIMEOUT_NS: u64 = 10_000_000_000;
const SCRATCH_BYTES: usize = 1 << 20;
const SOCKET: u64 = 0;
const TIMER: u64 = 1;
const SIGNAL: u64 = 2;

/// What waits for one connection.
struct Wait {
    epoll: Epoll,
    timer: Timer,
    deadline_ns: Option<u64>,
    interest: Interest,
    ready: Vec<Ready>,
}

enum Woken {
    Ready(Ready),
    Time,
    Signal,
}

struct Client {
    args: ClientArgs,
    address: SocketAddr,
    tls: Option<Arc<rustls::ClientConfig>>,
    stop: OwnedFd,
    out: Lines,
    scratch: Vec<u8>,
}

/// Runs the tests; the error is the first test's that failed.
pub fn run(args: ClientArgs) -> Result<(), String> {
    let stop = sys::stop_signals().map_err(|e| format!("cannot wait for signals: {e}"))?;
    let out = Lines::open(args.out.as_deref())?;
    run_until(args, out, stop)
}

/// Like `run`, until `stop` becomes readable.
pub fn run_until(args: ClientArgs, out: Lines, stop: OwnedFd) -> Result<(), String> {
    let tls = if args.url.tls { Some(tls::client_config(args.insecure, args.ca.as_deref())?) } else { None };
    let address = resolve(&args.url.host, args.url.port)
        .map_err(|why| format!("--server {}: {why}", args.url.authority))?;
    let mut client = Client { args, address, tls, stop, out, scratch: vec![0; SCRATCH_BYTES] };
    let mut results = Map::new();
    let mut failure = None;
    for test in client.args.tests.clone() {
        client.write("starting", json!({"Test": test.name()}))?;
        let result = client.test(test);
        let (figures, error) = match result {
            Ok(outcome) => outcome,
            Err(e) => (Map::new(), Some(e)),
        };
        let mut figures = Value::Object(figures);
        figures["error"] = json!(error);
        results.insert(test.name().into(), figures);
        match error {
            Some(e) => {
                client.write("error", json!({"Test": test.name(), "Failure": e}))?;
                failure.get_or_insert(format!("{} from {}: {e}", test.name(), client.args.url.authority));
            }
            None => client.write("complete", json!({"Test": test.name()}))?,
        }
    }
    let server = json!({"url": client.args.url.authority, "address": client.address.to_string(), "tls": client.args.url.tls});
    client.write("summary", json!({"server": server, "tests": results}))?;
    failure.map_or(Ok(()), Err)
}

impl Wait {
    fn new(transport: &Transport, stop: &OwnedFd, deadline_ns: u64) -> io::Result<Wait> {
        let interest = Interest { read: true, write: false };
        let (epoll, timer) = (Epoll::new()?, Timer::new()?);
        epoll.add(transport.fd(), SOCKET, interest)?;
        epoll.add(timer.as_raw_fd(), TIMER, interest)?;
        epoll.add(stop.as_raw_fd(), SIGNAL, interest)?;
        timer.set(Some(deadline_ns))?;
        Ok(Wait { epoll, timer, deadline_ns: Some(deadline_ns), interest, ready: Vec::new() })
    }

    fn set(&mut self, transport: &Transport, interest: Interest, deadline_ns: u64) -> io::Result<()> {
        if interest != self.interest {
            self.epoll.modify(transport.fd(), SOCKET, interest)?;
            self.interest = interest;
        }
        if self.deadline_ns != Some(deadline_ns) {
            self.timer.set(Some(deadline_ns))?;
            self.deadline_ns = Some(deadline_ns);
        }
        Ok(())
    }

    fn next(&mut self) -> io::Result<Woken> {
        loop {
            if let Some(ready) = self.ready.pop() {
                return Ok(match ready.token {
                    SOCKET => Woken::Ready(ready),
                    TIMER => {
                        self.deadline_ns = None; // it has to be set again, which also forgets the expiry
                        Woken::Time
                    }
                    _ => Woken::Signal,
                });
            }
            self.epoll.wait(&mut self.ready)?;
        }
    }
}

impl Client {
    fn write(&mut self, key: &str, value: Value) -> Result<(), String> {
        self.out.write(&keyed(key, sys::monotonic_ns(), value))
    }

    fn connect(&self) -> Result<Transport, String> {
        let failed = |e: io::Error| format!("cannot connect to {}: {e}", self.address);
        let socket = Socket::new(Domain::for_address(self.address), Type::STREAM, None).map_err(failed)?;
        use_cca(socket.as_raw_fd(), self.args.cca.as_deref())?;
        socket
            .connect_timeout(&self.address.into(), Duration::from_nanos(SETUP_TIMEOUT_NS))
            .map_err(failed)?;
        socket.set_nonblocking(true).and_then(|()| socket.set_tcp_nodelay(true)).map_err(failed)?;
        let host = &self.args.url.host;
        let tls = (self.tls.as_ref())
            .map(|config| tls::client(config, host).map_err(|why| format!("--server {why}")))
            .transpose()?;
        Ok(Transport::new(socket.into(), tls))
    }

    /// Connects and upgrades; gives what came after the response's head.
    fn upgrade(&mut self, test: Way) -> Result<(Transport, Outbox, Wait, Vec<u8>), String> {
        let deadline_ns = sys::monotonic_ns() + SETUP_TIMEOUT_NS;
        let mut transport = self.connect()?;
        let mut nonce = [0; 16];
        sys::random(&mut nonce);
        let mut metadata: Vec<(String, String)> = [
            ("client_name", NAME),
            ("client_version", VERSION),
            ("client_os", "Linux"),
            ("client_arch", std::env::consts::ARCH),
        ]
        .map(|(n, v)| (n.to_owned(), v.to_owned()))
        .into();
        if let (Some(megabytes), Way::Download) = (self.args.early_exit_megabytes, test) {
            metadata.push((EARLY_EXIT_KEY.to_owned(), megabytes.to_string()));
        }
        let (head, key) =
            handshake::upgrade_request(&self.args.url.authority, test, &metadata, USER_AGENT, nonce);
        let mut outbox = Outbox::new(true, sys::random_u64());
        outbox.push_raw(&head);
        let lost = |e: io::Error| format!("the connection failed before the test: {e}");
        let mut wait = Wait::new(&transport, &self.stop, deadline_ns).map_err(lost)?;
        let mut no_frames = Frames::new(true);
        transport.start().map_err(lost)?;
        let mut received = Vec::new();
        loop {
            let handshaking = transport.is_handshaking();
            let write = if handshaking {
                transport.has_pending()
            } else {
                outbox.write(&mut transport, &mut no_frames).map_err(lost)?
            };
            wait.set(&transport, Interest { read: true, write }, deadline_ns).map_err(lost)?;
            match wait.next().map_err(lost)? {
                Woken::Signal => return Err("interrupted by a signal".into()),
                Woken::Time => return Err("the server did not answer within 10 s".into()),
                Woken::Ready(ready) if ready.read => {
                    let how = transport.read(&mut self.scratch, &mut received).map_err(lost)?;
                    if let Some(used) = handshake::parse_response(&received, &key)? {
                        received.drain(..used);
                        return Ok((transport, outbox, wait, received));
                    }
                    if how == Received::Eof {
                        return Err("the server closed the connection before the test".into());
                    }
                }
                Woken::Ready(_) => {
                    transport.flush().map_err(lost)?;
                }
            }
        }
    }

    /// One test: its figures, and why it counts as failed if it does.
    fn test(&mut self, test: Way) -> Result<(Map<String, Value>, Option<String>), String> {
        let (transport, outbox, mut wait, received) = self.upgrade(test)?;
        let cca = sys::cca(transport.fd()).ok();
        let settings = Settings {
            side: Side::Client,
            test,
            duration_ns: self.args.duration_ns,
            early_exit_bytes: None,
            connection_info: None,
        };
        let mut peer = Peer::new(settings, transport, outbox, &received);
        self.out.write(&keyed(
            "connected",
            peer.start_ns,
            json!({"Test": test.name(), "Server": self.args.url.authority}),
        ))?;
        let mut frames = Frames::new(true);
        peer.on_ready(
            Ready { token: SOCKET, read: false, write: true, closed: false },
            &mut frames,
            &mut self.scratch,
        );
        while peer.end.is_none() {
            let deadline_ns = peer.deadline_ns();
            let woken = wait.set(&peer.transport, peer.interest(), deadline_ns).and_then(|()| wait.next());
            match woken.map_err(|e| format!("cannot wait for the connection: {e}"))? {
                Woken::Signal => peer.finish(End::Failed("interrupted by a signal".into())),
                Woken::Time => peer.on_time(sys::monotonic_ns(), &mut frames, &mut self.scratch),
                Woken::Ready(ready) => peer.on_ready(ready, &mut frames, &mut self.scratch),
            }
            self.write_notes(&mut peer)?;
        }
        self.write_notes(&mut peer)?;
        let mut figures = figures(&peer);
        figures.insert("client_cca".into(), json!(cca));
        let info = peer.last_heard.as_ref().and_then(|m| m.connection_info.as_ref());
        figures.insert("connection".into(), json!(info));
        let error = failure(&peer);
        Ok((figures, error))
    }

    fn write_notes(&mut self, peer: &mut Peer) -> Result<(), String> {
        for note in peer.notes.drain(..) {
            self.out.write(&note_line(&note, &[("Test", json!(peer.settings.test.name()))]))?;
        }
        Ok(())
    }
}

/// The specification wants an abrupt end tolerated, and so it is once the test's time was used. Before that, the
/// figures are of something else than an NDT7 test.
fn failure(peer: &Peer) -> Option<String> {
    let lasted_us = peer.data_end_ns.map_or(0, |ns| peer.elapsed_us(ns));
    let expected_us = peer.settings.duration_ns / 1000;
    match &peer.end {
        _ if peer.app_bytes() == 0 => Some("no data was transferred".into()),
        Some(End::Closed) if peer.close_code.is_some_and(|code| code != frame::CLOSE_NORMAL) => {
            Some(format!("the server closed with code {}", peer.close_code.unwrap_or(0)))
        }
        Some(End::Closed) | Some(End::TimeLimit) => None,
        Some(end) if lasted_us * 100 < expected_us * 95 => {
            let (lasted, expected) = (lasted_us as f64 / 1e6, expected_us as f64 / 1e6);
            Some(format!("ended after {lasted:.3} s of {expected:.3} s: {}", end.text()))
        }
        _ => None,
    }
}
