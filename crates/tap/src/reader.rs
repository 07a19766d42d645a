//! All records of a `tap.bin`, in the order of the file.

use std::fmt;
use std::io::{self, Read};

use crate::{Record, RECORD_BYTES};

#[derive(Debug)]
pub enum ReadError {
    Io(io::Error),
    /// The file ends inside the record that begins at this byte.
    CutOff(u64),
    /// What begins at this byte is no record.
    Unknown(u64),
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            ReadError::Io(e) => write!(f, "{e}"),
            ReadError::CutOff(at) => write!(f, "the tap is cut off in the record at byte {at}"),
            ReadError::Unknown(at) => write!(f, "there is no record at byte {at}"),
        }
    }
}

impl std::error::Error for ReadError {}

/// Reads to the end; the first error is the last item. `file` should be buffered.
pub fn read(mut file: impl Read) -> impl Iterator<Item = Result<Record, ReadError>> {
    let (mut at, mut over) = (0, false);
    std::iter::from_fn(move || {
        if over {
            return None;
        }
        let next = next(&mut file, at);
        at += RECORD_BYTES as u64;
        over = !matches!(next, Some(Ok(_)));
        next
    })
}

fn next(file: &mut impl Read, at: u64) -> Option<Result<Record, ReadError>> {
    let mut bytes = [0; RECORD_BYTES];
    let mut have = 0;
    while have < RECORD_BYTES {
        match file.read(&mut bytes[have..]) {
            Ok(0) if have == 0 => return None,
            Ok(0) => return Some(Err(ReadError::CutOff(at))),
            Ok(n) => have += n,
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return Some(Err(ReadError::Io(e))),
        }
    }
    Some(Record::parse(&bytes).ok_or(ReadError::Unknown(at)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn levels() -> Vec<u8> {
        let mut bytes = vec![0; RECORD_BYTES];
        (bytes[0], bytes[1]) = (4, 7);
        bytes
    }

    #[test]
    fn a_file_is_read_to_its_end_and_not_past_what_is_wrong_with_it() {
        let two = [levels(), levels()].concat();
        assert!(read(&two[..]).all(|record| record.is_ok()));
        assert_eq!(read(&two[..]).count(), 2);
        assert_eq!(read(&[][..]).count(), 0);
        let cut: Vec<_> = read(&two[..90]).collect();
        assert!(matches!(cut[..], [Ok(_), Err(ReadError::CutOff(48))]));
        let odd = [vec![9; RECORD_BYTES], levels()].concat();
        let odd: Vec<_> = read(&odd[..]).collect();
        assert!(matches!(odd[..], [Err(ReadError::Unknown(0))]));
    }
}
