/* SPDX-License-Identifier: GPL-2.0 */
/* What the clock and the sink tell run_ahead.c; nothing where the kernel is built without it. */
#ifndef __UM_RUN_AHEAD_H
#define __UM_RUN_AHEAD_H

struct sock;

#ifdef CONFIG_RUN_AHEAD
void run_ahead(void);
/* A TCP socket has become one that no program reads. */
void run_ahead_sink(const struct sock *sk);
#else
static inline void run_ahead(void)
{
}
static inline void run_ahead_sink(const struct sock *sk)
{
}
#endif

#endif
