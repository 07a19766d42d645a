//! Initial receive window, the measured part of proxy suspicion (N4): what the client first offers after the handshake.
//!
//! Source: Philip 2025, sections 5.4.4 and 5.8, whose values above 65,535 bytes show that it is a scaled window, so not
//! the SYN's. It is the window of the client's first segment after its SYN, times 2 to its window scale.
//!
//! NULL: a SYN of either end is missing or its options were cut, so that the scale is unknown. Unit: bytes.

/// What is known of one end's windows.
#[derive(Debug, Clone, Copy, Default)]
pub struct InitialWindow {
    first: Option<u16>,
}

impl InitialWindow {
    /// A segment of this end that is no SYN.
    #[inline]
    pub fn see(&mut self, window: u16) {
        if self.first.is_none() {
            self.first = Some(window);
        }
    }

    /// `scales` are the window scale options of this end and the other (None where an end's SYN had none); outer None
    /// when a SYN was not seen. RFC 7323: windows are scaled only when both ends sent the option.
    pub fn bytes(&self, scales: Option<(Option<u8>, Option<u8>)>) -> Option<u32> {
        let (mine, theirs) = scales?;
        let shift = match (mine, theirs) {
            (Some(mine), Some(_)) => mine,
            _ => 0,
        };
        Some(u32::from(self.first?) << shift)
    }
}
