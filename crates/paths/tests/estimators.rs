//! Estimators on connections whose truth is written into the test. What they share is in `common`.

mod common;

use common::*;
use narrows_paths::aggregate::Properties;
use narrows_paths::estimators::vantage::Vantage;
use narrows_paths::flows::Limits;
use narrows_paths::sessions::{Rules, Service};

fn properties(d: &Download) -> Properties {
    let seen = follow(&d.packets);
    assert_eq!(seen.connections.len(), 1);
    seen.connections[0].1.properties()
}

/// `n` segments, each acknowledged after an RTT that `rtt` gives, two at a time.
fn steady(d: &mut Download, t_ns: i64, n: usize, rtt: impl Fn(usize) -> i64) {
    for i in 0..n {
        let t = t_ns + i as i64 * 200 * MS;
        d.data(t, MSS);
        d.data(t + MS, MSS);
        d.ack(t + MS + rtt(i), d.next, &[]);
    }
}

#[test]
fn base_rtt_counts_from_the_latest_data_that_an_ack_covers() {
    let mut d = Download::open(0, 50 * MS, 0);
    // Sent at 1000 ms and 1001 ms, acknowledged at 1041 ms: 40 ms, not 41.
    steady(&mut d, 1000 * MS, 1, |_| 40 * MS);
    let p = properties(&d);
    assert_eq!((p.base.min_ns, p.base.method, p.vantage), (Some(40 * MS), Some("sender"), Vantage::Sender));
    assert_eq!(p.rtt_samples, 2, "one of the handshake, one of data");
}

#[test]
fn peak_queueing_delay_is_the_99th_percentile_less_the_least() {
    let mut d = Download::open(0, 20 * MS, 0);
    steady(&mut d, 1000 * MS, 199, |i| (20 + i as i64) * MS);
    let p = properties(&d);
    // 200 samples: the handshake's 20 ms and 20, 21, … 218 ms. The 198th of them is 216 ms.
    assert_eq!(p.queueing.p99_rtt_ns, Some(216 * MS));
    assert_eq!((p.queueing.peak_ns, p.queueing.ratio), (Some(196 * MS), Some(9.8)));
}

#[test]
fn a_peak_in_a_recovery_is_seen_by_sacks_and_said() {
    // 200 samples of 50 ms. Then one is lost, and ten behind it wait for 100 ms more: 10 of 211 samples.
    let mut d = Download::open(0, 50 * MS, 0);
    for i in 0..200 {
        d.data(1000 * MS + i * 100 * MS, MSS);
        d.ack(1050 * MS + i * 100 * MS, d.next, &[]);
    }
    let t = 30_000 * MS;
    let hole = d.data(t, MSS);
    let from = d.next;
    for i in 1..=10 {
        d.data(t + i * MS, MSS);
    }
    for i in 1..=10 {
        let to = from.wrapping_add(i as u32 * MSS as u32);
        d.ack(t + i * MS + 150 * MS, hole, &[(from, to)]);
    }
    d.again(t + 170 * MS, hole, MSS);
    d.ack(t + 320 * MS, d.next, &[]);
    let p = follow(&d.packets).connections[0].1.properties();
    assert_eq!((p.rtt_samples, p.queueing.peak_ns), (201, Some(0)));
    assert_eq!((p.sacked_samples, p.peak_with_sacked_ns), (10, Some(100 * MS)));
    assert_eq!(p.notes.as_deref(), Some("peak_in_recoveries"));
}

#[test]
fn under_100_samples_there_is_no_99th_percentile() {
    let mut d = Download::open(0, 20 * MS, 0);
    steady(&mut d, 1000 * MS, 50, |_| 20 * MS);
    let p = properties(&d);
    assert_eq!((p.queueing.peak_ns, p.queueing.ratio, p.queueing.p99_rtt_ns), (None, None, None));
}

#[test]
fn ack_aggregation_is_in_units_of_the_negotiated_mss() {
    let mut d = Download::open(0, 20 * MS, 0);
    steady(&mut d, 1000 * MS, 5, |_| 20 * MS);
    let p = properties(&d);
    assert_eq!((p.mss, p.ack_aggregation, p.acks), ((Some(MSS as u32), Some("syn")), Some(2.0), 5));
}

