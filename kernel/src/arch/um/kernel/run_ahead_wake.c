// SPDX-License-Identifier: GPL-2.0
/*
 * Whom the packets at the bottleneck may wake, see run_ahead.c.
 *
 * Why: what the bottleneck sends in a stretch must wake nobody. All but data for a TCP socket that a
 * sink reads might; such packets are counted from when they come to the bottleneck until they are gone.
 */
#include <linux/ip.h>
#include <linux/skbuff.h>
#include <linux/tcp.h>
#include <net/ip.h>
#include <net/tcp.h>
#include <trace/events/sock.h>
#include "run_ahead.h"

static u16 unread[U16_MAX + 1]; /* connections to each TCP port whose receiver no sink reads */
u32 run_ahead_unsafe;		/* packets at the bottleneck that may wake somebody */

/* Data for a sink; wakes nobody. */
static bool is_safe(const struct sk_buff *skb)
{
	const struct iphdr *ip = (void *)skb_network_header(skb);
	const struct tcphdr *tcp = (void *)(ip + 1);

	return skb->protocol == htons(ETH_P_IP) && (u8 *)(tcp + 1) <= skb_tail_pointer(skb) &&
	       ip->ihl == 5 && ip->protocol == IPPROTO_TCP && !ip_is_fragment(ip) &&
	       (tcp_flag_word(tcp) & (TCP_FLAG_SYN | TCP_FLAG_FIN | TCP_FLAG_RST | TCP_FLAG_URG |
				      TCP_FLAG_ACK)) == TCP_FLAG_ACK &&
	       ntohs(ip->tot_len) > sizeof(*ip) + 4 * tcp->doff && !unread[ntohs(tcp->dest)];
}

static void on_state(void *unused, const struct sock *sk, const int old, const int new)
{
	if (old == TCP_SYN_SENT && new == TCP_ESTABLISHED)
		unread[ntohs(sk->sk_dport)]++;
}

void run_ahead_sink(const struct sock *sk)
{
	if (unread[sk->sk_num])
		unread[sk->sk_num]--;
}

static void unsafe_gone(struct sk_buff *skb)
{
	run_ahead_unsafe--;
}

bool run_ahead_may_wake(const struct sk_buff *skb)
{
	return !is_safe(skb);
}

void run_ahead_follow(struct sk_buff *skb)
{
	if (is_safe(skb))
		return;
	skb_orphan(skb);
	skb->destructor = unsafe_gone;
	run_ahead_unsafe++;
}

int run_ahead_watch(void)
{
	return register_trace_inet_sock_set_state(on_state, NULL);
}
