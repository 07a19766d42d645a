//! The web speed test server: HTTP/1.1 with keep-alive, in the clear or over TLS. Slow, silent and broken clients cost a
//! thread for at most `IDLE`, and nothing else: when there are too many, one that asks for nothing makes way.

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsRawFd;
use std::sync::Arc;
use std::time::Duration;

use super::open::{Open, Place};
use super::request::{self, Answer, Request, HEAD_BYTES};
use super::wire::Wire;
use crate::ndt7::args::{file, Options};
use crate::ndt7::{sys, tls};

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
    let listen = options.take("listen").ok_or("--listen ADDR:PORT is missing")?;
    let cert_and_key = match (options.take("cert"), options.take("key")) {
        (Some(cert), Some(key)) => Some((cert, key)),
        (None, None) => None,
        _ => return Err("--cert and --key go together".into()),
    };
    let tls = options.flag("tls") || cert_and_key.is_some();
    let write_cert = file(options.take("write-cert"));
    if write_cert.is_some() && !tls {
        return Err("--write-cert: without --tls there is no certificate".into());
    }
    Ok(Args {
        listen: (listen.parse())
            .map_err(|_| format!("--listen {listen}: not an address and port, like 10.0.2.1:80"))?,
        cca: options.take("cca"),
        tls,
        cert_and_key,
        write_cert,
    })
}

