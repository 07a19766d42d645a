//! What the live tests are made with: a running server, our client, a client of others.

use crate::args::{parse_client, ServerArgs};
use crate::server::Server;
use crate::{client, handshake};
use narrows_wire::args::Way;
use narrows_wire::lines::Lines;
use narrows_wire::testing::{words, Running, Shared};
use serde_json::Value;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use tungstenite::client::IntoClientRequest;
use tungstenite::Message;

pub const DURATION_MS: u64 = 300;

pub fn start(tls: bool, max_connections: usize) -> Running {
    let log = Shared::default();
    let args = ServerArgs {
        listen: "127.0.0.1:0".parse().unwrap(),
        tls,
        cert_and_key: None,
        cca: "no_such_cca".into(), // a failure that is only logged
        duration_ns: DURATION_MS * 1_000_000,
        log: None,
    };
    let (stop, stopped) = UnixStream::pair().unwrap();
    let mut server = Server::start(args, Lines::to(log.clone()), &stopped).unwrap();
    server.max_connections = server.max_connections.min(max_connections);
    server.head_timeout_ns = 600_000_000_000; // a busy machine may hold a test up for seconds
    let address = server.listener.local_addr().unwrap();
    let thread = std::thread::spawn(move || {
        let _stopped = stopped;
        server.serve()
    });
    Running { address, log, stop, thread }
}

/// A raw connection after its upgrade.
pub fn upgraded(server: &Running, test: Way) -> TcpStream {
    let mut socket = server.connect();
    let (head, key) = handshake::upgrade_request("x", test, &[], "test", [1; 16]);
    socket.write_all(&head).unwrap();
    let mut response = vec![];
    while handshake::parse_response(&response, &key).unwrap().is_none() {
        let mut byte = [0];
        socket.read_exact(&mut byte).unwrap();
        response.push(byte[0]);
    }
    socket
}

pub fn our_client(url: &str, more: &str) -> (Result<(), String>, Shared) {
    let line = format!("--server {url} --duration-ms {DURATION_MS} {more}");
    let args = parse_client(&words(&line)).unwrap();
    let out = Shared::default();
    let (_never, stop) = UnixStream::pair().unwrap();
    (client::run_until(args, Lines::to(out.clone()), OwnedFd::from(stop)), out)
}

pub fn check_summary(out: &Shared) {
    let summary = &out.with_key("summary")[0]["Value"]["tests"];
    for test in ["download", "upload"] {
        let figures = &summary[test];
        assert!(figures["error"].is_null(), "{figures}");
        assert!(figures["rate_bps"].as_f64() > Some(0.0), "{test}: {:?}", out.lines());
        assert_eq!(figures["ended_by"], "closing handshake");
        assert!(
            figures["bytes_sent"].as_u64().unwrap() > 0 && figures["retransmission"].is_number(),
            "{figures}"
        );
        let measured = |origin: &str| {
            let of = |m: &&Value| m["Value"]["Origin"] == origin && m["Value"]["Test"] == test;
            out.with_key("measurement").iter().filter(of).count()
        };
        assert!(measured("server") > 0 && measured("client") > 0);
    }
}

/// A client of an independent implementation: how many bytes and measurements a download brought.
pub fn foreign_download(address: SocketAddr) -> (usize, Vec<Value>) {
    let mut request =
        format!("ws://{address}/ndt/v7/download?client_name=foreign").into_client_request().unwrap();
    request.headers_mut().insert("Sec-WebSocket-Protocol", "net.measurementlab.ndt.v7".parse().unwrap());
    let socket = TcpStream::connect(address).unwrap();
    let (mut ws, response) = tungstenite::client(request, socket).unwrap();
    assert_eq!(response.headers()["Sec-WebSocket-Protocol"], "net.measurementlab.ndt.v7");
    let (mut bytes, mut measurements) = (0, vec![]);
    loop {
        match ws.read() {
            Ok(Message::Binary(data)) => {
                assert!((8192..=1 << 20).contains(&data.len()) && data.len().is_power_of_two());
                bytes += data.len();
            }
            Ok(Message::Text(text)) => measurements.push(serde_json::from_str(&text).unwrap()),
            Ok(_) => {}
            Err(tungstenite::Error::ConnectionClosed) => return (bytes, measurements),
            Err(e) => panic!("{e}"),
        }
    }
}
