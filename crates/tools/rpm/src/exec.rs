//! Runs futures in one thread that sleeps in one epoll: tasks, timers, and sockets that say when they are ready.
//!
//! Written for virtual time: sockets are registered once, edge-triggered, so that waiting costs one system call; the
//! clock is read only when a timer goes off; nothing spins. Knows nothing of TLS or HTTP.

use narrows_wire::sys::{self, Epoll, Interest, Ready, Timer};
use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::future::Future;
use std::io;
use std::os::fd::{AsRawFd, RawFd};
use std::pin::Pin;
use std::rc::Rc;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Wake, Waker};

const TIMER: u64 = 0;
const FIRST_SOURCE: u64 = 1;
const SCRATCH_BYTES: usize = 256 << 10;
/// Tasks polled before timers and sockets are looked at again.
const MAX_POLLS_AT_ONCE: u32 = 1000;

type Task = Pin<Box<dyn Future<Output = ()>>>;
type Queue = Arc<Mutex<VecDeque<u64>>>;

/// A handle; all of one thread's handles are the same executor.
#[derive(Clone)]
pub struct Exec(Rc<Inner>);

struct Inner {
    epoll: Epoll,
    timer: Timer,
    /// What the timer is set to; unknown once it went off.
    timer_at_ns: Cell<Option<Option<u64>>>,
    tasks: RefCell<HashMap<u64, Task>>,
    running: Cell<u64>,
    ended_early: RefCell<HashSet<u64>>,
    queue: Queue,
    next_task: Cell<u64>,
    timers: RefCell<BTreeMap<(u64, u64), Waker>>,
    sources: RefCell<HashMap<u64, Rc<Source>>>,
    next_source: Cell<u64>,
    coalesce_ns: u64,
    scratch: RefCell<Vec<u8>>,
}

struct TaskWaker {
    id: u64,
    queue: Queue,
}

impl Wake for TaskWaker {
    fn wake(self: Arc<Self>) {
        push(&self.queue, self.id);
    }
}

fn push(queue: &Queue, id: u64) {
    let mut queue = queue.lock().unwrap_or_else(PoisonError::into_inner);
    if !queue.contains(&id) {
        queue.push_back(id);
    }
}

/// What is known of one socket's readiness, and who waits for it.
#[derive(Default)]
pub struct Source {
    token: u64,
    pub readable: Cell<bool>,
    pub writable: Cell<bool>,
    /// The peer is done, or the socket failed: reading will say which.
    pub closed: Cell<bool>,
    reader: RefCell<Option<Waker>>,
    writer: RefCell<Option<Waker>>,
}

impl Source {
    pub fn wait_readable(&self, cx: &Context<'_>) {
        *self.reader.borrow_mut() = Some(cx.waker().clone());
    }

    pub fn wait_writable(&self, cx: &Context<'_>) {
        *self.writer.borrow_mut() = Some(cx.waker().clone());
    }

    fn wake(&self, ready: Ready) {
        self.closed.set(self.closed.get() || ready.closed);
        if ready.read {
            self.readable.set(true);
            if let Some(waker) = self.reader.borrow_mut().take() {
                waker.wake();
            }
        }
        if ready.write {
            self.writable.set(true);
            if let Some(waker) = self.writer.borrow_mut().take() {
                waker.wake();
            }
        }
    }
}

/// Sleeps until a time of CLOCK_MONOTONIC.
pub struct Sleep {
    exec: Exec,
    key: (u64, u64),
    started: bool,
}

impl Future for Sleep {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let mut timers = self.exec.0.timers.borrow_mut();
        // Gone from the map: it went off.
        if self.started && !timers.contains_key(&self.key) {
            return Poll::Ready(());
        }
        timers.insert(self.key, cx.waker().clone());
        drop(timers);
        self.started = true;
        Poll::Pending
    }
}

impl Drop for Sleep {
    fn drop(&mut self) {
        self.exec.0.timers.borrow_mut().remove(&self.key);
    }
}

/// The deadline came first.
#[derive(Debug, PartialEq, Eq)]
pub struct TimedOut;

