//! Captures as people have them: idle connections, packets that the capture dropped, SYNs in vain, gaps, holes filled by
//! larger segments. Each is a download of 200 segments of 1000 bytes, one a millisecond, with an RTT of 50 ms.

mod common;

use common::*;
use narrows_paths::aggregate::{Aggregate, Properties};

const RTT: i64 = 50 * MS;

fn only(d: &Download) -> (Aggregate, Properties) {
    let mut packets = d.packets.clone();
    packets.sort_by_key(|p| p.0);
    let seen = follow(&packets);
    assert_eq!(seen.connections.len(), 1);
    let aggregate = seen.connections[0].1.clone();
    let p = aggregate.properties();
    (aggregate, p)
}

/// A request and 200 segments, each acknowledged 50 ms later: 250 ms of active time.
fn fetch(d: &mut Download, t: i64, asked: &mut u32) {
    say(d, t, asked, 100);
    for i in 0..200 {
        let seq = d.data(t + i * MS, MSS);
        d.ack(t + i * MS + RTT, seq.wrapping_add(MSS as u32), &[]);
    }
}

/// The client says something of so many bytes.
fn say(d: &mut Download, t: i64, asked: &mut u32, bytes: usize) {
    d.put(t, Tcp::new(CLIENT, SERVER, ISN.0 + 1 + *asked, d.next, ACK, bytes));
    *asked += bytes as u32;
}

fn download() -> (Download, u32) {
    let (mut d, mut asked) = (Download::open(0, RTT, 0), 0);
    fetch(&mut d, 1000 * MS, &mut asked);
    (d, asked)
}

/// 200 segments in 199 ms and the round trip of the last.
const FETCH: i64 = 249 * MS;

#[test]
fn a_fin_much_later_is_no_active_time() {
    for later in [0, 1, 5, 75, 500] {
        let (mut d, asked) = download();
        let t = 1250 * MS + later * S;
        d.put(t, Tcp::new(SERVER, CLIENT, d.next, ISN.0 + 1 + asked, FIN | ACK, 0));
        d.put(t + 400 * MS, Tcp::new(SERVER, CLIENT, d.next, ISN.0 + 1 + asked, FIN | ACK, 0));
        d.ack(t + 450 * MS, d.next.wrapping_add(1), &[]);
        let (_, p) = only(&d);
        assert_eq!((p.active_ns, p.retransmitted), (Some(FETCH), 0), "{later} s later");
    }
}

#[test]
fn a_clients_last_word_and_keep_alives_are_no_active_time() {
    let (mut d, mut asked) = download();
    for i in 0..10 {
        let bytes = i % 2; // without a byte as Linux, with one as Windows
        d.again(t_idle(i), d.next.wrapping_sub(1), bytes as usize);
        d.ack(t_idle(i) + RTT, d.next, &[]);
    }
    say(&mut d, 200 * S, &mut asked, 31);
    d.put(201 * S, Tcp::new(SERVER, CLIENT, d.next, ISN.0 + 1 + asked, FIN | ACK, 0));
    d.ack(201 * S + RTT, d.next.wrapping_add(1), &[]);
    let (a, p) = only(&d);
    assert_eq!((p.active_ns, p.active_periods), (Some(FETCH), 1));
    assert_eq!((a.keep_alives, p.retransmitted), (10, 0));
}

fn t_idle(i: i64) -> i64 {
    (10 + i * 10) * S
}

#[test]
fn what_nobody_answers_is_no_request() {
    let (mut d, mut asked) = download();
    say(&mut d, 1260 * MS, &mut asked, 13); // a WINDOW_UPDATE
    fetch(&mut d, 61 * S, &mut asked);
    let (_, p) = only(&d);
    assert_eq!((p.active_ns, p.active_periods), (Some(2 * FETCH), 2));
    let (mut d, mut asked) = (Download::open(0, RTT, 0), 0);
    say(&mut d, 100 * MS, &mut asked, 300); // the client's part of TLS, long before it asks
    fetch(&mut d, 30 * S, &mut asked);
    assert_eq!(only(&d).1.active_ns, Some(FETCH));
}

#[test]
fn a_request_of_several_segments_counts_from_its_first() {
    let (mut d, mut asked) = (Download::open(0, RTT, 0), 0);
    for i in 0..5 {
        say(&mut d, 900 * MS + i * 20 * MS, &mut asked, 1000);
    }
    fetch(&mut d, 1000 * MS, &mut asked);
    assert_eq!(only(&d).1.active_ns, Some(FETCH + 100 * MS));
}

