//! The server: one thread, any number of connections. Once a second it writes what QUIC says of each connection.

use std::fs::File;
use std::net::{SocketAddr, TcpListener};
use std::os::unix::fs::FileExt;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{header, Method, Request, Response, StatusCode};
use narrows_quic::transport;
use narrows_wire::args::Options;
use narrows_wire::lines::Lines;
use narrows_wire::sys;
use narrows_wire::tls::Identity;
use serde_json::json;
use tokio::signal::unix::{signal, SignalKind};

use crate::files::{self, Places};

pub const USAGE: &str = "usage: narrows-agent h3-server --listen ADDR:PORT --places /PREFIX=PATH[,…] \
    [--cca cubic|reno|bbr] [--cert FILE --key FILE] [--write-cert FILE]";

const CHUNK_BYTES: u64 = 64 << 10;
const TELL_EVERY: Duration = Duration::from_secs(1);

pub struct Args {
    listen: SocketAddr,
    places: Places,
    cca: String,
    cert_and_key: Option<(String, String)>,
    write_cert: Option<String>,
}

pub fn parse(args: &[String]) -> Result<Args, String> {
    let mut options = Options::read(args, &["listen", "places", "cca", "cert", "key", "write-cert"], &[])?;
    let cca = transport::named(&mut options)?;
    Ok(Args {
        listen: options.listen("10.0.2.1:443")?,
        places: Places::parse(&options.take("places").ok_or("--places is missing")?)?,
        cca,
        cert_and_key: options.cert_and_key()?,
        write_cert: options.file("write-cert"),
    })
}

fn config(args: &Args) -> Result<quinn::ServerConfig, String> {
    let identity = Identity::of_server(args.cert_and_key.as_ref(), args.listen)?;
    if let Some(path) = &args.write_cert {
        std::fs::write(path, identity.pem()).map_err(|e| format!("--write-cert {path}: {e}"))?;
    }
    let mut tls = (*identity.into_config()?).clone();
    tls.alpn_protocols = vec![b"h3".to_vec()];
    let crypto = quinn::crypto::rustls::QuicServerConfig::try_from(tls).map_err(|e| e.to_string())?;
    let mut config = quinn::ServerConfig::with_crypto(Arc::new(crypto));
    let mut of_all = quinn::TransportConfig::default();
    of_all.congestion_controller_factory(transport::factory(&args.cca));
    // A super-packet would be one to the queues on its way.
    of_all.enable_segmentation_offload(false);
    config.transport_config(Arc::new(of_all));
    Ok(config)
}

/// Serves until SIGINT or SIGTERM.
pub fn run(args: Args) -> Result<(), String> {
    let config = config(&args)?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|e| format!("cannot start: {e}"))?;
    runtime.block_on(async {
        let endpoint = quinn::Endpoint::server(config, args.listen)
            .map_err(|e| format!("cannot listen on {}: {e}", args.listen))?;
        // Nobody is accepted here: who waits for the server asks TCP whether it is up.
        let _up = TcpListener::bind(args.listen)
            .map_err(|e| format!("cannot listen on {} (TCP): {e}", args.listen))?;
        let cannot = |e| format!("cannot wait for signals: {e}");
        let mut interrupted = signal(SignalKind::interrupt()).map_err(cannot)?;
        let mut terminated = signal(SignalKind::terminate()).map_err(cannot)?;
        let served = Arc::new(args);
        loop {
            tokio::select! {
                _ = interrupted.recv() => break,
                _ = terminated.recv() => break,
                incoming = endpoint.accept() => match incoming {
                    Some(incoming) => drop(tokio::spawn(connection(incoming, served.clone()))),
                    None => break,
                },
            }
        }
        Ok(())
    })
}

/// One connection, until the client or a fault ends it. What goes wrong is told, and is no other client's affair.
async fn connection(incoming: quinn::Incoming, args: Arc<Args>) {
    let peer = incoming.remote_address();
    let told = match incoming.await {
        Ok(connection) => {
            let telling = tokio::spawn(tell(connection.clone(), args.cca.clone(), peer));
            let ended = requests(connection.clone(), args).await;
            telling.abort();
            ended
        }
        Err(e) => Err(e.to_string()),
    };
    if let Err(why) = told {
        let _ = line(json!({"kind": "ended", "client": peer.to_string(), "message": why}));
    }
}

