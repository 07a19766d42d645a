//! Reads the container of a packet log, pcap or pcapng, in one pass, and hands over each packet with its time.
//!
//! File headers, sections and interfaces are parsed by `pcap-parser`. Packet records are read here by their fixed
//! offsets: that crate allocates for the options of each one, takes a captured length that points behind its block
//! for a truncated file, knows no power-of-two `if_tsresol` and reads `if_tsoffset` in one byte order only.
//! It does not look into packets.

use std::io::{self, Read};

use pcap_parser::pcap::parse_pcap_header;
use pcap_parser::pcapng::{
    parse_interfacedescriptionblock_be, parse_interfacedescriptionblock_le, OptionCode,
};
use pcap_parser::{InterfaceDescriptionBlock, PcapHeader};

use crate::buffer::Buffer;
use crate::counts::Counts;
use crate::error::{Error, Result};

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
    /// "pcap" or "pcapng".
    pub format: &'static str,
    pub interfaces: u32,
    /// The finest time step that its interfaces declare, in nanoseconds (at least 1).
    pub resolution_ns: Option<u64>,
    /// Why reading ended before the end, or null.
    pub damage: Option<String>,
}

/// A record longer than this is damage, not a packet (libpcap's own limit for D-Bus is 128 MiB, others' 256 KiB).
const MAX_RECORD: usize = 16 << 20;

