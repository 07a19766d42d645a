// SPDX-License-Identifier: GPL-2.0
/*
 * What libgcov needs of the program around it, linked into the kernel that is profiled and into no other. UML
 * gives malloc() the guest's memory, in whose allocator the counters themselves are: so they get a pool.
 * The counts are written when the program ends.
 */
#include <stddef.h>

#define POOL_BYTES (64UL << 20)

void *gcov_malloc(size_t size);
void *gcov_calloc(size_t count, size_t size);
void gcov_free(void *memory);
void __gcov_dump(void);

static char pool[POOL_BYTES] __attribute__((aligned(16)));
static size_t used;

void *gcov_malloc(size_t size)
{
	void *memory = pool + used;

	size = (size + 15) & ~(size_t) 15;
	if (size > sizeof(pool) - used)
		return NULL;
	used += size;
	return memory;
}

void *gcov_calloc(size_t count, size_t size)
{
	return gcov_malloc(count * size); /* the pool begins as zeros and nothing is used twice */
}

void gcov_free(void *memory)
{
	(void) memory;
}

static void __attribute__((destructor)) write_counts(void)
{
	__gcov_dump();
}
