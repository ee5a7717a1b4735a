// SPDX-License-Identifier: Apache-2.0
/*
 * The init of a guest that runs one command as root with all capabilities. The command can read the host's file system,
 * but not write to it. The directories of devices, processes and temporary files belong to the guest. `attempt.py`
 * compiles this program and boots it.
 *
 * The first line of /host/in/command is the virtual time in seconds after which all processes are killed. The second
 * line is the working directory. Each further line is one word of the command. /host/in has links to three directories
 * of the host: root, packetdrill and scripts. In the guest, root becomes /; packetdrill and scripts become two
 * directories below /run. The command's output goes to /host/out/printed. The command's wait status (wait(2)) goes into
 * end.json.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/personality.h>
#include <sys/reboot.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define WORDS 100

static char *const environment[] = {
	"PATH=/run/first:/run/packetdrill:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
	"HOME=/tmp",
	"LANG=C.UTF-8",
	"PYTHONHASHSEED=0",
	"PYTHONDONTWRITEBYTECODE=1",
	NULL,
};

/*
 * An IPv6 address is usable only after a worker of the kernel has processed it (addrconf_dad_work). The guest has one
 * processor. While tasks with the scheduling policy that `run` sets use this processor, the worker waits. Computing
 * takes no virtual time. The wrapper of `ip` sleeps after it adds an address, so that the worker can process the
 * address.
 */
static const char ip[] = "#!/bin/bash\n"
			 "real=$(PATH=${PATH#*:} type -P ip)\n"
			 "\"$real\" \"$@\"\n"
			 "status=$?\n"
			 "[[ \"$1 $2 $3\" != \"addr add \"*:* ]] || sleep 0.001\n"
			 "exit $status\n";

/* Name, type, and major and minor number (Documentation/admin-guide/devices.txt) */
static const struct {
	const char *name;
	int major, minor;
} devices[] = {
	{ "/dev/null", 1, 3 },    { "/dev/zero", 1, 5 },     { "/dev/full", 1, 7 },
	{ "/dev/random", 1, 8 },  { "/dev/urandom", 1, 9 },  { "/dev/tty", 5, 0 },
	{ "/dev/net/tun", 10, 200 },
};

static void power_off(void)
{
	sync();
	reboot(RB_POWER_OFF);
}

/* End the guest with a message that the host shows. */
static void fail(const char *attempt)
{
	printf("leowarp: {\"error\": \"the conformance guest cannot %s: %s\"}\n", attempt, strerror(errno));
	fflush(stdout);
	power_off();
}

static void mounted(const char *type, const char *at, unsigned long flags, const char *data)
{
	char attempt[200];

	snprintf(attempt, sizeof(attempt), "mount %s at %s", type, at);
	if (mount(type, at, type, flags, data))
		fail(attempt);
}

static void on_alarm(int number)
{
	(void)number;
}

static long long now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static void run(char **words, const char *directory, int output)
{
	/*
	 * packetdrill itself sets this scheduling policy if there is more than one processor (set_scheduling_priority
	 * in its run.c). The guest has only one processor, so packetdrill does not set the policy. This function sets
	 * it. Under another scheduling policy, a task that a packet wakes may run too late: after a program that starts
	 * later than the packet.
	 */
	struct sched_param priority = { .sched_priority = sched_get_priority_min(SCHED_RR) };

	if (setsid() < 0 || chdir(directory) || dup2(output, 1) < 0 || dup2(output, 2) < 0 ||
	    personality(ADDR_NO_RANDOMIZE) < 0 || sched_setscheduler(0, SCHED_RR, &priority))
		_exit(126);
	signal(SIGALRM, SIG_DFL);
	environ = (char **)environment;
	execvp(words[0], words);
	fprintf(stderr, "%s: %s\n", words[0], strerror(errno));
	_exit(127);
}

int main(void)
{
	static char text[16384], end[300];
	char *words[WORDS + 1], *next = text, *limit, *directory;
	struct sigaction alarms = { .sa_handler = on_alarm };
	int out, output, file, n = 0, status = 0, is_over_limit = 0;
	long long began_ns;
	pid_t child;

	mounted("proc", "/proc", 0, NULL);
	mounted("hostfs", "/host", 0, NULL);
	file = open("/host/in/command", O_RDONLY);
	if (file < 0 || read(file, text, sizeof(text) - 1) < 0)
		fail("read its command");
	limit = strsep(&next, "\n");
	directory = strsep(&next, "\n");
	while (n < WORDS && next && *next)
		words[n++] = strsep(&next, "\n");
	words[n] = NULL;
	out = open("/host/out", O_RDONLY | O_DIRECTORY);
	output = openat(out, "printed", O_WRONLY | O_CREAT | O_APPEND, 0644);
	if (output < 0)
		fail("open its output");

	mkdir("/root", 0755);
	mounted("hostfs", "/root", MS_RDONLY, "/in/root/.");
	if (chroot("/root") || chdir("/"))
		fail("change its root");
	/* Scripts use "&> /dev/null", which only bash reads as a redirection; other shells read it as two commands. */
	if (mount("/bin/bash", "/bin/sh", NULL, MS_BIND, NULL))
		fail("put bash in place of sh");
	mounted("tmpfs", "/dev", 0, NULL);
	mounted("tmpfs", "/run", 0, NULL);
	mounted("tmpfs", "/tmp", 0, NULL);
	mounted("proc", "/proc", 0, NULL);
	mounted("sysfs", "/sys", 0, NULL);
	mkdir("/run/first", 0755);
	file = open("/run/first/ip", O_WRONLY | O_CREAT, 0755);
	if (file < 0 || write(file, ip, sizeof(ip) - 1) < 0 || close(file))
		fail("write its ip");
	mkdir("/run/packetdrill", 0755);
	mounted("hostfs", "/run/packetdrill", MS_RDONLY, "/in/packetdrill/.");
	mkdir("/run/scripts", 0755);
	mounted("hostfs", "/run/scripts", MS_RDONLY, "/in/scripts/.");
	mkdir("/dev/net", 0755);
	for (size_t i = 0; i < sizeof(devices) / sizeof(*devices); i++)
		if (mknod(devices[i].name, S_IFCHR | 0666, makedev(devices[i].major, devices[i].minor)))
			fail("make its devices");

	sigaction(SIGALRM, &alarms, NULL);
	began_ns = now_ns();
	child = fork();
	if (!child)
		run(words, directory, output);
	alarm(atoi(limit));
	if (waitpid(child, &status, 0) < 0) {
		is_over_limit = 1;
		kill(-1, SIGKILL);
		waitpid(child, &status, 0);
	}
	n = snprintf(end, sizeof(end), "{\"ok\": true, \"wait_status\": %d, \"is_over_limit\": %s, \"virtual_ns\": %lld}\n",
		     status, is_over_limit ? "true" : "false", now_ns() - began_ns);
	file = openat(out, "end.json", O_WRONLY | O_CREAT, 0644);
	if (file < 0 || write(file, end, n) != n || close(file))
		fail("write its end");
	power_off();
	return 0;
}
