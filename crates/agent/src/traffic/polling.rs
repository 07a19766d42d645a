//! A program that polls: it asks again and again without sleeping, as iperf3 3.12 does from its last interval until the
//! other end answers. In virtual time each look at the clock moves it by a microsecond at most, so that a
//! second of polling is a million system calls and a minute of real time.
//!
//! Such a program is held (SIGSTOP) until a packet comes to its node or leaves it, and for no more than `HOLD_NS`, less
//! at first: what it polls for it still sees at the instant at which it comes, and a time that it waits for it sees
//! at most so much late. Only a program is held that has not slept for a while, not even for a microsecond, in a node that
//! sends nothing but answers (ACKs); one that sends at times it reads off the clock is left alone.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

use serde_json::json;

use crate::actor::Cx;
use crate::error::{During, Result};
use crate::reactor::{Event, IN};
use crate::sample::link;
use crate::sys;

/// Processor time after which it is looked at; in virtual time only reading the clock takes any. The kernel counts it
/// by ticks of 1 ms. Node.js and Go read the clock for milliseconds while they start.
const BUSY_NS: i64 = 10_000_000;
const FIRST_HOLD_NS: i64 = 1_000_000;
const HOLD_NS: i64 = 20_000_000;
/// It may look around for so long between two holds: a few dozen reads of the clock.
const LOOK_NS: i64 = 10_000;
/// Looks during which packets keep coming, after which it is let go.
const LOOKS: u32 = 4;
/// An ACK with its options and an Ethernet header is shorter.
const ANSWER_BYTES: u64 = 100;

/// Kinds of tokens; the owner's own lie below.
const BUSY: u16 = 100;
const PACKET: u16 = 101;
const RESUME: u16 = 102;
const LOOKED: u16 = 103;

#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Counters {
    rx_packets: u64,
    tx_packets: u64,
    tx_bytes: u64,
}

impl Counters {
    fn of_node() -> io::Result<Counters> {
        let mut sum = Counters::default();
        for [rx, tx, _, bytes, _, _] in link::interfaces()?.into_iter().filter_map(|i| i.counters) {
            sum.rx_packets += rx;
            sum.tx_packets += tx;
            sum.tx_bytes += bytes;
        }
        Ok(sum)
    }

    /// Whether what was sent since can be nothing but answers to what came, and `more` that the kernel sent again.
    fn only_answered(&self, now: &Counters, more: u64) -> bool {
        let sent = now.tx_packets - self.tx_packets;
        sent <= now.rx_packets - self.rx_packets + more && now.tx_bytes - self.tx_bytes <= sent * ANSWER_BYTES
    }
}

enum State {
    Free,
    Held,
    /// Let go to look around, so often so far.
    Looking {
        looks: u32,
    },
}

pub struct Polling {
    item: String,
    pid: i32,
    node: String,
    timer: libc::timer_t,
    eventfd: OwnedFd,
    /// Hears every packet of the node while the program is held. Made once: to close one the kernel waits for all who might read it.
    packets: Option<OwnedFd>,
    state: State,
    /// When it was last seen busy, and what its node had sent and received by then.
    seen: Option<(i64, Counters)>,
    /// How often it had slept by then.
    slept: Option<u64>,
    base: Counters,
    hold_ns: i64,
    /// Timers of an earlier state are none of this one's.
    generation: usize,
    pub since_ns: Option<i64>,
}

extern "C" fn on_busy(_: libc::c_int, info: *mut libc::siginfo_t, _: *mut libc::c_void) {
    let one = 1u64;
    // SAFETY: write(2) may be called in a signal handler; the value is the descriptor that the timer was given, and
    // a closed one only fails.
    unsafe {
        let fd = (*info).si_value().sival_ptr as usize as i32;
        libc::write(fd, &one as *const u64 as *const libc::c_void, 8);
    }
}

fn install_handler() -> i32 {
    let signal = libc::SIGRTMIN() + 4;
    // SAFETY: the handler only calls write(2). SA_RESTART: nothing else shall notice.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = on_busy as extern "C" fn(libc::c_int, *mut libc::siginfo_t, *mut libc::c_void)
            as libc::sighandler_t;
        action.sa_flags = libc::SA_SIGINFO | libc::SA_RESTART;
        libc::sigaction(signal, &action, std::ptr::null_mut());
    }
    signal
}

