// SPDX-License-Identifier: GPL-2.0
/*
 * Packet memory: packets that wait in different places lie in different places.
 *
 * Why: what a sender keeps until it is acknowledged, the segments that it has sent, and the
 * acknowledgements wait in queues of their own, and differently long. Taken from the same
 * caches, what one of them frees is the next one's, so each round trip mixes their memory
 * once more; after some seconds the packets of a queue lie in random order, every one on a page
 * of its own, whose address has to be translated anew. With caches of its own, what lies
 * one after the other in a queue mostly lies so in memory.
 *
 * Linux looks for the caches of struct sk_buff and of small heads in net_hotdata, so that is
 * set to what is about to be done. Where it is not known or wrong, that costs time and
 * nothing else: what is freed goes back to where it came from. No packet, queue or clock notices.
 */
#include <linux/init.h>
#include <linux/skbuff.h>
#include <linux/slab.h>
#include "packet_memory.h"

/* Free objects at hand: what is freed in a stretch of run_ahead.c is taken again from there. */
#define AT_HAND 252

struct kmem_cache *kept_heads, *sent_heads, *answer_heads, *sent_skbs, *answer_skbs;

/* A cache of the same objects; user: what may be copied to and from programs. */
static struct kmem_cache *__init another(struct kmem_cache *cache, const char *name,
					 unsigned int user_offset, unsigned int user_size)
{
	struct kmem_cache_args args = {
		.useroffset = user_offset,
		.usersize = user_size,
		.sheaf_capacity = AT_HAND,
	};

	return kmem_cache_create(name, kmem_cache_size(cache), &args,
				 SLAB_HWCACHE_ALIGN | SLAB_PANIC | SLAB_NO_MERGE);
}

static struct kmem_cache *__init heads(const char *name)
{
	struct kmem_cache *cache = net_hotdata.skb_small_head_cache;

	return another(cache, name, 0, SKB_WITH_OVERHEAD(kmem_cache_size(cache)));
}

static struct kmem_cache *__init skbs(const char *name)
{
	return another(net_hotdata.skbuff_cache, name, offsetof(struct sk_buff, cb),
		       sizeof_field(struct sk_buff, cb));
}

static int __init packet_memory_init(void)
{
	kept_heads = heads("skbuff_kept_head");
	sent_heads = heads("skbuff_sent_head");
	answer_heads = heads("skbuff_answer_head");
	sent_skbs = skbs("skbuff_sent");
	answer_skbs = skbs("skbuff_answer");
	net_hotdata.skbuff_fclone_cache =
		another(net_hotdata.skbuff_fclone_cache, "skbuff_kept", 0, 0);
	packet_memory_kept();
	return 0;
}
late_initcall(packet_memory_init);