#[test]
fn an_ack_of_data_that_was_sent_twice_gives_no_sample() {
    let mut d = Download::open(0, 50 * MS, 0);
    let seq = d.data(1000 * MS, MSS);
    d.again(1300 * MS, seq, MSS);
    d.ack(1301 * MS, d.next, &[]); // of the first sending: 1 ms would be wrong
    let p = properties(&d);
    assert_eq!((p.base.min_ns, p.rtt_samples), (Some(50 * MS), 1));
    assert_eq!((p.retransmitted, p.loss_events, p.needless), (1, 1, 0));
}

#[test]
fn data_that_was_acknowledged_before_is_sent_again_needlessly() {
    let mut d = Download::open(0, 50 * MS, 0);
    let seq = d.data(1000 * MS, MSS);
    d.ack(1050 * MS, d.next, &[]);
    d.again(1051 * MS, seq, MSS);
    let p = properties(&d);
    assert_eq!((p.retransmitted, p.needless, p.loss_events), (1, 1, 0));
}

#[test]
fn after_a_hole_the_ack_that_fills_it_is_no_sample_and_no_aggregation() {
    let mut d = Download::open(0, 50 * MS, 0);
    let lost = d.data(1000 * MS, MSS);
    let first = d.data(1001 * MS, MSS);
    let second = d.data(1002 * MS, MSS);
    d.ack(1051 * MS, lost, &[(first, second)]);
    d.ack(1052 * MS, lost, &[(first, d.next)]);
    d.again(1052 * MS, lost, MSS);
    d.ack(1102 * MS, d.next, &[]);
    let p = properties(&d);
    assert_eq!((p.rtt_samples, p.acks, p.ack_aggregation), (1, 0, None));
    assert_eq!((p.reordered_behind, p.retransmitted), (0, 1));
}

#[test]
fn data_that_overtook_behind_the_capture_is_told_by_sack_without_retransmission() {
    let mut d = Download::open(0, 50 * MS, 0);
    let late = d.data(1000 * MS, MSS);
    let early = d.data(1001 * MS, MSS);
    d.ack(1051 * MS, late, &[(early, d.next)]);
    d.ack(1052 * MS, d.next, &[]);
    let p = properties(&d);
    assert_eq!((p.reordered_behind, p.retransmitted), (1, 0));
}

#[test]
fn data_that_was_overtaken_before_the_capture_is_reordered_and_what_comes_a_round_trip_later_was_sent_again()
{
    let open = || Download::open(0, 30 * MS, 10 * MS);
    for (lag, reordered, retransmitted) in [(5 * MS, 1, 0), (60 * MS, 0, 1)] {
        let mut d = open();
        let late = d.next;
        d.next = d.next.wrapping_add(MSS as u32);
        d.data(1000 * MS, MSS);
        d.again(1000 * MS + lag, late, MSS);
        d.ack(1100 * MS, d.next, &[]);
        let p = properties(&d);
        assert_eq!((p.reordered_before, p.retransmitted), (reordered, retransmitted), "{lag} ns late");
        assert_eq!(p.payload_bytes, 2 * MSS as u64);
    }
}

#[test]
fn in_the_middle_of_the_path_both_halves_add_up() {
    let mut d = Download::open(0, 30 * MS, 10 * MS);
    steady(&mut d, 1000 * MS, 3, |_| 30 * MS);
    let p = properties(&d);
    assert_eq!((p.base.min_ns, p.base.method), (Some(40 * MS), Some("two halves")));
    assert_eq!((p.vantage, p.far_min_ns, p.near_min_ns), (Vantage::Middle, Some(30 * MS), Some(10 * MS)));
}

#[test]
fn at_the_receiver_there_is_no_queueing_delay_and_the_handshake_gives_base_rtt() {
    let mut d = Download::open(0, 0, 40 * MS);
    steady(&mut d, 1000 * MS, 300, |_| MS / 10);
    let p = properties(&d);
    assert_eq!((p.vantage, p.base.min_ns), (Vantage::Receiver, Some(40 * MS)));
    assert_eq!((p.queueing.peak_ns, p.jitter_ns, p.outstanding_share), (None, None, None));
}

