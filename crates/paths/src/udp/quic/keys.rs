//! Keys of QUIC packets (RFC 9001, RFC 9369): those of Initial packets, which anybody can derive, and those of a key log
//! (SSLKEYLOGFILE, or the decryption secrets in a pcapng). What cannot be opened stays closed, and is counted.

use ring::aead::quic::{HeaderProtectionKey, AES_128, AES_256, CHACHA20};
use ring::aead::{Aad, LessSafeKey, Nonce, UnboundKey, AES_128_GCM, AES_256_GCM, CHACHA20_POLY1305};
use ring::hkdf::{self, KeyType, Prk, HKDF_SHA256, HKDF_SHA384};
use rustc_hash::FxHashMap;

use super::header::{Cid, VERSION_2};

const SALT_1: [u8; 20] = [
    0x38, 0x76, 0x2c, 0xf7, 0xf5, 0x59, 0x34, 0xb3, 0x4d, 0x17, 0x9a, 0xe6, 0xa4, 0xc8, 0x0c, 0xad, 0xcc,
    0xbb, 0x7f, 0x0a,
];
const SALT_2: [u8; 20] = [
    0x0d, 0xed, 0xe3, 0xde, 0xf7, 0x00, 0xa6, 0xdb, 0x81, 0x93, 0x81, 0xbe, 0x6e, 0x26, 0x9d, 0xcb, 0xf9,
    0xbd, 0x2e, 0xd9,
];

/// A cipher suite of TLS 1.3 by its number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Suite(pub u16);

pub const AES_128_SHA_256: Suite = Suite(0x1301);

impl Suite {
    fn hash(self) -> hkdf::Algorithm {
        if self.0 == 0x1302 {
            HKDF_SHA384
        } else {
            HKDF_SHA256
        }
    }

    fn key_len(self) -> usize {
        if self.0 == 0x1301 {
            16
        } else {
            32
        }
    }
}

struct Length(usize);

impl KeyType for Length {
    fn len(&self) -> usize {
        self.0
    }
}

/// HKDF-Expand-Label of TLS 1.3 (RFC 8446, 7.1) without a context.
fn expand(secret: &Prk, label: &str, len: usize) -> Option<Vec<u8>> {
    let name = format!("tls13 {label}");
    let head = [0, u8::try_from(len).ok()?, u8::try_from(name.len()).ok()?];
    let info: [&[u8]; 3] = [&head, name.as_bytes(), &[0]];
    let mut out = vec![0; len];
    secret.expand(&info, Length(len)).ok()?.fill(&mut out).ok()?;
    Some(out)
}

/// What opens the packets of one side at one level.
pub struct Keys {
    suite: Suite,
    version: u32,
    secret: Vec<u8>,
    packet: LessSafeKey,
    iv: Vec<u8>,
    header: HeaderProtectionKey,
}

impl std::fmt::Debug for Keys {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Keys({:#x})", self.suite.0)
    }
}

/// A packet that was opened.
#[derive(Debug)]
pub struct Opened {
    pub number: u64,
    pub frames: Vec<u8>,
}

fn packet_key(suite: Suite, version: u32, secret: &Prk) -> Option<(LessSafeKey, Vec<u8>)> {
    let name = if version == VERSION_2 { "quicv2" } else { "quic" };
    let algorithm = match suite.0 {
        0x1301 => &AES_128_GCM,
        0x1302 => &AES_256_GCM,
        _ => &CHACHA20_POLY1305,
    };
    let key = expand(secret, &format!("{name} key"), suite.key_len())?;
    let key = LessSafeKey::new(UnboundKey::new(algorithm, &key).ok()?);
    Some((key, expand(secret, &format!("{name} iv"), 12)?))
}

impl Keys {
    fn new(suite: Suite, version: u32, secret: &[u8]) -> Option<Keys> {
        let name = if version == VERSION_2 { "quicv2 hp" } else { "quic hp" };
        let prk = Prk::new_less_safe(suite.hash(), secret);
        let algorithm = match suite.0 {
            0x1301 => &AES_128,
            0x1302 => &AES_256,
            _ => &CHACHA20,
        };
        let (packet, iv) = packet_key(suite, version, &prk)?;
        let header = HeaderProtectionKey::new(algorithm, &expand(&prk, name, suite.key_len())?).ok()?;
        Some(Keys { suite, version, secret: secret.to_vec(), packet, iv, header })
    }

