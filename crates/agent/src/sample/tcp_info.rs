//! TCP_INFO and BBR's part of it as cells of a CSV.
//!
//! What a kernel does not give leaves its cell empty: missing is not 0.

use std::fmt::Write;

use narrows_wire::tcp_info::{read, Bbr, FIELDS};

/// The CSV header of TCP_INFO files; BBR's columns come last and are empty for other CCAs.
pub const HEADER: &str = "t_ns,src,sport,dst,dport,cca,state,ca_state,retransmits,probes,backoff,options,\
snd_wscale,rcv_wscale,delivery_rate_app_limited,fastopen_client_fail,rto,ato,snd_mss,rcv_mss,unacked,sacked,\
lost,retrans,fackets,last_data_sent,last_ack_sent,last_data_recv,last_ack_recv,pmtu,rcv_ssthresh,rtt,rttvar,\
snd_ssthresh,snd_cwnd,advmss,reordering,rcv_rtt,rcv_space,total_retrans,pacing_rate,max_pacing_rate,\
bytes_acked,bytes_received,segs_out,segs_in,notsent_bytes,min_rtt,data_segs_in,data_segs_out,delivery_rate,\
busy_time,rwnd_limited,sndbuf_limited,delivered,delivered_ce,bytes_sent,bytes_retrans,dsack_dups,reord_seen,\
rcv_ooopack,snd_wnd,rcv_wnd,rehash,total_rto,total_rto_recoveries,total_rto_time,\
bbr_bw,bbr_min_rtt,bbr_pacing_gain,bbr_cwnd_gain";

/// Appends `,value` for every TCP_INFO field and BBR column.
pub fn append_cells(line: &mut String, info: &[u8], bbr: Option<&[u8]>) {
    for (_, offset, width) in FIELDS {
        line.push(',');
        if let Some(v) = read(info, *offset, *width) {
            let _ = write!(line, "{v}");
        }
    }
    match bbr.and_then(Bbr::from_bytes) {
        Some(b) => {
            let _ = write!(line, ",{},{},{},{}", b.bw, b.min_rtt, b.pacing_gain, b.cwnd_gain);
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
}
