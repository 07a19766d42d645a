//! What the fuzzer (`crates/fuzz`) calls: each target takes any bytes, parses them, and checks what must always hold.
//!
//! The kept corpus is replayed by an ordinary test, so that every `cargo test` goes through it. Results that are not
//! looked at go through `black_box`: else the optimiser leaves out the parser, and the fuzzer tests nothing.

use crate::sample::xstats;
use crate::traffic::{icmp, probe};
use narrows_ndt7::frame::{self, Parsed};
use narrows_ndt7::handshake;
use narrows_ndt7::measurement::{bbr_info, tcp_info, Measurement};
use narrows_ndt7::reader::Reader;
use narrows_rpm::{config, http1};
use narrows_udp_capacity::datagram;
use narrows_web::request;
use narrows_wire::tcp_info::TcpInfo;
use std::hint::black_box;

type Target = fn(&[u8]);

/// Name and function of every target; each has a program and an archive of kept inputs in `crates/fuzz`.
pub const TARGETS: [(&str, Target); 7] = [
    ("ndt7_frame", ndt7_frame),
    ("ndt7_handshake", ndt7_handshake),
    ("ndt7_measurement", ndt7_measurement),
    ("rpm_config", rpm_config),
    ("probes", probes),
    ("udp_capacity", udp_capacity),
    ("web_request", web_request),
];

/// WebSocket frames. However the bytes are cut, the same comes out.
pub fn ndt7_frame(data: &[u8]) {
    if let Parsed::Header(header, used) = frame::parse(data) {
        assert!(used <= data.len());
        let mut again = vec![];
        let bytes = usize::try_from(header.payload_bytes).unwrap_or(usize::MAX);
        frame::push_header(&mut again, header.opcode, header.mask, bytes);
        if header.fin {
            assert_eq!(again, data[..used], "a header that is valid has one form");
        }
    }
    let _ = black_box(frame::parse_close(data));
    for expect_mask in [true, false] {
        let (mut whole, mut events) = (Reader::new(expect_mask), vec![]);
        let end = whole.feed(data, &mut events);
        let (mut pieces, mut heard, mut piecewise) = (Reader::new(expect_mask), vec![], Ok(()));
        for piece in data.chunks(3) {
            piecewise = pieces.feed(piece, &mut heard);
            if piecewise.is_err() {
                break;
            }
        }
        assert_eq!(end, piecewise);
        assert_eq!(events, heard);
        assert_eq!(end.is_ok(), piecewise.is_ok());
        if end.is_ok() {
            assert_eq!(whole.data_bytes, pieces.data_bytes);
            assert!(whole.data_bytes <= data.len() as u64);
        }
    }
}

/// HTTP heads of the WebSocket upgrade, both ways, and the query.
pub fn ndt7_handshake(data: &[u8]) {
    match handshake::parse_request(data) {
        Ok(Some((request, used))) => {
            assert!(used <= data.len());
            assert!(request.metadata.iter().all(|(name, _)| !name.starts_with("server_")));
        }
        Ok(None) => assert!(data.len() < handshake::MAX_HEAD_BYTES),
        Err(refusal) => assert!((400..600).contains(&refusal.status)),
    }
    if let Ok(Some(used)) = handshake::parse_response(data, "dGhlIHNhbXBsZSBub25jZQ==") {
        assert!(used <= data.len());
    }
    if let Ok(pairs) = std::str::from_utf8(data).map(handshake::parse_query) {
        for (name, value) in pairs.unwrap_or_default() {
            let pair = format!("{}={}", handshake::percent_encode(&name), handshake::percent_encode(&value));
            // A name may be empty only where the value is not: a part without both is left out.
            if pair != "=" && pair.len() <= 4096 {
                assert_eq!(handshake::parse_query(&pair), Ok(vec![(name, value)]));
            }
        }
    }
}

/// Measurement messages of other implementations, and the kernel's structures behind ours.
pub fn ndt7_measurement(data: &[u8]) {
    if let Ok(measurement) = serde_json::from_slice::<Measurement>(data) {
        let text = serde_json::to_vec(&measurement).unwrap();
        assert_eq!(serde_json::from_slice::<Measurement>(&text).unwrap(), measurement);
        black_box(measurement.tcp("MinRTT"));
    }
    assert!(!black_box(tcp_info(data, 1)).is_empty());
    assert_eq!(black_box(bbr_info(data, 1)).is_some(), data.len() >= 20);
    black_box(TcpInfo::from_bytes(data));
    for kind in xstats::KINDS.keys() {
        black_box(xstats::parse(kind, data));
    }
}