impl Exec {
    /// With `coalesce_ns` above 0, sockets are looked at no more often than that: events are up to that much late.
    pub fn new(coalesce_ns: u64) -> io::Result<Exec> {
        let (epoll, timer) = (Epoll::new()?, Timer::new()?);
        let read = Interest { read: true, write: false };
        epoll.add(timer.as_raw_fd(), TIMER, read)?;
        Ok(Exec(Rc::new(Inner {
            epoll,
            timer,
            timer_at_ns: Cell::new(None),
            tasks: RefCell::default(),
            running: Cell::new(0),
            ended_early: RefCell::default(),
            queue: Queue::default(),
            next_task: Cell::new(1),
            timers: RefCell::default(),
            sources: RefCell::default(),
            next_source: Cell::new(FIRST_SOURCE),
            coalesce_ns,
            scratch: RefCell::new(vec![0; SCRATCH_BYTES]),
        })))
    }

    /// Starts a task; gives its number.
    pub fn spawn(&self, task: impl Future<Output = ()> + 'static) -> u64 {
        let id = self.0.next_task.replace(self.0.next_task.get() + 1);
        self.0.tasks.borrow_mut().insert(id, Box::pin(task));
        push(&self.0.queue, id);
        id
    }

    /// Ends a task where it stands; what it owns is dropped. Nothing happens if it has ended.
    pub fn abort(&self, id: u64) {
        let dropped = self.0.tasks.borrow_mut().remove(&id);
        if dropped.is_none() && self.0.running.get() == id {
            self.0.ended_early.borrow_mut().insert(id);
        }
    }

