//! What blocks of a pcapng hold: interfaces and packets.

use pcap_parser::pcapng::{
    parse_interfacedescriptionblock_be, parse_interfacedescriptionblock_le, OptionCode,
};
use pcap_parser::InterfaceDescriptionBlock;

use super::{u32_at, wire_len, Found};
use crate::counts::Counts;
use narrows_units::S;

pub(super) const SECTION: u32 = 0x0a0d_0d0a;
pub(super) const INTERFACE: u32 = 1;
pub(super) const OLD_PACKET: u32 = 2;
pub(super) const SIMPLE_PACKET: u32 = 3;
pub(super) const ENHANCED_PACKET: u32 = 6;
pub(super) const SECRETS: u32 = 10;

#[derive(Debug, Clone, Copy)]
pub(super) struct Interface {
    link_type: u16,
    pub snap: u32,
    /// Units per second, as a power of ten or of two.
    pub units: u64,
    offset_s: i64,
}

impl Interface {
    fn t_ns(&self, high: u32, low: u32) -> Option<i64> {
        let ticks = (u64::from(high) << 32) | u64::from(low);
        let ns = match self.units {
            1_000_000_000 => i128::from(ticks),
            1_000_000 => i128::from(ticks) * 1000,
            units => i128::from(ticks) * i128::from(S) / i128::from(units),
        };
        let ns = ns + i128::from(self.offset_s) * i128::from(S);
        // Differences of two times must fit, too.
        i64::try_from(ns).ok().filter(|ns| ns.unsigned_abs() < 1 << 61)
    }
}

pub(super) fn interface(block: &[u8], big_endian: bool) -> Option<Interface> {
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
            offset_s = if big_endian { i64::from_be_bytes(bytes) } else { i64::from_le_bytes(bytes) };
        }
    }
    Some(Interface { link_type: parsed.linktype.0 as u16, snap: parsed.snaplen, units, offset_s })
}

/// The packet of a packet block, or None: the reason was counted.
#[inline]
pub(super) fn packet(
    kind: u32,
    block: &[u8],
    interfaces: &[Interface],
    big_endian: bool,
    counts: &mut Counts,
) -> Option<Found> {
    counts.packets += 1;
    if block.len() < 32 {
        counts.unused("packet block that is too short");
        return None;
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
        return None;
    };
    let Some(t_ns) = interface.t_ns(word(12), word(16)) else {
        counts.unused("time out of range");
        return None;
    };
    let mut caplen = word(20) as usize;
    let room = block.len() - 32;
    if caplen > room {
        counts.odd("captured length behind the end of its block");
        caplen = room;
    }
    Some(Found {
        t_ns,
        link_type: interface.link_type,
        len: wire_len(word(24), caplen, counts),
        from: 28,
        to: 28 + caplen,
    })
}

pub(super) fn count_block(kind: u32, counts: &mut Counts) {
    match kind {
        4 => counts.block("name resolution"),
        5 => counts.block("interface statistics"),
        9 => counts.block("systemd journal"),
        SECRETS => counts.block("decryption secrets"),
        other => counts.block(&format!("unknown type {other:#x}")),
    }
}

/// The text of a block of decryption secrets, where it is TLS's key log.
pub(super) fn key_log(block: &[u8], big_endian: bool) -> Option<String> {
    let head = block.get(..16)?;
    let (kind, len) = (u32_at(head, 8, big_endian), u32_at(head, 12, big_endian) as usize);
    // "TLSK"
    (kind == 0x544c_534b).then_some(())?;
    Some(String::from_utf8_lossy(block.get(16..16usize.checked_add(len)?)?).into_owned())
}