#[test]
fn probes_of_a_closed_window_are_neither_losses_nor_active_time() {
    for bytes in [0, 1] {
        let (mut d, mut asked) = download();
        let closed = |t, d: &mut Download| {
            let mut ack = Tcp::new(CLIENT, SERVER, ISN.0 + 101, d.next, ACK, 0);
            ack.window = 0;
            d.put(t, ack);
        };
        closed(1250 * MS, &mut d);
        for i in 0..12 {
            let t = 2 * S + i * 5 * S;
            d.again(t, d.next.wrapping_sub(1 - bytes), bytes as usize);
            closed(t + RTT, &mut d);
        }
        d.put(62 * S, Tcp::new(CLIENT, SERVER, ISN.0 + 101, d.next, ACK, 0));
        fetch(&mut d, 62 * S + MS, &mut asked);
        let (a, p) = only(&d);
        assert_eq!((a.window_probes, p.retransmitted, p.loss_events), (12, 0, 0));
        assert_eq!((p.active_ns, p.payload_bytes), (Some(2 * FETCH), 400 * MSS as u64));
    }
}

#[test]
fn what_the_capture_dropped_is_unseen_and_its_bytes_were_delivered_all_the_same() {
    let (d, _) = download();
    let first = 5; // three of the handshake, the request, the first segment
    let single: Vec<usize> = (0..200).filter(|i| i % 10 == 9).map(|i| first + 2 * i - 1).collect();
    let burst: Vec<usize> = (100..130).flat_map(|i| [first + 2 * i - 1, first + 2 * i]).collect();
    for (dropped, missing) in [(single, 20), (burst, 30)] {
        let mut log = Download::open(0, RTT, 0);
        log.packets = d
            .packets
            .iter()
            .enumerate()
            .filter(|(i, _)| !dropped.contains(i))
            .map(|(_, p)| p.clone())
            .collect();
        let (a, p) = only(&log);
        assert_eq!(a.unseen_bytes, missing * MSS as u64);
        assert_eq!((p.payload_bytes, a.acked_bytes), ((200 - missing) * MSS as u64, 200 * MSS as u64));
        assert_eq!(p.throughput_bps, Some(200.0 * MSS as f64 * 8e9 / FETCH as f64));
        assert_eq!(p.notes.as_deref(), Some("packets_missing"));
        assert_eq!((p.retransmitted, p.base.min_ns), (0, Some(RTT)));
    }
}

#[test]
fn a_log_that_begins_within_a_flight_misses_nothing() {
    let (d, _) = download();
    let mut log = Download::open(0, RTT, 0);
    let mut packets = d.packets.clone();
    packets.sort_by_key(|p| p.0);
    log.packets = packets[100..].to_vec();
    assert_eq!(only(&log).0.unseen_bytes, 0);
}

#[test]
fn behind_a_gap_of_any_length_both_halves_are_used() {
    for gap in [300_000_000u32, 600_000_000, 3_000_000_000] {
        let (mut d, mut asked) = download();
        d.next = d.next.wrapping_add(gap);
        fetch(&mut d, 6 * S, &mut asked);
        let (a, p) = only(&d);
        // 402: one of the handshake, 400 of data, and the request's first answer is none.
        assert_eq!((p.payload_bytes, p.rtt_samples), (400 * MSS as u64, 401), "{gap}");
        assert_eq!(a.unseen_bytes, u64::from(gap));
        assert_eq!(p.active_ns, Some(2 * FETCH));
        assert_eq!(p.notes.as_deref(), Some("packets_missing"));
    }
}

#[test]
fn one_segment_of_far_numbers_is_foreign() {
    let (mut d, _) = download();
    d.again(1100 * MS + MS / 2, d.next.wrapping_add(1 << 30), MSS);
    let (a, p) = only(&d);
    assert_eq!((p.payload_bytes, a.unseen_bytes), (200 * MSS as u64, 0));
    assert_eq!(p.notes.as_deref(), Some("foreign_numbers"));
}

