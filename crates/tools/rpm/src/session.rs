//! HTTP/2 over one connection: the settings of both sides, requests, and endless bodies. Measures nothing.

use crate::exec::Exec;
use crate::io::Io;
use bytes::Bytes;
use h2::client::SendRequest;
use h2::{RecvStream, SendStream};
use http::{Method, Request, Response, Uri};
use narrows_wire::program::USER_AGENT;
use std::cell::{Cell, RefCell};
use std::os::fd::RawFd;
use std::rc::Rc;

/// What one stream may have in flight: far above the bandwidth-delay products of interest, so that TCP limits.
const STREAM_WINDOW_BYTES: u32 = 32 << 20;
const CONNECTION_WINDOW_BYTES: u32 = 64 << 20;
/// Body that a stream holds ready: what is behind it on the connection waits no longer than that.
const BULK_CHUNK_BYTES: usize = 16 << 10;
const MAX_HEADER_BYTES: u32 = 16 << 10;
const MAX_STREAMS: u32 = 256;

pub fn server_builder() -> h2::server::Builder {
    let mut builder = h2::server::Builder::new();
    builder
        .initial_window_size(STREAM_WINDOW_BYTES)
        .initial_connection_window_size(CONNECTION_WINDOW_BYTES)
        .max_concurrent_streams(MAX_STREAMS)
        .max_header_list_size(MAX_HEADER_BYTES)
        .max_send_buffer_size(BULK_CHUNK_BYTES);
    builder
}

/// Sends so many zeros, as fast as the connection takes them. An end that the peer asks for is an end.
pub async fn zeros(mut stream: SendStream<Bytes>, total_bytes: u64) -> Result<(), h2::Error> {
    static CHUNK: [u8; BULK_CHUNK_BYTES] = [0; BULK_CHUNK_BYTES];
    let chunk = Bytes::from_static(&CHUNK);
    let mut left = total_bytes;
    while left > 0 {
        stream.reserve_capacity(BULK_CHUNK_BYTES);
        let Some(room) = std::future::poll_fn(|cx| stream.poll_capacity(cx)).await else {
            return Ok(());
        };
        let bytes = room?.min(BULK_CHUNK_BYTES).min(left.min(1 << 30) as usize);
        left -= bytes as u64;
        stream.send_data(chunk.slice(..bytes), left == 0)?;
    }
    Ok(())
}

/// A client's connection. Dropping it closes the connection.
pub struct Session {
    exec: Exec,
    driver: u64,
    send: SendRequest<Bytes>,
    fd: RawFd,
    state: Rc<State>,
}

#[derive(Default)]
struct State {
    ended: Cell<bool>,
    error: RefCell<Option<String>>,
}

impl Drop for Session {
    fn drop(&mut self) {
        self.exec.abort(self.driver);
    }
}

impl Session {
    /// `io` has its TLS handshake behind it.
    pub async fn start(exec: &Exec, io: Io) -> Result<Session, String> {
        if io.transport().is_tls() && io.transport().alpn() != Some(b"h2") {
            return Err("the server does not speak HTTP/2 (ALPN)".into());
        }
        let fd = io.fd();
        let mut builder = h2::client::Builder::new();
        builder
            .enable_push(false)
            .initial_window_size(STREAM_WINDOW_BYTES)
            .initial_connection_window_size(CONNECTION_WINDOW_BYTES)
            .max_header_list_size(MAX_HEADER_BYTES)
            .max_send_buffer_size(BULK_CHUNK_BYTES);
        let (send, connection) = builder.handshake::<_, Bytes>(io).await.map_err(|e| e.to_string())?;
        let state = Rc::new(State::default());
        let told = state.clone();
        let driver = exec.spawn(async move {
            let result = connection.await;
            told.ended.set(true);
            *told.error.borrow_mut() = Some(match result {
                Ok(()) => "the server closed the connection".into(),
                Err(e) => e.to_string(),
            });
        });
        Ok(Session { exec: exec.clone(), driver, send, fd, state })
    }

    /// The socket, as long as it is open.
    pub fn fd(&self) -> Option<RawFd> {
        (!self.state.ended.get()).then_some(self.fd)
    }

    /// Why the connection ended, if it has.
    pub fn error(&self) -> Option<String> {
        self.state.error.borrow().clone()
    }

    /// A handle for requests that does not keep the connection open.
    pub fn requests(&self) -> Requests {
        Requests(self.send.clone())
    }
}

#[derive(Clone)]
pub struct Requests(SendRequest<Bytes>);

fn request(method: Method, uri: &Uri, bulk: bool) -> Request<()> {
    let mut request = Request::new(());
    *request.method_mut() = method;
    *request.uri_mut() = uri.clone();
    let headers = request.headers_mut();
    headers.insert(http::header::USER_AGENT, http::HeaderValue::from_static(USER_AGENT));
    if bulk {
        let binary = http::HeaderValue::from_static("application/octet-stream");
        headers.insert(http::header::CONTENT_TYPE, binary);
    }
    request
}

fn check(response: Response<RecvStream>, uri: &Uri) -> Result<RecvStream, String> {
    if response.status() != http::StatusCode::OK {
        return Err(format!("{uri}: the server answered {}", response.status()));
    }
    Ok(response.into_body())
}

impl Requests {
    /// GET; the body is still to come.
    pub async fn get(&self, uri: &Uri) -> Result<RecvStream, String> {
        let text = |e: h2::Error| format!("{uri}: {e}");
        let mut send = self.0.clone().ready().await.map_err(text)?;
        let (response, _) = send.send_request(request(Method::GET, uri, false), true).map_err(text)?;
        check(response.await.map_err(text)?, uri)
    }

    /// GET of something small, whole.
    pub async fn fetch(&self, uri: &Uri, most_bytes: usize) -> Result<Vec<u8>, String> {
        let mut body = self.get(uri).await?;
        let mut whole = vec![];
        while let Some(chunk) = body.data().await {
            let chunk = chunk.map_err(|e| format!("{uri}: {e}"))?;
            if whole.len() + chunk.len() > most_bytes {
                return Err(format!("{uri}: longer than {most_bytes} bytes"));
            }
            whole.extend_from_slice(&chunk);
            let _ = body.flow_control().release_capacity(chunk.len());
        }
        Ok(whole)
    }

    /// GET without an end: `received` is told of each piece.
    pub async fn download(&self, uri: &Uri, received: impl Fn(usize)) -> Result<(), String> {
        let text = |e: h2::Error| format!("{uri}: {e}");
        let mut body = self.get(uri).await?;
        while let Some(chunk) = body.data().await {
            let bytes = chunk.map_err(text)?.len();
            received(bytes);
            body.flow_control().release_capacity(bytes).map_err(text)?;
        }
        Ok(())
    }

    /// POST without an end.
    pub async fn upload(&self, uri: &Uri) -> Result<(), String> {
        let text = |e: h2::Error| format!("{uri}: {e}");
        let mut send = self.0.clone().ready().await.map_err(text)?;
        let (response, stream) = send.send_request(request(Method::POST, uri, true), false).map_err(text)?;
        zeros(stream, u64::MAX).await.map_err(text)?;
        check(response.await.map_err(text)?, uri).map(|_| ())
    }
}
