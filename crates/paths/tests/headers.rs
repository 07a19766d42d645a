//! Headers: every link layer, tag and tunnel leads to the same segment; what does not is counted by name.

mod common;

use common::*;
use etherparse::{NetSlice, SlicedPacket, TransportSlice};
use narrows_paths::headers::{unwrap, Segment, Unit};

fn segment() -> Tcp {
    let mut tcp = Tcp::new(CLIENT, SERVER, 7, 9, ACK, 100);
    tcp.options = timestamps(11, 12);
    tcp
}

fn check(link: u16, data: &[u8], what: &str, v6: bool) {
    let (found, counts) = parse(link, data);
    let found = found.unwrap_or_else(|| panic!("{what}: {counts:?}"));
    assert_eq!(
        (found.source_port, found.target_port, found.seq, found.ack),
        (40_000, 443, 7, 9),
        "{what}"
    );
    assert_eq!((found.payload_len, found.v6), (100, v6), "{what}");
    assert_eq!(found.options.timestamps, Some((11, 12)), "{what}");
    assert_eq!((counts.tcp, counts.not_tcp.len()), (1, 0), "{what}");
    // Cut after the TCP header, nothing changes; cut anywhere before, it is counted and never a panic.
    let whole = data.len() - 100;
    let mut cut = narrows_paths::counts::Counts::default();
    for keep in 0..=whole {
        let packet = narrows_paths::container::Packet {
            t_ns: 0,
            link_type: link,
            len: data.len() as u32,
            data: &data[..keep],
        };
        let again = narrows_paths::headers::parse(&packet, &mut cut);
        assert!(
            again.is_none_or(|s| s.payload_len == 100 && (s.options.cut || keep == whole)),
            "{what} cut at {keep}"
        );
    }
}

#[test]
fn every_link_layer_leads_to_the_segment() {
    let (v4, v6) = (segment().v4(), segment().v6());
    check(1, &ethernet(0x0800, &v4), "Ethernet", false);
    check(1, &ethernet(0x86dd, &v6), "Ethernet", true);
    check(101, &v4, "raw IP", false);
    check(101, &v6, "raw IP", true);
    check(12, &v4, "raw IP of DLT 12", false);
    check(228, &v4, "raw IPv4", false);
    check(229, &v6, "raw IPv6", true);
    check(0, &be(&[&[2, 0, 0, 0], &v4]), "NULL, little endian", false);
    check(0, &be(&[&[0, 0, 0, 2], &v4]), "NULL, big endian", false);
    for family in [24, 28, 30, 10] {
        check(0, &be(&[&[family, 0, 0, 0], &v6]), "NULL, IPv6", true);
    }
    check(108, &be(&[&[0, 0, 0, 2], &v4]), "LOOP", false);
    check(
        113,
        &be(&[&[0, 4, 0, 1, 0, 6, 1, 2, 3, 4, 5, 6, 0, 0, 8, 0], &v4]),
        "SLL",
        false,
    );
    check(
        276,
        &be(&[&[8, 0, 0, 0, 0, 0, 0, 2, 0, 1, 4, 6, 1, 2, 3, 4, 5, 6, 0, 0], &v4]),
        "SLL2",
        false,
    );
    check(
        276,
        &be(&[
            &[0x86, 0xdd, 0, 0, 0, 0, 0, 2, 0, 1, 4, 6, 1, 2, 3, 4, 5, 6, 0, 0],
            &v6,
        ]),
        "SLL2",
        true,
    );
    check(9, &be(&[&[0xff, 3, 0, 0x21], &v4]), "PPP", false);
}

