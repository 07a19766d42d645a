//! Heads of HTTP/1.1 messages: where one ends, and what its headers say. Pure; the rest of a message is its reader's.

use httparse::{Header, Status};

const HEADERS: usize = 64;

/// Why bytes are no head.
#[derive(Debug, PartialEq, Eq)]
pub enum Broken {
    /// As many bytes as were allowed, and no end.
    Endless,
    NotHttp(httparse::Error),
}

/// The request at the start of `bytes`, which `read` is given with the length of its head. `Ok(None)`: more bytes are
/// needed, of at most `most_bytes`.
pub fn request<T>(
    bytes: &[u8],
    most_bytes: usize,
    read: impl FnOnce(&httparse::Request, usize) -> T,
) -> Result<Option<T>, Broken> {
    let mut headers = [httparse::EMPTY_HEADER; HEADERS];
    let mut head = httparse::Request::new(&mut headers);
    let status = head.parse(bytes);
    Ok(length(status, bytes, most_bytes)?.map(|used| read(&head, used)))
}

/// The same of a response.
pub fn response<T>(
    bytes: &[u8],
    most_bytes: usize,
    read: impl FnOnce(&httparse::Response, usize) -> T,
) -> Result<Option<T>, Broken> {
    let mut headers = [httparse::EMPTY_HEADER; HEADERS];
    let mut head = httparse::Response::new(&mut headers);
    let status = head.parse(bytes);
    Ok(length(status, bytes, most_bytes)?.map(|used| read(&head, used)))
}

fn length(status: httparse::Result<usize>, bytes: &[u8], most_bytes: usize) -> Result<Option<usize>, Broken> {
    match status {
        Ok(Status::Complete(used)) => Ok(Some(used)),
        Ok(Status::Partial) if bytes.len() >= most_bytes => Err(Broken::Endless),
        Ok(Status::Partial) => Ok(None),
        Err(e) => Err(Broken::NotHttp(e)),
    }
}

/// The first header of that name, without blanks around it; None too where it is not text.
pub fn header<'a>(headers: &[Header<'a>], name: &str) -> Option<&'a str> {
    let found = headers.iter().find(|h| h.name.eq_ignore_ascii_case(name))?;
    std::str::from_utf8(found.value).ok().map(str::trim)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_head_is_waited_for_as_long_as_it_may_be_and_no_longer() {
        let whole = b"GET /a HTTP/1.1\r\nHost:  b \r\n\r\nbody";
        let read = |bytes: &[u8], most| {
            request(bytes, most, |head, used| (header(head.headers, "hOST").map(str::to_owned), used))
        };
        assert_eq!(read(whole, 100), Ok(Some((Some("b".into()), 30))));
        assert_eq!(read(&whole[..29], 30), Ok(None));
        assert_eq!(read(&whole[..29], 29), Err(Broken::Endless));
        assert!(matches!(read(b"\x16\x03\x01\r\n\r\n", 100), Err(Broken::NotHttp(_))));
        let answered = response(b"HTTP/1.1 204 No Content\r\n\r\n", 100, |head, used| (head.code, used));
        assert_eq!(answered, Ok(Some((Some(204), 27))));
    }
}
