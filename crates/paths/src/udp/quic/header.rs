//! Headers of QUIC packets, versions 1 and 2 (RFC 9000, 9369), as far as they are not protected.

/// A connection id.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Cid {
    pub len: u8,
    pub bytes: [u8; 20],
}

impl Cid {
    pub fn new(bytes: &[u8]) -> Option<Cid> {
        let mut cid = Cid { len: u8::try_from(bytes.len()).ok()?, bytes: [0; 20] };
        cid.bytes.get_mut(..bytes.len())?.copy_from_slice(bytes);
        Some(cid)
    }

    pub fn as_slice(&self) -> &[u8] {
        &self.bytes[..usize::from(self.len)]
    }

    pub fn hex(&self) -> String {
        self.as_slice().iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    Initial,
    ZeroRtt,
    Handshake,
    Retry,
    Negotiation,
    OneRtt,
}

/// One packet of a datagram, with a long header.
#[derive(Debug, Clone, Copy)]
pub struct Long<'a> {
    pub form: Form,
    pub version: u32,
    pub target: Cid,
    pub source: Cid,
    /// All of the packet that was captured, from its first byte, and where its number begins.
    pub bytes: &'a [u8],
    pub number_at: usize,
    /// How long it is on the wire.
    pub len: usize,
}

pub const VERSION_1: u32 = 1;
pub const VERSION_2: u32 = 0x6b33_43cf;

pub fn is_known(version: u32) -> bool {
    version == VERSION_1 || version == VERSION_2
}

/// A number of variable length (RFC 9000, 16) at `at`, and what is behind it.
pub fn variable(data: &[u8], at: usize) -> Option<(u64, usize)> {
    let first = *data.get(at)?;
    let len = 1usize << (first >> 6);
    let mut value = u64::from(first & 0x3f);
    for byte in data.get(at + 1..at + len)? {
        value = (value << 8) | u64::from(*byte);
    }
    Some((value, at + len))
}

/// The packet with a long header that `data` begins with; None if it is none, or one cut too early.
pub fn long(data: &[u8]) -> Option<Long<'_>> {
    let first = *data.first()?;
    if first & 0x80 == 0 {
        return None;
    }
    let version = u32::from_be_bytes(data.get(1..5)?.try_into().ok()?);
    let target_len = usize::from(*data.get(5)?);
    let target = Cid::new(data.get(6..6 + target_len)?)?;
    let at = 6 + target_len;
    let source_len = usize::from(*data.get(at)?);
    let source = Cid::new(data.get(at + 1..at + 1 + source_len)?)?;
    let at = at + 1 + source_len;
    let packet = |form, number_at, len| Long {
        form,
        version,
        target,
        source,
        bytes: &data[..data.len().min(len)],
        number_at,
        len,
    };
    if version == 0 {
        return Some(packet(Form::Negotiation, at, data.len()));
    }
    // The fixed bit says nothing: ends that agreed to grease it (RFC 9287) clear it at random.
    if !is_known(version) {
        return None;
    }
    let kind = (first >> 4) & 3;
    let form = match if version == VERSION_2 { kind.wrapping_sub(1) & 3 } else { kind } {
        0 => Form::Initial,
        1 => Form::ZeroRtt,
        2 => Form::Handshake,
        _ => return Some(packet(Form::Retry, at, data.len())),
    };
    let mut at = at;
    if form == Form::Initial {
        let (token, behind) = variable(data, at)?;
        at = behind.checked_add(usize::try_from(token).ok()?)?;
    }
    let (len, behind) = variable(data, at)?;
    let len = behind.checked_add(usize::try_from(len).ok()?)?;
    Some(packet(form, behind, len))
}
