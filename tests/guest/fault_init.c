// SPDX-License-Identifier: Apache-2.0
/*
 * This init has deliberate faults. Each word of the file in/fault in the guest's directory selects one fault, and
 * "none" selects no fault. The tests compile this file: gcc -O1 -static.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

static void say(const char *text)
{
	if (write(1, text, strlen(text)) < 0)
		_exit(9);
}

static void eat_memory(void)
{
	for (;;) {
		char *page = malloc(1 << 20);

		if (!page)
			_exit(3);
		memset(page, 1, 1 << 20);
	}
}

static void write_end(const char *text)
{
	int file = open("/host/out/end.json", O_CREAT | O_WRONLY | O_TRUNC, 0644);

	if (file < 0 || write(file, text, strlen(text)) < 0 || close(file))
		_exit(4);
}

static void fill_disk(void)
{
	static char block[1 << 20];
	int file = open("/host/out/sockets.rec", O_CREAT | O_WRONLY, 0644);

	for (;;) {
		if (write(file, block, sizeof(block)) < 0) {
			printf("leowarp: {\"error\": \"writing out/sockets.rec: %s\", \"hint\": \"none\"}\n", strerror(errno));
			fflush(stdout);
			return;
		}
	}
}

static void tick(long virtual_s)
{
	for (long second = 1; second <= virtual_s; second++) {
		sleep(1);
		printf("leowarp: {\"t_ns\": %ld000000000}\n", second);
		fflush(stdout);
		/* this loop takes about 3 ms of the host's time, so that an endless run does not fill the disk */
		for (volatile long i = 0; i < 2000000; i++)
			;
	}
}

int main(void)
{
	/* Descriptor of the console, which is always writable */
	struct pollfd always = { .fd = 1, .events = POLLOUT };
	char fault[64] = "";
	int file, status;

	mkdir("/host", 0755);
	if (mount("none", "/host", "hostfs", 0, NULL))
		say("cannot mount /host\n");
	file = open("/host/in/fault", O_RDONLY);
	if (file < 0 || read(file, fault, sizeof(fault) - 1) < 0)
		say("cannot read in/fault\n");

	if (!strcmp(fault, "none")) {
		tick(3);
		write_end("{\"ok\": true, \"virtual_ns\": 3000000000, \"warnings\": [], \"conservation\": []}\n");
	} else if (!strcmp(fault, "no-end")) {
		tick(2);
	} else if (!strcmp(fault, "not-ok")) {
		write_end("{\"ok\": false}\n");
	} else if (!strcmp(fault, "exit")) {
		return 3;
	} else if (!strcmp(fault, "crash")) {
		*(volatile int *)8 = 1;
	} else if (!strcmp(fault, "memory-of-init")) {
		eat_memory();
	} else if (!strcmp(fault, "memory-of-child")) {
		if (!fork())
			eat_memory();
		wait(&status);
		write_end("{\"ok\": true, \"virtual_ns\": 0, \"warnings\": [], \"conservation\": []}\n");
	} else if (!strcmp(fault, "spin")) {
		for (;;)
			;
	} else if (!strcmp(fault, "call-in-child")) {
		if (!fork())
			for (;;)
				getpid();
		wait(&status);
	} else if (!strcmp(fault, "poll-in-child")) {
		if (!fork())
			for (;;)
				poll(&always, 1, -1);
		wait(&status);
	} else if (!strcmp(fault, "sleep")) {
		for (;;)
			pause();
	} else if (!strcmp(fault, "report")) {
		say("leowarp: {\"error\": \"cannot do it\", \"hint\": \"do something else\"}\n");
	} else if (!strcmp(fault, "disk")) {
		fill_disk();
	} else if (!strcmp(fault, "flood")) {
		for (;;)
			say("all work and no play makes the guest a dull one ..............................................\n");
	} else if (!strcmp(fault, "warning")) {
		/* Text that WARN_ON prints, at the log level of warnings */
		static const char *lines[] = { "<4>WARNING: CPU: 0 PID: 1 at net/ipv4/tcp.c:7 tcp_close+0x1/0x2",
					       "<4>Modules linked in:" };

		sleep(1);
		mknod("/kmsg", S_IFCHR | 0600, makedev(1, 11));
		file = open("/kmsg", O_WRONLY);
		for (int i = 0; i < 2; i++)
			if (file < 0 || write(file, lines[i], strlen(lines[i])) < 0)
				say("cannot write to the kernel's log\n");
		write_end("{\"ok\": true, \"virtual_ns\": 1000000000, \"warnings\": [], \"conservation\": []}\n");
	} else if (!strcmp(fault, "endless")) {
		tick(1000000);
	}
	sync();
	reboot(RB_POWER_OFF);
}
