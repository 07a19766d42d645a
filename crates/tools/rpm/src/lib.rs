//! Responsiveness under working conditions (draft-ietf-ippm-responsiveness), server and client, HTTP/2 over TLS.
//!
//! `config`, `reply`, `stability` and `args` are pure; `exec` waits, `io` carries bytes, `session` speaks HTTP/2 (the
//! `h2` library), `http1` the little HTTP/1.1 that other people's clients need; `server` and `client` are the two
//! programs. The client writes down every probe: the published figures
//! are computed from those in Python (`narrows.metrics.responsiveness` and its neighbours).

mod args;
mod client;
pub mod config;
mod exec;
pub mod http1;
mod io;
mod load;
mod probing;
mod reply;
mod server;
mod session;
mod stability;
mod test;

#[cfg(test)]
mod live_tests;

use narrows_wire::program::run;
use std::process::ExitCode;

/// `narrows-agent rpm-client …`
pub fn client_main(args: &[String]) -> ExitCode {
    run("rpm-client", args::CLIENT_USAGE, args::parse_client(args), client::run)
}

/// `narrows-agent rpm-server …`
pub fn server_main(args: &[String]) -> ExitCode {
    run("rpm-server", args::SERVER_USAGE, args::parse_server(args), server::run)
}