/// A timer that goes off whenever the process has had `BUSY_NS` of a processor.
fn busy_timer(clock: libc::clockid_t, eventfd: &OwnedFd) -> io::Result<libc::timer_t> {
    // SAFETY: all structures live through the calls; the timer is deleted by Drop.
    unsafe {
        let mut event: libc::sigevent = std::mem::zeroed();
        event.sigev_notify = libc::SIGEV_SIGNAL;
        event.sigev_signo = install_handler();
        event.sigev_value.sival_ptr = eventfd.as_raw_fd() as usize as *mut libc::c_void;
        let mut timer: libc::timer_t = std::mem::zeroed();
        sys::cvt(libc::timer_create(clock, &mut event, &mut timer))?;
        let spec = libc::itimerspec { it_interval: sys::timespec(BUSY_NS), it_value: sys::timespec(BUSY_NS) };
        sys::cvt(libc::timer_settime(timer, 0, &spec, std::ptr::null_mut()))?;
        Ok(timer)
    }
}

impl Polling {
    /// Begins to watch a program that was just started in `node`.
    pub fn watch(cx: &mut Cx, item: &str, pid: i32, node: &str) -> Result<Polling> {
        // As clock_getcpuclockid(3) makes it: the processor time of all threads of the process.
        let clock = (!pid) << 3 | 2;
        let what = || format!("watching the processor time of process {pid}");
        // SAFETY: plain system call; the result is owned here.
        let eventfd = unsafe {
            let fd = sys::cvt(libc::eventfd(0, libc::EFD_CLOEXEC | libc::EFD_NONBLOCK)).during(what)?;
            OwnedFd::from_raw_fd(fd)
        };
        let timer = busy_timer(clock, &eventfd).during(what)?;
        cx.reactor.watch(eventfd.as_raw_fd(), IN, cx.token(BUSY, 0)).during(what)?;
        Ok(Polling {
            item: item.to_string(),
            pid,
            node: node.to_string(),
            timer,
            eventfd,
            packets: None,
            state: State::Free,
            seen: None,
            slept: None,
            base: Counters::default(),
            hold_ns: FIRST_HOLD_NS,
            generation: 0,
            since_ns: None,
        })
    }

