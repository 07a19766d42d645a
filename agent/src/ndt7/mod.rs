//! NDT7 client and server.

use std::process::ExitCode;

pub fn client_main(_args: &[String]) -> ExitCode {
    eprintln!("ndt7-client: not built in yet");
    ExitCode::from(2)
}

pub fn server_main(_args: &[String]) -> ExitCode {
    eprintln!("ndt7-server: not built in yet");
    ExitCode::from(2)
}
