//! The HTTP upgrade (RFC 6455, section 4) as NDT7 wants it: requests and responses, both ways, and the query string.
//!
//! Pure functions over byte slices; does no input or output.

use crate::spec::{path, test_at, EARLY_EXIT_KEY, EARLY_EXIT_MEGABYTES, MAX_QUERY_BYTES, SUBPROTOCOL};
use base64::prelude::{Engine, BASE64_STANDARD};
use narrows_wire::args::Way;
use narrows_wire::http1::{self, Broken};
use sha1::{Digest, Sha1};

/// Longest request or response head: the longest query, and as much again for the headers.
pub const MAX_HEAD_BYTES: usize = 2 * MAX_QUERY_BYTES;
const ACCEPT_GUID: &str = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";

/// What a client asked for.
#[derive(Debug, PartialEq, Eq)]
pub struct Request {
    pub test: Way,
    pub key: String,
    /// Query parameters in order; no duplicates, none that starts with `server_`.
    pub metadata: Vec<(String, String)>,
    pub user_agent: Option<String>,
    /// Bytes acknowledged at which a download ends early.
    pub early_exit_bytes: Option<u64>,
}

/// An HTTP error to answer with.
#[derive(Debug, PartialEq, Eq)]
pub struct Refusal {
    pub status: u16,
    pub why: String,
}

fn refuse<T>(status: u16, why: impl Into<String>) -> Result<T, Refusal> {
    Err(Refusal { status, why: why.into() })
}

/// Parses a request head. `Ok(None)`: more bytes are needed. Also gives how many bytes the head takes.
pub fn parse_request(bytes: &[u8]) -> Result<Option<(Request, usize)>, Refusal> {
    match http1::request(bytes, MAX_HEAD_BYTES, |head, used| Ok((understood(head)?, used))) {
        Ok(found) => found.transpose(),
        Err(Broken::Endless) => refuse(431, format!("request head longer than {MAX_HEAD_BYTES} bytes")),
        Err(Broken::NotHttp(e)) => refuse(400, format!("not an HTTP request: {e}")),
    }
}

fn understood(head: &httparse::Request) -> Result<Request, Refusal> {
    if head.method != Some("GET") {
        return refuse(405, "method is not GET");
    }
    let target = head.path.unwrap_or("");
    let (asked, query) = target.split_once('?').unwrap_or((target, ""));
    let Some(test) = test_at(asked) else {
        return refuse(404, "no such path");
    };
    let header = |name: &str| http1::header(head.headers, name);
    if head.version != Some(1) || header("Host").is_none() {
        return refuse(400, "not HTTP/1.1 with a Host");
    }
    if !has_token(head.headers, "Upgrade", "websocket") || !has_token(head.headers, "Connection", "upgrade") {
        return refuse(400, "not a WebSocket upgrade");
    }
    if header("Sec-WebSocket-Version") != Some("13") {
        return refuse(400, "Sec-WebSocket-Version is not 13");
    }
    let key = match header("Sec-WebSocket-Key") {
        Some(key) if BASE64_STANDARD.decode(key).is_ok_and(|k| k.len() == 16) => key.to_owned(),
        _ => return refuse(400, "Sec-WebSocket-Key is not 16 bytes in base64"),
    };
    let offers = |t: &str| t == SUBPROTOCOL; // unlike the others, names of subprotocols are exact
    if !has_token_where(head.headers, "Sec-WebSocket-Protocol", offers) {
        return refuse(400, format!("Sec-WebSocket-Protocol does not offer {SUBPROTOCOL}"));
    }
    let user_agent = header("User-Agent").map(str::to_owned);
    let metadata = parse_query(query)?;
    let early_exit_bytes = early_exit(&metadata)?;
    Ok(Request { test, key, metadata, user_agent, early_exit_bytes })
}

/// Whether any header of that name lists the token (lists may be split over headers; case is ignored).
fn has_token(headers: &[httparse::Header], name: &str, token: &str) -> bool {
    has_token_where(headers, name, |t| t.eq_ignore_ascii_case(token))
}

fn has_token_where(headers: &[httparse::Header], name: &str, is: impl Fn(&str) -> bool) -> bool {
    headers
        .iter()
        .filter(|h| h.name.eq_ignore_ascii_case(name))
        .filter_map(|h| std::str::from_utf8(h.value).ok())
        .any(|value| value.split(',').any(|t| is(t.trim())))
}

/// Parses a query string: URL-encoded UTF-8 or a refusal. Later duplicates and `server_` names are left out.
pub fn parse_query(query: &str) -> Result<Vec<(String, String)>, Refusal> {
    if query.len() > MAX_QUERY_BYTES {
        return refuse(
            400,
            format!("query string of {} bytes is longer than {MAX_QUERY_BYTES}", query.len()),
        );
    }
    let mut pairs: Vec<(String, String)> = vec![];
    for part in query.split('&').filter(|p| !p.is_empty()) {
        let (name, value) = part.split_once('=').unwrap_or((part, ""));
        let decoded = (percent_decode(name), percent_decode(value));
        let (Some(name), Some(value)) = decoded else {
            return refuse(400, "query string is not URL-encoded UTF-8");
        };
        if !name.starts_with("server_") && pairs.iter().all(|(n, _)| *n != name) {
            pairs.push((name, value));
        }
    }
    Ok(pairs)
}

