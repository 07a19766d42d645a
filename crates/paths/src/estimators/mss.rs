//! The MSS that sizes are measured in: the most payload that a full segment of the sender carries.
//!
//! Negotiated: the smaller of both MSS options (RFC 9293: 536 for IPv4 and 1220 for IPv6 where one has none), less the
//! 12 bytes of timestamps in every segment when both agreed on them. Without both SYNs: the largest payload, when at
//! least three segments have it and it is one that a wire carries.
//!
//! NULL: neither. Unit: bytes.

/// What one end's SYN said.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Syn {
    pub mss: Option<u16>,
    pub timestamps: bool,
    pub options_cut: bool,
}

/// The largest payload and how often it came.
#[derive(Debug, Clone, Copy, Default)]
pub struct Largest {
    pub bytes: u32,
    pub times: u32,
}

impl Largest {
    #[inline]
    pub fn see(&mut self, bytes: u32) {
        if bytes > self.bytes {
            *self = Largest { bytes, times: 1 };
        } else if bytes == self.bytes {
            self.times = self.times.saturating_add(1);
        }
    }
}

/// The largest payload in a frame of 9000 bytes: what is longer was seen before segmentation.
pub const JUMBO: u32 = 8960;

/// The MSS and where it is from: "syn" or "largest payload".
pub fn mss(
    sender: Option<Syn>,
    receiver: Option<Syn>,
    v6: bool,
    largest: Largest,
) -> (Option<u32>, Option<&'static str>) {
    if let (Some(a), Some(b)) = (sender, receiver) {
        if !a.options_cut && !b.options_cut {
            let default = if v6 { 1220 } else { 536 };
            let least = a.mss.unwrap_or(default).min(b.mss.unwrap_or(default));
            let options = if a.timestamps && b.timestamps { 12 } else { 0 };
            return (u32::from(least).checked_sub(options).filter(|m| *m > 0), Some("syn"));
        }
    }
    if largest.times >= 3 && (500..=JUMBO).contains(&largest.bytes) {
        return (Some(largest.bytes), Some("largest payload"));
    }
    (None, None)
}