#[test]
fn the_initial_window_is_the_first_after_the_handshake_scaled() {
    let d = Download::open(0, 50 * MS, 0);
    let seen = follow(&d.packets);
    assert_eq!(seen.connections[0].1.initial_rwnd_bytes, Some(1000 << 7), "the SYN's own window is 64,000");
    // Without the SYN-ACK nobody knows whether windows are scaled.
    let seen = follow(&[d.packets[0].clone(), d.packets[2].clone()]);
    assert_eq!(seen.connections[0].1.initial_rwnd_bytes, None);
}

#[test]
fn without_a_syn_the_mss_is_the_largest_payload_and_the_row_says_so() {
    let mut d = Download::open(0, 50 * MS, 0);
    steady(&mut d, 1000 * MS, 3, |_| 50 * MS);
    let seen = follow(&d.packets[3..]);
    let p = seen.connections[0].1.properties();
    assert_eq!(p.mss, (Some(MSS as u32), Some("largest payload")));
    assert_eq!((p.ack_aggregation, p.vantage), (Some(2.0), Vantage::Unknown));
    assert!(p.notes.unwrap().contains("no_syn"));
}

#[test]
fn one_direction_alone_has_no_rtt_and_says_so() {
    let mut d = Download::open(0, 50 * MS, 0);
    steady(&mut d, 1000 * MS, 1000, |_| 50 * MS);
    let one: Vec<_> = d.packets.iter().filter(|(_, p)| p[12..16] == SERVER.0).cloned().collect();
    let seen = follow(&one);
    let p = seen.connections[0].1.properties();
    assert_eq!((p.base.min_ns, p.rtt_samples, p.ack_aggregation), (None, 0, None));
    assert_eq!(p.payload_bytes, 2000 * MSS as u64);
    assert!(p.notes.unwrap().contains("one_sided"));
}

#[test]
fn headers_alone_read_as_whole_packets_and_cut_options_are_unknown_not_absent() {
    let mut d = Download::open(0, 50 * MS, 0);
    steady(&mut d, 1000 * MS, 200, |_| 50 * MS);
    let lost = d.data(90_000 * MS, MSS);
    d.data(90_001 * MS, MSS);
    d.ack(90_051 * MS, lost, &[(lost.wrapping_add(MSS as u32), d.next)]);
    d.ack(90_052 * MS, d.next, &[]);
    let whole = properties(&d);
    let [all, cut] = [64, 44].map(|snap| {
        let seen = follow_with(&d.packets, snap, LIMITS, RULES);
        let p = seen.connections[0].1.properties();
        assert_eq!(p.base.min_ns, whole.base.min_ns, "{snap}");
        assert_eq!(p.payload_bytes, whole.payload_bytes, "{snap}");
        p
    });
    assert_eq!(all.ack_aggregation, whole.ack_aggregation);
    assert_eq!((cut.ack_aggregation, cut.mss.1), (None, Some("largest payload")));
    assert!(cut.notes.unwrap().contains("options_cut"));
}

#[test]
fn packets_that_the_log_misses_are_told_and_give_no_sample() {
    let mut d = Download::open(0, 50 * MS, 0);
    steady(&mut d, 1000 * MS, 2, |_| 50 * MS);
    let missing = d.next.wrapping_add(5000);
    d.next = missing;
    d.ack(3000 * MS, missing, &[]);
    let p = properties(&d);
    assert_eq!(p.rtt_samples, 3);
    assert!(p.notes.unwrap().contains("packets_missing"));
}

