//! Policers and bursts, and both ends of a path: what is said of logs whose truth is known.

mod common;

use common::*;
use narrows_paths::aggregate::Properties;
use narrows_paths::ends;

const RTT: i64 = 50 * MS;

/// When, what (0: data, 1: an ACK, 2: data again), its number, and SACK blocks.
type Event = (i64, u8, u32, Vec<(u32, u32)>);

/// A sender of rounds: each sends `flight` segments over a round trip, and what is lost again in the next.
/// `passes` says of each segment whether it does, by the time since the connection began; `waits` how long it is queued.
fn rounds(flights: &[u32], passes: &mut dyn FnMut(i64) -> bool, waits: i64) -> Properties {
    let mut d = Download::open(0, RTT, 0);
    let mut events: Vec<Event> = Vec::new();
    let mut next = d.next;
    let mut t = 1000 * MS;
    for flight in flights {
        let step = RTT / i64::from(*flight);
        let (mut acked, mut blocks, mut lost) = (next, Vec::<(u32, u32)>::new(), Vec::new());
        for i in 0..*flight {
            let (at, seq) = (t + i64::from(i) * step, next.wrapping_add(i * MSS as u32));
            events.push((at, 0, seq, Vec::new()));
            let end = seq.wrapping_add(MSS as u32);
            if !passes(at) {
                lost.push(seq);
                continue;
            }
            if lost.is_empty() {
                acked = end;
            } else if blocks.first().is_some_and(|b| b.1 == seq) {
                blocks[0].1 = end;
            } else {
                blocks.insert(0, (seq, end));
                blocks.truncate(3);
            }
            events.push((at + RTT + waits, 1, acked, blocks.clone()));
        }
        next = next.wrapping_add(flight * MSS as u32);
        t += 3 * RTT + waits;
        for (i, seq) in lost.iter().enumerate() {
            events.push((t + i as i64 * MS, 2, *seq, Vec::new()));
        }
        t += lost.len() as i64 * MS + 2 * RTT;
        events.push((t, 1, next, Vec::new()));
        t += 10 * MS;
    }
    events.sort_by_key(|e| (e.0, e.1));
    for (at, kind, seq, blocks) in events {
        match kind {
            0 => {
                d.data(at, MSS);
            }
            1 => d.ack(at, seq, &blocks),
            _ => d.again(at, seq, MSS),
        }
    }
    follow(&d.packets).connections[0].1.properties()
}

/// A token bucket of so many segments that is filled with one each millisecond: 8 Mbit/s of payload.
fn bucket(depth: f64) -> impl FnMut(i64) -> bool {
    let (mut tokens, mut last) = (depth, 0);
    move |t| {
        tokens = (tokens + (t - last) as f64 / MS as f64).min(depth);
        last = t;
        let passes = tokens >= 1.0;
        tokens -= f64::from(u8::from(passes));
        passes
    }
}

#[test]
fn a_policer_is_told_with_its_rate_and_its_bucket() {
    let flights = [20, 40, 100, 100, 100, 100, 100, 100, 100, 100, 100, 100];
    let p = rounds(&flights, &mut bucket(20.0), 0);
    assert_eq!(p.policed, Some(true));
    let rate = p.policed_rate_bps.unwrap();
    assert!((rate / 8e6 - 1.0).abs() < 0.03, "{rate}");
}

#[test]
fn a_rate_that_few_losses_tell_is_not_said() {
    let p = rounds(&[20, 40, 100, 100, 100, 100], &mut bucket(20.0), 0);
    assert_eq!((p.policed, p.policed_rate_bps), (Some(true), None));
}

#[test]
fn the_same_losses_behind_a_queue_are_no_policers() {
    let p = rounds(&[20, 40, 100, 100, 100, 100], &mut bucket(20.0), 40 * MS);
    // The queue stands throughout, but for the handshake.
    assert_eq!((p.policed, p.policed_rate_bps), (Some(false), None));
}

#[test]
fn losses_that_come_below_the_rate_are_no_policers() {
    let mut sent = 0;
    let p = rounds(
        &[20, 100, 20, 100, 20, 100, 20, 100, 20, 100, 20, 100, 20, 100, 20, 100],
        &mut |_| {
            sent += 1;
            sent % 37 != 0
        },
        0,
    );
    assert_eq!((p.policed, p.policed_rate_bps), (Some(false), None));
}

