//! The web speed test server: HTTP/1.1 with keep-alive, in the clear or over TLS. Slow, silent and broken clients cost a
//! thread for at most `IDLE`, and nothing else: when there are too many, one that asks for nothing makes way.

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsRawFd;
use std::sync::Arc;
use std::time::Duration;

use crate::open::{Open, Place};
use crate::request::{self, Answer, Request, HEAD_BYTES};
use crate::stream::Stream;
use narrows_wire::args::Options;
use narrows_wire::sys;
use narrows_wire::tls::Identity;

pub const USAGE: &str = "usage: narrows-agent web-speed-server --listen ADDR:PORT [--cca NAME] \
    [--tls [--write-cert FILE] | --cert FILE --key FILE]";

const IDLE: Duration = Duration::from_secs(60);
const CONNECTIONS: usize = 1024;
const CHUNK_BYTES: usize = 256 << 10;
const STACK_BYTES: usize = 256 << 10;
/// A reader wakes up for this many bytes, not for every packet; below half of the smallest default buffer, so that
/// the kernel need not grow it.
const LOW_WATER_BYTES: u64 = 32 << 10;

pub struct Args {
    listen: SocketAddr,
    cca: Option<String>,
    tls: bool,
    cert_and_key: Option<(String, String)>,
    /// Where to leave the certificate, for clients that are to trust it.
    write_cert: Option<String>,
}

pub fn parse(args: &[String]) -> Result<Args, String> {
    let mut options = Options::read(args, &["listen", "cca", "cert", "key", "write-cert"], &["tls"])?;
    let listen = options.listen("10.0.2.1:80")?;
    let cert_and_key = options.cert_and_key()?;
    let tls = options.flag("tls") || cert_and_key.is_some();
    let write_cert = options.file("write-cert");
    if write_cert.is_some() && !tls {
        return Err("--write-cert: without --tls there is no certificate".into());
    }
    Ok(Args { listen, cca: options.take("cca"), tls, cert_and_key, write_cert })
}

/// The certificate is written before anybody is listened to.
fn tls_of(args: &Args) -> Result<Option<Arc<rustls::ServerConfig>>, String> {
    if !args.tls {
        return Ok(None);
    }
    let identity = Identity::of_server(args.cert_and_key.as_ref(), args.listen)?;
    if let Some(path) = &args.write_cert {
        std::fs::write(path, identity.pem()).map_err(|e| format!("--write-cert {path}: {e}"))?;
    }
    identity.into_config().map(Some)
}

pub fn run(args: Args) -> Result<(), String> {
    let tls = tls_of(&args)?;
    let listener =
        TcpListener::bind(args.listen).map_err(|e| format!("cannot listen on {}: {e}", args.listen))?;
    if let Some(cca) = &args.cca {
        // connections inherit it
        sys::set_cca(listener.as_raw_fd(), cca).map_err(|e| format!("--cca {cca}: {e}"))?;
    }
    // Two descriptors each: its thread's, and one to close it by.
    let allowed = sys::raise_file_limit().saturating_sub(32) / 2;
    serve_all(&listener, tls, CONNECTIONS.min(allowed.max(1) as usize))
}

fn serve_all(listener: &TcpListener, tls: Option<Arc<rustls::ServerConfig>>, most: usize) -> ! {
    let open = Open::new(most);
    let zeros = Arc::new(vec![b'0'; CHUNK_BYTES]);
    loop {
        let stream = match listener.accept() {
            Ok((stream, _)) => stream,
            Err(_) => {
                // out of descriptors, or a client that is gone already
                std::thread::sleep(Duration::from_millis(10));
                continue;
            }
        };
        let Some(place) = open.admit(&stream) else {
            continue; // closed
        };
        let (zeros, tls) = (zeros.clone(), tls.clone());
        // No thread: closed, too.
        let _ = std::thread::Builder::new()
            .stack_size(STACK_BYTES)
            .spawn(move || serve(stream, tls.as_ref(), &zeros, &place));
    }
}