#[test]
fn a_packet_that_comes_twice_in_the_log_counts_once() {
    let mut d = Download::open(0, 50 * MS, 0);
    steady(&mut d, 1000 * MS, 20, |_| 50 * MS);
    let once = properties(&d);
    let twice: Vec<_> =
        d.packets.iter().flat_map(|(t, p)| [(*t, p.clone()), (*t + 1000, p.clone())]).collect();
    let seen = follow(&twice);
    let p = seen.connections[0].1.properties();
    assert_eq!((p.retransmitted, p.rtt_samples, p.base.min_ns), (0, once.rtt_samples, once.base.min_ns));
    assert_eq!(seen.connections[0].0.copies, d.packets.len() as u64);
}

#[test]
fn keep_alives_and_probes_of_a_closed_window_are_no_losses() {
    let mut d = Download::open(0, 50 * MS, 0);
    steady(&mut d, 1000 * MS, 2, |_| 50 * MS);
    d.again(60_000 * MS, d.next.wrapping_sub(1), 0);
    d.again(70_000 * MS, d.next.wrapping_sub(1), 1);
    let mut closed = Tcp::new(CLIENT, SERVER, ISN.0 + 1, d.next, ACK, 0);
    closed.window = 0;
    d.put(80_000 * MS, closed.clone());
    d.data(81_000 * MS, 1);
    closed.ack = d.next;
    d.put(95_000 * MS, closed); // acknowledged after 14 s, since the window was closed
    let p = properties(&d);
    assert_eq!((p.retransmitted, p.rtt_samples), (0, 3));
    assert_eq!(p.payload_bytes, 4 * MSS as u64 + 1, "the probe's byte was accepted");
    let a = &follow(&d.packets).connections[0].1;
    assert_eq!(
        (a.keep_alives, a.window_probes, a.unseen_bytes),
        (2, 1, 0),
        "a keep-alive with a byte, one without"
    );
}

#[test]
fn a_port_that_is_used_again_is_another_connection() {
    let mut d = Download::open(0, 50 * MS, 0);
    steady(&mut d, 1000 * MS, 2, |_| 50 * MS);
    d.put(2000 * MS, Tcp::new(CLIENT, SERVER, ISN.0 + 1, d.next, RST, 0));
    let mut packets = d.packets.clone();
    let mut syn = Tcp::new(CLIENT, SERVER, 77_777, 0, SYN, 0);
    syn.options = syn_options(1200, 3);
    packets.push((3000 * MS, syn.v4()));
    let seen = follow(&packets);
    assert_eq!(seen.connections.len(), 2);
    assert_eq!(seen.sessions.len(), 1, "both are of one session");
}

#[test]
fn times_that_go_backwards_give_no_negative_samples() {
    let mut d = Download::open(1000 * MS, 50 * MS, 0);
    let t = 2000 * MS;
    d.data(t, MSS);
    d.ack(t - 100 * MS, d.next, &[]);
    let p = properties(&d);
    assert_eq!(p.base.min_ns, Some(50 * MS));
    assert!(p.notes.unwrap().contains("time_went_back"));
}

#[test]
fn throughput_leaves_pauses_out() {
    let mut d = Download::open(0, 50 * MS, 0);
    for start in [1000 * MS, 61_000 * MS] {
        let mut request = Tcp::new(CLIENT, SERVER, ISN.0 + 1, d.next, ACK, 200);
        request.seq += if start > 2000 * MS { 200 } else { 0 };
        d.put(start, request);
        for i in 0..10 {
            d.data(start + 50 * MS + i * MS, MSS);
        }
        d.ack(start + 110 * MS, d.next, &[]);
    }
    let p = properties(&d);
    assert_eq!((p.active_ns, p.active_periods), (Some(220 * MS), 2));
    assert_eq!(p.throughput_bps, Some(20_000.0 * 8.0 / 0.22));
}

#[test]
fn a_capacity_needs_a_standing_queue() {
    for (queue, expected) in [(20 * MS, Some(8e6)), (0, None)] {
        let mut d = Download::open(0, 20 * MS, 0);
        // 1000 bytes every millisecond, acknowledged one RTT later; data is always outstanding.
        let rtt = 20 * MS + queue;
        let n = 3000;
        let mut events: Vec<(i64, bool)> = Vec::new();
        for i in 0..n {
            events.push((1000 * MS + i * MS, true));
            events.push((1000 * MS + i * MS + rtt + MS / 2, false));
        }
        events.sort_unstable();
        let mut acked = d.next;
        for (t, is_data) in events {
            if is_data {
                d.data(t, MSS);
            } else {
                acked = acked.wrapping_add(MSS as u32);
                d.ack(t, acked, &[]);
            }
        }
        let p = properties(&d);
        assert_eq!(
            p.capacity_bps.map(|c| (c / 1e4).round() * 1e4),
            expected,
            "{} windows",
            p.capacity_windows
        );
    }
}

