//! Captures: an AF_PACKET ring (TPACKET_V3) per capture, written as pcapng.
//!
//! Packets that the ring could not take are counted by the kernel, and fail the run: a capture with holes
//! must not pass for a whole one.

mod pcapng;

use std::fs::File;
use std::io::BufWriter;
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::atomic::{fence, Ordering};

use serde_json::{json, Value};

use crate::actor::{Actor, Cx, Progress};
use crate::error::{During, Result, RunError, Stage};
use crate::netlink::interface_index;
use crate::reactor::{Event, IN};
use crate::sys;
use narrows_plan::Capture;

const BLOCK_BYTES: usize = 1 << 19;
const BLOCKS: usize = 16;
/// A block that is not full is handed over after this time.
const RETIRE_MS: u32 = 200;
const READY: u16 = 0;
const BEGIN: u16 = 1;
const END: u16 = 2;
const PACKET_OUTGOING: u8 = 4;

struct Ring {
    fd: OwnedFd,
    map: *mut u8,
    next_block: usize,
}

impl Drop for Ring {
    fn drop(&mut self) {
        // SAFETY: map was made by mmap with this length.
        unsafe { libc::munmap(self.map as *mut libc::c_void, BLOCK_BYTES * BLOCKS) };
    }
}

pub struct Recorder {
    spec: Capture,
    ring: Option<Ring>,
    file: Option<BufWriter<File>>,
    packets: u64,
    ended: Option<i64>,
}

fn open_ring(cx: &Cx, spec: &Capture) -> std::io::Result<Ring> {
    let index = interface_index(&spec.iface)?;
    let fd = sys::socket(libc::AF_PACKET, libc::SOCK_RAW, 0)?;
    let raw = fd.as_raw_fd();
    sys::setsockopt(raw, libc::SOL_PACKET, libc::PACKET_VERSION, &libc::tpacket_versions::TPACKET_V3)?;
    let request = libc::tpacket_req3 {
        tp_block_size: BLOCK_BYTES as u32,
        tp_block_nr: BLOCKS as u32,
        tp_frame_size: 2048,
        tp_frame_nr: (BLOCK_BYTES / 2048 * BLOCKS) as u32,
        tp_retire_blk_tov: RETIRE_MS,
        tp_sizeof_priv: 0,
        tp_feature_req_word: 0,
    };
    sys::setsockopt(raw, libc::SOL_PACKET, libc::PACKET_RX_RING, &request)?;
    // SAFETY: a fresh shared mapping of the ring just made.
    let map = unsafe {
        libc::mmap(
            std::ptr::null_mut(),
            BLOCK_BYTES * BLOCKS,
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_SHARED,
            raw,
            0,
        )
    };
    if map == libc::MAP_FAILED {
        return Err(std::io::Error::last_os_error());
    }
    let ring = Ring { fd, map: map as *mut u8, next_block: 0 };
    if spec.snap_bytes > 0 {
        sys::keep_bytes(raw, spec.snap_bytes)?;
    }
    // SAFETY: address is a valid sockaddr_ll for the call.
    unsafe {
        let mut address: libc::sockaddr_ll = std::mem::zeroed();
        address.sll_family = libc::AF_PACKET as u16;
        address.sll_protocol = (libc::ETH_P_ALL as u16).to_be();
        address.sll_ifindex = index as i32;
        let len = std::mem::size_of_val(&address) as u32;
        sys::cvt(libc::bind(raw, &address as *const _ as *const libc::sockaddr, len))?;
    }
    cx.reactor.watch(raw, IN, cx.token(READY, 0))?;
    Ok(ring)
}

impl Ring {
    /// Hands every packet of every block that the kernel has given over to `each`, and gives the block back.
    fn drain(
        &mut self,
        mut each: impl FnMut(u64, &[u8], u32, bool) -> std::io::Result<()>,
    ) -> std::io::Result<()> {
        loop {
            // SAFETY: block lies in the mapping; its header says who owns it and where its packets are. The
            // kernel does not touch a block while its status is TP_STATUS_USER.
            unsafe {
                let block = self.map.add(self.next_block * BLOCK_BYTES);
                let header = &mut (*(block as *mut libc::tpacket_block_desc)).hdr.bh1;
                if std::ptr::read_volatile(&header.block_status) & libc::TP_STATUS_USER == 0 {
                    return Ok(());
                }
                fence(Ordering::Acquire);
                let mut at = block.add(header.offset_to_first_pkt as usize);
                for _ in 0..header.num_pkts {
                    let p = &*(at as *const libc::tpacket3_hdr);
                    let data = std::slice::from_raw_parts(at.add(p.tp_mac as usize), p.tp_snaplen as usize);
                    let aligned = (std::mem::size_of::<libc::tpacket3_hdr>() + 15) & !15;
                    let ll = &*(at.add(aligned) as *const libc::sockaddr_ll);
                    let wall_ns = p.tp_sec as u64 * 1_000_000_000 + p.tp_nsec as u64;
                    each(wall_ns, data, p.tp_len, ll.sll_pkttype == PACKET_OUTGOING)?;
                    at = at.add(p.tp_next_offset as usize);
                }
                fence(Ordering::Release);
                std::ptr::write_volatile(&mut header.block_status, libc::TP_STATUS_KERNEL);
            }
            self.next_block = (self.next_block + 1) % BLOCKS;
        }
    }

