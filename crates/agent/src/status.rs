//! Progress lines for the engine, and the signals that end a run on a host.

use std::io::Write;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};

use serde_json::json;

use crate::error::{During, Result, RunError};
use crate::sys;

/// `@narrows {…}` on standard output. A reader that has gone away does not stop the run.
pub fn line(t_ns: i64, phase: &str, note: &str) {
    let text = format!("@narrows {}\n", json!({"t_ns": t_ns, "phase": phase, "note": note}));
    let _ = std::io::stdout().lock().write_all(text.as_bytes());
}

static INTERRUPTED: AtomicBool = AtomicBool::new(false);
static EVENTFD: AtomicI32 = AtomicI32::new(-1);

extern "C" fn on_signal(_: libc::c_int) {
    INTERRUPTED.store(true, Ordering::SeqCst);
    let one = 1u64;
    // SAFETY: write(2) may be called in a signal handler; a bad descriptor only fails.
    unsafe { libc::write(EVENTFD.load(Ordering::SeqCst), &one as *const u64 as *const libc::c_void, 8) };
}

/// SIGINT, SIGTERM and SIGHUP as an event. Handlers, not a signal mask: children would inherit a mask.
pub struct Interrupt {
    eventfd: OwnedFd,
}

impl Interrupt {
    pub fn install() -> Result<Interrupt> {
        // SAFETY: plain system calls; the handler only touches atomics and write(2).
        unsafe {
            let fd = sys::cvt(libc::eventfd(0, libc::EFD_CLOEXEC | libc::EFD_NONBLOCK))
                .during(|| "creating an eventfd".into())?;
            EVENTFD.store(fd, Ordering::SeqCst);
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = on_signal as extern "C" fn(libc::c_int) as libc::sighandler_t;
            for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP] {
                libc::sigaction(signal, &action, std::ptr::null_mut());
            }
            Ok(Interrupt { eventfd: OwnedFd::from_raw_fd(fd) })
        }
    }

    pub fn fd(&self) -> RawFd {
        self.eventfd.as_raw_fd()
    }

    pub fn check(&self) -> Result<()> {
        match INTERRUPTED.load(Ordering::SeqCst) {
            true => Err(RunError::internal("interrupted by a signal")),
            false => Ok(()),
        }
    }
}
