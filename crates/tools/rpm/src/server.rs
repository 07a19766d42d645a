//! The responsiveness server: any number of HTTP/2 clients in one thread; serves the configuration and the three
//! objects that the draft asks for (the short ones over HTTP/1.1 too). It measures nothing.
//!
//! Nothing that a client sends or leaves out may stop the others: every connection is watched for progress, buffers
//! are bounded, and where all places are taken the one that has been silent longest gives way.

use crate::args::ServerArgs;
use crate::config::{self, Route};
use crate::exec::Exec;
use crate::http1;
use crate::io::{prepare, Io};
use crate::reply::{head, Reply, BINARY};
use crate::session::{server_builder, zeros};
use bytes::Bytes;
use h2::server::SendResponse;
use h2::RecvStream;
use http::{Method, Request, StatusCode};
use narrows_wire::lines::{keyed, Lines};
use narrows_wire::tls::Identity;
use narrows_wire::{sys, tls};
use serde_json::json;
use socket2::{Domain, Socket, Type};
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsRawFd;
use std::rc::Rc;
use std::sync::Arc;

const MAX_CONNECTIONS: usize = 1024;
/// How often connections are looked at.
const WATCH_NS: u64 = 5_000_000_000;
/// Looks after which a connection must have spoken TLS and HTTP/2: 15 to 20 s. No sooner than our client gives up:
/// the load of others may keep a busy host from answering for seconds, and a silent connection gives way anyway.
const HEAD_LOOKS: u32 = 4;
/// Looks without a byte either way after which a connection is closed: 60 to 65 s.
const IDLE_LOOKS: u32 = 13;
const ACCEPT_PAUSE_NS: u64 = 100_000_000;
const BACKLOG: i32 = 1024;
/// The large object: 1 TiB, which nobody ever gets to the end of.
const LARGE_BYTES: u64 = 1 << 40;

struct Connection {
    task: u64,
    progress: Progress,
    moved_before: u64,
    looks: u32,
    silent_looks: u32,
}

/// What a connection's tasks tell the one that watches.
#[derive(Clone, Default)]
struct Progress {
    moved: Rc<Cell<u64>>,
    speaks_http: Rc<Cell<bool>>,
    streams: Rc<Cell<u32>>,
}

#[derive(Default)]
struct Counters {
    connections: Cell<u64>,
    refused: Cell<u64>,
    broken: Cell<u64>,
    timed_out: Cell<u64>,
    requests: Cell<u64>,
    uploaded_bytes: Cell<u64>,
}

fn add(counter: &Cell<u64>, n: u64) {
    counter.set(counter.get() + n);
}

pub struct Server {
    exec: Exec,
    listener: TcpListener,
    tls: Option<Arc<rustls::ServerConfig>>,
    max_connections: usize,
    connections: RefCell<BTreeMap<u64, Connection>>,
    counters: Counters,
    log: RefCell<Lines>,
}

/// Serves until SIGINT or SIGTERM.
pub fn run(args: ServerArgs) -> Result<(), String> {
    let stop = sys::stop_signals().map_err(|e| format!("cannot wait for signals: {e}"))?;
    let log = Lines::open(args.log.as_deref())?;
    Server::start(&args, log, MAX_CONNECTIONS)?.serve(&stop)
}

