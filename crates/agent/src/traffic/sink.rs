//! Takes and discards what many TCP sockets have received, with a handful of system calls for all of them.
//!
//! In a guest a system call costs as much as several packets' way through the kernel. So a socket whose data
//! comes often is "busy": it is read at the owner's ticks, all busy sockets by one io_uring call (where a host
//! forbids io_uring: by recv), and wakes nobody between.
//!
//! TCP must not notice. A receiver that reads late holds back acknowledgements, for with data unread the
//! window's edge stands still (__tcp_ack_snd_check); unless there is less unread than SO_RCVLOWAT. So a busy
//! socket's mark is a quarter of its receive buffer, which never makes that grow (tcp_set_rcvlowat), and when
//! more comes before the tick it is read at once. And while receive buffers still grow with the flow
//! (tcp_rcv_space_adjust counts what has been read), ticks are to be short. Measured: of 100 Reno flows starting
//! at once into a FIFO of 16000 packets, the queue drops 17780–17810 packets with a receiver that reads each
//! packet, 17741–18325 with this one (seven starts and delays; 17796 and 17796 with large fixed buffers); with
//! long ticks from the start 15000–19700, and without the mark 18300–23900.

use std::collections::HashMap;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};

use io_uring::{opcode, types, IoUring};

use crate::reactor::IN;
use crate::sys;

/// As much as one call may move; the socket's buffers are the real bound.
const WHOLE: u32 = 1 << 30;
const BATCH: usize = 256;
/// MSG_TRUNC: TCP discards and never touches the buffer (tcp_recvmsg_locked), which therefore is null (the
/// kernel checks that address and length lie within user space).
const DISCARD: i32 = libc::MSG_TRUNC | libc::MSG_DONTWAIT;

/// A socket is busy after this many wake-ups with less than BUSY_GAP_NS between, times the number of sockets
/// up to BUSY_SOCKETS, for ticks are shared and wake-ups are not; and no longer when nothing has come for
/// QUIET_NS: longer than a round trip, for a flow's packets may come in one bunch per round trip.
const BUSY_AFTER: u32 = 4;
const BUSY_GAP_NS: i64 = 2_000_000;
const BUSY_SOCKETS: i64 = 50;
const QUIET_NS: i64 = 500_000_000;

/// Between ticks while buffers grow.
const SHORT_INTERVAL_NS: i64 = 250_000;
/// A buffer has grown when it is larger by a quarter; all have settled when none has for this long.
const SETTLED_NS: i64 = 500_000_000;
/// A buffer that is this large from the start was set by hand and need not grow.
const SETTLED_BUFFER: i32 = 4 << 20;
const CHECK_GROWING_NS: i64 = 30_000_000;
const CHECK_SETTLED_NS: i64 = 200_000_000;

pub struct Sink {
    epoll: OwnedFd,
    ring: Option<IoUring>,
    raw: Vec<libc::epoll_event>,
    sockets: Vec<Socket>,
    by_fd: HashMap<RawFd, usize>,
    /// Positions in `sockets`.
    busy: Vec<usize>,
    batch: Vec<usize>,
    results: Vec<i32>,
    /// When a buffer last grew.
    grew_ns: i64,
}

struct Socket {
    fd: RawFd,
    index: usize,
    /// SO_RCVLOWAT, above 1 when busy.
    mark: i32,
    woken: u32,
    /// When something last came.
    last_ns: i64,
    /// SO_RCVBUF as last seen, and when.
    buffer: i32,
    checked_ns: i64,
}

/// What was read from socket `index`: bytes, 0 at the end of the stream, or an error number below zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Taken {
    pub index: usize,
    pub result: i32,
}

impl Sink {
    pub fn new() -> io::Result<Sink> {
        // SAFETY: plain system call; the result is owned here.
        let epoll = unsafe { OwnedFd::from_raw_fd(sys::cvt(libc::epoll_create1(libc::EPOLL_CLOEXEC))?) };
        let ring = IoUring::builder().setup_single_issuer().setup_defer_taskrun().build(BATCH as u32).ok();
        Ok(Sink {
            epoll,
            ring,
            raw: Vec::with_capacity(BATCH),
            sockets: Vec::new(),
            by_fd: HashMap::new(),
            busy: Vec::new(),
            batch: Vec::new(),
            results: vec![0; BATCH],
            grew_ns: i64::MIN / 2,
        })
    }

    /// Readable when `ready` has something to do.
    pub fn fd(&self) -> RawFd {
        self.epoll.as_raw_fd()
    }

