//! One capture in pieces: files that were rotated while it ran, or one for each interface of a host. They are read as one
//! log, in the order of their packets' times.

use std::cmp::Reverse;
use std::collections::{BTreeMap, VecDeque};
use std::ffi::{OsStr, OsString};
use std::io::Read;

use crate::container::{About, Reader};
use crate::counts::Counts;
use crate::error::{Error, Result};
use crate::headers::{self, Unit};
use crate::input;

/// A piece is opened when the others are this near to its first packet, so that few are open at once.
const AHEAD_NS: i64 = 1_000_000_000;

type Input = Box<dyn Read + Send>;

/// Pieces of one capture, in the order of their first packets.
pub struct Pieces {
    waiting: VecDeque<(i64, OsString)>,
    open: Vec<Piece>,
    about: Option<About>,
    pub compression: &'static str,
}

struct Piece {
    name: String,
    reader: Reader<Input>,
    next: (i64, Option<Unit>),
}

impl Pieces {
    /// Looks at the first packet of each. Pieces without packets, as the last one of a capture may be, are left out.
    pub fn open(names: &[OsString]) -> Result<Self> {
        let mut pieces =
            Pieces { waiting: VecDeque::new(), open: Vec::new(), about: None, compression: "none" };
        let mut found = Vec::new();
        for name in names {
            if name == input::STDIN {
                return Err(Error::new(
                    input::STDIN,
                    "standard input is no piece of a capture",
                    "name files",
                ));
            }
            if std::fs::metadata(name).is_ok_and(|m| m.is_file() && m.len() == 0) {
                continue;
            }
            let (mut reader, compression) = reader(name)?;
            if let Some(packet) = reader.next(&mut Counts::default())? {
                found.push((packet.t_ns, name.clone()));
            }
            pieces.compression = compression;
        }
        found.sort();
        pieces.waiting = found.into();
        Ok(pieces)
    }

    /// Hands over the time of each packet of all pieces, and what it carries of TCP or UDP.
    pub fn read(
        mut self,
        counts: &mut Counts,
        sink: &mut impl FnMut(i64, Option<Unit>, &mut Counts),
    ) -> Result<About> {
        loop {
            let earliest = self.open.iter().map(|piece| piece.next.0).min();
            if let Some((t_ns, name)) = self.waiting.front() {
                if earliest.is_none_or(|earliest| *t_ns <= earliest.saturating_add(AHEAD_NS)) {
                    let mut piece = Piece {
                        name: name.to_string_lossy().into_owned(),
                        reader: reader(name)?.0,
                        next: (0, None),
                    };
                    self.waiting.pop_front();
                    if piece.advance(counts)? {
                        self.open.push(piece);
                    } else {
                        self.end(piece);
                    }
                    continue;
                }
            }
            let Some(at) = (0..self.open.len()).min_by_key(|at| self.open[*at].next.0) else {
                break;
            };
            let (t_ns, unit) = (self.open[at].next.0, self.open[at].next.1.take());
            sink(t_ns, unit, counts);
            if !self.open[at].advance(counts)? {
                let piece = self.open.remove(at);
                self.end(piece);
            }
        }
        Ok(self.about.unwrap_or_default())
    }

    fn end(&mut self, piece: Piece) {
        let mut about = piece.reader.about;
        about.damage = about.damage.map(|damage| format!("{}: {damage}", piece.name));
        if let Some(all) = &mut self.about {
            all.files += about.files;
            all.interfaces += about.interfaces;
            all.resolution_ns = all.resolution_ns.into_iter().chain(about.resolution_ns).min();
            all.damage = match (all.damage.take(), about.damage) {
                (Some(a), Some(b)) => Some(format!("{a}; {b}")),
                (a, b) => a.or(b),
            };
        } else {
            self.about = Some(about);
        }
    }
}

impl Piece {
    fn advance(&mut self, counts: &mut Counts) -> Result<bool> {
        let Some(packet) = self.reader.next(counts)? else {
            return Ok(false);
        };
        self.next = (packet.t_ns, headers::unwrap(&packet, counts));
        Ok(true)
    }
}

fn reader(name: &OsStr) -> Result<(Reader<Input>, &'static str)> {
    let (input, compression) = input::open(name)?;
    Ok((Reader::open(input, &name.to_string_lossy())?, compression))
}

/// Files that are pieces of one capture by their names, each with its place: dumpcap's `x_00001_20231114221320.pcapng`,
/// tcpdump -C's `x.pcap`, `x.pcap1`, `x.pcap2`. All of `files` are when they are `joined`.
pub fn groups(files: &[OsString], joined: bool) -> Vec<Vec<usize>> {
    if joined {
        return vec![(0..files.len()).collect()];
    }
    let stems: Vec<Option<String>> = files.iter().map(|file| stem(&file.to_string_lossy())).collect();
    let mut of: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (at, name) in stems.iter().enumerate() {
        if let Some(name) = name {
            of.entry(name).or_default().push(at);
        }
    }
    // The first of tcpdump's files has no number.
    for (at, file) in files.iter().enumerate().filter(|(at, _)| stems[*at].is_none()) {
        if let Some(group) = of.get_mut(without_compression(&file.to_string_lossy())) {
            group.push(at);
        }
    }
    let mut groups: Vec<Vec<usize>> = of.into_values().collect();
    let grouped: Vec<usize> = groups.iter().flatten().copied().collect();
    groups.extend((0..files.len()).filter(|at| !grouped.contains(at)).map(|at| vec![at]));
    for group in &mut groups {
        group.sort_unstable();
    }
    groups.sort_by_key(|group| Reverse(group.len()));
    groups
}

/// What pieces of one capture have in common.
fn stem(file: &str) -> Option<String> {
    let name = without_compression(file);
    if let Some((begins, ends)) = name.rsplit_once('.') {
        // dumpcap: a number of five digits, and the time of fourteen.
        let digits = |text: &str, n: usize| text.len() == n && text.bytes().all(|b| b.is_ascii_digit());
        let parts: Vec<&str> = begins.rsplitn(3, '_').collect();
        if let [time, number, base] = parts[..] {
            if digits(time, 14) && digits(number, 5) {
                return Some(format!("{base}_*.{ends}"));
            }
        }
    }
    let base = name.trim_end_matches(|c: char| c.is_ascii_digit());
    let is_log = [".pcap", ".cap", ".dmp", ".pcapng"].iter().any(|e| base.ends_with(e));
    (is_log && base.len() < name.len()).then(|| base.to_owned())
}

fn without_compression(file: &str) -> &str {
    [".gz", ".zst", ".xz"].iter().find_map(|end| file.strip_suffix(end)).unwrap_or(file)
}
