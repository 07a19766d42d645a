//! The system calls of `narrows_wire::sys`, and those that only who runs a machine needs: mounts, namespaces, processes,
//! limits. No policy here.

use std::ffi::CString;
use std::io;
use std::net::Ipv4Addr;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

pub use narrows_wire::sys::*;

pub fn sockaddr(address: Ipv4Addr, port: u16) -> socket2::SockAddr {
    std::net::SocketAddrV4::new(address, port).into()
}

pub fn path_c(path: &Path) -> CString {
    use std::os::unix::ffi::OsStrExt;
    CString::new(path.as_os_str().as_bytes()).unwrap_or_default()
}

pub fn mount(source: &str, target: &Path, fstype: &str, flags: libc::c_ulong, data: &str) -> io::Result<()> {
    let (source, target) = (CString::new(source)?, path_c(target));
    let (fstype, data) = (CString::new(fstype)?, CString::new(data)?);
    // SAFETY: all pointers are valid C strings for the length of the call.
    let r = unsafe {
        libc::mount(
            source.as_ptr(),
            target.as_ptr(),
            fstype.as_ptr(),
            flags,
            data.as_ptr() as *const libc::c_void,
        )
    };
    cvt(r).map(drop)
}

pub fn umount_detach(target: &Path) -> io::Result<()> {
    // SAFETY: valid C string.
    cvt(unsafe { libc::umount2(path_c(target).as_ptr(), libc::MNT_DETACH) }).map(drop)
}

pub fn unshare(flags: libc::c_int) -> io::Result<()> {
    // SAFETY: plain system call.
    cvt(unsafe { libc::unshare(flags) }).map(drop)
}

pub fn setns_net(fd: RawFd) -> io::Result<()> {
    // SAFETY: plain system call.
    cvt(unsafe { libc::setns(fd, libc::CLONE_NEWNET) }).map(drop)
}

/// A socket filter that keeps `bytes` of each packet. 0 keeps none at all: TCP then drops it before it sees it
/// (tcp_filter), without an answer, and a packet socket never hears of it.
pub fn keep_bytes(fd: RawFd, bytes: u32) -> std::io::Result<()> {
    let mut keep = libc::sock_filter { code: (libc::BPF_RET | libc::BPF_K) as u16, jt: 0, jf: 0, k: bytes };
    let program = libc::sock_fprog { len: 1, filter: &mut keep };
    setsockopt(fd, libc::SOL_SOCKET, libc::SO_ATTACH_FILTER, &program)
}

pub fn memfd(name: &str) -> io::Result<OwnedFd> {
    let name = CString::new(name)?;
    // SAFETY: valid C string; the result is owned here.
    let fd = cvt(unsafe { libc::memfd_create(name.as_ptr(), libc::MFD_CLOEXEC) })?;
    // SAFETY: fresh descriptor.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

pub fn pidfd_open(pid: i32) -> io::Result<OwnedFd> {
    // SAFETY: plain system call; the result is owned here.
    let fd = unsafe { libc::syscall(libc::SYS_pidfd_open, pid, 0) } as i32;
    cvt(fd)?;
    // SAFETY: fresh descriptor (pidfds are always close-on-exec).
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

pub fn kill(pid: i32, signal: i32) -> io::Result<()> {
    // SAFETY: plain system call.
    cvt(unsafe { libc::kill(pid, signal) }).map(drop)
}

/// (nodename, "release version") as uname(2) tells.
pub fn kernel_version() -> String {
    let read = |p: &str| std::fs::read_to_string(p).unwrap_or_default().trim().to_string();
    format!("{} {}", read("/proc/sys/kernel/osrelease"), read("/proc/sys/kernel/version"))
}

/// Allows this many more open files: items of one run add up, and those of earlier ones may not be open yet.
pub fn allow_more_open_files(more: u64) -> io::Result<()> {
    static PROMISED: AtomicU64 = AtomicU64::new(0);
    let promised = PROMISED.fetch_add(more, Ordering::SeqCst).saturating_add(more);
    let open = std::fs::read_dir("/proc/self/fd").map_or(0, |d| d.count() as u64);
    raise_open_files(open.saturating_add(promised))
}

/// Raises the number of open files to `wanted` where the hard limit or root's rights allow.
pub fn raise_open_files(wanted: u64) -> io::Result<()> {
    // SAFETY: plain system calls on a local struct.
    unsafe {
        let mut limit: libc::rlimit = std::mem::zeroed();
        cvt(libc::getrlimit(libc::RLIMIT_NOFILE, &mut limit))?;
        if limit.rlim_cur >= wanted {
            return Ok(());
        }
        limit.rlim_cur = wanted;
        limit.rlim_max = limit.rlim_max.max(wanted);
        cvt(libc::setrlimit(libc::RLIMIT_NOFILE, &limit)).map(drop)
    }
}

/// Whether a process runs no more. One that was killed may stay in /proc until its parent looks.
pub fn gone(pid: i32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let state = stat.rsplit(')').next().unwrap_or_default().trim_start();
    state.is_empty() || state.starts_with(['Z', 'X'])
}

/// Asks the kernel for exact timers (the default slack is 50 µs).
pub fn exact_timers() {
    // SAFETY: plain system call.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1, 0, 0, 0) };
}

pub fn read_fd_from_start(fd: &OwnedFd) -> io::Result<Vec<u8>> {
    let mut out = Vec::new();
    let mut buf = [0u8; 16384];
    loop {
        // SAFETY: buf is writable for its length.
        let n = cvt_len(unsafe {
            libc::pread(
                fd.as_raw_fd(),
                buf.as_mut_ptr() as *mut libc::c_void,
                buf.len(),
                out.len() as libc::off_t,
            )
        })?;
        if n == 0 {
            return Ok(out);
        }
        out.extend_from_slice(&buf[..n]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    fn a_process_that_was_killed_is_gone_before_its_parent_has_looked() {
        let mut child = Command::new("sleep").arg("60").spawn().unwrap();
        let pid = child.id() as i32;
        assert!(!gone(pid));
        child.kill().unwrap();
        let stat = format!("/proc/{pid}/stat");
        while std::fs::read_to_string(&stat).is_ok_and(|text| !text.contains(") Z")) {
            std::thread::yield_now();
        }
        assert!(gone(pid));
        child.wait().unwrap();
        assert!(gone(pid));
    }
}
