//! Both sides over loopback sockets: with each other, with an independent WebSocket implementation (tungstenite),
//! and with clients that misbehave. Tests are short (300 ms) and assert no wall-clock time.

mod rig;

use crate::frame;
use crate::outbox::{Frames, Outbox};
use crate::peer::{Peer, Settings, Side};
use crate::reader::{Event, Reader};
use narrows_wire::args::Way;
use narrows_wire::testing::unless_held_up;
use narrows_wire::transport::Transport;
use serde_json::Value;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use tungstenite::Message;

use rig::*;

#[test]
fn our_client_and_our_server_agree_in_the_clear() {
    unless_held_up(|| {
        let server = start(false, 64);
        let (result, out) = our_client(&format!("ws://{}", server.address), "");
        result.unwrap();
        check_summary(&out);
        let log = server.end();
        let results = log.with_key("result");
        assert_eq!(results.len(), 2);
        assert!(results.iter().all(|r| r["Value"]["ended_by"] == "closing handshake"));
        let (down, up) = (&out.with_key("summary")[0]["Value"]["tests"]["download"], &results[1]["Value"]);
        // Every byte that the server sent arrived: the client also counts texts, so it has no fewer.
        assert!(down["bytes"].as_u64() >= results[0]["Value"]["app_bytes"].as_u64());
        assert_eq!(up["bytes"], out.with_key("summary")[0]["Value"]["tests"]["upload"]["bytes"]);
        assert_eq!(log.with_key("starting")[0]["Value"]["metadata"]["client_name"], "narrows-agent");
        assert!(log.with_key("warning")[0].to_string().contains("no_such_cca"));
        assert!(!log.with_key("ping").is_empty());
    });
}

#[test]
fn our_client_and_our_server_agree_over_tls_and_a_strange_certificate_needs_insecure() {
    unless_held_up(|| {
        let server = start(true, 64);
        let url = format!("wss://{}", server.address);
        let (result, out) = our_client(&url, "--insecure");
        result.unwrap();
        check_summary(&out);
        let (result, _) = our_client(&url, "");
        let error = result.unwrap_err();
        assert!(error.contains("certificate"), "{error}");
        server.end();
    });
}

#[test]
fn a_foreign_client_downloads_from_our_server() {
    unless_held_up(|| {
        let server = start(false, 64);
        let (bytes, measurements) = foreign_download(server.address);
        assert!(bytes > 1 << 20, "{bytes}");
        for measurement in &measurements {
            for part in ["AppInfo", "ConnectionInfo", "TCPInfo"] {
                assert!(measurement[part].is_object(), "{part} in {measurement}");
            }
            let info = &measurement["ConnectionInfo"];
            assert!(["Client", "Server", "UUID", "StartTime"].iter().all(|k| info[k].is_string()));
            // Only for where it would not be known who measured what.
            assert!(measurement["Origin"].is_null() && measurement["Test"].is_null());
        }
        assert!(!measurements.is_empty());
        let log = server.end();
        assert_eq!(log.with_key("starting")[0]["Value"]["metadata"]["client_name"], "foreign");
        assert_eq!(log.with_key("result")[0]["Value"]["ended_by"], "closing handshake");
    });
}

#[test]
fn our_client_uploads_to_and_downloads_from_a_foreign_server() {
    unless_held_up(|| {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let server = std::thread::spawn(move || {
            for download in [true, false] {
                let (socket, _) = listener.accept().unwrap();
                let mut paths = String::new();
                #[allow(clippy::result_large_err)] // the signature is tungstenite's
                let select =
                    |request: &tungstenite::handshake::server::Request,
                     mut response: tungstenite::handshake::server::Response| {
                        paths = request.uri().path().to_owned();
                        assert_eq!(request.headers()["Sec-WebSocket-Protocol"], "net.measurementlab.ndt.v7");
                        let protocol = "net.measurementlab.ndt.v7".parse().unwrap();
                        response.headers_mut().insert("Sec-WebSocket-Protocol", protocol);
                        Ok(response)
                    };
                let mut ws = tungstenite::accept_hdr(socket, select).unwrap();
                assert_eq!(paths, if download { "/ndt/v7/download" } else { "/ndt/v7/upload" });
                let text =
                    r#"{"TCPInfo":{"BytesReceived":1000000,"ElapsedTime":1000000,"MinRTT":5},"Extra":{}}"#;
                let mut bytes = 0;
                if download {
                    for _ in 0..20 {
                        ws.send(Message::Binary(vec![1u8; 100_000].into())).unwrap();
                    }
                    ws.send(Message::Ping(b"p".to_vec().into())).unwrap();
                    ws.send(Message::Text(text.into())).unwrap();
                    ws.close(None).unwrap();
                }
                let mut pongs = 0;
                loop {
                    match ws.read() {
                        Ok(Message::Binary(data)) => {
                            bytes += data.len();
                            if bytes == 8192 {
                                ws.send(Message::Text(text.into())).unwrap();
                            }
                        }
                        Ok(Message::Pong(payload)) => pongs += usize::from(&payload[..] == b"p"),
                        Ok(_) => {}
                        Err(tungstenite::Error::ConnectionClosed) => break,
                        Err(e) => panic!("{e}"),
                    }
                }
                assert_eq!(pongs, usize::from(download));
                assert_eq!(bytes > 0, !download);
            }
        });
        let (result, out) = our_client(&format!("ws://{address}"), "");
        server.join().unwrap();
        result.unwrap();
        let tests = &out.with_key("summary")[0]["Value"]["tests"];
        assert_eq!(tests["download"]["bytes"], 20 * 100_000 + 81);
        assert_eq!(tests["upload"]["rate_bps"], 8e6);
    });
}

