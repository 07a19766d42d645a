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

/// The segment is found; IPv6's by its address.
fn check(what: &str, link: u16, data: &[u8]) {
    let v6 = data.windows(4).any(|bytes| bytes == [0x20, 1, 0xd, 0xb8]);
    let (found, counts) = parse(link, data);
    let found = found.unwrap_or_else(|| panic!("{what}: {counts:?}"));
    assert_eq!((found.source_port, found.target_port, found.seq, found.ack), (40_000, 443, 7, 9), "{what}");
    assert_eq!((found.payload_len, found.v6), (100, v6), "{what}");
    assert_eq!(found.options.timestamps, Some((11, 12)), "{what}");
    assert_eq!((counts.tcp, counts.not_tcp.len()), (1, 0), "{what}");
    // Cut after the TCP header, nothing changes; cut anywhere before, it is counted and never a panic.
    let whole = data.len() - 100;
    let mut cut = narrows_paths::counts::Counts::default();
    for keep in 0..=whole {
        let packet = packet(0, link, data, keep);
        let again = narrows_paths::headers::parse(&packet, &mut cut);
        assert!(
            again.is_none_or(|s| s.payload_len == 100 && (s.options.cut || keep == whole)),
            "{what} cut at {keep}"
        );
    }
}

/// The same behind a header: of a link layer, in Ethernet, in IPv4, in UDP.
fn behind(what: &str, link: u16, header: &[u8], inner: &[u8]) {
    check(what, link, &be(&[header, inner]));
}

fn in_ethernet(what: &str, kind: u16, header: &[u8], inner: &[u8]) {
    check(what, 1, &ethernet(kind, &be(&[header, inner])));
}

fn in_ipv4(what: &str, protocol: u8, header: &[u8], inner: &[u8]) {
    check(what, 101, &ipv4(protocol, &be(&[header, inner])));
}

fn in_udp(what: &str, port: u16, header: &[u8], inner: &[u8]) {
    check(what, 101, &udp(port, &be(&[header, inner])));
}

#[test]
fn every_link_layer_leads_to_the_segment() {
    let (v4, v6) = (segment().v4(), segment().v6());
    in_ethernet("Ethernet", 0x0800, &[], &v4);
    in_ethernet("Ethernet", 0x86dd, &[], &v6);
    check("raw IP", 101, &v4);
    check("raw IP", 101, &v6);
    check("raw IP of DLT 12", 12, &v4);
    check("raw IPv4", 228, &v4);
    check("raw IPv6", 229, &v6);
    behind("NULL, little endian", 0, &[2, 0, 0, 0], &v4);
    behind("NULL, big endian", 0, &[0, 0, 0, 2], &v4);
    for family in [24, 28, 30, 10] {
        behind("NULL, IPv6", 0, &[family, 0, 0, 0], &v6);
    }
    behind("LOOP", 108, &[0, 0, 0, 2], &v4);
    let sll = [0, 4, 0, 1, 0, 6, 1, 2, 3, 4, 5, 6, 0, 0, 8, 0];
    behind("SLL", 113, &sll, &v4);
    let mut sll2 = [8, 0, 0, 0, 0, 0, 0, 2, 0, 1, 4, 6, 1, 2, 3, 4, 5, 6, 0, 0];
    behind("SLL2", 276, &sll2, &v4);
    sll2[..2].copy_from_slice(&[0x86, 0xdd]);
    behind("SLL2", 276, &sll2, &v6);
    behind("PPP", 9, &[0xff, 3, 0, 0x21], &v4);
}

#[test]
fn every_tag_and_tunnel_is_unwrapped() {
    let (v4, v6) = (segment().v4(), segment().v6());
    in_ethernet("VLAN", 0x8100, &[0, 5, 8, 0], &v4);
    for outer in [0x88a8, 0x9100, 0x8100] {
        in_ethernet("QinQ", outer, &[0, 5, 0x81, 0, 0, 6, 0x86, 0xdd], &v6);
    }
    let tagged = [0, 4, 0, 1, 0, 6, 1, 2, 3, 4, 5, 6, 0, 0, 0x81, 0, 0, 5, 8, 0];
    behind("VLAN in SLL", 113, &tagged, &v4);
    in_ethernet("MPLS", 0x8847, &[0, 1, 0, 64, 0, 2, 1, 64], &v4);
    let inner = ethernet(0x0800, &v4);
    in_ethernet("MPLS pseudowire", 0x8847, &[0, 1, 1, 64, 0, 0, 0, 0], &inner);
    // Addresses of vendors that begin as IP's versions do, and no control word.
    for first in [0x02, 0x44, 0x60, 0x00] {
        let mut inner = ethernet(0x0800, &v4);
        (inner[0], inner[6]) = (first, first);
        in_ethernet("without a control word", 0x8847, &[0, 1, 1, 64], &inner);
    }
    let length = (v4.len() as u16 + 2).to_be_bytes();
    let ppp = [&[0x11, 0, 0, 9], &length[..], &[0, 0x21]].concat();
    in_ethernet("PPPoE", 0x8864, &ppp, &v4);
    in_ipv4("GRE", 47, &[0, 0, 8, 0], &v4);
    let all = [0xb0, 0, 0x65, 0x58, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 2];
    in_ipv4("GRE, all", 47, &all, &inner);
    in_ipv4("IP in IP", 4, &[], &v4);
    in_ipv4("6in4", 41, &[], &v6);
    in_udp("VXLAN", 4789, &[8, 0, 0, 0, 0, 0, 7, 0], &inner);
    let geneve = [1, 0, 0x65, 0x58, 0, 0, 7, 0, 1, 2, 3, 4];
    in_udp("Geneve", 6081, &geneve, &inner);
    let gtp = |flags: u8, rest: &[u8]| be(&[&[flags, 255, 0, 0, 0, 0, 0, 1], rest]);
    in_udp("GTP-U", 2152, &gtp(0x30, &[]), &v4);
    in_udp("GTP-U with a number", 2152, &gtp(0x32, &[0, 1, 0, 0]), &v6);
    let of_5g = gtp(0x34, &[0, 0, 0, 0x85, 1, 16, 9, 0]);
    in_udp("GTP-U of 5G", 2152, &of_5g, &v4);
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
    let length = (v4.len() as u16 + 4).to_le_bytes();
    let nflog = be(&[&[2, 0, 0, 0, 8, 0, 1, 0, 8, 0, 1, 0], &length, &[9, 0]]);
    behind("NFLOG", 239, &nflog, &v4);
    behind("PKTAP", 258, &be(&[&le(108), &le(1), &le(1), &[0; 96]]), &inner);
    check("802.11", 105, &wireless(false, &v4));
    let (radiotap, qos) = ([0, 0, 8, 0, 0, 0, 0, 0], wireless(true, &v4));
    behind("radiotap", 127, &radiotap, &qos);
    let padded = be(&[&qos[..26], &[0, 0], &qos[26..]]);
    behind("radiotap, padded", 127, &radiotap, &padded);
    let ppi = be(&[&[0, 0, 8, 0], &le(105)]);
    behind("PPI", 192, &ppi, &wireless(false, &v4));
    behind("PPP with its direction", 204, &[1, 0xff, 3, 0, 0x21], &v4);
    behind("PPPoE", 51, &[0x11, 0, 0, 9, 0, 102, 0, 0x21], &v4);
    behind("Cisco HDLC", 104, &[15, 0, 8, 0], &v4);
    behind("FDDI", 10, &be(&[&[0x50; 13], &SNAP]), &v4);
    behind("enc", 109, &[0; 12], &v4);
}

