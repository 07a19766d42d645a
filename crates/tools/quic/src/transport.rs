//! quinn's transport as its options say: congestion control, windows, ECN, qlog. Opens sockets and no connections.

use std::fs::File;
use std::io::{self, BufWriter, IoSliceMut};
use std::net::{SocketAddr, UdpSocket};
use std::path::Path;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use narrows_wire::args::Options;
use narrows_wire::sys;
use quinn::congestion::{
    Bbr, BbrConfig, Controller, ControllerFactory, Cubic, CubicConfig, NewReno, NewRenoConfig,
};
use quinn::udp::{RecvMeta, Transmit};
use quinn::{AsyncUdpSocket, EndpointConfig, Runtime, TokioRuntime, TransportConfig, UdpPoller, VarInt};

/// As Cargo.lock has it.
pub const STACK: &str = "quinn-proto 0.11.19";
pub const CCAS: [&str; 3] = ["cubic", "reno", "bbr"];
pub const OPTIONS: [&str; 4] = ["cca", "window", "ecn", "qlog"];

/// What the options say of the transport.
pub struct Transport {
    pub cca: String,
    window: u64,
    ecn: bool,
    qlog: Option<String>,
}

impl Transport {
    pub fn take(options: &mut Options) -> Result<Transport, String> {
        let ecn = options.take("ecn").unwrap_or_else(|| "on".into());
        if ecn != "on" && ecn != "off" {
            return Err(format!("--ecn {ecn}: on or off"));
        }
        Ok(Transport {
            cca: named(options)?,
            window: options.number("window", 1..=1 << 32)?.unwrap_or(16 << 20),
            ecn: ecn == "on",
            qlog: options.take("qlog"),
        })
    }

    /// Of one connection, whose qlog it begins.
    pub fn config(&self, name: &str) -> Result<TransportConfig, String> {
        let mut config = TransportConfig::default();
        let window = VarInt::from_u64(self.window).map_err(|e| e.to_string())?;
        config
            .congestion_controller_factory(factory(&self.cca))
            .stream_receive_window(window)
            .receive_window(window)
            .send_window(self.window);
        if let Some(folder) = &self.qlog {
            let path = Path::new(folder).join(format!("{name}.sqlog"));
            let file = File::create(&path).map_err(|e| format!("{}: {e}", path.display()))?;
            let mut qlog = quinn::QlogConfig::default();
            // Its times are then those of CLOCK_MONOTONIC.
            let boot = Instant::now().checked_sub(Duration::from_nanos(sys::monotonic_ns()));
            qlog.writer(Box::new(BufWriter::new(file)))
                .title(Some(STACK.into()))
                .start_time(boot.ok_or("the clock has no zero")?);
            config.qlog_stream(qlog.into_stream());
        }
        Ok(config)
    }

    /// An endpoint whose packets carry ECN, or none.
    pub fn endpoint(
        &self,
        at: SocketAddr,
        server: Option<quinn::ServerConfig>,
    ) -> Result<quinn::Endpoint, String> {
        let open = || -> io::Result<quinn::Endpoint> {
            let mut socket = TokioRuntime.wrap_udp_socket(UdpSocket::bind(at)?)?;
            if !self.ecn {
                socket = Arc::new(Unmarked(socket));
            }
            let config = EndpointConfig::default();
            quinn::Endpoint::new_with_abstract_socket(config, server, socket, Arc::new(TokioRuntime))
        };
        open().map_err(|e| format!("cannot open a socket at {at}: {e}"))
    }
}

/// `--cca NAME`.
pub fn named(options: &mut Options) -> Result<String, String> {
    let cca = options.take("cca").unwrap_or_else(|| CCAS[0].into());
    if !CCAS.contains(&cca.as_str()) {
        return Err(format!("--cca {cca}: one of {}", CCAS.join(", ")));
    }
    Ok(cca)
}

pub fn factory(cca: &str) -> Arc<dyn ControllerFactory + Send + Sync> {
    match cca {
        "reno" => Arc::new(NewRenoConfig::default()),
        "bbr" => Arc::new(BbrConfig::default()),
        _ => Arc::new(CubicConfig::default()),
    }
}

/// The congestion control that a connection has, by what it is and not by what was asked for.
pub fn cca_of(controller: Box<dyn Controller>) -> &'static str {
    let controller = controller.into_any();
    if controller.is::<Cubic>() {
        "cubic"
    } else if controller.is::<NewReno>() {
        "reno"
    } else if controller.is::<Bbr>() {
        "bbr"
    } else {
        "unknown"
    }
}

/// A socket that sends no packet as ECN-capable: quinn has no switch for it.
#[derive(Debug)]
struct Unmarked(Arc<dyn AsyncUdpSocket>);

impl AsyncUdpSocket for Unmarked {
    fn create_io_poller(self: Arc<Self>) -> Pin<Box<dyn UdpPoller>> {
        self.0.clone().create_io_poller()
    }

    fn try_send(&self, transmit: &Transmit) -> io::Result<()> {
        self.0.try_send(&Transmit {
            destination: transmit.destination,
            ecn: None,
            contents: transmit.contents,
            segment_size: transmit.segment_size,
            src_ip: transmit.src_ip,
        })
    }

    fn poll_recv(
        &self,
        cx: &mut Context,
        bufs: &mut [IoSliceMut<'_>],
        meta: &mut [RecvMeta],
    ) -> Poll<io::Result<usize>> {
        self.0.poll_recv(cx, bufs, meta)
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.0.local_addr()
    }

    fn max_transmit_segments(&self) -> usize {
        self.0.max_transmit_segments()
    }

    fn max_receive_segments(&self) -> usize {
        self.0.max_receive_segments()
    }

    fn may_fragment(&self) -> bool {
        self.0.may_fragment()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stack_that_is_named_is_the_one_that_is_built_in() {
        let lock = include_str!("../../../Cargo.lock");
        let (name, version) = STACK.split_once(' ').unwrap();
        assert!(lock.contains(&format!("name = \"{name}\"\nversion = \"{version}\"\n")));
    }

    #[test]
    fn a_controller_is_known_by_what_it_is() {
        for cca in CCAS {
            assert_eq!(cca_of(factory(cca).build(Instant::now(), 1200)), cca);
        }
    }
}