    /// Runs until `main` is done; other tasks that are left are dropped.
    pub fn run<T: 'static>(&self, main: impl Future<Output = T> + 'static) -> io::Result<T> {
        let result = Rc::new(RefCell::new(None));
        let place = result.clone();
        self.spawn(async move {
            let value = main.await;
            *place.borrow_mut() = Some(value);
        });
        let mut ready = Vec::new();
        loop {
            let busy = self.poll_tasks();
            if let Some(value) = result.borrow_mut().take() {
                // Tasks hold the executor, which holds them: what they own is closed now or never.
                let left = self.0.tasks.take();
                drop(left);
                return Ok(value);
            }
            self.arm_timer()?;
            if busy {
                self.0.epoll.look(&mut ready)?;
            } else {
                self.0.epoll.wait(&mut ready)?;
            }
            let mut sockets = false;
            for event in &ready {
                if event.token == TIMER {
                    self.on_time();
                    continue;
                }
                sockets = true;
                let source = self.0.sources.borrow().get(&event.token).cloned();
                if let Some(source) = source {
                    source.wake(*event);
                }
            }
            if sockets && self.0.coalesce_ns > 0 && !self.poll_tasks() {
                sys::pause(self.0.coalesce_ns);
            }
        }
    }

    /// Polls what is ready, but no task endlessly: true if some want to go on, after timers and sockets.
    fn poll_tasks(&self) -> bool {
        // A task wakes others and itself: a few rounds empty the queue, unless one of them has endless work.
        for _ in 0..MAX_POLLS_AT_ONCE {
            let next = self.0.queue.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
            let Some(id) = next else { return false };
            let Some(mut task) = self.0.tasks.borrow_mut().remove(&id) else {
                continue;
            };
            let waker = Waker::from(Arc::new(TaskWaker { id, queue: self.0.queue.clone() }));
            self.0.running.set(id);
            let done = task.as_mut().poll(&mut Context::from_waker(&waker)).is_ready();
            self.0.running.set(0);
            let aborted = self.0.ended_early.borrow_mut().remove(&id);
            if !done && !aborted {
                self.0.tasks.borrow_mut().insert(id, task);
            }
        }
        true
    }

    fn arm_timer(&self) -> io::Result<()> {
        let first = self.0.timers.borrow().keys().next().map(|(at, _)| *at);
        if Some(first) != self.0.timer_at_ns.get() {
            self.0.timer.set(first)?;
            self.0.timer_at_ns.set(Some(first));
        }
        Ok(())
    }

    fn on_time(&self) {
        let now = sys::monotonic_ns();
        self.0.timer_at_ns.set(None);
        let mut timers = self.0.timers.borrow_mut();
        let later = timers.split_off(&(now + 1, 0));
        for waker in std::mem::replace(&mut *timers, later).into_values() {
            waker.wake();
        }
    }

    pub fn sleep_until(&self, at_ns: u64) -> Sleep {
        let id = self.0.next_task.replace(self.0.next_task.get() + 1);
        Sleep { exec: self.clone(), key: (at_ns, id), started: false }
    }

    /// The future's value, unless the deadline comes first; then it is dropped.
    pub async fn before<T>(&self, deadline_ns: u64, future: impl Future<Output = T>) -> Result<T, TimedOut> {
        let mut future = std::pin::pin!(future);
        let mut sleep = std::pin::pin!(self.sleep_until(deadline_ns));
        std::future::poll_fn(|cx| {
            if let Poll::Ready(value) = future.as_mut().poll(cx) {
                return Poll::Ready(Ok(value));
            }
            sleep.as_mut().poll(cx).map(|()| Err(TimedOut))
        })
        .await
    }

    /// Watches a descriptor until `forget`; each edge is kept in the `Source`.
    pub fn watch(&self, fd: RawFd) -> io::Result<Rc<Source>> {
        let token = self.0.next_source.replace(self.0.next_source.get() + 1);
        let source = Rc::new(Source { token, ..Source::default() });
        self.0.epoll.add_edge(fd, token)?;
        self.0.sources.borrow_mut().insert(token, source.clone());
        Ok(source)
    }

    /// The descriptor is about to be closed, which takes it out of the epoll.
    pub fn forget(&self, source: &Source) {
        self.0.sources.borrow_mut().remove(&source.token);
    }

    /// Working space that all connections share while they read.
    pub fn with_scratch<T>(&self, work: impl FnOnce(&mut [u8]) -> T) -> T {
        work(&mut self.0.scratch.borrow_mut())
    }

    /// Waits until a descriptor that is not ours to read is readable (a signal's, a listener's).
    pub async fn readable(&self, source: &Rc<Source>) {
        std::future::poll_fn(|cx| {
            if source.readable.get() {
                return Poll::Ready(());
            }
            source.wait_readable(cx);
            Poll::Pending
        })
        .await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timers_go_off_in_order_and_a_deadline_ends_what_takes_longer() {
        let exec = Exec::new(0).unwrap();
        let seen = Rc::new(RefCell::new(vec![]));
        let start = sys::monotonic_ns();
        for (name, after) in [("b", 2_000_000), ("a", 1_000_000)] {
            let (exec, seen) = (exec.clone(), seen.clone());
            exec.clone().spawn(async move {
                exec.sleep_until(start + after).await;
                seen.borrow_mut().push(name);
            });
        }
        let inner = exec.clone();
        let ended = exec
            .run(async move {
                let long = inner.sleep_until(u64::MAX / 2);
                inner.before(start + 3_000_000, long).await
            })
            .unwrap();
        assert_eq!(ended, Err(TimedOut));
        assert_eq!(*seen.borrow(), ["a", "b"]);
        assert!(exec.0.timers.borrow().is_empty());
    }

    #[test]
    fn an_aborted_task_is_dropped_also_when_it_aborts_itself() {
        let exec = Exec::new(0).unwrap();
        let alive = Rc::new(());
        let held = alive.clone();
        let waiting = exec.spawn(async move {
            let _held = held;
            std::future::pending::<()>().await;
        });
        let id = Rc::new(Cell::new(0));
        let (inner, own, held) = (exec.clone(), id.clone(), alive.clone());
        id.set(exec.spawn(async move {
            let _held = held;
            inner.abort(own.get());
            std::future::pending::<()>().await;
        }));
        let (inner, until) = (exec.clone(), sys::monotonic_ns() + 1_000_000);
        exec.run(async move {
            inner.abort(waiting);
            inner.sleep_until(until).await;
        })
        .unwrap();
        assert_eq!(Rc::strong_count(&alive), 1);
    }
}
