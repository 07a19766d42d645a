//! Writes pcapng: one section, one Ethernet interface, nanosecond stamps. It does not read.

use std::io::{self, Write};

const LINKTYPE_ETHERNET: u16 = 1;

fn block(out: &mut impl Write, kind: u32, body: &[u8]) -> io::Result<()> {
    let len = (12 + body.len()) as u32;
    out.write_all(&kind.to_le_bytes())?;
    out.write_all(&len.to_le_bytes())?;
    out.write_all(body)?;
    out.write_all(&len.to_le_bytes())
}

fn option(body: &mut Vec<u8>, code: u16, value: &[u8]) {
    body.extend(code.to_le_bytes());
    body.extend((value.len() as u16).to_le_bytes());
    body.extend(value);
    body.resize(body.len().next_multiple_of(4), 0);
}

/// Section header and interface description. `name` is node and interface, `snap_bytes` 0 means no limit.
pub fn header(out: &mut impl Write, name: &str, snap_bytes: u32) -> io::Result<()> {
    let mut section = Vec::new();
    section.extend(0x1a2b_3c4du32.to_le_bytes());
    section.extend(1u16.to_le_bytes());
    section.extend(0u16.to_le_bytes());
    section.extend(u64::MAX.to_le_bytes());
    block(out, 0x0a0d_0d0a, &section)?;
    let mut interface = Vec::new();
    interface.extend(LINKTYPE_ETHERNET.to_le_bytes());
    interface.extend(0u16.to_le_bytes());
    interface.extend(snap_bytes.to_le_bytes());
    option(&mut interface, 2, name.as_bytes()); // if_name
    option(&mut interface, 9, &[9]); // if_tsresol: 10^-9 s
    option(&mut interface, 0, &[]);
    block(out, 1, &interface)
}

/// One packet (enhanced packet block). `outbound` tells in which direction it passed the interface.
pub fn packet(out: &mut impl Write, wall_ns: u64, data: &[u8], len: u32, outbound: bool) -> io::Result<()> {
    const PAD: [u8; 4] = [0; 4];
    let padding = data.len().next_multiple_of(4) - data.len();
    let total = (12 + 20 + data.len() + padding + 12) as u32;
    let mut head = [0u8; 28];
    head[0..4].copy_from_slice(&6u32.to_le_bytes());
    head[4..8].copy_from_slice(&total.to_le_bytes());
    head[12..16].copy_from_slice(&((wall_ns >> 32) as u32).to_le_bytes());
    head[16..20].copy_from_slice(&(wall_ns as u32).to_le_bytes());
    head[20..24].copy_from_slice(&(data.len() as u32).to_le_bytes());
    head[24..28].copy_from_slice(&len.to_le_bytes());
    out.write_all(&head)?;
    out.write_all(data)?;
    out.write_all(&PAD[..padding])?;
    // epb_flags (inbound 1, outbound 2), end of options, length again
    let mut tail = [0u8; 16];
    tail[0..2].copy_from_slice(&2u16.to_le_bytes());
    tail[2..4].copy_from_slice(&4u16.to_le_bytes());
    tail[4..8].copy_from_slice(&(if outbound { 2u32 } else { 1 }).to_le_bytes());
    tail[12..16].copy_from_slice(&total.to_le_bytes());
    out.write_all(&tail)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_block_says_its_length_at_both_ends() {
        let mut file = Vec::new();
        header(&mut file, "router/eth0", 96).unwrap();
        packet(&mut file, 1_767_225_600_123_456_789, b"abcde", 1514, true).unwrap();
        let (mut at, mut kinds) = (0, vec![]);
        while at < file.len() {
            let word = |i: usize| u32::from_le_bytes(file[i..i + 4].try_into().unwrap());
            let len = word(at + 4) as usize;
            assert_eq!(len % 4, 0);
            assert_eq!(word(at + len - 4) as usize, len);
            kinds.push(word(at));
            at += len;
        }
        assert_eq!(kinds, [0x0a0d_0d0a, 1, 6]);
    }

    #[test]
    fn a_packet_keeps_its_nanoseconds_and_true_length() {
        let mut file = Vec::new();
        packet(&mut file, 0x1_0000_0002, b"abcd", 1514, false).unwrap();
        assert_eq!(file[12..20], [1, 0, 0, 0, 2, 0, 0, 0]);
        assert_eq!(file[20..28], [4, 0, 0, 0, 0xea, 5, 0, 0]);
        assert_eq!(&file[28..32], b"abcd");
    }
}
