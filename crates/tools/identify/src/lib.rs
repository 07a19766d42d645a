//! Probe trains that show what the bottleneck's queue does: `narrows-agent identify-server` and `identify-client`.
//!
//! The client opens a TCP connection for control, which proves that the address is its own, and one UDP socket for each
//! flow. It asks for one phase after the other: flows with a rate, a size and code points, sent by either end. Every
//! packet that arrives becomes a record; what they mean is judged elsewhere (`python/narrows/line/identify`).
//!
//! `phase`, `plan`, `watch` and `datagram` are pure; `sender`, `receiver` and `control` are the two ends of a phase.

mod client;
mod control;
pub mod datagram;
mod flows;
mod phase;
mod plan;
mod receiver;
mod sender;
mod server;
mod watch;

use narrows_wire::program::run;
use std::process::ExitCode;

const SERVER: &str =
    "usage: narrows-agent identify-server --listen ADDR:PORT [--token WORD] [--most-mbit 2000] \
    [--clear-tos]";
const CLIENT: &str =
    "usage: narrows-agent identify-client --server ADDR:PORT [--token WORD] [--mode whole|quick] \
    [--ways down,up] [--most-mbit 2000] [--out FILE] [--echoes]";

/// `narrows-agent identify-server …`
pub fn server_main(args: &[String]) -> ExitCode {
    run("identify-server", SERVER, server::parse(args), server::run)
}

/// `narrows-agent identify-client …`
pub fn client_main(args: &[String]) -> ExitCode {
    run("identify-client", CLIENT, client::parse(args), client::run)
}
