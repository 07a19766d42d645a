//! NDT7 (specification v0.11.0 of Measurement Lab), server and client.
//!
//! `frame`, `reader`, `handshake`, `measurement`, `spec` and `args` are pure; `peer` holds the rules of one test for
//! both sides; `server` and `client` wait and write lines. Everything runs in one thread that sleeps in epoll:
//! under virtual time a system call is dear and a loop that spins never ends.

mod args;
mod client;
pub mod frame;
pub mod handshake;
pub mod measurement;
mod outbox;
mod output;
mod peer;
pub mod reader;
mod server;
mod spec;

#[cfg(test)]
mod live_tests;

use narrows_wire::program::run;
use std::process::ExitCode;

/// `narrows-agent ndt7-client …`
pub fn client_main(args: &[String]) -> ExitCode {
    run("ndt7-client", args::CLIENT_USAGE, args::parse_client(args), client::run)
}

/// `narrows-agent ndt7-server …`
pub fn server_main(args: &[String]) -> ExitCode {
    run("ndt7-server", args::SERVER_USAGE, args::parse_server(args), server::run)
}
