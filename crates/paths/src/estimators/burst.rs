//! Burst of a shaper or a policer: how much passed at once, beyond what the rate allows.
//!
//! Source: shapers that let bursts pass are asked for by Philip 2025, section 6.2, with no definition. This is the
//! depth of the smallest token bucket that explains the acknowledgements after a pause (RFC 2697's committed burst
//! size): the largest excess of acknowledged payload over rate × time, from any ACK to any later one. The rate is the
//! policer's, else the capacity. Only what follows a pause is looked at, since a bucket in use is empty, and only up to
//! the first SACK, since the ACK that ends a recovery covers what arrived long before. ACKs that were held up together
//! look like a burst, so an ACK filter or a slow upload makes it larger; a plain receiver's is two segments.
//!
//! NULL: neither rate is known; no more than 4 segments or two ACKs' worth, which shows no bucket; a log taken at the receiver. Unit: bytes of payload.

/// ACKs that are kept after a pause, and in all.
const OF_PAUSE: usize = 512;
const ALL: usize = 4096;

#[derive(Debug, Clone, Copy)]
struct Ack {
    t_ns: i64,
    bytes: u32,
    begins: bool,
}

#[derive(Debug, Clone, Default)]
pub struct Burst {
    acks: Vec<Ack>,
    left: usize,
    begins: bool,
}

impl Burst {
    /// Data is sent when nothing had been outstanding for a round trip: what is acknowledged next counts.
    pub fn pause(&mut self) {
        self.left = OF_PAUSE.min(ALL - self.acks.len());
        self.begins = true;
    }

    /// A SACK: what is acknowledged from now on did not arrive when it is.
    pub fn hole(&mut self) {
        self.left = 0;
    }

    #[inline]
    pub fn ack(&mut self, t_ns: i64, bytes: u32) {
        if self.left > 0 {
            self.left -= 1;
            self.acks.push(Ack { t_ns, bytes, begins: self.begins });
            self.begins = false;
        }
    }

    pub fn merge(&mut self, other: &Burst) {
        self.acks.extend(other.acks.iter().take(ALL - self.acks.len()));
    }

    pub fn bytes(&self, rate_bps: Option<f64>) -> Option<u64> {
        let rate = rate_bps.filter(|_| !self.acks.is_empty())?;
        let (mut excess, mut most, mut last) = (0.0, 0.0f64, 0);
        for ack in &self.acks {
            if ack.begins {
                excess = 0.0;
            } else {
                excess = (excess - rate * (ack.t_ns - last).max(0) as f64 / 8e9).max(0.0);
            }
            excess += f64::from(ack.bytes);
            most = most.max(excess);
            last = ack.t_ns;
        }
        Some(most as u64)
    }
}
