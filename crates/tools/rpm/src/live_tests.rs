//! The real server on the loopback interface: our own client, garbage, slow and vanished clients, crowds.
//!
//! Nothing here looks at how long anything takes: loopback and a busy machine say nothing of that.

use crate::args::{parse_client, ServerArgs};
use crate::{client, server::Server};
use narrows_wire::lines::Lines;
use narrows_wire::testing::{unless_held_up, words, Running, Shared};
use narrows_wire::tls;
use serde_json::Value;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::sync::Arc;

/// The connection preface of HTTP/2 and an empty SETTINGS frame.
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0";

fn start(tls: bool, max_connections: usize) -> Running {
    let log = Shared::default();
    let (stop, stopped) = UnixStream::pair().unwrap();
    let (tell, told) = std::sync::mpsc::channel();
    let lines = Lines::to(log.clone());
    let thread = std::thread::spawn(move || {
        let args = ServerArgs {
            listen: "127.0.0.1:0".parse().unwrap(),
            tls,
            cert_and_key: None,
            cca: None,
            notsent_bytes: Some(16 << 10),
            coalesce_ns: 0,
            log: None,
        };
        let server = Server::start(&args, lines, max_connections)?;
        tell.send(server.address()).unwrap();
        server.serve(&stopped)
    });
    let address = told.recv().unwrap();
    Running { address, log, stop, thread }
}

/// Ends the server; gives what it counted.
fn counted(server: Running) -> Value {
    server.end().values("stopped").remove(0)
}

fn our_client(server: &str, more: &str) -> (Result<(), String>, Shared) {
    let line = format!("--server {server} --variant draft-08 --interval-ms 50 {more}");
    let args = parse_client(&words(&line)).unwrap();
    let out = Shared::default();
    let (_never, stop) = UnixStream::pair().unwrap();
    (client::run_until(args, Lines::to(out.clone()), &stop), out)
}

/// The shortest whole test: does the server still serve?
fn is_served(running: &Running, tls: bool) {
    let scheme = if tls { "https" } else { "http" };
    let short = "--insecure --tests download --stage-intervals 1 --idle-probes 2";
    let (result, out) = our_client(&format!("{scheme}://{}", running.address), short);
    result.unwrap();
    assert_eq!(out.values("probe").iter().filter(|p| p["test"] == "idle").count(), 2);
}

#[test]
fn our_client_measures_our_server_both_ways_with_and_without_tls() {
    unless_held_up(|| {
        for tls in [true, false] {
            let server = start(tls, 256);
            let scheme = if tls { "https" } else { "http" };
            let (result, out) = our_client(&format!("{scheme}://{}", server.address), "--insecure");
            result.unwrap();
            let summary = out.values("summary").remove(0);
            for test in ["download", "upload"] {
                let figures = &summary["tests"][test];
                assert!(figures["error"].is_null(), "{figures}");
                assert!(figures["goodput_bps"].as_f64().unwrap() > 0.0, "{figures}");
                let of = |kind: &str| {
                    let probes = out.values("probe").into_iter();
                    probes.filter(|p| p["test"] == test && p["kind"] == kind).collect::<Vec<_>>()
                };
                let (foreign, own) = (of("foreign"), of("self"));
                assert!(!foreign.is_empty() && !own.is_empty());
                let failed = foreign.iter().chain(&own).find(|p| !p["error"].is_null());
                assert!(failed.is_none(), "{failed:?}");
                assert_eq!(foreign.len() as u64, figures["foreign_probes"]["completed"].as_u64().unwrap());
                for probe in &foreign {
                    let parts: u64 =
                        ["tcp_ns", "tls_ns", "http_ns"].iter().filter_map(|k| probe[k].as_u64()).sum();
                    let whole = probe["end_ns"].as_u64().unwrap() - probe["start_ns"].as_u64().unwrap();
                    assert_eq!(parts, whole, "the parts of a probe are its whole: {probe}");
                    assert_eq!(probe["tls_round_trips"].as_u64(), tls.then_some(1));
                }
                assert!(own.iter().all(|p| p["connection"].is_u64() && p["tcp_ns"].is_null()));
            }
            let intervals = out.values("interval");
            assert!(intervals
                .windows(2)
                .all(|w| { w[0]["test"] != w[1]["test"] || w[0]["end_ns"] == w[1]["start_ns"] }));
            assert!(counted(server)["uploaded_bytes"].as_u64().unwrap() > 0);
        }
    });
}

#[test]
fn a_client_that_speaks_http_1_1_gets_the_short_objects_and_no_load() {
    unless_held_up(|| {
        let server = start(true, 16);
        let mut config = (*tls::client_config(true, None).unwrap()).clone();
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        let name = "127.0.0.1".try_into().unwrap();
        let connection = rustls::ClientConnection::new(Arc::new(config), name).unwrap();
        let mut stream = rustls::StreamOwned::new(connection, server.connect());
        let requests = "GET /small HTTP/1.1\r\n\r\nGET /.well-known/nq HTTP/1.1\r\nHost: lab\r\n\r\n\
            POST /upload HTTP/1.1\r\nContent-Length: 3\r\n\r\nxyz";
        for byte in requests.bytes() {
            stream.write_all(&[byte]).unwrap();
        }
        let mut answers = String::new();
        stream.read_to_string(&mut answers).unwrap();
        let statuses: Vec<_> =
            answers.match_indices("HTTP/1.1 ").map(|(at, _)| &answers[at + 9..at + 12]).collect();
        assert_eq!(statuses, ["200", "200", "505"], "{answers}");
        assert!(
            answers.contains("\r\n\r\nxHTTP/1.1 ") && answers.contains("\"https://lab/small\""),
            "{answers}"
        );
        drop(stream);
        is_served(&server, true);
        server.end();
    });
}