    /// Whether its first thread would go on if it could, instead of sleeping.
    fn is_runnable(&self) -> bool {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.pid)).unwrap_or_default();
        stat.rsplit_once(") ").is_some_and(|(_, rest)| rest.starts_with('R'))
    }

    /// How often its first thread has gone to sleep. To be stopped counts too.
    fn times_slept(&self) -> Option<u64> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.pid)).ok()?;
        let (_, rest) = status.split_once("\nvoluntary_ctxt_switches:")?;
        rest.lines().next()?.trim().parse().ok()
    }

    /// Whether the event was one of these.
    pub fn event(&mut self, cx: &mut Cx, event: Event) -> Result<bool> {
        match event {
            Event::Io(t, _) if t.kind == BUSY => {
                let mut count = [0u8; 8];
                // SAFETY: count is writable for its length.
                unsafe { libc::read(self.eventfd.as_raw_fd(), count.as_mut_ptr().cast(), 8) };
                self.busy(cx)?;
            }
            Event::Io(t, _) if t.kind == PACKET => self.resume(cx),
            Event::Timer(t) if t.kind == RESUME && t.index as usize == self.generation => self.resume(cx),
            Event::Timer(t) if t.kind == LOOKED && t.index as usize == self.generation => self.looked(cx)?,
            Event::Io(t, _) | Event::Timer(t) => return Ok(t.kind >= BUSY),
        }
        Ok(true)
    }

    fn counters(&self, cx: &Cx) -> Result<Counters> {
        cx.nodes.enter(&self.node)?;
        Counters::of_node().during(|| format!("counting the packets of node {}", self.node))
    }

    fn busy(&mut self, cx: &mut Cx) -> Result<()> {
        if !matches!(self.state, State::Free) {
            return Ok(());
        }
        let (now, counters) = (cx.reactor.now, self.counters(cx)?);
        let slept = self.times_slept();
        let has_slept = std::mem::replace(&mut self.slept, slept) != slept;
        let before = self.seen.replace((now, counters));
        match before {
            Some((then, had))
                if now - then < 2 * BUSY_NS && !has_slept && had.only_answered(&counters, 0) =>
            {
                self.base = counters;
                self.hold(cx)
            }
            _ => Ok(()),
        }
    }

    fn hold(&mut self, cx: &mut Cx) -> Result<()> {
        if self.since_ns.is_none() {
            self.since_ns = Some(cx.reactor.now);
            let more = json!({"pid": self.pid});
            cx.log.event(cx.reactor.now, "polls", Some(&self.item), more);
        }
        self.listen(cx).during(|| format!("waiting for packets of node {}", self.node))?;
        self.schedule_as(libc::SCHED_IDLE);
        let _ = sys::kill(self.pid, libc::SIGSTOP);
        self.state = State::Held;
        self.generation += 1;
        cx.reactor.at(cx.reactor.now + self.hold_ns, cx.token(RESUME, self.generation));
        self.hold_ns = HOLD_NS.min(2 * self.hold_ns);
        Ok(())
    }

    /// Idle: then the agent need not wait for a tick to end its look around.
    fn schedule_as(&self, policy: i32) {
        // SAFETY: plain system call on a local struct. A program that has just ended is none to schedule.
        unsafe {
            let parameter: libc::sched_param = std::mem::zeroed();
            libc::syscall(libc::SYS_sched_setscheduler, self.pid, policy, &parameter);
        }
    }

    fn let_go(&mut self) {
        self.release();
        self.since_ns = None;
        self.schedule_as(libc::SCHED_OTHER);
        self.hold_ns = FIRST_HOLD_NS;
    }

    fn listen(&mut self, cx: &mut Cx) -> io::Result<()> {
        let packets = match self.packets.take() {
            Some(packets) => packets,
            None => {
                cx.nodes.enter(&self.node).map_err(|e| io::Error::other(e.line()))?;
                let protocol = (libc::ETH_P_ALL as u16).to_be() as i32;
                let made = sys::socket(libc::AF_PACKET, libc::SOCK_DGRAM, protocol)?;
                cx.reactor.watch(made.as_raw_fd(), IN, cx.token(PACKET, 0))?;
                made
            }
        };
        self.forget_packets(&packets);
        let heard = sys::keep_bytes(packets.as_raw_fd(), 1);
        self.packets = Some(packets);
        heard
    }

    fn forget_packets(&self, packets: &OwnedFd) {
        let mut byte = [0u8; 1];
        // SAFETY: byte is writable for its length.
        while unsafe { libc::recv(packets.as_raw_fd(), byte.as_mut_ptr().cast(), 1, libc::MSG_DONTWAIT) } >= 0
        {
        }
    }

    fn release(&mut self) {
        if let Some(packets) = &self.packets {
            let _ = sys::keep_bytes(packets.as_raw_fd(), 0);
            self.forget_packets(packets);
        }
        if matches!(std::mem::replace(&mut self.state, State::Free), State::Held) {
            let _ = sys::kill(self.pid, libc::SIGCONT);
        }
        self.generation += 1;
        self.seen = None;
    }

    fn resume(&mut self, cx: &mut Cx) {
        if matches!(self.state, State::Held) {
            self.release();
            self.look(cx, 0);
        }
    }

    fn look(&mut self, cx: &mut Cx, looks: u32) {
        self.state = State::Looking { looks };
        cx.reactor.at(cx.reactor.now + LOOK_NS, cx.token(LOOKED, self.generation));
    }

    /// It had its look around: does it still poll?
    fn looked(&mut self, cx: &mut Cx) -> Result<()> {
        let State::Looking { looks } = self.state else {
            return Ok(());
        };
        let counters = self.counters(cx)?;
        if !self.is_runnable() || !self.base.only_answered(&counters, 1) {
            self.let_go();
            return Ok(());
        }
        let still = counters == self.base || looks > 0 && self.seen.is_some_and(|(_, had)| had == counters);
        if still {
            self.base = counters;
            return self.hold(cx);
        }
        if looks + 1 == LOOKS {
            self.let_go();
            return Ok(());
        }
        // A packet has come: time to read and to answer it, then another look.
        self.seen = Some((cx.reactor.now, counters));
        self.look(cx, looks + 1);
        Ok(())
    }

    /// The program has ended, or is to: it is not held any more.
    pub fn end(mut self, cx: &mut Cx) {
        self.let_go();
        let watched = [Some(&self.eventfd), self.packets.as_ref()];
        for fd in watched.into_iter().flatten() {
            cx.reactor.unwatch(fd.as_raw_fd());
        }
    }
}

impl Drop for Polling {
    fn drop(&mut self) {
        // SAFETY: the timer was made by `busy_timer` and is deleted once.
        unsafe { libc::timer_delete(self.timer) };
    }
}

#[cfg(test)]
mod tests {
    use super::Counters;

    fn after(rx_packets: u64, tx_packets: u64, tx_bytes: u64, more: u64) -> bool {
        let had = Counters { rx_packets: 10, tx_packets: 20, tx_bytes: 3000 };
        let now =
            Counters { rx_packets: 10 + rx_packets, tx_packets: 20 + tx_packets, tx_bytes: 3000 + tx_bytes };
        had.only_answered(&now, more)
    }

    #[test]
    fn acknowledgements_are_answers_and_data_or_packets_of_its_own_are_not() {
        assert!(after(0, 0, 0, 0));
        assert!(after(5, 0, 0, 0));
        assert!(after(4, 2, 2 * 66, 0));
        assert!(!after(0, 1, 66, 0), "nothing came that it could answer");
        assert!(after(0, 1, 67, 1), "sent again");
        assert!(!after(4, 2, 2 * 1514, 0), "data");
    }
}
