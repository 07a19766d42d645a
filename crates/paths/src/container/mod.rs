//! Reads the container of a packet log, pcap or pcapng, in one pass, and hands over each packet with its time.
//!
//! File headers, sections and interfaces are parsed by `pcap-parser`. Packet records are read here by their fixed
//! offsets: that crate allocates for the options of each one, takes a captured length that points behind its block
//! for a truncated file, knows no power-of-two `if_tsresol` and reads `if_tsoffset` in one byte order only.
//! It does not look into packets.

mod pcapng;

use std::io::{self, Read};

use pcap_parser::pcap::parse_pcap_header;

use crate::buffer::Buffer;
use crate::counts::Counts;
use crate::error::{Error, Result};
use narrows_units::S;
use pcapng::{
    count_block, interface, key_log, packet, Interface, ENHANCED_PACKET, INTERFACE, OLD_PACKET, SECRETS,
    SECTION, SIMPLE_PACKET,
};

/// One packet as the log holds it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Packet<'a> {
    /// Nanoseconds since 1970, as the log says.
    pub t_ns: i64,
    /// LINKTYPE_ number of its interface.
    pub link_type: u16,
    /// Length on the wire in bytes; `data` may be less.
    pub len: u32,
    pub data: &'a [u8],
}

/// What the container itself says of the log.
#[derive(Debug, Default, Clone, PartialEq, serde::Serialize)]
pub struct About {
    /// "pcap" or "pcapng", of the first file.
    pub format: &'static str,
    /// Files that it is made of: one behind the other, or joined.
    pub files: u32,
    pub interfaces: u32,
    /// The finest time step that its interfaces declare, in nanoseconds (at least 1).
    pub resolution_ns: Option<u64>,
    /// Why reading ended before the end, or null.
    pub damage: Option<String>,
}

/// A record longer than this is damage, not a packet (libpcap's own limit for D-Bus is 128 MiB, others' 256 KiB).
/// Blocks that hold no packet may be longer.
const MAX_RECORD: usize = 16 << 20;

