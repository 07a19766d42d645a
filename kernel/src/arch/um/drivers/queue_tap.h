/* SPDX-License-Identifier: GPL-2.0 */
/* What skb_prefetch.c asks of the queue tap, and the tap of its flows. */
#ifndef __UM_QUEUE_TAP_H
#define __UM_QUEUE_TAP_H

#include <linux/types.h>

struct sk_buff;
struct tap_file;

/* The number of a packet's flow; one that was not met before gets a record. 0: no memory, which is noted. */
u32 queue_tap_flow(const struct sk_buff *skb, u8 hop, struct tap_file *file);

#ifdef CONFIG_QUEUE_TAP
/* Asks for what is kept of a packet that waits; it was itself asked for before. */
void queue_tap_prefetch(struct sk_buff *skb);
#else
static inline void queue_tap_prefetch(struct sk_buff *skb)
{
}
#endif

#endif