#[test]
fn every_tag_and_tunnel_is_unwrapped() {
    let (v4, v6) = (segment().v4(), segment().v6());
    check(1, &ethernet(0x8100, &be(&[&[0, 5, 8, 0], &v4])), "VLAN", false);
    for outer in [0x88a8, 0x9100, 0x8100] {
        check(
            1,
            &ethernet(outer, &be(&[&[0, 5, 0x81, 0, 0, 6, 0x86, 0xdd], &v6])),
            "QinQ",
            true,
        );
    }
    check(
        113,
        &be(&[
            &[0, 4, 0, 1, 0, 6, 1, 2, 3, 4, 5, 6, 0, 0, 0x81, 0, 0, 5, 8, 0],
            &v4,
        ]),
        "VLAN in SLL",
        false,
    );
    check(
        1,
        &ethernet(0x8847, &be(&[&[0, 1, 0, 64, 0, 2, 1, 64], &v4])),
        "MPLS",
        false,
    );
    let inner = ethernet(0x0800, &v4);
    check(
        1,
        &ethernet(0x8847, &be(&[&[0, 1, 1, 64, 0, 0, 0, 0], &inner])),
        "MPLS pseudowire",
        false,
    );
    // Addresses of vendors that begin as IP's versions do, and no control word.
    for first in [0x02, 0x44, 0x60, 0x00] {
        let mut inner = ethernet(0x0800, &v4);
        (inner[0], inner[6]) = (first, first);
        check(
            1,
            &ethernet(0x8847, &be(&[&[0, 1, 1, 64], &inner])),
            "MPLS pseudowire without a control word",
            false,
        );
    }
    let ppp = v4.len() as u16 + 2;
    check(
        1,
        &ethernet(
            0x8864,
            &be(&[&[0x11, 0, 0, 9], &ppp.to_be_bytes(), &[0, 0x21], &v4]),
        ),
        "PPPoE",
        false,
    );
    check(101, &ipv4(47, &be(&[&[0, 0, 8, 0], &v4])), "GRE", false);
    check(
        101,
        &ipv4(
            47,
            &be(&[&[0xb0, 0, 0x65, 0x58, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 2], &inner]),
        ),
        "GRE, all",
        false,
    );
    check(101, &ipv4(4, &v4), "IP in IP", false);
    check(101, &ipv4(41, &v6), "6in4", true);
    check(
        101,
        &udp(4789, &be(&[&[8, 0, 0, 0, 0, 0, 7, 0], &inner])),
        "VXLAN",
        false,
    );
    check(
        101,
        &udp(6081, &be(&[&[1, 0, 0x65, 0x58, 0, 0, 7, 0, 1, 2, 3, 4], &inner])),
        "Geneve",
        false,
    );
    let gtp = |flags: u8, rest: &[u8]| be(&[&[flags, 255, 0, 0, 0, 0, 0, 1], rest]);
    check(101, &udp(2152, &gtp(0x30, &v4)), "GTP-U", false);
    check(
        101,
        &udp(2152, &gtp(0x32, &be(&[&[0, 1, 0, 0], &v6]))),
        "GTP-U with a number",
        true,
    );
    check(
        101,
        &udp(2152, &gtp(0x34, &be(&[&[0, 0, 0, 0x85, 1, 16, 9, 0], &v4]))),
        "GTP-U of 5G",
        false,
    );
}

/// LLC and SNAP before IP.
const SNAP: [u8; 8] = [0xaa, 0xaa, 3, 0, 0, 0, 8, 0];

/// Data of 802.11 from a station; with QoS it has two bytes more.
fn wireless(qos: bool, inner: &[u8]) -> Vec<u8> {
    let mut out = vec![if qos { 0x88 } else { 0x08 }, 1, 0, 0];
    out.extend([2; 18]);
    out.extend([0, 0]);
    if qos {
        out.extend([0, 0]);
    }
    be(&[&out, &SNAP, inner])
}

#[test]
fn what_monitors_mirrors_and_systems_put_around_is_unwrapped() {
    let v4 = segment().v4();
    let inner = ethernet(0x0800, &v4);
    let le = u32::to_le_bytes;
    let nflog = be(&[
        &[2, 0, 0, 0, 8, 0, 1, 0, 8, 0, 1, 0],
        &(v4.len() as u16 + 4).to_le_bytes(),
        &[9, 0],
        &v4,
    ]);
    let pktap = be(&[&le(108), &le(1), &le(1), &[0; 96], &inner]);
    for (link, data, what) in [
        (258, pktap, "PKTAP"),
        (239, nflog, "NFLOG"),
        (105, wireless(false, &v4), "802.11"),
        (
            127,
            be(&[&[0, 0, 8, 0, 0, 0, 0, 0], &wireless(true, &v4)]),
            "radiotap",
        ),
        (
            127,
            be(&[
                &[0, 0, 8, 0, 0, 0, 0, 0],
                &wireless(true, &v4)[..26],
                &[0, 0],
                &wireless(true, &v4)[26..],
            ]),
            "radiotap, padded",
        ),
        (192, be(&[&[0, 0, 8, 0], &le(105), &wireless(false, &v4)]), "PPI"),
        (204, be(&[&[1, 0xff, 3, 0, 0x21], &v4]), "PPP with its direction"),
        (51, be(&[&[0x11, 0, 0, 9, 0, 102, 0, 0x21], &v4]), "PPPoE"),
        (104, be(&[&[15, 0, 8, 0], &v4]), "Cisco HDLC"),
        (10, be(&[&[0x50; 13], &SNAP, &v4]), "FDDI"),
        (109, be(&[&[0; 12], &v4]), "enc"),
    ] {
        check(link, &data, what, false);
    }
}

