/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the guest kernel and the programs of one address space share about the
 * time, in the stub's memory; clock_page.c says how.
 */
#ifndef __STUB_CLOCK_H
#define __STUB_CLOCK_H

#define STUB_CLOCKS 12 /* CLOCK_REALTIME to CLOCK_TAI */

struct stub_clock {
	unsigned long now;   /* of the clocksource, all reads counted */
	unsigned long until; /* the kernel is called from there on; 0: always */
	unsigned long price; /* of the last read */
	unsigned long calls; /* that were answered here since the kernel was left */
	unsigned long resolution;
	unsigned long coarse_resolution;
	int minuteswest, dsttime; /* what gettimeofday() calls the time zone */
	long base[STUB_CLOCKS]; /* by clockid_t: that clock when `now` is 0; the coarse ones' time */
};

void clock_page_open(struct stub_clock *clock);
unsigned long clock_page_close(struct stub_clock *clock);

#endif
