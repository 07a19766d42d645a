//! Keeps the local bottleneck while the ISP's rate moves: watches what passes the WAN interface, and sets the
//! bandwidth of the CAKE there and of the one on the IFB.
//!
//! `stamps` and `control` are pure; `watch` (packet socket), `cake` (netlink) and `probe` touch the machine; `daemon`
//! joins them. It runs alone on a router: no Python, no files but the log that is asked for.

mod args;
mod cake;
mod control;
mod daemon;
mod probe;
mod stamps;
mod watch;

use std::io::Read;
use std::os::unix::net::UnixStream;
use std::process::ExitCode;

/// `run …` or `status …`, as a program of its own or as a part of the agent.
pub fn main(args: &[String]) -> ExitCode {
    use narrows_wire::program::run;
    match args.split_first() {
        Some((mode, rest)) if mode == "run" => {
            run("narrows-shape", args::USAGE, args::run(rest), daemon::run)
        }
        Some((mode, rest)) if mode == "status" => {
            run("narrows-shape", args::USAGE, args::status(rest), status)
        }
        _ => {
            eprintln!("narrows-shape: run or status; {}", args::USAGE);
            ExitCode::from(2)
        }
    }
}

/// Prints what the daemon of an interface says of itself.
fn status(wan: String) -> Result<(), String> {
    let name = daemon::socket_name(&wan)?;
    let mut peer = UnixStream::connect_addr(&name)
        .map_err(|_| format!("no shaper runs on {wan} (narrows shape run --wan {wan})"))?;
    let mut text = String::new();
    peer.read_to_string(&mut text).map_err(|e| format!("the shaper on {wan} does not answer: {e}"))?;
    print!("{text}");
    Ok(())
}
