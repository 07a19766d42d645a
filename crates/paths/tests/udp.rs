//! UDP conversations: what passed, how long a pause ends one, ids of QUIC across a change of addresses, streams of RTP.

mod common;

use common::{be, ethernet, packet, udp};
use narrows_paths::counts::Counts;
use narrows_paths::headers::{self, Unit};
use narrows_paths::table::{Column, Value};
use narrows_paths::udp::quic::keys::KeyLog;
use narrows_paths::udp::{Conversation, Conversations, Second, Sink};
use narrows_paths::udp_rows::{RtpRow, UdpRow, RTP, UDP};

#[derive(Default)]
struct Rows {
    udp: Vec<UdpRow>,
    rtp: Vec<RtpRow>,
    seconds: Vec<(bool, Second)>,
}

impl Sink for Rows {
    fn conversation(&mut self, c: &Conversation) {
        self.udp.push(UdpRow::new("log", c));
        let streams = c.streams.iter().filter(|s| s.is_rtp());
        self.rtp.extend(streams.map(|s| RtpRow::new("log", c, s)));
    }
    fn second(&mut self, _: u64, is_client: bool, second: &Second) {
        self.seconds.push((is_client, *second));
    }
}

const MS: i64 = 1_000_000;

fn follow(packets: &[(i64, Vec<u8>)]) -> Rows {
    follow_link(101, packets)
}

fn follow_link(link_type: u16, packets: &[(i64, Vec<u8>)]) -> Rows {
    let (mut counts, mut rows) = (Counts::default(), Rows::default());
    let mut all = Conversations::new(100, 60_000 * MS, KeyLog::default(), false);
    for (t_ns, data) in packets {
        let packet = packet(*t_ns, link_type, data, data.len());
        if let Some(Unit::Datagram(datagram)) = headers::unwrap(&packet, &mut counts) {
            all.datagram(*t_ns, &datagram, &mut rows);
        }
    }
    assert_eq!(counts.udp, packets.len() as u64);
    all.close(&mut rows);
    rows
}

fn get<R>(columns: &[Column<R>], row: &R, name: &str) -> Value {
    let column = columns.iter().find(|c| c.name == name).expect(name);
    (column.get)(row)
}

fn int(value: i64) -> Value {
    Value::Int(Some(value))
}

/// A datagram between two ends, and back.
fn datagram(ports: (u16, u16), is_back: bool, ecn: u8, inner: &[u8]) -> Vec<u8> {
    let mut out = udp(ports.1, inner);
    out[1] = ecn;
    out[20..22].copy_from_slice(&ports.0.to_be_bytes());
    if is_back {
        let (source, target) = (out[12..16].to_vec(), out[16..20].to_vec());
        out[12..16].copy_from_slice(&target);
        out[16..20].copy_from_slice(&source);
        out[20..22].copy_from_slice(&ports.1.to_be_bytes());
        out[22..24].copy_from_slice(&ports.0.to_be_bytes());
    }
    out
}

#[test]
fn a_conversation_has_what_both_ends_sent_and_ends_with_a_pause() {
    let ports = (40_000, 5000);
    let mut packets = vec![(0, datagram(ports, false, 0, &[1; 10]))];
    packets.extend((1..=10).map(|n| (n * 300 * MS, datagram(ports, true, u8::from(n > 8) * 3, &[0; 100]))));
    packets.push((70_000 * MS, datagram(ports, false, 0, &[1; 10])));
    let rows = follow(&packets);
    assert_eq!(rows.udp.len(), 2);
    let row = &rows.udp[0];
    for (name, value) in [
        ("datagrams", 10),
        ("datagrams_back", 1),
        ("payload_bytes", 1000),
        ("longest_gap_ns", 300 * MS),
        ("ce_marked", 2),
        ("client_port", 40_000),
    ] {
        assert_eq!(get(UDP, row, name), int(value), "{name}");
    }
    assert_eq!(get(UDP, row, "throughput_bps"), Value::Float(Some(8e12 / 2.7e9)));
    assert_eq!(get(UDP, row, "protocol"), Value::Text(None));
    assert_eq!(get(UDP, row, "handshake_rtt_ns"), Value::Int(None));
    let server: u64 = rows.seconds.iter().filter(|(client, _)| !client).map(|(_, s)| s.bytes).sum();
    assert_eq!(server, 1000);
}