/// One side of an upload of an hour that the test drives by hand, and the other end of its connection.
fn driven_by_hand(side: Side, outbox: Outbox) -> (Peer, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let other = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let (socket, _) = listener.accept().unwrap();
    socket.set_nonblocking(true).unwrap();
    let settings = Settings {
        side,
        test: Way::Upload,
        duration_ns: 3_600_000_000_000,
        early_exit_bytes: None,
        connection_info: None,
    };
    (Peer::new(settings, Transport::new(socket, None), outbox, &[]), other)
}

#[test]
fn while_a_text_waits_nothing_is_measured_and_no_ping_goes_out() {
    let mut outbox = Outbox::new(false, 1);
    assert!(outbox.push(frame::OP_TEXT, b"waits"));
    let (mut peer, mut client) = driven_by_hand(Side::Server, outbox);
    let (mut frames, mut scratch) = (Frames::new(false), vec![0; 4096]);
    for measured in [0, 1] {
        peer.on_time(peer.deadline_ns(), &mut frames, &mut scratch);
        assert_eq!(peer.notes.len(), measured);
    }
    drop(peer);
    let (mut received, mut events) = (vec![], vec![]);
    client.read_to_end(&mut received).unwrap();
    Reader::new(false).feed(&received, &mut events).unwrap();
    let count = |is: fn(&Event) -> bool| events.iter().filter(|e| is(e)).count();
    let texts = count(|e| matches!(e, Event::Text(_) | Event::LongText(_)));
    let pings = count(|e| matches!(e, Event::Ping(_)));
    // The text that waited, and what was measured when it had gone.
    assert_eq!((texts, pings), (2, 1));
}

#[test]
fn a_close_that_is_first_seen_at_a_tick_is_answered_at_once() {
    let (mut peer, mut client) = driven_by_hand(Side::Server, Outbox::new(false, 1));
    let mut close = vec![];
    let payload = frame::close_payload(frame::CLOSE_NORMAL, "");
    frame::push_frame(&mut close, frame::OP_CLOSE, Some([1; 4]), &payload);
    client.write_all(&close).unwrap();
    peer.on_time(peer.deadline_ns(), &mut Frames::new(false), &mut vec![0; 4096]);
    assert_eq!(peer.end, Some(super::peer::End::Closed));
}

#[test]
fn a_side_that_was_held_up_beyond_its_limit_measures_and_closes_late() {
    for side in [Side::Server, Side::Client] {
        let (mut peer, mut other) = driven_by_hand(side, Outbox::new(false, 1));
        let (mut frames, mut scratch) = (Frames::new(false), vec![0; 4096]);
        let late_ns = peer.start_ns + 2 * peer.settings.duration_ns;
        peer.on_time(late_ns, &mut frames, &mut scratch);
        assert!(peer.end.is_none() && peer.deadline_ns() > late_ns);
        peer.on_time(peer.deadline_ns(), &mut frames, &mut scratch);
        assert_eq!(peer.end, Some(super::peer::End::TimeLimit));
        drop(peer);
        let (mut received, mut events) = (vec![], vec![]);
        other.read_to_end(&mut received).unwrap();
        Reader::new(false).feed(&received, &mut events).unwrap();
        assert!(matches!((&events[0], events.last()), (Event::Text(_), Some(Event::Close(_)))));
    }
}

