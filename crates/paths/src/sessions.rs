//! Sessions: connections of one client and service that are close in time.
//!
//! Source: Philip 2025, section 5.3: a session is one uninterrupted viewing, over several connections; of several servers
//! only the one that sent most data counts; sessions under two minutes do not. A log knows no viewing, so a session
//! is here: connections of one client address and one service, each beginning at most `gap_ns` after another's end. It
//! holds only the sums of open sessions.

use std::collections::BTreeMap;
use std::net::IpAddr;

use rustc_hash::FxHashMap;

use crate::aggregate::Aggregate;
use crate::connection::Connection;

/// What makes two servers one service.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Service {
    /// The server's port.
    Port,
    /// The server's address and port.
    Server,
    /// Everything is one service.
    All,
}

#[derive(Debug, Clone, Copy)]
pub struct Rules {
    pub gap_ns: i64,
    pub min_ns: i64,
    pub service: Service,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
struct Who {
    client: IpAddr,
    server: Option<IpAddr>,
    port: Option<u16>,
}

/// A session that has ended. The aggregate is of its busiest server only.
#[derive(Debug)]
pub struct Session {
    pub client: IpAddr,
    pub server: IpAddr,
    pub server_port: Option<u16>,
    pub first_ns: i64,
    pub last_ns: i64,
    pub connections: u64,
    pub servers: u64,
    /// Connections with the busiest server, and its share of all payload.
    pub connections_counted: u64,
    pub share_of_bytes: Option<f64>,
    pub aggregate: Aggregate,
}

#[derive(Debug)]
struct Open {
    first_ns: i64,
    last_ns: i64,
    running: u64,
    connections: u64,
    // Ordered, so that ties go the same way each time.
    servers: BTreeMap<IpAddr, (u64, Aggregate)>,
}

#[derive(Debug)]
pub struct Sessions {
    rules: Rules,
    open: FxHashMap<Who, Open>,
    /// Sessions that were too short to be written.
    pub short: u64,
}

impl Sessions {
    pub fn new(rules: Rules) -> Self {
        Sessions { rules, open: FxHashMap::default(), short: 0 }
    }

    fn who(&self, connection: &Connection) -> Who {
        let (client, _) = connection.key.end(connection.client);
        let (server, port) = connection.key.end(1 - connection.client);
        match self.rules.service {
            Service::Port => Who { client, server: None, port: Some(port) },
            Service::Server => Who { client, server: Some(server), port: Some(port) },
            Service::All => Who { client, server: None, port: None },
        }
    }

    /// A connection begins. The session that this ends, if any.
    pub fn begin(&mut self, connection: &Connection) -> Option<Session> {
        let who = self.who(connection);
        let t_ns = connection.first_ns;
        let ended = match self.open.get(&who) {
            Some(open) if open.running == 0 && t_ns - open.last_ns > self.rules.gap_ns => self.close(&who),
            _ => None,
        };
        let open = self.open.entry(who).or_insert_with(|| Open {
            first_ns: t_ns,
            last_ns: t_ns,
            running: 0,
            connections: 0,
            servers: BTreeMap::new(),
        });
        open.running += 1;
        open.connections += 1;
        open.last_ns = open.last_ns.max(t_ns);
        ended
    }

    /// A connection has ended.
    pub fn end(&mut self, connection: &Connection, aggregate: &Aggregate) {
        let who = self.who(connection);
        let (server, _) = connection.key.end(1 - connection.client);
        let Some(open) = self.open.get_mut(&who) else {
            return;
        };
        open.running = open.running.saturating_sub(1);
        open.last_ns = open.last_ns.max(connection.last_ns);
        match open.servers.get_mut(&server) {
            Some((count, sum)) => {
                *count += 1;
                sum.merge(aggregate);
            }
            None => {
                open.servers.insert(server, (1, aggregate.clone()));
            }
        }
    }

    /// The sessions that ended before `t_ns`; all of them when it is None.
    pub fn ended(&mut self, t_ns: Option<i64>) -> Vec<Session> {
        let gap = self.rules.gap_ns;
        let mut over: Vec<Who> = self
            .open
            .iter()
            .filter(|(_, open)| t_ns.is_none_or(|t| open.running == 0 && t - open.last_ns > gap))
            .map(|(who, _)| who.clone())
            .collect();
        over.sort_unstable();
        over.iter().filter_map(|who| self.close(who)).collect()
    }

    fn close(&mut self, who: &Who) -> Option<Session> {
        let open = self.open.remove(who)?;
        if open.last_ns - open.first_ns < self.rules.min_ns {
            self.short += 1;
            return None;
        }
        let servers = open.servers.len() as u64;
        let total: u64 = open.servers.values().map(|(_, a)| a.active.bytes).sum();
        let (server, (count, aggregate)) =
            open.servers.into_iter().max_by_key(|(_, (_, a))| a.active.bytes)?;
        Some(Session {
            client: who.client,
            server,
            server_port: who.port,
            first_ns: open.first_ns,
            last_ns: open.last_ns,
            connections: open.connections,
            servers,
            connections_counted: count,
            share_of_bytes: (total > 0).then(|| aggregate.active.bytes as f64 / total as f64),
            aggregate,
        })
    }
}
