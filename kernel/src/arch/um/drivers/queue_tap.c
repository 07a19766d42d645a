// SPDX-License-Identifier: GPL-2.0
/*
 * Queue tap: what every packet met in the queueing discipline of an interface.
 *
 * Why: the truth beside every measurement, from the kernel itself. For long fast runs it adds up
 * per interval and keeps drops and marks alone one by one.
 *
 * Probes on the kernel's own tracepoints (net_dev_queue, qdisc_dequeue,
 * qdisc_drop, net_dev_start_xmit, kfree_skb, consume_skb) write one record per
 * packet, when it leaves the queue one way or the other, straight to a file of
 * the host.
 * In the lean mode there are records of dropped and marked packets only, and
 * sums per interval of all of them.
 * No guest program takes part and no virtual time passes, so a run with the
 * tap and a run without it carry the same packets at the same times.
 *
 * It only looks: nothing in net/ knows of it, and of a packet it touches only
 * the end of its control block, which queueing disciplines and actions leave
 * alone (BPF classifiers do not: this kernel has none).
 * It does not follow packets that a qdisc replaces (segmentation of GSO
 * packets, netem's duplicates): have segmentation off on tapped paths.
 *
 * Control: write "add IFACE HOP [INTERVAL_NS]" (with an interval: lean) or
 * "flush" to /proc/queue_tap, from a process in the network namespace of the
 * interface. Reading gives a line per hop:
 * hop, then packets and bytes arrived, departed, dropped, then packets marked,
 * then packets and bytes still queued, then the host's error code (0: none).
 */

#include <linux/if_vlan.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/netdevice.h>
#include <linux/nsproxy.h>
#include <linux/prefetch.h>
#include <linux/slab.h>
#include <linux/timekeeping.h>
#include <net/dsfield.h>
#include <net/inet_ecn.h>
#include <net/net_namespace.h>
#include <net/pkt_sched.h>
#include <trace/events/net.h>
#include <trace/events/qdisc.h>
#include <trace/events/skb.h>
#include <init.h>
#include "queue_tap.h"
#include "queue_tap_records.h"
#include "tap_file.h"

#define TAPS_MAX       64
#define BUFFER_RECORDS 16384
#define CHUNK_BITS     9
#define CHUNKS_MAX     8192

/* a packet between its arrival and its end; half a cache line */
struct slot {
	struct sk_buff *skb; /* NULL: free, the next free one's number is in flow */
	u64 arrival_ns;
	u32 flow, bytes, backlog_bytes, backlog_packets;
};

/* the end of a queued packet's control block */
struct mark {
	u32 slot; /* 0: none */
	u8 tap, tos;
};

static_assert(sizeof(struct slot) == 32);
static_assert(sizeof(struct tc_skb_cb) + sizeof(struct mark) <= sizeof_field(struct sk_buff, cb));

/* what is summed up in the lean mode */
struct interval {
	u64 length_ns, start_ns, end_ns, last_ns;
	u64 byte_ns, packet_ns, sojourn_sum_ns, sojourn_max_ns;
	u32 arrived_packets, arrived_bytes, departed_packets, departed_bytes;
	u32 dropped_packets, dropped_bytes, marked_packets;
	u32 bytes_min, bytes_max, packets_min, packets_max;
};

struct tap {
	struct net_device *dev;
	u8 hop;
	bool lean;
	u64 arrived_packets, arrived_bytes;
	u64 departed_packets, departed_bytes;
	u64 dropped_packets, dropped_bytes;
	u64 marked_packets, queued_packets, queued_bytes;
	struct interval in;
};

static struct tap_file file = TAP_FILE(RECORD_BYTES, BUFFER_RECORDS);
static struct tap taps[TAPS_MAX];
static unsigned int tap_count;
static struct slot *chunks[CHUNKS_MAX];
static u32 slot_count, free_slot;

static void *new_record(void)
{
	return tap_file_record(&file);
}

static struct tap *tap_of(const struct net_device *dev)
{
	unsigned int i;

	for (i = 0; i < tap_count; i++)
		if (taps[i].dev == dev)
			return &taps[i];
	return NULL;
}