async fn requests(connection: quinn::Connection, args: Arc<Args>) -> Result<(), String> {
    let mut session = h3::server::Connection::<_, Bytes>::new(h3_quinn::Connection::new(connection))
        .await
        .map_err(|e| e.to_string())?;
    while let Some(resolver) = session.accept().await.map_err(|e| e.to_string())? {
        let args = args.clone();
        tokio::spawn(async move {
            if let Ok((request, stream)) = resolver.resolve_request().await {
                // A client that goes away in the middle is no fault of the server.
                let _ = answer(&request, stream, &args).await;
            }
        });
    }
    Ok(())
}

type Stream = h3::server::RequestStream<h3_quinn::BidiStream<Bytes>, Bytes>;
type Failed = h3::error::StreamError;

async fn answer(request: &Request<()>, mut stream: Stream, args: &Args) -> Result<(), Failed> {
    let found = args
        .places
        .file(request.uri().path())
        .and_then(|path| File::open(&path).ok().map(|file| (path, file)))
        .and_then(|(path, file)| {
            let meta = file.metadata().ok()?;
            meta.is_file().then_some((path, file, meta.len()))
        });
    let Some((path, file, size)) = found else {
        return refuse(stream, StatusCode::NOT_FOUND).await;
    };
    let asked = request.headers().get(header::RANGE);
    let part = match asked {
        None => Some((0, size)),
        Some(range) => range.to_str().ok().and_then(|range| files::part(range, size)),
    };
    let Some((first, length)) = part else {
        return refuse(stream, StatusCode::RANGE_NOT_SATISFIABLE).await;
    };
    let mut head = Response::builder()
        .header(header::CONTENT_TYPE, files::kind(&path))
        .header(header::CONTENT_LENGTH, length)
        .header(header::ACCEPT_RANGES, "bytes")
        .header("timing-allow-origin", "*");
    if asked.is_some() {
        let range = format!("bytes {first}-{}/{size}", first + length - 1);
        head = head.status(StatusCode::PARTIAL_CONTENT).header(header::CONTENT_RANGE, range);
    }
    let Ok(head) = head.body(()) else {
        return refuse(stream, StatusCode::INTERNAL_SERVER_ERROR).await;
    };
    stream.send_response(head).await?;
    if request.method() != Method::HEAD {
        let mut at = first;
        while at < first + length {
            let mut chunk = vec![0; CHUNK_BYTES.min(first + length - at) as usize];
            if file.read_exact_at(&mut chunk, at).is_err() {
                break; // a file that became shorter: the stream ends early, which the client sees
            }
            at += chunk.len() as u64;
            stream.send_data(chunk.into()).await?;
        }
    }
    stream.finish().await
}

async fn refuse(mut stream: Stream, status: StatusCode) -> Result<(), Failed> {
    if let Ok(head) = Response::builder().status(status).body(()) {
        stream.send_response(head).await?;
    }
    stream.finish().await
}

/// What QUIC says of a connection, once a second: its path's round-trip time, window, losses.
async fn tell(connection: quinn::Connection, cca: String, client: SocketAddr) {
    let library = "quinn";
    loop {
        let path = connection.stats().path;
        let told = line(json!({
            "kind": "path", "client": client.to_string(), "monotonic_ns": sys::monotonic_ns(), "cca": cca,
            "library": library, "rtt_ns": path.rtt.as_nanos() as u64, "cwnd_bytes": path.cwnd,
            "sent_packets": path.sent_packets, "lost_packets": path.lost_packets,
            "lost_bytes": path.lost_bytes, "congestion_events": path.congestion_events,
        }));
        if told.is_err() {
            return;
        }
        tokio::time::sleep(TELL_EVERY).await;
    }
}

fn line(value: serde_json::Value) -> Result<(), String> {
    Lines::open(None)?.write(&value)
}
