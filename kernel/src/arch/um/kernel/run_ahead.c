// SPDX-License-Identifier: GPL-2.0
/*
 * Run ahead: many events of one kind in a row, each at its own time.
 *
 * Why: with thousands of flows through one bottleneck two things happen in turn, a
 * microsecond apart: a path's delay ends (an acknowledgement reaches its sender, which
 * sends), and the bottleneck sends (to a receiver, which acknowledges). Code and data of the
 * one drive those of the other out of the caches. But what the bottleneck sends comes back
 * only after the path's delay. So the delays that end in a stretch of time shorter than that
 * can all be carried out first, and what they bring to the bottleneck be held; then the
 * bottleneck's own events, with what was held, each when its time has come; then what it has
 * sent. The clock stands at each event's own time while it is carried out. Nothing but
 * the order in which independent things are computed is another: run_ahead.on=0 gives the
 * same bytes.
 *
 * Of several delays that end in the same nanosecond the one whose timer was set first goes
 * first. In a stretch the ends of delays set theirs before any packet that comes does, so those
 * that will end together are put in order after it.
 *
 * A stretch ends before any other timer may go off, and as soon as a program is woken by an
 * acknowledgement. What the bottleneck sends must wake nobody, as the senders are ahead by
 * then: while a packet waits there that might (all but data for a TCP socket that
 * /proc/tcp_sink reads), there is no such stretch. Should something be woken or a timer be set
 * behind its back all the same, that is said in the log, and it was the last stretch.
 *
 * Control: write "IFACE LENGTH_NS" to /proc/run_ahead, from a process in the namespace of the
 * router: the bottleneck's interface, and how long a stretch may be. It must be shorter
 * than each of the delays, which are the netem qdiscs that the router's other interfaces have
 * then, and than any timer that a receiver sets. Reading gives the numbers of stretches, of
 * delays that ended and of the bottleneck's events in them.
 */
#include <linux/hrtimer.h>
#include <linux/init.h>
#include <linux/interrupt.h>
#include <linux/moduleparam.h>
#include <linux/netdevice.h>
#include <linux/nsproxy.h>
#include <linux/prefetch.h>
#include <linux/rtnetlink.h>
#include <linux/timekeeping.h>
#include <net/net_namespace.h>
#include <net/pkt_sched.h>
#include <net/sch_generic.h>
#include <net/tcp.h>
#include <shared/timetravel.h>
#include <trace/events/net.h>
#include <trace/events/timer.h>
#include "../drivers/tap_file.h"
#include "packet_memory.h"
#include "run_ahead.h"

/* run_ahead.on=0: to show that nothing notices. */
static bool on = true;
module_param(on, bool, 0444);

#define HARD_BASES ((1U << HRTIMER_BASE_MONOTONIC_SOFT) - 1)
/* packets that wait to be received at once: more would leave the caches meanwhile */
#define BACKLOG_MAX 64

/* kernel/time/tick-internal.h */
DECLARE_PER_CPU(struct hrtimer_cpu_base, hrtimer_bases);

enum kind { OTHER, DELAY, BOTTLENECK };

static struct net_device *bottleneck;
static u64 length_ns;
static void *watchdog;		 /* the function of a qdisc's timer */
static struct sk_buff_head held; /* on its way to the bottleneck */
static bool stop;
static u64 stretches, delays_ended, sent;
static u64 looked; /* for a stretch, whether there was one or not */
static u64 began;  /* this stretch */

/* A timer of each kind that was met in this stretch: qdiscs come and go between stretches only. */
static struct hrtimer *met[BOTTLENECK + 1];

/*
 * When something happened, and which of that instant it was: first delays end, then packets come
 * to them.
 */
struct place {
	u64 at, nth;
};

#define COMES BIT_ULL(63)

/* The delays, by the numbers of their interfaces. */
static struct delay {
	bool exists;
	u64 met; /* when we looked for the last time */
	struct hrtimer *timer;
	struct place ended; /* lastly in a stretch */
	struct place set;   /* its timer, lastly in a stretch */
} delays[1024];

static bool several; /* delays */
static bool ending;  /* delays end, no packet comes */
static u64 things;
static struct hrtimer *tied[ARRAY_SIZE(delays)];

/* A packet goes to the bottleneck; it is let go of when it has left it, or dies. */
static void on_departure(void *unused, struct sk_buff *skb)
{
	if (skb_is_gso(skb))
		packet_memory_segments();
	if (skb->dev == bottleneck)
		run_ahead_follow(skb);
}

