//! Command lines of tools. Parses only; touches neither files nor sockets.

use std::net::SocketAddr;
use std::ops::RangeInclusive;

/// Which way a test loads the path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    Download,
    Upload,
}

impl Way {
    pub fn name(self) -> &'static str {
        match self {
            Way::Download => "download",
            Way::Upload => "upload",
        }
    }
}

/// The options of one command line, until they are taken.
pub struct Options(Vec<(String, String)>);

impl Options {
    /// `--name VALUE`, `--name=VALUE` and `--flag`; anything else, and anything twice, is an error.
    pub fn read(args: &[String], values: &[&str], flags: &[&str]) -> Result<Options, String> {
        let mut found = Options(vec![]);
        let mut args = args.iter();
        while let Some(arg) = args.next() {
            let name = arg.strip_prefix("--").ok_or_else(|| format!("'{arg}' is not an option"))?;
            let (name, given) = match name.split_once('=') {
                Some((name, value)) => (name, Some(value.to_owned())),
                None => (name, None),
            };
            let value = if flags.contains(&name) {
                match given {
                    Some(_) => return Err(format!("--{name} takes no value")),
                    None => String::new(),
                }
            } else if values.contains(&name) {
                given.or_else(|| args.next().cloned()).ok_or_else(|| format!("--{name} needs a value"))?
            } else {
                return Err(format!("unknown option --{name}"));
            };
            if found.has(name) {
                return Err(format!("--{name} is given twice"));
            }
            found.0.push((name.to_owned(), value));
        }
        Ok(found)
    }

    pub fn take(&mut self, name: &str) -> Option<String> {
        let at = self.0.iter().position(|(n, _)| n == name)?;
        Some(self.0.remove(at).1)
    }

    pub fn has(&self, name: &str) -> bool {
        self.0.iter().any(|(n, _)| n == name)
    }

    pub fn flag(&mut self, name: &str) -> bool {
        self.take(name).is_some()
    }

    /// `--listen ADDR:PORT`, which a server needs; `like` is an example.
    pub fn listen(&mut self, like: &str) -> Result<SocketAddr, String> {
        let listen = self.take("listen").ok_or("--listen ADDR:PORT is missing")?;
        listen.parse().map_err(|_| format!("--listen {listen}: not an address and port, like {like}"))
    }

    /// `--server ADDR:PORT`, which a client needs.
    pub fn server(&mut self) -> Result<SocketAddr, String> {
        let server = self.take("server").ok_or("--server ADDR:PORT is missing")?;
        server.parse().map_err(|_| format!("--server {server}: not an address and port"))
    }

    /// `--cert FILE` and `--key FILE`, both or neither.
    pub fn cert_and_key(&mut self) -> Result<Option<(String, String)>, String> {
        match (self.take("cert"), self.take("key")) {
            (Some(cert), Some(key)) => Ok(Some((cert, key))),
            (None, None) => Ok(None),
            _ => Err("--cert and --key go together".into()),
        }
    }

    /// `--tests download,upload`: both if nothing is said.
    pub fn ways(&mut self) -> Result<Vec<Way>, String> {
        let text = self.take("tests").unwrap_or_else(|| "download,upload".into());
        text.split(',')
            .map(|name| match name {
                "download" => Ok(Way::Download),
                "upload" => Ok(Way::Upload),
                _ => Err(format!("--tests {text}: '{name}' is neither download nor upload")),
            })
            .collect()
    }

    /// A whole number, if it is given.
    pub fn number(&mut self, name: &str, range: RangeInclusive<u64>) -> Result<Option<u64>, String> {
        let Some(text) = self.take(name) else {
            return Ok(None);
        };
        let number = text.parse().ok().filter(|n| range.contains(n));
        number.map(Some).ok_or_else(|| {
            let (least, most) = (range.start(), range.end());
            format!("--{name} {text}: not a whole number from {least} to {most}")
        })
    }

    /// Where to write; None is the standard output, as is `-`.
    pub fn file(&mut self, name: &str) -> Option<String> {
        self.take(name).filter(|name| name != "-")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const VALUES: [&str; 6] = ["listen", "server", "cert", "key", "tests", "number"];

    fn options(text: &str) -> Result<Options, String> {
        Options::read(&crate::testing::words(text), &VALUES, &["flag"])
    }

    #[test]
    fn options_are_taken_by_name_and_what_is_not_given_is_none() {
        let mut read = options("--listen [::]:443 --tests=upload --flag --number 7").unwrap();
        assert_eq!(read.listen("").unwrap().port(), 443);
        assert_eq!(read.ways().unwrap(), [Way::Upload]);
        assert!(read.flag("flag") && !read.flag("flag"));
        assert_eq!(read.number("number", 1..=7), Ok(Some(7)));
        assert_eq!(read.number("number", 1..=7), Ok(None));
        assert_eq!(read.cert_and_key(), Ok(None));
        assert_eq!(read.ways().unwrap(), [Way::Download, Way::Upload]);
    }

    #[test]
    fn wrong_options_are_refused_naming_them_and_their_value() {
        for (text, part) in [
            ("listen", "'listen' is not an option"),
            ("--lisen x", "--lisen"),
            ("--number 1 --number 1", "--number is given twice"),
            ("--number", "--number needs a value"),
            ("--flag=1", "--flag takes no value"),
        ] {
            let error = options(text).err().unwrap();
            assert!(error.contains(part), "{text}: {error}");
        }
        let of = |text: &str| options(text).unwrap();
        let eight = of("--number 8").number("number", 1..=7);
        assert_eq!(eight.unwrap_err(), "--number 8: not a whole number from 1 to 7");
        let listen = of("--listen localhost").listen("1.2.3.4:5").unwrap_err();
        for (error, part) in [
            (of("").listen("").unwrap_err(), "--listen"),
            (listen.clone(), "localhost"),
            (listen, "1.2.3.4:5"),
            (of("--server h").server().unwrap_err(), "--server h"),
            (of("--cert c").cert_and_key().unwrap_err(), "--key"),
            (of("--tests ping").ways().unwrap_err(), "'ping'"),
        ] {
            assert!(error.contains(part), "{part}: {error}");
        }
    }
}