#[test]
fn a_mirror_that_tags_one_direction_shows_one_conversation_and_two_networks_show_two() {
    let tagged = |vlan: u8, inner: Vec<u8>| ethernet(0x8100, &be(&[&[0, vlan, 8, 0], &inner]));
    let there = |vlan| tagged(vlan, datagram((9, 53), false, 0, &[1; 10]));
    let back = datagram((9, 53), true, 0, &[1; 10]);
    let rows = follow_link(1, &[(0, there(5)), (MS, ethernet(0x0800, &back))]);
    assert_eq!(rows.udp.len(), 1);
    let rows = follow_link(1, &[(0, there(5)), (MS, there(6)), (2 * MS, tagged(5, back.clone()))]);
    assert_eq!(rows.udp.len(), 2);
}

fn initial(target: &[u8], source: &[u8]) -> Vec<u8> {
    let mut out = vec![0xc0, 0, 0, 0, 1, target.len() as u8];
    out.extend(target);
    out.push(source.len() as u8);
    out.extend(source);
    out.extend([0, 0x44, 0x00]);
    out.resize(1200, 7);
    out
}

#[test]
fn a_connection_goes_on_between_other_ports_by_its_ids() {
    let (client, server) = ([1u8; 8], [2u8; 8]);
    let short = |cid: &[u8]| [&[0x40u8], cid, &[9; 60]].concat();
    let (before, after) = ((40_000, 443), (50_500, 443));
    let rows = follow(&[
        (0, datagram(before, false, 0, &initial(&[9; 8], &client))),
        (20 * MS, datagram(before, true, 0, &initial(&client, &server))),
        (25 * MS, datagram(before, false, 0, &short(&server))),
        (500 * MS, datagram(after, false, 0, &short(&server))),
        (520 * MS, datagram(after, true, 0, &short(&client))),
    ]);
    assert_eq!(rows.udp.len(), 1);
    let row = &rows.udp[0];
    assert_eq!(get(UDP, row, "migrations"), int(1));
    assert_eq!(get(UDP, row, "handshake_rtt_server_ns"), int(20 * MS));
    assert_eq!(get(UDP, row, "handshake_rtt_client_ns"), int(5 * MS));
    assert_eq!(get(UDP, row, "quic_version"), Value::Text(Some("1".into())));
    assert_eq!(get(UDP, row, "datagrams"), int(3));
    // Without secrets nothing is said of loss.
    assert_eq!(get(UDP, row, "lost_packets"), Value::Int(None));
}

fn rtp(seq: u16, timestamp: u32, is_last: bool) -> Vec<u8> {
    let mut out = vec![0x80, 96 | (u8::from(is_last) << 7)];
    out.extend(seq.to_be_bytes());
    out.extend(timestamp.to_be_bytes());
    out.extend(7u32.to_be_bytes());
    out.resize(1000, 0);
    out
}

/// The row of packets of one source: when, number, timestamp.
fn rtp_row(packets: impl IntoIterator<Item = (i64, u16, u32)>) -> RtpRow {
    let datagrams: Vec<_> = packets
        .into_iter()
        .map(|(t, seq, stamp)| (t, datagram((6000, 6002), false, 0, &rtp(seq, stamp, false))))
        .collect();
    let mut rows = follow(&datagrams);
    assert_eq!(rows.rtp.len(), 1);
    rows.rtp.remove(0)
}

/// 1,200 packets of video, four a frame, 30 frames a second, from a time, a number and a timestamp.
fn video(t_ns: i64, seq: u16, stamp: u32) -> impl Iterator<Item = (i64, u16, u32)> {
    (0..1200).map(move |n| {
        let at = t_ns + i64::from(n / 4) * 1000 * MS / 30 + i64::from(n % 4) * MS / 5;
        (at, seq.wrapping_add(n as u16), stamp + n / 4 * 3000)
    })
}