static u8 tos_of(const struct sk_buff *skb)
{
	switch (skb_protocol(skb, true)) {
	case htons(ETH_P_IP):
		return ip_hdr(skb)->tos;
	case htons(ETH_P_IPV6):
		return ipv6_get_dsfield(ipv6_hdr(skb));
	}
	return 0;
}

static void backlog_of(const struct net_device *dev, u32 *bytes, u32 *count)
{
	struct Qdisc *q = rcu_dereference_raw(netdev_get_tx_queue(dev, 0)->qdisc);
	__u32 qlen = 0, backlog = 0;

	if (q)
		qdisc_qstats_qlen_backlog(q, &qlen, &backlog);
	*bytes = backlog;
	*count = qlen;
}

static struct mark *mark_of(struct sk_buff *skb)
{
	return (void *)&skb->cb[sizeof(skb->cb) - sizeof(struct mark)];
}

static struct slot *slot_at(u32 number)
{
	return &chunks[number >> CHUNK_BITS][number & ((1 << CHUNK_BITS) - 1)];
}

/*
 * The one freed last comes first: what is in use stays small, and in the order of a FIFO's
 * packets.
 */
static u32 take_slot(void)
{
	u32 number = free_slot, i;

	if (unlikely(!number)) {
		u32 chunk = slot_count >> CHUNK_BITS;

		if (chunk < CHUNKS_MAX)
			chunks[chunk] = kcalloc(1 << CHUNK_BITS, sizeof(struct slot), GFP_ATOMIC);
		if (chunk == CHUNKS_MAX || !chunks[chunk])
			return 0;
		slot_count += 1 << CHUNK_BITS;
		/* number 0 stands for none */
		number = max(chunk << CHUNK_BITS, 1U);
		for (i = number; i < slot_count - 1; i++)
			slot_at(i)->flow = i + 1;
	}
	free_slot = slot_at(number)->flow;
	return number;
}

static void give_slot(u32 number, struct slot *slot)
{
	slot->skb = NULL;
	slot->flow = free_slot;
	free_slot = number;
}

/*
 * What is in the control block of a packet that never was queued here may be anything: the slot
 * knows.
 */
static struct slot *find(struct sk_buff *skb)
{
	u32 number = mark_of(skb)->slot;
	struct slot *slot;

	if (!number || number >= slot_count)
		return NULL;
	slot = slot_at(number);
	return slot->skb == skb ? slot : NULL;
}

/* For skb_prefetch.c; what is read may belong to a packet that has long gone. */
void queue_tap_prefetch(struct sk_buff *skb)
{
	u32 number = mark_of(skb)->slot;

	if (number && number < slot_count)
		prefetchw(slot_at(number));
}

static void clear_interval(struct tap *tap, u64 start_ns)
{
	u64 length_ns = tap->in.length_ns;

	tap->in = (struct interval){
		.length_ns = length_ns,
		.start_ns = start_ns,
		.end_ns = start_ns + length_ns,
		.last_ns = start_ns,
		.bytes_min = tap->queued_bytes,
		.bytes_max = tap->queued_bytes,
		.packets_min = tap->queued_packets,
		.packets_max = tap->queued_packets,
	};
}

/* Adds the time since the last change, during which nothing changed. */
static void pass_time(struct tap *tap, u64 now)
{
	u64 span_ns = now - tap->in.last_ns;

	tap->in.byte_ns += tap->queued_bytes * span_ns;
	tap->in.packet_ns += tap->queued_packets * span_ns;
	tap->in.last_ns = now;
}

