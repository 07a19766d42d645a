//! Tests of the pairing of events.

use super::*;

const IFINDEX: u32 = 1_000_001;

fn arrive(bytes: u32) -> What {
    What::Arrive { iface: 0, bytes }
}

fn enqueue(ifindex: u32) -> What {
    What::Enqueue { ifindex }
}

fn dequeue(ifindex: u32) -> What {
    What::Dequeue { ifindex }
}

const FREE: What = What::Free { reason: 2 };

type Paired = (Pairing, Vec<Bytes>);

/// One tapped queue, and what came of (time, packet, event).
fn paired(events: &[(u64, u64, What)], refuser: Option<usize>) -> Paired {
    paired_in(events, refuser, None)
}

fn paired_in(events: &[(u64, u64, What)], refuser: Option<usize>, interval_ns: Option<u64>) -> Paired {
    let queue = Queue { number: 3, ifindex: IFINDEX, iface: 0, interval_ns };
    let mut pairing = Pairing::new(vec![queue], vec![refuser], 0);
    for (t_ns, skb, what) in events.iter().copied() {
        pairing.take(Event { t_ns, skb, what }, 2).unwrap();
    }
    let records = std::mem::take(&mut pairing.records);
    (pairing, records)
}

fn count(packets: u64, bytes: u64) -> Count {
    Count { packets, bytes }
}

fn u64_at(r: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(r[at..at + 8].try_into().unwrap())
}

fn u32_at(r: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(r[at..at + 4].try_into().unwrap())
}

#[test]
fn a_packet_that_passes_has_its_sojourn_and_what_it_found() {
    let events = [
        (10, 1, arrive(1514)),
        (11, 1, enqueue(IFINDEX)),
        (20, 2, arrive(66)),
        (21, 2, enqueue(IFINDEX)),
        (50, 1, dequeue(IFINDEX)),
        (51, 1, What::Transmit),
        (70, 2, dequeue(IFINDEX)),
    ];
    let (pairing, records) = paired(&events, None);
    let expected = Totals { arrived: count(2, 1580), departed: count(2, 1580), ..Totals::default() };
    assert_eq!(pairing.totals[0], expected);
    assert_eq!(records.len(), 2);
    let second = &records[1];
    assert_eq!((second[0], second[1], second[42]), (2, 3, Outcome::Departed as u8));
    assert_eq!((u64_at(second, 8), u64_at(second, 16)), (20, 50));
    assert_eq!((u32_at(second, 24), u32_at(second, 28)), (1514, 1)); // found the first
    assert_eq!((u32_at(&records[0], 32), u32_at(&records[0], 36)), (66, 1)); // which left it behind
    assert_eq!(u32_at(second, 4), UNKNOWN_FLOW);
}

#[test]
fn a_refused_packet_belongs_to_the_one_queue_that_drops_and_to_none_without_one() {
    let events = [(10, 1, arrive(1514)), (12, 1, FREE)];
    let (pairing, records) = paired(&events, Some(0));
    let expected = Totals { arrived: count(1, 1514), dropped: count(1, 1514), ..Totals::default() };
    assert_eq!(pairing.totals[0], expected);
    assert_eq!((records[0][42], records[0][40]), (Outcome::Dropped as u8, 2));
    let (pairing, records) = paired(&events, None);
    assert_eq!((&pairing.totals[0], records.len()), (&Totals::default(), 0));
}

#[test]
fn a_packet_that_an_aqm_drops_was_queued() {
    let events = [(10, 1, arrive(100)), (11, 1, enqueue(IFINDEX)), (40, 1, FREE)];
    let (pairing, records) = paired(&events, None);
    assert_eq!(pairing.totals[0].dropped, count(1, 100));
    assert_eq!(u64_at(&records[0], 16), 30);
}

#[test]
fn all_of_a_bulk_dequeue_depart() {
    let events = [
        (10, 1, arrive(100)),
        (11, 1, enqueue(IFINDEX)),
        (12, 2, arrive(100)),
        (13, 2, enqueue(IFINDEX)),
        (20, 1, dequeue(IFINDEX)), // names the first alone
        (21, 1, What::Transmit),
        (22, 2, What::Transmit),
        (30, 2, FREE), // long gone from here
    ];
    let (pairing, records) = paired(&events, Some(0));
    assert_eq!((pairing.totals[0].departed, records.len()), (count(2, 200), 2));
    assert_eq!(pairing.totals[0].dropped, count(0, 0));
}

#[test]
fn other_interfaces_of_the_same_name_do_not_count() {
    let events = [
        (10, 1, arrive(100)), // no qdisc there
        (11, 1, What::Transmit),
        (12, 2, arrive(100)), // a qdisc that is not tapped
        (13, 2, enqueue(7)),
        (14, 2, FREE),
    ];
    let (pairing, records) = paired(&events, Some(0));
    assert_eq!((&pairing.totals[0], records.len()), (&Totals::default(), 0));
}

#[test]
fn a_packet_taken_in_another_ones_place_counts_when_it_leaves() {
    let events = [(10, 1, arrive(100)), (30, 1, dequeue(IFINDEX))];
    let (pairing, _) = paired(&events, None);
    assert_eq!(pairing.totals[0].departed, count(1, 100));
    assert_eq!(pairing.totals[0].queued, count(0, 0));
}

#[test]
fn what_is_still_queued_at_the_end_is_told() {
    let (mut pairing, _) = paired(&[(10, 1, arrive(100)), (11, 1, enqueue(IFINDEX))], None);
    assert_eq!(pairing.totals[0].queued, count(1, 100));
    pairing.finish();
    assert_eq!(pairing.records[0][42], Outcome::Queued as u8);
}

#[test]
fn in_the_mode_drops_only_dropped_packets_have_records_and_intervals_count_all() {
    let events = [
        (10, 1, arrive(100)),
        (11, 1, enqueue(IFINDEX)),
        (12, 2, arrive(60)),
        (13, 2, FREE),
        (20, 1, dequeue(IFINDEX)),
    ];
    let (mut pairing, mut records) = paired_in(&events, Some(0), Some(1000));
    pairing.finish();
    records.append(&mut pairing.records);
    let kinds: Vec<(u8, u8)> = records.iter().map(|r| (r[0], r[42])).collect();
    assert_eq!(kinds, [(2, Outcome::Dropped as u8), (3, 0), (4, 0)]);
    let counts: Vec<u32> = (16..40).step_by(4).map(|at| u32_at(&records[1], at)).collect();
    assert_eq!(counts, [2, 160, 1, 100, 1, 60]);
    assert_eq!(u64_at(&records[2], 40), 10); // the longest sojourn
}

#[test]
fn a_packet_cannot_come_twice_without_leaving() {
    let queue = Queue { number: 0, ifindex: IFINDEX, iface: 0, interval_ns: None };
    let mut pairing = Pairing::new(vec![queue], vec![None], 0);
    let mut take = |t_ns, what| pairing.take(Event { t_ns, skb: 1, what }, 0);
    take(1, arrive(100)).unwrap();
    take(2, enqueue(IFINDEX)).unwrap();
    assert!(take(3, arrive(100)).unwrap_err().contains("came again"));
}

#[test]
fn a_reason_keeps_its_name_over_kernels_and_else_its_number() {
    let names = HashMap::from([(65, "QDISC_OVERLIMIT".to_string()), (2, "NOT_SPECIFIED".to_string())]);
    assert_eq!(reason_number(65, &names), 2);
    assert_eq!(reason_number(2, &names), 0x8002);
    assert_eq!(reason_number(0, &names), 0);
}