/// The configuration, its URLs, the path of a request, and requests over HTTP/1.1.
pub fn rpm_config(data: &[u8]) {
    match http1::answer(data, true, "[::1]:443") {
        Some(answer) => assert!(answer.head_bytes <= data.len() && answer.bytes.starts_with(b"HTTP/1.1 ")),
        None => assert!(data.len() < http1::HEAD_BYTES),
    }
    if let Ok(found) = config::parse_config(data) {
        assert_eq!(found.small.host, found.large.host);
        for url in [&found.small, &found.large, &found.upload] {
            assert_eq!(config::parse_url(&url.text()).as_ref(), Ok(url));
        }
    }
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    if let Ok(url) = config::parse_url(text) {
        assert!(url.path.starts_with('/') && !url.host.is_empty() && url.port > 0);
        let served = config::config_json(url.tls, &url.authority).to_string();
        let read = config::parse_config(served.as_bytes()).unwrap();
        assert_eq!((read.small.host, read.small.port), (url.host, url.port));
    }
    let (method, target) = text.split_once(' ').unwrap_or(("GET", text));
    black_box(config::route(method, target));
}

/// Datagrams that reach a probe's socket: anybody may send them.
pub fn probes(data: &[u8]) {
    if let Some(number) = black_box(probe::sequence(data)) {
        assert_eq!(data[4..8], number.to_be_bytes());
    }
    if black_box(icmp::reply(data)).is_some() {
        assert!(data.len() >= 8);
    }
}

/// Datagrams of the UDP capacity test: what is read is written as what is read.
pub fn udp_capacity(data: &[u8]) {
    if let Some((token, message)) = datagram::read(data) {
        let written = datagram::write(token, &message);
        // As bytes: a delay that is not a number is not equal to itself.
        let again = datagram::read(&written).map(|(token, message)| datagram::write(token, &message));
        assert_eq!(again, Some(written));
    }
}

/// Requests of the web speed tests.
pub fn web_request(data: &[u8]) {
    match request::parse(data) {
        Ok(Some(found)) => assert!(found.head_bytes <= data.len()),
        Ok(None) => assert!(data.len() < request::HEAD_BYTES),
        Err((status, _)) => assert!((400..600).contains(&status)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::{Path, PathBuf};
    use std::process::Command;

    fn fuzz() -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../fuzz")
    }

    /// The kept inputs of a target, unpacked by the system's tar.
    fn corpus(name: &str, to: &Path) -> Vec<PathBuf> {
        std::fs::create_dir_all(to).unwrap();
        for archive in std::fs::read_dir(fuzz().join("corpus")).unwrap() {
            let archive = archive.unwrap();
            let file = archive.file_name().into_string().unwrap();
            if file.split('.').next() == Some(name) {
                let mut tar = Command::new("tar");
                tar.arg("-xzf").arg(archive.path()).arg("-C").arg(to);
                assert!(tar.status().unwrap().success(), "{file}");
            }
        }
        let mut files: Vec<_> = std::fs::read_dir(to).unwrap().map(|f| f.unwrap().path()).collect();
        files.sort();
        files
    }

    #[test]
    fn every_target_takes_its_kept_corpus() {
        let place = std::env::temp_dir().join(format!("narrows-corpus-{}", std::process::id()));
        for (name, target) in TARGETS {
            let files = corpus(name, &place.join(name));
            assert!(!files.is_empty(), "the corpus of {name} is empty");
            for file in files {
                let data = std::fs::read(&file).unwrap();
                println!("{}", file.display()); // shown if the target panics
                target(&data);
            }
        }
        std::fs::remove_dir_all(place).unwrap();
    }

    #[test]
    fn every_target_has_its_program() {
        for (name, _) in TARGETS {
            let program = fuzz().join(format!("fuzz_targets/{name}.rs"));
            assert!(program.exists(), "{name}");
        }
    }
}
