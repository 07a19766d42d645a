// SPDX-License-Identifier: GPL-2.0
/*
 * Flow tap: what TCP senders did, counted and never polled.
 *
 * Why: loss events, timeouts and window reductions of thousands of flows must be counted where
 * they happen; polling TCP_INFO misses them and costs time.
 *
 * Probes on the tracepoints tcp_cong_state_set and inet_sock_set_state count
 * each watched socket's loss events, timeouts, CWRs and undone reductions, and
 * write each as an event to a file of the host. All other counters are the
 * kernel's own in tcp_sock: they are copied when a socket is established, at
 * marks (given instants, so that a warm-up can be subtracted exactly), when it
 * closes and at a flush. No packet passes through a probe here.
 *
 * No guest program takes part and no virtual time passes. It only reads.
 *
 * Control: write to /proc/flow_tap
 *	watch NUMBER PORT	the TCP sockets of the caller's network namespace
 *				with this port at either end (0: all), established
 *				from now on
 *	mark NUMBER AT_NS	snapshot of all watched sockets at CLOCK_MONOTONIC
 *				(0: now)
 *	sample INTERVAL_NS	short state of all at each multiple of that
 *	flush			snapshot of all, and write everything out
 * Reading gives sockets watched now, and ever, events, the host's error code.
 */

#include <linux/hash.h>
#include <linux/hrtimer.h>
#include <linux/nsproxy.h>
#include <linux/slab.h>
#include <linux/timekeeping.h>
#include <net/inet_connection_sock.h>
#include <net/net_namespace.h>
#include <net/tcp.h>
#include <trace/events/sock.h>
#include <trace/events/tcp.h>
#include <init.h>
#include "tap_file.h"

#define WATCHES_MAX    256
#define MARKS_MAX      16
#define BUFFER_RECORDS 16384
#define SOCKET_BITS    13

enum { RECORD_FLOW = 1, RECORD_EVENT, RECORD_SAMPLE, RECORD_SNAPSHOT, SNAPSHOT_PARTS = 5 };
enum { WHY_ESTABLISHED, WHY_MARK, WHY_CLOSED, WHY_FLUSH };
enum { EVENT_RECOVERY = 1, EVENT_TIMEOUT, EVENT_CWR, EVENT_TLP, EVENT_UNDO, EVENT_LATE_UNDO };
enum { EVENT_REDUCTION = 1 };
enum { FLOW_ECN = 1, FLOW_PASSIVE = 2, FLOW_SACK = 4 };

struct head {
	u8 type, kind, from, flags;
	__le32 flow;
} __packed;

struct flow_record {
	struct head head;
	__le16 sport, dport;
	__be32 src, dst;
	char cca[12];
} __packed;

struct event_record {
	struct head head;
	__le64 t_ns;
	__le32 cwnd_before, cwnd_after, in_flight, lost;
} __packed;

struct sample_record {
	struct head head;
	__le64 t_ns, bytes_acked;
	__le32 srtt_us, cwnd;
} __packed;

struct snapshot_record {
	struct head head;
	union {
		__le64 wide[3];
		__le32 narrow[6];
	};
} __packed;

#define RECORD_BYTES 32
static_assert(sizeof(struct flow_record) == RECORD_BYTES);
static_assert(sizeof(struct event_record) == RECORD_BYTES);
static_assert(sizeof(struct sample_record) == RECORD_BYTES);
static_assert(sizeof(struct snapshot_record) == RECORD_BYTES);

/* a socket between ESTABLISHED and CLOSE */
struct watched {
	struct hlist_node node;
	struct list_head list;
	const struct sock *sk;
	u32 flow;
	/* the last reduction could still be taken back */
	bool undoable;
	u32 recoveries, timeouts, cwrs, tlps, reductions, undos;
};

struct watch {
	struct net *net;
	u16 port;
	u8 number;
};

struct flow_mark {
	struct hrtimer timer;
	u8 number;
};

