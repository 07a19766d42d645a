//! The guest as a machine: mounts, environment, clock, power.
//!
//! The root is the host's and read-only; programs write to tmpfs, and the run's own directory is the only
//! place of the host that can be written.

use std::fs;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};

use crate::error::{During, Result, RunError, Stage};
use crate::nodes::Nodes;
use crate::sys;

pub const RUN_DIR: &str = "/run/narrows";
const AGENT: &str = "/run/narrows-agent";
const TOOLS: &str = "/run/narrows-tools";
pub const CHECKOUT: &str = "/run/narrows-checkout";
pub const CONTENT: &str = "/run/narrows-content";
const OWN_PROGRAMS: &str = "/run/narrows-path";
const HOME: &str = "/tmp/home";
const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
/// Programs keep scratch files in these; those that do not exist on this host are not missed.
const SCRATCH: [&str; 7] =
    ["/tmp", "/var/tmp", "/var/log", "/var/lock", "/var/run", "/var/lib/nginx", "/var/cache"];
/// Before its first tick the kernel runs on coarse timers, and tc computes bursts for those.
const EXACT_FROM_NS: i64 = 1_000_000_000;

fn failed(what: String) -> RunError {
    RunError::new(Stage::Setup, what)
}

fn mount(source: &str, target: &str, fstype: &str, flags: libc::c_ulong, data: &str) -> Result<()> {
    sys::mount(source, Path::new(target), fstype, flags, data)
        .map_err(|e| failed(format!("mounting {fstype} on {target}: {e}")))
}

/// Mounts everything and sets the environment. Returns the agent's binary as programs in the guest see it.
pub fn prepare(dir: &Path) -> Result<PathBuf> {
    mount("proc", "/proc", "proc", 0, "")?;
    mount("sysfs", "/sys", "sysfs", 0, "")?;
    mount("devtmpfs", "/dev", "devtmpfs", 0, "")?;
    console();
    for (path, options) in [("/dev/pts", "mode=620,ptmxmode=666"), ("/dev/shm", "mode=1777")] {
        let _ = fs::create_dir(path);
        let fstype = if path == "/dev/pts" { "devpts" } else { "tmpfs" };
        mount(fstype, path, fstype, 0, options)?;
    }
    for (link, target) in [("fd", "/proc/self/fd"), ("stdin", "fd/0"), ("stdout", "fd/1"), ("stderr", "fd/2")]
    {
        let _ = std::os::unix::fs::symlink(target, format!("/dev/{link}"));
    }
    mount("tmpfs", "/run", "tmpfs", 0, "mode=755")?;
    let agent = keep_in_sight()?;
    let path = programs_in_sight()?;
    for path in SCRATCH {
        let real = fs::symlink_metadata(path).is_ok_and(|m| m.is_dir());
        if real {
            mount("tmpfs", path, "tmpfs", 0, if path.ends_with("tmp") { "mode=1777" } else { "mode=755" })?;
        }
    }
    fs::create_dir(RUN_DIR).during(|| format!("creating {RUN_DIR}"))?;
    mount("none", RUN_DIR, "hostfs", 0, &dir.to_string_lossy())?;
    let _ = fs::create_dir_all(HOME);
    environment(&path);
    sys::exact_timers();
    // veth receives through the per-CPU backlog: its default of 1000 would lose bursts inside the cable.
    fs::write("/proc/sys/net/core/netdev_max_backlog", "1000000").during(|| "netdev_max_backlog".into())?;
    tcp_memory()?;
    Ok(agent)
}

/// TCP's memory limit is one for all nodes and follows the guest's small memory; each node stands for a host
/// that has plenty. At the default a hundred flows are under "memory pressure", which shrinks their buffers and
/// wakes receivers for every packet. What TCP counts is not what is there: bulk flows send the zero page.
/// The largest buffers follow the memory that the kernel's image leaves, which a profile changes: nodes begin with those of a
/// host with 4 GB, as the plan pins them for hosts.
fn tcp_memory() -> Result<()> {
    const PAGES: u64 = (64 << 30) / 4096;
    for (name, value) in [
        ("tcp_mem", format!("{PAGES} {PAGES} {PAGES}")),
        ("tcp_rmem", "4096 131072 33554432".into()),
        ("tcp_wmem", "4096 16384 4194304".into()),
        ("tcp_max_orphans", (CONNECTIONS / 2).to_string()),
    ] {
        fs::write(format!("/proc/sys/net/ipv4/{name}"), value).during(|| name.into())?;
    }
    Ok(())
}

/// The table of connections of a host with plenty of memory, which the kernel derives limits from. A guest's own table follows
/// the flows of its plan; its limits do not.
const CONNECTIONS: u32 = 131_072;

