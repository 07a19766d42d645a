// SPDX-License-Identifier: GPL-2.0
/*
 * Prefetch: what waiting packets will need is fetched before their turn.
 *
 * Why: a packet that has waited in a long queue is not in the caches any more when
 * its turn comes, nor is the socket that it goes to, where there are many. In
 * virtual time nothing else can run meanwhile, so each miss is waited for.
 * This remembers the order in which packets entered each queue, and for which
 * TCP socket, and asks for what the next ones will need early. It reads and
 * prefetches only: no packet, socket, queue or clock notices. Where a queue
 * does not send in order of arrival, it leaves that queue alone. What paced flows
 * will send is found by their timers: prefetch_paced.c.
 *
 * Every step reads only what the one before has asked for, some packets ago.
 * What it reads may be gone by then (a packet dropped in its queue, a socket
 * closed): pointers found there are checked before they are followed.
 */
#include <linux/gfp.h>
#include <linux/hash.h>
#include <linux/init.h>
#include <linux/ip.h>
#include <linux/mm.h>
#include <linux/moduleparam.h>
#include <linux/skbuff.h>
#include <net/sch_generic.h>
#include <net/tcp.h>
#include <trace/events/qdisc.h>
#include <trace/events/sock.h>
#include "../drivers/queue_tap.h"
#include "prefetch.h"

/* skb_prefetch.on=0: to show that nothing notices. */
bool skb_prefetch_on = true;
module_param_named(on, skb_prefetch_on, bool, 0444);

#define QUEUES	   4
#define RING_ORDER 9
#define RING_SIZE  ((PAGE_SIZE << RING_ORDER) / sizeof(struct sk_buff *))
#define LONG_QUEUE 512		    /* packets; shorter queues are still cached */
#define MISSES_MAX (4 * LONG_QUEUE) /* in a row; then the order is not that of arrival */

/*
 * Packets ahead. Each step leaves time for what it asks for to come, and what
 * has come is used before it is evicted.
 */
#define BATCH	    16
#define SKB_PAGE    44
#define SKB	    42
#define HEAD_PAGE   26
#define HEAD	    24
#define PAGES	    22
#define PLACE	    21
#define SLAB	    20
#define SOCKET	    17
#define FIRST	    15
#define SECOND	    14
#define HEADS	    12
#define ACKED_SLABS 10
#define LEAST	    4
/* so near, that of a flow's acknowledgements in a row each sees what the one before left */
#define REST	 3
#define FARTHEST (SKB_PAGE + BATCH)
#define RING	 (FARTHEST + BATCH)

#define ACK_MAX	     200  /* bytes; longer packets carry data */
#define SENT_AT_ONCE 3000 /* bytes that an acknowledgement of two packets lets go */
#define NEARLY_SENT  (4 * SENT_AT_ONCE)
#define BUCKETS	     4096
#define PLACES	     8 /* in a bucket, which is one line */
#define CLIMB	     6 /* nodes of a tree from its end on; the others are come to from the root */
#define LEVELS	     2 /* of a tree that are mostly looked at when a packet comes or goes */

/*
 * Where the sender's tree of unacknowledged packets is being walked down: to the oldest, to the
 * newest.
 */
struct walk {
	struct sock *to;		    /* whom the packet is for */
	struct sock *sk;		    /* the same; NULL: no acknowledgement */
	struct sk_buff *acked[2], *sent[2]; /* the packets that it will free and let go */
	struct sk_buff *last; /* the last one acknowledged then; NULL: none of those still there */
	struct rb_node *left, *right;
	/* to the newest from its end, which the list of what was sent tells: half of that way */
	struct rb_node *up;
	int climbed;
	/* of the leftmost, of its parent …: looked at when it is taken out */
	struct rb_node *siblings[LEVELS];
};

struct order {
	const struct Qdisc *qdisc;
	struct sk_buff **ring;
	u32 *to; /* the hash of its addresses, for each in the ring */
	unsigned long in, out;
	unsigned int misses;
	struct walk walks[32];
};

static struct order orders[QUEUES];

/* Established TCP sockets by the hash of the packets that they receive. */
static struct place {
	u32 hash;
	u32 line; /* where it lies, in lines from the start of memory; 0: a free place */
} places[BUCKETS][PLACES] __aligned(L1_CACHE_BYTES);

static u32 address_hash(__be32 from, __be32 to, __be16 from_port, __be16 to_port)
{
	u64 ports = (__force u32)from_port << 16 | (__force u16)to_port;

	return hash_64(((u64)(__force u32)from << 32 | (__force u32)to) ^ ports * GOLDEN_RATIO_64,
		       32);
}

static u32 line_of(const struct sock *sk)
{
	return __pa(sk) / L1_CACHE_BYTES;
}