static void on_sent(void *unused, const struct sk_buff *skb, const struct net_device *dev)
{
	packet_memory_sent();
}

static struct hrtimer *timer_of(struct timerqueue_linked_node *node)
{
	return container_of(node, struct hrtimer, node);
}

static struct Qdisc *qdisc_of(struct hrtimer *timer)
{
	return qdisc_root(container_of(timer, struct qdisc_watchdog, timer)->qdisc);
}

static bool is_delay(const struct Qdisc *q, struct hrtimer *timer)
{
	const struct net_device *dev = qdisc_dev(q);
	struct delay *delay = delays + dev->ifindex;

	if (dev->ifindex >= ARRAY_SIZE(delays) || !delay->exists ||
	    dev_net(dev) != dev_net(bottleneck))
		return false;
	if (delay->met != looked || delay->timer != timer) {
		if (strcmp(q->ops->id, "netem"))
			return false;
		delay->met = looked;
		delay->timer = timer;
	}
	return true;
}

static enum kind kind_of(struct hrtimer *timer)
{
	enum kind kind = OTHER;
	struct Qdisc *q;

	if (ACCESS_PRIVATE(timer, function) != watchdog)
		return OTHER;
	if (timer == met[BOTTLENECK])
		return BOTTLENECK;
	if (timer == met[DELAY])
		return DELAY;
	q = qdisc_of(timer);
	if (qdisc_dev(q) == bottleneck)
		kind = BOTTLENECK;
	else if (is_delay(q, timer))
		kind = DELAY;
	met[kind] = timer;
	return kind;
}

static struct timerqueue_linked_node *first_of(struct hrtimer_cpu_base *cpu)
{
	return timerqueue_linked_first(&cpu->clock_base[HRTIMER_BASE_MONOTONIC].active);
}

/*
 * When the first timer of the other clocks goes off, or of the soft ones as of the last
 * interrupt: at that time all soft ones that may go off do, even if the first of them has been
 * cancelled since.
 */
static u64 other_clocks(struct hrtimer_cpu_base *cpu)
{
	unsigned int active = cpu->active_bases & ~(1U << HRTIMER_BASE_MONOTONIC);
	u64 first = cpu->softirq_expires_next;

	while (active) {
		struct hrtimer_clock_base *base = &cpu->clock_base[__ffs(active)];

		active &= active - 1;
		first = min_t(u64, first, base->expires_next - base->offset);
	}
	return first;
}

/* When the first other timer may: with slack, at any interrupt from its soft expiry on. */
static u64 other_timers(struct hrtimer_cpu_base *cpu)
{
	unsigned int active = cpu->active_bases & HARD_BASES;
	struct timerqueue_linked_node *node;
	u64 first = U64_MAX;

	while (active) {
		struct hrtimer_clock_base *base = &cpu->clock_base[__ffs(active)];

		active &= active - 1;
		for (node = timerqueue_linked_first(&base->active); node;
		     node = timerqueue_linked_next(node))
			if (kind_of(timer_of(node)) == OTHER)
				first = min_t(u64, first,
					      hrtimer_get_softexpires(timer_of(node)) -
						      base->offset);
	}
	return first;
}

/* Whether another timer goes off at this one's time. */
static bool coincides(struct timerqueue_linked_node *node)
{
	ktime_t expires = node->expires;

	while ((node = timerqueue_linked_next(node)) && node->expires == expires)
		if (kind_of(timer_of(node)) == OTHER)
			return true;
	return false;
}

static struct delay *delay_of(struct hrtimer *timer)
{
	return delays + qdisc_dev(qdisc_of(timer))->ifindex;
}

/*
 * The timer of a delay was set: in place of when that was, when it would have been, event by
 * event.
 */
static void on_timer(void *unused, struct hrtimer *timer, enum hrtimer_mode mode, bool was_armed)
{
	struct delay *delay;

	if (!began || kind_of(timer) != DELAY)
		return;
	delay = delay_of(timer);
	if (ending || delay->ended.at > time_travel_time)
		delay->set = delay->ended;
	else
		delay->set = (struct place){ time_travel_time, COMES | things++ };
}

/*
 * Whether the timer of a delay was set after that of another; those that were before this stretch
 * are in order.
 */
