//! narrows-agent: carries out one plan inside the kernel under test (PID 1 of a guest) or on a host as root.
//!
//! This file only picks the mode; it knows nothing of plans, kernels or traffic. It is a library, with `main.rs`
//! as its only caller, so that the fuzzer (`crates/fuzz`) can reach the parsers.

mod actor;
mod calibrate;
mod capture;
mod certified;
mod changes;
mod children;
mod clock;
mod collect;
mod conduct;
mod error;
mod ethtool;
mod flow_tap;
pub mod fuzzing;
mod guest;
mod host;
mod host_tap;
mod machine;
mod media;
mod modules;
mod moving;
mod nodes;
mod reactor;
mod remote;
mod result;
mod run;
mod run_ahead;
mod sample;
mod schedule;
mod settle;
mod setup;
mod shell;
mod status;
mod sys;
mod traffic;

use std::path::Path;
use std::process::ExitCode;

use narrows_wire::netlink;

const USAGE: &str =
    "usage: narrows-agent guest DIR | host DIR | remote | undo | shell DIR | ndt7-client ... | ndt7-server ... | certified ... | rpm-client ... | rpm-server ... | web-speed-client ... | web-speed-server ... | udp-capacity ... | h3-server ... | quic-server ... | quic-client ... | identify-server ... | identify-client ... | shape ... | version";

fn version() -> ExitCode {
    let info = serde_json::json!({
        "name": env!("CARGO_PKG_NAME"),
        "version": env!("CARGO_PKG_VERSION"),
        "plan_format": narrows_plan::FORMAT,
        "profile": if cfg!(debug_assertions) { "debug" } else { "release" },
        "target": format!("{}-{}", std::env::consts::ARCH, std::env::consts::OS),
        "static": cfg!(target_feature = "crt-static"),
    });
    println!("{info}");
    ExitCode::SUCCESS
}

/// The whole program.
pub fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let Some((mode, rest)) = args.split_first() else {
        eprintln!("{USAGE}");
        return ExitCode::from(2);
    };
    match (mode.as_str(), rest) {
        // User-Mode Linux may add a console= of its own behind init's arguments.
        ("guest", [dir, ..]) => guest::main(Path::new(dir)),
        ("shell", [dir, ..]) => shell::main(Path::new(dir)),
        ("host", [dir]) => host::main(Path::new(dir)),
        ("remote", []) => remote::part::main(),
        ("undo", []) => remote::part::undo(),
        ("version", []) => version(),
        ("ndt7-client", rest) => narrows_ndt7::client_main(rest),
        ("ndt7-server", rest) => narrows_ndt7::server_main(rest),
        ("certified", rest) => certified::main(rest),
        ("shape", rest) => narrows_shape::main(rest),
        ("udp-capacity", rest) => narrows_udp_capacity::main(rest),
        ("h3-server", rest) => narrows_h3::server_main(rest),
        ("quic-server", rest) => narrows_quic::server_main(rest),
        ("quic-client", rest) => narrows_quic::client_main(rest),
        ("identify-server", rest) => narrows_identify::server_main(rest),
        ("identify-client", rest) => narrows_identify::client_main(rest),
        ("web-speed-client", rest) => narrows_web::client_main(rest),
        ("web-speed-server", rest) => narrows_web::server_main(rest),
        ("rpm-client", rest) => narrows_rpm::client_main(rest),
        ("rpm-server", rest) => narrows_rpm::server_main(rest),
        _ => {
            eprintln!("narrows-agent: cannot make sense of '{}'; {USAGE}", args.join(" "));
            ExitCode::from(2)
        }
    }
}