/* NULL: none that is known. */
static __always_inline struct sock *socket_of(u32 hash)
{
	const struct place *place = places[hash % BUCKETS];
	int i;

	for (i = 0; i < PLACES; i++)
		if (place[i].hash == hash && place[i].line)
			return __va((unsigned long)place[i].line * L1_CACHE_BYTES);
	return NULL;
}

static void on_state(void *unused, const struct sock *sk, const int old, const int new)
{
	struct place *place;
	u32 i, hash;

	if (sk->sk_family != AF_INET || (new != TCP_ESTABLISHED && new != TCP_CLOSE))
		return;
	/* not sk_num, which is taken away before the socket is closed */
	hash = address_hash(sk->sk_daddr, sk->sk_rcv_saddr, sk->sk_dport, inet_sk(sk)->inet_sport);
	place = places[hash % BUCKETS];
	for (i = 0; i < PLACES; i++) {
		if (new == TCP_CLOSE && place[i].line == line_of(sk)) {
			place[i].line = 0;
			return;
		}
		if (new == TCP_ESTABLISHED && !place[i].line) {
			place[i] = (struct place){ .hash = hash, .line = line_of(sk) };
			return;
		}
	}
}

/* 0: not TCP's. */
static u32 hash_of(struct sk_buff *skb)
{
	const struct iphdr *ip = ip_hdr(skb);
	const __be16 *ports;

	if (skb->protocol != htons(ETH_P_IP) || ip->protocol != IPPROTO_TCP)
		return 0;
	ports = (void *)ip + 4 * ip->ihl;
	return address_hash(ip->saddr, ip->daddr, ports[0], ports[1]);
}

static struct order *order_of(const struct Qdisc *qdisc)
{
	int i;

	for (i = 0; i < QUEUES; i++)
		if (orders[i].qdisc == qdisc)
			return &orders[i];
	return NULL;
}

static void on_enqueue(void *unused, struct Qdisc *qdisc, const struct netdev_queue *txq,
		       struct sk_buff *skb)
{
	struct order *order = order_of(qdisc);

	if (!order) {
		if (likely(qdisc->q.qlen < LONG_QUEUE))
			return;
		order = order_of(NULL);
		if (!order || !order->ring || !order->to)
			return;
		*order = (struct order){ .qdisc = qdisc, .ring = order->ring, .to = order->to };
	}
	order->to[order->in % RING_SIZE] = hash_of(skb);
	order->ring[order->in % RING_SIZE] = skb;
	fetch(&order->ring[(order->in + BATCH) % RING_SIZE]);
	fetch(&order->to[(order->in + 2 * BATCH) % RING_SIZE]);
	order->in++;
}

static __always_inline void fetch_head(struct sk_buff *skb)
{
	line(skb_shinfo(skb), 1);
	line(skb->data, 0);
	line(skb->data, 1);
}

static __always_inline void fetch_pages(struct sk_buff *skb)
{
	fetch_page(virt_to_page(skb));
	if (virt_addr_valid(skb->head))
		fetch_page(virt_to_page(skb->head));
}

/* What is looked at when the packet is freed; skbs themselves come from slabs of one page. */
static __always_inline void fetch_slab(const struct sk_buff *skb)
{
	const struct page *page = virt_to_page(skb->head);

	if (virt_addr_valid(skb->head) && compound_head(page) != page)
		fetch_page(compound_head(page));
}

/* What was sent after this; NULL at the end, or if it is none any more. */
static __always_inline struct sk_buff *sent_after(const struct sock *sk,
						  const struct list_head *anchor)
{
	const struct list_head *next = anchor->next;

	if (next == &tcp_sk(sk)->tsorted_sent_queue || !is_there(next))
		return NULL;
	return list_entry(next, struct sk_buff, tcp_tsorted_anchor);
}

/* What was sent last. */
static __always_inline struct sk_buff *sent_last(const struct sock *sk)
{
	return list_entry(tcp_sk(sk)->tsorted_sent_queue.prev, struct sk_buff, tcp_tsorted_anchor);
}

/* The first byte that the packet does not acknowledge. */
static __always_inline u32 acknowledged_by(const struct sk_buff *ack)
{
	const struct iphdr *ip = ip_hdr(ack);
	const struct tcphdr *tcp;

	if (!virt_addr_valid(ip))
		return 0;
	tcp = (void *)ip + 4 * ip->ihl;
	return virt_addr_valid(tcp + 1) ? ntohl(tcp->ack_seq) : 0;
}

/*
 * An acknowledgement of two packets frees what was sent as one; the next one of the same flow,
 * that comes before this is dealt with, what was sent after that. What it lets go lies ready only
 * where none comes before.
 */
