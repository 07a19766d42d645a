//! The server: sends what it is asked for, counts what it is sent, and says both of each connection.

use std::net::SocketAddr;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use narrows_wire::args::Options;
use narrows_wire::tls::Identity;
use quinn::crypto::rustls::QuicServerConfig;
use tokio::signal::unix::{signal, SignalKind};
use tokio::task::{spawn_local, JoinSet, LocalSet};

use crate::ends::{self, Received};
use crate::transport::{Transport, OPTIONS};
use crate::ALPN;

pub const USAGE: &str =
    "usage: narrows-agent quic-server --listen ADDR:PORT [--cca cubic|reno|bbr] [--window BYTES] \
    [--ecn on|off] [--qlog DIR]";

/// For the last packets when it is stopped.
const LEAVES_WITHIN: Duration = Duration::from_millis(200);

pub struct Args {
    listen: SocketAddr,
    transport: Transport,
}

pub fn parse(args: &[String]) -> Result<Args, String> {
    let mut options = Options::read(args, &[&["listen"], &OPTIONS[..]].concat(), &[])?;
    Ok(Args { listen: options.listen("10.0.2.1:4433")?, transport: Transport::take(&mut options)? })
}

/// Serves until SIGINT or SIGTERM.
pub fn run(args: Args) -> Result<(), String> {
    let mut tls = (*Identity::of_server(None, args.listen)?.into_config()?).clone();
    tls.alpn_protocols = vec![ALPN.to_vec()];
    let crypto = Arc::new(QuicServerConfig::try_from(tls).map_err(|e| e.to_string())?);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|e| format!("cannot start: {e}"))?;
    LocalSet::new().block_on(&runtime, async {
        let config = quinn::ServerConfig::with_crypto(crypto.clone());
        let endpoint = args.transport.endpoint(args.listen, Some(config))?;
        let cannot = |e| format!("cannot wait for signals: {e}");
        let mut interrupted = signal(SignalKind::interrupt()).map_err(cannot)?;
        let mut terminated = signal(SignalKind::terminate()).map_err(cannot)?;
        let mut connections = JoinSet::new();
        let mut number = 0;
        loop {
            tokio::select! {
                _ = interrupted.recv() => break,
                _ = terminated.recv() => break,
                incoming = endpoint.accept() => {
                    let Some(incoming) = incoming else { break };
                    number += 1;
                    let mut config = quinn::ServerConfig::with_crypto(crypto.clone());
                    config.transport_config(Arc::new(args.transport.config(&format!("server-{number}"))?));
                    connections.spawn_local(async move {
                        // A client that goes away in its handshake has no connection to be told of.
                        if let Ok(connecting) = incoming.accept_with(Arc::new(config)) {
                            if let Ok(connection) = connecting.await {
                                serve(connection).await;
                            }
                        }
                    });
                }
            }
        }
        endpoint.close(0u32.into(), b"");
        while connections.join_next().await.is_some() {}
        let _ = tokio::time::timeout(LEAVES_WITHIN, endpoint.wait_idle()).await;
        Ok(())
    })
}

async fn serve(connection: quinn::Connection) {
    let received = Rc::new(Received::begin());
    while let Ok((mut send, mut read)) = connection.accept_bi().await {
        let received = received.clone();
        spawn_local(async move {
            let mut wanted = [0; 8];
            if read.read_exact(&mut wanted).await.is_ok() {
                received.read(&mut read).await;
                ends::send(&mut send, u64::from_be_bytes(wanted)).await;
            }
        });
    }
    // Nobody is left to hear that it cannot be written.
    let _ = received.write(&connection);
}
