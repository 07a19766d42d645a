/* SPDX-License-Identifier: GPL-2.0 */
/* What skb_prefetch.c and prefetch_paced.c ask for: the lines of packets and sockets. */
#ifndef __UM_PREFETCH_H
#define __UM_PREFETCH_H

#include <linux/mm.h>
#include <linux/skbuff.h>
#include <net/tcp.h>

extern bool skb_prefetch_on;

/*
 * Into the second-level cache: the first would not hold it until its turn, and has
 * a third as many places for what is on its way.
 */
static __always_inline void fetch(const void *address)
{
	__builtin_prefetch(address, 0, 2);
}

/* Whether all of what may be an skb can be read. */
static __always_inline bool is_there(const void *skb)
{
	return virt_addr_valid(skb) &&
	       virt_addr_valid((char *)skb + sizeof(struct sk_buff_fclones));
}

static __always_inline void line(const void *object, int number)
{
	fetch((char *)object + number * L1_CACHE_BYTES);
}

/* 56 bytes long, so it lies on two lines as often as not */
static __always_inline void fetch_page(const struct page *page)
{
	fetch(page);
	fetch((char *)page + sizeof(*page) - 1);
}

/* Each line by itself: the compiler drops a loop that does nothing but prefetch. */
static __always_inline void fetch_skb(const void *skb)
{
	line(skb, 0);
	line(skb, 1);
	line(skb, 2);
	line(skb, 3);
}

/*
 * The lines of struct tcp_sock that a data packet, and those that an acknowledgement
 * uses. Which they are changes with the kernel; a wrong one costs time and nothing else.
 */
static __always_inline void fetch_socket(const struct sock *sk, bool is_ack)
{
	line(sk, 0);
	line(sk, 1);
	line(sk, 2);
	line(sk, 3);
	line(sk, 4);
	line(sk, 5);
	line(sk, 6);
	line(sk, 7);
	line(sk, 8);
	line(sk, 9);
	line(sk, 11);
	line(sk, 14);
	line(sk, 16);
	line(sk, 17);
	line(sk, 18);
	line(sk, 21);
	line(sk, 22);
	line(sk, 23);
	line(sk, 24);
	line(sk, 25);
	line(sk, 26);
	line(sk, 27);
	line(sk, 28);
	line(sk, 29);
	if (!is_ack)
		return;
	line(sk, 10);
	line(sk, 19);
	line(sk, 20);
	line(sk, 33);
	line(sk, 35);
}

/* What waits to be sent after this. */
static __always_inline struct sk_buff *waits_after(const struct sock *sk, struct sk_buff *skb)
{
	skb = skb->next;
	return (void *)skb != &sk->sk_write_queue && is_there(skb) ? skb : NULL;
}

/* With its clone, which is what is sent. */
static __always_inline void fetch_pair(const struct sk_buff *skb)
{
	if (!skb)
		return;
	fetch_skb(skb);
	line(skb, 4);
	line(skb, 5);
	line(skb, 6);
}

#endif