static __always_inline void fetch_first(struct walk *walk, const struct walk *before)
{
	const struct sock *sk = walk->sk;

	walk->last = before ? before->last : NULL;
	walk->acked[0] = sent_after(sk, walk->last ? &walk->last->tcp_tsorted_anchor :
						     &tcp_sk(sk)->tsorted_sent_queue);
	walk->sent[0] = before ? NULL : waits_after(sk, (void *)&sk->sk_write_queue);
	walk->left = sk->tcp_rtx_queue.rb_node;
	walk->right = walk->left;
	walk->up = &sent_last(sk)->rbnode;
	fetch(walk->up);
	fetch(walk->left);
	fetch_pair(walk->acked[0]);
	fetch_pair(walk->sent[0]);
}

static __always_inline void fetch_second(struct walk *walk, const struct sk_buff *ack)
{
	struct sk_buff *skb = walk->acked[0];
	u32 upto, end;

	if (skb) {
		upto = acknowledged_by(ack);
		end = TCP_SKB_CB(skb)->end_seq;
		if (before(upto, end)) {
			walk->acked[0] = NULL;
		} else {
			walk->last = skb;
			if (after(upto, end))
				walk->acked[1] = sent_after(walk->sk, &skb->tcp_tsorted_anchor);
			if (walk->acked[1])
				walk->last = walk->acked[1];
			else
				/* the oldest then */
				fetch(sent_after(walk->sk, &skb->tcp_tsorted_anchor));
			fetch_pair(walk->acked[1]);
		}
	}
	skb = walk->sent[0];
	if (skb) {
		fetch(skb->next); /* linked to what is split off */
		if (skb->len < SENT_AT_ONCE)
			walk->sent[1] = waits_after(walk->sk, skb);
		fetch_pair(walk->sent[1]);
	}
}

static __always_inline void fetch_heads(const struct walk *walk)
{
	struct sk_buff *skb;
	int i;

	for (i = 0; i < 2; i++) {
		skb = walk->acked[i];
		if (skb && virt_addr_valid(skb->head)) {
			line(skb_shinfo(skb), 0);
			line(skb_shinfo(skb), 1);
			/* the next packet's headers, which takes this memory */
			line(skb->data - 1, 0);
			line(skb->data - 1, -1);
			fetch_pages(skb);
		}
		skb = walk->sent[i];
		if (skb && virt_addr_valid(skb->head)) {
			line(skb_shinfo(skb), 0);
			line(skb_shinfo(skb), 1);
			line(skb->data - 1, 0);
			line(skb->data - 1, -1);
		}
	}
}

/*
 * Of a long packet all but what is sent goes to a new one, whose memory is the acknowledgement's.
 */
static __always_inline void fetch_rest(const struct sock *sk, const struct sk_buff *ack)
{
	struct sk_buff *from = waits_after(sk, (void *)&sk->sk_write_queue);
	unsigned int fragments;

	if (!from || !virt_addr_valid(skb_shinfo(from)))
		return;
	fragments = skb_shinfo(from)->nr_frags;
	/* one on the first line, four on each that follows */
	if (fragments > 2)
		line(skb_shinfo(ack), 1);
	if (fragments > 5) {
		line(skb_shinfo(ack), 2);
		line(skb_shinfo(from), 2);
	}
	if (fragments > 9) {
		line(skb_shinfo(ack), 3);
		line(skb_shinfo(from), 3);
	}
	if (fragments > 13) {
		line(skb_shinfo(ack), 4);
		line(skb_shinfo(from), 4);
	}
	if (from->len < NEARLY_SENT)
		fetch_pair(waits_after(sk, from));
}

static __always_inline void fetch_slabs(const struct walk *walk)
{
	if (walk->acked[0])
		fetch_slab(walk->acked[0]);
	if (walk->acked[1])
		fetch_slab(walk->acked[1]);
}

static __always_inline void fetch_node(const struct rb_node *node)
{
	if (node)
		fetch(node);
}

/*
 * One step to the oldest packet, two to the newest, and to what is looked at when one is put in or
 * taken out.
 */
static __always_inline void go_down(struct walk *walk)
{
	struct rb_node *node;
	int i;

	for (i = 0; i < LEVELS; i++) {
		if (walk->siblings[i] && is_there(walk->siblings[i])) {
			fetch_node(walk->siblings[i]->rb_left);
			fetch_node(walk->siblings[i]->rb_right);
		}
		walk->siblings[i] = NULL;
	}
	node = walk->left;
	if (node && is_there(node)) {
		walk->left = node->rb_left;
		if (walk->left) {
			fetch(walk->left);
		} else {
			fetch_node(node->rb_right);
			for (i = 0; i < LEVELS; i++) {
				node = rb_parent(node);
				if (!node || !is_there(node))
					break;
				walk->siblings[i] = node->rb_right;
				fetch_node(node->rb_right);
			}
		}
	}
	node = walk->right;
	if (node && is_there(node)) {
		walk->right = node->rb_right;
		fetch_node(walk->right);
	}
	node = walk->up;
	if (node && is_there(node)) {
		walk->up = walk->climbed++ < CLIMB ? rb_parent(node) : NULL;
		fetch_node(walk->up);
		if (walk->climbed <= LEVELS + 1)
			fetch_node(node->rb_left);
	}
}

