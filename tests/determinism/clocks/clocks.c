// Reads every clock in every way and prints what it saw: with and without the clock page it is the same.
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static const int clocks[] = {CLOCK_REALTIME, CLOCK_MONOTONIC, CLOCK_PROCESS_CPUTIME_ID, CLOCK_THREAD_CPUTIME_ID,
			     CLOCK_MONOTONIC_RAW, CLOCK_REALTIME_COARSE, CLOCK_MONOTONIC_COARSE, CLOCK_BOOTTIME,
			     CLOCK_TAI};
#define CLOCKS (sizeof(clocks) / sizeof(clocks[0]))

static long long ns(int clock)
{
	struct timespec t;

	if (clock_gettime(clock, &t))
		return -1;
	return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static void every_clock(const char *when)
{
	struct timespec t;
	struct timezone zone = {7, 7};
	struct timeval v;

	printf("%s", when);
	for (unsigned int i = 0; i < CLOCKS; i++) {
		printf(" %lld", ns(clocks[i]));
		syscall(SYS_clock_gettime, clocks[i], &t);
		printf(" %lld.%09ld", (long long)t.tv_sec, t.tv_nsec);
		clock_getres(clocks[i], &t);
		printf(" %lld.%09ld", (long long)t.tv_sec, t.tv_nsec);
	}
	gettimeofday(&v, &zone);
	printf(" %lld.%06ld %d %d", (long long)v.tv_sec, (long)v.tv_usec, zone.tz_minuteswest, zone.tz_dsttime);
	gettimeofday(&v, NULL);
	printf(" %lld.%06ld %lld %d\n", (long long)v.tv_sec, (long)v.tv_usec, (long long)time(NULL),
	       clock_gettime(77, &t));
}

static volatile int rung;

static void ring(int signal)
{
	rung = signal;
}

// Each kind for ten thousand reads in a row, which ticks of the kernel's timer fall into.
static void in_a_row(void)
{
	static long long seen[10000];
	struct timeval v;

	for (unsigned int c = 0; c < CLOCKS; c++) {
		for (int i = 0; i < 10000; i++)
			seen[i] = ns(clocks[c]);
		for (int i = 0; i < 10000; i++)
			printf("%d %lld\n", clocks[c], seen[i]);
	}
	for (int i = 0; i < 10000; i++) {
		gettimeofday(&v, NULL);
		seen[i] = v.tv_sec * 1000000LL + v.tv_usec;
	}
	for (int i = 0; i < 10000; i++)
		printf("gettimeofday %lld\n", seen[i]);
}

static void across_a_timer(void)
{
	struct itimerval soon = {{0, 0}, {0, 2345}};
	long reads = 0;
	long long before, now = 0;

	signal(SIGALRM, ring);
	before = ns(CLOCK_MONOTONIC);
	setitimer(ITIMER_REAL, &soon, NULL);
	while (!rung && ++reads)
		now = ns(CLOCK_MONOTONIC);
	printf("timer after %ld reads, %lld ns\n", reads, now - before);
	// A loop that waits for the clock ends.
	for (reads = 0; ns(CLOCK_MONOTONIC) < now + 3000000; reads++)
		;
	printf("3 ms after %ld reads\n", reads);
}

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void *thread(void *name)
{
	struct timespec nap = {0, 1000};

	for (int i = 0; i < 300; i++) {
		pthread_mutex_lock(&lock);
		printf("%s %lld %lld\n", (char *)name, ns(CLOCK_MONOTONIC), ns(CLOCK_REALTIME));
		pthread_mutex_unlock(&lock);
		if (i % 7 == 0)
			nanosleep(&nap, NULL);
	}
	return NULL;
}

static void threads_and_children(void)
{
	pthread_t one, other;

	pthread_create(&one, NULL, thread, "one");
	pthread_create(&other, NULL, thread, "other");
	pthread_join(one, NULL);
	pthread_join(other, NULL);
	for (int child = 0; child < 3; child++) {
		fflush(stdout);
		if (fork() == 0) {
			thread("child");
			fflush(stdout);
			_exit(0);
		}
	}
	while (wait(NULL) > 0)
		;
}

// What a program writes may lie in a page that is not there yet.
static void into_new_pages(void)
{
	for (int i = 0; i < 50; i++) {
		struct timespec *page = aligned_alloc(4096, 1 << 20);

		clock_gettime(CLOCK_MONOTONIC, page);
		printf("new page %lld.%09ld\n", (long long)page->tv_sec, page->tv_nsec);
	}
}

static void with_naps(long reads)
{
	struct timespec nap = {0, 1000};
	long long sum = 0;

	for (long i = 0; i < reads; i++) {
		sum += ns(CLOCK_MONOTONIC);
		if (i % 100 == 99)
			nanosleep(&nap, NULL);
	}
	printf("%ld reads with naps: %lld, now %lld\n", reads, sum, ns(CLOCK_MONOTONIC));
}

int main(int argc, char **argv)
{
	every_clock("first");
	if (argc > 1)
		with_naps(atol(argv[1]));
	else {
		in_a_row();
		across_a_timer();
		threads_and_children();
		into_new_pages();
		with_naps(20000);
	}
	every_clock("last");
	return 0;
}
