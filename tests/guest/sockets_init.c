// SPDX-License-Identifier: Apache-2.0
/*
 * An init that checks which bytes guest/tcp/payload.c does not copy, and what guest/tcp/sockets.c reports about
 * sockets. The tests compile this file with gcc -O1 -static. end.json contains one number for each answer.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/reboot.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#define BYTES 1024
#define INFO_AT 32
#define CC_AT 8
/* A read that has slept first returns a number of this many bytes: the length of all answers about sockets */
#define LENGTH_BYTES 8

/* The test names a range in the middle of the memory; the bytes beside this range are copied */
static unsigned char memory[3][BYTES], got[2 * BYTES];
static int pair[2];

static int set_payload(const void *from, uint64_t bytes)
{
	uint64_t range[2] = { (uintptr_t)from, bytes };
	int file = open("/proc/leolink/payload", O_WRONLY), ok = write(file, range, sizeof(range)) == sizeof(range);

	close(file);
	return ok;
}

/* Sends two pieces, and counts the received bytes that equal the sent ones */
static int arrived(const unsigned char *first, const unsigned char *second)
{
	struct iovec pieces[2] = { { (void *)first, BYTES }, { (void *)second, BYTES } };
	int same = 0;

	if (writev(pair[1], pieces, 2) != 2 * BYTES || recv(pair[0], got, 2 * BYTES, MSG_WAITALL) != 2 * BYTES)
		return -1;
	for (int i = 0; i < BYTES; i++)
		same += (got[i] == first[i]) + (got[BYTES + i] == second[i]);
	return same;
}

/* Whether an answer of /proc/leolink/sockets equals the answers of getsockopt */
static int is_told(const unsigned char *answer, int fd)
{
	unsigned char said[1024];
	socklen_t bytes = sizeof(said);
	uint32_t told[2];

	memcpy(told, answer, sizeof(told));
	if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, said, &bytes) || bytes != told[0] || memcmp(said, answer + INFO_AT, bytes))
		return 0;
	bytes = sizeof(said);
	return !getsockopt(fd, IPPROTO_TCP, TCP_CC_INFO, said, &bytes) && bytes == told[1] && !memcmp(said, answer + CC_AT, bytes);
}

/* Makes a connection from a socket with BBR to a socket with CUBIC, and sends some data over it */
static int connected(int fds[2])
{
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_port = htons(7), .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int listener = socket(AF_INET, SOCK_STREAM, 0);
	struct ifreq loopback = { .ifr_name = "lo", .ifr_flags = IFF_UP };

	fds[0] = socket(AF_INET, SOCK_STREAM, 0);
	if (ioctl(listener, SIOCSIFFLAGS, &loopback) || bind(listener, (struct sockaddr *)&at, sizeof(at)) || listen(listener, 1) ||
	    setsockopt(fds[0], IPPROTO_TCP, TCP_CONGESTION, "bbr", 3) || connect(fds[0], (struct sockaddr *)&at, sizeof(at)))
		return 0;
	fds[1] = accept(listener, NULL, NULL);
	return fds[1] >= 0 && write(fds[0], got, 100) == 100 && read(fds[1], got, 100) == 100;
}

static int64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000LL + t.tv_nsec;
}

int main(void)
{
	int fds[2], wrong[2], cut, mixed, beside, after, told = 0, bbr_bytes = 0, short_errno, kind_errno, closed_errno, file;
	int told_asleep = 0, links_bytes = -1, short_asleep_errno;
	unsigned char answers[2048];
	int64_t until_ns, late_ns;
	uint64_t length = 0;
	char end[600];
	ssize_t n;

	mkdir("/host", 0755);
	mkdir("/proc", 0755);
	if (mount("none", "/host", "hostfs", 0, NULL) || mount("none", "/proc", "proc", 0, NULL) ||
	    socketpair(AF_UNIX, SOCK_STREAM, 0, pair))
		return 5;
	for (int i = 0; i < 3; i++)
		for (int k = 0; k < BYTES; k++)
			memory[i][k] = 1 + (i * 83 + k) % 251;
	if (!set_payload(memory[1], BYTES))
		return 6;
	cut = arrived(memory[1], memory[1]);
	mixed = arrived(memory[1], memory[2]);
	beside = arrived(memory[0], memory[2]);
	if (!set_payload(NULL, 0))
		return 6;
	after = arrived(memory[1], memory[1]);

	file = open("/proc/leolink/sockets", O_RDWR);
	if (!connected(fds) || write(file, fds, sizeof(fds)) != sizeof(fds))
		return 7;
	n = read(file, answers, sizeof(answers));
	if (n > 0) {
		told = is_told(answers, fds[0]) + is_told(answers + n / 2, fds[1]);
		memcpy(&bbr_bytes, answers + 4, sizeof(bbr_bytes));
	}
	short_errno = read(file, answers, n - 1) < 0 ? errno : 0;
	prctl(PR_SET_TIMERSLACK, 1);
	until_ns = now_ns() + 5000000;
	n = pread(file, answers, sizeof(answers), until_ns);
	late_ns = now_ns() - until_ns;
	if (n > LENGTH_BYTES) {
		memcpy(&length, answers, sizeof(length));
		told_asleep = is_told(answers + LENGTH_BYTES, fds[0]) + is_told(answers + LENGTH_BYTES + length / 2, fds[1]);
		links_bytes = n - LENGTH_BYTES - length;
	}
	short_asleep_errno = pread(file, answers, LENGTH_BYTES - 1, until_ns) < 0 ? errno : 0;
	wrong[0] = fds[0];
	wrong[1] = pair[0];
	kind_errno = write(file, wrong, sizeof(wrong)) < 0 || read(file, answers, sizeof(answers)) < 0 ? errno : 0;
	wrong[1] = 1000;
	closed_errno = write(file, wrong, sizeof(wrong)) < 0 || read(file, answers, sizeof(answers)) < 0 ? errno : 0;

	snprintf(end, sizeof(end),
		 "{\"ok\": true, \"virtual_ns\": 0, \"warnings\": [], \"cut\": %d, \"mixed\": %d, \"beside\": %d, \"after\": %d, "
		 "\"told\": %d, \"bbr_bytes\": %d, \"short\": %d, \"kind\": %d, \"closed\": %d, "
		 "\"late_ns\": %lld, \"told_asleep\": %d, \"links_bytes\": %d, \"short_asleep\": %d}\n",
		 cut, mixed, beside, after, told, bbr_bytes, short_errno, kind_errno, closed_errno, (long long)late_ns, told_asleep,
		 links_bytes, short_asleep_errno);
	file = open("/host/out/end.json", O_CREAT | O_WRONLY | O_TRUNC, 0644);
	if (file < 0 || write(file, end, strlen(end)) < 0 || close(file))
		return 4;
	sync();
	reboot(RB_POWER_OFF);
}