/*
 * Packets that were there before are passed over. If the first one known does
 * not come, the order is not that of arrival, or it was dropped: begin anew.
 */
static void on_dequeue(void *unused, struct Qdisc *qdisc, const struct netdev_queue *txq,
		       int packets, struct sk_buff *skb)
{
	struct order *order;
	struct sock *sk;
	bool is_ack;
	int i;

	if (!skb || !qdisc)
		return;
	order = order_of(qdisc);
	if (!order)
		return;
	if (order->ring[order->out % RING_SIZE] != skb) {
		if (++order->misses == MISSES_MAX)
			order->qdisc = NULL;
		return;
	}
	order->misses = 0;
	order->out++;
	if (order->in - order->out <= FARTHEST)
		return;

#define AHEAD(n) ((order->out + (n)) % RING_SIZE)
#define WALK(n)	 (&order->walks[AHEAD(n) % ARRAY_SIZE(order->walks)])
	fetch_skb(order->ring[AHEAD(SKB)]);
	fetch_head(order->ring[AHEAD(HEAD)]);
	fetch_pages(order->ring[AHEAD(PAGES)]);
	queue_tap_prefetch(order->ring[AHEAD(PAGES)]);
	fetch_slab(order->ring[AHEAD(SLAB)]);
	fetch(places[order->to[AHEAD(PLACE)] % BUCKETS]);
	sk = socket_of(order->to[AHEAD(SOCKET)]);
	is_ack = sk && order->ring[AHEAD(SOCKET)]->len < ACK_MAX;
	*WALK(SOCKET) = (struct walk){ .to = sk, .sk = is_ack ? sk : NULL };
	/* Two packets in a row are mostly the same flow's. */
	if (sk && sk != WALK(SOCKET - 1)->to)
		fetch_socket(sk, is_ack);
	sk = WALK(FIRST)->to;
	if (sk) {
		fetch(sk->sk_nulls_node.pprev);		      /* what it is found by */
		fetch(rcu_dereference_raw(sk->sk_user_data)); /* a sink's */
		fetch(sk->sk_socket);			      /* whether a program waits to write */
	}
	if (WALK(SECOND)->sk)
		fetch_second(WALK(SECOND), order->ring[AHEAD(SECOND)]);
	if (WALK(FIRST)->sk) {
		for (i = SECOND; i > 0 && WALK(i)->sk != WALK(FIRST)->sk; i--)
			;
		fetch_first(WALK(FIRST), i ? WALK(i) : NULL);
	}
	if (WALK(HEADS)->sk)
		fetch_heads(WALK(HEADS));
	if (WALK(ACKED_SLABS)->sk)
		fetch_slabs(WALK(ACKED_SLABS));
	if (WALK(REST)->sk)
		fetch_rest(WALK(REST)->sk, order->ring[AHEAD(REST)]);
	if (is_ack)
		for (i = LEAST; i < FIRST; i++)
			go_down(WALK(i));

	/*
	 * Translating the address of a page not used lately holds the processor up, even for a prefetch.
	 * It translates several at the same time.
	 */
	if (order->out % BATCH)
		return;
	line(&order->ring[AHEAD(RING)], 0);
	line(&order->ring[AHEAD(RING)], 1);
	fetch(&order->to[AHEAD(RING)]);
	for (i = 0; i < BATCH; i++)
		line(order->ring[AHEAD(SKB_PAGE + i)], 3);
	for (i = 0; i < BATCH; i++)
		line(skb_shinfo(order->ring[AHEAD(HEAD_PAGE + i)]), 0);
}

static int __init skb_prefetch_init(void)
{
	int i;

	if (!skb_prefetch_on)
		return 0;
	for (i = 0; i < QUEUES; i++) {
		orders[i].ring = (void *)__get_free_pages(GFP_KERNEL, RING_ORDER);
		orders[i].to = (void *)__get_free_pages(GFP_KERNEL, RING_ORDER - 1);
	}
	/* clang-format off: it takes each ?: for two operators */
	return register_trace_inet_sock_set_state(on_state, NULL)     ?:
		       register_trace_qdisc_enqueue(on_enqueue, NULL) ?:
		       register_trace_qdisc_dequeue(on_dequeue, NULL);
	/* clang-format on */
}
late_initcall(skb_prefetch_init);