static void write_interval(struct tap *tap)
{
	struct interval *in = &tap->in;
	u64 length_ns = max(in->last_ns - in->start_ns, 1ULL);
	struct traffic_record *r;
	struct levels_record *l;

	if (!in->arrived_packets && !in->packets_max)
		return;
	r = new_record();
	r->type = RECORD_TRAFFIC;
	r->hop = tap->hop;
	r->start_ns = cpu_to_le64(in->start_ns);
	r->arrived_packets = cpu_to_le32(in->arrived_packets);
	r->arrived_bytes = cpu_to_le32(in->arrived_bytes);
	r->departed_packets = cpu_to_le32(in->departed_packets);
	r->departed_bytes = cpu_to_le32(in->departed_bytes);
	r->dropped_packets = cpu_to_le32(in->dropped_packets);
	r->dropped_bytes = cpu_to_le32(in->dropped_bytes);
	r->marked_packets = cpu_to_le32(in->marked_packets);
	r->sojourn_sum_ns = cpu_to_le64(in->sojourn_sum_ns);

	l = new_record();
	l->type = RECORD_LEVELS;
	l->hop = tap->hop;
	l->start_ns = cpu_to_le64(in->start_ns);
	l->bytes_min = cpu_to_le32(in->bytes_min);
	l->bytes_mean = cpu_to_le32(div64_u64(in->byte_ns, length_ns));
	l->bytes_max = cpu_to_le32(in->bytes_max);
	l->packets_min = cpu_to_le32(in->packets_min);
	l->packets_mean_x1000 = cpu_to_le32(div64_u64(in->packet_ns * 1000, length_ns));
	l->packets_max = cpu_to_le32(in->packets_max);
	l->sojourn_max_ns = cpu_to_le64(in->sojourn_max_ns);
}

/* Ends the interval, and those since in which a queue stood still. */
static noinline void next_interval(struct tap *tap, u64 now)
{
	do {
		pass_time(tap, tap->in.end_ns);
		write_interval(tap);
		clear_interval(tap, tap->in.end_ns);
	} while (now >= tap->in.end_ns && tap->queued_packets);
	if (now >= tap->in.end_ns)
		clear_interval(tap, now - now % tap->in.length_ns);
}

static inline void at(struct tap *tap, u64 now)
{
	if (unlikely(now >= tap->in.end_ns))
		next_interval(tap, now);
	pass_time(tap, now);
}

static void write_packet(const struct tap *tap, const struct slot *slot, u64 now, u8 outcome,
			 u8 tos_in, u8 tos, u16 reason)
{
	struct packet_record *r = new_record();
	u32 backlog_bytes = tap->queued_bytes, backlog_packets = tap->queued_packets;

	if (!tap->lean)
		backlog_of(tap->dev, &backlog_bytes, &backlog_packets);
	r->type = RECORD_PACKET;
	r->hop = tap->hop;
	r->bytes = cpu_to_le16(min_t(u32, slot->bytes, U16_MAX));
	r->flow = cpu_to_le32(slot->flow);
	r->arrival_ns = cpu_to_le64(slot->arrival_ns);
	r->sojourn_ns = cpu_to_le64(now - slot->arrival_ns);
	r->backlog_bytes = cpu_to_le32(slot->backlog_bytes);
	r->backlog_packets = cpu_to_le32(slot->backlog_packets);
	r->backlog_bytes_after = cpu_to_le32(backlog_bytes);
	r->backlog_packets_after = cpu_to_le32(backlog_packets);
	r->reason = cpu_to_le16(reason);
	r->outcome = outcome;
	r->tos_in = tos_in;
	r->tos_out = tos;
}

/* Interrupts are off in all that follows: a clock read then takes no virtual time. */

static void arrived(struct sk_buff *skb, struct tap *tap)
{
	/* as tc counts: a super-packet's with the headers of all its segments */
	u32 bytes = qdisc_pkt_len(skb);
	struct mark *mark = mark_of(skb);
	unsigned long flags;
	struct slot *slot;
	u32 number;

	local_irq_save(flags);
	number = take_slot();
	if (unlikely(!number)) {
		file.error = -ENOMEM;
		goto out;
	}
	slot = slot_at(number);
	mark->slot = number;
	mark->tap = tap - taps;
	mark->tos = tos_of(skb);
	slot->skb = skb;
	slot->arrival_ns = ktime_get_ns();
	slot->bytes = bytes;
	if (tap->lean) {
		at(tap, slot->arrival_ns);
		slot->backlog_bytes = tap->queued_bytes;
		slot->backlog_packets = tap->queued_packets;
		tap->in.bytes_max = max(tap->in.bytes_max, slot->backlog_bytes);
		tap->in.packets_max = max(tap->in.packets_max, slot->backlog_packets);
		tap->in.arrived_packets++;
		tap->in.arrived_bytes += bytes;
	} else {
		slot->flow = queue_tap_flow(skb, tap->hop, &file);
		backlog_of(tap->dev, &slot->backlog_bytes, &slot->backlog_packets);
	}
	tap->arrived_packets++;
	tap->arrived_bytes += bytes;
	tap->queued_packets++;
	tap->queued_bytes += bytes;
out:
	local_irq_restore(flags);
}