impl Server {
    pub fn start(args: &ServerArgs, mut log: Lines, max_connections: usize) -> Result<Rc<Server>, String> {
        let tls = match (&args.tls, &args.cert_and_key) {
            (false, _) => None,
            (true, files) => {
                let identity = Identity::of_server(files.as_ref(), args.listen)?;
                let mut config = (*identity.into_config()?).clone();
                config.alpn_protocols = vec![b"h2".to_vec(), http1::ALPN.to_vec()];
                Some(Arc::new(config))
            }
        };
        let wrong = |e: std::io::Error| format!("--listen {}: {e}", args.listen);
        let socket = Socket::new(Domain::for_address(args.listen), Type::STREAM, None).map_err(wrong)?;
        prepare(socket.as_raw_fd(), args.cca.as_deref(), args.notsent_bytes)?;
        socket.set_reuse_address(true).map_err(wrong)?;
        socket.set_tcp_nodelay(true).map_err(wrong)?;
        socket.set_nonblocking(true).map_err(wrong)?;
        socket.bind(&args.listen.into()).map_err(wrong)?;
        socket.listen(BACKLOG).map_err(wrong)?;
        let listener: TcpListener = socket.into();
        let address = listener.local_addr().map_err(wrong)?;
        let value = json!({"address": address.to_string(), "tls": tls.is_some(), "cca": args.cca,
                           "notsent_lowat_bytes": args.notsent_bytes, "coalesce_ns": args.coalesce_ns});
        log.write(&keyed("listening", sys::monotonic_ns(), value))?;
        let files = sys::raise_file_limit().saturating_sub(32).max(1) as usize;
        Ok(Rc::new(Server {
            exec: Exec::new(args.coalesce_ns).map_err(|e| format!("cannot serve: {e}"))?,
            listener,
            tls,
            max_connections: max_connections.min(files),
            connections: RefCell::default(),
            counters: Counters::default(),
            log: RefCell::new(log),
        }))
    }

    pub fn address(&self) -> SocketAddr {
        let any = SocketAddr::from(([0, 0, 0, 0], 0));
        self.listener.local_addr().unwrap_or(any)
    }

    /// Until `stop` becomes readable.
    pub fn serve(self: &Rc<Server>, stop: &impl AsRawFd) -> Result<(), String> {
        let failed = |e: std::io::Error| format!("cannot wait for events: {e}");
        let stop = self.exec.watch(stop.as_raw_fd()).map_err(failed)?;
        let exec = self.exec.clone();
        self.exec.spawn(self.clone().accept());
        self.exec.spawn(self.clone().watch());
        self.exec.run(async move { exec.readable(&stop).await }).map_err(failed)?;
        let of = &self.counters;
        let value = json!({"connections": of.connections.get(), "refused": of.refused.get(),
                           "broken": of.broken.get(), "timed_out": of.timed_out.get(),
                           "requests": of.requests.get(), "uploaded_bytes": of.uploaded_bytes.get()});
        self.log.borrow_mut().write(&keyed("stopped", sys::monotonic_ns(), value))
    }

    async fn accept(self: Rc<Server>) {
        let Ok(source) = self.exec.watch(self.listener.as_raw_fd()) else {
            return;
        };
        loop {
            match self.listener.accept() {
                Ok((socket, _)) => self.admit(socket),
                Err(e) if e.kind() == ErrorKind::WouldBlock => {
                    source.readable.set(false);
                    self.exec.readable(&source).await;
                }
                Err(e) if matches!(e.kind(), ErrorKind::ConnectionAborted | ErrorKind::Interrupted) => {}
                // No descriptor or no memory is left now: others will end.
                Err(_) => self.exec.sleep_until(sys::monotonic_ns() + ACCEPT_PAUSE_NS).await,
            }
        }
    }

    fn admit(self: &Rc<Server>, socket: TcpStream) {
        add(&self.counters.connections, 1);
        let id = self.counters.connections.get();
        if self.connections.borrow().len() >= self.max_connections && !self.make_room() {
            add(&self.counters.refused, 1);
            return;
        }
        let progress = Progress::default();
        let (server, told) = (self.clone(), progress.clone());
        let task = self.exec.spawn(async move {
            if server.converse(socket, told).await.is_err() {
                add(&server.counters.broken, 1);
            }
            server.connections.borrow_mut().remove(&id);
        });
        self.connections
            .borrow_mut()
            .insert(id, Connection { task, progress, moved_before: 0, looks: 0, silent_looks: 0 });
    }

    /// Closes the connection that has been silent longest, of those with nothing going on the oldest.
    fn make_room(&self) -> bool {
        let mut connections = self.connections.borrow_mut();
        let found = connections
            .iter()
            .filter(|(_, c)| c.progress.streams.get() == 0 || c.silent_looks > 0)
            .max_by_key(|(id, c)| (c.progress.streams.get() == 0, c.silent_looks, u64::MAX - **id))
            .map(|(id, _)| *id);
        let Some(gone) = found.and_then(|id| connections.remove(&id)) else {
            return false;
        };
        drop(connections);
        self.exec.abort(gone.task);
        true
    }