    /// Packets the ring had no room for.
    fn dropped(&self) -> std::io::Result<u64> {
        let mut stats = [0u8; 12];
        sys::getsockopt_bytes(self.fd.as_raw_fd(), libc::SOL_PACKET, libc::PACKET_STATISTICS, &mut stats)?;
        Ok(crate::netlink::u32_at(&stats, 4) as u64)
    }
}

impl Recorder {
    pub fn new(spec: Capture) -> Recorder {
        Recorder { spec, ring: None, file: None, packets: 0, ended: None }
    }

    fn begin(&mut self, cx: &mut Cx) -> Result<()> {
        cx.nodes.enter(&self.spec.node)?;
        let what = || format!("capturing at {} of node {}", self.spec.iface, self.spec.node);
        self.ring = Some(open_ring(cx, &self.spec).during(what)?);
        Ok(())
    }

    fn drain(&mut self) -> Result<()> {
        let (Some(ring), Some(file)) = (&mut self.ring, &mut self.file) else {
            return Ok(());
        };
        let packets = &mut self.packets;
        ring.drain(|wall_ns, data, len, outbound| {
            *packets += 1;
            pcapng::packet(file, wall_ns, data, len, outbound)
        })
        .during(|| format!("writing {}.pcapng", self.spec.id))
    }
}

impl Actor for Recorder {
    fn start(&mut self, cx: &mut Cx) -> Result<()> {
        let path = cx.places.raw.join(format!("{}.pcapng", self.spec.id));
        let what = || format!("creating {}", path.display());
        let mut file = BufWriter::with_capacity(1 << 18, File::create(&path).during(what)?);
        let name = format!("{}/{}", self.spec.node, self.spec.iface);
        pcapng::header(&mut file, &name, self.spec.snap_bytes).during(what)?;
        self.file = Some(file);
        match self.spec.start_ns > cx.reactor.now {
            true => cx.reactor.at(self.spec.start_ns, cx.token(BEGIN, 0)),
            false => self.begin(cx)?,
        }
        if let Some(stop_ns) = self.spec.stop_ns {
            cx.reactor.at(stop_ns, cx.token(END, 0));
        }
        Ok(())
    }

    fn event(&mut self, cx: &mut Cx, event: Event) -> Result<()> {
        match event {
            Event::Timer(t) if t.kind == BEGIN && self.ended.is_none() => self.begin(cx),
            Event::Timer(t) if t.kind == END => self.stop(cx),
            _ => self.drain(),
        }
    }

    fn stop(&mut self, cx: &mut Cx) -> Result<()> {
        if self.ended.replace(cx.reactor.now).is_some() {
            return Ok(());
        }
        let Some(ring) = &self.ring else { return Ok(()) };
        cx.reactor.unwatch(ring.fd.as_raw_fd());
        // Nothing more comes in (a bind to protocol 0 would change nothing); the half-filled block then
        // retires by its own timer.
        sys::keep_bytes(ring.fd.as_raw_fd(), 0).during(|| format!("ending capture {}", self.spec.id))?;
        Ok(())
    }

    fn progress(&self) -> Progress {
        self.ended.map_or(Progress::Running, |t_ns| Progress::Ended { t_ns })
    }

    fn finish(&mut self, cx: &mut Cx) -> Result<Option<Value>> {
        if self.ring.is_some() {
            sys::sleep_until(sys::mono_ns() + 2 * RETIRE_MS as i64 * 1_000_000);
        }
        self.drain()?;
        let dropped =
            self.ring.as_ref().map_or(Ok(0), Ring::dropped).during(|| "reading ring counters".into())?;
        self.ring = None;
        if let Some(file) = self.file.take() {
            file.into_inner()
                .map_err(|e| e.into_error())
                .during(|| format!("writing {}.pcapng", self.spec.id))?;
        }
        let counts = json!({"packets": self.packets, "dropped": dropped});
        cx.log.event(cx.reactor.now, "captured", Some(&self.spec.id), counts.clone());
        if dropped > 0 {
            return Err(RunError::new(
                Stage::Traffic,
                format!(
                    "the capture lost {dropped} packets: capture fewer bytes per packet or a shorter time"
                ),
            )
            .item(&self.spec.id)
            .node(&self.spec.node));
        }
        Ok(Some(counts))
    }
}
