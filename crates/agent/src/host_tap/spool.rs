//! Moves the trace buffer's pages to files of the run while it goes on, on a thread of its own.
//!
//! One file per core, each page after its length (u32). Nothing is looked into, so that the run is disturbed little;
//! `events` reads the files afterwards. The files go when this goes.

use std::fs::{File, OpenOptions};
use std::io::{BufWriter, ErrorKind, Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

use super::format::PageFormat;
use super::pages;
use super::tracefs::Instance;

/// The kernel wakes the thread when a buffer is half full; this is for those that are not.
const LOOK_EVERY_MS: i32 = 200;

/// There is one tap in a process, and a panic must be able to end it.
static STOP: AtomicBool = AtomicBool::new(false);

struct Core {
    trace: File,
    spool: BufWriter<File>,
    format: PageFormat,
    page: Vec<u8>,
    lost: bool,
}

impl Core {
    /// Takes all that is there.
    fn drain(&mut self) -> std::io::Result<()> {
        loop {
            let read = match self.trace.read(&mut self.page) {
                Ok(0) => return Ok(()),
                Ok(n) => n,
                Err(e) if e.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(e) if e.kind() == ErrorKind::Interrupted => continue,
                Err(e) => return Err(e),
            };
            let page = &self.page[..read];
            let length = pages::length(page, &self.format)
                .ok_or_else(|| std::io::Error::other("a page is longer than the kernel says"))?;
            self.lost |= pages::has_lost_events(page, &self.format);
            self.spool.write_all(&(length as u32).to_le_bytes())?;
            self.spool.write_all(&page[..length])?;
        }
    }
}

pub struct Spool {
    pub files: Vec<PathBuf>,
    thread: Option<JoinHandle<std::io::Result<bool>>>,
}

impl Spool {
    pub fn start(instance: &Instance, format: PageFormat, raw: &Path) -> Result<Spool, String> {
        let mut spool = Spool { files: Vec::new(), thread: None };
        let mut cores = Vec::new();
        for (number, core) in instance.cores()?.into_iter().enumerate() {
            let (from, to) = (core.join("trace_pipe_raw"), raw.join(format!(".trace-{number}")));
            let trace = OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open(&from);
            let trace = trace.map_err(|e| format!("opening {}: {e}", from.display()))?;
            let file = File::create(&to).map_err(|e| format!("creating {}: {e}", to.display()))?;
            spool.files.push(to);
            cores.push(Core {
                trace,
                spool: BufWriter::with_capacity(1 << 16, file),
                format,
                page: vec![0; format.page_bytes],
                lost: false,
            });
        }
        let thread = std::thread::Builder::new().name("trace".into());
        let thread = thread.spawn(move || carry(cores));
        spool.thread = Some(thread.map_err(|e| format!("starting a thread: {e}"))?);
        Ok(spool)
    }

    /// Takes what is left and closes the buffers. Ok(true): events were lost. Tracing must be off already.
    pub fn finish(&mut self) -> Result<bool, String> {
        stop();
        match self.thread.take().map(JoinHandle::join) {
            Some(Ok(outcome)) => outcome.map_err(|e| format!("reading the trace: {e}")),
            Some(Err(_)) | None => Err("the thread that read the trace broke".into()),
        }
    }
}

impl Drop for Spool {
    fn drop(&mut self) {
        if self.thread.is_some() {
            let _ = self.finish();
        }
        for file in &self.files {
            let _ = std::fs::remove_file(file);
        }
    }
}

/// Has the thread take what is left and close its files.
pub fn stop() {
    STOP.store(true, Ordering::SeqCst);
}

fn carry(mut cores: Vec<Core>) -> std::io::Result<bool> {
    loop {
        // Before the look: what comes after it is seen by the next.
        let is_last = STOP.load(Ordering::SeqCst);
        for core in &mut cores {
            core.drain()?;
        }
        if is_last {
            break;
        }
        let mut wait: Vec<libc::pollfd> = cores
            .iter()
            .map(|c| libc::pollfd { fd: c.trace.as_raw_fd(), events: libc::POLLIN, revents: 0 })
            .collect();
        // SAFETY: `wait` is valid for its length. An error (a signal) only means an earlier look.
        unsafe { libc::poll(wait.as_mut_ptr(), wait.len() as libc::nfds_t, LOOK_EVERY_MS) };
    }
    for core in &mut cores {
        core.spool.flush()?;
    }
    Ok(cores.iter().any(|c| c.lost))
}
