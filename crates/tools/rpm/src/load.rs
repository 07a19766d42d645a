//! Load-generating connections and probes: what a test has in the network. It decides nothing.

use crate::args::ClientArgs;
use crate::config::Config;
use crate::exec::Exec;
use crate::io::Io;
use crate::session::{Requests, Session};
use crate::stability::Took;
use http::Uri;
use narrows_wire::args::Way;
use narrows_wire::tcp_info::TcpInfo;
use narrows_wire::{sys, tls};
use std::cell::{Cell, RefCell};
use std::net::SocketAddr;
use std::rc::Rc;
use std::sync::Arc;

/// Most bytes of a probe's answer: the draft wants 1.
const PROBE_BYTES: usize = 4 << 10;

/// How this test's server is reached.
pub struct Path {
    pub exec: Exec,
    pub args: ClientArgs,
    pub address: SocketAddr,
    pub server_name: String,
    pub tls: Option<Arc<rustls::ClientConfig>>,
}

impl Path {
    /// TCP.
    async fn connect(&self) -> Result<Io, String> {
        let tls = (self.tls.as_ref()).map(|config| tls::client(config, &self.server_name)).transpose()?;
        let args = &self.args;
        Io::connect(&self.exec, self.address, args.cca.as_deref(), args.notsent_bytes, tls).await
    }

    /// TCP, TLS and HTTP/2.
    pub async fn session(&self) -> Result<Session, String> {
        let mut io = self.connect().await?;
        io.handshake().await.map_err(|e| format!("TLS with {}: {e}", self.address))?;
        Session::start(&self.exec, io).await
    }

    /// A probe on a connection of its own. Also gives when its end was.
    pub async fn foreign(&self, small: &Uri, start_ns: u64) -> Result<(Took, u64), String> {
        let mut io = self.connect().await?;
        let connected_ns = sys::monotonic_ns();
        io.handshake().await.map_err(|e| format!("TLS with {}: {e}", self.address))?;
        let (tls_ns, tls_round_trips, secured_ns) = match io.transport().tls_round_trips() {
            None => (None, 1, connected_ns),
            Some(round_trips) => {
                let now = sys::monotonic_ns();
                (Some(now - connected_ns), round_trips, now)
            }
        };
        let session = Session::start(&self.exec, io).await?;
        session.requests().fetch(small, PROBE_BYTES).await?;
        let end_ns = sys::monotonic_ns();
        let took = Took::Foreign {
            tcp_ns: connected_ns - start_ns,
            tls_ns,
            tls_round_trips,
            http_ns: end_ns - secured_ns,
        };
        Ok((took, end_ns))
    }
}

/// A probe on a load-generating connection.
pub async fn loaded(requests: &Requests, small: &Uri, start_ns: u64) -> Result<(Took, u64), String> {
    requests.fetch(small, PROBE_BYTES).await?;
    let end_ns = sys::monotonic_ns();
    let http_ns = end_ns - start_ns;
    Ok((Took::Loaded { http_ns }, end_ns))
}

pub struct Load {
    pub number: usize,
    pub way: Way,
    task: Cell<u64>,
    received: Cell<u64>,
    session: RefCell<Option<Session>>,
    error: RefCell<Option<String>>,
    /// What `bytes` last said: what a connection that has ended keeps.
    known_bytes: Cell<u64>,
}

impl Load {
    pub fn start(path: &Rc<Path>, config: &Rc<Uris>, number: usize, way: Way) -> Rc<Load> {
        let load = Rc::new(Load {
            number,
            way,
            task: Cell::new(0),
            received: Cell::new(0),
            session: RefCell::default(),
            error: RefCell::default(),
            known_bytes: Cell::new(0),
        });
        let (this, path_of, config) = (load.clone(), path.clone(), config.clone());
        load.task.set(path.exec.spawn(async move {
            let ended = this.generate(&path_of, &config).await;
            let why = match ended {
                Ok(()) => "the server ended the transfer".to_owned(),
                Err(e) => e,
            };
            *this.error.borrow_mut() = Some(format!("{} connection {number}: {why}", way.name()));
        }));
        load
    }

    async fn generate(&self, path: &Path, uris: &Uris) -> Result<(), String> {
        let session = path.session().await?;
        let requests = session.requests();
        *self.session.borrow_mut() = Some(session);
        let result = match self.way {
            Way::Download => {
                let count = |bytes: usize| self.received.set(self.received.get() + bytes as u64);
                requests.download(&uris.large, count).await
            }
            Way::Upload => requests.upload(&uris.upload).await,
        };
        let lost = self.session.borrow().as_ref().and_then(Session::error);
        match (result, lost) {
            (Err(_), Some(lost)) => Err(lost),
            (result, _) => result,
        }
    }

    /// Bytes so far. Down: of the object, received. Up: of the connection, acknowledged, since what the socket took
    /// may still be queued; that counts TLS and HTTP/2 (well below 1 %).
    pub fn bytes(&self) -> u64 {
        if self.way == Way::Download {
            return self.received.get();
        }
        let acked = (self.session.borrow().as_ref())
            .and_then(Session::fd)
            .and_then(|fd| TcpInfo::of_socket(fd).ok())
            .and_then(|info| info.get("bytes_acked"));
        if let Some(bytes) = acked {
            self.known_bytes.set(bytes);
        }
        self.known_bytes.get()
    }

    /// For self probes; none before the connection stands.
    pub fn requests(&self) -> Option<Requests> {
        let session = self.session.borrow();
        session.as_ref().filter(|s| s.fd().is_some()).map(Session::requests)
    }

    pub fn cca(&self) -> Option<String> {
        let session = self.session.borrow();
        sys::cca(session.as_ref()?.fd()?).ok()
    }

    /// Why the load ended, if it has: it never should.
    pub fn error(&self) -> Option<String> {
        self.error.borrow().clone()
    }

    pub fn stop(&self, exec: &Exec) {
        exec.abort(self.task.get());
        self.session.borrow_mut().take();
    }
}

/// The configuration's URLs as requests carry them.
pub struct Uris {
    pub small: Uri,
    pub large: Uri,
    pub upload: Uri,
}

impl Uris {
    pub fn of(config: &Config) -> Result<Uris, String> {
        let uri = |url: &super::config::Url| {
            let text = url.text();
            text.parse::<Uri>().map_err(|e| format!("{text}: {e}"))
        };
        Ok(Uris { small: uri(&config.small)?, large: uri(&config.large)?, upload: uri(&config.upload)? })
    }
}
