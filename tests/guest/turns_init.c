// SPDX-License-Identifier: Apache-2.0
/*
 * An init with child processes whose threads read each other's entries in /proc. The last thread of a child wakes the
 * init and frees the entries of the child's threads in /proc. The init frees the same entries in /proc, so it has to
 * wait for the thread (release_task, shrink_dcache_parent). After the children have ended, the init makes two long
 * writes. The tests compile this file. end.json contains the durations of the two long writes.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define CHILDREN 100
#define THREADS 4
#define MIB (1 << 20)

/* With the real-time policy, or with a shorter time slice, the init gets the processor as soon as it is woken. */
static const struct {
	uint32_t size, policy;
	uint64_t flags;
	int32_t nice;
	uint32_t priority;
	uint64_t runtime_ns, deadline_ns, period_ns;
} in_haste = {
	.size = sizeof(in_haste),
	.flags = 1, /* the flag SCHED_FLAG_RESET_ON_FORK */
#ifdef REAL_TIME
	.policy = SCHED_FIFO,
	.priority = 1,
#else
	.policy = SCHED_OTHER,
	.runtime_ns = 100000,
#endif
};

static int64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000LL + t.tv_nsec;
}

/* Reads a file of each thread in /proc, so that the kernel caches the thread's entry. */
static void look(const char *process)
{
	char name[400], text[4096];
	struct dirent *thread;
	DIR *threads;

	snprintf(name, sizeof(name), "/proc/%s/task", process);
	threads = opendir(name);
	while (threads && (thread = readdir(threads))) {
		int file;

		snprintf(name, sizeof(name), "/proc/%s/task/%s/stat", process, thread->d_name);
		file = open(name, O_RDONLY);
		if (file < 0)
			continue;
		if (read(file, text, sizeof(text)) < 0)
			_exit(8);
		close(file);
	}
	if (threads)
		closedir(threads);
}

static void *thread(void *number)
{
	struct timespec until = { 0, 1000000 * (1 + (long)number) };

	nanosleep(&until, NULL);
	look("self");
	return NULL;
}

static void child(void)
{
	pthread_t threads[THREADS];

	for (long i = 0; i < THREADS; i++)
		if (pthread_create(&threads[i], NULL, thread, (void *)i))
			_exit(9);
	/* the process ends when its last thread ends */
	pthread_exit(NULL);
}

/* The virtual time that one write of `mib` MiB takes. The kernel calls cond_resched() once per 4 KiB of the write. */
static int64_t work_ns(int mib)
{
	static char text[MIB];
	struct iovec parts[mib];
	int file = open("/file", O_WRONLY | O_CREAT, 0644);
	int64_t began_ns;

	for (int i = 0; i < mib; i++)
		parts[i] = (struct iovec){ text, sizeof(text) };
	began_ns = now_ns();
	return writev(file, parts, mib) == (ssize_t)mib * MIB ? now_ns() - began_ns : -1;
}

int main(void)
{
	int64_t longest_ns = 0;
	char end[300];
	int file, n, status;

	mkdir("/host", 0755);
	mkdir("/proc", 0755);
	if (mount("none", "/host", "hostfs", 0, NULL) || mount("none", "/proc", "proc", 0, NULL) ||
	    syscall(SYS_sched_setattr, 0, &in_haste, 0))
		return 5;
	for (int i = 0; i < CHILDREN; i++) {
		int64_t began_ns = now_ns(), took_ns;
		pid_t pid = fork();

		if (!pid)
			child();
		if (waitpid(pid, &status, 0) != pid || status)
			return 6;
		took_ns = now_ns() - began_ns;
		longest_ns = took_ns > longest_ns ? took_ns : longest_ns;
	}
	n = snprintf(end, sizeof(end), "{\"ok\": true, \"virtual_ns\": 0, \"warnings\": [], \"longest_ns\": %lld, \"work_ns\": [%lld, %lld]}",
		     (long long)longest_ns, (long long)work_ns(39), (long long)work_ns(40));
	file = open("/host/out/end.json", O_WRONLY | O_CREAT, 0644);
	if (file < 0 || write(file, end, n) != n || close(file))
		return 7;
	sync();
	reboot(RB_POWER_OFF);
	return 0;
}
