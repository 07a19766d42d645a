/* SPDX-License-Identifier: GPL-2.0 */
/* What clock_page.c asks of time travel. */
#ifndef __CLOCK_PAGE_H
#define __CLOCK_PAGE_H

#include <linux/clocksource.h>

extern struct clocksource timer_clocksource;

unsigned long time_travel_price(void);
unsigned long long time_travel_next(void);
void time_travel_charge(unsigned long long now, unsigned long price);

#endif