#[test]
fn a_source_that_begins_again_or_jumps_starts_anew() {
    // Backwards as an SFU switches, from the very beginning, and far ahead with timestamps that go on.
    for (seq, stamp) in [(12_000, 1_000_000), (40_000, 7), (50_000, 7 + 11 * 90_000)] {
        let row = rtp_row(video(0, 40_000, 7).chain(video(11_000 * MS, seq, stamp)));
        for (name, value) in [
            ("expected_packets", 2400),
            ("lost_packets", 0),
            ("reordered_packets", 0),
            ("duplicate_packets", 0),
            ("clock_hz", 90_000),
            ("frames", 600),
        ] {
            assert_eq!(get(RTP, &row, name), int(value), "{name} from {seq}");
        }
    }
}

#[test]
fn a_single_packet_far_from_the_others_starts_nothing() {
    // Number 500 comes 150 packets late; one of a foreign number ahead was expected for itself.
    let mut packets: Vec<_> = video(0, 40_000, 7).collect();
    let late = packets.remove(500);
    packets.insert(650, (packets[650].0, late.1, late.2));
    packets.insert(700, (packets[700].0, 60_000, 7));
    let row = rtp_row(packets);
    for (name, value) in [("expected_packets", 1201), ("lost_packets", 0), ("reordered_packets", 1)] {
        assert_eq!(get(RTP, &row, name), int(value), "{name}");
    }
}

#[test]
fn a_first_packet_that_comes_late_is_expected() {
    let mut packets: Vec<_> = video(0, 40_000, 7).collect();
    let first = packets.remove(0);
    packets.insert(2, (packets[2].0, first.1, first.2));
    let row = rtp_row(packets);
    for (name, value) in [("expected_packets", 1200), ("lost_packets", 0), ("reordered_packets", 1)] {
        assert_eq!(get(RTP, &row, name), int(value), "{name}");
    }
}

#[test]
fn every_clock_of_the_audio_profile_is_known() {
    // RFC 3551, table 4: a packet each 20 ms.
    for hz in [8_000, 11_025, 16_000, 22_050, 44_100] {
        let row = rtp_row((0..200).map(|n| (i64::from(n) * 20 * MS, n as u16, n * hz / 50)));
        assert_eq!(get(RTP, &row, "clock_hz"), int(i64::from(hz)));
    }
}

#[test]
fn a_stream_of_rtp_has_its_losses_jitter_and_frames() {
    // A video of 25 frames a second, three packets a frame; packet 30 is lost, 40 and 41 change places, 50 comes twice.
    let packet = |seq: u16, frame: u32, is_last: bool| rtp(seq, 1000 + 3600 * frame, is_last);
    let mut packets = Vec::new();
    for frame in 0..50 {
        for part in 0..3 {
            let number = frame * 3 + part;
            let late = if frame == 10 && part == 0 { 12 * MS } else { 0 };
            let at = 40 * MS * i64::from(frame) + i64::from(part) * MS / 10 + late;
            let seq = 65_500u16.wrapping_add(number as u16);
            if number != 30 {
                packets.push((at, datagram((6000, 6002), false, 0, &packet(seq, frame, part == 2))));
            }
            if number == 50 {
                packets.push((at + 1, datagram((6000, 6002), false, 0, &packet(seq, frame, part == 2))));
            }
        }
    }
    let (a, b) = (packets[39].0, packets[40].0);
    packets.swap(39, 40);
    (packets[39].0, packets[40].0) = (a, b);
    let rows = follow(&packets);
    let [row] = &rows.rtp[..] else { panic!("{} streams", rows.rtp.len()) };
    for (name, value) in [
        ("expected_packets", 150),
        ("lost_packets", 1),
        ("reordered_packets", 1),
        ("duplicate_packets", 1),
        ("clock_hz", 90_000),
        ("frames", 50),
        ("frame_gap_median_ns", 40 * MS),
    ] {
        assert_eq!(get(RTP, row, name), int(value), "{name}");
    }
    assert_eq!(get(UDP, &rows.udp[0], "protocol"), Value::Text(Some("rtp".into())));
}