#[test]
fn a_syn_or_an_answer_in_vain_with_another_number_costs_nothing() {
    for other in [100_000u32, 1 << 30, (1 << 31) + 12_345] {
        let rest = download().0.packets;
        let shift =
            |by: i64| -> Vec<(i64, Vec<u8>)> { rest.iter().map(|(t, p)| (t + by, p.clone())).collect() };
        let syn = |seq: u32| {
            let mut syn = Tcp::new(CLIENT, SERVER, seq, 0, SYN, 0);
            syn.options = syn_options(MSS as u16, 7);
            syn
        };
        let answer = |seq: u32, ack: u32| {
            let mut answer = Tcp::new(SERVER, CLIENT, seq, ack, SYN | ACK, 0);
            answer.options = syn_options(MSS as u16, 9);
            answer
        };
        let first = ISN.1.wrapping_add(other);
        let cases = [
            // A SYN that nobody answers; an answer that is lost; both, as of a client that began again.
            (vec![syn(ISN.0.wrapping_add(other))], S),
            (vec![syn(ISN.0), answer(first, ISN.0 + 1)], S),
            (
                vec![
                    syn(ISN.0.wrapping_add(other)),
                    answer(first, ISN.0.wrapping_add(other).wrapping_add(1)),
                ],
                3 * S,
            ),
        ];
        for (vain, later) in cases {
            let mut d = Download::open(0, RTT, 0);
            d.packets = shift(later);
            for (i, tcp) in vain.into_iter().enumerate() {
                d.put(i as i64 * 1000, tcp);
            }
            let (a, p) = only(&d);
            assert_eq!((p.payload_bytes, a.acked_bytes, a.unseen_bytes), (200_000, 200_000, 0));
            assert_eq!((p.base.min_ns, p.notes), (Some(RTT), None));
        }
        // The second answer is in vain: the client goes on with the first.
        let mut d = Download::open(0, RTT, 0);
        d.packets = rest.clone();
        d.put(10 * MS, answer(first, ISN.0 + 1));
        let (a, p) = only(&d);
        assert_eq!((p.payload_bytes, a.acked_bytes, a.unseen_bytes), (200_000, 200_000, 0));
    }
}

#[test]
fn a_syn_whose_record_comes_last_is_of_its_connection() {
    let (d, _) = download();
    let mut packets = d.packets.clone();
    packets.sort_by_key(|p| p.0);
    let syn = packets.remove(0);
    packets.push(syn);
    let seen = follow(&packets);
    assert_eq!(seen.connections.len(), 1);
    let p = seen.connections[0].1.properties();
    assert_eq!((p.mss.1, p.notes.as_deref()), (Some("syn"), Some("time_went_back")));
}

#[test]
fn a_segment_larger_than_the_hole_fills_it_and_repeats_the_rest() {
    // At the receiver: of 20 segments some were lost, and come again within larger ones.
    for (lost, again) in [
        (vec![4], vec![(4000, 2000)]),
        (vec![4], vec![(3000, 2000)]),
        (vec![4, 6], vec![(4000, 3000)]),
        (vec![4, 5, 11], vec![(4000, 2400), (11_000, 1900)]),
        (vec![19], vec![(18_500, 1500)]),
    ] {
        let mut d = Download::open(0, RTT, 0);
        let first = d.next;
        for i in 0..20u32 {
            if lost.contains(&i) {
                d.next = d.next.wrapping_add(MSS as u32);
            } else {
                d.data(S + i64::from(i) * MS, MSS);
            }
        }
        for (i, (from, bytes)) in again.iter().enumerate() {
            d.again(1500 * MS + i as i64 * MS, first.wrapping_add(*from), *bytes);
        }
        d.ack(1600 * MS, first.wrapping_add(20_000), &[]);
        let (a, p) = only(&d);
        assert_eq!((p.payload_bytes, a.acked_bytes, a.unseen_bytes), (20_000, 20_000, 0), "{lost:?}");
        assert_eq!((p.retransmitted, p.reordered_before), (again.len() as u64, 0));
    }
}

/// Every packet twice, the second time so much later, with `change` made to it; both with `before` made to them.
fn twice(lag: i64, before: &dyn Fn(usize, &mut Vec<u8>), change: &dyn Fn(&mut Vec<u8>)) -> Download {
    let (mut d, _) = download();
    let packets = std::mem::take(&mut d.packets);
    for (i, (t, mut packet)) in packets.into_iter().enumerate() {
        before(i, &mut packet);
        let mut copy = packet.clone();
        change(&mut copy);
        d.packets.extend([(t, packet), (t + lag, copy)]);
    }
    d
}

fn is_read_once(d: &Download, by: &str) {
    let (a, p) = only(d);
    assert_eq!(a.copies, d.packets.len() as u64 / 2, "{by}");
    assert_eq!(a.copies_by.words().as_deref(), Some(by));
    assert_eq!((p.retransmitted, p.payload_bytes), (0, 200_000));
    assert_eq!((p.base.min_ns, p.rtt_samples), (Some(RTT), 201));
}

#[test]
fn copies_are_known_by_identification_ttl_timestamp_or_time() {
    let next_router = |p: &mut Vec<u8>| p[8] -= 1;
    let no_id = |_: usize, p: &mut Vec<u8>| p[4..6].fill(0);
    for lag in [5000, 3 * MS, 10 * MS, 60 * MS] {
        let (a, p) = only(&twice(lag, &|_, _| (), &next_router));
        assert_eq!((a.copies, p.retransmitted, p.base.min_ns), (404, 0, Some(RTT)), "{lag}");
        // A router's two interfaces, of hosts that write no identification.
        is_read_once(&twice(lag, &no_id, &next_router), "ttl");
    }
    // A port mirror: nothing but time.
    is_read_once(&twice(5000, &no_id, &|_| ()), "time");
    is_read_once(&twice(2 * MS, &no_id, &|_| ()), "time");
    // One identification for all packets tells nothing.
    is_read_once(&twice(5000, &|_, p| p[4..6].copy_from_slice(&[0, 1]), &|_| ()), "time");
}

