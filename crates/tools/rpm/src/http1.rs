//! HTTP/1.1 for the configuration and the small object, which some clients fetch with it before they load the link:
//! Cloudflare's `mach` times the idle path so. What loads the link is refused here: that is HTTP/2's.
//!
//! `answer` is pure; `converse` is one connection. Bodies of requests are not read, so such a request is the last.

use crate::config::{self, parse_url};
use crate::io::Io;
use crate::reply::Reply;
use http::header::CONNECTION;
use http::{HeaderValue, StatusCode};
use narrows_wire::http1::{self, Broken};
use std::future::poll_fn;
use std::io::{ErrorKind, Result};
use std::pin::Pin;
use std::task::{ready, Poll};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

pub const ALPN: &[u8] = b"http/1.1";
/// Most bytes of a request's head.
pub const HEAD_BYTES: usize = 16 << 10;
const READ_BYTES: usize = 4 << 10;

#[derive(Debug)]
pub struct Answer {
    pub bytes: Vec<u8>,
    /// Bytes of the request's head.
    pub head_bytes: usize,
    pub keep_alive: bool,
}

/// The answer to the request at the start of `bytes`, None while its head is not whole; `local` is this server's
/// address, for clients that do not say what they call it.
pub fn answer(bytes: &[u8], tls: bool, local: &str) -> Option<Answer> {
    let refuse = |status| {
        let reply = Reply::refusal(status);
        Some(written(reply, false, bytes.len(), false))
    };
    match http1::request(bytes, HEAD_BYTES, |head, used| answered(head, used, tls, local)) {
        Ok(Some(answer)) if answer.head_bytes <= HEAD_BYTES => Some(answer),
        Ok(None) => None,
        Ok(Some(_)) | Err(Broken::Endless) => refuse(StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE),
        Err(Broken::NotHttp(_)) => refuse(StatusCode::BAD_REQUEST),
    }
}

fn answered(head: &httparse::Request, head_bytes: usize, tls: bool, local: &str) -> Answer {
    let (mut keep_alive, mut has_body, mut host) = (head.version == Some(1), false, None);
    for header in head.headers.iter() {
        let value = std::str::from_utf8(header.value).unwrap_or("").trim();
        match header.name.to_ascii_lowercase().as_str() {
            "connection" => keep_alive &= !value.eq_ignore_ascii_case("close"),
            "content-length" => has_body |= value != "0",
            "transfer-encoding" => has_body = true,
            "host" => host = Some(value.to_owned()),
            _ => {}
        }
    }
    let (method, target) = (head.method.unwrap_or(""), head.path.unwrap_or("/"));
    // As to a proxy, with scheme and host: a server has to understand that too.
    let (authority, path) = match parse_url(target) {
        Ok(url) => (Some(url.authority), url.path),
        Err(_) => (host, target.to_owned()),
    };
    let bare = method == "HEAD";
    let route = config::route(if bare { "GET" } else { method }, &path);
    let reply = Reply::to(route, || config::served(tls, authority.as_deref().unwrap_or(local)));
    written(reply, bare, head_bytes, keep_alive && !has_body)
}

fn written(mut reply: Reply, bare: bool, head_bytes: usize, keep_alive: bool) -> Answer {
    if !keep_alive {
        let close = HeaderValue::from_static("close");
        reply.head.headers_mut().insert(CONNECTION, close);
    }
    let mut bytes = format!("HTTP/1.1 {}\r\n", reply.head.status()).into_bytes();
    for (name, value) in reply.head.headers() {
        bytes.extend_from_slice(name.as_str().as_bytes());
        bytes.extend_from_slice(b": ");
        bytes.extend_from_slice(value.as_bytes());
        bytes.extend_from_slice(b"\r\n");
    }
    bytes.extend_from_slice(b"\r\n");
    if !bare {
        bytes.extend_from_slice(&reply.body);
    }
    Answer { bytes, head_bytes, keep_alive }
}

/// Answers until either side ends it; `heard` is told of every request.
pub async fn converse(io: &mut Io, local: &str, heard: impl Fn()) -> Result<()> {
    let tls = io.transport().is_tls();
    let mut waiting = vec![];
    loop {
        let Some(answer) = answer(&waiting, tls, local) else {
            if read(io, &mut waiting).await? > 0 {
                continue;
            }
            return if waiting.is_empty() { Ok(()) } else { Err(ErrorKind::UnexpectedEof.into()) };
        };
        heard();
        waiting.drain(..answer.head_bytes);
        write_all(io, &answer.bytes).await?;
        if !answer.keep_alive {
            poll_fn(|cx| Pin::new(&mut *io).poll_shutdown(cx)).await?;
            // What still comes is read and dropped: closing over it would take the answer away from the client.
            while read(io, &mut waiting).await? > 0 {
                waiting.clear();
            }
            return Ok(());
        }
    }
}

