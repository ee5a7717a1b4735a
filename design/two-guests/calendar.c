// SPDX-License-Identifier: Apache-2.0
/*
 * A calendar for guests in lock-step: the other end of User Mode Linux's `time-travel=ext:ID:SOCKET`.
 *
 *	calendar SOCKET GUESTS WINDOW_NS messages|shared
 *
 * Waits for GUESTS guests, then goes on in windows. When all of them wait, the earliest instant that any of them has
 * asked for begins a window, and everybody who has asked for an instant in it runs, all at the same time, until the
 * window's end (conservative synchronous windows). WINDOW_NS of 0: a window is one instant, so that every event of a
 * guest is asked for.
 *
 * `messages`: the window's end goes to a guest as FREE_UNTIL. `shared`: it stands in shared memory (struct
 * um_timetravel_schedshm), a memory of its own for each guest, since one memory has one guest that
 * runs. Prints one line of JSON when all guests have gone.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

/*
 * What of the kernel's include/uapi/linux/um_timetravel.h (6.12) is used here: the host's own headers may be older, and
 * Debian 12's are without the shared memory.
 */
enum { ACK, START, REQUEST, WAIT, GET, UPDATE, RUN, FREE_UNTIL, GET_TOD, BROADCAST, OPS };

struct message {
	uint32_t op;
	uint32_t seq;
	uint64_t time_ns;
};

#define SHARED_VERSION	2

union client {
	struct {
		uint32_t capa;
		uint32_t flags;
		uint64_t asked_ns;	/* req_time */
		uint64_t name;
	};
	char reserve[128];
};

struct shared {
	union {
		struct {
			uint32_t version;
			uint32_t len;
			uint64_t free_until_ns;
			uint64_t current_ns;
			uint16_t running_id;
			uint16_t max_clients;
		};
		char hdr[4096];
	};
	union client clients[];
};

#define GUESTS_MAX	8
#define CLIENT		1	/* of a guest in its own shared memory; 0 is nobody */
#define SHARED_BYTES	(sizeof(struct shared) + 2 * sizeof(union client))

struct guest {
	int fd;
	int waits;			/* for its turn */
	int acks;			/* that it owes */
	uint64_t asked_ns;		/* for its next turn */
	uint64_t start_ns;		/* of the calendar's clock; a guest's begins at 0 */
	struct shared *shared;	/* NULL = by messages */
};

static struct guest guests[GUESTS_MAX];
static uint64_t received[OPS], sent[OPS];
static uint64_t windows, turns, now_ns, alone;

static void fail(const char *what)
{
	perror(what);
	exit(1);
}

static double clock_s(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

static void tell(struct guest *g, uint32_t op, uint32_t seq, uint64_t time_ns)
{
	const struct message m = { .op = op, .seq = seq, .time_ns = time_ns };

	sent[op]++;
	if (op != ACK && !(op == RUN && g->shared))
		g->acks++;
	/* A guest that has ended takes no more: its end is seen when it is heard */
	if (send(g->fd, &m, sizeof(m), MSG_NOSIGNAL) != sizeof(m) && errno != EPIPE && errno != ECONNRESET)
		fail("send");
}

/* The answer to START, with a shared memory of the guest's own. */
static void share(struct guest *g, uint32_t seq)
{
	const struct message m = { .op = ACK, .seq = seq, .time_ns = CLIENT };
	int fds[2];
	char control[CMSG_SPACE(sizeof(fds))] = { 0 };
	struct iovec part = { (void *)&m, sizeof(m) };
	struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof(control) };
	struct cmsghdr *c = CMSG_FIRSTHDR(&message);

	fds[0] = memfd_create("calendar", 0);
	fds[1] = dup(2);
	if (fds[0] < 0 || fds[1] < 0 || ftruncate(fds[0], SHARED_BYTES))
		fail("memfd_create");
	g->shared = mmap(NULL, SHARED_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fds[0], 0);
	if (g->shared == MAP_FAILED)
		fail("mmap");
	g->shared->version = SHARED_VERSION;
	g->shared->len = SHARED_BYTES;
	g->shared->max_clients = CLIENT + 1;
	g->shared->running_id = CLIENT;
	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof(fds));
	memcpy(CMSG_DATA(c), fds, sizeof(fds));
	sent[ACK]++;
	if (sendmsg(g->fd, &message, MSG_NOSIGNAL) != sizeof(m))
		fail("sendmsg");
	close(fds[0]);
	close(fds[1]);
}