#[test]
fn tunnels_and_tags_of_every_day_are_unwrapped() {
    let (v4, v6) = (segment().v4(), segment().v6());
    let inner = ethernet(0x0800, &v4);
    in_ethernet("LLC/SNAP", (SNAP.len() + v4.len()) as u16, &SNAP, &v4);
    in_ethernet("PBB", 0x88e7, &[0, 0, 0, 5], &inner);
    in_ethernet("MACsec", 0x88e5, &[0, 0, 0, 0, 0, 1, 8, 0], &v4);
    in_ethernet("NSH", 0x894f, &[0x0f, 0xc2, 1, 1, 0, 0, 0, 0], &v4);
    let erspan = [0x10, 0, 0x22, 0xeb, 0, 0, 0, 1, 0x20, 10, 0, 1, 0, 0, 0, 0, 0, 0, 0];
    in_ipv4("ERSPAN III", 47, &be(&[&erspan, &[0]]), &inner);
    let subheader = be(&[&erspan, &[1], &[0; 8]]);
    in_ipv4("ERSPAN III with a subheader", 47, &subheader, &inner);
    let mut ah = segment().v4();
    let tcp = ah.split_off(20);
    (ah[9], ah[3]) = (51, ah[3] + 24);
    let header = be(&[&ah, &[6, 4, 0, 0, 0, 0, 0, 1, 0, 0, 0, 1], &[0; 12]]);
    behind("AH", 101, &header, &tcp);
    in_udp("L2TP", 1701, &[0, 2, 0, 1, 0, 1, 0xff, 3, 0, 0x21], &v4);
    let length = [0x40, 2, 0, 99, 0, 1, 0, 1, 0, 0x57];
    in_udp("L2TP with a length", 1701, &length, &v6);
    in_ipv4("L2TP 3 with a cookie", 115, &[0, 0, 0, 7, 1, 2, 3, 4], &inner);
    in_udp("TZSP", 37008, &[1, 0, 0, 1, 10, 1, 9, 0, 1], &inner);
    in_udp("VXLAN-GPE", 4790, &[12, 0, 0, 1, 0, 0, 7, 0], &v4);
    let vxlan = [8, 0, 0, 0, 0, 0, 7, 0];
    in_udp("VXLAN on another port", 14_789, &vxlan, &inner);
    in_udp("MPLS in UDP", 6635, &[0, 1, 1, 64], &v4);
    in_udp("GUE", 6080, &[0, 4, 0, 0], &v4);
    in_udp("Teredo", 3544, &[], &v6);
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
        (101, udp(4789, &be(&[&[8, 0, 0, 0, 0, 0, 7, 0], &ethernet(0x0800, &inner)]))),
    ] {
        let packet = packet(0, link, &data, data.len());
        let mut counts = narrows_paths::counts::Counts::default();
        let Some(Unit::Datagram(found)) = unwrap(&packet, &mut counts) else {
            panic!("{counts:?}");
        };
        assert_eq!((found.target_port, found.len, &found.payload[..]), (53, 20, &[5; 20][..]));
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
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
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
        let (kind, inner) = if v6 { (0x86dd, tcp.v6()) } else { (0x0800, tcp.v4()) };
        let mut data = match random() % 2 {
            0 => ethernet(kind, &inner),
            _ => ethernet(0x8100, &be(&[&[0, 1], &u16::to_be_bytes(kind), &inner])),
        };
        if random() % 2 == 0 {
            let at = random() as usize % data.len().min(60);
            data[at] ^= random() as u8;
        }
        let ours = parse(1, &data).0.map(|s: Segment| {
            (s.source_port, s.target_port, s.seq, s.ack, s.window, s.payload_len as usize, s.v6)
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