fn early_exit(metadata: &[(String, String)]) -> Result<Option<u64>, Refusal> {
    let Some((_, value)) = metadata.iter().find(|(name, _)| name == EARLY_EXIT_KEY) else {
        return Ok(None);
    };
    match EARLY_EXIT_MEGABYTES.iter().find(|mb| mb.to_string() == *value) {
        Some(megabytes) => Ok(Some(megabytes * 1_000_000)),
        None => refuse(400, format!("{EARLY_EXIT_KEY}={value} is not one of {EARLY_EXIT_MEGABYTES:?}")),
    }
}

fn percent_decode(text: &str) -> Option<String> {
    let mut out = Vec::with_capacity(text.len());
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        out.push(match byte {
            b'+' => b' ',
            b'%' => {
                let mut digit = || char::from(bytes.next()?).to_digit(16);
                (digit()? * 16 + digit()?) as u8
            }
            other => other,
        });
    }
    String::from_utf8(out).ok()
}

pub fn percent_encode(text: &str) -> String {
    text.bytes()
        .map(|b| match b {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => char::from(b).to_string(),
            _ => format!("%{b:02X}"),
        })
        .collect()
}

/// `Sec-WebSocket-Accept` for a `Sec-WebSocket-Key`.
pub fn accept_key(key: &str) -> String {
    let mut hash = Sha1::new();
    hash.update(key.as_bytes());
    hash.update(ACCEPT_GUID.as_bytes());
    BASE64_STANDARD.encode(hash.finalize())
}

/// The response that accepts an upgrade.
pub fn switching_protocols(key: &str) -> Vec<u8> {
    format!(
        "HTTP/1.1 101 Switching Protocols\r\nSec-WebSocket-Protocol: {SUBPROTOCOL}\r\n\
         Sec-WebSocket-Accept: {}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n",
        accept_key(key)
    )
    .into_bytes()
}

/// The response that refuses a request; the connection is closed after it.
pub fn refusal_response(refusal: &Refusal) -> Vec<u8> {
    let reason = match refusal.status {
        404 => "Not Found",
        405 => "Method Not Allowed",
        408 => "Request Timeout",
        431 => "Request Header Fields Too Large",
        503 => "Service Unavailable",
        _ => "Bad Request",
    };
    let allow = if refusal.status == 405 { "Allow: GET\r\n" } else { "" };
    let body = format!("{}\n", refusal.why);
    format!(
        "HTTP/1.1 {} {reason}\r\nContent-Type: text/plain\r\nContent-Length: {}\r\n{allow}Connection: close\r\n\r\n{body}",
        refusal.status,
        body.len()
    )
    .into_bytes()
}

/// A client's request; `nonce` is 16 random bytes.
pub fn upgrade_request(
    host: &str,
    test: Way,
    metadata: &[(String, String)],
    user_agent: &str,
    nonce: [u8; 16],
) -> (Vec<u8>, String) {
    let query: Vec<String> =
        metadata.iter().map(|(n, v)| format!("{}={}", percent_encode(n), percent_encode(v))).collect();
    let mark = if query.is_empty() { "" } else { "?" };
    let key = BASE64_STANDARD.encode(nonce);
    let head = format!(
        "GET {}{mark}{} HTTP/1.1\r\nHost: {host}\r\nConnection: Upgrade\r\nSec-WebSocket-Key: {key}\r\n\
         Sec-WebSocket-Version: 13\r\nSec-WebSocket-Protocol: {SUBPROTOCOL}\r\nUpgrade: websocket\r\n\
         User-Agent: {user_agent}\r\n\r\n",
        path(test),
        query.join("&"),
    );
    (head.into_bytes(), key)
}

/// Checks a server's response to the request with `key`. `Ok(None)`: more bytes are needed; else the head's length.
pub fn parse_response(bytes: &[u8], key: &str) -> Result<Option<usize>, String> {
    let upgrades = |head: &httparse::Response, used| {
        check_upgrade(head, &bytes[used..], key)?;
        Ok(used)
    };
    match http1::response(bytes, MAX_HEAD_BYTES, upgrades) {
        Ok(found) => found.transpose(),
        Err(Broken::Endless) => Err(format!("response head longer than {MAX_HEAD_BYTES} bytes")),
        Err(Broken::NotHttp(e)) => Err(format!("the server does not speak HTTP: {e}")),
    }
}

fn check_upgrade(head: &httparse::Response, body: &[u8], key: &str) -> Result<(), String> {
    let status = head.code.unwrap_or(0);
    if status != 101 {
        let body = String::from_utf8_lossy(body);
        let body: String = body.trim().chars().take(200).collect();
        return Err(format!("the server answered {status} {} ({body})", head.reason.unwrap_or("")));
    }
    if !has_token(head.headers, "Upgrade", "websocket") || !has_token(head.headers, "Connection", "upgrade") {
        return Err("the server's 101 response does not upgrade to WebSocket".into());
    }
    if http1::header(head.headers, "Sec-WebSocket-Accept") != Some(accept_key(key).as_str()) {
        return Err("the server's Sec-WebSocket-Accept does not match our key".into());
    }
    if http1::header(head.headers, "Sec-WebSocket-Protocol") != Some(SUBPROTOCOL) {
        return Err(format!("the server did not select the subprotocol {SUBPROTOCOL}"));
    }
    if http1::header(head.headers, "Sec-WebSocket-Extensions").is_some() {
        return Err("the server selected an extension that we did not offer".into());
    }
    Ok(())
}

#[cfg(test)]
#[path = "handshake_tests.rs"]
mod tests;
