//! Transfers over QUIC by quinn, for the item `quic()`: `perf`'s protocol (draft-banks-quic-performance), in which the
//! client asks for so many bytes and sends so many.
//!
//! `transport` is what both ends and other servers over quinn share: congestion control, ECN, qlog; `ends` is what an
//! end writes of its connections. Of QUIC itself nothing is here.

mod client;
mod ends;
mod server;
pub mod transport;

use narrows_wire::program::run;
use std::process::ExitCode;

const ALPN: &[u8] = b"perf";

/// `narrows-agent quic-server …`
pub fn server_main(args: &[String]) -> ExitCode {
    run("quic-server", server::USAGE, server::parse(args), server::run)
}

/// `narrows-agent quic-client …`
pub fn client_main(args: &[String]) -> ExitCode {
    run("quic-client", client::USAGE, client::parse(args), client::run)
}