static void left_lean(struct tap *tap, struct slot *slot, u64 now, u8 outcome, bool is_marked)
{
	struct interval *in = &tap->in;
	u64 sojourn_ns = now - slot->arrival_ns;

	in->bytes_min = min_t(u32, in->bytes_min, tap->queued_bytes);
	in->packets_min = min_t(u32, in->packets_min, tap->queued_packets);
	if (outcome == OUT_DEPARTED) {
		in->departed_packets++;
		in->departed_bytes += slot->bytes;
		in->marked_packets += is_marked;
		in->sojourn_sum_ns += sojourn_ns;
		in->sojourn_max_ns = max(in->sojourn_max_ns, sojourn_ns);
	} else {
		in->dropped_packets++;
		in->dropped_bytes += slot->bytes;
	}
}

static void left(struct sk_buff *skb, u8 outcome, u16 reason)
{
	struct mark mark = *mark_of(skb);
	bool is_marked = false;
	unsigned long flags;
	struct slot *slot;
	struct tap *tap;
	u64 now;
	u8 tos;

	local_irq_save(flags);
	slot = find(skb);
	if (!slot)
		goto out;
	tap = &taps[mark.tap];
	now = ktime_get_ns();
	if (tap->lean)
		at(tap, now);
	tap->queued_packets--;
	tap->queued_bytes -= slot->bytes;
	tos = tos_of(skb);
	if (outcome == OUT_DEPARTED) {
		/* with a size table it is not what arrived */
		slot->bytes = qdisc_pkt_len(skb);
		tap->departed_packets++;
		tap->departed_bytes += slot->bytes;
		is_marked = INET_ECN_is_ce(tos) && !INET_ECN_is_ce(mark.tos);
		tap->marked_packets += is_marked;
	} else {
		tap->dropped_packets++;
		tap->dropped_bytes += slot->bytes;
	}
	if (tap->lean)
		left_lean(tap, slot, now, outcome, is_marked);
	if (!tap->lean || outcome != OUT_DEPARTED || is_marked) {
		if (tap->lean)
			slot->flow = queue_tap_flow(skb, tap->hop, &file);
		write_packet(tap, slot, now, outcome, mark.tos, tos, reason);
	}
	give_slot(mark.slot, slot);
out:
	local_irq_restore(flags);
}

static void on_net_dev_queue(void *data, struct sk_buff *skb)
{
	struct tap *tap = tap_of(skb->dev);

	if (unlikely(tap))
		arrived(skb, tap);
}

static void on_qdisc_dequeue(void *data, struct Qdisc *q, const struct netdev_queue *txq, int count,
			     struct sk_buff *skb)
{
	if (!skb || likely(!tap_of(txq->dev)))
		return;
	/* more than one: a bulk dequeue hands over a list */
	for (; skb && count > 0; skb = skb->next, count--)
		left(skb, OUT_DEPARTED, 0);
}

/*
 * an empty work-conserving qdisc is passed by; then nothing was dequeued before the driver sees
 * the packet
 */
static void on_net_dev_start_xmit(void *data, const struct sk_buff *skb,
				  const struct net_device *dev)
{
	if (unlikely(tap_of(dev)))
		left((struct sk_buff *)skb, OUT_DEPARTED, 0);
}

static void on_qdisc_drop(void *data, struct Qdisc *q, const struct netdev_queue *txq,
			  struct net_device *dev, struct sk_buff *skb,
			  enum qdisc_drop_reason reason)
{
	left(skb, OUT_DROPPED, reason);
}

static void on_kfree_skb(void *data, struct sk_buff *skb, void *location,
			 enum skb_drop_reason reason, const struct sock *sk)
{
	left(skb, OUT_DROPPED, REASON_OF_SKB | reason);
}

/* a super-packet is consumed when its segments are queued in its place, which is no drop */
static void on_consume_skb(void *data, struct sk_buff *skb, void *location)
{
	if (!skb_is_gso(skb))
		left(skb, OUT_DROPPED, REASON_CONSUMED);
}