static struct tap_file file = TAP_FILE(RECORD_BYTES, BUFFER_RECORDS);
static struct watch watches[WATCHES_MAX];
static struct flow_mark marks[MARKS_MAX];
static unsigned int watch_count, mark_count;
static struct hlist_head sockets[1 << SOCKET_BITS];
static LIST_HEAD(all_sockets);
static u32 flow_count, open_count;
static u64 event_count, sample_interval_ns;
static struct hrtimer sample_timer;
/* the CWR event written last, until it is known not to be a repaired tail loss */
static struct event_record *last_cwr;

static void *new_record(u8 type, u8 kind, u8 from, u8 flags, u32 flow)
{
	struct head *head = tap_file_record(&file);

	head->type = type;
	head->kind = kind;
	head->from = from;
	head->flags = flags;
	head->flow = cpu_to_le32(flow);
	last_cwr = NULL;
	return head;
}

static struct hlist_head *bucket(const struct sock *sk)
{
	return &sockets[hash_ptr((void *)sk, SOCKET_BITS)];
}

static struct watched *find(const struct sock *sk)
{
	struct watched *w;

	hlist_for_each_entry(w, bucket(sk), node)
		if (w->sk == sk)
			return w;
	return NULL;
}

static void event(struct watched *w, u8 kind, u8 from, u8 flags, u32 before, u32 after)
{
	const struct tcp_sock *tp = tcp_sk(w->sk);
	struct event_record *r = new_record(RECORD_EVENT, kind, from, flags, w->flow);

	r->t_ns = cpu_to_le64(ktime_get_ns());
	r->cwnd_before = cpu_to_le32(before);
	r->cwnd_after = cpu_to_le32(after);
	r->in_flight = cpu_to_le32(tcp_packets_in_flight(tp));
	r->lost = cpu_to_le32(tp->lost);
	event_count++;
	if (flags & EVENT_REDUCTION)
		w->reductions++;
	if (kind == EVENT_CWR)
		last_cwr = r;
}

static void snapshot(const struct watched *w, u8 why, u8 number, u64 now)
{
	const struct tcp_sock *tp = tcp_sk(w->sk);
	struct snapshot_record *r;
	u8 type = RECORD_SNAPSHOT;

	r = new_record(type++, why, number, 0, w->flow);
	r->wide[0] = cpu_to_le64(now);
	r->wide[1] = cpu_to_le64(tp->bytes_acked);
	r->wide[2] = cpu_to_le64(tp->bytes_sent);
	r = new_record(type++, why, number, 0, w->flow);
	r->wide[0] = cpu_to_le64(tp->bytes_retrans);
	r->narrow[2] = cpu_to_le32(tp->delivered);
	r->narrow[3] = cpu_to_le32(tp->delivered_ce);
	r->narrow[4] = cpu_to_le32(tp->lost);
	r->narrow[5] = cpu_to_le32(tp->total_retrans);
	r = new_record(type++, why, number, 0, w->flow);
	r->narrow[0] = cpu_to_le32(tp->segs_out);
	r->narrow[1] = cpu_to_le32(tp->data_segs_out);
	r->narrow[2] = cpu_to_le32(tp->srtt_us >> 3);
	r->narrow[3] = cpu_to_le32(tcp_min_rtt(tp));
	r->narrow[4] = cpu_to_le32(tcp_snd_cwnd(tp));
	r->narrow[5] = cpu_to_le32(tp->snd_ssthresh);
	r = new_record(type++, why, number, 0, w->flow);
	r->narrow[0] = cpu_to_le32(w->recoveries);
	r->narrow[1] = cpu_to_le32(w->timeouts);
	r->narrow[2] = cpu_to_le32(w->cwrs);
	r->narrow[3] = cpu_to_le32(w->tlps);
	r->narrow[4] = cpu_to_le32(w->reductions);
	r->narrow[5] = cpu_to_le32(w->undos);
	r = new_record(type++, why, number, 0, w->flow);
	r->narrow[0] = cpu_to_le32(tp->mss_cache);
	r->narrow[1] = cpu_to_le32(tp->dsack_dups);
	r->narrow[2] = cpu_to_le32(tp->reord_seen);
	r->narrow[3] = cpu_to_le32(tp->packets_out);
}

