// SPDX-License-Identifier: Apache-2.0
/*
 * An init that waits several times for a datagram, which never comes. The timeout (SO_RCVTIMEO) uses the kernel's timer
 * wheel and starts in the middle of a tick. The tests compile this file: gcc -O1 -static. For each wait, end.json
 * contains the tick in which the wait began, and the length of the wait.
 */
#include <fcntl.h>
#include <netinet/in.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
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
	static char end[60 * WAITS];
	int fd, file, n;

	mkdir("/host", 0755);
	fd = socket(AF_INET, SOCK_DGRAM, 0);
	if (mount("none", "/host", "hostfs", 0, NULL) || prctl(PR_SET_TIMERSLACK, 1))
		return 5;
	n = sprintf(end, "{\"ok\": true, \"virtual_ns\": 0, \"warnings\": [], \"waits\": [");
	for (int i = 0; i < WAITS; i++) {
		/* The loop alternates between two timeouts: the longest that can end at any tick, and the shortest that
		 * is rounded to 8 ticks (LVL_START of kernel/time/timer.c) */
		struct timeval patience = { .tv_usec = 62000 + 1000 * (i % 2) };
		int64_t tick = now_ns() / TICK_NS + 1, middle_ns = tick * TICK_NS + TICK_NS / 2;
		struct timespec until = { middle_ns / 1000000000, middle_ns % 1000000000 };
		char byte;

		if (setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience)))
			return 6;
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
		if (recv(fd, &byte, 1, 0) != -1)
			return 7;
		n += sprintf(end + n, "%s[%lld, %lld]", i ? ", " : "", (long long)tick, (long long)(now_ns() - middle_ns));
	}
	n += sprintf(end + n, "]}");
	file = open("/host/out/end.json", O_WRONLY | O_CREAT, 0644);
	if (file < 0 || write(file, end, n) != n || close(file))
		return 8;
	sync();
	reboot(RB_POWER_OFF);
	return 0;
}
