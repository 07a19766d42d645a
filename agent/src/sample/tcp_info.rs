//! struct tcp_info (include/uapi/linux/tcp.h) by field names, and BBR's part of tcp_cc_info.
//!
//! A kernel whose struct is shorter leaves the later cells empty: missing is not 0.

use std::fmt::Write;
use std::os::fd::RawFd;

use crate::netlink::{u32_at, u64_at};
use crate::sys;

#[derive(Clone, Copy)]
enum Width {
    U8,
    U16,
    U32,
    U64,
    /// A bit field: shift and mask within one byte.
    Bits(u8, u8),
}

use Width::{Bits, U16, U32, U64, U8};

/// (name without `tcpi_`, offset, width), in the kernel's order. `state` is a column of its own.
const FIELDS: &[(&str, usize, Width)] = &[
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

/// The CSV header of TCP_INFO files; BBR's columns come last and are empty for other CCAs.
pub const HEADER: &str = "t_ns,src,sport,dst,dport,cca,state,ca_state,retransmits,probes,backoff,options,\
snd_wscale,rcv_wscale,delivery_rate_app_limited,fastopen_client_fail,rto,ato,snd_mss,rcv_mss,unacked,sacked,\
lost,retrans,fackets,last_data_sent,last_ack_sent,last_data_recv,last_ack_recv,pmtu,rcv_ssthresh,rtt,rttvar,\
snd_ssthresh,snd_cwnd,advmss,reordering,rcv_rtt,rcv_space,total_retrans,pacing_rate,max_pacing_rate,\
bytes_acked,bytes_received,segs_out,segs_in,notsent_bytes,min_rtt,data_segs_in,data_segs_out,delivery_rate,\
busy_time,rwnd_limited,sndbuf_limited,delivered,delivered_ce,bytes_sent,bytes_retrans,dsack_dups,reord_seen,\
rcv_ooopack,snd_wnd,rcv_wnd,rehash,total_rto,total_rto_recoveries,total_rto_time,\
bbr_bw,bbr_min_rtt,bbr_pacing_gain,bbr_cwnd_gain";

/// TCP_INFO as the kernel gave it.
#[derive(Clone, Debug, Default)]
pub struct TcpInfo {
    bytes: Vec<u8>,
}

impl TcpInfo {
    pub fn from_bytes(bytes: &[u8]) -> TcpInfo {
        TcpInfo {
            bytes: bytes.to_vec(),
        }
    }

    pub fn of_socket(fd: RawFd) -> std::io::Result<TcpInfo> {
        let mut buf = [0u8; 512];
        let n = sys::getsockopt_bytes(fd, libc::IPPROTO_TCP, libc::TCP_INFO, &mut buf)?;
        Ok(TcpInfo::from_bytes(&buf[..n]))
    }

    pub fn get(&self, name: &str) -> Option<u64> {
        if name == "state" {
            return read(&self.bytes, 0, U8);
        }
        let (_, offset, width) = FIELDS.iter().find(|f| f.0 == name)?;
        read(&self.bytes, *offset, *width)
    }
}

fn read(b: &[u8], offset: usize, width: Width) -> Option<u64> {
    match width {
        U8 => b.get(offset).map(|v| *v as u64),
        Bits(shift, mask) => b.get(offset).map(|v| (v >> shift & mask) as u64),
        U16 => (b.len() >= offset + 2).then(|| u16::from_ne_bytes([b[offset], b[offset + 1]]) as u64),
        U32 => (b.len() >= offset + 4).then(|| u32_at(b, offset) as u64),
        U64 => (b.len() >= offset + 8).then(|| u64_at(b, offset)),
    }
}

/// Appends `,value` for every TCP_INFO field and BBR column.
pub fn append_cells(line: &mut String, info: &[u8], bbr: Option<&[u8]>) {
    for (_, offset, width) in FIELDS {
        line.push(',');
        if let Some(v) = read(info, *offset, *width) {
            let _ = write!(line, "{v}");
        }
    }
    match bbr.filter(|b| b.len() >= 20) {
        // struct tcp_bbr_info: bw_lo, bw_hi (bytes/s), min_rtt (µs), gains (<< 8).
        Some(b) => {
            let bw = u32_at(b, 0) as u64 | (u32_at(b, 4) as u64) << 32;
            let _ = write!(line, ",{bw},{},{},{}", u32_at(b, 8), u32_at(b, 12), u32_at(b, 16));
        }
        None => line.push_str(",,,,"),
    }
}

pub fn state_name(state: u8) -> &'static str {
    match state {
        1 => "established",
        2 => "syn-sent",
        3 => "syn-recv",
        4 => "fin-wait-1",
        5 => "fin-wait-2",
        6 => "time-wait",
        7 => "close",
        8 => "close-wait",
        9 => "last-ack",
        10 => "listen",
        11 => "closing",
        _ => "unknown",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_header_lists_exactly_the_fields_that_are_written() {
        let names: Vec<&str> = FIELDS.iter().map(|f| f.0).collect();
        let expected = format!(
            "t_ns,src,sport,dst,dport,cca,state,{},bbr_bw,bbr_min_rtt,bbr_pacing_gain,bbr_cwnd_gain",
            names.join(",")
        );
        assert_eq!(HEADER, expected);
        let mut line = String::from("0,s,1,d,2,cubic,established");
        append_cells(&mut line, &[0; 252], None);
        assert_eq!(line.matches(',').count(), HEADER.matches(',').count());
    }

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
    }
}
