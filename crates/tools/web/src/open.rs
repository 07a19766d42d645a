//! The connections that a server has open, and which one makes way for a new client when there are too many: one that
//! asks for nothing. A connection that is being answered never does.

use std::collections::BTreeMap;
use std::net::{Shutdown, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard};

/// Shared by the thread that accepts and those that serve.
#[derive(Clone)]
pub struct Open(Arc<Mutex<Table>>);

struct Table {
    most: usize,
    /// Counts events, as a clock that needs none.
    turn: u64,
    connections: BTreeMap<u64, Connection>,
}

struct Connection {
    socket: TcpStream,
    has_asked: bool,
    /// Since which turn its client has not asked for anything; None while it is being answered.
    waits_since: Option<u64>,
}

/// A connection's place in the table, which it leaves when this is dropped.
pub struct Place {
    open: Open,
    id: u64,
}

impl Open {
    pub fn new(most: usize) -> Open {
        Open(Arc::new(Mutex::new(Table { most, turn: 0, connections: BTreeMap::new() })))
    }

    fn lock(&self) -> MutexGuard<'_, Table> {
        self.0.lock().unwrap_or_else(|p| p.into_inner())
    }

    /// A place for a new connection, if need be that of one whose client asks for nothing. None: all are being
    /// answered, or the system has no descriptor left.
    pub fn admit(&self, socket: &TcpStream) -> Option<Place> {
        let socket = socket.try_clone().ok()?;
        let mut table = self.lock();
        if table.connections.len() >= table.most {
            let id = table.idle()?;
            // Its thread reads the end of the stream, and is done.
            let gone = table.connections.remove(&id)?;
            let _ = gone.socket.shutdown(Shutdown::Both);
        }
        let id = table.next_turn();
        let connection = Connection { socket, has_asked: false, waits_since: Some(id) };
        table.connections.insert(id, connection);
        Some(Place { open: self.clone(), id })
    }
}

impl Table {
    fn next_turn(&mut self) -> u64 {
        self.turn += 1;
        self.turn
    }

    /// The oldest that never asked for anything, else the one that has waited for longest since its last answer.
    fn idle(&self) -> Option<u64> {
        let waiting =
            (self.connections.iter()).filter_map(|(id, c)| Some((c.has_asked, c.waits_since?, *id)));
        waiting.min().map(|(_, _, id)| id)
    }
}

impl Place {
    /// A whole request is there. False: the place is another's by now.
    pub fn answers(&self) -> bool {
        let mut table = self.open.lock();
        let Some(connection) = table.connections.get_mut(&self.id) else {
            return false;
        };
        connection.has_asked = true;
        connection.waits_since = None;
        true
    }

    /// The request is answered.
    pub fn waits(&self) {
        let mut table = self.open.lock();
        let turn = table.next_turn();
        if let Some(connection) = table.connections.get_mut(&self.id) {
            connection.waits_since = Some(turn);
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.open.lock().connections.remove(&self.id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use narrows_wire::testing::unless_held_up;
    use std::io::{ErrorKind, Read};
    use std::net::TcpListener;
    use std::time::Duration;

    /// A client's end, the server's, and its place.
    fn connected(listener: &TcpListener, open: &Open) -> (TcpStream, TcpStream, Option<Place>) {
        let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let server = listener.accept().unwrap().0;
        let place = open.admit(&server);
        (client, server, place)
    }

    fn is_closed(client: &mut TcpStream) -> bool {
        client.set_read_timeout(Some(Duration::from_millis(50))).unwrap();
        match client.read(&mut [0]) {
            Ok(n) => n == 0,
            Err(e) => !matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut),
        }
    }

    #[test]
    fn the_oldest_that_never_asked_makes_way_then_the_one_that_waits_longest_and_none_that_is_answered() {
        unless_held_up(|| {
            let (listener, open) = (TcpListener::bind("127.0.0.1:0").unwrap(), Open::new(4));
            let mut all: Vec<_> = (0..4).map(|_| connected(&listener, &open)).collect();
            let place = |all: &Vec<(_, _, Option<Place>)>, n: usize| all[n].2.as_ref().unwrap().id;
            // 0 and 1 have asked and wait, 1 for longer; 2 never asked; 3 is being answered.
            for n in [0, 1, 3] {
                assert!(all[n].2.as_ref().unwrap().answers());
            }
            for n in [1, 0] {
                all[n].2.as_ref().unwrap().waits();
            }
            assert_eq!(open.lock().idle(), Some(place(&all, 2)));
            for next in [2, 1, 0] {
                let new = connected(&listener, &open);
                assert!(new.2.as_ref().unwrap().answers());
                assert!(is_closed(&mut all[next].0));
                assert!(!all[next].2.as_ref().unwrap().answers(), "it came too late");
                all.push(new);
            }
            assert!(!is_closed(&mut all[3].0));
            let (_client, _server, refused) = connected(&listener, &open);
            assert!(refused.is_none(), "all are being answered");
            all[3].2 = None; // its thread is done
            assert!(connected(&listener, &open).2.is_some());
        });
    }
}