/// Reads all of `input` and calls `sink` for each packet. `place` is the name of the log for messages.
/// A log that is damaged in the middle ends there and says so in [`About::damage`].
pub fn read(
    input: impl Read,
    place: &str,
    counts: &mut Counts,
    sink: &mut impl FnMut(Packet<'_>, &mut Counts),
) -> Result<About> {
    let mut reader = Reader::open(input, place)?;
    while let Some(packet) = reader.next(counts)? {
        sink(packet, counts);
    }
    Ok(reader.about)
}

/// How the container goes on at this place: each file that stands behind another has its own.
#[derive(Debug, Clone, Copy)]
enum Form {
    Pcap { big_endian: bool, record_header: usize, unit_ns: i64, link_type: u16, offset_ns: i64 },
    Pcapng { big_endian: bool },
}

/// Hands over the packets of one log, one at a time.
pub struct Reader<R> {
    buffer: Buffer<R>,
    place: String,
    form: Form,
    interfaces: Vec<Interface>,
    /// Bytes of the record that was handed over last.
    used: usize,
    /// Packets of a pcap in µs, and those of them whose fraction is above a second.
    fractions: (u64, u64),
    pub about: About,
}

/// A packet by its place in the buffer.
struct Found {
    t_ns: i64,
    link_type: u16,
    len: u32,
    from: usize,
    to: usize,
}

impl<R: Read> Reader<R> {
    /// Looks at what the log begins with.
    pub fn open(input: R, place: &str) -> Result<Self> {
        let mut buffer = Buffer::new(input);
        let head = buffer.want(24).map_err(|e| broken(place, &e))?;
        let form = match head {
            [0x0a, 0x0d, 0x0d, 0x0a, ..] => Form::Pcapng { big_endian: false },
            [] => return Err(Error::new(place, "there is nothing in it", "a capture that has packets")),
            _ if !is_pcap(head) => {
                return Err(Error::new(
                    place,
                    "this is neither pcap nor pcapng",
                    "a file of tcpdump -w, dumpcap or a run's capture, plain or as .gz, .zst, .xz",
                ))
            }
            _ => pcap_form(head)
                .ok_or_else(|| Error::new(place, "its header ends too early", "a whole file"))?,
        };
        let mut reader = Reader {
            buffer,
            place: place.to_owned(),
            form,
            interfaces: Vec::new(),
            used: 0,
            fractions: (0, 0),
            about: About { files: 1, ..About::default() },
        };
        match form {
            Form::Pcap { .. } => reader.begin_pcap(),
            Form::Pcapng { .. } => reader.about.format = "pcapng",
        }
        Ok(reader)
    }

    /// The next packet. None: the log has ended, and [`About::damage`] says whether it had to.
    #[inline]
    pub fn next(&mut self, counts: &mut Counts) -> Result<Option<Packet<'_>>> {
        let Some(found) = self.advance(counts)? else {
            return Ok(None);
        };
        Ok(Some(Packet {
            t_ns: found.t_ns,
            link_type: found.link_type,
            len: found.len,
            data: &self.buffer.held()[found.from..found.to],
        }))
    }

    #[inline]
    fn advance(&mut self, counts: &mut Counts) -> Result<Option<Found>> {
        loop {
            self.buffer.take(std::mem::take(&mut self.used));
            let found = match self.form {
                Form::Pcap { .. } => self.pcap_record(counts),
                Form::Pcapng { big_endian } => self.block(big_endian, counts)?,
            };
            match found {
                Some(Some(found)) => return Ok(Some(found)),
                Some(None) => {}
                None => {
                    self.doubt_fractions(1)?;
                    return Ok(None);
                }
            }
            self.doubt_fractions(3)?;
        }
    }

    /// Another file begins here, as behind `cat`. Whether it does.
    #[cold]
    fn begins_another(&mut self) -> bool {
        let Ok(head) = self.buffer.want(24) else {
            return false;
        };
        if head.starts_with(&[0x0a, 0x0d, 0x0d, 0x0a]) {
            self.form = Form::Pcapng { big_endian: false };
            self.interfaces.clear();
        } else if let Some(form) = pcap_form(head).filter(|_| is_pcap_header(head)) {
            self.form = form;
            self.begin_pcap();
        } else {
            return false;
        }
        self.about.files += 1;
        true
    }

    fn end(&mut self, what: &str) {
        self.about.damage = Some(format!("byte {}: {what}; what came before is used", self.buffer.at));
    }

    // ---- pcap ------------------------------------------------------------------------------------------------

    fn begin_pcap(&mut self) {
        if let Form::Pcap { unit_ns, .. } = self.form {
            self.buffer.take(24);
            if self.about.format.is_empty() {
                self.about.format = "pcap";
            }
            self.about.interfaces += 1;
            self.see_resolution(unit_ns as u64);
        }
    }

    fn see_resolution(&mut self, step_ns: u64) {
        let old = self.about.resolution_ns;
        self.about.resolution_ns = Some(old.map_or(step_ns, |old| old.min(step_ns)));
    }

    /// Nanoseconds in a file that says microseconds are 1000 times as long: nothing of it would be right.
    #[cold]
    fn doubt(&self) -> Error {
        Error::new(
            &self.place,
            "its times are in nanoseconds, and its header says microseconds (fractions above a second)",
            "write 4d 3c b2 a1 into its first four bytes (a1 b2 3c 4d where the most significant byte comes first)",
        )
    }

    #[inline]
    fn doubt_fractions(&self, least: u64) -> Result<()> {
        let (packets, above) = self.fractions;
        if above >= least && above * 2 > packets {
            return Err(self.doubt());
        }
        Ok(())
    }

    /// The record of a pcap. None: the log has ended; Some(None): it goes on with another file.
    #[inline]
    fn pcap_record(&mut self, counts: &mut Counts) -> Option<Option<Found>> {
        let Form::Pcap { big_endian, record_header, unit_ns, link_type, offset_ns } = self.form else {
            return None;
        };
        let head = match self.buffer.want(record_header) {
            Ok(head) => head,
            Err(error) => {
                self.end(&format!("reading failed: {error}"));
                return None;
            }
        };
        if head.len() < record_header {
            if !head.is_empty() {
                self.end("it ends within the header of a packet");
            }
            return None;
        }
        let word = |at: usize| u32_at(head, at, big_endian);
        let (sec, fraction, caplen, len) = (word(0), word(4), word(8) as usize, word(12));
        if is_magic(head) && self.begins_another() {
            return Some(None);
        }
        if caplen > MAX_RECORD {
            self.end(&format!("a packet claims {caplen} captured bytes"));
            return None;
        }
        match self.buffer.want(record_header + caplen).map(<[u8]>::len) {
            Ok(got) if got == record_header + caplen => {}
            Ok(_) => {
                self.end("it ends within a packet");
                return None;
            }
            Err(error) => {
                self.end(&format!("reading failed: {error}"));
                return None;
            }
        }
        counts.packets += 1;
        let fraction_ns = i64::from(fraction) * unit_ns;
        self.fractions.0 += 1;
        if fraction_ns >= S {
            self.fractions.1 += 1;
            counts.odd("fraction of a second above 1 s");
        }
        self.used = record_header + caplen;
        Some(Some(Found {
            t_ns: i64::from(sec) * S + fraction_ns + offset_ns,
            link_type,
            len: wire_len(len, caplen, counts),
            from: record_header,
            to: record_header + caplen,
        }))
    }

    // ---- pcapng ----------------------------------------------------------------------------------------------

    /// The next block. None: the log has ended; Some(None): it held no packet.
    #[inline]
    fn block(&mut self, big_endian: bool, counts: &mut Counts) -> Result<Option<Option<Found>>> {
        let begins = self.buffer.at;
        let head = match self.buffer.want(12) {
            Ok(head) => head,
            Err(error) => {
                self.end(&format!("reading failed: {error}"));
                return Ok(None);
            }
        };
        if head.is_empty() {
            return Ok(None);
        }
        if head.len() < 12 {
            self.end("it ends within the header of a block");
            return Ok(None);
        }
        let mut big_endian = big_endian;
        if u32_at(head, 0, false) == SECTION {
            big_endian = match head[8..12] {
                [0x1a, 0x2b, 0x3c, 0x4d] => true,
                [0x4d, 0x3c, 0x2b, 0x1a] => false,
                _ if begins == 0 => {
                    return Err(Error::new(
                        &self.place,
                        "this pcapng has no byte-order mark",
                        "a whole file",
                    ));
                }
                _ => {
                    self.end("a section has no byte-order mark");
                    return Ok(None);
                }
            };
            self.interfaces.clear();
            self.form = Form::Pcapng { big_endian };
        } else if is_magic(head) && self.begins_another() {
            return Ok(Some(None));
        }
        let head = self.buffer.held();
        let kind = u32_at(head, 0, big_endian);
        let total = u32_at(head, 4, big_endian) as usize;
        let is_packet = matches!(kind, ENHANCED_PACKET | OLD_PACKET | SIMPLE_PACKET);
        let long = total > MAX_RECORD && !is_packet && !matches!(kind, SECTION | INTERFACE);
        if total < 12 || total % 4 != 0 || (total > MAX_RECORD && !long) {
            self.end(&format!("a block claims a length of {total} bytes"));
            return Ok(None);
        }
        if long {
            return Ok(self.skip_block(kind, total, big_endian, counts));
        }
        let block = match self.buffer.want(total) {
            Ok(block) => block,
            Err(error) => {
                self.end(&format!("reading failed: {error}"));
                return Ok(None);
            }
        };
        if block.len() < total {
            self.end("it ends within a block");
            return Ok(None);
        }
        self.used = total;
        match kind {
            ENHANCED_PACKET | OLD_PACKET => {
                return Ok(Some(packet(kind, block, &self.interfaces, big_endian, counts)))
            }
            INTERFACE => {
                let Some(found) = interface(block, big_endian) else {
                    self.end("the description of an interface cannot be read");
                    return Ok(None);
                };
                self.about.interfaces += 1;
                self.see_resolution((S as u64 / found.units).max(1));
                self.interfaces.push(found);
            }
            SIMPLE_PACKET => {
                counts.packets += 1;
                counts.unused("simple packet block: it has no time");
                if self.interfaces.first().is_some_and(|i| i.snap > 0) {
                    counts.block("simple packet block of a cut packet");
                }
            }
            SECTION => {}
            SECRETS => {
                count_block(kind, counts);
                counts.secrets.extend(key_log(block, big_endian));
            }
            other => count_block(other, counts),
        }
        Ok(Some(None))
    }

    /// A block without packets that is too long to be held: secrets, names, custom ones.
    #[cold]
    fn skip_block(
        &mut self,
        kind: u32,
        total: usize,
        big_endian: bool,
        counts: &mut Counts,
    ) -> Option<Option<Found>> {
        let whole = self.buffer.skip(total - 4).unwrap_or(false);
        let ends = whole
            .then(|| self.buffer.want(4).ok().filter(|end| end.len() == 4))
            .flatten()
            .map(|end| u32_at(end, 0, big_endian) as usize);
        match ends {
            Some(length) if length == total => {
                self.used = 4;
                count_block(kind, counts);
                Some(None)
            }
            Some(_) => {
                self.end(&format!("a block claims a length of {total} bytes"));
                None
            }
            None => {
                self.end("it ends within a block");
                None
            }
        }
    }
}