static int tap_start(void)
{
	int err;

	if (file.fd >= 0)
		return 0;
	err = tap_file_open(&file);
	if (err)
		return err;
	/* clang-format off: it takes each ?: for two operators */
	return register_trace_net_dev_queue(on_net_dev_queue, NULL)		      ?:
		       register_trace_qdisc_dequeue(on_qdisc_dequeue, NULL)	      ?:
		       register_trace_qdisc_drop(on_qdisc_drop, NULL)		      ?:
		       register_trace_net_dev_start_xmit(on_net_dev_start_xmit, NULL) ?:
		       register_trace_kfree_skb(on_kfree_skb, NULL)		      ?:
		       register_trace_consume_skb(on_consume_skb, NULL);
	/* clang-format on */
}

static int tap_add(const char *name, unsigned int hop, u64 interval_ns)
{
	struct net_device *dev;
	int err;

	if (tap_count == TAPS_MAX)
		return -ENOSPC;
	err = tap_start();
	if (err)
		return err;
	/* held for good: a guest lives for one run */
	dev = dev_get_by_name(current->nsproxy->net_ns, name);
	if (!dev)
		return -ENODEV;
	if (tap_of(dev))
		return -EEXIST;
	taps[tap_count].dev = dev;
	taps[tap_count].hop = hop;
	if (interval_ns) {
		unsigned long flags;
		u64 now;

		local_irq_save(flags);
		now = ktime_get_ns();
		local_irq_restore(flags);
		taps[tap_count].lean = true;
		taps[tap_count].in.length_ns = interval_ns;
		clear_interval(&taps[tap_count], now - now % interval_ns);
	}
	tap_count++;
	return 0;
}

/* the packets still queued, in no order: readers sort; and the interval that has not ended */
static void tap_flush(void)
{
	struct slot *slot;
	unsigned long flags;
	struct mark *mark;
	struct tap *tap;
	u64 now;
	u32 i;

	if (file.fd < 0)
		return;
	local_irq_save(flags);
	now = ktime_get_ns();
	for (tap = taps; tap < taps + tap_count; tap++) {
		if (tap->lean) {
			at(tap, now);
			write_interval(tap);
			clear_interval(tap, tap->in.start_ns);
			tap->in.last_ns = now;
		}
	}
	for (i = 1; i < slot_count; i++) {
		slot = slot_at(i);
		if (!slot->skb)
			continue;
		mark = mark_of(slot->skb);
		tap = &taps[mark->tap];
		if (tap->lean)
			slot->flow = queue_tap_flow(slot->skb, tap->hop, &file);
		write_packet(tap, slot, now, OUT_QUEUED, mark->tos, mark->tos, 0);
	}
	tap_file_write_out(&file);
	local_irq_restore(flags);
}

static int tap_command(const char *line)
{
	char name[IFNAMSIZ];
	u64 interval_ns = 0;
	unsigned int hop;

	if (sscanf(line, "add %15s %u %llu", name, &hop, &interval_ns) >= 2 && hop <= U8_MAX &&
	    interval_ns <= NSEC_PER_SEC)
		return tap_add(name, hop, interval_ns);
	if (strncmp(line, "flush", 5))
		return -EINVAL;
	tap_flush();
	return 0;
}

static int tap_show(struct seq_file *m, void *v)
{
	struct tap *t;

	for (t = taps; t < taps + tap_count; t++)
		seq_printf(m, "%u %llu %llu %llu %llu %llu %llu %llu %llu %llu %d\n", t->hop,
			   t->arrived_packets, t->arrived_bytes, t->departed_packets,
			   t->departed_bytes, t->dropped_packets, t->dropped_bytes,
			   t->marked_packets, t->queued_packets, t->queued_bytes, -file.error);
	return 0;
}

static struct tap_proc proc = { .show = tap_show, .command = tap_command };

static int __init tap_init(void)
{
	return tap_proc_create("queue_tap", &proc);
}
late_initcall(tap_init);
TAP_PATH("queue-tap=", "    The host's file that the queue tap writes to, see\n"
		       "    arch/um/drivers/queue_tap.c.\n\n");
