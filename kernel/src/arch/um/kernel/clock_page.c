// SPDX-License-Identifier: GPL-2.0
/*
 * The clock page: a program reads the clock without a system call.
 *
 * Why: a system call of a guest's program is two context switches of the host, and
 * three of five calls of a browser read a clock. In virtual time such a call
 * does little: it moves the time by the price of a read and says what it is then.
 * The vDSO does that by itself where nothing else would happen: whenever a program
 * is let run it finds the time, the price and the time of the next event in
 * its stub's memory (struct stub_clock). It pays as timer_read() would and counts;
 * where the time would reach the event it makes the call. The kernel takes over what
 * was read at its next entry, before anything else, so it and the program see the same
 * times as with calls, and clock_page.on=0 gives the same bytes.
 *
 * One address space has one stub, and only one task runs at a time, so nobody else
 * reads or writes meanwhile. Pricing, comparing and counting are one run of instructions
 * without a memory access that could fault, and guests' signals come only from the
 * kernel: a reader is not interrupted there, but by a debugger's single steps, and then the
 * page is closed. A program may write what it likes into its stub; what is
 * no time between the last entry and the next event is not believed. Nothing of the
 * host's time stands in it.
 */
#include <linux/init.h>
#include <linux/hrtimer.h>
#include <linux/minmax.h>
#include <linux/module.h>
#include <linux/moduleparam.h>
#include <linux/proc_fs.h>
#include <linux/pvclock_gtod.h>
#include <linux/sched.h>
#include <linux/seq_file.h>
#include <linux/string.h>
#include <linux/time.h>
#include <linux/time-internal.h>
#include <linux/timekeeper_internal.h>
#include <kern_util.h>
#include <stub_clock.h>
#include "clock_page.h"

/* clock_page.on=0: to show that nothing notices. */
static bool on = true;
module_param(on, bool, 0444);

static bool is_exact; /* the clocks go by the nanosecond as the clock of time travel does */
static long base[STUB_CLOCKS];
static unsigned long until; /* what the page says, or said before a program could write it */
static unsigned long entries, answered;

/* The kernel's clocks have got new bases, as they do at every tick. */
static int bases_changed(struct notifier_block *block, unsigned long was_set, void *data)
{
	const struct timekeeper *tk = data;
	const struct tk_read_base *mono = &tk->tkr_mono, *raw = &tk->tkr_raw;

	is_exact = mono->clock == &timer_clocksource && mono->mult == 1u << mono->shift &&
		   raw->mult == 1u << raw->shift;
	base[CLOCK_MONOTONIC] = mono->base + (mono->xtime_nsec >> mono->shift) - mono->cycle_last;
	base[CLOCK_MONOTONIC_RAW] = raw->base + (raw->xtime_nsec >> raw->shift) - raw->cycle_last;
	base[CLOCK_REALTIME] = base[CLOCK_MONOTONIC] + tk->offs_real;
	base[CLOCK_BOOTTIME] = base[CLOCK_MONOTONIC] + tk->offs_boot;
	base[CLOCK_TAI] = base[CLOCK_MONOTONIC] + tk->offs_tai;
	base[CLOCK_REALTIME_COARSE] = tk->xtime_sec * NSEC_PER_SEC + tk->coarse_nsec;
	base[CLOCK_MONOTONIC_COARSE] = base[CLOCK_REALTIME_COARSE] - tk->offs_real;
	return 0;
}

static struct notifier_block of_bases = { .notifier_call = bases_changed };

/* Before a program is let run: nothing happens until the next event. */
void clock_page_open(struct stub_clock *clock)
{
	until = 0;
	if (on && is_exact && time_travel_mode == TT_MODE_INFCPU && !singlestepping())
		until = time_travel_next();
	clock->now = time_travel_time;
	clock->until = until;
	clock->price = time_travel_price();
	clock->calls = 0;
	clock->resolution = hrtimer_resolution;
	clock->coarse_resolution = TICK_NSEC;
	clock->minuteswest = sys_tz.tz_minuteswest;
	clock->dsttime = sys_tz.tz_dsttime;
	memcpy(clock->base, base, sizeof(base));
}

/* Once it has stopped, before anything looks at the time. The calls that it was spared. */
unsigned long clock_page_close(struct stub_clock *clock)
{
	unsigned long now = clock->now, calls = clock->calls;

	entries += 1;
	if (!until)
		return 0;
	if (now > time_travel_time && now < until)
		time_travel_charge(now, clock->price);
	answered += calls;
	return calls;
}

/* How often the kernel was entered by programs, and how often it was not for a clock. */
static int show(struct seq_file *file, void *unused)
{
	seq_printf(file, "%lu %lu\n", entries, answered);
	return 0;
}

static int __init clock_page_init(void)
{
	proc_create_single("clock_page", 0600, NULL, show);
	return pvclock_gtod_register_notifier(&of_bases);
}
late_initcall(clock_page_init);
