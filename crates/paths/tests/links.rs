//! Links below IP: what is said of logs whose aggregates and grids are known, and that plain links have none.

mod common;

use common::*;
use narrows_paths::aggregate::Properties;

const RTT: i64 = 40 * MS;
const US: i64 = 1000;

/// Numbers from 0 to `below`, the same each time.
fn draws(below: u64) -> impl FnMut() -> i64 {
    let mut state = 1u64;
    move || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        ((state >> 33) % below) as i64
    }
}

/// A log: so many segments arrive at each time, and are acknowledged at once, at the receiver or in the middle.
fn at_receiver(bursts: &[(i64, u32)], far_ns: i64) -> Properties {
    let mut d = Download::open(0, far_ns, RTT - far_ns);
    let mut events = Vec::new();
    for (t, segments) in bursts {
        events.extend((0..*segments).flat_map(|_| [(S + t, false), (S + t + far_ns, true)]));
    }
    events.sort();
    let mut acked = d.next;
    for (t, is_ack) in events {
        if is_ack {
            acked = acked.wrapping_add(MSS as u32);
            d.ack(t, acked, &[]);
        } else {
            d.data(t, MSS);
        }
    }
    follow(&d.packets).connections[0].1.properties()
}

/// The same at the sender: at each time so many ACKs come, each for so many segments, which were sent a round trip before.
fn at_sender(bursts: &[(i64, u32, u32)]) -> Properties {
    let mut d = Download::open(0, RTT, 0);
    let mut events = Vec::new();
    for (t, acks, each) in bursts {
        events.extend((0..acks * each).map(|_| (S + t - RTT, 0)));
        events.extend((0..*acks).map(|_| (S + t, *each)));
    }
    events.sort();
    let mut acked = d.next;
    for (t, each) in events {
        if each > 0 {
            acked = acked.wrapping_add(each * MSS as u32);
            d.ack(t, acked, &[]);
        } else {
            d.data(t, MSS);
        }
    }
    follow(&d.packets).connections[0].1.properties()
}

fn named(p: &Properties) -> (Option<f64>, Option<i64>) {
    (p.aggregate_segments, p.turn_period_ns)
}

#[test]
fn aggregates_of_a_radio_are_named_and_have_no_period() {
    let mut draw = draws(6000);
    let mut t = 0;
    let bursts: Vec<_> = (0..600)
        .map(|_| {
            t += 3 * MS + draw() * US;
            (t, 12)
        })
        .collect();
    assert_eq!(named(&at_receiver(&bursts, 10 * US)), (Some(12.0), None));
}

#[test]
fn turns_that_are_about_as_long_are_no_grid() {
    // Alone on the air: 4 ms and a backoff of 0 to 135 µs.
    let mut draw = draws(16);
    let mut t = 0;
    let bursts: Vec<_> = (0..600)
        .map(|_| {
            t += 4 * MS + draw() * 9 * US;
            (t, 16)
        })
        .collect();
    assert_eq!(named(&at_receiver(&bursts, 10 * US)), (Some(16.0), None));
}

#[test]
fn a_cells_blocks_have_the_period_of_their_tti() {
    for tti in [MS / 2, MS, 1_333_000] {
        let mut draw = draws(7);
        let bursts: Vec<_> = (0..2000).map(|n| (n * tti, draw() as u32)).collect();
        let (segments, period) = named(&at_receiver(&bursts, 10 * US));
        assert_eq!(period, Some(tti));
        // Of 1 to 6: a turn without any is no burst.
        assert!((3.3..3.7).contains(&segments.unwrap()), "{segments:?}");
    }
}

#[test]
fn packets_that_come_singly_show_the_grid_by_the_turns_that_they_skip() {
    // Two thirds of a packet a turn: one after every second, and then after the next one.
    let bursts: Vec<_> = (0..2000).map(|n| (MS * (n * 3 / 2), 1)).collect();
    assert_eq!(named(&at_receiver(&bursts, 10 * US)), (None, Some(MS)));
}

#[test]
fn grants_are_named_by_the_acks_that_they_carry() {
    // A grant each 2 ms, for one to three ACKs of two segments.
    let mut draw = draws(3);
    let bursts: Vec<_> = (0..1000).map(|n| (n * 2 * MS, 1 + draw() as u32, 2)).collect();
    let (segments, period) = named(&at_sender(&bursts));
    assert_eq!(period, Some(2 * MS));
    assert!((3.8..4.2).contains(&segments.unwrap()), "{segments:?}");
}

#[test]
fn a_link_with_a_rate_has_neither() {
    let busy: Vec<_> = (0..3000).map(|n| (n * 700 * US, 1)).collect();
    assert_eq!(named(&at_receiver(&busy, 10 * US)), (None, None));
    let acks: Vec<_> = (0..1500).map(|n| (n * 1400 * US, 1, 2)).collect();
    assert_eq!(named(&at_sender(&acks)), (None, None));
    // Now and then the queue is empty.
    let mut draw = draws(20_000);
    let mut t = 0;
    let pauses: Vec<_> = (0..3000)
        .map(|n| {
            t += 700 * US + if n % 7 == 0 { draw() * US } else { 0 };
            (t, 1)
        })
        .collect();
    assert_eq!(named(&at_receiver(&pauses, 10 * US)), (None, None));
}

#[test]
fn windows_of_a_sender_are_no_aggregates() {
    // A fast link: a window at once, each round trip. A slow one: one behind the other.
    let fast: Vec<_> = (0..400).map(|n| (n * RTT, 20)).collect();
    assert_eq!(named(&at_receiver(&fast, 10 * US)), (None, None));
    for window in [5, 10, 20, 40] {
        let slow: Vec<_> =
            (0..4000).map(|n| (n / window * (RTT + 123 * US) + n % window * 700 * US, 1)).collect();
        assert_eq!(named(&at_receiver(&slow, 10 * US)), (None, None), "{window}");
    }
}

#[test]
fn in_the_middle_nobody_knows_on_which_side_the_link_is() {
    let bursts: Vec<_> = (0..600).map(|n| (n * 5 * MS, 12)).collect();
    assert_eq!(named(&at_receiver(&bursts, RTT / 2)), (None, None));
}

#[test]
fn few_bursts_are_not_judged() {
    let bursts: Vec<_> = (0..29).map(|n| (n * 5 * MS, 12)).collect();
    assert_eq!(named(&at_receiver(&bursts, 10 * US)), (None, None));
}

#[test]
fn when_it_was_and_how_fast_changes_nothing_but_the_period() {
    let mut draw = draws(5);
    let bursts: Vec<_> = (0..1000).map(|n| (n * MS, draw() as u32)).collect();
    let (segments, period) = named(&at_receiver(&bursts, 10 * US));
    for (times, later) in [(1, 777 * US), (3, 0), (7, 12_345)] {
        let moved: Vec<_> = bursts.iter().map(|(t, n)| (t * times + later, *n)).collect();
        let expected = (segments, period.map(|period| period * times));
        assert_eq!(named(&at_receiver(&moved, 10 * US)), expected);
    }
}

#[test]
fn pairs_that_a_token_bucket_lets_pass_are_no_turns() {
    // A packet takes 288 us; where the queue was empty two pass at once, half a packet's time later or not.
    let mut t = 0;
    let bursts: Vec<_> = (0..1500)
        .map(|n| {
            t += match n % 10 {
                0 => 432,
                1..=5 => 288,
                _ => 576,
            } * US;
            (t, if n % 10 > 6 { 2 } else { 1 })
        })
        .collect();
    assert_eq!(named(&at_receiver(&bursts, 10 * US)), (None, None));
}
