// SPDX-License-Identifier: GPL-2.0
/*
 * Prefetch of what paced flows will send, see skb_prefetch.c.
 *
 * Why: a paced flow sends when its timer expires, not when an acknowledgement comes,
 * so no queue tells whose turn is next. It reads and prefetches only.
 */
#include <linux/hrtimer.h>
#include <linux/init.h>
#include <trace/events/timer.h>
#include "prefetch.h"

/* Timers ahead, and how many must have expired since a flow was met for each step. */
#define PACED	   24 /* of paced flows */
#define PACED_ROOT 3
#define PACED_HEAD 6
#define STRANGERS  8 /* in a row that were not met before they expired: begin anew */

/*
 * A flow whose timer is among the next ones, and where its tree is being walked down to the newest
 * packet.
 */
struct paced {
	struct sock *sk;
	struct sk_buff *sent; /* the packet that it will send */
	struct rb_node *right;
	unsigned int age; /* timers of other paced flows that have expired since it was met */
};

/* In the order in which their timers will expire. */
static struct {
	struct paced flows[32];
	unsigned int in, out;
	unsigned int strangers;
	const struct hrtimer_clock_base *base;
	struct hrtimer *last; /* the farthest timer looked at, a paced flow's or not */
	ktime_t expires;      /* when it did then */
} paced;

/* so many are looked for ahead, and one overwrites no other */
static_assert(PACED <= ARRAY_SIZE(paced.flows));

/* With the rest of its timer. */
static __always_inline void fetch_paced(const struct sock *sk)
{
	fetch_socket(sk, true);
	line(sk, 30);
}

/*
 * The timers that are next lie in a list, among those of receivers that hold back SACKs. What a
 * flow sends goes to the right of its tree, which TCP walks down each time. Each timer that
 * expires brings those that follow a step nearer. One that is set in between them is left out.
 */
static bool is_paced(const struct hrtimer *timer)
{
	return ACCESS_PRIVATE(timer, function) == tcp_pace_kick;
}

static struct sock *paced_sock(struct hrtimer *timer)
{
	return (struct sock *)container_of(timer, struct tcp_sock, pacing_timer);
}

static __always_inline struct paced *paced_at(unsigned int number)
{
	return &paced.flows[number % ARRAY_SIZE(paced.flows)];
}

static void paced_anew(void)
{
	paced.out = paced.in;
	paced.strangers = 0;
	paced.last = NULL;
}

/* Its timer expires; those that should have expired before it have been cancelled. */
static void paced_gone(const struct sock *sk)
{
	unsigned int i;

	for (i = paced.out; i != paced.in; i++) {
		if (paced_at(i)->sk == sk) {
			paced.out = i + 1;
			paced.strangers = 0;
			return;
		}
	}
	if (++paced.strangers == STRANGERS)
		paced_anew();
}

static void paced_step(struct paced *flow)
{
	flow->age++;
	if (flow->age == PACED_ROOT) {
		flow->sent = waits_after(flow->sk, (void *)&flow->sk->sk_write_queue);
		flow->right = flow->sk->tcp_rtx_queue.rb_node;
		fetch_pair(flow->sent);
		fetch(flow->right);
		fetch(flow->sk->sk_socket);
		fetch(tcp_sk(flow->sk)->retransmit_skb_hint);
		return;
	}
	if (flow->age == PACED_HEAD && flow->sent && virt_addr_valid(flow->sent->head)) {
		line(skb_shinfo(flow->sent), 0);
		line(skb_shinfo(flow->sent), 1);
		fetch(flow->sent->next);
	}
	if (!flow->right || !is_there(flow->right))
		return;
	flow->right = flow->right->rb_right;
	fetch(flow->right);
}

/* What is read of a timer that is next. */
static __always_inline void fetch_timer(struct timerqueue_linked_node *node)
{
	if (node)
		fetch(&ACCESS_PRIVATE(container_of(node, struct hrtimer, node), function));
}

/* One timer farther, which was asked for before, or two where few are known. */
static void paced_ahead(const struct hrtimer_clock_base *base)
{
	unsigned int i, steps = paced.in - paced.out < PACED / 2 ? 2 : 1;
	struct timerqueue_linked_node *node;

	for (i = 0; i < steps && paced.in - paced.out < PACED; i++) {
		if (paced.last && is_there(paced.last) && hrtimer_is_queued(paced.last) &&
		    paced.last->node.expires == paced.expires) {
			node = timerqueue_linked_next(&paced.last->node);
		} else {
			paced_anew();
			node = timerqueue_linked_first(&base->active);
		}
		if (!node)
			return;
		fetch_timer(timerqueue_linked_next(node));
		paced.last = container_of(node, struct hrtimer, node);
		paced.expires = node->expires;
		if (is_paced(paced.last)) {
			*paced_at(paced.in++) = (struct paced){ .sk = paced_sock(paced.last) };
			fetch_paced(paced_sock(paced.last));
		}
	}
}

static void on_expire(void *unused, struct hrtimer *timer, ktime_t now)
{
	unsigned int i;

	if (is_paced(timer)) {
		paced.base = timer->base;
		paced_gone(paced_sock(timer));
		for (i = paced.out; i != paced.in; i++)
			paced_step(paced_at(i));
	} else if (timer->base != paced.base) {
		return;
	}
	paced_ahead(timer->base);
}

static int __init prefetch_paced_init(void)
{
	return skb_prefetch_on ? register_trace_hrtimer_expire_entry(on_expire, NULL) : 0;
}
late_initcall(prefetch_paced_init);
