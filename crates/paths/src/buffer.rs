//! A window on a stream of bytes. It knows nothing of what they are.

use std::io::{self, Read};

/// Bytes of a stream, a stretch at a time, with as many in one piece as the caller wants.
pub struct Buffer<R> {
    input: R,
    data: Vec<u8>,
    start: usize,
    end: usize,
    /// Bytes taken since the beginning.
    pub at: u64,
}

impl<R: Read> Buffer<R> {
    pub fn new(input: R) -> Self {
        Buffer { input, data: vec![0; 1 << 18], start: 0, end: 0, at: 0 }
    }

    /// The next bytes: `n` of them or, at the end of the stream, fewer.
    #[inline]
    pub fn want(&mut self, n: usize) -> io::Result<&[u8]> {
        if self.end - self.start < n {
            self.fill(n)?;
        }
        Ok(&self.data[self.start..self.end.min(self.start + n)])
    }

    #[cold]
    fn fill(&mut self, n: usize) -> io::Result<()> {
        self.data.copy_within(self.start..self.end, 0);
        self.end -= self.start;
        self.start = 0;
        while self.end < n {
            if self.end == self.data.len() {
                // Only as the bytes come: a damaged length takes no memory.
                self.data.resize(self.data.len() * 2, 0);
            }
            match self.input.read(&mut self.data[self.end..]) {
                Ok(0) => break,
                Ok(read) => self.end += read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// The bytes that are in memory: those that were wanted, and more.
    #[inline]
    pub fn held(&self) -> &[u8] {
        &self.data[self.start..self.end]
    }

    /// Takes the next `n` bytes, a stretch at a time. Whether there were as many.
    pub fn skip(&mut self, mut n: usize) -> io::Result<bool> {
        while n > 0 {
            let some = self.want(n.min(1 << 16))?.len();
            if some == 0 {
                return Ok(false);
            }
            self.take(some);
            n -= some;
        }
        Ok(true)
    }

    #[inline]
    pub fn take(&mut self, n: usize) {
        self.start += n;
        self.at += n as u64;
    }
}
