//! Takes a page of the trace ring buffer apart into records with their times.
//!
//! The event header is the kernel's `struct ring_buffer_event` (`events/header_event`): 5 bits of kind, 27 of
//! time since the event before. It is read as little-endian machines write it. What a record means is not known here.

use super::format::PageFormat;

const PADDING: u32 = 29;
const TIME_EXTEND: u32 = 30;
const TIME_STAMP: u32 = 31;
const DELTA_BITS: u32 = 27;
/// An absolute time stamp has 59 bits; the rest is that of the page's.
const STAMP_BITS: u32 = 59;
/// In `commit`: events were lost before this page, and how many is written behind its data.
const LOST: u64 = 3 << 30;
const LENGTH_MASK: u64 = (1 << 20) - 1;

/// Bytes of header and data together; None for what is no page.
pub fn length(page: &[u8], format: &PageFormat) -> Option<usize> {
    let commit = format.commit.number(page)?;
    let bytes = format.data_offset + (commit & LENGTH_MASK) as usize;
    (bytes <= page.len().min(format.page_bytes)).then_some(bytes)
}

pub fn has_lost_events(page: &[u8], format: &PageFormat) -> bool {
    format.commit.number(page).is_none_or(|commit| commit & LOST != 0)
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..at + 4)?.try_into().ok().map(u32::from_le_bytes)
}

/// Calls `found` with time and content of each record. None: the page breaks off in the middle of one.
pub fn records(page: &[u8], format: &PageFormat, mut found: impl FnMut(u64, &[u8])) -> Option<()> {
    let page_ns = format.timestamp.number(page)?;
    let data = page.get(format.data_offset..length(page, format)?)?;
    let (mut t_ns, mut at) = (page_ns, 0);
    while at < data.len() {
        let header = word(data, at)?;
        let (kind, delta) = (header & 0x1f, u64::from(header >> 5));
        match kind {
            // Nothing more on this page.
            PADDING if delta == 0 => return Some(()),
            // A record that was taken back; its time still counts for the next one.
            PADDING => {
                t_ns += delta;
                at += 4 + word(data, at + 4)? as usize;
            }
            TIME_EXTEND => {
                t_ns += (u64::from(word(data, at + 4)?) << DELTA_BITS) + delta;
                at += 8;
            }
            TIME_STAMP => {
                let stamp = (u64::from(word(data, at + 4)?) << DELTA_BITS) + delta;
                let low = (1 << STAMP_BITS) - 1;
                t_ns = page_ns & !low | stamp & low;
                at += 8;
            }
            _ => {
                t_ns += delta;
                // Long records have their length, itself included, in a word of its own.
                let (start, end) = match kind {
                    0 => (at + 8, at + 4 + word(data, at + 4)? as usize),
                    words => (at + 4, at + 4 + 4 * words as usize),
                };
                found(t_ns, data.get(start..end)?);
                at = end.next_multiple_of(4);
            }
        }
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::super::format::tests::HEADER_PAGE;
    use super::*;

    fn event(kind: u32, delta: u32, rest: &[u8]) -> Vec<u8> {
        [&(kind | delta << 5).to_le_bytes()[..], rest].concat()
    }

    fn page(events: &[Vec<u8>], flags: u64) -> Vec<u8> {
        let data = events.concat();
        let mut page = 1000u64.to_le_bytes().to_vec();
        page.extend((data.len() as u64 | flags).to_le_bytes());
        page.extend(&data);
        page.resize(4096, 0xee); // what lies behind the data is not to be looked at
        page
    }

    fn read(page: &[u8]) -> Option<Vec<(u64, Vec<u8>)>> {
        let format = PageFormat::parse(HEADER_PAGE).unwrap();
        let mut all = Vec::new();
        records(page, &format, |t, r| all.push((t, r.to_vec())))?;
        Some(all)
    }

    #[test]
    fn times_add_up_over_records_padding_and_extensions() {
        let events = [
            event(2, 5, b"abcdefgh"),
            event(PADDING, 7, &[8u32.to_le_bytes().as_slice(), b"gone"].concat()),
            event(TIME_EXTEND, 3, &1u32.to_le_bytes()),
            event(0, 1, &[8u32.to_le_bytes().as_slice(), b"wxyz"].concat()),
            event(TIME_STAMP, 9, &2u32.to_le_bytes()),
            event(1, 4, b"last"),
            event(PADDING, 0, b""),
            event(1, 4, b"none"),
        ];
        let long = 1000 + 5 + 7 + (1 << 27) + 3 + 1;
        let expected = vec![
            (1005, b"abcdefgh".to_vec()),
            (long, b"wxyz".to_vec()),
            ((2 << 27) + 9 + 4, b"last".to_vec()),
        ];
        assert_eq!(read(&page(&events, 0)), Some(expected));
    }

    #[test]
    fn a_page_says_whether_events_were_lost_before_it() {
        let format = PageFormat::parse(HEADER_PAGE).unwrap();
        let one = [event(1, 4, b"last")];
        assert!(!has_lost_events(&page(&one, 0), &format));
        assert!(has_lost_events(&page(&one, 1 << 31), &format));
        assert_eq!(length(&page(&one, 1 << 31), &format), Some(16 + 8));
        assert!(has_lost_events(&[], &format));
    }

    #[test]
    fn a_page_that_breaks_off_is_refused() {
        assert_eq!(read(&page(&[event(4, 5, b"abcdefgh")], 0)), None);
        assert_eq!(read(&page(&[event(0, 5, b"abc")], 0)), None);
        assert_eq!(read(&[0; 12]), None);
    }
}
