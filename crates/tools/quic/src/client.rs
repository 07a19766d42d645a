//! The client: connections that each carry some streams, for a number of bytes or until SIGINT; with a pause for that
//! number twice, of which the second meets what the sender made of the idle time.

use std::net::{Ipv4Addr, SocketAddr};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use narrows_wire::args::Options;
use narrows_wire::tls;
use quinn::crypto::rustls::QuicClientConfig;
use tokio::signal::unix::{signal, SignalKind};
use tokio::sync::watch;
use tokio::task::{JoinSet, LocalSet};

use crate::ends::{self, Received};
use crate::transport::{Transport, OPTIONS};
use crate::ALPN;

pub const USAGE: &str = "usage: narrows-agent quic-client --server ADDR:PORT [--way down|up|both] [--bytes N] \
    [--flows N] [--streams N] [--pause MS] [--cca cubic|reno|bbr] [--window BYTES] [--ecn on|off] [--qlog DIR]; without \
    --bytes, or with 0, until SIGINT; --pause: transfers --bytes, waits, and transfers them again";

/// For the packet that closes a connection.
const LEAVES_WITHIN: Duration = Duration::from_millis(50);

pub struct Args {
    server: SocketAddr,
    down: bool,
    up: bool,
    bytes: Option<u64>,
    flows: u64,
    streams: u64,
    pause: Option<Duration>,
    transport: Transport,
}

pub fn parse(args: &[String]) -> Result<Args, String> {
    let own = ["server", "way", "bytes", "flows", "streams", "pause"];
    let mut options = Options::read(args, &[&own[..], &OPTIONS[..]].concat(), &[])?;
    let way = options.take("way").unwrap_or_else(|| "down".into());
    if !["down", "up", "both"].contains(&way.as_str()) {
        return Err(format!("--way {way}: down, up or both"));
    }
    let bytes = options.number("bytes", 0..=1 << 50)?.filter(|bytes| *bytes > 0);
    let pause = options.number("pause", 0..=1 << 30)?.filter(|ms| *ms > 0);
    if pause.is_some() && bytes.is_none() {
        return Err("--pause stands between two transfers of --bytes, which is missing".into());
    }
    Ok(Args {
        server: options.server()?,
        down: way != "up",
        up: way != "down",
        bytes,
        pause: pause.map(Duration::from_millis),
        flows: options.number("flows", 1..=1000)?.unwrap_or(1),
        streams: options.number("streams", 1..=100)?.unwrap_or(1),
        transport: Transport::take(&mut options)?,
    })
}

pub fn run(args: Args) -> Result<(), String> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|e| format!("cannot start: {e}"))?;
    let (ending, _) = watch::channel(false);
    let args = Rc::new(args);
    LocalSet::new().block_on(&runtime, async {
        let mut interrupted =
            signal(SignalKind::interrupt()).map_err(|e| format!("cannot wait for signals: {e}"))?;
        let mut flows = JoinSet::new();
        for number in 1..=args.flows {
            flows.spawn_local(flow(args.clone(), number, ending.subscribe()));
        }
        loop {
            tokio::select! {
                _ = interrupted.recv() => drop(ending.send(true)),
                ended = flows.join_next() => match ended {
                    Some(ended) => ended.map_err(|e| e.to_string())??,
                    None => return Ok(()),
                },
            }
        }
    })
}

/// One connection.
async fn flow(args: Rc<Args>, number: u64, mut ending: watch::Receiver<bool>) -> Result<(), String> {
    let mut tls = (*tls::client_config(true, None)?).clone();
    tls.alpn_protocols = vec![ALPN.to_vec()];
    let crypto = QuicClientConfig::try_from(tls).map_err(|e| e.to_string())?;
    let mut config = quinn::ClientConfig::new(Arc::new(crypto));
    config.transport_config(Arc::new(args.transport.config(&format!("client-{number}"))?));
    let mut endpoint = args.transport.endpoint((Ipv4Addr::UNSPECIFIED, 0).into(), None)?;
    endpoint.set_default_client_config(config);
    let received = Rc::new(Received::begin());
    let connecting = endpoint.connect(args.server, "server").map_err(|e| e.to_string())?;
    let connection = tokio::select! {
        connected = connecting => connected.map_err(|e| format!("{}: {e}", args.server))?,
        _ = ending.changed() => return Err(format!("{}: no connection until it was stopped", args.server)),
    };
    let mut streams = JoinSet::new();
    let done = async {
        open(&args, &connection, &received, &mut streams);
        while streams.join_next().await.is_some() {}
        if let Some(pause) = args.pause {
            tokio::time::sleep(pause).await;
            open(&args, &connection, &received, &mut streams);
            while streams.join_next().await.is_some() {}
        }
    };
    let stopped = tokio::select! {
        () = done => false,
        _ = ending.changed() => true,
    };
    let broken = connection.close_reason();
    connection.close(0u32.into(), b"");
    let _ = tokio::time::timeout(LEAVES_WITHIN, endpoint.wait_idle()).await;
    received.write(&connection)?;
    match broken {
        Some(why) if !stopped => Err(format!("{}: {why}", args.server)),
        _ => Ok(()),
    }
}

/// The streams of one transfer.
fn open(args: &Args, connection: &quinn::Connection, received: &Rc<Received>, streams: &mut JoinSet<()>) {
    for stream in 0..args.streams {
        // The first one has what does not divide.
        let bytes = args.bytes.map_or(u64::MAX, |bytes| {
            let rest = if stream == 0 { bytes % args.streams } else { 0 };
            bytes / args.streams + rest
        });
        for (is_asked, wanted, sent) in [(args.down, bytes, 0), (args.up, 0, bytes)] {
            if is_asked {
                streams.spawn_local(transfer(connection.clone(), wanted, sent, received.clone()));
            }
        }
    }
}

/// One stream: asks for bytes, sends bytes, and reads what comes.
async fn transfer(connection: quinn::Connection, wanted: u64, sent: u64, received: Rc<Received>) {
    let Ok((mut send, mut read)) = connection.open_bi().await else {
        return;
    };
    if send.write_all(&wanted.to_be_bytes()).await.is_ok() {
        ends::send(&mut send, sent).await;
        received.read(&mut read).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wrong_options_are_refused_with_their_value() {
        for (line, part) in [
            ("--server 10.0.2.1:1 --way left", "--way left"),
            ("--server 10.0.2.1:1 --cca vegas", "--cca vegas"),
            ("--server 10.0.2.1:1 --ecn maybe", "--ecn maybe"),
            ("--way up", "--server"),
            ("--server 10.0.2.1:1 --pause 100", "--bytes, which is missing"),
        ] {
            let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
            let error = parse(&words).err().unwrap();
            assert!(error.contains(part), "{line}: {error}");
        }
    }
}