static bool was_set_after(struct hrtimer *timer, struct hrtimer *other)
{
	const struct place *a = &delay_of(timer)->set, *b = &delay_of(other)->set;

	if (a->at < began || b->at < began)
		return a->at >= began;
	return a->at != b->at ? a->at > b->at : a->nth > b->nth;
}

/* Those of the first ones that are not in order go behind all others of their time, in order. */
static void order(unsigned int count)
{
	unsigned int i, j;

	for (i = 1; i < count; i++)
		for (j = i; j && was_set_after(tied[j - 1], tied[j]); j--)
			swap(tied[j - 1], tied[j]);
	for (i = 0; i < count; i++) {
		hrtimer_try_to_cancel(tied[i]);
		hrtimer_start_expires(tied[i], HRTIMER_MODE_ABS_PINNED);
	}
}

/*
 * Delays that will end in the same nanosecond: in the order in which their timers would have been
 * set.
 */
static void order_ties(struct hrtimer_cpu_base *cpu)
{
	struct timerqueue_linked_node *node = first_of(cpu);

	while (node) {
		ktime_t expires = node->expires;
		unsigned int count = 0;
		bool wrong = false;

		for (; node && node->expires == expires; node = timerqueue_linked_next(node)) {
			if (kind_of(timer_of(node)) != DELAY)
				continue;
			tied[count++] = timer_of(node);
			wrong |= count > 1 && was_set_after(tied[count - 2], tied[count - 1]);
		}
		if (wrong)
			order(count);
	}
}

/* As net_tx_action() does when the timer has gone off. */
static void run_qdisc(struct hrtimer *timer)
{
	ktime_t expires = hrtimer_get_expires(timer);
	struct Qdisc *q = qdisc_of(timer);
	spinlock_t *lock = qdisc_lock(q);
	struct sk_buff *dropped;

	spin_lock(lock);
	dropped = qdisc_run(q);
	spin_unlock(lock);
	tcf_kfree_skb_list(dropped, q, NULL, qdisc_dev(q));
	if (hrtimer_is_queued(timer) && hrtimer_get_expires(timer) == expires)
		hrtimer_try_to_cancel(timer);
}

/* When a packet was sent. */
static u64 *stamp(struct sk_buff *skb)
{
	return (u64 *)skb->cb;
}

/* The last of the packets that wait to be received, or the list's head. */
static struct sk_buff *last_of(struct softnet_data *sd)
{
	return sd->input_pkt_queue.prev;
}

static void stamp_after(struct softnet_data *sd, struct sk_buff *last)
{
	while (last->next != (struct sk_buff *)&sd->input_pkt_queue) {
		last = last->next;
		*stamp(last) = time_travel_time;
	}
}

static bool softirqs_pending(void)
{
	return local_softirq_pending() & ~(1U << NET_RX_SOFTIRQ);
}

/*
 * The pending softirqs but for the one that receives: all there is to receive is taken from under
 * it.
 */
static void run_softirqs(void)
{
	set_softirq_pending(local_softirq_pending() & ~(1U << NET_RX_SOFTIRQ));
	local_bh_enable();
	local_bh_disable();
}

/* The first timer that is not the bottleneck's. */
static struct timerqueue_linked_node *next_of_others(struct hrtimer_cpu_base *cpu)
{
	struct timerqueue_linked_node *node = first_of(cpu);

	while (node && kind_of(timer_of(node)) == BOTTLENECK)
		node = timerqueue_linked_next(node);
	return node;
}

/* All that the ends of delays in one instant bring, up to the router of the bottleneck. */
static void end_delays(struct hrtimer_cpu_base *cpu, struct softnet_data *sd,
		       struct timerqueue_linked_node *node)
{
	ktime_t now = node->expires;
	struct sk_buff *skb;

	do {
		struct hrtimer *timer = timer_of(node);

		if (several) {
			/* else it would be set again in its old place, before others of its time */
			hrtimer_try_to_cancel(timer);
			delay_of(timer)->ended = (struct place){ time_travel_time, things++ };
		}
		run_qdisc(timer);
		delays_ended++;
		node = next_of_others(cpu);
	} while (node && node->expires == now && kind_of(timer_of(node)) == DELAY);
	do {
		while ((skb = __skb_dequeue(&sd->input_pkt_queue))) {
			if (dev_net(skb->dev) != dev_net(bottleneck)) {
				netif_receive_skb(skb);
				continue;
			}
			/* as the router does in this instant */
			skb_orphan(skb);
			stop |= run_ahead_may_wake(skb);
			*stamp(skb) = time_travel_time;
			__skb_queue_tail(&held, skb);
		}
		if (softirqs_pending())
			run_softirqs();
	} while (!skb_queue_empty(&sd->input_pkt_queue));
}