/* One message of a guest; 0 = it has ended. */
static int hear(struct guest *g, int shares)
{
	struct message m;
	ssize_t n = recv(g->fd, &m, sizeof(m), MSG_WAITALL);

	if (n == 0 || (n < 0 && errno == ECONNRESET)) {
		close(g->fd);
		g->fd = -1;
		return 0;
	}
	if (n != sizeof(m) || m.op >= OPS)
		fail("recv");
	received[m.op]++;
	switch (m.op) {
	case ACK:
		g->acks--;
		return 1;
	case START:
		if (shares) {
			share(g, m.seq);
			return 1;
		}
		break;
	case REQUEST:
		g->asked_ns = m.time_ns;
		break;
	case WAIT:
		g->waits = 1;
		if (g->shared) {
			g->asked_ns = g->shared->clients[CLIENT].asked_ns;
			return 1;
		}
		break;
	case GET:
	case GET_TOD:
		m.time_ns = now_ns;
		break;
	}
	tell(g, ACK, m.seq, m.time_ns);
	return 1;
}

/* Everybody waits: the next window. */
static void open_window(int count, uint64_t window_ns)
{
	uint64_t first_ns = UINT64_MAX, end_ns;
	uint64_t before = turns;

	for (int i = 0; i < count; i++)
		if (guests[i].fd >= 0 && guests[i].asked_ns < first_ns)
			first_ns = guests[i].asked_ns;
	now_ns = first_ns;
	end_ns = window_ns ? first_ns + window_ns : first_ns + 1;
	windows++;
	for (int i = 0; i < count; i++) {
		struct guest *g = &guests[i];

		if (g->fd < 0 || g->asked_ns >= end_ns)
			continue;
		turns++;
		g->waits = 0;
		if (g->shared) {
			g->shared->current_ns = g->asked_ns;
			g->shared->free_until_ns = end_ns;
		} else if (window_ns) {
			tell(g, FREE_UNTIL, 0, end_ns);
		}
		tell(g, RUN, 0, g->asked_ns);
	}
	if (turns - before == 1)
		alone++;
}

static int someone_runs(int count)
{
	for (int i = 0; i < count; i++)
		if (guests[i].fd >= 0 && (!guests[i].waits || guests[i].acks))
			return 1;
	return 0;
}

static void print_result(double wall_s)
{
	struct rusage used;

	getrusage(RUSAGE_SELF, &used);
	printf("{\"windows\": %llu, \"turns\": %llu, \"alone\": %llu, \"virtual_ns\": %llu, \"wall_s\": %.6f, \"cpu_s\": %.6f",
	       (unsigned long long)windows, (unsigned long long)turns, (unsigned long long)alone,
	       (unsigned long long)now_ns, wall_s,
	       used.ru_utime.tv_sec + used.ru_utime.tv_usec / 1e6 + used.ru_stime.tv_sec + used.ru_stime.tv_usec / 1e6);
	for (int op = 0; op < OPS; op++)
		printf(", \"received_%d\": %llu, \"sent_%d\": %llu", op, (unsigned long long)received[op], op,
		       (unsigned long long)sent[op]);
	printf("}\n");
}

int main(int argc, char **argv)
{
	struct sockaddr_un name = { .sun_family = AF_UNIX };
	int count, left, listening, shares;
	uint64_t window_ns;
	double began_s;

	if (argc != 5 || strlen(argv[1]) >= sizeof(name.sun_path) || (count = atoi(argv[2])) < 1 || count > GUESTS_MAX) {
		fprintf(stderr, "calendar SOCKET GUESTS WINDOW_NS messages|shared\n");
		return 2;
	}
	window_ns = strtoull(argv[3], NULL, 10);
	shares = !strcmp(argv[4], "shared");
	strcpy(name.sun_path, argv[1]);
	listening = socket(AF_UNIX, SOCK_STREAM, 0);
	if (listening < 0 || bind(listening, (struct sockaddr *)&name, sizeof(name)) || listen(listening, count))
		fail(argv[1]);
	printf("listening\n");
	fflush(stdout);
	for (int i = 0; i < count; i++) {
		guests[i] = (struct guest){ .fd = accept(listening, NULL, NULL) };
		if (guests[i].fd < 0)
			fail("accept");
	}
	began_s = clock_s(CLOCK_MONOTONIC);
	for (left = count; left;) {
		struct pollfd fds[GUESTS_MAX];

		if (!someone_runs(count))
			open_window(count, window_ns);
		for (int i = 0; i < count; i++)
			fds[i] = (struct pollfd){ .fd = guests[i].fd, .events = POLLIN };
		if (poll(fds, count, -1) < 0)
			fail("poll");
		for (int i = 0; i < count; i++)
			if (fds[i].revents && !hear(&guests[i], shares))
				left--;
	}
	print_result(clock_s(CLOCK_MONOTONIC) - began_s);
	return 0;
}