#[test]
fn only_the_busiest_server_of_a_session_counts_and_short_sessions_do_not() {
    let move_to = |packets: &[(i64, Vec<u8>)], server: u8, port: u8| -> Vec<(i64, Vec<u8>)> {
        packets
            .iter()
            .map(|(t, p)| {
                let mut p = p.clone();
                let (at, side) = if p[12..16] == SERVER.0 { (15, 23) } else { (19, 21) };
                p[at] = server;
                p[side] = p[side].wrapping_add(port);
                (*t, p)
            })
            .collect()
    };
    let mut big = Download::open(0, 20 * MS, 0);
    steady(&mut big, 1000 * MS, 50, |_| 20 * MS);
    let mut small = Download::open(2000 * MS, 5 * MS, 0);
    steady(&mut small, 3000 * MS, 5, |_| 5 * MS);
    let mut packets = [move_to(&big.packets, 1, 0), move_to(&small.packets, 2, 1)].concat();
    packets.sort_by_key(|p| p.0);
    let seen = follow(&packets);
    assert_eq!((seen.connections.len(), seen.sessions.len()), (2, 1));
    let s = &seen.sessions[0];
    assert_eq!(
        (s.server.to_string(), s.servers, s.connections, s.connections_counted),
        ("10.0.2.1".into(), 2, 2, 1)
    );
    assert_eq!(s.aggregate.properties().base.min_ns, Some(20 * MS), "not the 5 ms of the other server");
    assert_eq!(s.share_of_bytes, Some(100.0 / 110.0));
    let service = Service::Server;
    let apart = follow_with(&packets, 9999, LIMITS, Rules { service, ..RULES });
    assert_eq!(apart.sessions.len(), 2);
    let min_ns = 120 * S;
    let long = follow_with(&packets, 9999, LIMITS, Rules { min_ns, ..RULES });
    assert_eq!((long.sessions.len(), long.short), (0, 1));
}

#[test]
fn connections_far_apart_are_two_sessions_and_a_full_table_ends_the_idlest() {
    let mut packets = Vec::new();
    for i in 0..100i64 {
        let mut syn = Tcp::new(([10, 0, 1, i as u8], 40_000), SERVER, 1, 0, SYN, 0);
        syn.options = syn_options(1000, 7);
        packets.push((i * MS, syn.v4()));
    }
    let limits = Limits { connections: 16, idle_ns: 600 * S };
    let seen = follow_with(&packets, 9999, limits, RULES);
    assert_eq!(seen.connections.len(), 100);
    assert!(seen.evicted >= 84, "{}", seen.evicted);
    let mut first = Download::open(0, 20 * MS, 0);
    first.put(1000 * MS, Tcp::new(CLIENT, SERVER, ISN.0 + 1, first.next, RST, 0));
    let second: Vec<_> =
        Download::open(0, 20 * MS, 0).packets.iter().map(|(t, p)| (t + 100 * S, p.clone())).collect();
    let mut syn = second[0].1.clone();
    syn[24..28].copy_from_slice(&99u32.to_be_bytes());
    first.packets.push((second[0].0, syn));
    assert_eq!(follow(&first.packets).sessions.len(), 2);
}

