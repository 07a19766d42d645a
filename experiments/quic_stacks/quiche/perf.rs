//! perf over quiche's streams: a client asks for so many bytes or sends so many on each, a server does as the first eight bytes say.
use quiche::{Connection, Result};
use std::{collections::BTreeMap, time::Instant};

const ZEROS: [u8; 1 << 16] = [0; 1 << 16];

pub struct Work {
    /// Of each stream of a client, bytes down and up; a server has none of its own.
    pub asks: Vec<(usize, usize)>,
    open: usize,
    ended: usize,
    heads: BTreeMap<u64, Vec<u8>>,
    left: BTreeMap<u64, usize>,
    pub got: usize,
    pub last: Instant,
}

impl Work {
    pub fn new(asks: Vec<(usize, usize)>) -> Work {
        Work { asks, open: 0, ended: 0, heads: BTreeMap::new(), left: BTreeMap::new(), got: 0, last: Instant::now() }
    }

    pub fn is_done(&self) -> bool {
        !self.asks.is_empty() && self.ended == self.asks.len()
    }

    pub fn go(&mut self, c: &mut Connection, buffer: &mut [u8]) -> Result<()> {
        while c.is_established() && self.open < self.asks.len() {
            let ((down, up), stream) = (self.asks[self.open], 4 * self.open as u64);
            c.stream_send(stream, &(down as u64).to_be_bytes(), up == 0)?;
            if up > 0 { self.left.insert(stream, up); }
            self.open += 1;
        }
        for stream in c.readable() {
            while let Ok((n, fin)) = c.stream_recv(stream, buffer) {
                let head = self.heads.entry(stream).or_default();
                let cut = if self.asks.is_empty() { n.min(8 - head.len()) } else { 0 };
                head.extend(&buffer[..cut]);
                (self.got, self.last, self.ended) = (self.got + n - cut, Instant::now(), self.ended + usize::from(fin));
                if let (true, true, Ok(asked)) = (fin, self.asks.is_empty(), head[..].try_into()) {
                    self.left.insert(stream, u64::from_be_bytes(asked) as usize);
                }
            }
        }
        self.left.retain(|&stream, left| loop {
            let n = ZEROS.len().min(*left);
            let Ok(sent) = c.stream_send(stream, &ZEROS[..n], n == *left) else { break true };
            if sent == *left { break false }
            *left -= sent;
        });
        Ok(())
    }
}