    /// Closes connections that do not get on.
    async fn watch(self: Rc<Server>) {
        loop {
            self.exec.sleep_until(sys::monotonic_ns() + WATCH_NS).await;
            let mut late = vec![];
            self.connections.borrow_mut().retain(|_, c| {
                let moved = c.progress.moved.get();
                c.looks += 1;
                c.silent_looks = if moved == c.moved_before { c.silent_looks + 1 } else { 0 };
                c.moved_before = moved;
                let head = !c.progress.speaks_http.get() && c.looks >= HEAD_LOOKS;
                let keep = !head && c.silent_looks < IDLE_LOOKS;
                if !keep {
                    late.push(c.task);
                }
                keep
            });
            add(&self.counters.timed_out, late.len() as u64);
            for task in late {
                self.exec.abort(task);
            }
        }
    }

    async fn converse(self: &Rc<Server>, socket: TcpStream, told: Progress) -> Result<(), String> {
        let broken = |e: std::io::Error| e.to_string();
        let unspoken = |e: h2::Error| e.to_string();
        socket.set_nonblocking(true).map_err(broken)?;
        let tls = self.tls.as_ref().map(tls::server).transpose()?;
        let mut io = Io::new(&self.exec, socket, tls).map_err(broken)?;
        io.moved = told.moved.clone();
        io.handshake().await.map_err(broken)?;
        if io.transport().alpn() == Some(http1::ALPN) {
            let heard = || {
                told.speaks_http.set(true);
                add(&self.counters.requests, 1);
            };
            let local = self.address().to_string();
            return http1::converse(&mut io, &local, heard).await.map_err(broken);
        }
        let mut connection = server_builder().handshake::<_, Bytes>(io).await.map_err(unspoken)?;
        told.speaks_http.set(true);
        while let Some(request) = connection.accept().await {
            let (request, respond) = request.map_err(unspoken)?;
            add(&self.counters.requests, 1);
            let (server, streams) = (self.clone(), told.streams.clone());
            streams.set(streams.get() + 1);
            self.exec.spawn(async move {
                // A stream that the client ended is no error: that is how these tests end.
                let _ = server.answer(request, respond).await;
                streams.set(streams.get() - 1);
            });
        }
        Ok(())
    }

    async fn answer(
        &self,
        request: Request<RecvStream>,
        mut respond: SendResponse<Bytes>,
    ) -> Result<(), h2::Error> {
        let uri = request.uri();
        let method = match *request.method() {
            Method::HEAD => "GET",
            ref other => other.as_str(),
        };
        let bare = request.method() == Method::HEAD;
        match config::route(method, uri.path()) {
            Route::Large => {
                let stream = respond.send_response(head(StatusCode::OK, BINARY, LARGE_BYTES), bare)?;
                if bare {
                    return Ok(());
                }
                zeros(stream, LARGE_BYTES).await
            }
            Route::Upload => {
                let mut body = request.into_body();
                while let Some(chunk) = body.data().await {
                    let bytes = chunk?.len();
                    add(&self.counters.uploaded_bytes, bytes as u64);
                    body.flow_control().release_capacity(bytes)?;
                }
                respond.send_response(head(StatusCode::OK, BINARY, 0), true)?;
                Ok(())
            }
            short => {
                let reply = Reply::to(short, || {
                    let authority = uri
                        .authority()
                        .map(|a| a.as_str().to_owned())
                        .or_else(|| Some(request.headers().get("host")?.to_str().ok()?.to_owned()))
                        .unwrap_or_else(|| self.address().to_string());
                    config::served(self.tls.is_some(), &authority)
                });
                let ends = bare || reply.body.is_empty();
                let mut stream = respond.send_response(reply.head, ends)?;
                if !ends {
                    stream.send_data(reply.body, true)?;
                }
                Ok(())
            }
        }
    }
}