#[test]
fn what_is_sent_again_with_a_constant_identification_is_no_copy() {
    let (mut d, asked) = download();
    let seq = d.data(2 * S, MSS);
    for later in [1, 3, 7] {
        d.again(2 * S + later * S, seq, MSS);
    }
    d.put(9050 * MS, Tcp::new(CLIENT, SERVER, ISN.0 + 1 + asked, d.next, ACK, 0));
    for (_, packet) in &mut d.packets {
        packet[4..6].copy_from_slice(&[0, 1]);
    }
    let (a, p) = only(&d);
    assert_eq!((a.copies, p.retransmitted), (0, 3));
}

#[test]
fn a_fast_retransmission_and_acks_that_repeat_are_no_copies() {
    for id in [None, Some([0, 0])] {
        let mut d = Download::open(0, RTT, 0);
        let lost = d.data(S, MSS);
        for i in 1..10 {
            d.data(S + i * MS, MSS);
        }
        for i in 1..10 {
            d.ack(S + RTT + i * MS / 4, lost, &[]); // three a millisecond, word for word
        }
        d.again(S + RTT + 3 * MS, lost, MSS);
        d.ack(S + 2 * RTT + 3 * MS, d.next, &[]);
        for (_, packet) in &mut d.packets {
            if let Some(id) = id {
                packet[4..6].copy_from_slice(&id);
            }
        }
        let (a, p) = only(&d);
        assert_eq!((a.copies, p.retransmitted), (0, 1), "{id:?}");
    }
}

#[test]
fn equal_addresses_and_ports_in_two_networks_are_two_connections() {
    let vlan = |id: u8, p: &[u8]| ethernet(0x8100, &be(&[&[0, id, 8, 0], p]));
    let vxlan = |vni: u8, p: &[u8]| {
        let inner = be(&[&[8, 0, 0, 0, 0, 0, vni, 0], &ethernet(0x0800, p)]);
        ethernet(0x0800, &udp(4789, &inner))
    };
    let gre = |end: u8, p: &[u8]| {
        let mut outer = ipv4(47, &be(&[&[0, 0, 8, 0], p]));
        // From whoever sent it to the other: the pair is the same.
        let (from, to) = if p[12..16] == SERVER.0 { (12, 16) } else { (16, 12) };
        outer[from..from + 4].copy_from_slice(&[192, 0, 2, end]);
        outer[to..to + 4].copy_from_slice(&[198, 51, 100, 1]);
        ethernet(0x0800, &outer)
    };
    type Wrap<'a> = &'a dyn Fn(u8, &[u8]) -> Vec<u8>;
    let wraps: [(&str, Wrap); 3] = [("VLAN", &vlan), ("VXLAN", &vxlan), ("GRE", &gre)];
    for (name, wrap) in wraps {
        let mut packets: Vec<_> = Vec::new();
        for (t, p) in download().0.packets {
            packets.push((t, wrap(10, &p)));
            let mut other = p.clone();
            for at in [24, 28] {
                let number = u32::from_be_bytes([p[at], p[at + 1], p[at + 2], p[at + 3]]);
                if at == 24 || p[33] & ACK != 0 {
                    other[at..at + 4].copy_from_slice(&number.wrapping_add(1_500_000_000).to_be_bytes());
                }
            }
            packets.push((t + MS / 3, wrap(20, &other)));
        }
        packets.sort_by_key(|p| p.0);
        let seen = follow_link(1, &packets);
        assert_eq!(seen.connections.len(), 2, "{name}");
        for (_, aggregate) in &seen.connections {
            let p = aggregate.properties();
            assert_eq!((p.payload_bytes, p.base.min_ns, p.notes), (200_000, Some(RTT), None), "{name}");
        }
    }
}

#[test]
fn a_connection_whose_directions_have_tags_of_their_own_is_one() {
    // As a router on a stick, or a mirror of one port, tags them.
    let (d, _) = download();
    let packets: Vec<_> = d
        .packets
        .iter()
        .map(|(t, p)| {
            let id = if p[12..16] == SERVER.0 { 10 } else { 20 };
            (*t, ethernet(0x8100, &be(&[&[0, id, 8, 0], p])))
        })
        .collect();
    let seen = follow_link(1, &packets);
    assert_eq!(seen.connections.len(), 1);
    assert_eq!(seen.connections[0].1.properties().payload_bytes, 200_000);
}
