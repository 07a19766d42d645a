//! `struct tcp_info` (include/uapi/linux/tcp.h) by field names, and BBR's part of `union tcp_cc_info`.
//!
//! What a shorter struct of an older kernel lacks is missing, not 0.

use crate::sys;
use std::os::fd::RawFd;

#[derive(Clone, Copy)]
pub enum Width {
    U8,
    U16,
    U32,
    U64,
    /// A bit field: shift and mask within one byte.
    Bits(u8, u8),
}

impl Width {
    /// Bytes of the struct that hold the field.
    pub fn bytes(self) -> usize {
        match self {
            U8 | Bits(..) => 1,
            U16 => 2,
            U32 => 4,
            U64 => 8,
        }
    }
}

use Width::{Bits, U16, U32, U64, U8};

/// (name without `tcpi_`, offset, width), in the kernel's order. `state` is a column of its own.
pub const FIELDS: &[(&str, usize, Width)] = &[
    ("ca_state", 1, U8),
    ("retransmits", 2, U8),
    ("probes", 3, U8),
    ("backoff", 4, U8),
    ("options", 5, U8),
    ("snd_wscale", 6, Bits(0, 15)),
    ("rcv_wscale", 6, Bits(4, 15)),
    ("delivery_rate_app_limited", 7, Bits(0, 1)),
    ("fastopen_client_fail", 7, Bits(1, 3)),
    ("rto", 8, U32),
    ("ato", 12, U32),
    ("snd_mss", 16, U32),
    ("rcv_mss", 20, U32),
    ("unacked", 24, U32),
    ("sacked", 28, U32),
    ("lost", 32, U32),
    ("retrans", 36, U32),
    ("fackets", 40, U32),
    ("last_data_sent", 44, U32),
    ("last_ack_sent", 48, U32),
    ("last_data_recv", 52, U32),
    ("last_ack_recv", 56, U32),
    ("pmtu", 60, U32),
    ("rcv_ssthresh", 64, U32),
    ("rtt", 68, U32),
    ("rttvar", 72, U32),
    ("snd_ssthresh", 76, U32),
    ("snd_cwnd", 80, U32),
    ("advmss", 84, U32),
    ("reordering", 88, U32),
    ("rcv_rtt", 92, U32),
    ("rcv_space", 96, U32),
    ("total_retrans", 100, U32),
    ("pacing_rate", 104, U64),
    ("max_pacing_rate", 112, U64),
    ("bytes_acked", 120, U64),
    ("bytes_received", 128, U64),
    ("segs_out", 136, U32),
    ("segs_in", 140, U32),
    ("notsent_bytes", 144, U32),
    ("min_rtt", 148, U32),
    ("data_segs_in", 152, U32),
    ("data_segs_out", 156, U32),
    ("delivery_rate", 160, U64),
    ("busy_time", 168, U64),
    ("rwnd_limited", 176, U64),
    ("sndbuf_limited", 184, U64),
    ("delivered", 192, U32),
    ("delivered_ce", 196, U32),
    ("bytes_sent", 200, U64),
    ("bytes_retrans", 208, U64),
    ("dsack_dups", 216, U32),
    ("reord_seen", 220, U32),
    ("rcv_ooopack", 224, U32),
    ("snd_wnd", 228, U32),
    ("rcv_wnd", 232, U32),
    ("rehash", 236, U32),
    ("total_rto", 240, U16),
    ("total_rto_recoveries", 242, U16),
    ("total_rto_time", 244, U32),
];

/// TCP_INFO as the kernel gave it.
#[derive(Clone, Debug, Default)]
pub struct TcpInfo {
    bytes: Vec<u8>,
}

impl TcpInfo {
    pub fn from_bytes(bytes: &[u8]) -> TcpInfo {
        TcpInfo { bytes: bytes.to_vec() }
    }

    pub fn of_socket(fd: RawFd) -> std::io::Result<TcpInfo> {
        sys::tcp_info(fd).map(|bytes| TcpInfo { bytes })
    }

    pub fn get(&self, name: &str) -> Option<u64> {
        let (offset, width) = place(name)?;
        read(&self.bytes, offset, width)
    }
}

/// Offset and width of a field.
pub fn place(name: &str) -> Option<(usize, Width)> {
    if name == "state" {
        return Some((0, U8));
    }
    let (_, offset, width) = FIELDS.iter().find(|f| f.0 == name)?;
    Some((*offset, *width))
}

pub fn read(info: &[u8], offset: usize, width: Width) -> Option<u64> {
    let bytes = info.get(offset..offset + width.bytes())?;
    let mut whole = [0; 8];
    whole[..bytes.len()].copy_from_slice(bytes);
    let number = u64::from_le_bytes(whole);
    Some(match width {
        Bits(shift, mask) => number >> shift & u64::from(mask),
        _ => number,
    })
}

/// `struct tcp_bbr_info`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bbr {
    /// Bytes per second.
    pub bw: u64,
    /// Microseconds.
    pub min_rtt: u32,
    /// Gains are in units of 1/256.
    pub pacing_gain: u32,
    pub cwnd_gain: u32,
}

impl Bbr {
    /// None: the bytes are not BBR's.
    pub fn from_bytes(cc_info: &[u8]) -> Option<Bbr> {
        let word = |i: usize| Some(u32::from_le_bytes(cc_info.get(4 * i..4 * i + 4)?.try_into().ok()?));
        Some(Bbr {
            bw: u64::from(word(0)?) | u64::from(word(1)?) << 32,
            min_rtt: word(2)?,
            pacing_gain: word(3)?,
            cwnd_gain: word(4)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_fields_are_two_halves_and_a_whole() {
        let mut bytes = [0u8; 248];
        bytes[240..].copy_from_slice(&[4, 0, 1, 0, 0xe8, 3, 0, 0]);
        let info = TcpInfo::from_bytes(&bytes);
        let last = ["total_rto", "total_rto_recoveries", "total_rto_time"].map(|n| info.get(n));
        assert_eq!(last, [Some(4), Some(1), Some(1000)]);
    }

    #[test]
    fn fields_beyond_a_shorter_struct_are_missing_and_not_zero() {
        let info = TcpInfo::from_bytes(&[7; 104]);
        assert_eq!(info.get("total_retrans"), Some(0x07070707));
        assert_eq!(info.get("pacing_rate"), None);
        assert_eq!(info.get("snd_wscale"), Some(7));
        assert_eq!(info.get("state"), Some(7));
    }
}
