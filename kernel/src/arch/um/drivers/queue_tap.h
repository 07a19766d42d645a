/* SPDX-License-Identifier: GPL-2.0 */
/* What skb_prefetch.c asks of the queue tap. */
#ifndef __UM_QUEUE_TAP_H
#define __UM_QUEUE_TAP_H

struct sk_buff;

#ifdef CONFIG_QUEUE_TAP
/* Asks for what is kept of a packet that waits; it was itself asked for before. */
void queue_tap_prefetch(struct sk_buff *skb);
#else
static inline void queue_tap_prefetch(struct sk_buff *skb)
{
}
#endif

#endif