#[test]
fn tunnels_and_tags_of_every_day_are_unwrapped() {
    let (v4, v6) = (segment().v4(), segment().v6());
    let inner = ethernet(0x0800, &v4);
    let snap = be(&[&SNAP, &v4]);
    check(1, &ethernet(snap.len() as u16, &snap), "LLC/SNAP", false);
    check(1, &ethernet(0x88e7, &be(&[&[0, 0, 0, 5], &inner])), "PBB", false);
    check(
        1,
        &ethernet(0x88e5, &be(&[&[0, 0, 0, 0, 0, 1, 8, 0], &v4])),
        "MACsec",
        false,
    );
    check(
        1,
        &ethernet(0x894f, &be(&[&[0x0f, 0xc2, 1, 1, 0, 0, 0, 0], &v4])),
        "NSH",
        false,
    );
    let erspan = |sub: &[u8], last: u8| {
        ipv4(
            47,
            &be(&[
                &[
                    0x10, 0, 0x22, 0xeb, 0, 0, 0, 1, 0x20, 10, 0, 1, 0, 0, 0, 0, 0, 0, 0, last,
                ],
                sub,
                &inner,
            ]),
        )
    };
    check(101, &erspan(&[], 0), "ERSPAN III", false);
    check(101, &erspan(&[0; 8], 1), "ERSPAN III with a subheader", false);
    let mut ah = segment().v4();
    let tcp = ah.split_off(20);
    (ah[9], ah[3]) = (51, ah[3] + 24);
    check(
        101,
        &be(&[&ah, &[6, 4, 0, 0, 0, 0, 0, 1, 0, 0, 0, 1], &[0; 12], &tcp]),
        "AH",
        false,
    );
    check(
        101,
        &udp(1701, &be(&[&[0, 2, 0, 1, 0, 1, 0xff, 3, 0, 0x21], &v4])),
        "L2TP",
        false,
    );
    check(
        101,
        &udp(1701, &be(&[&[0x40, 2, 0, 99, 0, 1, 0, 1, 0, 0x57], &v6])),
        "L2TP with a length",
        true,
    );
    check(
        101,
        &ipv4(115, &be(&[&[0, 0, 0, 7, 1, 2, 3, 4], &inner])),
        "L2TP 3 with a cookie",
        false,
    );
    check(
        101,
        &udp(37008, &be(&[&[1, 0, 0, 1, 10, 1, 9, 0, 1], &inner])),
        "TZSP",
        false,
    );
    check(
        101,
        &udp(4790, &be(&[&[12, 0, 0, 1, 0, 0, 7, 0], &v4])),
        "VXLAN-GPE",
        false,
    );
    check(
        101,
        &udp(14_789, &be(&[&[8, 0, 0, 0, 0, 0, 7, 0], &inner])),
        "VXLAN on another port",
        false,
    );
    check(101, &udp(6635, &be(&[&[0, 1, 1, 64], &v4])), "MPLS in UDP", false);
    check(101, &udp(6080, &be(&[&[0, 4, 0, 0], &v4])), "GUE", false);
    check(101, &udp(3544, &v6), "Teredo", true);
}

#[test]
fn what_is_no_tcp_is_counted_by_its_name() {
    let v4 = segment().v4();
    let mut fragment = v4.clone();
    fragment[6] = 0x20;
    let mut broken = v4.clone();
    broken[32] = 0x20;
    for (link, data, reason) in [
        (1, ethernet(0x0806, &[0; 28]), "ARP"),
        (1, ethernet(0x1234, &[0; 28]), "EtherType 0x1234"),
        (1, ethernet(38, &[0; 38]), "IEEE 802.3 frame"),
        (101, ipv4(1, &[0; 8]), "ICMP"),
        (101, ipv4(99, &[0; 8]), "IP protocol 99"),
        (101, fragment, "IPv4 fragment"),
        (101, broken, "TCP header that is not one"),
        (147, v4, "link type 147"),
        (105, vec![0x80; 40], "802.11 management or control frame"),
        (105, be(&[&[8, 0x41], &[0; 60]]), "802.11 data, encrypted"),
        (1, ethernet(0x88e5, &[0x0c; 60]), "MACsec (encrypted)"),
        (101, udp(1701, &[0xc8, 2, 0, 12]), "L2TP control"),
    ] {
        let (found, counts) = parse(link, &data);
        assert_eq!(found, None, "{reason}");
        assert_eq!(counts.not_tcp.get(reason), Some(&1), "{reason}: {counts:?}");
    }
}