#[test]
fn garbage_is_refused_and_the_next_client_is_served() {
    unless_held_up(|| {
        let server = start(false, 64);
        let long = format!("GET /{} ", "x".repeat(20_000));
        for (garbage, status) in [
            (&b"GET /ndt/v7/download HTTP/1.1\r\nHost: x\r\n\r\n"[..], "400"),
            (b"GET / HTTP/1.1\r\n\r\n", "404"),
            (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", "400"),
            (b"\0\0\0\0", "400"),
            (long.as_bytes(), "431"),
        ] {
            let mut socket = server.connect();
            socket.write_all(garbage).unwrap();
            let mut answer = vec![];
            // A reset after the answer is possible where we sent more than the server wanted to read.
            let _ = socket.read_to_end(&mut answer);
            let line = String::from_utf8_lossy(&answer[..answer.len().min(13)]).into_owned();
            assert!(line.starts_with(&format!("HTTP/1.1 {status} ")), "{line}");
        }
        drop(server.connect()); // vanishes at once
        let _silent = server.connect();
        let mut half = server.connect();
        half.write_all(b"GET /ndt/v7/download HTTP/1.1\r\n").unwrap();
        assert!(foreign_download(server.address).0 > 0);
        assert_eq!(server.end().with_key("refused").len(), 5);
    });
}

#[test]
fn broken_frames_end_their_test_only() {
    unless_held_up(|| {
        let server = start(false, 64);
        for (test, bytes, code) in [
            (Way::Upload, &b"\x82\x01x"[..], frame::CLOSE_PROTOCOL),
            (Way::Upload, b"\x82\xff\0\0\0\0\x01\0\0\x01\0\0\0\0", frame::CLOSE_TOO_BIG),
            (Way::Upload, b"\xff\xff\xff\xff", frame::CLOSE_PROTOCOL),
            (Way::Download, b"\x82\x81\0\0\0\0x", frame::CLOSE_UNSUPPORTED),
        ] {
            let mut socket = upgraded(&server, test);
            socket.write_all(bytes).unwrap();
            let (mut received, mut reader, mut events) = (vec![], super::reader::Reader::new(false), vec![]);
            let _ = socket.read_to_end(&mut received);
            reader.feed(&received, &mut events).unwrap();
            assert!(
                events.iter().any(|e| matches!(e, super::reader::Event::Close(Some((c, _))) if *c == code)),
                "no close with {code}"
            );
        }
        assert!(foreign_download(server.address).0 > 0);
        let ends: Vec<Value> =
            server.end().with_key("result").iter().map(|r| r["Value"]["ended_by"].clone()).collect();
        assert_eq!(
            ends.iter().filter(|e| e.as_str().unwrap().contains("broke the protocol")).count(),
            4,
            "{ends:?}"
        );
    });
}

#[test]
fn vanished_and_slow_clients_do_not_stop_the_others() {
    unless_held_up(|| {
        let server = start(false, 64);
        drop(upgraded(&server, Way::Download));
        drop(upgraded(&server, Way::Upload));
        let _slow = upgraded(&server, Way::Download); // never reads
        let mut stuck = upgraded(&server, Way::Upload); // stops in the middle of a frame
        stuck.write_all(b"\x82\xff\0\0\0\0\0\x10\0\0\x01\x02\x03\x04some").unwrap();
        let clients: Vec<_> =
            (0..4).map(|_| server.address).map(|a| std::thread::spawn(move || foreign_download(a))).collect();
        for client in clients {
            let (bytes, measurements) = client.join().unwrap();
            assert!(bytes > 0 && !measurements.is_empty());
        }
        server.end();
    });
}

#[test]
fn a_thousand_idle_connections_make_room_for_a_client_that_speaks() {
    unless_held_up(|| {
        let server = start(false, 8);
        let idle: Vec<_> = (0..1000).map(|_| server.connect()).collect();
        assert!(foreign_download(server.address).0 > 0);
        drop(idle);
        server.end();
    });
}

#[test]
fn a_server_that_is_not_there_or_refuses_is_one_clear_error() {
    unless_held_up(|| {
        let unused = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let error = our_client(&format!("ws://{unused}"), "--tests upload").0.unwrap_err();
        assert!(error.contains(&unused.to_string()) && error.contains("refused"), "{error}");
        let server = start(false, 8);
        let error =
            our_client(&format!("wss://{}", server.address), "--insecure --tests upload").0.unwrap_err();
        assert!(error.starts_with("upload from"), "{error}");
        server.end();
    });
}