/*
 * An undo clears undo_marker, as nothing else does while a reduction can still
 * be taken back. One that comes after recovery has ended (D-SACK) changes no
 * state: it is found at the next occasion.
 */
static void look_for_undo(struct watched *w, u8 kind, u8 from)
{
	const struct tcp_sock *tp = tcp_sk(w->sk);

	if (!w->undoable || tp->undo_marker)
		return;
	w->undoable = false;
	/* an ECN echo since then forbade it: nothing was restored */
	if (!tp->prior_ssthresh)
		return;
	w->undos++;
	event(w, kind, from, 0, 0, tcp_snd_cwnd(tp));
}

static void look_for_late_undo(struct watched *w)
{
	u8 state = inet_csk(w->sk)->icsk_ca_state;

	if (state <= TCP_CA_Disorder)
		look_for_undo(w, EVENT_LATE_UNDO, state);
}

static void snapshot_all(u8 why, u8 number)
{
	u64 now = ktime_get_ns();
	struct watched *w;

	list_for_each_entry(w, &all_sockets, list) {
		look_for_late_undo(w);
		snapshot(w, why, number, now);
	}
}

/* The conditions of tcp_enter_loss(), which has not changed what they are made of yet. */
static bool timeout_reduces(const struct sock *sk, u8 from)
{
	const struct tcp_sock *tp = tcp_sk(sk);

	return from <= TCP_CA_Disorder || !after(tp->high_seq, tp->snd_una) ||
	       (from == TCP_CA_Loss && !inet_csk(sk)->icsk_retransmits);
}

static void enters_loss(struct watched *w, u8 from)
{
	const struct tcp_sock *tp = tcp_sk(w->sk);
	bool reduces;

	/*
	 * A smaller path MTU makes TCP send anew without having lost anything
	 * (tcp_non_congestion_loss_retransmit): no timeout, nothing reduced.
	 */
	if (from != TCP_CA_Loss && !tp->prior_ssthresh && !tp->undo_marker &&
	    tcp_snd_cwnd(tp) != tcp_packets_in_flight(tp) + 1)
		return;
	reduces = timeout_reduces(w->sk, from);
	w->timeouts++;
	if (reduces)
		w->undoable = true;
	event(w, EVENT_TIMEOUT, from, reduces ? EVENT_REDUCTION : 0, reduces ? tp->prior_cwnd : 0,
	      tcp_snd_cwnd(tp));
}

static void enters_reduction(struct watched *w, u8 kind, u8 from)
{
	const struct tcp_sock *tp = tcp_sk(w->sk);
	/* a CCA with cong_control (BBR) sets its window itself */
	bool sets_window = inet_csk(w->sk)->icsk_ca_ops->cong_control;
	bool reduces = !sets_window;

	if (kind == EVENT_RECOVERY) {
		w->recoveries++;
		/* as tcp_enter_recovery(): in CWR the window is being reduced already */
		if (from == TCP_CA_CWR || from == TCP_CA_Recovery)
			reduces = false;
	} else {
		w->cwrs++;
	}
	/* an ECN echo is proof: there is no undo */
	w->undoable = reduces && tp->undo_marker && tp->prior_ssthresh;
	event(w, kind, from, reduces ? EVENT_REDUCTION : 0, tcp_snd_cwnd(tp),
	      reduces ? tp->snd_ssthresh : 0);
}

/*
 * tcp_process_tlp_ack() enters CWR and leaves it in the same breath, before
 * anything beyond high_seq is acknowledged; an ECN echo's CWR never does.
 */
static void leaves_cwr(struct watched *w)
{
	const struct tcp_sock *tp = tcp_sk(w->sk);

	if (!last_cwr || le32_to_cpu(last_cwr->head.flow) != w->flow ||
	    after(tp->snd_una, tp->high_seq) || le64_to_cpu(last_cwr->t_ns) != ktime_get_ns())
		return;
	last_cwr->head.kind = EVENT_TLP;
	w->cwrs--;
	w->tlps++;
}

