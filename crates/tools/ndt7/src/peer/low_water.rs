//! How many bytes must wait before a receiver of bulk wakes up.

use super::{Peer, FIRST_LOW_WATER_AT_BYTES, MIN_DISCARD_BYTES};
use narrows_wire::sys;

const MAX_LOW_WATER_BYTES: u64 = 512 << 10;
/// Longest TLS record with its overhead: that much may be inside the TLS library instead of the socket.
const TLS_RECORD_BYTES: u64 = 17 << 10;

impl Peer {
    /// A receiver of bulk is woken about once per millisecond of data instead of once per segment, as soon as
    /// the kernel's receive buffer is far larger than that: a mark close to the buffer would stall the flow.
    pub(super) fn retarget_low_water(&mut self, now: u64) {
        if self.sends_bulk() || self.end.is_some() {
            return;
        }
        let bytes = self.reader.data_bytes;
        self.low_water_due_bytes = (2 * bytes).max(FIRST_LOW_WATER_AT_BYTES);
        let elapsed_ms = (now.saturating_sub(self.start_ns) / 1_000_000).max(1);
        let buffer = u64::from(sys::receive_buffer_bytes(self.transport.fd()).unwrap_or(0));
        self.low_water_target = (bytes / elapsed_ms).min(buffer / 8).min(MAX_LOW_WATER_BYTES);
    }

    /// Never more than what is left of the frame, so that a text, a close or a pause behind it is seen at once.
    pub(super) fn adjust_low_water(&mut self) {
        if self.sends_bulk() {
            return;
        }
        let mut left =
            if self.reader.skippable() > 0 && !self.close_heard { self.reader.left_in_frame() } else { 0 };
        if self.transport.is_tls() {
            left = left.saturating_sub(TLS_RECORD_BYTES);
        }
        let want = left.min(self.low_water_target);
        let want = if want < MIN_DISCARD_BYTES { 1 } else { want as u32 };
        if want != self.low_water && sys::set_receive_low_water(self.transport.fd(), want).is_ok() {
            self.low_water = want;
        }
    }
}
