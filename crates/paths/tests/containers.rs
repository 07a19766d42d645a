//! Containers: every form of pcap and pcapng gives the same packets and times; damage ends it with a word.

mod common;

use common::*;

fn sample() -> Vec<(i64, Vec<u8>)> {
    (0..5).map(|i| (1_700_000_000 * S + i * 123_456_000, vec![i as u8; 40 + i as usize])).collect()
}

#[test]
fn both_byte_orders_and_both_units_of_pcap_give_the_same_packets() {
    for big_endian in [false, true] {
        for unit in [1, 1000] {
            let (about, counts, found) = packets(&pcap(1, unit, big_endian, &sample(), 9999)).unwrap();
            let expected: Vec<_> = sample().into_iter().map(|(t, d)| (t, 1, d)).collect();
            assert_eq!(found, expected, "big endian {big_endian}, unit {unit}");
            assert_eq!((about.format, about.damage, counts.packets), ("pcap", None, 5));
        }
    }
}

#[test]
fn interfaces_of_pcapng_have_their_own_resolution_offset_and_link_type() {
    let interfaces = [
        interface(1, None, 0),
        interface(113, Some(9), 0),
        interface(101, Some(0x80 | 20), 100),
        interface(276, Some(3), -100),
    ];
    for big_endian in [false, true] {
        let log = pcapng(
            big_endian,
            &interfaces,
            &[
                (0, 5_000_001, vec![1]),
                (1, 5_000_000_001, vec![2; 5]),
                (2, 5 << 20, vec![3]),
                (3, 105_001, vec![4]),
            ],
        );
        let (about, _, found) = packets(&log).unwrap();
        assert_eq!(
            found,
            [
                (5 * S + 1000, 1, vec![1]),
                (5 * S + 1, 113, vec![2; 5]),
                (105 * S, 101, vec![3]),
                (5 * S + MS, 276, vec![4]),
            ],
            "big endian {big_endian}"
        );
        assert_eq!((about.interfaces, about.damage), (4, None));
    }
}

#[test]
fn sections_may_change_the_byte_order_and_forget_interfaces() {
    let ether = || [interface(1, Some(9), 0)];
    let mut log = pcapng(false, &ether(), &[(0, 7, vec![1])]);
    log.extend(pcapng(true, &ether(), &[(0, 8, vec![2]), (1, 9, vec![3])]));
    let (_, counts, found) = packets(&log).unwrap();
    assert_eq!(found, [(7, 1, vec![1]), (8, 1, vec![2])]);
    assert_eq!(counts.not_tcp["interface that was not described"], 1);
}

#[test]
fn a_log_that_ends_too_early_says_where_and_keeps_what_came_before() {
    let whole = pcap(1, 1000, false, &sample(), 9999);
    let (about, _, found) = packets(&whole[..whole.len() - 3]).unwrap();
    assert_eq!(found.len(), 4);
    assert!(about.damage.unwrap().contains("it ends within a packet"));
    let whole = pcapng(false, &[interface(1, None, 0)], &[(0, 1, vec![1; 20])]);
    let (about, _, found) = packets(&whole[..whole.len() - 3]).unwrap();
    assert_eq!(found.len(), 0);
    assert!(about.damage.unwrap().contains("it ends within a block"));
}

#[test]
fn an_impossible_length_is_damage_and_no_memory_is_taken_for_it() {
    let mut log = pcap(1, 1000, false, &sample(), 9999);
    log[24 + 8..24 + 12].copy_from_slice(&0xffff_0000u32.to_le_bytes());
    let (about, counts, _) = packets(&log).unwrap();
    assert!(about.damage.unwrap().contains("claims 4294901760 captured bytes"));
    assert_eq!(counts.packets, 0);
}

#[test]
fn a_captured_length_above_the_length_on_the_wire_is_counted_and_used() {
    let mut log = pcap(1, 1000, false, &sample(), 9999);
    log[24 + 12..24 + 16].copy_from_slice(&4u32.to_le_bytes());
    let (_, counts, found) = packets(&log).unwrap();
    assert_eq!(found.len(), 5);
    assert_eq!(counts.odd["captured length above the length on the wire"], 1);
}

