//! UDP capacity (RFC 9097, BBF TR-471): load at a rate that is searched by its loss, reordering and delay variation;
//! the result is the best sub-interval's IP-layer rate at the receiver. The messages are our own: it measures as
//! the standards say, and does not talk to other implementations.
//!
//! `search`, `count` and `places` are pure, `datagram` is what is sent, `flow` the two ends of a load.

mod client;
mod count;
pub mod datagram;
mod flow;
mod places;
mod search;
mod server;

use narrows_wire::program::run;
use std::process::ExitCode;

const USAGE: &str =
    "usage: narrows-agent udp-capacity server --listen ADDR:PORT | udp-capacity client --server \
    ADDR:PORT [--tests download,upload] [--duration-s 10] [--tolerated 10] [--lower-ms 30] [--upper-ms 90]";

/// `narrows-agent udp-capacity server|client …`
pub fn main(args: &[String]) -> ExitCode {
    match args.split_first() {
        Some((mode, rest)) if mode == "server" => {
            run("udp-capacity server", USAGE, server::parse(rest), server::run)
        }
        Some((mode, rest)) if mode == "client" => {
            run("udp-capacity client", USAGE, client::parse(rest), client::run)
        }
        _ => {
            eprintln!("udp-capacity: server or client; {USAGE}");
            ExitCode::from(2)
        }
    }
}
