//! Opens a packet log: a file or standard input, plain or compressed (gzip, zstd, xz). It knows nothing of packets.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use crate::error::{Error, Result};

/// The name that means standard input.
pub const STDIN: &str = "-";

/// A reader of the log's plain bytes and the name of its compression ("none", "gzip", "zstd", "xz").
/// The compression is known by its first bytes, whatever the file is called.
pub fn open(file: impl AsRef<OsStr>) -> Result<(Box<dyn Read + Send>, &'static str)> {
    let file = file.as_ref();
    let name: &str = &file.to_string_lossy();
    let raw: Box<dyn Read + Send> =
        if name == STDIN { Box::new(io::stdin()) } else { Box::new(open_file(Path::new(file), name)?) };
    let raw = Peeked::new(raw, name)?;
    let head = raw.head();
    if head.is_empty() {
        return Err(Error::new(name, "the file is empty", "a capture that has packets"));
    }
    let kind = match head {
        [0x1f, 0x8b, ..] => "gzip",
        [0x28, 0xb5, 0x2f, 0xfd, ..] => "zstd",
        // A frame to be passed over, as indexes are kept in.
        [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..] => "zstd",
        [0xfd, b'7', b'z', b'X', b'Z', 0] => "xz",
        _ => "none",
    };
    let plain: Box<dyn Read + Send> = match kind {
        // Several members in one file are one stream, as gzip and zstd themselves read them.
        "gzip" => Box::new(flate2::read::MultiGzDecoder::new(raw)),
        "zstd" => Box::new(zstd::stream::read::Decoder::new(raw).map_err(|e| unreadable(name, &e))?),
        "xz" => Box::new(liblzma::read::XzDecoder::new_multi_decoder(raw)),
        _ => Box::new(raw),
    };
    Ok((plain, kind))
}

fn open_file(path: &Path, name: &str) -> Result<File> {
    if path.is_dir() {
        return Err(Error::new(name, "this is a directory", "name the captures in it"));
    }
    File::open(path).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => Error::new(name, "there is no such file", "check the path"),
        io::ErrorKind::PermissionDenied => {
            Error::new(name, "there is no permission to read it", "chmod or another user")
        }
        _ => unreadable(name, &error),
    })
}

fn unreadable(name: &str, error: &io::Error) -> Error {
    Error::new(name, format!("cannot be read: {error}"), "check the file")
}

/// The longest magic number of a compression.
const HEAD: usize = 6;

/// A reader whose first bytes have been looked at and are still delivered.
struct Peeked {
    head: [u8; HEAD],
    len: usize,
    at: usize,
    rest: Box<dyn Read + Send>,
}

impl Peeked {
    fn new(mut rest: Box<dyn Read + Send>, name: &str) -> Result<Self> {
        let mut head = [0; HEAD];
        let mut len = 0;
        while len < HEAD {
            match rest.read(&mut head[len..]) {
                Ok(0) => break,
                Ok(n) => len += n,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(unreadable(name, &error)),
            }
        }
        Ok(Peeked { head, len, at: 0, rest })
    }

    fn head(&self) -> &[u8] {
        &self.head[..self.len]
    }
}

impl Read for Peeked {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if self.at < self.len {
            let n = out.len().min(self.len - self.at);
            out[..n].copy_from_slice(&self.head[self.at..self.at + n]);
            self.at += n;
            return Ok(n);
        }
        self.rest.read(out)
    }
}