#[test]
fn a_datagram_is_read_through_tunnels_as_a_segment_is() {
    let inner = udp(53, &[5; 20]);
    for (link, data) in [
        (101, inner.clone()),
        (1, ethernet(0x0800, &inner)),
        (101, ipv4(47, &be(&[&[0, 0, 8, 0], &inner]))),
        (
            101,
            udp(4789, &be(&[&[8, 0, 0, 0, 0, 0, 7, 0], &ethernet(0x0800, &inner)])),
        ),
    ] {
        let packet = narrows_paths::container::Packet {
            t_ns: 0,
            link_type: link,
            len: data.len() as u32,
            data: &data,
        };
        let mut counts = narrows_paths::counts::Counts::default();
        let Some(Unit::Datagram(found)) = unwrap(&packet, &mut counts) else {
            panic!("{counts:?}");
        };
        assert_eq!(
            (found.target_port, found.len, &found.payload[..]),
            (53, 20, &[5; 20][..])
        );
        assert_eq!((counts.udp, counts.not_tcp.len()), (1, 0));
    }
}

#[test]
fn a_total_length_of_zero_takes_the_length_on_the_wire() {
    let mut tcp = segment();
    tcp.payload = 70_000;
    let mut data = tcp.v4();
    data[2..4].copy_from_slice(&[0, 0]);
    let (found, counts) = parse(101, &data);
    assert_eq!(found.unwrap().payload_len, 70_000);
    assert_eq!(counts.odd["IPv4 total length 0 (segmentation offload)"], 1);
}

#[test]
fn padding_of_short_frames_is_no_payload() {
    let mut tcp = segment();
    (tcp.payload, tcp.options) = (0, Vec::new());
    let mut data = ethernet(0x0800, &tcp.v4());
    data.resize(60, 0);
    assert_eq!(parse(1, &data).0.unwrap().payload_len, 0);
}

/// The same packet as `etherparse` reads it.
fn oracle(data: &[u8]) -> Option<(u16, u16, u32, u32, u16, usize, bool)> {
    let sliced = SlicedPacket::from_ethernet(data).ok()?;
    let v6 = matches!(sliced.net?, NetSlice::Ipv6(_));
    let Some(TransportSlice::Tcp(tcp)) = sliced.transport else {
        return None;
    };
    Some((
        tcp.source_port(),
        tcp.destination_port(),
        tcp.sequence_number(),
        tcp.acknowledgment_number(),
        tcp.window_size(),
        tcp.payload().len(),
        v6,
    ))
}

#[test]
fn random_packets_read_as_another_parser_reads_them() {
    let mut state = 7u64;
    let mut random = move || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 32) as u32
    };
    let mut compared = 0;
    for _ in 0..10_000 {
        let mut tcp = segment();
        (tcp.seq, tcp.ack, tcp.window) = (random(), random(), random() as u16);
        tcp.payload = random() as usize % 300;
        tcp.options = match random() % 3 {
            0 => Vec::new(),
            1 => timestamps(random(), random()),
            _ => sack(&[(random(), random())]),
        };
        let v6 = random() % 2 == 0;
        let (kind, inner) = if v6 {
            (0x86dd, tcp.v6())
        } else {
            (0x0800, tcp.v4())
        };
        let mut data = match random() % 2 {
            0 => ethernet(kind, &inner),
            _ => ethernet(0x8100, &be(&[&[0, 1], &u16::to_be_bytes(kind), &inner])),
        };
        if random() % 2 == 0 {
            let at = random() as usize % data.len().min(60);
            data[at] ^= random() as u8;
        }
        let ours = parse(1, &data).0.map(|s: Segment| {
            (
                s.source_port,
                s.target_port,
                s.seq,
                s.ack,
                s.window,
                s.payload_len as usize,
                s.v6,
            )
        });
        // What the other refuses (wrong lengths, versions) ours may still read: logs are full of it.
        if let Some(theirs) = oracle(&data) {
            if let Some(ours) = ours {
                assert_eq!(ours, theirs);
                compared += 1;
            }
        }
    }
    assert!(compared > 5000, "only {compared} packets were compared");
}
