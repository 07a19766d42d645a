//! Web speed tests over HTTP/1.1, plain or over TLS: a server that speaks the endpoints of several, and a client that is a *model* of
//! two whose own programs cannot run here (Ookla's is closed, LibreSpeed's needs a browser).
//!
//! `model` is pure: how each computes its result. `open` is which connections a server keeps. `server` and `client` use one thread per connection: a thread
//! that is blocked costs nothing in virtual time.

mod client;
mod connection;
mod model;
mod open;
pub mod request;
mod server;
mod stream;

use narrows_wire::program::run;
use std::process::ExitCode;

/// `narrows-agent web-speed-server …`
pub fn server_main(args: &[String]) -> ExitCode {
    run("web-speed-server", server::USAGE, server::parse(args), server::run)
}

/// `narrows-agent web-speed-client …`
pub fn client_main(args: &[String]) -> ExitCode {
    run("web-speed-client", client::USAGE, client::parse(args), client::run)
}