/// Unlike TCP's memory these limits are each node's own, and nodes begin with what the guest's table gives.
pub fn connection_limits(nodes: &Nodes) -> Result<()> {
    for node in nodes.names() {
        nodes.enter(node)?;
        for (name, value) in
            [("tcp_max_tw_buckets", CONNECTIONS / 2), ("tcp_max_syn_backlog", CONNECTIONS / 128)]
        {
            fs::write(format!("/proc/sys/net/ipv4/{name}"), value.to_string()).during(|| name.into())?;
        }
    }
    Ok(())
}

/// The agent, the tools, the checkout and contents may lie where a tmpfs is about to hide them: binds them below /run first.
fn keep_in_sight() -> Result<PathBuf> {
    fs::write(AGENT, "").during(|| format!("creating {AGENT}"))?;
    let exe = fs::read_link("/proc/self/exe").during(|| "finding the agent's own binary".into())?;
    mount(&exe.to_string_lossy(), AGENT, "none", libc::MS_BIND, "")?;
    let kept = [("narrows_tools", TOOLS), ("narrows_checkout", CHECKOUT), ("narrows_content", CONTENT)];
    for (variable, place) in kept {
        if let Some(path) = std::env::var_os(variable) {
            fs::create_dir(place).during(|| format!("creating {place}"))?;
            mount(&path.to_string_lossy(), place, "none", libc::MS_BIND, "")?;
        }
    }
    Ok(PathBuf::from(AGENT))
}

/// Where programs are looked for: among the tools that go with the kernel, in the system's places, and where the
/// user has those of the plan that the system has not (the kernel's command line says where). What a tmpfs is
/// about to hide is bound below /run.
fn programs_in_sight() -> Result<String> {
    let mut places = vec![];
    if std::env::var_os("narrows_tools").is_some() {
        places.push(TOOLS.to_string());
    }
    places.push(PATH.to_string());
    let own = std::env::var("narrows_programs").unwrap_or_default();
    for (number, place) in own.split(':').filter(|place| place.starts_with('/')).enumerate() {
        let hidden = SCRATCH.iter().any(|scratch| Path::new(place).starts_with(scratch));
        if hidden && Path::new(place).is_dir() {
            let shown = format!("{OWN_PROGRAMS}/{number}");
            fs::create_dir_all(&shown).during(|| format!("creating {shown}"))?;
            mount(place, &shown, "none", libc::MS_BIND, "")?;
            places.push(shown);
        } else {
            places.push(place.to_string());
        }
    }
    Ok(places.join(":"))
}

/// OpenSSL, BoringSSL (in Chromium) and AWS-LC take randomness from the processor where it has RDRAND and RDSEED: no
/// kernel sees that, so each run would be another (BoringSSL does it on Intel's alone). This says that it has neither.
const NO_RANDOMNESS_OF_ITS_OWN: &str = "~0x4000000000000000:~0x40000";

/// What programs see: kernel parameters that landed in init's environment are not for them.
fn environment(path: &str) {
    for (key, _) in std::env::vars_os() {
        std::env::remove_var(key);
    }
    let fixed = [
        ("PATH", path),
        ("HOME", HOME),
        ("TMPDIR", "/tmp"),
        ("LANG", "C.UTF-8"),
        ("USER", "root"),
        ("OPENSSL_ia32cap", NO_RANDOMNESS_OF_ITS_OWN),
    ];
    for (key, value) in fixed {
        std::env::set_var(key, value);
    }
}

/// Standard streams: the console if the kernel gave none; newlines go out as they are.
fn console() {
    // SAFETY: plain system calls on descriptors 0 to 2 and a local struct.
    unsafe {
        if libc::fcntl(1, libc::F_GETFD) < 0 {
            if let Ok(f) = fs::OpenOptions::new().read(true).write(true).open("/dev/console") {
                for fd in 0..3 {
                    libc::dup2(f.as_raw_fd(), fd);
                }
                std::mem::forget(f);
            }
        }
        let mut tty: libc::termios = std::mem::zeroed();
        if libc::tcgetattr(1, &mut tty) == 0 {
            tty.c_oflag &= !libc::OPOST;
            libc::tcsetattr(1, libc::TCSANOW, &tty);
        }
    }
}

/// Sleeps (free in virtual time) until high-resolution timers are on, and makes sure that they are.
pub fn wait_for_exact_clock() -> Result<()> {
    sys::sleep_until(EXACT_FROM_NS);
    let psched = fs::read_to_string("/proc/net/psched").during(|| "reading /proc/net/psched".into())?;
    match psched.split_whitespace().nth(3) {
        Some("3b9aca00") => Ok(()),
        other => Err(failed(format!(
            "this kernel's timers are coarse (psched clock {other:?}): it needs CONFIG_HIGH_RES_TIMERS"
        ))),
    }
}

pub fn power_off() -> ! {
    // SAFETY: plain system calls; as PID 1 this ends the machine.
    unsafe {
        libc::sync();
        libc::reboot(libc::RB_POWER_OFF);
    }
    std::process::exit(1)
}
