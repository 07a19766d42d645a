// SPDX-License-Identifier: GPL-2.0
/*
 * Medium: what is below an interface's queue serves it by a schedule of transmit opportunities.
 *
 * Why: radio and shared cables do not send at a rate. They have turns: so many bytes or packets at
 * a time, some of which are sent again or lost, while whoever waits holds back a queue. Linux has
 * no such device for a guest (mac80211_hwsim has no time on the air).
 *
 * An interface (veth) keeps its name, its queueing discipline and its peer. Between both, packets
 * wait in a ring of few bytes, as in a network card under byte queue limits, and leave when a turn
 * lets them. The schedule decides everything and is drawn before the run; here is no randomness.
 *
 *	fixed turns	at times since the start: what is not used is lost
 *	turns by demand	a time after the air is free and something waits. What is sent takes its
 *			time on the air, which several interfaces may share.
 *	grants		of fixed turns: a turn carries what the queue had asked for some turns ago
 *
 * A packet that the schedule lets fail is sent again first in the next turn. Whatever was sent
 * after it waits at the receiver, which gets all packets in order.
 *
 * How it is set up, and what is kept of each packet: medium_control.c.
 *
 * User-Mode Linux here has one processor and does not preempt, and all of this runs with softirqs
 * off: nothing is locked.
 */

#include <linux/hrtimer.h>
#include <linux/interrupt.h>
#include <linux/kernel.h>
#include <linux/ktime.h>
#include <linux/netdevice.h>
#include <linux/skbuff.h>
#include <linux/version.h>
#include <net/pkt_sched.h>
#include <net/sch_generic.h>
#include "medium.h"

#define CLOSING_ROUNDS 64
#define FAILS_BITS     64
#define NOT_YET	       U64_MAX

static u64 air_free_ns[MEDIA_MAX];

u64 medium_now_ns(void)
{
	unsigned long flags;
	u64 now;

	/* with interrupts off a clock read takes no virtual time */
	local_irq_save(flags);
	now = ktime_get_ns();
	local_irq_restore(flags);
	return now;
}

static u32 counted(const struct medium *m, const struct sk_buff *skb)
{
	return max_t(int, skb->len + m->overhead, 1);
}

/* Delivers what is due, in order, and sets the timer for what comes next. */
static void deliver(struct medium *m)
{
	struct sk_buff *skb;
	u64 now = medium_now_ns();

	while ((skb = skb_peek(&m->sent))) {
		if (held(skb)->fails || held(skb)->due_ns == NOT_YET)
			return;
		if (held(skb)->due_ns > now) {
			hrtimer_start(&m->due_timer, ns_to_ktime(held(skb)->due_ns),
				      HRTIMER_MODE_ABS_SOFT);
			return;
		}
		__skb_unlink(skb, &m->sent);
		medium_record(m, skb, now, ARRIVED);
		m->arrived_packets++;
		m->arrived_bytes += skb->len;
		m->pass(skb, m->dev);
	}
}

static void lose(struct medium *m, struct sk_buff *skb)
{
	medium_record(m, skb, medium_now_ns(), LOST);
	m->lost_packets++;
	m->lost_bytes += skb->len;
	kfree_skb(skb);
}

/*
 * A whole packet has been sent, and is in `sent`. Whether it arrives is what the turn says of its
 * place in it.
 */
static void was_sent(struct medium *m, struct sk_buff *skb)
{
	const struct turn *turn = m->turn;
	struct held *h = held(skb);
	bool fails = m->nth < FAILS_BITS && (turn->fails >> m->nth & 1);

	m->nth++;
	m->packets_left--;
	h->sent_ns = m->at_ns;
	h->turn = m->number_of_turn;
	h->tries++;
	h->due_ns = m->flags & BY_DEMAND ? NOT_YET : m->at_ns + turn->hold_ns;
	h->fails = fails;
	if (turn->flags & TURN_LOST || (fails && h->tries > m->retries)) {
		__skb_unlink(skb, &m->sent);
		lose(m, skb);
	}
}

/* Takes what a packet needs from the turn; whether it has all now. */
static bool take(struct medium *m, struct sk_buff *skb, u32 *part)
{
	u32 left = counted(m, skb) - *part, amount = min(left, m->budget);

	if (!m->budget || !m->packets_left || (amount < left && !(m->flags & SPLITS)))
		return false;
	m->budget -= amount;
	m->used_bytes += amount;
	if (amount < left) {
		*part += amount;
		return false;
	}
	*part = 0;
	return true;
}

