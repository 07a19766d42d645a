// SPDX-License-Identifier: GPL-2.0
/* A clock for the tests that a program reads for nothing. In virtual time reading the clock costs a program
 * some ns, or one that polls it would never end; with this, programs take no time at all, and two programs
 * that differ only in how often they wake up can be compared to the ns. `time` is where the kernel keeps its
 * virtual time (time_travel_time in System.map). */
#include <linux/clocksource.h>
#include <linux/module.h>

static unsigned long time;
module_param(time, ulong, 0444);
MODULE_PARM_DESC(time, "address of time_travel_time");

static u64 free_read(struct clocksource *cs)
{
	return READ_ONCE(*(unsigned long long *)time);
}

static struct clocksource free_clock = {
	.name	= "free",
	.rating	= 400,
	.read	= free_read,
	.mask	= CLOCKSOURCE_MASK(64),
	.flags	= CLOCK_SOURCE_IS_CONTINUOUS,
	.owner	= THIS_MODULE,
};

static int __init free_register(void)
{
	if (!time)
		return -EINVAL;
	return clocksource_register_hz(&free_clock, NSEC_PER_SEC);
}

module_init(free_register);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("a clock that costs nothing to read, for tests in virtual time");