/// Bytes that were appended; 0 at the end.
async fn read(io: &mut Io, into: &mut Vec<u8>) -> Result<usize> {
    poll_fn(|cx| {
        let mut space = [0; READ_BYTES];
        let mut buffer = ReadBuf::new(&mut space);
        ready!(Pin::new(&mut *io).poll_read(cx, &mut buffer))?;
        into.extend_from_slice(buffer.filled());
        Poll::Ready(Ok(buffer.filled().len()))
    })
    .await
}

async fn write_all(io: &mut Io, mut bytes: &[u8]) -> Result<()> {
    while !bytes.is_empty() {
        let taken = poll_fn(|cx| Pin::new(&mut *io).poll_write(cx, bytes)).await?;
        bytes = &bytes[taken..];
    }
    poll_fn(|cx| Pin::new(&mut *io).poll_flush(cx)).await
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(request: &str) -> (String, bool) {
        let answer = answer(request.as_bytes(), true, "10.0.2.1:443").unwrap();
        (String::from_utf8(answer.bytes).unwrap(), answer.keep_alive)
    }

    #[test]
    fn the_small_object_and_the_configuration_are_served_and_the_next_request_may_follow() {
        let two = "GET /small HTTP/1.1\r\nHost: h\r\n\r\nGET /small HTTP/1.1\r\n";
        let first = answer(two.as_bytes(), true, "l").unwrap();
        assert_eq!((first.head_bytes, first.keep_alive), (32, true));
        assert_eq!(
            String::from_utf8(first.bytes).unwrap(),
            "HTTP/1.1 200 OK\r\ncontent-type: application/octet-stream\r\ncontent-length: 1\r\n\r\nx"
        );
        let (named, _) = text("GET /.well-known/nq HTTP/1.1\r\nHost: lab:4043\r\n\r\n");
        assert!(named.contains("\"https://lab:4043/small\""), "{named}");
        let (proxied, _) = text("GET https://a:1/.well-known/nq HTTP/1.1\r\nHost: b\r\n\r\n");
        assert!(proxied.contains("\"https://a:1/small\""), "{proxied}");
        let (unnamed, keep_alive) = text("GET /.well-known/nq HTTP/1.0\r\n\r\n");
        assert!(unnamed.contains("\"https://10.0.2.1:443/small\"") && !keep_alive, "{unnamed}");
        let (bare, _) = text("HEAD /small HTTP/1.1\r\n\r\n");
        assert!(bare.ends_with("content-length: 1\r\n\r\n"), "{bare}");
    }

    #[test]
    fn what_loads_the_link_is_refused_and_a_body_ends_the_conversation() {
        for (request, status, kept) in [
            ("GET /large HTTP/1.1\r\n\r\n", "505", true),
            ("POST /upload HTTP/1.1\r\nContent-Length: 9\r\n\r\n", "505", false),
            ("PUT /upload HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n", "505", false),
            ("POST /small HTTP/1.1\r\nContent-Length: 0\r\n\r\n", "405", true),
            ("GET /x HTTP/1.1\r\nConnection: close\r\n\r\n", "404", false),
            ("\x16\x03\x01\r\n\r\n", "400", false),
        ] {
            let (answer, keep_alive) = text(request);
            assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{answer}");
            assert_eq!(keep_alive, kept, "{request}");
            assert_eq!(answer.contains("connection: close"), !kept, "{answer}");
        }
        assert!(text("POST /small HTTP/1.1\r\n\r\n").0.contains("allow: GET\r\n"));
    }

    #[test]
    fn a_head_that_does_not_end_is_waited_for_and_then_refused() {
        let mut endless = b"GET /small HTTP/1.1\r\nX: ".to_vec();
        assert!(answer(&endless, true, "l").is_none());
        endless.resize(HEAD_BYTES, b'a');
        assert!(answer(&endless, true, "l").unwrap().bytes.starts_with(b"HTTP/1.1 431 "));
    }
}