#[test]
fn damaged_packets_and_times_never_panic() {
    let mut good = Download::open(0, 50 * MS, 1);
    steady(&mut good, 1000 * MS, 30, |i| (50 + i as i64) * MS);
    let lost = good.data(9000 * MS, MSS);
    let from = good.data(9001 * MS, MSS);
    good.ack(9051 * MS, lost, &[(from, good.next)]);
    good.again(9051 * MS, lost, MSS);
    good.ack(9101 * MS, good.next, &[]);
    let mut state = 3u64;
    let mut random = move || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        state >> 24
    };
    let mut rows = 0;
    for _ in 0..300 {
        let mut packets = good.packets.clone();
        for _ in 0..random() % 20 {
            let at = random() as usize % packets.len();
            let (t, data) = &mut packets[at];
            if data.len() < 36 {
                continue; // cut before
            }
            match random() % 4 {
                0 => *t = (random() as i64 - (1 << 39)) << 21,
                1 => {
                    let byte = random() as usize % data.len().min(60);
                    data[byte] = random() as u8;
                }
                // Numbers, acknowledgements and windows far off.
                2 => data[24..36].fill(random() as u8),
                _ => data.truncate(random() as usize % data.len()),
            }
        }
        for (_, aggregate) in follow(&packets).connections {
            let p = aggregate.properties();
            assert!(p.base.min_ns.is_none_or(|ns| ns >= 0) && p.queueing.peak_ns.is_none_or(|ns| ns >= 0));
            assert!(p.throughput_bps.is_none_or(|bps| bps.is_finite() && bps >= 0.0));
            rows += 1;
        }
    }
    assert!(rows > 300);
}

#[test]
fn ipv6_reads_as_ipv4_does() {
    let far = 50 * MS;
    let mut packets = Vec::new();
    let mut put = |t: i64, tcp: Tcp| packets.push((t, tcp.v6()));
    let mut syn = Tcp::new(CLIENT, SERVER, 1, 0, SYN, 0);
    syn.options = syn_options(1440, 7);
    let mut syn_ack = Tcp::new(SERVER, CLIENT, 100, 2, SYN | ACK, 0);
    syn_ack.options = syn_options(1440, 7);
    put(0, syn);
    put(0, syn_ack);
    put(far, Tcp::new(CLIENT, SERVER, 2, 101, ACK, 0));
    put(100 * MS, Tcp::new(SERVER, CLIENT, 101, 2, ACK, 1440));
    put(140 * MS, Tcp::new(CLIENT, SERVER, 2, 1541, ACK, 0));
    let seen = follow(&packets);
    let (connection, aggregate) = &seen.connections[0];
    assert_eq!(connection.key.end(connection.client).0.to_string(), "2001:db8::a00:1");
    let p = aggregate.properties();
    assert_eq!((p.base.min_ns, p.ack_aggregation), (Some(40 * MS), Some(1.0)));
}

/// A SYN that is sent again a second later, and an answer 20 ms after that which echoes one of the two. At the receiver,
/// so that the handshake alone holds the path.
fn syn_sent_again(echoed: u32) -> Properties {
    let with = |from, to, seq, ack, flags, value, echo| {
        let mut tcp = Tcp::new(from, to, seq, ack, flags, 0);
        tcp.options = [syn_options(MSS as u16, 7), timestamps(value, echo)].concat();
        tcp
    };
    let mut d = Download::open(0, 0, 20 * MS);
    d.packets.clear();
    d.put(0, with(CLIENT, SERVER, ISN.0, 0, SYN, 100, 0));
    d.put(1000 * MS, with(CLIENT, SERVER, ISN.0, 0, SYN, 1100, 0));
    d.put(1020 * MS, with(SERVER, CLIENT, ISN.1, ISN.0 + 1, SYN | ACK, 7, echoed));
    d.put(1020 * MS, Tcp::new(CLIENT, SERVER, ISN.0 + 1, ISN.1.wrapping_add(1), ACK, 0));
    steady(&mut d, 2000 * MS, 3, |_| 0);
    properties(&d)
}

#[test]
fn a_syn_that_was_sent_again_gives_a_sample_when_its_timestamp_is_echoed() {
    let p = syn_sent_again(1100);
    assert_eq!((p.vantage, p.base.min_ns), (Vantage::Receiver, Some(20 * MS)));
    let p = syn_sent_again(100);
    assert_eq!((p.vantage, p.base.method), (Vantage::Unknown, Some("far half")));
}