static void on_cong_state_set(void *data, struct sock *sk, const u8 to)
{
	u8 from = inet_csk(sk)->icsk_ca_state;
	struct watched *w;
	unsigned long flags;

	local_irq_save(flags);
	w = find(sk);
	if (!w)
		goto out;
	switch (to) {
	case TCP_CA_Recovery:
		enters_reduction(w, EVENT_RECOVERY, from);
		break;
	case TCP_CA_CWR:
		enters_reduction(w, EVENT_CWR, from);
		break;
	case TCP_CA_Loss:
		enters_loss(w, from);
		break;
	default:
		if (from == TCP_CA_CWR)
			leaves_cwr(w);
		else
			look_for_undo(w, from >= TCP_CA_Recovery ? EVENT_UNDO : EVENT_LATE_UNDO,
				      from);
	}
out:
	local_irq_restore(flags);
}

static const struct watch *watch_of(const struct sock *sk)
{
	u16 sport = sk->sk_num, dport = ntohs(inet_sk(sk)->inet_dport);
	unsigned int i;

	for (i = 0; i < watch_count; i++)
		if (net_eq(watches[i].net, sock_net(sk)) &&
		    (!watches[i].port || watches[i].port == sport || watches[i].port == dport))
			return &watches[i];
	return NULL;
}

static void established(const struct sock *sk, int from)
{
	const struct watch *watch = watch_of(sk);
	const struct tcp_sock *tp = tcp_sk(sk);
	struct flow_record *r;
	struct watched *w;

	if (!watch)
		return;
	w = kzalloc(sizeof(*w), GFP_ATOMIC);
	if (!w) {
		file.error = -ENOMEM;
		return;
	}
	w->sk = sk;
	w->flow = ++flow_count;
	open_count++;
	hlist_add_head(&w->node, bucket(sk));
	list_add_tail(&w->list, &all_sockets);

	r = new_record(RECORD_FLOW, watch->number, sk->sk_family == AF_INET6 ? 6 : 4,
		       (tcp_ecn_mode_any(tp) ? FLOW_ECN : 0) |
			       (from == TCP_SYN_RECV ? FLOW_PASSIVE : 0) |
			       (tcp_is_sack(tp) ? FLOW_SACK : 0),
		       w->flow);
	r->sport = cpu_to_le16(sk->sk_num);
	r->dport = cpu_to_le16(ntohs(inet_sk(sk)->inet_dport));
	r->src = sk->sk_rcv_saddr;
	r->dst = sk->sk_daddr;
#if IS_ENABLED(CONFIG_IPV6)
	if (sk->sk_family == AF_INET6) {
		r->src = sk->sk_v6_rcv_saddr.s6_addr32[3];
		r->dst = sk->sk_v6_daddr.s6_addr32[3];
	}
#endif
	strscpy(r->cca, inet_csk(sk)->icsk_ca_ops->name, sizeof(r->cca));
	snapshot(w, WHY_ESTABLISHED, 0, ktime_get_ns());
}

static void closed(const struct sock *sk)
{
	struct watched *w = find(sk);

	if (!w)
		return;
	look_for_late_undo(w);
	snapshot(w, WHY_CLOSED, 0, ktime_get_ns());
	hlist_del(&w->node);
	list_del(&w->list);
	kfree(w);
	open_count--;
}

static void on_sock_set_state(void *data, const struct sock *sk, const int from, const int to)
{
	unsigned long flags;

	if (sk->sk_protocol != IPPROTO_TCP)
		return;
	local_irq_save(flags);
	if (to == TCP_ESTABLISHED && from != TCP_ESTABLISHED)
		established(sk, from);
	else if (to == TCP_CLOSE)
		closed(sk);
	local_irq_restore(flags);
}

static enum hrtimer_restart mark_due(struct hrtimer *timer)
{
	struct flow_mark *mark = container_of(timer, struct flow_mark, timer);

	snapshot_all(WHY_MARK, mark->number);
	return HRTIMER_NORESTART;
}

static enum hrtimer_restart sample_due(struct hrtimer *timer)
{
	u64 now = ktime_get_ns();
	struct watched *w;

