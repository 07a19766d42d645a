//! What a kernel says of its own trace records: `events/header_page` and `events/*/format`.
//!
//! Offsets and numbers differ between kernels, so none is written down here. It reads text, not records.

use std::collections::HashMap;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Field {
    pub offset: usize,
    pub size: usize,
}

impl Field {
    /// The little-endian number there.
    pub fn number(self, record: &[u8]) -> Option<u64> {
        let bytes = record.get(self.offset..self.offset + self.size)?;
        let mut whole = [0; 8];
        whole.get_mut(..self.size)?.copy_from_slice(bytes);
        Some(u64::from_le_bytes(whole))
    }

    /// The text that a `__data_loc` field points to, without its end.
    pub fn text(self, record: &[u8]) -> Option<&[u8]> {
        let place = self.number(record)? as usize;
        let bytes = record.get(place & 0xffff..(place & 0xffff) + (place >> 16))?;
        Some(bytes.split(|b| *b == 0).next().unwrap_or(bytes))
    }
}

/// `field:TYPE NAME;\toffset:N;\tsize:N;…` → name and place.
fn field(line: &str) -> Option<(&str, Field)> {
    let mut parts = line.trim().strip_prefix("field:")?.split(';');
    let declared = parts.next()?.split_whitespace().last()?;
    let name = declared.trim_start_matches('*').split('[').next()?;
    let mut found = Field { offset: 0, size: 0 };
    for part in parts {
        match part.trim().split_once(':') {
            Some(("offset", n)) => found.offset = n.parse().ok()?,
            Some(("size", n)) => found.size = n.parse().ok()?,
            _ => {}
        }
    }
    Some((name, found))
}

#[derive(Debug)]
pub struct EventFormat {
    pub id: u16,
    fields: HashMap<String, Field>,
    /// Numbers with names in the format's own words (drop reasons).
    pub symbols: HashMap<u64, String>,
}

impl EventFormat {
    pub fn parse(text: &str) -> Option<EventFormat> {
        let id = text.lines().find_map(|l| l.strip_prefix("ID:"))?.trim();
        let fields = text.lines().filter_map(field);
        let printed = text.lines().find(|l| l.starts_with("print fmt:")).unwrap_or("");
        Some(EventFormat {
            id: id.parse().ok()?,
            fields: fields.map(|(name, f)| (name.to_string(), f)).collect(),
            symbols: printed.split('{').filter_map(symbol).collect(),
        })
    }

    pub fn field(&self, name: &str) -> Option<Field> {
        self.fields.get(name).copied()
    }
}

/// ` 64, "QDISC_DROP" }, ` → 64 and its name.
fn symbol(text: &str) -> Option<(u64, String)> {
    let (number, rest) = text.split_once(',')?;
    let number = number.trim();
    let number = match number.strip_prefix("0x") {
        Some(hex) => u64::from_str_radix(hex, 16).ok()?,
        None => number.parse().ok()?,
    };
    Some((number, rest.split('"').nth(1)?.to_string()))
}

/// How a page of the ring buffer begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageFormat {
    pub timestamp: Field,
    pub commit: Field,
    pub data_offset: usize,
    pub page_bytes: usize,
}

impl PageFormat {
    pub fn parse(text: &str) -> Option<PageFormat> {
        let of = |wanted| text.lines().filter_map(field).find(|(name, _)| *name == wanted);
        let data = of("data")?.1;
        Some(PageFormat {
            timestamp: of("timestamp")?.1,
            commit: of("commit")?.1,
            data_offset: data.offset,
            page_bytes: data.offset + data.size,
        })
    }
}

#[cfg(test)]
pub mod tests {
    use super::*;

    pub const HEADER_PAGE: &str = "\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n\
        \tfield: local_t commit;\toffset:8;\tsize:8;\tsigned:1;\n\
        \tfield: int overwrite;\toffset:8;\tsize:1;\tsigned:1;\n\
        \tfield: char data;\toffset:16;\tsize:4080;\tsigned:0;\n";
    const KFREE_SKB: &str = "name: kfree_skb\nID: 2310\nformat:\n\
        \tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n\n\
        \tfield:void * skbaddr;\toffset:8;\tsize:8;\tsigned:0;\n\
        \tfield:__data_loc char[] name;\toffset:16;\tsize:4;\tsigned:0;\n\
        \tfield:enum skb_drop_reason reason;\toffset:36;\tsize:4;\tsigned:0;\n\n\
        print fmt: \"skbaddr=%p reason: %s\", REC->skbaddr, __print_symbolic(REC->reason, { 2, \"NOT_SPECIFIED\" }, { 0x40, \"QDISC_DROP\" })\n";

    #[test]
    fn the_page_format_is_what_the_kernel_says() {
        let format = PageFormat::parse(HEADER_PAGE).unwrap();
        assert_eq!(format.commit, Field { offset: 8, size: 8 });
        assert_eq!((format.data_offset, format.page_bytes), (16, 4096));
        assert_eq!(PageFormat::parse("field: u64 timestamp;"), None);
    }

    #[test]
    fn an_event_has_its_number_its_fields_and_its_symbols() {
        let format = EventFormat::parse(KFREE_SKB).unwrap();
        assert_eq!(format.id, 2310);
        assert_eq!(format.field("skbaddr"), Some(Field { offset: 8, size: 8 }));
        assert_eq!(format.field("name"), Some(Field { offset: 16, size: 4 }));
        assert_eq!(format.field("len"), None);
        assert_eq!(format.symbols[&2], "NOT_SPECIFIED");
        assert_eq!(format.symbols[&64], "QDISC_DROP");
    }

    #[test]
    fn a_text_lies_where_its_field_points_and_never_outside() {
        let name = Field { offset: 0, size: 4 };
        let mut record = (4u32 | 5 << 16).to_le_bytes().to_vec();
        record.extend(b"eth0\0");
        assert_eq!(name.text(&record), Some(&b"eth0"[..]));
        assert_eq!(name.text(&record[..6]), None);
    }
}