fn broken(place: &str, error: &io::Error) -> Error {
    Error::new(place, format!("cannot be read: {error}"), "check the file; is a compressed one whole?")
}

/// Whether a pcap's header begins so.
fn is_pcap(head: &[u8]) -> bool {
    matches!(
        head,
        [0xd4, 0xc3, 0xb2, 0xa1, ..]
            | [0x4d, 0x3c, 0xb2, 0xa1, ..]
            | [0x34, 0xcd, 0xb2, 0xa1, ..]
            | [0xa1, 0xb2, 0xc3, 0xd4, ..]
            | [0xa1, 0xb2, 0x3c, 0x4d, ..]
            | [0xa1, 0xb2, 0xcd, 0x34, ..]
    )
}

/// Whether a file may begin where a record or a block should. As a time of a record all of these are of 1975 or 2055.
#[inline]
fn is_magic(head: &[u8]) -> bool {
    matches!(head[0], 0x0a | 0xd4 | 0x4d | 0x34 | 0xa1)
        && (is_pcap(head) || head.starts_with(&[0x0a, 0x0d, 0x0d, 0x0a]))
}

/// Whether this is a pcap's header and no record: version 2.4, and 0 for the zone and the accuracy, which are lengths there.
fn is_pcap_header(head: &[u8]) -> bool {
    head.len() == 24 && matches!(head[4..8], [2, 0, 4, 0] | [0, 2, 0, 4]) && head[8..16] == [0; 8]
}

fn pcap_form(head: &[u8]) -> Option<Form> {
    let (_, header) = parse_pcap_header(head).ok()?;
    Some(Form::Pcap {
        big_endian: header.is_bigendian(),
        record_header: if header.is_modified_format() { 24 } else { 16 },
        unit_ns: if header.is_nanosecond_precision() { 1 } else { 1000 },
        // The upper bits of the field say how long a frame check sequence is.
        link_type: (header.network.0 & 0xffff) as u16,
        // Seconds to add for a file in local time. Writers have put 0 there for decades.
        offset_ns: i64::from(header.thiszone) * S,
    })
}

fn wire_len(len: u32, caplen: usize, counts: &mut Counts) -> u32 {
    if (len as usize) < caplen {
        counts.odd("captured length above the length on the wire");
        return caplen as u32;
    }
    len
}

fn u32_at(data: &[u8], at: usize, big_endian: bool) -> u32 {
    let bytes = [data[at], data[at + 1], data[at + 2], data[at + 3]];
    if big_endian {
        u32::from_be_bytes(bytes)
    } else {
        u32::from_le_bytes(bytes)
    }
}
