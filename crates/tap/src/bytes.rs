//! The bytes of a record, one field after the other.

use crate::{Backlog, Bytes, Count, RECORD_BYTES};

pub struct Put {
    bytes: Bytes,
    at: usize,
}

impl Put {
    pub fn new(kind: u8, hop: u8) -> Put {
        let mut put = Put { bytes: [0; RECORD_BYTES], at: 0 };
        put.u8(kind).u8(hop);
        put
    }

    pub fn all(&mut self, bytes: &[u8]) -> &mut Put {
        self.bytes[self.at..self.at + bytes.len()].copy_from_slice(bytes);
        self.at += bytes.len();
        self
    }

    pub fn u8(&mut self, n: u8) -> &mut Put {
        self.all(&[n])
    }

    pub fn u16(&mut self, n: u16) -> &mut Put {
        self.all(&n.to_le_bytes())
    }

    pub fn u32(&mut self, n: u32) -> &mut Put {
        self.all(&n.to_le_bytes())
    }

    pub fn u64(&mut self, n: u64) -> &mut Put {
        self.all(&n.to_le_bytes())
    }

    /// What was not written is 0.
    pub fn done(self) -> Bytes {
        self.bytes
    }
}

pub struct Get<'a> {
    pub kind: u8,
    pub hop: u8,
    bytes: &'a Bytes,
    at: usize,
}

impl Get<'_> {
    pub fn new(bytes: &Bytes) -> Get<'_> {
        Get { kind: bytes[0], hop: bytes[1], bytes, at: 2 }
    }

    pub fn all<const N: usize>(&mut self) -> [u8; N] {
        let found = std::array::from_fn(|i| self.bytes[self.at + i]);
        self.at += N;
        found
    }

    pub fn u8(&mut self) -> u8 {
        self.all::<1>()[0]
    }

    pub fn u16(&mut self) -> u16 {
        u16::from_le_bytes(self.all())
    }

    pub fn u32(&mut self) -> u32 {
        u32::from_le_bytes(self.all())
    }

    pub fn u64(&mut self) -> u64 {
        u64::from_le_bytes(self.all())
    }

    pub fn backlog(&mut self) -> Backlog {
        Backlog { bytes: self.u32(), packets: self.u32() }
    }

    pub fn count(&mut self) -> Count {
        Count { packets: self.u32(), bytes: self.u32() }
    }
}
