//! `ethtool -K IFACE NAME on|off …` by ioctl: the short names of ethtool(8), or a feature's full name.
//!
//! A feature that does not take the wanted value (fixed by its driver) is an error: a plan never runs on
//! offloads it did not ask for.

use std::os::fd::AsRawFd;

use crate::{netlink, sys};

const SIOCETHTOOL: libc::c_ulong = 0x8946;
const ETHTOOL_GFLAGS: u32 = 0x25;
const ETHTOOL_SFLAGS: u32 = 0x26;
const ETHTOOL_GSTRINGS: u32 = 0x1b;
const ETHTOOL_GSSET_INFO: u32 = 0x37;
const ETHTOOL_GFEATURES: u32 = 0x3a;
const ETHTOOL_SFEATURES: u32 = 0x3b;
const ETH_SS_FEATURES: u32 = 4;
const FLAG_LRO: u32 = 1 << 15;

/// Short names with their own get and set commands.
fn legacy(name: &str) -> Option<(u32, u32)> {
    Some(match name {
        "rx" | "rx-checksumming" => (0x14, 0x15),
        "tx" | "tx-checksumming" => (0x16, 0x17),
        "sg" | "scatter-gather" => (0x18, 0x19),
        "tso" | "tcp-segmentation-offload" => (0x1e, 0x1f),
        "ufo" | "udp-fragmentation-offload" => (0x21, 0x22),
        "gso" | "generic-segmentation-offload" => (0x23, 0x24),
        "gro" | "generic-receive-offload" => (0x2b, 0x2c),
        _ => return None,
    })
}

/// An interface, and the features that are to be set on it.
type Wanted<'a> = (&'a str, Vec<(&'a str, bool)>);

/// Reads `-K`'s words.
pub fn parse(args: &[String]) -> Result<Wanted<'_>, String> {
    let (iface, rest) = match args {
        [flag, iface, rest @ ..] if flag == "-K" || flag == "--features" || flag == "--offload" => {
            (iface, rest)
        }
        _ => return Err("only 'ethtool -K IFACE NAME on|off …' is known".into()),
    };
    if rest.is_empty() || rest.len() % 2 != 0 {
        return Err("features come as pairs NAME on|off".into());
    }
    let pairs = rest
        .chunks(2)
        .map(|p| match p[1].as_str() {
            "on" => Ok((p[0].as_str(), true)),
            "off" => Ok((p[0].as_str(), false)),
            other => Err(format!("'{other}' is neither on nor off")),
        })
        .collect::<Result<_, _>>()?;
    Ok((iface, pairs))
}

/// Carries out `-K` in the thread's namespace.
pub fn run(args: &[String]) -> Result<(), String> {
    let (iface, pairs) = parse(args)?;
    let dev = Device::open(iface)?;
    for (name, on) in pairs {
        dev.set(name, on).map_err(|e| format!("{iface}: setting {name} {}: {e}", on_off(on)))?;
    }
    Ok(())
}

/// Whether the features of `-K`'s words are still as they ask.
pub fn check(args: &[String]) -> Result<(), String> {
    let (iface, pairs) = parse(args)?;
    let dev = Device::open(iface)?;
    for (name, on) in pairs {
        let kept = dev.get(name).map_err(|e| format!("{iface}: reading {name}: {e}"))?;
        if kept != on {
            return Err(format!(
                "{iface}: {name}: asked {}, the kernel kept {}: another offload that it needs is off",
                on_off(on),
                on_off(kept)
            ));
        }
    }
    Ok(())
}

/// All features of an interface as the kernel keeps them: two words for each 32, what can be set and what is asked for.
pub fn features(iface: &str) -> Result<Vec<u32>, String> {
    let dev = Device::open(iface)?;
    let said = dev.features()?;
    Ok(said.chunks(4).flat_map(|block| [block[0], block[1]]).collect())
}

/// Asks again for what was asked for when `features` was called.
pub fn restore(iface: &str, saved: &[u32]) -> Result<(), String> {
    if features(iface)? == saved {
        return Ok(());
    }
    let mut set = vec![ETHTOOL_SFEATURES, (saved.len() / 2) as u32];
    set.extend_from_slice(saved);
    Device::open(iface)?.ioctl(&mut set).map_err(|e| format!("{iface}: setting its offloads again: {e}"))
}

fn is_lro(name: &str) -> bool {
    matches!(name, "lro" | "large-receive-offload")
}

fn on_off(on: bool) -> &'static str {
    if on {
        "on"
    } else {
        "off"
    }
}

struct Device {
    fd: std::os::fd::OwnedFd,
    iface: String,
}

