//! narrows-agent: carries out one plan inside the kernel under test (PID 1 of a guest) or on a host as root.
//!
//! This file only picks the mode; it knows nothing of plans, kernels or traffic.

mod ndt7;

use std::process::ExitCode;

const USAGE: &str = "usage: narrows-agent guest DIR | host DIR | shell DIR | ndt7-client ... | ndt7-server ... | version";

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let Some((mode, rest)) = args.split_first() else {
        eprintln!("{USAGE}");
        return ExitCode::from(2);
    };
    match mode.as_str() {
        "ndt7-client" => ndt7::client_main(rest),
        "ndt7-server" => ndt7::server_main(rest),
        _ => {
            eprintln!("unknown mode '{mode}'; {USAGE}");
            ExitCode::from(2)
        }
    }
}
