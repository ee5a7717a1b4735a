// SPDX-License-Identifier: Apache-2.0
/*
 * An init whose child makes each system call that returns either a time or the state of a process. The tests compile
 * this file. end.json contains two kinds of durations: the virtual time of one call, and the time that a loop needs
 * until the call's answer changes.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysinfo.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <sys/times.h>
#include <sys/timex.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define CALLS 100
#define READING_NS 256

static char end[4000];
static int length;

static int64_t clock_ns(clockid_t clock)
{
	struct timespec t;

	if (syscall(SYS_clock_gettime, clock, &t))
		_exit(20);
	return t.tv_sec * 1000000000LL + t.tv_nsec;
}

#define SAY(...) (length += snprintf(end + length, sizeof(end) - length, __VA_ARGS__))

/*
 * Records the virtual time of one call. The call must succeed, because a failing call takes 1 us in User Mode Linux.
 */
#define CALL(name, ...) do { \
	int64_t began_ns = clock_ns(CLOCK_MONOTONIC); \
	for (int calls = 0; calls < CALLS; calls++) \
		if (syscall(__VA_ARGS__) < 0) \
			_exit(21); \
	SAY("\"%s\": %lld, ", name, (long long)(clock_ns(CLOCK_MONOTONIC) - began_ns - READING_NS) / CALLS); \
} while (0)

/*
 * Evaluates the expression `answer` in a loop until its value changes, and prints how much virtual time the loop took.
 */
#define UNTIL(name, answer) do { \
	int64_t began_ns = clock_ns(CLOCK_MONOTONIC), first = answer; \
	while (answer == first) \
		; \
	SAY("\"until %s\": %lld, ", name, (long long)(clock_ns(CLOCK_MONOTONIC) - began_ns)); \
} while (0)

static int64_t used_us(void)
{
	struct rusage used;

	if (syscall(SYS_getrusage, RUSAGE_SELF, &used))
		_exit(22);
	return used.ru_utime.tv_usec + used.ru_stime.tv_usec;
}

static void program(void)
{
	static const char *clocks[] = { "realtime", "monotonic", "of the process", "of the thread", "raw", "realtime coarse", "monotonic coarse", "boottime" };
	struct itimerspec in_a_minute = { .it_value.tv_sec = 60 }, left;
	struct itimerval running = { .it_value.tv_sec = 60 };
	struct sigevent none = { .sigev_notify = SIGEV_NONE };
	struct timex adjusted = { 0 };
	struct timeval of_day;
	struct timespec t;
	struct sysinfo info;
	struct rusage used;
	struct tms times;
	siginfo_t ended;
	int timer, file = timerfd_create(CLOCK_MONOTONIC, 0), status;
	pid_t pid = fork();

	if (!pid) {
		pause();
		_exit(0);
	}
	if (syscall(SYS_timer_create, CLOCK_MONOTONIC, &none, &timer) || syscall(SYS_timer_settime, timer, 0, &in_a_minute, NULL) ||
	    timerfd_settime(file, 0, &in_a_minute, NULL) || setitimer(ITIMER_REAL, &running, NULL))
		_exit(23);
	for (long i = 0; i < 8; i++)
		CALL(clocks[i], SYS_clock_gettime, i, &t);
	CALL("gettimeofday", SYS_gettimeofday, &of_day, NULL);
	CALL("time", SYS_time, NULL);
	CALL("times", SYS_times, &times);
	CALL("getrusage", SYS_getrusage, RUSAGE_SELF, &used);
	CALL("sysinfo", SYS_sysinfo, &info);
	CALL("adjtimex", SYS_adjtimex, &adjusted);
	CALL("clock_adjtime", SYS_clock_adjtime, CLOCK_REALTIME, &adjusted);
	CALL("getitimer", SYS_getitimer, ITIMER_REAL, &running);
	CALL("timer_gettime", SYS_timer_gettime, timer, &left);
	CALL("timerfd_gettime", SYS_timerfd_gettime, file, &left);
	CALL("wait4", SYS_wait4, pid, &status, WNOHANG, NULL);
	CALL("waitid", SYS_waitid, P_PID, pid, &ended, WEXITED | WNOHANG, NULL);
	CALL("getpid", SYS_getpid);
	CALL("clock_getres", SYS_clock_getres, CLOCK_MONOTONIC, &t);
	UNTIL("times", syscall(SYS_times, NULL));
	UNTIL("realtime coarse", clock_ns(CLOCK_REALTIME_COARSE));
	UNTIL("of the process", clock_ns(CLOCK_PROCESS_CPUTIME_ID));
	UNTIL("getrusage", used_us());
	length -= 2; /* without the last comma */
	SAY("}}");
	if (kill(pid, SIGKILL) || waitpid(pid, &status, 0) != pid)
		_exit(24);
}

int main(void)
{
	int file, status;

	mkdir("/host", 0755);
	if (mount("none", "/host", "hostfs", 0, NULL))
		return 5;
	SAY("{\"ok\": true, \"virtual_ns\": 0, \"warnings\": [], \"ns\": {");
	if (!fork()) {
		program();
		file = open("/host/out/end.json", O_WRONLY | O_CREAT, 0644);
		_exit(file < 0 || write(file, end, length) != length || close(file));
	}
	if (wait(&status) < 0 || status)
		return 6;
	sync();
	reboot(RB_POWER_OFF);
	return 0;
}
