//! Tests of the HTTP upgrade.

use super::*;

const REQUEST: &str = "GET /ndt/v7/download?client_name=ndt7-js&client_version=1%2E0+beta HTTP/1.1\r\nHost: localhost\r\n\
    Connection: keep-alive, Upgrade\r\nSec-WebSocket-Key: DOdm+5/Cm3WwvhfcAlhJoQ==\r\nSec-WebSocket-Version: 13\r\n\
    Sec-WebSocket-Protocol: net.measurementlab.ndt.v7\r\nUpgrade: websocket\r\nUser-Agent: x/1\r\n\r\n";

fn status(request: &str) -> u16 {
    parse_request(request.as_bytes()).unwrap_err().status
}

#[test]
fn the_accept_keys_of_rfc_6455_and_of_the_ndt7_specification_are_ours() {
    assert_eq!(accept_key("dGhlIHNhbXBsZSBub25jZQ=="), "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
    assert_eq!(accept_key("DOdm+5/Cm3WwvhfcAlhJoQ=="), "Nhz+x95YebD6Uvd4nqPC2fomoUQ=");
}

#[test]
fn a_good_request_is_understood_with_its_metadata() {
    let (request, used) = parse_request(REQUEST.as_bytes()).unwrap().unwrap();
    assert_eq!(used, REQUEST.len());
    assert_eq!(request.test, Way::Download);
    assert_eq!(request.user_agent.as_deref(), Some("x/1"));
    let pairs = [("client_name", "ndt7-js"), ("client_version", "1.0 beta")]
        .map(|(n, v)| (n.to_owned(), v.to_owned()));
    assert_eq!(request.metadata, pairs);
    for cut in 0..REQUEST.len() {
        assert_eq!(parse_request(&REQUEST.as_bytes()[..cut]), Ok(None), "cut at {cut}");
    }
}

#[test]
fn bad_requests_are_refused() {
    let (long, key, name) = ("x".repeat(4096), "DOdm+5/Cm3WwvhfcAlhJoQ==", "client_name=ndt7-js");
    for (good, bad, expected) in [
        ("Sec-WebSocket-Protocol: net.measurementlab.ndt.v7\r\n", "", 400),
        ("ndt.v7\r\n", "ndt.v5\r\n", 400),
        ("ndt.v7\r\n", "NDT.v7\r\n", 400),
        ("GET", "POST", 405),
        ("download", "ping", 404),
        ("Version: 13", "Version: 8", 400),
        ("HTTP/1.1", "HTTP/1.0", 400),
        ("Host: localhost\r\n", "", 400),
        (key, "c2hvcnQ=", 400),
        ("Upgrade: websocket\r\n", "", 400),
        (name, "client_name=%zz", 400),
        (name, "client_name=%ff", 400),
        ("ndt7-js", &long, 400),
    ] {
        assert_eq!(status(&REQUEST.replace(good, bad)), expected, "{good} as {bad}");
    }
    assert_eq!(status("\x16\x03\x01\x02\x00\x01\x00"), 400); // a TLS client on the plain port
    assert_eq!(status(&format!("GET /{} ", "x".repeat(MAX_HEAD_BYTES))), 431);
    let headers = format!("GET / HTTP/1.1\r\n{}", "A: b\r\n".repeat(100));
    assert_eq!(status(&headers), 400);
}

#[test]
fn early_exit_takes_250_megabytes_and_nothing_else() {
    let with = |value| REQUEST.replace("client_name=ndt7-js", &format!("early_exit={value}"));
    let (request, _) = parse_request(with("250").as_bytes()).unwrap().unwrap();
    assert_eq!(request.early_exit_bytes, Some(250_000_000));
    assert_eq!(status(&with("123")), 400);
    assert_eq!(status(&with("")), 400);
}

#[test]
fn duplicates_and_server_names_are_left_out_of_the_metadata() {
    let pairs = parse_query("a=1&a=2&server_x=3&b&&c=%C3%A9").unwrap();
    let expected = [("a", "1"), ("b", ""), ("c", "é")].map(|(n, v)| (n.to_owned(), v.to_owned()));
    assert_eq!(pairs, expected);
    assert!(parse_query(&"x".repeat(4096)).is_ok());
}

#[test]
fn our_request_is_one_that_we_accept_and_our_response_one_that_we_believe() {
    let metadata = vec![("client_name".to_owned(), "narrows agent/ü&=".to_owned())];
    let (head, key) = upgrade_request("[::1]:80", Way::Upload, &metadata, "narrows-agent/0", [7; 16]);
    let (request, used) = parse_request(&head).unwrap().unwrap();
    assert_eq!(
        (request.test, &request.key, &request.metadata, used),
        (Way::Upload, &key, &metadata, head.len())
    );
    let response = switching_protocols(&key);
    assert_eq!(parse_response(&response, &key), Ok(Some(response.len())));
    assert!(parse_response(&response, "other").is_err());
    for cut in 0..response.len() {
        assert_eq!(parse_response(&response[..cut], &key), Ok(None));
    }
}

#[test]
fn a_refusal_is_reported_with_its_status_and_reason() {
    let refusal = Refusal { status: 400, why: "no subprotocol".into() };
    let why = parse_response(&refusal_response(&refusal), "k").unwrap_err();
    assert_eq!(why, "the server answered 400 Bad Request (no subprotocol)");
}

#[test]
fn responses_that_lie_are_not_believed() {
    let good = String::from_utf8(switching_protocols("k")).unwrap();
    let with =
        |extra: &str| good.replace("Connection: Upgrade\r\n", &format!("Connection: Upgrade\r\n{extra}"));
    assert!(parse_response(with("Sec-WebSocket-Extensions: permessage-deflate\r\n").as_bytes(), "k").is_err());
    assert!(parse_response(good.replace("ndt.v7", "ndt.v8").as_bytes(), "k").is_err());
    assert!(parse_response(b"SSH-2.0-OpenSSH\r\n", "k").is_err());
}