    /// How long after this tick the next one is due; None: only when there is something ready.
    pub fn next_tick_ns(&self, now: i64, longest_ns: i64) -> Option<i64> {
        let growing = now - self.grew_ns < SETTLED_NS;
        let interval_ns = if growing { SHORT_INTERVAL_NS.min(longest_ns) } else { longest_ns };
        (!self.busy.is_empty()).then_some(interval_ns)
    }

    pub fn add(&mut self, fd: RawFd, index: usize) -> io::Result<()> {
        let position = self.sockets.len();
        let mut ev = libc::epoll_event { events: IN, u64: position as u64 };
        // SAFETY: ev lives through the call.
        sys::cvt(unsafe { libc::epoll_ctl(self.fd(), libc::EPOLL_CTL_ADD, fd, &mut ev) })?;
        self.sockets.push(Socket {
            fd,
            index,
            mark: 1,
            woken: 0,
            last_ns: i64::MIN / 2,
            buffer: 0,
            checked_ns: i64::MIN / 2,
        });
        self.by_fd.insert(fd, position);
        Ok(())
    }

    /// Before a socket is closed.
    pub fn remove(&mut self, fd: RawFd) {
        if let Some(position) = self.by_fd.remove(&fd) {
            self.busy.retain(|p| *p != position);
            // SAFETY: plain system call; the event is not looked at.
            unsafe { libc::epoll_ctl(self.fd(), libc::EPOLL_CTL_DEL, fd, std::ptr::null_mut()) };
        }
    }

    /// Reads, once, the sockets that have reached their mark.
    pub fn ready(&mut self, now: i64, out: &mut Vec<Taken>) -> io::Result<()> {
        out.clear();
        // SAFETY: raw has room for its capacity; the kernel tells how many it wrote.
        unsafe {
            let n = sys::cvt(libc::epoll_wait(self.fd(), self.raw.as_mut_ptr(), BATCH as i32, 0))?;
            self.raw.set_len(n as usize);
        }
        self.batch.clear();
        self.batch.extend(self.raw.iter().map(|ev| ev.u64 as usize));
        self.read(out)?;
        let busy_gap_ns = BUSY_GAP_NS * (self.sockets.len() as i64).clamp(1, BUSY_SOCKETS);
        for (i, taken) in out.iter().enumerate() {
            let position = self.batch[i];
            let s = &mut self.sockets[position];
            s.woken = if now - s.last_ns < busy_gap_ns { s.woken + 1 } else { 1 };
            s.last_ns = now;
            if s.mark == 1 && s.woken >= BUSY_AFTER && taken.result > 0 {
                self.check_buffer(position, now)?;
                self.busy.push(position);
            }
        }
        Ok(())
    }

    /// Reads all busy sockets.
    pub fn tick(&mut self, now: i64, out: &mut Vec<Taken>) -> io::Result<()> {
        out.clear();
        let check_ns = if now - self.grew_ns < SETTLED_NS { CHECK_GROWING_NS } else { CHECK_SETTLED_NS };
        let busy = std::mem::take(&mut self.busy);
        for some in busy.chunks(BATCH) {
            self.batch.clear();
            self.batch.extend(some);
            let first = out.len();
            self.read(out)?;
            for (&position, taken) in some.iter().zip(&out[first..]) {
                let s = &mut self.sockets[position];
                if taken.result > 0 {
                    s.last_ns = now;
                    if s.buffer < SETTLED_BUFFER && now - s.checked_ns >= check_ns {
                        self.check_buffer(position, now)?;
                    }
                } else if now - s.last_ns >= QUIET_NS {
                    s.woken = 0;
                    self.set_mark(position, 1)?;
                }
            }
        }
        self.busy = busy;
        let sockets = &self.sockets;
        self.busy.retain(|p| sockets[*p].mark > 1);
        Ok(())
    }

    /// Looks at a busy socket's buffer and sets its mark to a quarter of it.
    fn check_buffer(&mut self, position: usize, now: i64) -> io::Result<()> {
        let s = &mut self.sockets[position];
        let buffer = sys::getsockopt_i32(s.fd, libc::SOL_SOCKET, libc::SO_RCVBUF)?;
        s.checked_ns = now;
        if s.mark > 1 && buffer <= s.buffer + s.buffer / 4 {
            return Ok(());
        }
        if buffer < SETTLED_BUFFER {
            self.grew_ns = now;
        }
        s.buffer = buffer;
        self.set_mark(position, buffer / 4)
    }

    fn set_mark(&mut self, position: usize, mark: i32) -> io::Result<()> {
        let s = &mut self.sockets[position];
        sys::setsockopt(s.fd, libc::SOL_SOCKET, libc::SO_RCVLOWAT, &mark)?;
        s.mark = mark;
        Ok(())
    }

