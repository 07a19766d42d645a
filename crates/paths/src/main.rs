//! The command line of narrows-paths, for `narrows paths`: reads logs, several at once, and tells what became of each
//! as one JSON object a line.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::Mutex;
use std::thread;

use narrows_paths::ends;
use narrows_paths::error::Error;
use narrows_paths::flows::Limits;
use narrows_paths::log::{self, Settings};
use narrows_paths::pieces;
use narrows_paths::rows::{ACKS, CONNECTIONS, LIMITS, SESSIONS, SNAPSHOTS};
use narrows_paths::sessions::{Rules, Service};
use narrows_paths::table::{Column, Kind};
use narrows_paths::udp::quic::keys::KeyLog;
use narrows_paths::udp_rows::{RTP, UDP, UDP_SECONDS};
use serde_json::json;

const USAGE: &str =
    "usage: narrows-paths read FILE... --out DIR [--jobs N] [--acks] [--again] [--session-gap-ns N]
           [--min-duration-ns N] [--service port|server|all] [--idle-ns N] [--connections N]
           [--name NAME_OF_STANDARD_INPUT] [--joined] [--keys KEY_LOG] [--qlog]
       narrows-paths ends SENDERS_FILE RECEIVERS_FILE | columns | version";

struct Call {
    files: Vec<OsString>,
    joined: bool,
    out: PathBuf,
    jobs: usize,
    settings: Settings,
}

fn main() -> ExitCode {
    let args: Vec<OsString> = std::env::args_os().skip(1).collect();
    match args.split_first().map(|(mode, rest)| (mode.to_str(), rest)) {
        Some((Some("read"), rest)) => match call(rest) {
            Ok(call) => run(&call),
            Err(message) => {
                eprintln!("error: {message}\n{USAGE}");
                ExitCode::from(2)
            }
        },
        Some((Some("ends"), [sender, receiver])) => {
            let said = match ends::compare(sender, receiver) {
                Ok(between) => json!({"between": between}),
                Err(error) => said_of(&error),
            };
            println!("{said}");
            ExitCode::from(u8::from(said.get("error").is_some()))
        }
        Some((Some("columns"), [])) => {
            let tables = json!({
                "connections": columns(CONNECTIONS), "sessions": columns(SESSIONS), "limits": columns(LIMITS), "acks": columns(ACKS), "snapshots": columns(SNAPSHOTS),
                "udp": columns(UDP), "udp_seconds": columns(UDP_SECONDS), "rtp": columns(RTP),
            });
            println!("{tables}");
            ExitCode::SUCCESS
        }
        Some((Some("version"), [])) => {
            println!("{}", json!({"name": env!("CARGO_PKG_NAME"), "version": env!("CARGO_PKG_VERSION")}));
            ExitCode::SUCCESS
        }
        _ => {
            eprintln!("{USAGE}");
            ExitCode::from(2)
        }
    }
}

fn said_of(error: &Error) -> serde_json::Value {
    json!({"error": {"where": error.place, "message": error.message, "remedy": error.remedy}})
}

fn columns<R>(columns: &[Column<R>]) -> serde_json::Value {
    let kind = |kind| match kind {
        Kind::Int => "int",
        Kind::Float => "float",
        Kind::Text => "text",
    };
    columns.iter().map(|c| json!({"name": c.name, "type": kind(c.kind), "about": c.about})).collect()
}

fn call(args: &[OsString]) -> Result<Call, String> {
    let mut call = Call {
        files: Vec::new(),
        joined: false,
        out: PathBuf::new(),
        jobs: 1,
        settings: Settings {
            limits: Limits { connections: 1_000_000, idle_ns: 600_000_000_000 },
            rules: Rules { gap_ns: 30_000_000_000, min_ns: 120_000_000_000, service: Service::Port },
            acks: false,
            again: false,
            stdin_name: None,
            keys: KeyLog::default(),
            qlog: false,
        },
    };
    let mut args = args.iter();
    while let Some(arg) = args.next() {
        // A file's name may be of any bytes.
        let Some(option) = arg.to_str().filter(|arg| arg.starts_with("--")) else {
            call.files.push(arg.clone());
            continue;
        };
        let mut path = || args.next().ok_or(format!("{option} needs a value"));
        if option == "--out" {
            call.out = PathBuf::from(path()?);
            continue;
        }
        if option == "--keys" {
            let file = PathBuf::from(path()?);
            let text = std::fs::read(&file).map_err(|e| format!("--keys {}: {e}", file.display()))?;
            call.settings.keys.add(&String::from_utf8_lossy(&text));
            if call.settings.keys.is_empty() {
                return Err(format!("--keys {}: it holds no secret of TLS 1.3", file.display()));
            }
            continue;
        }
        let mut value = || path().map(|value| value.to_string_lossy().into_owned());
        let number =
            |text: String| text.parse::<i64>().map_err(|_| format!("{option}: {text} is no whole number"));
        let settings = &mut call.settings;
        match option {
            "--joined" => call.joined = true,
            "--jobs" => call.jobs = number(value()?)?.max(1) as usize,
            "--acks" => settings.acks = true,
            "--qlog" => settings.qlog = true,
            "--again" => settings.again = true,
            "--name" => settings.stdin_name = Some(value()?),
            "--session-gap-ns" => settings.rules.gap_ns = number(value()?)?,
            "--min-duration-ns" => settings.rules.min_ns = number(value()?)?,
            "--idle-ns" => settings.limits.idle_ns = number(value()?)?,
            "--connections" => settings.limits.connections = number(value()?)?.max(16) as usize,
            "--service" => {
                settings.rules.service = match value()?.as_str() {
                    "port" => Service::Port,
                    "server" => Service::Server,
                    "all" => Service::All,
                    other => return Err(format!("--service: {other} is none of port, server, all")),
                }
            }
            other => return Err(format!("unknown option {other}")),
        }
    }
    if call.files.is_empty() {
        return Err("no file is named".to_owned());
    }
    if call.out.as_os_str().is_empty() {
        return Err("--out DIR is missing".to_owned());
    }
    Ok(call)
}

/// Reads every log; one that fails costs itself alone. `files` of what is said are the places of its files on the command line.
fn run(call: &Call) -> ExitCode {
    let groups = pieces::groups(&call.files, call.joined);
    let (next, failed, say) = (AtomicUsize::new(0), AtomicBool::new(false), Mutex::new(()));
    thread::scope(|scope| {
        for _ in 0..call.jobs.min(groups.len()) {
            scope.spawn(|| {
                while let Some(group) = groups.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let files: Vec<OsString> = group.iter().map(|at| call.files[*at].clone()).collect();
                    let mut said = match log::read(&files, &call.out, &call.settings) {
                        Ok(Some(summary)) => json!({"done": summary}),
                        Ok(None) => json!({"skipped": "it was read before with the same settings"}),
                        Err(error) => {
                            failed.store(true, Ordering::Relaxed);
                            said_of(&error)
                        }
                    };
                    said["log"] = json!(files[0].to_string_lossy());
                    said["files"] = json!(group);
                    let _one_line = say.lock();
                    println!("{said}");
                }
            });
        }
    });
    if failed.into_inner() {
        ExitCode::FAILURE
    } else {
        ExitCode::SUCCESS
    }
}