impl Device {
    fn open(iface: &str) -> Result<Device, String> {
        let fd = sys::socket(libc::AF_INET, libc::SOCK_DGRAM, 0).map_err(|e| e.to_string())?;
        Ok(Device { fd, iface: iface.to_string() })
    }

    /// `words` is the command's struct as u32s; the kernel reads and writes it in place.
    fn ioctl(&self, words: &mut [u32]) -> Result<(), String> {
        let mut req = netlink::ifreq(&self.iface).map_err(|e| e.to_string())?;
        req.ifr_ifru.ifru_data = words.as_mut_ptr() as *mut libc::c_char;
        // SAFETY: req points at words, which is as large as the command needs.
        sys::cvt(unsafe { libc::ioctl(self.fd.as_raw_fd(), SIOCETHTOOL as _, &mut req) })
            .map(drop)
            .map_err(|e| e.to_string())
    }

    fn set(&self, name: &str, on: bool) -> Result<(), String> {
        if self.get(name)? == on {
            return Ok(());
        }
        if let Some((_, set)) = legacy(name) {
            self.ioctl(&mut [set, on as u32])?;
        } else if is_lro(name) {
            let mut value = [ETHTOOL_GFLAGS, 0];
            self.ioctl(&mut value)?;
            let others = value[1] & !FLAG_LRO;
            self.ioctl(&mut [ETHTOOL_SFLAGS, if on { others | FLAG_LRO } else { others }])?;
        } else {
            let (block, mask) = self.bit(name)?;
            let blocks = self.count()?.div_ceil(32);
            let mut set = vec![0u32; 2 + blocks * 2];
            set[..2].copy_from_slice(&[ETHTOOL_SFEATURES, blocks as u32]);
            set[2 + block * 2] = mask;
            set[3 + block * 2] = if on { mask } else { 0 };
            self.ioctl(&mut set)?;
        }
        match self.get(name)? == on {
            true => Ok(()),
            false => Err("the device keeps its value".into()),
        }
    }

    fn get(&self, name: &str) -> Result<bool, String> {
        if let Some((get, _)) = legacy(name) {
            let mut value = [get, 0];
            self.ioctl(&mut value)?;
            return Ok(value[1] != 0);
        }
        if is_lro(name) {
            let mut value = [ETHTOOL_GFLAGS, 0];
            self.ioctl(&mut value)?;
            return Ok(value[1] & FLAG_LRO != 0);
        }
        let (block, mask) = self.bit(name)?;
        Ok(self.features()?[block * 4 + 2] & mask != 0)
    }

    /// Number of features there are.
    fn count(&self) -> Result<usize, String> {
        let mut info = [ETHTOOL_GSSET_INFO, 0, 1 << ETH_SS_FEATURES, 0, 0];
        self.ioctl(&mut info)?;
        Ok(info[4] as usize)
    }

    /// For each 32: what can be set, what is asked for, what is on, what never changes.
    fn features(&self) -> Result<Vec<u32>, String> {
        let blocks = self.count()?.div_ceil(32);
        let mut get = vec![0u32; 2 + blocks * 4];
        get[..2].copy_from_slice(&[ETHTOOL_GFEATURES, blocks as u32]);
        self.ioctl(&mut get)?;
        Ok(get.split_off(2))
    }

    /// Where a feature is by its full name: its block of 32, and its bit there.
    fn bit(&self, name: &str) -> Result<(usize, u32), String> {
        let count = self.count()?;
        let mut strings = vec![0u32; 3 + count * 8];
        strings[..3].copy_from_slice(&[ETHTOOL_GSTRINGS, ETH_SS_FEATURES, count as u32]);
        self.ioctl(&mut strings)?;
        let bytes: Vec<u8> = strings[3..].iter().flat_map(|w| w.to_ne_bytes()).collect();
        let bit = bytes
            .chunks(32)
            .position(|c| netlink::text(c.split(|b| *b == 0).next().unwrap_or(c)) == name)
            .ok_or("no such feature")?;
        Ok((bit / 32, 1 << (bit % 32)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(s: &str) -> Vec<String> {
        s.split(' ').map(String::from).collect()
    }

    #[test]
    fn features_come_in_pairs_of_on_and_off() {
        let args = words("-K eth0 tso off gro on");
        assert_eq!(parse(&args).unwrap(), ("eth0", vec![("tso", false), ("gro", true)]));
        assert!(parse(&words("-K eth0 tso")).is_err());
        assert!(parse(&words("-K eth0 tso maybe")).is_err());
        assert!(parse(&words("-S eth0")).is_err());
    }
}