fn serve(
    socket: TcpStream,
    tls: Option<&Arc<rustls::ServerConfig>>,
    zeros: &[u8],
    place: &Place,
) -> std::io::Result<()> {
    socket.set_read_timeout(Some(IDLE))?;
    socket.set_write_timeout(Some(IDLE))?;
    socket.set_nodelay(true)?;
    let mut stream = Stream::accept(socket, tls)?;
    let mut waiting: Vec<u8> = Vec::new();
    let mut scratch = vec![0u8; CHUNK_BYTES];
    loop {
        let request = loop {
            match request::parse(&waiting) {
                Ok(Some(request)) => break request,
                Ok(None) => {}
                Err((status, reason)) => {
                    let line = format!(
                        "HTTP/1.1 {status} {reason}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
                    );
                    return stream.write_all(line.as_bytes());
                }
            }
            match stream.read(&mut scratch[..HEAD_BYTES]) {
                Ok(0) => return Ok(()),
                Ok(n) => waiting.extend_from_slice(&scratch[..n]),
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                Err(e) => return Err(e),
            }
        };
        if !place.answers() {
            return Ok(());
        }
        let have = waiting.len() - request.head_bytes;
        let body_here = (have as u64).min(request.body_bytes);
        waiting.drain(..request.head_bytes + body_here as usize);
        discard(&mut stream, request.body_bytes - body_here, &mut scratch)?;
        let began_ns = sys::monotonic_ns();
        respond(&mut stream, &request, zeros, began_ns)?;
        if !request.keep_alive {
            return Ok(());
        }
        place.waits();
    }
}

/// Reads a body that nobody looks at.
fn discard(stream: &mut Stream, mut rest: u64, scratch: &mut [u8]) -> std::io::Result<()> {
    let mut mark = 1;
    while rest > 0 {
        let wanted = rest.min(LOW_WATER_BYTES);
        if wanted != mark {
            stream.set_low_water(wanted as u32)?;
            mark = wanted;
        }
        let most = rest.min(scratch.len() as u64) as usize;
        match stream.read(&mut scratch[..most]) {
            Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
            Ok(n) => rest -= n as u64,
            Err(e) if e.kind() == ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
    if mark != 1 {
        stream.set_low_water(1)?;
    }
    Ok(())
}

fn respond(stream: &mut Stream, request: &Request, zeros: &[u8], began_ns: u64) -> std::io::Result<()> {
    let (status, bytes) = match request.answer {
        Answer::Body(bytes) => ("200 OK", bytes),
        Answer::Empty => ("200 OK", 0),
        Answer::NotFound => ("404 Not Found", 0),
        Answer::Options => ("204 No Content", 0),
    };
    let connection = if request.keep_alive { "keep-alive" } else { "close" };
    let took_ms = (sys::monotonic_ns() - began_ns) as f64 / 1e6;
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Length: {bytes}\r\nContent-Type: application/octet-stream\r\n\
         Cache-Control: no-store\r\nConnection: {connection}\r\nServer-Timing: cfRequestDuration;dur={took_ms:.6}\r\n\
         Timing-Allow-Origin: *\r\nAccess-Control-Allow-Origin: *\r\nAccess-Control-Allow-Headers: *\r\n\
         Access-Control-Allow-Methods: GET, POST\r\nAccess-Control-Expose-Headers: *\r\n\r\n"
    );
    // Head and the first bytes together: a small answer is one packet.
    let first = (bytes as usize).min(16 << 10);
    let mut together = head.into_bytes();
    together.extend_from_slice(&zeros[..first]);
    stream.write_all(&together)?;
    let mut rest = bytes - first as u64;
    while rest > 0 {
        let n = rest.min(zeros.len() as u64);
        stream.write_all(&zeros[..n as usize])?;
        rest -= n;
    }
    Ok(())
}

#[cfg(test)]
#[path = "server_tests.rs"]
mod tests;