/*
 * A packet that waits for its part of the stretch has left the first-level cache: asks for what
 * of the next one is looked at first, and for what leads to that of the one after.
 */
static __always_inline void fetch_next(const struct sk_buff_head *list)
{
	const struct sk_buff *skb = list->next;

	if (skb == (void *)list)
		return;
	prefetch(skb_shinfo(skb));
	prefetch(skb->data);
	prefetch(skb->data + L1_CACHE_BYTES);
	skb = skb->next;
	prefetchw(skb);
	prefetchw((u8 *)skb + L1_CACHE_BYTES);
	prefetchw((u8 *)skb + 2 * L1_CACHE_BYTES);
	prefetchw((u8 *)skb + 3 * L1_CACHE_BYTES);
}

/* What the bottleneck has sent, and what answers that up to the delays. */
static void receive_sent(struct softnet_data *sd)
{
	struct sk_buff *skb, *last;

	packet_memory_answers();
	while ((skb = __skb_dequeue(&sd->input_pkt_queue))) {
		fetch_next(&sd->input_pkt_queue);
		time_travel_time = *stamp(skb);
		last = last_of(sd);
		netif_receive_skb(skb);
		stamp_after(sd, last);
		/* a sink reads when all of this instant has come */
		skb = skb_peek(&sd->input_pkt_queue);
		if (softirqs_pending() && (!skb || *stamp(skb) != time_travel_time)) {
			last = last_of(sd);
			run_softirqs();
			stamp_after(sd, last);
		}
	}
	packet_memory_kept();
}

/* The bottleneck's next timer before the limit; others there should be none. */
static struct hrtimer *next_of_bottleneck(struct hrtimer_cpu_base *cpu, u64 limit, bool *late)
{
	struct timerqueue_linked_node *node;

	for (node = first_of(cpu); node && node->expires < limit;
	     node = timerqueue_linked_next(node)) {
		if (kind_of(timer_of(node)) == BOTTLENECK)
			return timer_of(node);
		*late = true;
	}
	return NULL;
}

/*
 * The bottleneck's timers and what was held, each when its time has come; gives the time of the
 * last.
 */
static u64 run_bottleneck(struct hrtimer_cpu_base *cpu, struct softnet_data *sd, u64 limit,
			  u64 offset, bool *late)
{
	struct sk_buff *skb, *last;
	struct hrtimer *timer;
	u64 now = 0, fires, arrives;

	for (;;) {
		timer = next_of_bottleneck(cpu, limit - offset, late);
		fires = timer ? hrtimer_get_expires(timer) + offset : U64_MAX;
		skb = skb_peek(&held);
		arrives = skb ? *stamp(skb) : U64_MAX;
		if (min(fires, arrives) >= limit ||
		    skb_queue_len(&sd->input_pkt_queue) >= BACKLOG_MAX) {
			if (skb_queue_empty(&sd->input_pkt_queue))
				return now;
			receive_sent(sd);
			continue;
		}
		time_travel_time = now = min(fires, arrives);
		last = last_of(sd);
		/* Both timers go off before anything that they release is received. */
		if (fires <= arrives) {
			run_qdisc(timer);
			sent++;
		} else {
			do {
				__skb_unlink(skb, &held);
				fetch_next(&held);
				netif_receive_skb(skb);
				skb = skb_peek(&held);
			} while (skb && *stamp(skb) == now);
		}
		if (softirqs_pending())
			run_softirqs();
		stamp_after(sd, last);
	}
}

/*
 * Called with interrupts off when the clock has been set to that of the next timer, which has not
 * gone off. Leaves it at the time up to which everything is done, and the timers for
 * hrtimer_interrupt() to be set.
 */
