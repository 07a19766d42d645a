//! Tests of the server over real connections.

use super::*;
use narrows_wire::testing::unless_held_up;
use narrows_wire::tls;

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
                return (String::from_utf8_lossy(&got[..end]).into_owned(), got.len() - end - 4);
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
        let download = "GET /__down?bytes=1000000 HTTP/1.1\r\nHost: x\r\n\r\n";
        let (head, bytes) = ask(&mut stream, download, 1_000_000);
        assert_eq!(bytes, 1_000_000);
        assert!(head.contains("200 OK") && head.contains("cfRequestDuration;dur="), "{head}");
        let body = "0".repeat(200_000);
        let up = format!("POST /__up HTTP/1.1\r\nContent-Length: 200000\r\n\r\n{body}");
        for (request, part) in [
            (up.as_str(), "200 OK"),
            ("GET /__down?bytes=0 HTTP/1.1\r\n\r\n", "Content-Length: 0"),
            ("GET /nothing HTTP/1.1\r\n\r\n", "404"),
        ] {
            let (head, _) = ask(&mut stream, request, 0);
            assert!(head.contains(part), "{head}");
        }
    });
}

/// The whole server, at a port that was free a moment ago. It ends with the process.
fn whole(tls: bool) -> SocketAddr {
    let listen = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let args = Args { listen, cca: None, tls, cert_and_key: None, write_cert: None };
    std::thread::spawn(move || run(args));
    while TcpStream::connect(listen).is_err() {
        std::thread::sleep(Duration::from_millis(10));
    }
    listen
}

fn is_served(address: SocketAddr, tls: bool) {
    let config = tls.then(|| tls::client_config(true, None).unwrap());
    let mut wire = Stream::connect(TcpStream::connect(address).unwrap(), config.as_ref()).unwrap();
    wire.write_all(b"GET /__down?bytes=100000 HTTP/1.1\r\nConnection: close\r\n\r\n").unwrap();
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
        let noise: Vec<u8> = (0..70_000u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
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
        let [mut garbage, mut silent, mut half] = [0; 3].map(|_| TcpStream::connect(address).unwrap());
        let nonsense = "\u{1}\u{2}\u{3} nonsense\r\n\r\n";
        assert!(ask(&mut garbage, nonsense, 0).0.contains("400"));
        let download = b"GET /__down?bytes=100000000 HTTP/1.1\r\n\r\n";
        silent.write_all(download).unwrap();
        let upload = b"POST /__up HTTP/1.1\r\nContent-Length: 1000\r\n\r\nabc";
        half.write_all(upload).unwrap();
        drop(half);
        let mut next = TcpStream::connect(address).unwrap();
        let request = "GET /latency HTTP/1.1\r\n\r\n";
        assert!(ask(&mut next, request, 0).0.contains("200"));
    });
}
