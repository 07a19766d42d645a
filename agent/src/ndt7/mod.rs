//! NDT7 (specification v0.11.0 of Measurement Lab), server and client.
//!
//! `frame`, `reader`, `handshake`, `measurement`, `spec` and `args` are pure; `peer` holds the rules of one test for
//! both sides; `server` and `client` wait and write lines. Everything runs in one thread that sleeps in epoll:
//! under virtual time a system call is dear and a loop that spins never ends.

pub mod args;
mod certified;
mod client;
pub mod frame;
pub mod handshake;
pub mod measurement;
mod outbox;
pub mod output;
mod peer;
pub mod reader;
mod server;
pub mod spec;
pub mod sys;
pub mod tls;
pub mod transport;

#[cfg(test)]
mod live_tests;

use std::process::ExitCode;

/// `narrows-agent ndt7-client …`
pub fn client_main(args: &[String]) -> ExitCode {
    run(
        "ndt7-client",
        args::CLIENT_USAGE,
        args::parse_client(args),
        client::run,
    )
}

/// `narrows-agent ndt7-server …`
pub fn server_main(args: &[String]) -> ExitCode {
    run(
        "ndt7-server",
        args::SERVER_USAGE,
        args::parse_server(args),
        server::run,
    )
}

/// `narrows-agent certified …`
pub fn certified_main(args: &[String]) -> ExitCode {
    run(
        "certified",
        certified::USAGE,
        certified::parse(args),
        certified::run,
    )
}

/// Runs one of the agent's own tools: its error is one line, a wrong command line exits with 2.
pub fn run<A>(
    name: &str,
    usage: &str,
    args: Result<A, String>,
    main: fn(A) -> Result<(), String>,
) -> ExitCode {
    match args.map(main) {
        Ok(Ok(())) => ExitCode::SUCCESS,
        Ok(Err(e)) => {
            eprintln!("{name}: {e}");
            ExitCode::FAILURE
        }
        Err(e) => {
            eprintln!("{name}: {e}; {usage}");
            ExitCode::from(2)
        }
    }
}
