// SPDX-License-Identifier: Apache-2.0
/*
 * What two processes on two processors pay to go on in lock-step, and to hand packets over.
 *
 *	handover ROUNDS WORK_NS futex|spin|socket PACKETS
 *
 * Each of two processes, one on each of the first two processors that it may use, computes for WORK_NS, puts PACKETS
 * packets of 1500 bytes into a ring in shared memory, says that its window is over, waits until the other has said so
 * too, and takes the other's packets out into memory of its own. Prints one line of JSON: the time a window took beyond
 * WORK_NS, by the clock on the wall (smallest, lower quartile, median) and by the processors' time of both.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/futex.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#define PACKET_BYTES	1500
#define RING_PKTS	1024
#define OWN_PKTS	65536	/* 98 MB: a guest's packets have left its cache by the time that they are copied */

enum way { FUTEX, SPIN, SOCKET };

struct side {
	_Atomic uint32_t windows;	/* that it has ended */
	char rest[60];			/* a cache line each */
	char ring[2][RING_PKTS][PACKET_BYTES];	/* of even and of odd windows */
};

static void fail(const char *what)
{
	perror(what);
	exit(1);
}

static uint64_t clock_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return t.tv_sec * 1000000000ull + t.tv_nsec;
}

/* Says that window `number` is over, and waits for the other's. */
static void meet(struct side *own, struct side *other, uint32_t number, enum way way, int fd)
{
	char byte = 0;

	atomic_store(&own->windows, number);
	if (way == SOCKET) {
		if (write(fd, &byte, 1) != 1 || read(fd, &byte, 1) != 1)
			fail("socket");
		return;
	}
	if (way == FUTEX)
		syscall(SYS_futex, &own->windows, FUTEX_WAKE, 1, NULL, NULL, 0);
	for (;;) {
		uint32_t seen = atomic_load(&other->windows);

		if (seen >= number)
			return;
		if (way == FUTEX)
			syscall(SYS_futex, &other->windows, FUTEX_WAIT, seen, NULL, NULL, 0);
		else
			__builtin_ia32_pause();
	}
}

static void keep_to(int number)
{
	cpu_set_t all, one;
	int cpu = 0;

	if (sched_getaffinity(0, sizeof(all), &all))
		fail("sched_getaffinity");
	if (CPU_COUNT(&all) < 2) {
		fprintf(stderr, "handover: needs two processors\n");
		exit(3);
	}
	for (;; cpu++)
		if (CPU_ISSET(cpu, &all) && number-- == 0)
			break;
	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	if (sched_setaffinity(0, sizeof(one), &one))
		fail("sched_setaffinity");
}

static char *own_packets(void)
{
	char *packets = mmap(NULL, (size_t)OWN_PKTS * PACKET_BYTES, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

	if (packets == MAP_FAILED)
		fail("mmap");
	return packets;
}

/* Goes through the windows; the length of each in `window_ns`, if it is not NULL. */
static void run(struct side *own, struct side *other, int rounds, uint64_t work_ns, enum way way, int packets, int fd,
		uint64_t *window_ns)
{
	char *memory = packets ? own_packets() : NULL;
	uint32_t at = 0;

	for (int i = 1; i <= rounds; i++) {
		uint64_t began = clock_ns(CLOCK_MONOTONIC);

		/* Its own processor time: what others do on the processor is not its work */
		for (uint64_t from = clock_ns(CLOCK_THREAD_CPUTIME_ID); clock_ns(CLOCK_THREAD_CPUTIME_ID) - from < work_ns;)
			;
		for (int p = 0; p < packets; p++)
			memcpy(own->ring[i & 1][p], memory + (size_t)(at++ % OWN_PKTS) * PACKET_BYTES, PACKET_BYTES);
		meet(own, other, i, way, fd);
		for (int p = 0; p < packets; p++)
			memcpy(memory + (size_t)(at++ % OWN_PKTS) * PACKET_BYTES, other->ring[i & 1][p], PACKET_BYTES);
		if (window_ns)
			window_ns[i - 1] = clock_ns(CLOCK_MONOTONIC) - began;
	}
}

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static double used_us(int who)
{
	struct rusage used;

	getrusage(who, &used);
	return used.ru_utime.tv_sec * 1e6 + used.ru_utime.tv_usec + used.ru_stime.tv_sec * 1e6 + used.ru_stime.tv_usec;
}

int main(int argc, char **argv)
{
	int rounds, packets, fds[2], status;
	uint64_t work_ns, *window_ns;
	double before_us, both_us;
	struct side *sides;
	enum way way;
	pid_t child;

	if (argc != 5 || (rounds = atoi(argv[1])) < 1 || (packets = atoi(argv[4])) < 0 || packets > RING_PKTS) {
		fprintf(stderr, "handover ROUNDS WORK_NS futex|spin|socket PACKETS (up to %d)\n", RING_PKTS);
		return 2;
	}
	work_ns = strtoull(argv[2], NULL, 10);
	way = !strcmp(argv[3], "futex") ? FUTEX : !strcmp(argv[3], "spin") ? SPIN : SOCKET;
	sides = mmap(NULL, 2 * sizeof(*sides), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	window_ns = calloc(rounds, sizeof(*window_ns));
	if (sides == MAP_FAILED || !window_ns || socketpair(AF_UNIX, SOCK_STREAM, 0, fds))
		fail("setting up");
	child = fork();
	if (child < 0)
		fail("fork");
	if (!child) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		keep_to(1);
		run(&sides[1], &sides[0], rounds, work_ns, way, packets, fds[1], NULL);
		_exit(0);
	}
	keep_to(0);
	before_us = used_us(RUSAGE_SELF);
	run(&sides[0], &sides[1], rounds, work_ns, way, packets, fds[0], window_ns);
	both_us = used_us(RUSAGE_SELF) - before_us;
	if (waitpid(child, &status, 0) != child || status)
		return 1;
	both_us += used_us(RUSAGE_CHILDREN);
	qsort(window_ns, rounds, sizeof(*window_ns), by_value);
	printf("{\"least_us\": %.3f, \"quartile_us\": %.3f, \"median_us\": %.3f, \"cpu_us\": %.3f}\n",
	       (window_ns[0] - (double)work_ns) / 1e3, (window_ns[rounds / 4] - (double)work_ns) / 1e3,
	       (window_ns[rounds / 2] - (double)work_ns) / 1e3, both_us / rounds - 2 * (work_ns / 1e3));
	return 0;
}
