//! What one end asks the other to send, and the limits that hold for it. Pure.

use serde::{Deserialize, Serialize};

use crate::datagram::{HEAD_BYTES, IP_UDP_BYTES};
use narrows_units::S;

pub const MOST_FLOWS: usize = 160;
pub const MOST_SECONDS: u64 = 12;
const MOST_BYTES: u64 = 1400;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Way {
    /// From the server to the client.
    Down,
    Up,
}

/// When the receiver ends the phase before its time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Until {
    /// The bottleneck passes less than what is sent.
    Saturated,
    /// For long as much is lost as is sent in excess: the queue is full.
    Full,
}

/// The rate of a ramp: it grows by `factor` each `step_ns`, up to `most_bps`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Grow {
    pub step_ns: u64,
    pub factor: f64,
    pub most_bps: f64,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Flow {
    /// The socket that sends it.
    pub flow: u16,
    /// Of IP packets.
    pub rate_bps: f64,
    /// UDP payload.
    pub bytes: u64,
    /// The TOS byte of its packets, one after the other; code point and ECN.
    pub tos: Vec<u8>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Phase {
    pub id: u16,
    pub name: String,
    pub way: Way,
    pub duration_ns: u64,
    pub flows: Vec<Flow>,
    pub grow: Option<Grow>,
    pub until: Option<Until>,
    /// So long after the last packet nothing more is expected.
    pub quiet_ns: u64,
}

impl Phase {
    /// IP bytes that it sends at most.
    pub fn most_bytes(&self) -> f64 {
        let rate: f64 = match &self.grow {
            Some(grow) => grow.most_bps,
            None => self.flows.iter().map(|f| f.rate_bps).sum(),
        };
        rate / 8.0 * self.duration_ns as f64 / S as f64
    }

    /// Why it is refused, in words.
    pub fn check(&self, sockets: usize, most_bps: f64) -> Result<(), String> {
        if self.duration_ns > MOST_SECONDS * 1_000_000_000 || self.quiet_ns > MOST_SECONDS * 1_000_000_000 {
            return Err(format!("a phase of more than {MOST_SECONDS} s"));
        }
        if self.flows.is_empty() || self.flows.len() > sockets {
            return Err(format!("{} flows on {sockets} sockets", self.flows.len()));
        }
        for flow in &self.flows {
            if usize::from(flow.flow) >= sockets {
                return Err(format!("flow {} of {sockets} sockets", flow.flow));
            }
            if !(HEAD_BYTES as u64..=MOST_BYTES).contains(&flow.bytes) {
                return Err(format!("datagrams of {} bytes", flow.bytes));
            }
            if flow.tos.is_empty() || flow.tos.len() > 256 {
                return Err("a flow without code point".into());
            }
            if !(flow.rate_bps >= 0.0 && flow.rate_bps.is_finite()) {
                return Err(format!("a rate of {} bit/s", flow.rate_bps));
            }
        }
        if let Some(grow) = &self.grow {
            if !(grow.factor >= 1.0 && grow.factor < 10.0 && grow.step_ns > 0) {
                return Err("a ramp that does not grow".into());
            }
        }
        if self.most_bytes() * 8.0 > most_bps * self.duration_ns as f64 / S as f64 * 1.001 {
            return Err(format!(
                "more than the {:.0} Mbit/s that this server sends (--most-mbit)",
                most_bps / 1e6
            ));
        }
        Ok(())
    }

    /// The rate of a flow at a time of the phase.
    pub fn rate_bps(&self, flow: &Flow, at_ns: u64) -> f64 {
        match &self.grow {
            None => flow.rate_bps,
            Some(grow) => {
                let steps = (at_ns / grow.step_ns).min(10_000) as i32;
                (flow.rate_bps * grow.factor.powi(steps)).min(grow.most_bps)
            }
        }
    }
}

pub fn ip_bits(payload: u64) -> f64 {
    (payload + IP_UDP_BYTES) as f64 * 8.0
}

#[cfg(test)]
pub mod tests {
    use super::*;

    pub fn plain() -> Phase {
        Phase {
            id: 1,
            name: "fill".into(),
            way: Way::Down,
            duration_ns: 1_000_000_000,
            flows: vec![Flow { flow: 0, rate_bps: 8e6, bytes: 1222, tos: vec![0] }],
            grow: None,
            until: None,
            quiet_ns: 100_000_000,
        }
    }

    #[test]
    fn a_phase_costs_its_rate_times_its_time() {
        assert_eq!(plain().most_bytes(), 1e6);
        assert_eq!(plain().check(1, 8e6), Ok(()));
    }

    #[test]
    fn what_a_server_does_not_send_is_refused_in_words() {
        let refused = |change: fn(&mut Phase)| {
            let mut phase = plain();
            change(&mut phase);
            phase.check(1, 8e6).unwrap_err()
        };
        assert!(refused(|p| p.flows[0].rate_bps = 9e6).contains("8 Mbit/s"));
        assert!(refused(|p| p.flows[0].rate_bps = f64::NAN).contains("rate"));
        assert!(refused(|p| p.flows[0].flow = 1).contains("flow 1"));
        assert!(refused(|p| p.flows[0].bytes = 9000).contains("9000"));
        assert!(refused(|p| p.duration_ns = u64::MAX).contains("12 s"));
        assert!(refused(|p| p.flows.clear()).contains("0 flows"));
        assert!(refused(|p| p.flows[0].tos.clear()).contains("code point"));
    }

    #[test]
    fn a_ramp_grows_by_steps_up_to_its_most() {
        let mut phase = plain();
        phase.grow = Some(Grow { step_ns: 10, factor: 2.0, most_bps: 30e6 });
        let rates = [0, 9, 10, 20, 1_000_000].map(|at| phase.rate_bps(&phase.flows[0], at));
        assert_eq!(rates, [8e6, 8e6, 16e6, 30e6, 30e6]);
    }
}
