//! An HTTP/3 server of files: what a browser fetches over QUIC, with the congestion control that is named.
//!
//! QUIC and its congestion controls are quinn's (NewReno, CUBIC and BBR, in the program and not in the kernel); HTTP/3 is
//! h3's. `files` is which file a path means, and which part of it; `server` is the rest.

mod files;
mod server;

use narrows_wire::program::run;
use std::process::ExitCode;

/// `narrows-agent h3-server …`
pub fn server_main(args: &[String]) -> ExitCode {
    run("h3-server", server::USAGE, server::parse(args), server::run)
}