	list_for_each_entry(w, &all_sockets, list) {
		const struct tcp_sock *tp = tcp_sk(w->sk);
		struct sample_record *r = new_record(RECORD_SAMPLE, 0, 0, 0, w->flow);

		r->t_ns = cpu_to_le64(now);
		r->bytes_acked = cpu_to_le64(tp->bytes_acked);
		r->srtt_us = cpu_to_le32(tp->srtt_us >> 3);
		r->cwnd = cpu_to_le32(tcp_snd_cwnd(tp));
	}
	hrtimer_forward_now(timer, ns_to_ktime(sample_interval_ns));
	return HRTIMER_RESTART;
}

/* Everything that reads the clock does so with interrupts off: then it takes no virtual time. */

static int tap_watch(unsigned int number, unsigned int port)
{
	static bool probing;
	int err;

	if (watch_count == WATCHES_MAX)
		return -ENOSPC;
	err = tap_file_open(&file);
	if (err)
		return err;
	if (!probing) {
		err = register_trace_tcp_cong_state_set(on_cong_state_set, NULL) ?:
			      register_trace_inet_sock_set_state(on_sock_set_state, NULL);
		if (err)
			return err;
		probing = true;
	}
	/* held for good: a guest lives for one run */
	watches[watch_count++] = (struct watch){
		.net = get_net(current->nsproxy->net_ns),
		.port = port,
		.number = number,
	};
	return 0;
}

static int tap_mark(unsigned int number, u64 at_ns)
{
	unsigned long flags;

	if (!at_ns) {
		local_irq_save(flags);
		snapshot_all(WHY_MARK, number);
		local_irq_restore(flags);
		return 0;
	}
	if (mark_count == MARKS_MAX)
		return -ENOSPC;
	marks[mark_count].number = number;
	hrtimer_setup(&marks[mark_count].timer, mark_due, CLOCK_MONOTONIC, HRTIMER_MODE_ABS_HARD);
	hrtimer_start(&marks[mark_count].timer, ns_to_ktime(at_ns), HRTIMER_MODE_ABS_HARD);
	mark_count++;
	return 0;
}

static int tap_sample(u64 interval_ns)
{
	unsigned long flags;
	u64 now;

	if (sample_interval_ns || !interval_ns)
		return -EINVAL;
	local_irq_save(flags);
	now = ktime_get_ns();
	local_irq_restore(flags);
	sample_interval_ns = interval_ns;
	hrtimer_setup(&sample_timer, sample_due, CLOCK_MONOTONIC, HRTIMER_MODE_ABS_HARD);
	hrtimer_start(&sample_timer, ns_to_ktime((div64_u64(now, interval_ns) + 1) * interval_ns),
		      HRTIMER_MODE_ABS_HARD);
	return 0;
}

static void tap_flush(void)
{
	unsigned long flags;

	if (file.fd < 0)
		return;
	local_irq_save(flags);
	snapshot_all(WHY_FLUSH, 0);
	tap_file_write_out(&file);
	local_irq_restore(flags);
}

static int tap_command(const char *line)
{
	unsigned int number, port;
	u64 ns;

	if (sscanf(line, "watch %u %u", &number, &port) == 2 && number <= U8_MAX && port <= U16_MAX)
		return tap_watch(number, port);
	if (sscanf(line, "mark %u %llu", &number, &ns) == 2 && number <= U8_MAX)
		return tap_mark(number, ns);
	if (sscanf(line, "sample %llu", &ns) == 1)
		return tap_sample(ns);
	if (strncmp(line, "flush", 5))
		return -EINVAL;
	tap_flush();
	return 0;
}

static int tap_show(struct seq_file *m, void *v)
{
	seq_printf(m, "%u %u %llu %d\n", open_count, flow_count, event_count, -file.error);
	return 0;
}

static struct tap_proc proc = { .show = tap_show, .command = tap_command };

static int __init tap_init(void)
{
	return tap_proc_create("flow_tap", &proc);
}
late_initcall(tap_init);
TAP_PATH("flow-tap=", "    The host's file that the flow tap writes to, see\n"
		      "    arch/um/drivers/flow_tap.c.\n\n");
