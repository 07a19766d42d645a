//! `certified`: makes a self-signed certificate with its key, then becomes another program that reads them.
//!
//! For servers of others, which want both as files and do not make them. Knows nothing of what it starts.

use narrows_wire::args::Options;
use narrows_wire::program;
use narrows_wire::tls::Identity;
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode};

const USAGE: &str =
    "usage: narrows-agent certified --name ADDRESS --cert FILE --key FILE -- PROGRAM [ARGUMENT ...]";

#[derive(Debug, PartialEq)]
struct Args {
    name: String,
    cert: String,
    key: String,
    program: Vec<String>,
}

fn parse(args: &[String]) -> Result<Args, String> {
    let split = args.iter().position(|arg| arg == "--").ok_or("-- and a program behind it are missing")?;
    let mut options = Options::read(&args[..split], &["name", "cert", "key"], &[])?;
    let mut needed = |name: &str| options.take(name).ok_or(format!("--{name} is missing"));
    let parsed = Args {
        name: needed("name")?,
        cert: needed("cert")?,
        key: needed("key")?,
        program: args[split + 1..].to_vec(),
    };
    if parsed.program.is_empty() {
        return Err("behind -- there is no program".into());
    }
    Ok(parsed)
}

/// `narrows-agent certified …`
pub fn main(args: &[String]) -> ExitCode {
    program::run("certified", USAGE, parse(args), run)
}

/// Comes back only with an error.
fn run(args: Args) -> Result<(), String> {
    write_identity(&args)?;
    let error = Command::new(&args.program[0]).args(&args.program[1..]).exec();
    Err(format!("cannot start {}: {error}", args.program[0]))
}

fn write_identity(args: &Args) -> Result<(), String> {
    let identity = Identity::new(None, vec![args.name.clone()])?;
    for (file, text) in [(&args.cert, identity.pem()), (&args.key, identity.key_pem())] {
        let written = std::fs::OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(true)
            .mode(0o600)
            .open(file)
            .and_then(|mut out| std::io::Write::write_all(&mut out, text.as_bytes()));
        written.map_err(|e| format!("{file}: cannot be written: {e}"))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use narrows_wire::tls;

    fn words(text: &str) -> Vec<String> {
        text.split_whitespace().map(str::to_owned).collect()
    }

    #[test]
    fn a_server_of_ours_can_use_the_files_that_are_made_for_others() {
        let place = std::env::temp_dir().join(format!("narrows-certified-{}", std::process::id()));
        std::fs::create_dir_all(&place).unwrap();
        let at = |name: &str| place.join(name).to_string_lossy().into_owned();
        let line = format!("--name 10.0.2.1 --cert {} --key {} -- server -a --b", at("c"), at("k"));
        let args = parse(&words(&line)).unwrap();
        assert_eq!(args.program, ["server", "-a", "--b"]);
        write_identity(&args).unwrap();
        let (cert, key) = (at("c"), at("k"));
        Identity::new(Some((&cert, &key)), vec![]).and_then(Identity::into_config).unwrap();
        tls::client_config(false, Some(&cert)).unwrap();
        std::fs::remove_dir_all(place).unwrap();
    }

    #[test]
    fn wrong_command_lines_are_refused_naming_what_is_missing() {
        for (line, part) in [
            ("--name a --cert c --key k", "--"),
            ("--name a --cert c --key k --", "no program"),
            ("--name a --cert c -- x", "--key"),
            ("--nme a -- x", "--nme"),
        ] {
            let error = parse(&words(line)).unwrap_err();
            assert!(error.contains(part), "{line}: {error}");
        }
    }
}
