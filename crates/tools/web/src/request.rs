//! What the server understands of a request. Pure.

use narrows_wire::http1::{self, Broken};

/// Most bytes of a request's head; most bytes that one response or request body may have.
pub const HEAD_BYTES: usize = 16 << 10;
pub const BODY_BYTES: u64 = 10_000_000_000;

#[derive(Debug, PartialEq)]
pub enum Answer {
    /// This many bytes.
    Body(u64),
    /// Nothing but that it was taken.
    Empty,
    NotFound,
    /// Preflight of a browser.
    Options,
}

#[derive(Debug, PartialEq)]
pub struct Request {
    pub answer: Answer,
    pub body_bytes: u64,
    pub keep_alive: bool,
    /// Bytes of the head.
    pub head_bytes: usize,
}

/// The request at the start of `bytes`; None while its head is not whole; an error with the status to answer.
pub fn parse(bytes: &[u8]) -> Result<Option<Request>, (u16, &'static str)> {
    match http1::request(bytes, HEAD_BYTES, understood) {
        Ok(found) => found.transpose(),
        Err(Broken::Endless) => Err((431, "Request Header Fields Too Large")),
        Err(Broken::NotHttp(_)) => Err((400, "Bad Request")),
    }
}

fn understood(head: &httparse::Request, head_bytes: usize) -> Result<Request, (u16, &'static str)> {
    let (method, target) = (head.method.unwrap_or(""), head.path.unwrap_or("/"));
    let mut body_bytes = 0;
    let mut keep_alive = head.version == Some(1);
    for header in head.headers.iter() {
        let value = std::str::from_utf8(header.value).unwrap_or("").trim();
        if header.name.eq_ignore_ascii_case("content-length") {
            body_bytes = value.parse().map_err(|_| (400, "Bad Request"))?;
            if body_bytes > BODY_BYTES {
                return Err((413, "Content Too Large"));
            }
        } else if header.name.eq_ignore_ascii_case("transfer-encoding") {
            return Err((411, "Length Required"));
        } else if header.name.eq_ignore_ascii_case("connection") {
            keep_alive = !value.eq_ignore_ascii_case("close")
                && (keep_alive || value.eq_ignore_ascii_case("keep-alive"));
        }
    }
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let number = |name: &str, unit: u64, default: u64| -> Result<u64, (u16, &'static str)> {
        let found = query.split('&').find_map(|part| part.strip_prefix(name)?.strip_prefix('='));
        let bytes = match found {
            None => Some(default),
            Some(text) => text.parse::<u64>().ok().and_then(|n| n.checked_mul(unit)),
        };
        bytes.filter(|n| *n <= BODY_BYTES).ok_or((400, "Bad Request"))
    };
    let answer = match (method, path) {
        ("OPTIONS", _) => Answer::Options,
        // Cloudflare
        ("GET", "/__down") => Answer::Body(number("bytes", 1, 0)?),
        ("POST", "/__up") => Answer::Empty,
        // LibreSpeed: garbage.php sends mebibytes, 4 unless told
        ("GET", "/garbage") => Answer::Body(number("ckSize", 1 << 20, 4 << 20)?),
        ("GET" | "POST", "/empty") => Answer::Empty,
        // Ookla
        ("GET", "/download") => Answer::Body(number("size", 1, 25_000_000)?),
        ("POST", "/upload") => Answer::Empty,
        ("GET", "/latency") => Answer::Empty,
        _ => Answer::NotFound,
    };
    Ok(Request { answer, body_bytes, keep_alive, head_bytes })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(text: &str) -> Answer {
        parse(text.as_bytes()).unwrap().unwrap().answer
    }

    #[test]
    fn every_endpoint_answers_what_it_is_asked_for() {
        assert_eq!(answer("GET /__down?bytes=100000&measId=7 HTTP/1.1\r\n\r\n"), Answer::Body(100_000));
        assert_eq!(answer("GET /__down?measId=7 HTTP/1.1\r\n\r\n"), Answer::Body(0));
        assert_eq!(answer("GET /garbage?ckSize=100 HTTP/1.1\r\n\r\n"), Answer::Body(104_857_600));
        assert_eq!(answer("GET /elsewhere HTTP/1.1\r\n\r\n"), Answer::NotFound);
        let up = parse(b"POST /__up?bytes=5 HTTP/1.1\r\nContent-Length: 5\r\nConnection: close\r\n\r\n00000")
            .unwrap()
            .unwrap();
        assert_eq!((up.answer, up.body_bytes, up.keep_alive), (Answer::Empty, 5, false));
        assert_eq!(up.head_bytes, 69);
    }

    #[test]
    fn what_cannot_be_gets_a_status_and_no_answer() {
        let status = |bytes: &[u8]| parse(bytes).unwrap_err().0;
        assert_eq!(status(b"\x16\x03\x01\x02\x00garbage\r\n\r\n"), 400);
        assert_eq!(status(b"GET /__down?bytes=-1 HTTP/1.1\r\n\r\n"), 400);
        assert_eq!(status(b"GET /__down?bytes=99999999999999999999 HTTP/1.1\r\n\r\n"), 400);
        assert_eq!(status(b"GET /garbage?ckSize=18446744073709551615 HTTP/1.1\r\n\r\n"), 400);
        assert_eq!(status(b"POST /__up HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n"), 411);
        assert_eq!(status(b"POST /__up HTTP/1.1\r\nContent-Length: 1e9\r\n\r\n"), 400);
        assert_eq!(status(b"POST /__up HTTP/1.1\r\nContent-Length: 20000000000\r\n\r\n"), 413);
        let long = [b"GET / HTTP/1.1\r\nX: ".as_slice(), &vec![b'a'; HEAD_BYTES]].concat();
        assert_eq!(status(&long), 431);
        assert_eq!(parse(b"GET /__down HTT").unwrap(), None);
    }
}