/// A sender that paces one segment a millisecond, more in one round trip of eight and less in the next, as BBR does; what is
/// lost is sent again once a SACK shows it.
fn paced(lost: &dyn Fn(u32) -> bool) -> Properties {
    let mut d = Download::open(0, RTT, 0);
    let (first, mut t) = (d.next, 1000 * MS);
    let mut events: Vec<(i64, u8, u32)> = Vec::new();
    for i in 0..6000 {
        t += match (t / RTT) % 8 {
            0 => MS * 4 / 5,
            1 => MS * 4 / 3,
            _ => MS,
        };
        events.push((t, 0, i));
        if lost(i) {
            events.extend([(t + RTT + 5 * MS, 2, i), (t + 2 * RTT + 5 * MS, 1, i)]);
        } else {
            events.push((t + RTT, 1, i));
        }
    }
    events.sort_unstable();
    let mut arrived = std::collections::BTreeSet::new();
    let mut whole = 0;
    for (at, kind, i) in events {
        let seq = |i: u32| first.wrapping_add(i * MSS as u32);
        match kind {
            0 => {
                d.data(at, MSS);
            }
            1 => {
                arrived.insert(i);
                while arrived.remove(&whole) {
                    whole += 1;
                }
                let blocks = [(seq(i), seq(i + 1))];
                d.ack(at, seq(whole), &blocks[..usize::from(i > whole)]);
            }
            _ => d.again(at, seq(i), MSS),
        }
    }
    follow(&d.packets).connections[0].1.properties()
}

#[test]
fn losses_at_random_of_a_sender_that_fills_the_path_are_no_policers() {
    // One in 37, and some in clusters: whatever a bucket holds.
    for lost in [(|i| i % 37 == 0) as fn(u32) -> bool, |i| i % 211 < 3] {
        let p = paced(&lost);
        // 0, or NULL where the pattern cannot be told.
        assert_ne!(p.policed, Some(true));
        assert_eq!((p.policed_rate_bps, p.burst_bytes), (None, None));
    }
}

#[test]
fn with_few_losses_nothing_is_said() {
    let p = rounds(&[20, 40, 40], &mut |_| true, 0);
    assert_eq!((p.policed, p.policed_rate_bps, p.burst_bytes), (None, None, None));
}

#[test]
fn a_burst_is_what_passes_at_once_beyond_the_rate() {
    // A queue stands and one segment a millisecond is acknowledged; before, 30 came at once after the handshake.
    let mut d = Download::open(0, RTT, 0);
    let mut sends: Vec<(i64, bool, u32)> = Vec::new();
    let first = d.next;
    let end = |i: u32| first.wrapping_add((i + 1) * MSS as u32);
    for i in 0..30 {
        sends.extend([(1000 * MS, false, i), (1000 * MS + RTT, true, i)]);
    }
    for i in 30..3030 {
        let at = 1001 * MS + i64::from(i - 30) * MS;
        let wait = RTT + (i64::from(i) * MS / 4).min(60 * MS);
        sends.extend([(at - wait + RTT, false, i), (at + RTT, true, i)]);
    }
    sends.sort();
    for (at, is_ack, i) in sends {
        if is_ack {
            d.ack(at, end(i), &[]);
        } else {
            d.data(at, MSS);
        }
    }
    let p = follow(&d.packets).connections[0].1.properties();
    let capacity = p.capacity_bps.unwrap();
    assert!((capacity / 8e6 - 1.0).abs() < 0.01, "{capacity}");
    assert!((29_000..=31_000).contains(&p.burst_bytes.unwrap()), "{:?}", p.burst_bytes);
}

