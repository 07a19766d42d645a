/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What serves an interface's queue by turns (medium.c), and what sets it up and keeps what came of
 * each packet (medium_control.c).
 */
#ifndef __UM_MEDIUM_H
#define __UM_MEDIUM_H

#include <linux/build_bug.h>
#include <linux/hrtimer.h>
#include <linux/interrupt.h>
#include <linux/netdevice.h>
#include <linux/skbuff.h>

#define MEDIA_MAX  16
#define GRANTS_MAX 256

/* FLAGS of a medium */
#define BY_DEMAND 1
#define SPLITS	  2

/* flags of a turn */
#define TURN_LOST 1

struct turn {
	u64 wait_ns; /* fixed: since the turn before; by demand: since the air is free */
	u64 fails;   /* bit n: the n-th packet of this turn does not arrive */
	u32 bytes;
	u32 hold_ns; /* until what was sent arrives, beside its time on the air */
	u32 kbps;    /* by demand: how fast bytes pass the air */
	u16 packets; /* 0: any number */
	u16 flags;
};

static_assert(sizeof(struct turn) == 32);

enum outcome { ARRIVED = 1, LOST = 2, HELD = 3 };

struct held {
	u64 entered_ns, sent_ns, due_ns;
	u32 turn;
	u16 tries;
	bool fails;
};

static_assert(sizeof(struct held) <= sizeof_field(struct sk_buff, cb));

struct medium {
	struct net_device *dev;
	struct net_device_ops ops;
	netdev_tx_t (*pass)(struct sk_buff *skb, struct net_device *dev);
	unsigned int number, air, flags, retries, grant_turns, ring_limit;
	int overhead;
	struct turn *turns;
	u32 turn_count, turns_written;
	u64 repeat_ns;

	u64 start_ns, base_ns, offset_ns;
	u32 next;  /* turn of the schedule */
	u32 begun; /* turns since the start */
	const struct turn *coming;
	bool asks, has_air;

	/* the turn that is, or was last */
	const struct turn *turn;
	u64 at_ns, used_bytes;
	u32 number_of_turn, budget, packets_left, nth, closing;
	u32 head_sent; /* bytes of the ring's first packet */

	struct sk_buff_head ring;
	u64 ring_bytes;
	struct sk_buff_head sent; /* all that was sent and not delivered, in order */

	s64 granted;
	u32 grants[GRANTS_MAX];

	u64 entered_packets, entered_bytes, arrived_packets, arrived_bytes, lost_packets,
		lost_bytes;
	struct hrtimer turn_timer, due_timer;
	struct tasklet_struct close;
};

/* by their numbers; NULL where there is none */
extern struct medium *media[MEDIA_MAX];

static inline struct held *held(struct sk_buff *skb)
{
	return (void *)skb->cb;
}

u64 medium_now_ns(void);
void medium_attach(struct medium *m);
void medium_start(struct medium *m, u64 start_ns);
void medium_record(struct medium *m, struct sk_buff *skb, u64 left_ns, enum outcome outcome);

#endif
