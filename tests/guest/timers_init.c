// SPDX-License-Identifier: Apache-2.0
/*
 * An init that waits in vain for a datagram, by the kernel's timer wheel (SO_RCVTIMEO), from within many ticks one after the
 * other: of those, some 1 in 104 has a timer of the kernel's housekeeping expire (tcp_orphan_update).
 * Compiled by the tests: gcc -O1 -static. end.json has the shortest and the longest wait.
 */
#include <fcntl.h>
#include <netinet/in.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/reboot.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define TICK_NS 1000000LL
#define WAITS 400

static int64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000LL + t.tv_nsec;
}

int main(void)
{
	/* 63 ticks are the least that the wheel rounds to 8, seen from the tick itself (LVL_START of kernel/time/timer.c) */
	struct timeval patience = { .tv_usec = 63000 };
	int64_t least_ns = INT64_MAX, most_ns = 0;
	int fd, file, n;
	char end[300];

	mkdir("/host", 0755);
	fd = socket(AF_INET, SOCK_DGRAM, 0);
	if (mount("none", "/host", "hostfs", 0, NULL) || prctl(PR_SET_TIMERSLACK, 1) ||
	    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience)))
		return 5;
	for (int i = 0; i < WAITS; i++) {
		int64_t in_tick_ns = (now_ns() / TICK_NS + 1) * TICK_NS + TICK_NS / 2, waited_ns;
		struct timespec until = { in_tick_ns / 1000000000, in_tick_ns % 1000000000 };

		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
		if (recv(fd, end, sizeof(end), 0) != -1)
			return 6;
		waited_ns = now_ns() - in_tick_ns;
		least_ns = waited_ns < least_ns ? waited_ns : least_ns;
		most_ns = waited_ns > most_ns ? waited_ns : most_ns;
	}
	n = snprintf(end, sizeof(end), "{\"ok\": true, \"virtual_ns\": 0, \"warnings\": [], \"waits\": %d, \"least_ns\": %lld, \"most_ns\": %lld}", WAITS, (long long)least_ns,
		     (long long)most_ns);
	file = open("/host/out/end.json", O_WRONLY | O_CREAT, 0644);
	if (file < 0 || write(file, end, n) != n || close(file))
		return 7;
	sync();
	reboot(RB_POWER_OFF);
	return 0;
}
