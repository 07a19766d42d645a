/* SPDX-License-Identifier: GPL-2.0 */
/* Tells packet_memory.c what is about to be done. */
#ifndef __UM_PACKET_MEMORY_H
#define __UM_PACKET_MEMORY_H

#include <net/hotdata.h>

extern struct kmem_cache *kept_heads, *sent_heads, *answer_heads, *sent_skbs, *answer_skbs;

/* What is allocated from now on is kept by its sender until it is acknowledged. */
static inline void packet_memory_kept(void)
{
	net_hotdata.skb_small_head_cache = kept_heads;
	net_hotdata.skbuff_cache = sent_skbs;
}

/* From now on, until one is on its way, the heads of the segments that a packet is cut into. */
static inline void packet_memory_segments(void)
{
	net_hotdata.skb_small_head_cache = sent_heads;
}

/* A packet is on its way. */
static inline void packet_memory_sent(void)
{
	if (net_hotdata.skb_small_head_cache == sent_heads)
		net_hotdata.skb_small_head_cache = kept_heads;
}

/* From now on, what answers a packet that was received. */
static inline void packet_memory_answers(void)
{
	net_hotdata.skb_small_head_cache = answer_heads;
	net_hotdata.skbuff_cache = answer_skbs;
}

#endif