    /// Of the client's and the server's Initial packets: they follow from the id that the client chose for the server.
    pub fn initial(version: u32, target: &Cid) -> Option<[Keys; 2]> {
        let salt = if version == VERSION_2 { &SALT_2 } else { &SALT_1 };
        let initial = hkdf::Salt::new(HKDF_SHA256, salt).extract(target.as_slice());
        let client = Keys::new(AES_128_SHA_256, version, &expand(&initial, "client in", 32)?)?;
        Some([client, Keys::new(AES_128_SHA_256, version, &expand(&initial, "server in", 32)?)?])
    }

    /// Opens a packet whose number begins at `number_at`; `largest` is the largest number of before. None: these are not
    /// its keys, or it was cut.
    pub fn open(&mut self, packet: &[u8], number_at: usize, largest: Option<u64>) -> Option<Opened> {
        let sample = packet.get(number_at + 4..number_at + 20)?;
        let mask = self.header.new_mask(sample).ok()?;
        let mut head = packet.get(..number_at + 4)?.to_vec();
        let is_long = head[0] & 0x80 != 0;
        head[0] ^= mask[0] & if is_long { 0x0f } else { 0x1f };
        let len = usize::from(head[0] & 3) + 1;
        let mut short = 0u64;
        for at in 0..len {
            head[number_at + at] ^= mask[1 + at];
            short = (short << 8) | u64::from(head[number_at + at]);
        }
        head.truncate(number_at + len);
        let number = whole_number(short, len, largest);
        let sealed = &packet[number_at + len..];
        if let Some(frames) = unseal(&self.packet, &self.iv, number, &head, sealed) {
            return Some(Opened { number, frames });
        }
        if is_long {
            return None;
        }
        // The sender may have gone on to its next keys (RFC 9001, 6).
        let label = if self.version == VERSION_2 { "quicv2 ku" } else { "quic ku" };
        let prk = Prk::new_less_safe(self.suite.hash(), &self.secret);
        let secret = expand(&prk, label, self.secret.len())?;
        let next = Prk::new_less_safe(self.suite.hash(), &secret);
        let (key, iv) = packet_key(self.suite, self.version, &next)?;
        let frames = unseal(&key, &iv, number, &head, sealed)?;
        (self.packet, self.iv, self.secret) = (key, iv, secret);
        Some(Opened { number, frames })
    }
}

fn unseal(key: &LessSafeKey, iv: &[u8], number: u64, head: &[u8], sealed: &[u8]) -> Option<Vec<u8>> {
    let mut nonce: [u8; 12] = iv.try_into().ok()?;
    for (at, byte) in number.to_be_bytes().into_iter().enumerate() {
        nonce[4 + at] ^= byte;
    }
    let mut text = sealed.to_vec();
    let nonce = Nonce::assume_unique_for_key(nonce);
    let len = key.open_in_place(nonce, Aad::from(head), &mut text).ok()?.len();
    text.truncate(len);
    Some(text)
}

/// A packet number from its last bytes (RFC 9000, A.3).
fn whole_number(short: u64, len: usize, largest: Option<u64>) -> u64 {
    let Some(largest) = largest else { return short };
    let expected = largest + 1;
    let window = 1u64 << (8 * len);
    let near = (expected & !(window - 1)) | short;
    if near + window / 2 <= expected && near < (1 << 62) - window {
        near + window
    } else if near > expected + window / 2 && near >= window {
        near - window
    } else {
        near
    }
}

/// Which of a connection's secrets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Level {
    Handshake,
    Application,
    Early,
}

/// The secrets of a key log by the client's random, the level, and whether they are the client's.
#[derive(Debug, Default, Clone)]
pub struct KeyLog {
    secrets: FxHashMap<([u8; 32], Level, bool), Vec<u8>>,
    /// Lines that are no secret of TLS 1.3, and no comment.
    pub others: u64,
}