void run_ahead(void)
{
	struct hrtimer_cpu_base *cpu = this_cpu_ptr(&hrtimer_bases);
	struct softnet_data *sd = this_cpu_ptr(&softnet_data);
	struct timerqueue_linked_node *node = first_of(cpu);
	u64 offset, limit, now = time_travel_time;
	bool woken, late = false;

	looked++;
	met[DELAY] = met[BOTTLENECK] = NULL;
	if (!bottleneck || !node || run_ahead_unsafe || kind_of(timer_of(node)) == OTHER)
		return;
	offset = time_travel_time - ktime_get_ns();
	if (node->expires + offset != now)
		return;
	limit = min(now + length_ns, other_timers(cpu) + offset);
	if (min(limit, other_clocks(cpu) + offset) <= now)
		return;

	stretches++;
	stop = false;
	began = now;
	ending = true;
	cpu->deferred_rearm = true;
	cpu->expires_next = KTIME_MAX;
	local_bh_disable();
	for (;;) {
		node = next_of_others(cpu);
		limit = min(limit, other_clocks(cpu) + offset);
		if (!node || node->expires + offset >= limit)
			break;
		if (kind_of(timer_of(node)) == OTHER || coincides(node)) {
			limit = node->expires + offset;
			break;
		}
		time_travel_time = now = node->expires + offset;
		end_delays(cpu, sd, node);
		if (need_resched() || stop)
			limit = now + 1;
	}
	limit = max(limit, now + 1);
	woken = need_resched();
	ending = false;
	now = max(now, run_bottleneck(cpu, sd, limit, offset, &late));
	if (several)
		order_ties(cpu);
	began = 0;
	/* the backlog was emptied behind the back of its softirq */
	if (test_bit(NAPI_STATE_SCHED, &sd->backlog.state))
		raise_softirq(NET_RX_SOFTIRQ);
	time_travel_time = now;
	local_bh_enable();
	cpu->deferred_rearm = false;
	if (late || (need_resched() && !woken)) {
		pr_warn("run_ahead: %s behind its back before %llu ns: no more stretches\n",
			late ? "a timer was set" : "a program was woken", limit);
		bottleneck = NULL;
	}
}

static int on_interface(struct notifier_block *block, unsigned long event, void *info)
{
	if (event == NETDEV_GOING_DOWN && netdev_notifier_info_to_dev(info) == bottleneck)
		bottleneck = NULL;
	return NOTIFY_DONE;
}

static struct notifier_block interfaces = { .notifier_call = on_interface };

/* How many delays there are. */
static unsigned int find_delays(struct net *net)
{
	unsigned int count = 0;
	struct net_device *dev;

	rtnl_lock();
	for_each_netdev(net, dev) {
		if (dev->ifindex >= ARRAY_SIZE(delays) ||
		    strcmp(rtnl_dereference(dev->qdisc)->ops->id, "netem"))
			continue;
		delays[dev->ifindex].exists = true;
		count++;
	}
	rtnl_unlock();
	return count;
}

static int start(const char *name, u64 length)
{
	struct net_device *dev = dev_get_by_name(current->nsproxy->net_ns, name);
	int error;

	if (!dev)
		return -ENODEV;
	dev_put(dev);
	if (bottleneck)
		return -EBUSY;
	if (!length || length > NSEC_PER_MSEC)
		return -ERANGE;
	if (!on)
		return 0;
	several = find_delays(dev_net(dev)) > 1;
	/* clang-format off: it takes each ?: for two operators */
	error = run_ahead_watch()						     ?:
			register_trace_net_dev_queue(on_departure, NULL)	     ?:
			register_trace_net_dev_start_xmit(on_sent, NULL)	     ?:
			(several ? register_trace_hrtimer_start(on_timer, NULL) : 0) ?:
			register_netdevice_notifier(&interfaces);
	/* clang-format on */
	if (!error) {
		length_ns = length;
		bottleneck = dev;
	}
	return error;
}

static int command(const char *line)
{
	char name[IFNAMSIZ];
	u64 length;

	if (sscanf(line, "%15s %llu", name, &length) != 2)
		return -EINVAL;
	return start(name, length);
}

static int show(struct seq_file *file, void *unused)
{
	seq_printf(file, "%llu %llu %llu\n", stretches, delays_ended, sent);
	return 0;
}

static struct tap_proc proc = { .show = show, .command = command };

static int __init run_ahead_init(void)
{
	static struct qdisc_watchdog any;

	__skb_queue_head_init(&held);
	qdisc_watchdog_init(&any, &noop_qdisc);
	watchdog = ACCESS_PRIVATE(&any.timer, function);
	return tap_proc_create("run_ahead", &proc);
}
late_initcall(run_ahead_init);