#[test]
fn both_ways_at_once_is_one_test_of_both_bytes() {
    unless_held_up(|| {
        let server = start(true, 256);
        let url = format!("https://{}", server.address);
        let (result, out) = our_client(&url, "--insecure --parallel --stage-intervals 8 --idle-probes 0");
        result.unwrap();
        let last = out.values("interval").pop().unwrap();
        assert_eq!(last["test"], "both");
        assert!(last["download_bytes"].is_u64() && last["upload_bytes"].is_u64());
        server.end();
    });
}

#[test]
fn a_strange_certificate_needs_insecure_and_a_server_that_is_not_there_is_one_clear_error() {
    unless_held_up(|| {
        let server = start(true, 16);
        let error = our_client(&format!("https://{}", server.address), "").0.unwrap_err();
        assert!(error.contains("certificate"), "{error}");
        let address = server.address;
        server.end();
        let error = our_client(&format!("https://{address}"), "--insecure").0.unwrap_err();
        assert!(error.contains(&address.to_string()) && error.contains("refused"), "{error}");
    });
}

#[test]
fn garbage_before_and_after_the_preface_ends_its_own_connection_only() {
    unless_held_up(|| {
        for tls in [true, false] {
            let server = start(tls, 64);
            let oversized = [PREFACE, b"\xff\xff\xff\0\0\0\0\0\x01"].concat();
            let to_stream_zero = [PREFACE, b"\0\0\x01\0\0\0\0\0\0x"].concat();
            let bad_headers = [PREFACE, b"\0\0\x04\x01\x05\0\0\0\x01\xff\xff\xff\xff"].concat();
            let endless_headers = [PREFACE, b"\0\0\0\x01\0\0\0\0\x01"].concat();
            let bad_window = [PREFACE, b"\0\0\x04\x08\0\0\0\0\0\0\0\0\0"].concat();
            let hello = b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03".to_vec();
            let noise: Vec<u8> =
                (0..70_000u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
            let http1 = b"GET /small HTTP/1.1\r\nHost: x\r\n\r\n".to_vec();
            for garbage in [
                oversized,
                to_stream_zero,
                bad_headers,
                bad_window,
                hello,
                noise,
                http1,
                endless_headers,
                vec![],
            ] {
                let mut socket = server.connect();
                // The server may be gone before it has all: that is its right.
                let _ = socket.write_all(&garbage);
                let _ = socket.shutdown(std::net::Shutdown::Write);
                let mut answer = vec![];
                let _ = socket.read_to_end(&mut answer);
            }
            is_served(&server, tls);
            let stopped = counted(server);
            assert!(stopped["broken"].as_u64().unwrap() >= 7, "{stopped}");
        }
    });
}

#[test]
fn a_flood_of_requests_that_are_reset_at_once_does_not_stop_the_others() {
    unless_held_up(|| {
        let server = start(false, 64);
        let mut socket = server.connect();
        let mut flood = PREFACE.to_vec();
        for stream in 0..20_000u32 {
            // HEADERS with :method GET, :scheme http, :path /index.html from the static table; then RST_STREAM.
            flood.extend_from_slice(b"\0\0\x03\x01\x05");
            flood.extend_from_slice(&(2 * stream + 1).to_be_bytes());
            flood.extend_from_slice(b"\x82\x86\x85");
            flood.extend_from_slice(b"\0\0\x04\x03\0");
            flood.extend_from_slice(&(2 * stream + 1).to_be_bytes());
            flood.extend_from_slice(b"\0\0\0\x08");
        }
        let _ = socket.write_all(&flood);
        is_served(&server, false);
        server.end();
    });
}

#[test]
fn vanished_half_open_and_slow_clients_do_not_stop_the_others() {
    unless_held_up(|| {
        for tls in [true, false] {
            let server = start(tls, 64);
            drop(server.connect());
            let _silent = server.connect();
            let mut half = server.connect(); // sends its handshake byte by byte, and stops
            half.write_all(if tls { b"\x16\x03" } else { b"PRI * HT" }).unwrap();
            let mut greedy = server.connect(); // asks for everything and never reads
            if !tls {
                greedy.write_all(PREFACE).unwrap();
                // GET /large: an indexed method and scheme, a literal path.
                greedy.write_all(b"\0\0\x0a\x01\x05\0\0\0\x01\x82\x86\x04\x06/large").unwrap();
            }
            let mut gone = server.connect(); // the same, and vanishes while it is served
            if !tls {
                gone.write_all(PREFACE).unwrap();
                gone.write_all(b"\0\0\x0a\x01\x05\0\0\0\x01\x82\x86\x04\x06/large").unwrap();
                let mut some = [0; 4096];
                gone.read_exact(&mut some).unwrap();
            }
            drop(gone);
            is_served(&server, tls);
            server.end();
        }
    });
}

#[test]
fn a_thousand_idle_connections_make_room_for_clients_that_speak() {
    unless_held_up(|| {
        let server = start(true, 64);
        let idle: Vec<_> = (0..1000).map(|_| server.connect()).collect();
        is_served(&server, true);
        drop(idle);
        is_served(&server, true);
        assert!(counted(server)["connections"].as_u64().unwrap() >= 1000);
    });
}
