//! Samplers: read kernel state on a fixed grid of `t` and write it as CSV.

pub mod link;
pub mod qdisc;
pub mod tcp_diag;
pub mod tcp_info;
pub mod udp;
pub mod xstats;

use serde_json::Value;

use crate::actor::{Actor, Csv, Cx, Progress};
use crate::error::{During, Result};
use crate::reactor::Event;
use narrows_plan::Sampler;

/// One kind of sampler: opened in its node, then asked for rows.
pub trait Source {
    const HEADER: &'static str;
    fn sample(&mut self, t_ns: i64, csv: &mut Csv) -> std::io::Result<Result<()>>;
}

/// Drives a source on the grid 0, interval, 2·interval, …
pub struct Ticker<S> {
    id: String,
    node: String,
    interval_ns: i64,
    open: Box<dyn Fn() -> std::io::Result<S>>,
    source: Option<(S, Csv)>,
    next_ns: i64,
    ended: Option<i64>,
}

impl<S: Source> Ticker<S> {
    pub fn new(
        id: &str,
        node: &str,
        interval_ns: i64,
        open: impl Fn() -> std::io::Result<S> + 'static,
    ) -> Ticker<S> {
        Ticker {
            id: id.into(),
            node: node.into(),
            interval_ns,
            open: Box::new(open),
            source: None,
            next_ns: 0,
            ended: None,
        }
    }
}

impl<S: Source> Actor for Ticker<S> {
    fn start(&mut self, cx: &mut Cx) -> Result<()> {
        cx.nodes.enter(&self.node)?;
        let source = (self.open)().during(|| format!("opening sampler in node {}", self.node))?;
        self.source = Some((source, cx.csv(&self.id, S::HEADER)?));
        self.next_ns = cx.reactor.now.max(0).next_multiple_of_i64(self.interval_ns);
        cx.reactor.at(self.next_ns, cx.token(0, 0));
        Ok(())
    }

    fn event(&mut self, cx: &mut Cx, _: Event) -> Result<()> {
        let Some((source, csv)) = self.source.as_mut().filter(|_| self.ended.is_none()) else {
            return Ok(());
        };
        // The true instant, not the grid's: on a host the two differ.
        let now = cx.reactor.now;
        source.sample(now, csv).during(|| format!("sampling in node {}", self.node))??;
        self.next_ns =
            (self.next_ns + self.interval_ns).max((now + 1).next_multiple_of_i64(self.interval_ns));
        cx.reactor.at(self.next_ns, cx.token(0, 0));
        Ok(())
    }

    fn stop(&mut self, cx: &mut Cx) -> Result<()> {
        self.ended = Some(cx.reactor.now);
        Ok(())
    }

    fn progress(&self) -> Progress {
        self.ended.map_or(Progress::Running, |t_ns| Progress::Ended { t_ns })
    }

    fn finish(&mut self, _: &mut Cx) -> Result<Option<Value>> {
        if let Some((_, csv)) = &mut self.source {
            csv.flush()?;
        }
        Ok(None)
    }
}

trait NextMultiple {
    fn next_multiple_of_i64(self, of: i64) -> i64;
}

impl NextMultiple for i64 {
    fn next_multiple_of_i64(self, of: i64) -> i64 {
        self + (of - self.rem_euclid(of)) % of
    }
}

pub fn build(s: &Sampler) -> Box<dyn Actor> {
    match s {
        Sampler::TcpInfo { id, node, interval_ns } => {
            Box::new(Ticker::new(id, node, *interval_ns, || tcp_diag::TcpDiag::open(None)))
        }
        Sampler::Qdisc { id, node, iface, interval_ns } => {
            let iface = iface.clone();
            Box::new(Ticker::new(id, node, *interval_ns, move || qdisc::Qdiscs::open(&iface)))
        }
        Sampler::Link { id, node, iface, interval_ns } => {
            let iface = iface.clone();
            Box::new(Ticker::new(id, node, *interval_ns, move || link::Link::open(&iface)))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_grid_includes_zero_and_continues_after_any_instant() {
        assert_eq!(0.next_multiple_of_i64(10), 0);
        assert_eq!(1.next_multiple_of_i64(10), 10);
        assert_eq!(20.next_multiple_of_i64(10), 20);
    }
}