impl KeyLog {
    /// Adds the lines of NSS's key log format.
    pub fn add(&mut self, text: &str) {
        for line in text.lines().map(str::trim).filter(|l| !l.is_empty() && !l.starts_with('#')) {
            let mut words = line.split_ascii_whitespace();
            let (level, is_client) = match words.next() {
                Some("CLIENT_HANDSHAKE_TRAFFIC_SECRET") => (Level::Handshake, true),
                Some("SERVER_HANDSHAKE_TRAFFIC_SECRET") => (Level::Handshake, false),
                Some("CLIENT_TRAFFIC_SECRET_0") => (Level::Application, true),
                Some("SERVER_TRAFFIC_SECRET_0") => (Level::Application, false),
                Some("CLIENT_EARLY_TRAFFIC_SECRET") => (Level::Early, true),
                Some("EXPORTER_SECRET" | "EARLY_EXPORTER_SECRET" | "EARLY_EXPORTER_MASTER_SECRET") => {
                    continue
                }
                _ => {
                    self.others += 1;
                    continue;
                }
            };
            let random = words.next().and_then(bytes).and_then(|b| <[u8; 32]>::try_from(b).ok());
            let secret = words.next().and_then(bytes).filter(|s| s.len() == 32 || s.len() == 48);
            match (random, secret) {
                (Some(random), Some(secret)) => drop(self.secrets.insert((random, level, is_client), secret)),
                _ => self.others += 1,
            }
        }
    }

    /// What tells one key log from another: how many secrets, and which.
    pub fn signature(&self) -> String {
        let sum = self.secrets.values().flatten().fold(0u32, |sum, byte| sum.wrapping_add(u32::from(*byte)));
        format!("{}/{sum:x}", self.secrets.len())
    }

    pub fn is_empty(&self) -> bool {
        self.secrets.is_empty()
    }

    pub fn has(&self, random: &[u8; 32]) -> bool {
        self.secrets.contains_key(&(*random, Level::Application, true))
    }

    /// The keys of a connection's side at a level.
    pub fn keys(
        &self,
        random: &[u8; 32],
        level: Level,
        is_client: bool,
        suite: Suite,
        version: u32,
    ) -> Option<Keys> {
        Keys::new(suite, version, self.secrets.get(&(*random, level, is_client))?)
    }
}

fn bytes(hex: &str) -> Option<Vec<u8>> {
    if hex.len() % 2 != 0 || !hex.is_ascii() {
        return None;
    }
    (0..hex.len() / 2).map(|at| u8::from_str_radix(&hex[2 * at..2 * at + 2], 16).ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_the_one_next_to_what_was_expected() {
        // RFC 9000, A.3.
        assert_eq!(whole_number(0x9b32, 2, Some(0xa82f_30ea)), 0xa82f_9b32);
        assert_eq!(whole_number(0, 1, Some(255)), 256);
        assert_eq!(whole_number(0xff, 1, Some(256)), 255);
        assert_eq!(whole_number(3, 1, None), 3);
    }

    #[test]
    fn keys_are_those_of_the_rfcs() {
        // RFC 9001, A.1, and RFC 9369, A.1: the client's keys.
        let id = bytes("8394c8f03e515708").and_then(|b| Cid::new(&b)).unwrap();
        for (version, iv, secret) in [
            (
                super::super::header::VERSION_1,
                "fa044b2f42a3fd3b46fb255c",
                "c00cf151ca5be075ed0ebfb5c80323c42d6b7db67881289af4008f1f6c357aea",
            ),
            (
                VERSION_2,
                "91f73e2351d8fa91660e909f",
                "14ec9d6eb9fd7af83bf5a668bc17a7e283766aade7ecd0891f70f9ff7f4bf47b",
            ),
        ] {
            let [client, _] = Keys::initial(version, &id).unwrap();
            assert_eq!(client.iv, bytes(iv).unwrap());
            assert_eq!(client.secret, bytes(secret).unwrap());
        }
    }

    #[test]
    fn a_short_packet_with_chacha20_is_opened() {
        // RFC 9001, A.5.
        let secret = bytes("9ac312a7f877468ebe69422748ad00a15443f18203a07d6060f688f30f21632b").unwrap();
        let packet = bytes("4cfe4189655e5cd55c41f69080575d7999c25a5bfb").unwrap();
        let mut keys = Keys::new(Suite(0x1303), 1, &secret).unwrap();
        let opened = keys.open(&packet, 1, Some(654_360_563)).unwrap();
        assert_eq!((opened.number, opened.frames), (654_360_564, vec![1]));
        assert!(keys.open(&packet, 1, Some(7)).is_none());
    }

    #[test]
    fn a_line_that_is_no_secret_is_counted() {
        let mut log = KeyLog::default();
        log.add("# a comment\n\nCLIENT_RANDOM 00 11\nCLIENT_TRAFFIC_SECRET_0 zz 11\n");
        assert_eq!((log.is_empty(), log.others), (true, 2));
    }
}