#[test]
fn both_ends_together_tell_what_was_lost_and_reordered_between_them() {
    let mut d = Download::open(0, RTT, 0);
    for i in 0..10 {
        d.data(1000 * MS + i * MS, MSS);
    }
    let sent: Vec<_> = d.packets.clone();
    // The receiver's clock is 7 s ahead. The third is lost; the sixth comes 5 ms late, behind the eighth.
    let mut received: Vec<_> = Vec::new();
    for (i, (t, data)) in sent.iter().enumerate() {
        let late = if i == 8 { 3 * MS + MS / 2 } else { 0 };
        if i != 5 {
            received.push((t + 7 * S + 25 * MS + late, data.clone()));
        }
    }
    received.sort_by_key(|p| p.0);
    let folder = std::env::temp_dir().join(format!("narrows-paths-ends-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let [a, b] = ["a", "b"].map(|n| folder.join(n).display().to_string());
    std::fs::write(&a, pcap(101, 1, false, &sent, 96)).unwrap();
    std::fs::write(&b, pcap(101, 1, false, &received, 96)).unwrap();
    let both = ends::compare(&a, &b).unwrap();
    let swapped = ends::compare(&b, &a).unwrap();
    std::fs::write(&b, pcap(101, 1, false, &received[..3], 96)).unwrap();
    let other = ends::compare(&a, &b).unwrap_err();
    std::fs::remove_dir_all(&folder).unwrap();
    assert_eq!((both.sent, both.arrived, both.lost, both.unmatched), (10, 9, 1, 0));
    assert_eq!(both.reordered, 1);
    assert_eq!(both.least_delay_ns, Some(7 * S + 25 * MS));
    assert_eq!(both.delay_variation_p99_ns, Some(3 * MS + MS / 2));
    // Eight steps, of which one to the late one and one from it.
    assert_eq!(both.jitter_ns, Some(2 * (3 * MS + MS / 2) / 8));
    assert_eq!((swapped.lost, swapped.unmatched), (0, 1));
    assert!(other.message.starts_with("none of the 10 data segments"), "{other}");
}

/// Packets of a log: when, and their bytes.
type Packets = Vec<(i64, Vec<u8>)>;
/// What something on the way makes of a packet.
type Change<'a> = &'a dyn Fn(&mut Vec<u8>);

/// Ten segments, 25 ms on the way, and what `change` makes of the receiver's log.
fn ends_of(name: &str, change: &dyn Fn(&mut Packets)) -> ends::Between {
    let mut d = Download::open(0, RTT, 0);
    for i in 0..100 {
        d.data(1000 * MS + i * MS, MSS);
    }
    // Every tenth is lost.
    let mut received: Vec<_> = d
        .packets
        .iter()
        .enumerate()
        .filter(|(i, _)| i % 10 != 7)
        .map(|(_, (t, data))| (t + 25 * MS, data.clone()))
        .collect();
    change(&mut received);
    let folder = std::env::temp_dir().join(format!("narrows-paths-ends-{name}-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let [a, b] = ["a", "b"].map(|n| folder.join(n).display().to_string());
    std::fs::write(&a, pcap(101, 1, false, &d.packets, 96)).unwrap();
    std::fs::write(&b, pcap(101, 1, false, &received, 96)).unwrap();
    let both = ends::compare(&a, &b);
    std::fs::remove_dir_all(&folder).unwrap();
    both.unwrap()
}

#[test]
fn what_lies_outside_the_receivers_log_is_not_lost() {
    // It holds what arrives of segments 25 to 74. Lost are 34, 44, 54 and 64; and 74, but nothing comes behind it.
    let both = ends_of("short", &|received| {
        received.retain(|(t, _)| (1050 * MS..1100 * MS).contains(t));
    });
    assert_eq!((both.sent, both.lost, both.outside, both.unmatched), (49, 4, 51, 0));
    let both = ends_of("whole", &|_| ());
    assert_eq!((both.sent, both.lost, both.outside), (100, 10, 0));
    assert_eq!(both.same_by, "ports, identification");
}

#[test]
fn a_nat_may_change_ports_and_identifications() {
    let ports = |data: &mut Vec<u8>| data[22..24].copy_from_slice(&51_000u16.to_be_bytes());
    let id = |data: &mut Vec<u8>| data[4] ^= 0x55;
    let ways: [(&str, Change); 3] = [
        ("identification", &ports),
        ("ports", &id),
        ("nothing more", &|data| {
            ports(data);
            id(data);
        }),
    ];
    for (by, change) in ways {
        let both = ends_of(&by.replace(' ', "-"), &|received| {
            for (_, data) in received {
                change(data);
            }
        });
        assert_eq!((both.lost, both.unmatched, both.same_by), (10, 0, by));
        assert_eq!((both.least_delay_ns, both.reordered), (Some(25 * MS), 0));
    }
}