/// Reads all of `input` and calls `sink` for each packet. `place` is the name of the log for messages.
/// A log that is damaged in the middle ends there and says so in [`About::damage`].
pub fn read(
    input: impl Read,
    place: &str,
    counts: &mut Counts,
    sink: &mut impl FnMut(Packet<'_>, &mut Counts),
) -> Result<About> {
    let mut buffer = Buffer::new(input);
    let head = buffer.want(4).map_err(|e| broken(place, &e))?;
    match head {
        [0x0a, 0x0d, 0x0d, 0x0a, ..] => read_pcapng(&mut buffer, place, counts, sink),
        [0xd4, 0xc3, 0xb2, 0xa1, ..]
        | [0x4d, 0x3c, 0xb2, 0xa1, ..]
        | [0x34, 0xcd, 0xb2, 0xa1, ..]
        | [0xa1, 0xb2, 0xc3, 0xd4, ..]
        | [0xa1, 0xb2, 0x3c, 0x4d, ..] => read_pcap(&mut buffer, place, counts, sink),
        [] => Err(Error::new(
            place,
            "there is nothing in it",
            "a capture that has packets",
        )),
        _ => Err(Error::new(
            place,
            "this is neither pcap nor pcapng",
            "a file of tcpdump -w, dumpcap or a run's capture, plain or as .gz, .zst, .xz",
        )),
    }
}

fn broken(place: &str, error: &io::Error) -> Error {
    Error::new(
        place,
        format!("cannot be read: {error}"),
        "check the file; is a compressed one whole?",
    )
}

// ---- pcap ----------------------------------------------------------------------------------------------------

fn read_pcap(
    buffer: &mut Buffer<impl Read>,
    place: &str,
    counts: &mut Counts,
    sink: &mut impl FnMut(Packet<'_>, &mut Counts),
) -> Result<About> {
    let head = buffer.want(24).map_err(|e| broken(place, &e))?;
    let Ok((_, header)) = parse_pcap_header(head) else {
        return Err(Error::new(place, "its header ends too early", "a whole file"));
    };
    buffer.take(24);
    let big_endian = header.is_bigendian();
    let record_header = if header.is_modified_format() { 24 } else { 16 };
    let unit: i64 = if header.is_nanosecond_precision() { 1 } else { 1000 };
    // The upper bits of the field say how long a frame check sequence is.
    let link_type = (header.network.0 & 0xffff) as u16;
    let mut about = About {
        format: "pcap",
        interfaces: 1,
        resolution_ns: Some(unit as u64),
        damage: None,
    };
    let offset_ns = i64::from(zone(&header)) * 1_000_000_000;
    loop {
        let head = match buffer.want(record_header) {
            Ok(head) => head,
            Err(error) => return Ok(damaged(about, buffer.at, &format!("reading failed: {error}"))),
        };
        if head.len() < record_header {
            if !head.is_empty() {
                about = damaged(about, buffer.at, "it ends within the header of a packet");
            }
            return Ok(about);
        }
        let word = |at: usize| u32_at(head, at, big_endian);
        let (sec, fraction, caplen, len) = (word(0), word(4), word(8) as usize, word(12));
        if caplen > MAX_RECORD {
            return Ok(damaged(
                about,
                buffer.at,
                &format!("a packet claims {caplen} captured bytes"),
            ));
        }
        let record = match buffer.want(record_header + caplen) {
            Ok(record) => record,
            Err(error) => return Ok(damaged(about, buffer.at, &format!("reading failed: {error}"))),
        };
        if record.len() < record_header + caplen {
            return Ok(damaged(about, buffer.at, "it ends within a packet"));
        }
        let t_ns = i64::from(sec) * 1_000_000_000 + i64::from(fraction) * unit + offset_ns;
        let data = &record[record_header..];
        counts.packets += 1;
        if i64::from(fraction) * unit >= 1_000_000_000 {
            counts.odd("fraction of a second above 1 s");
        }
        sink(
            Packet {
                t_ns,
                link_type,
                len: wire_len(len, caplen, counts),
                data,
            },
            counts,
        );
        buffer.take(record_header + caplen);
    }
}

/// Seconds to add for a file in local time. Writers have put 0 here for decades.
fn zone(header: &PcapHeader) -> i32 {
    header.thiszone
}

fn wire_len(len: u32, caplen: usize, counts: &mut Counts) -> u32 {
    if (len as usize) < caplen {
        counts.odd("captured length above the length on the wire");
        return caplen as u32;
    }
    len
}

fn damaged(mut about: About, at: u64, what: &str) -> About {
    about.damage = Some(format!("byte {at}: {what}; what came before is used"));
    about
}

fn u32_at(data: &[u8], at: usize, big_endian: bool) -> u32 {
    let bytes = [data[at], data[at + 1], data[at + 2], data[at + 3]];
    if big_endian {
        u32::from_be_bytes(bytes)
    } else {
        u32::from_le_bytes(bytes)
    }
}

// ---- pcapng --------------------------------------------------------------------------------------------------

const SECTION: u32 = 0x0a0d_0d0a;
const INTERFACE: u32 = 1;
const OLD_PACKET: u32 = 2;
const SIMPLE_PACKET: u32 = 3;
const ENHANCED_PACKET: u32 = 6;

#[derive(Debug, Clone, Copy)]
struct Interface {
    link_type: u16,
    snap: u32,
    /// Units per second, as a power of ten or of two.
    units: u64,
    offset_s: i64,
}

impl Interface {
    fn t_ns(&self, high: u32, low: u32) -> Option<i64> {
        let ticks = (u64::from(high) << 32) | u64::from(low);
        let ns = match self.units {
            1_000_000_000 => i128::from(ticks),
            1_000_000 => i128::from(ticks) * 1000,
            units => i128::from(ticks) * 1_000_000_000 / i128::from(units),
        };
        let ns = ns + i128::from(self.offset_s) * 1_000_000_000;
        // Differences of two times must fit, too.
        i64::try_from(ns).ok().filter(|ns| ns.unsigned_abs() < 1 << 61)
    }
}

fn read_pcapng(
    buffer: &mut Buffer<impl Read>,
    place: &str,
    counts: &mut Counts,
    sink: &mut impl FnMut(Packet<'_>, &mut Counts),
) -> Result<About> {
    let mut about = About {
        format: "pcapng",
        interfaces: 0,
        resolution_ns: None,
        damage: None,
    };
    let mut big_endian = false;
    let mut interfaces: Vec<Interface> = Vec::new();
    loop {
        let begins = buffer.at;
        let head = match buffer.want(12) {
            Ok(head) => head,
            Err(error) => return Ok(damaged(about, buffer.at, &format!("reading failed: {error}"))),
        };
        if head.is_empty() {
            return Ok(about);
        }
        if head.len() < 12 {
            return Ok(damaged(about, buffer.at, "it ends within the header of a block"));
        }
        if u32_at(head, 0, false) == SECTION {
            big_endian = match head[8..12] {
                [0x1a, 0x2b, 0x3c, 0x4d] => true,
                [0x4d, 0x3c, 0x2b, 0x1a] => false,
                _ if begins == 0 => {
                    return Err(Error::new(
                        place,
                        "this pcapng has no byte-order mark",
                        "a whole file",
                    ));
                }
                _ => return Ok(damaged(about, buffer.at, "a section has no byte-order mark")),
            };
            interfaces.clear();
        }
        let kind = u32_at(head, 0, big_endian);
        let total = u32_at(head, 4, big_endian) as usize;
        if total < 12 || total % 4 != 0 || total > MAX_RECORD {
            return Ok(damaged(
                about,
                buffer.at,
                &format!("a block claims a length of {total} bytes"),
            ));
        }
        let block = match buffer.want(total) {
            Ok(block) => block,
            Err(error) => return Ok(damaged(about, buffer.at, &format!("reading failed: {error}"))),
        };
        if block.len() < total {
            return Ok(damaged(about, buffer.at, "it ends within a block"));
        }
        match kind {
            ENHANCED_PACKET | OLD_PACKET => packet(kind, block, &interfaces, big_endian, counts, sink),
            INTERFACE => {
                let found = interface(block, big_endian);
                if let Some(found) = found {
                    about.interfaces += 1;
                    let step = (1_000_000_000 / found.units).max(1);
                    about.resolution_ns = Some(about.resolution_ns.map_or(step, |old| old.min(step)));
                    interfaces.push(found);
                } else {
                    return Ok(damaged(
                        about,
                        buffer.at,
                        "the description of an interface cannot be read",
                    ));
                }
            }
            SIMPLE_PACKET => {
                counts.packets += 1;
                counts.unused("simple packet block: it has no time");
                if interfaces.first().is_some_and(|i| i.snap > 0) {
                    counts.block("simple packet block of a cut packet");
                }
            }
            SECTION => {}
            4 => counts.block("name resolution"),
            5 => counts.block("interface statistics"),
            9 => counts.block("systemd journal"),
            10 => counts.block("decryption secrets"),
            other => counts.block(&format!("unknown type {other:#x}")),
        }
        buffer.take(total);
    }
}

fn interface(block: &[u8], big_endian: bool) -> Option<Interface> {
    let parsed: InterfaceDescriptionBlock<'_> = if big_endian {
        parse_interfacedescriptionblock_be(block).ok()?.1
    } else {
        parse_interfacedescriptionblock_le(block).ok()?.1
    };
    let units = match parsed.if_tsresol {
        power if power & 0x80 != 0 => 1u64.checked_shl(u32::from(power & 0x7f))?,
        power => 10u64.checked_pow(u32::from(power))?,
    };
    let mut offset_s = 0;
    for option in &parsed.options {
        if option.code == OptionCode::IfTsoffset && option.value.len() >= 8 {
            let bytes = <[u8; 8]>::try_from(&option.value[..8]).ok()?;
            offset_s = if big_endian {
                i64::from_be_bytes(bytes)
            } else {
                i64::from_le_bytes(bytes)
            };
        }
    }
    Some(Interface {
        link_type: parsed.linktype.0 as u16,
        snap: parsed.snaplen,
        units,
        offset_s,
    })
}

#[inline]
fn packet(
    kind: u32,
    block: &[u8],
    interfaces: &[Interface],
    big_endian: bool,
    counts: &mut Counts,
    sink: &mut impl FnMut(Packet<'_>, &mut Counts),
) {
    counts.packets += 1;
    if block.len() < 32 {
        counts.unused("packet block that is too short");
        return;
    }
    let word = |at: usize| u32_at(block, at, big_endian);
    let id = match kind {
        // The obsolete packet block holds the interface and a count of drops in one word.
        OLD_PACKET if big_endian => word(8) >> 16,
        OLD_PACKET => word(8) & 0xffff,
        _ => word(8),
    };
    let Some(interface) = interfaces.get(id as usize) else {
        counts.unused("interface that was not described");
        return;
    };
    let Some(t_ns) = interface.t_ns(word(12), word(16)) else {
        counts.unused("time out of range");
        return;
    };
    let mut caplen = word(20) as usize;
    let room = block.len() - 32;
    if caplen > room {
        counts.odd("captured length behind the end of its block");
        caplen = room;
    }
    let len = wire_len(word(24), caplen, counts);
    sink(
        Packet {
            t_ns,
            link_type: interface.link_type,
            len,
            data: &block[28..28 + caplen],
        },
        counts,
    );
}