static void serve(struct medium *m)
{
	struct sk_buff *skb;

	while ((skb = skb_peek(&m->ring)) && take(m, skb, &m->head_sent)) {
		__skb_unlink(skb, &m->ring);
		m->ring_bytes -= skb->len;
		__skb_queue_tail(&m->sent, skb);
		was_sent(m, skb);
	}
	if (m->ring_bytes < m->ring_limit && netif_queue_stopped(m->dev))
		netif_wake_queue(m->dev);
}

/* What failed comes first, and whole. */
static void serve_again(struct medium *m)
{
	struct sk_buff *skb, *following;
	u32 part = 0;

	skb_queue_walk_safe(&m->sent, skb, following)
	{
		if (!held(skb)->fails)
			continue;
		if (!take(m, skb, &part)) {
			/* with part of a packet nothing is won */
			if (part)
				m->budget = 0;
			return;
		}
		was_sent(m, skb);
	}
}

static bool wants(struct medium *m)
{
	struct sk_buff *skb;

	if (!skb_queue_empty(&m->ring))
		return true;
	skb_queue_walk(&m->sent, skb) if (held(skb)->fails) return true;
	return false;
}

static const struct turn *next_turn(struct medium *m)
{
	const struct turn *turn;

	if (m->next == m->turn_count) {
		if (!m->repeat_ns)
			return NULL;
		m->next = 0;
		m->base_ns += m->repeat_ns;
		m->offset_ns = 0;
	}
	turn = &m->turns[m->next++];
	m->offset_ns += turn->wait_ns;
	return turn;
}

static void set_turn(struct medium *m, u64 at_ns)
{
	hrtimer_start(&m->turn_timer, ns_to_ktime(at_ns), HRTIMER_MODE_ABS_SOFT);
}

/* Fixed turns: the next one's time. Nothing is sent after the last. */
static void set_next(struct medium *m)
{
	m->coming = next_turn(m);
	if (m->coming)
		set_turn(m, m->base_ns + m->offset_ns);
}

/* By demand: asks for the air, if that was not done, nor is it being taken in this instant. */
static void ask(struct medium *m, u64 now)
{
	if (m->asks || air_free_ns[m->air] == NOT_YET)
		return;
	m->coming = next_turn(m);
	if (!m->coming)
		return;
	m->asks = true;
	set_turn(m, max(now, air_free_ns[m->air]) + m->coming->wait_ns);
}

/* What is queued above and here, as the medium counts bytes. */
static s64 queued_bytes(struct medium *m)
{
	struct Qdisc *q = rcu_dereference_raw(netdev_get_tx_queue(m->dev, 0)->qdisc);
	__u32 qlen = 0, backlog = 0;

	if (q)
		qdisc_qstats_qlen_backlog(q, &qlen, &backlog);
	return (s64)backlog + m->ring_bytes - m->head_sent +
	       (s64)m->overhead * (qlen + skb_queue_len(&m->ring));
}

/* A request for all that is queued and was not asked for yet, and what an earlier one brings now. */
static void grant(struct medium *m)
{
	u32 slot = m->number_of_turn % m->grant_turns;
	u32 given = m->grants[slot], over = 0;
	s64 asked;

	if (given > m->budget) {
		over = given - m->budget;
		given = m->budget;
	}
	m->budget = given;
	m->granted -= given;
	asked = max_t(s64, queued_bytes(m) - given - m->granted, 0);
	m->grants[slot] = min_t(s64, asked, U32_MAX);
	m->granted += m->grants[slot];
	/* what the turn has no room for comes in the next one */
	m->grants[(slot + 1) % m->grant_turns] += over;
}

static void begin_turn(struct medium *m)
{
	m->turn = m->coming;
	m->at_ns = medium_now_ns();
	m->number_of_turn = m->begun++;
	m->budget = m->turn->bytes;
	m->packets_left = m->turn->packets ?: U32_MAX;
	m->nth = 0;
	m->used_bytes = 0;
	if (m->grant_turns)
		grant(m);
	serve_again(m);
	/* what the queue gives in this same instant is served too, as it comes */
	serve(m);
}

static enum hrtimer_restart turn_due(struct hrtimer *timer)
{
	struct medium *m = container_of(timer, struct medium, turn_timer);
	u64 now = medium_now_ns();