#[test]
fn what_is_no_packet_log_is_refused_with_a_remedy() {
    for (log, message) in [(&b""[..], "nothing in it"), (b"hello, world", "neither pcap nor pcapng")] {
        let error = packets(log).unwrap_err();
        assert!(error.message.contains(message), "{error}");
        assert!(!error.remedy.is_empty());
    }
    let error = packets(&pcap(1, 1, false, &[], 1)[..10]).unwrap_err();
    assert!(error.message.contains("header ends too early"));
}

#[test]
fn damaged_logs_never_panic() {
    let good = [
        pcap(1, 1000, false, &sample(), 9999),
        pcapng(true, &[interface(1, Some(6), 3)], &[(0, 9, vec![7; 60])]),
    ];
    let mut state = 1u64;
    for round in 0..1000 {
        let mut log = good[round % 2].clone();
        for _ in 0..4 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let at = (state >> 33) as usize % log.len();
            log[at] = (state >> 20) as u8;
        }
        let _ = packets(&log);
    }
}

#[test]
fn files_behind_each_other_are_read_as_one() {
    let one = pcap(1, 1000, false, &sample(), 9999);
    let two = pcap(101, 1, true, &sample(), 9999);
    let three = pcapng(true, &[interface(113, Some(9), 0)], &[(0, 8, vec![3])]);
    for order in [[&one, &two, &three], [&three, &one, &two]] {
        let (about, counts, found) = packets(&order.map(|f| f.clone()).concat()).unwrap();
        assert_eq!((about.files, about.damage, counts.packets), (3, None, 11));
        for link in [1, 101] {
            let of: Vec<_> = found.iter().filter(|f| f.1 == link).cloned().collect();
            let expected: Vec<_> = sample().into_iter().map(|(t, d)| (t, link, d)).collect();
            assert_eq!(of, expected);
        }
        assert!(found.contains(&(8, 113, vec![3])));
    }
    // A packet of 2055 is no header.
    let late = [(0xa1b2_c3d4 * S + 262_146_000, vec![1; 60])];
    let (about, _, found) = packets(&pcap(1, 1000, false, &late, 9999)).unwrap();
    assert_eq!((about.files, found.len(), about.damage), (1, 1, None));
}

#[test]
fn nanoseconds_where_the_header_says_microseconds_are_refused() {
    for n in [1, 2, 3, 1000] {
        let all: Vec<_> = (0..n).map(|i| (i * S / 7 + 5_000_000, vec![1; 60])).collect();
        let mut log = pcap(1, 1, false, &all, 9999);
        log[..4].copy_from_slice(&0xa1b2_c3d4u32.to_le_bytes());
        let error = packets(&log).unwrap_err();
        assert!(error.message.contains("nanoseconds"), "{error}");
    }
    // One that is damaged among many is counted and no reason to refuse all.
    let all: Vec<_> = (0..1000).map(|i| (i * MS, vec![1; 60])).collect();
    let mut log = pcap(1, 1000, false, &all, 9999);
    log[24 + 76 * 500 + 4..24 + 76 * 500 + 8].copy_from_slice(&5_000_000u32.to_le_bytes());
    let (_, counts, _) = packets(&log).unwrap();
    assert_eq!(counts.odd["fraction of a second above 1 s"], 1);
}

#[test]
fn a_long_block_without_packets_is_passed_over() {
    let mut log = pcapng(false, &[interface(1, None, 0)], &[(0, 5, vec![1; 60])]);
    let packet = log.split_off(log.len() - 92);
    let length = 20_000_000u32;
    log.extend([10u32.to_le_bytes(), length.to_le_bytes()].concat());
    log.resize(log.len() + length as usize - 12, b'C');
    log.extend(length.to_le_bytes());
    let (about, counts, found) = packets(&[log.clone(), packet.clone()].concat()).unwrap();
    assert_eq!((about.damage, found.len()), (None, 1));
    assert_eq!(counts.blocks["decryption secrets"], 1);
    let short = &log[..log.len() - 9];
    assert!(packets(short).unwrap().0.damage.unwrap().contains("ends within a block"));
    log.pop();
    log.push(7);
    let damage = packets(&[log, packet].concat()).unwrap().0.damage.unwrap();
    assert!(damage.contains("claims a length of 20000000 bytes"), "{damage}");
}
