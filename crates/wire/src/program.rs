//! A tool as a program of the agent: its name, its exit codes, and how it reports an error.

use std::process::ExitCode;

/// What the tools call themselves to others: they are all parts of one program.
pub const NAME: &str = "narrows-agent";
pub const VERSION: &str = env!("CARGO_PKG_VERSION");
/// The same in one word, as HTTP's `User-Agent` wants it.
pub const USER_AGENT: &str = concat!("narrows-agent/", env!("CARGO_PKG_VERSION"));

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