/// The certificate is written before anybody is listened to.
fn tls_of(args: &Args) -> Result<Option<Arc<rustls::ServerConfig>>, String> {
    if !args.tls {
        return Ok(None);
    }
    let files = (args.cert_and_key.as_ref()).map(|(cert, key)| (cert.as_str(), key.as_str()));
    let names = vec![args.listen.ip().to_string(), "localhost".into()];
    let identity = tls::Identity::new(files, names)?;
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
    let mut stream = Wire::accept(socket, tls)?;
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
fn discard(stream: &mut Wire, mut rest: u64, scratch: &mut [u8]) -> std::io::Result<()> {
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

fn respond(stream: &mut Wire, request: &Request, zeros: &[u8], began_ns: u64) -> std::io::Result<()> {
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
mod tests {
    use super::*;
    use crate::held_up::unless_held_up;

    fn start() -> SocketAddr {
        start_for(100)
    }

    /// A server of so many connections. It ends with the process.
    fn start_for(most: usize) -> SocketAddr {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        std::thread::spawn(move || serve_all(&listener, None, most));
        address
    }

    fn ask(stream: &mut TcpStream, text: &str, bytes: usize) -> (String, usize) {
        stream.write_all(text.as_bytes()).unwrap();
        let mut got = Vec::new();
        let mut scratch = [0; 65536];
        loop {
            if let Some(end) = got.windows(4).position(|w| w == b"\r\n\r\n") {
                if got.len() >= end + 4 + bytes {
                    return (
                        String::from_utf8_lossy(&got[..end]).into_owned(),
                        got.len() - end - 4,
                    );
                }
            }
            let n = stream.read(&mut scratch).unwrap();
            assert!(n > 0, "closed after {} bytes", got.len());
            got.extend_from_slice(&scratch[..n]);
        }
    }

    #[test]
    fn one_connection_serves_downloads_and_uploads_in_turn() {
        unless_held_up(|| {
            let mut stream = TcpStream::connect(start()).unwrap();
            let (head, bytes) = ask(
                &mut stream,
                "GET /__down?bytes=1000000 HTTP/1.1\r\nHost: x\r\n\r\n",
                1_000_000,
            );
            assert_eq!(bytes, 1_000_000);
            assert!(
                head.contains("200 OK") && head.contains("cfRequestDuration;dur="),
                "{head}"
            );
            let up = format!(
                "POST /__up HTTP/1.1\r\nContent-Length: 200000\r\n\r\n{}",
                "0".repeat(200_000)
            );
            assert!(ask(&mut stream, &up, 0).0.contains("200 OK"));
            assert!(ask(&mut stream, "GET /__down?bytes=0 HTTP/1.1\r\n\r\n", 0)
                .0
                .contains("Content-Length: 0"));
            assert!(ask(&mut stream, "GET /nothing HTTP/1.1\r\n\r\n", 0)
                .0
                .contains("404"));
        });
    }

    /// The whole server, at a port that was free a moment ago. It ends with the process.
    fn whole(tls: bool) -> SocketAddr {
        let listen = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let args = Args {
            listen,
            cca: None,
            tls,
            cert_and_key: None,
            write_cert: None,
        };
        std::thread::spawn(move || run(args));
        while TcpStream::connect(listen).is_err() {
            std::thread::sleep(Duration::from_millis(10));
        }
        listen
    }

    fn is_served(address: SocketAddr, tls: bool) {
        let config = tls.then(|| tls::client_config(true, None).unwrap());
        let mut wire = Wire::connect(TcpStream::connect(address).unwrap(), config.as_ref()).unwrap();
        wire.write_all(b"GET /__down?bytes=100000 HTTP/1.1\r\nConnection: close\r\n\r\n")
            .unwrap();
        let mut got = vec![];
        wire.read_to_end(&mut got).unwrap();
        assert!(got.starts_with(b"HTTP/1.1 200 OK") && got.len() > 100_000);
    }

    /// Closed without an answer.
    fn is_turned_away(address: SocketAddr) -> bool {
        let mut socket = TcpStream::connect(address).unwrap();
        let _ = socket.write_all(b"GET /latency HTTP/1.1\r\nConnection: close\r\n\r\n");
        let mut got = vec![];
        let _ = socket.read_to_end(&mut got);
        got.is_empty()
    }

    #[test]
    fn more_idle_clients_than_there_are_places_leave_the_next_one_served() {
        unless_held_up(|| {
            let address = start_for(8);
            // They have asked for something before, which is better than never.
            let mut asked: Vec<_> = (0..4).map(|_| TcpStream::connect(address).unwrap()).collect();
            for socket in &mut asked {
                assert!(ask(socket, "GET /latency HTTP/1.1\r\n\r\n", 0).0.contains("200"));
            }
            let mut silent: Vec<_> = (0..40).map(|_| TcpStream::connect(address).unwrap()).collect();
            for socket in &mut silent {
                let _ = socket.write_all(b"GET /__down?bytes=1 HTTP/1.1\r\nX: ");
                // no whole request
            }
            for _ in 0..16 {
                is_served(address, false);
            }
            for socket in &mut asked {
                assert!(ask(socket, "GET /latency HTTP/1.1\r\n\r\n", 0).0.contains("200"));
            }
            drop(silent);
        });
    }

    #[test]
    fn who_is_being_answered_keeps_its_place() {
        unless_held_up(|| {
            let address = start_for(3);
            let mut busy: Vec<_> = (0..3).map(|_| TcpStream::connect(address).unwrap()).collect();
            for socket in &mut busy {
                // The beginning is read, then nobody reads: more than any buffer holds is on its way.
                ask(socket, "GET /__down?bytes=1000000000 HTTP/1.1\r\n\r\n", 1);
            }
            assert!(is_turned_away(address));
            drop(busy);
            while is_turned_away(address) {
                std::thread::sleep(Duration::from_millis(10)); // the server has yet to see that they are gone
            }
        });
    }

    #[test]
    fn a_thousand_idle_and_many_broken_clients_leave_the_next_one_served() {
        unless_held_up(|| {
            sys::raise_file_limit();
            let noise: Vec<u8> = (0..70_000u32)
                .map(|i| (i.wrapping_mul(2_654_435_761) >> 13) as u8)
                .collect();
            let long = ["GET / HTTP/1.1\r\nX: ".as_bytes(), &[b'x'; 20_000]].concat();
            for tls in [false, true] {
                let address = whole(tls);
                let idle: Vec<_> = (0..1000).map(|_| TcpStream::connect(address).unwrap()).collect();
                for garbage in [
                    &b""[..],
                    b"\0\0\0\0",
                    b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
                    b"\x16\x03\x03\xff\xff",
                    b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
                    b"POST /__up HTTP/1.1\r\nContent-Length: 18446744073709551616\r\n\r\n",
                    b"POST /__up HTTP/1.1\r\nContent-Length: 9999999999\r\n\r\nabc",
                    b"POST /__up HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n",
                    &noise,
                    &long,
                ] {
                    let mut socket = TcpStream::connect(address).unwrap();
                    // The server may be gone before it has all: that is its right.
                    let _ = socket.write_all(garbage);
                    let _ = socket.shutdown(std::net::Shutdown::Write);
                    let _ = socket.read_to_end(&mut vec![]);
                }
                let mut slow = TcpStream::connect(address).unwrap(); // asks for all and never reads
                let _ = slow.write_all(b"GET /__down?bytes=10000000000 HTTP/1.1\r\n\r\n");
                is_served(address, tls);
                drop(idle);
                is_served(address, tls);
            }
        });
    }

    #[test]
    fn garbage_and_clients_that_vanish_do_not_stop_the_next_one() {
        unless_held_up(|| {
            let address = start();
            let mut garbage = TcpStream::connect(address).unwrap();
            assert!(ask(&mut garbage, "\u{1}\u{2}\u{3} nonsense\r\n\r\n", 0)
                .0
                .contains("400"));
            let mut silent = TcpStream::connect(address).unwrap();
            silent
                .write_all(b"GET /__down?bytes=100000000 HTTP/1.1\r\n\r\n")
                .unwrap();
            let mut half = TcpStream::connect(address).unwrap();
            half.write_all(b"POST /__up HTTP/1.1\r\nContent-Length: 1000\r\n\r\nabc")
                .unwrap();
            drop(half);
            let mut next = TcpStream::connect(address).unwrap();
            assert!(ask(&mut next, "GET /latency HTTP/1.1\r\n\r\n", 0)
                .0
                .contains("200"));
        });
    }
}
