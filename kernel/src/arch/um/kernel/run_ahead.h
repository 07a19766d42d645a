/* SPDX-License-Identifier: GPL-2.0 */
/* What the clock and the sink tell run_ahead.c; nothing where the kernel is built without it. */
#ifndef __UM_RUN_AHEAD_H
#define __UM_RUN_AHEAD_H

#include <linux/types.h>

struct sk_buff;
struct sock;

#ifdef CONFIG_RUN_AHEAD
void run_ahead(void);
/* A TCP socket has become one that no program reads. */
void run_ahead_sink(const struct sock *sk);
/* For run_ahead.c: packets at the bottleneck that may wake somebody, whether this one may, and that it comes there. */
extern u32 run_ahead_unsafe;
bool run_ahead_may_wake(const struct sk_buff *skb);
void run_ahead_follow(struct sk_buff *skb);
/* From now on connections are watched. */
int run_ahead_watch(void);
#else
static inline void run_ahead(void)
{
}
static inline void run_ahead_sink(const struct sock *sk)
{
}
#endif

#endif
