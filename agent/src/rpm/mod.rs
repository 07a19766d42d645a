//! Responsiveness under working conditions (draft-ietf-ippm-responsiveness), server and client, HTTP/2 over TLS.
//!
//! `config`, `stability` and `args` are pure; `exec` waits, `io` carries bytes, `session` speaks HTTP/2 (the `h2`
//! library); `server` and `client` are the two programs. The client writes down every probe: the published figures
//! are computed from those in Python (`narrows.metrics.responsiveness` and its neighbours).

pub mod args;
mod client;
pub mod config;
mod exec;
mod io;
mod load;
mod server;
mod session;
mod stability;

#[cfg(test)]
mod live_tests;

use std::process::ExitCode;

/// `narrows-agent rpm-client …`
pub fn client_main(args: &[String]) -> ExitCode {
    crate::ndt7::run(
        "rpm-client",
        args::CLIENT_USAGE,
        args::parse_client(args),
        client::run,
    )
}

/// `narrows-agent rpm-server …`
pub fn server_main(args: &[String]) -> ExitCode {
    crate::ndt7::run(
        "rpm-server",
        args::SERVER_USAGE,
        args::parse_server(args),
        server::run,
    )
}