	if (!(m->flags & BY_DEMAND)) {
		begin_turn(m);
		deliver(m);
		set_next(m);
		return HRTIMER_NORESTART;
	}
	m->asks = false;
	if (air_free_ns[m->air] > now) {
		/* somebody was before us: this turn is over, and we ask again */
		m->begun++;
		ask(m, now);
		return HRTIMER_NORESTART;
	}
	air_free_ns[m->air] = NOT_YET;
	m->has_air = true;
	m->closing = 0;
	begin_turn(m);
	tasklet_schedule(&m->close);
	return HRTIMER_NORESTART;
}

static enum hrtimer_restart packets_due(struct hrtimer *timer)
{
	deliver(container_of(timer, struct medium, due_timer));
	return HRTIMER_NORESTART;
}

/* By demand, once the queue has given what it has: now it is known how long the air is taken. */
static void close_turn(struct tasklet_struct *tasklet)
{
	struct medium *m = container_of(tasklet, struct medium, close);
	struct Qdisc *q = rcu_dereference_raw(netdev_get_tx_queue(m->dev, 0)->qdisc);
	struct sk_buff *skb;
	unsigned int i;
	u64 end_ns;

	/* a queue gives so many packets, then others their turn */
	if (q && qdisc_qlen_sum(q) && m->budget && m->packets_left &&
	    !netif_queue_stopped(m->dev) && m->closing++ < CLOSING_ROUNDS) {
		tasklet_schedule(&m->close);
		return;
	}
	m->has_air = false;
	end_ns = m->at_ns + m->turn->hold_ns;
	if (m->turn->kbps)
		end_ns += div_u64(m->used_bytes * 8 * USEC_PER_SEC, m->turn->kbps);
	skb_queue_walk(&m->sent, skb) if (held(skb)->due_ns == NOT_YET) held(skb)->due_ns = end_ns;
	air_free_ns[m->air] = end_ns;
	deliver(m);
	for (i = 0; i < MEDIA_MAX; i++)
		if (media[i] && media[i]->flags & BY_DEMAND && media[i]->air == m->air &&
		    wants(media[i]))
			ask(media[i], end_ns);
}

static netdev_tx_t medium_xmit(struct sk_buff *skb, struct net_device *dev)
{
	/* the copy of the operations that the device was given */
	struct medium *m = container_of(dev->netdev_ops, struct medium, ops);
	u64 now = medium_now_ns();

	if (!m->start_ns || now < m->start_ns)
		return m->pass(skb, dev);
	memset(held(skb), 0, sizeof(struct held));
	held(skb)->entered_ns = now;
	m->entered_packets++;
	m->entered_bytes += skb->len;
	m->ring_bytes += skb->len;
	__skb_queue_tail(&m->ring, skb);
	if (now == m->at_ns && (m->has_air || !(m->flags & BY_DEMAND))) {
		serve(m);
		deliver(m);
	}
	if (m->ring_bytes >= m->ring_limit)
		netif_stop_queue(dev);
	if (m->flags & BY_DEMAND && !skb_queue_empty(&m->ring))
		ask(m, now);
	return NETDEV_TX_OK;
}

static void medium_timer(struct hrtimer *timer, enum hrtimer_restart (*due)(struct hrtimer *timer))
{
#if LINUX_VERSION_CODE < 0x060f00 /* 6.15 */
	hrtimer_init(timer, CLOCK_MONOTONIC, HRTIMER_MODE_ABS_SOFT);
	timer->function = due;
#else
	hrtimer_setup(timer, due, CLOCK_MONOTONIC, HRTIMER_MODE_ABS_SOFT);
#endif
}

/* Puts itself between an interface's queue and the interface. */
void medium_attach(struct medium *m)
{
	__skb_queue_head_init(&m->ring);
	__skb_queue_head_init(&m->sent);
	medium_timer(&m->turn_timer, turn_due);
	medium_timer(&m->due_timer, packets_due);
	tasklet_setup(&m->close, close_turn);
	m->ops = *m->dev->netdev_ops;
	m->pass = m->ops.ndo_start_xmit;
	m->ops.ndo_start_xmit = medium_xmit;
	local_bh_disable();
	m->dev->netdev_ops = &m->ops;
	local_bh_enable();
}

void medium_start(struct medium *m, u64 start_ns)
{
	m->start_ns = start_ns;
	m->base_ns = start_ns;
	if (!(m->flags & BY_DEMAND))
		set_next(m);
}