    /// One read for each of `batch`, appended to `out`.
    fn read(&mut self, out: &mut Vec<Taken>) -> io::Result<()> {
        let Some(ring) = &mut self.ring else {
            for position in &self.batch {
                let s = &self.sockets[*position];
                out.push(Taken { index: s.index, result: discard(s.fd) });
            }
            return Ok(());
        };
        if self.batch.is_empty() {
            return Ok(());
        }
        for (i, position) in self.batch.iter().enumerate() {
            let fd = types::Fd(self.sockets[*position].fd);
            let entry = opcode::Recv::new(fd, std::ptr::null_mut(), WHOLE).flags(DISCARD);
            // SAFETY: the entry names no memory; the queue has room for a batch and is empty.
            unsafe { ring.submission().push(&entry.build().user_data(i as u64)) }
                .map_err(io::Error::other)?;
        }
        let mut left = self.batch.len();
        ring.submit_and_wait(left)?;
        for done in ring.completion() {
            self.results[done.user_data() as usize] = done.result();
            left -= 1;
        }
        if left > 0 {
            return Err(io::Error::other("io_uring did not complete every read"));
        }
        for (position, result) in self.batch.iter().zip(&self.results) {
            out.push(Taken { index: self.sockets[*position].index, result: *result });
        }
        Ok(())
    }
}

/// One read as the ring does it: bytes or a negative error number.
pub fn discard(socket: RawFd) -> i32 {
    // SAFETY: see DISCARD.
    let got = unsafe { libc::recv(socket, std::ptr::null_mut(), WHOLE as usize, DISCARD) };
    match sys::cvt_len(got) {
        Ok(n) => n as i32,
        Err(e) => -e.raw_os_error().unwrap_or(libc::EIO),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::net::{TcpListener, TcpStream};

    fn pair() -> (TcpStream, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let a = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        (a, listener.accept().unwrap().0)
    }

    /// As the owner does it: when there is something, and at ticks.
    fn turn(sink: &mut Sink, now: i64) -> Vec<Taken> {
        let (mut all, mut some) = (vec![], vec![]);
        sink.ready(now, &mut some).unwrap();
        all.append(&mut some);
        sink.tick(now, &mut some).unwrap();
        all.append(&mut some);
        all
    }

    #[test]
    fn every_byte_is_counted_up_to_the_end_with_and_without_io_uring() {
        for with_ring in [true, false] {
            let (mut a, b) = pair();
            let mut sink = Sink::new().unwrap();
            if !with_ring {
                sink.ring = None;
            }
            sink.add(b.as_raw_fd(), 7).unwrap();
            let mut taken = vec![];
            for now in 0..20 {
                a.write_all(&[1; 10_000]).unwrap();
                taken.extend(turn(&mut sink, now));
            }
            assert!(sink.next_tick_ns(20, 1).is_some(), "a socket with data at every turn becomes busy");
            drop(a);
            while taken.last().is_none_or(|t| t.result != 0) {
                taken.extend(turn(&mut sink, 20));
            }
            assert!(taken.iter().all(|t| t.index == 7));
            assert_eq!(taken.iter().map(|t| t.result.max(0)).sum::<i32>(), 200_000);
        }
    }

    #[test]
    fn a_busy_socket_that_falls_silent_is_read_at_its_first_byte_again() {
        let (mut a, b) = pair();
        let mut sink = Sink::new().unwrap();
        sink.add(b.as_raw_fd(), 0).unwrap();
        for now in 0..10 {
            a.write_all(&[1; 10_000]).unwrap();
            turn(&mut sink, now);
        }
        assert!(sink.next_tick_ns(10, 1).is_some());
        while turn(&mut sink, 10).iter().any(|t| t.result > 0) {}
        turn(&mut sink, 10 + QUIET_NS);
        assert!(sink.next_tick_ns(10 + QUIET_NS, 1).is_none());
        a.write_all(&[1]).unwrap();
        let mut out = vec![];
        while out.is_empty() {
            sink.ready(11 + QUIET_NS, &mut out).unwrap();
        }
        assert_eq!(out, [Taken { index: 0, result: 1 }]);
    }

    #[test]
    fn a_mark_never_makes_the_receive_buffer_grow() {
        let (mut a, b) = pair();
        let mut sink = Sink::new().unwrap();
        sink.add(b.as_raw_fd(), 0).unwrap();
        let buffer = || sys::getsockopt_i32(b.as_raw_fd(), libc::SOL_SOCKET, libc::SO_RCVBUF).unwrap();
        for now in 0..50 {
            a.write_all(&[1; 30_000]).unwrap();
            turn(&mut sink, now * CHECK_GROWING_NS);
            assert!(sink.sockets[0].mark == 1 || sink.sockets[0].mark <= buffer() / 4);
        }
    }
}
