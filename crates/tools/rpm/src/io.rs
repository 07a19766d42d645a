//! A TCP connection, plain or TLS, as the asynchronous stream that the HTTP/2 library reads and writes.
//!
//! Reads are large whatever the reader asks for, and nothing is encrypted that the socket does not take: user space
//! holds back no more than one write. Knows nothing of HTTP.

use crate::exec::{Exec, Source};
use narrows_wire::net::use_cca;
use narrows_wire::sys;
use narrows_wire::transport::{Received, Transport};
use socket2::{Domain, Socket, Type};
use std::cell::Cell;
use std::io::{self, IoSlice};
use std::net::{SocketAddr, TcpStream};
use std::os::fd::{AsRawFd, RawFd};
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// Reads of one connection before the others get their turn.
const MAX_READS_AT_ONCE: u32 = 16;
/// Most bytes gathered into one write.
const GATHER_BYTES: usize = 64 << 10;

pub struct Io {
    transport: Transport,
    source: Rc<Source>,
    exec: Exec,
    plain: Vec<u8>,
    plain_at: usize,
    eof: bool,
    reads: u32,
    gathered: Vec<u8>,
    /// Grows with every byte that goes either way: tells a slow peer from a silent one.
    pub moved: Rc<Cell<u64>>,
}

/// What a socket is given before it connects or listens; accepted sockets inherit it.
pub fn prepare(fd: RawFd, cca: Option<&str>, notsent_bytes: Option<u32>) -> Result<(), String> {
    use_cca(fd, cca)?;
    if let Some(bytes) = notsent_bytes {
        sys::set_notsent_low_water(fd, bytes).map_err(|e| format!("--notsent-lowat {bytes}: {e}"))?;
    }
    Ok(())
}

impl Io {
    /// The socket must not block.
    pub fn new(exec: &Exec, socket: TcpStream, tls: Option<rustls::Connection>) -> io::Result<Io> {
        let source = exec.watch(socket.as_raw_fd())?;
        let mut transport = Transport::new(socket, tls);
        transport.plain_read_bytes = GATHER_BYTES;
        Ok(Io {
            transport,
            source,
            exec: exec.clone(),
            plain: Vec::new(),
            plain_at: 0,
            eof: false,
            reads: 0,
            gathered: Vec::new(),
            moved: Rc::default(),
        })
    }

    /// Connects; returns as soon as the kernel says that the handshake is done.
    pub async fn connect(
        exec: &Exec,
        address: SocketAddr,
        cca: Option<&str>,
        notsent_bytes: Option<u32>,
        tls: Option<rustls::Connection>,
    ) -> Result<Io, String> {
        let failed = |e: io::Error| format!("cannot connect to {address}: {e}");
        let socket = Socket::new(Domain::for_address(address), Type::STREAM, None).map_err(failed)?;
        prepare(socket.as_raw_fd(), cca, notsent_bytes)?;
        socket.set_nonblocking(true).map_err(failed)?;
        socket.set_tcp_nodelay(true).map_err(failed)?;
        match socket.connect(&address.into()) {
            Err(e) if e.raw_os_error() != Some(libc::EINPROGRESS) => return Err(failed(e)),
            _ => {}
        }
        let io = Io::new(exec, socket.into(), tls).map_err(failed)?;
        std::future::poll_fn(|cx| {
            if io.source.writable.get() {
                return Poll::Ready(());
            }
            io.source.wait_writable(cx);
            Poll::Pending
        })
        .await;
        match io.transport.take_error() {
            Ok(None) => Ok(io),
            Ok(Some(e)) | Err(e) => Err(failed(e)),
        }
    }

    /// The TLS handshake, for either side; nothing to do without TLS.
    pub async fn handshake(&mut self) -> io::Result<()> {
        self.transport.start()?;
        std::future::poll_fn(|cx| {
            while self.transport.is_handshaking() {
                if self.eof {
                    return Poll::Ready(Err(io::ErrorKind::UnexpectedEof.into()));
                }
                if self.transport.has_pending() && self.poll_flush_out(cx)?.is_pending() {
                    return Poll::Pending;
                }
                if !self.fill(cx)? {
                    return Poll::Pending;
                }
            }
            self.poll_flush_out(cx)
        })
        .await
    }

    pub fn fd(&self) -> RawFd {
        self.transport.fd()
    }

    pub fn transport(&self) -> &Transport {
        &self.transport
    }

    /// Reads once from the socket into `plain`; false if nothing is there and the reader waits for it.
    fn fill(&mut self, cx: &Context<'_>) -> io::Result<bool> {
        if !self.source.readable.get() {
            self.source.wait_readable(cx);
            self.reads = 0;
            return Ok(false);
        }
        self.reads += 1;
        if self.reads > MAX_READS_AT_ONCE {
            self.reads = 0;
            cx.waker().wake_by_ref();
            return Ok(false);
        }
        if self.plain_at == self.plain.len() {
            self.plain.clear();
            self.plain_at = 0;
        }
        let (transport, plain) = (&mut self.transport, &mut self.plain);
        let received = self.exec.with_scratch(|scratch| transport.read(scratch, plain))?;
        match received {
            Received::Eof => self.eof = true,
            Received::Blocked => self.source.readable.set(false),
            // Emptied: the next byte is a new edge, but an end that was announced already is not.
            Received::Drained if !self.source.closed.get() => self.source.readable.set(false),
            Received::Drained | Received::More => {}
        }
        Ok(true)
    }

    fn poll_flush_out(&mut self, cx: &Context<'_>) -> Poll<io::Result<()>> {
        if self.transport.flush()? {
            return Poll::Ready(Ok(()));
        }
        self.source.writable.set(false);
        self.source.wait_writable(cx);
        Poll::Pending
    }

    fn push(&mut self, cx: &Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        if bytes.is_empty() {
            return Poll::Ready(Ok(0));
        }
        if !self.source.writable.get() {
            self.source.wait_writable(cx);
            return Poll::Pending;
        }
        let taken = self.transport.write(bytes)?;
        self.moved.set(self.moved.get() + taken as u64);
        if self.transport.has_pending() || taken < bytes.len() {
            self.source.writable.set(false);
        }
        if taken == 0 {
            self.source.wait_writable(cx);
            return Poll::Pending;
        }
        Poll::Ready(Ok(taken))
    }
}

impl Drop for Io {
    fn drop(&mut self) {
        self.exec.forget(&self.source);
    }
}

impl AsyncRead for Io {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = &mut *self;
        loop {
            let waiting = &this.plain[this.plain_at..];
            if !waiting.is_empty() {
                let n = waiting.len().min(buffer.remaining());
                buffer.put_slice(&waiting[..n]);
                this.plain_at += n;
                this.moved.set(this.moved.get() + n as u64);
                return Poll::Ready(Ok(()));
            }
            if this.eof {
                return Poll::Ready(Ok(()));
            }
            if !this.fill(cx)? {
                return Poll::Pending;
            }
        }
    }
}

impl AsyncWrite for Io {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.push(cx, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        parts: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let this = &mut *self;
        let mut gathered = std::mem::take(&mut this.gathered);
        gathered.clear();
        for part in parts {
            let room = GATHER_BYTES - gathered.len();
            gathered.extend_from_slice(&part[..part.len().min(room)]);
        }
        let result = this.push(cx, &gathered);
        this.gathered = gathered;
        result
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.poll_flush_out(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, _cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.transport.shutdown_write();
        Poll::Ready(Ok(()))
    }
}
