// SPDX-License-Identifier: GPL-2.0-only
/*
 * draws: the random streams of draws.h, and replacements of the kernel's random functions for all files that do not
 * include draws.h.
 *
 * The kernel is linked with --wrap for each function of drivers/char/random.c that other files call (guest/build.sh).
 * Drivers, mm and modules draw from one stream, in the order of their calls. The kernel's own entropy pool still works,
 * but nothing reads it.
 */
#define DRAWS_WITHOUT_FILE
#include "draws.h"
#include "draws_arithmetic.h"
#include <linux/kernel.h>
#include <linux/random.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/string.h>
#include <net/inet_sock.h>
#include <net/tcp.h>

/* defined in host/seed.c */
unsigned long long leowarp_seed(void);

u8 __wrap_get_random_u8(void);
u16 __wrap_get_random_u16(void);
u32 __wrap_get_random_u32(void);
u64 __wrap_get_random_u64(void);
u32 __wrap___get_random_u32_below(u32 ceil);
void __wrap_get_random_bytes(void *buffer, size_t length);

static struct draws others = { .name = "others" };

/* The agent is the guest's first process */
bool current_is_agent(void)
{
	return is_global_init(current);
}

static u64 draws_next_of_file(struct draws *draws)
{
	bool runs = system_state >= SYSTEM_RUNNING;
	u32 beginning = runs ? 2 : 1;

	if (draws->beginning != beginning) {
		draws->state = draws_state_of_file(leowarp_seed(), draws->name, strlen(draws->name), runs);
		draws->beginning = beginning;
	}
	return draws_step(&draws->state);
}

/*
 * The random numbers of a connection depend on its addresses and ports, and on the number of packets that it has
 * delivered. The random numbers also depend on how often the connection has drawn since its last packet was delivered.
 * Draws of one connection do not affect the draws of another. For one ACK or timeout, a congestion control draws all
 * its numbers in a row. No other connection therefore draws in between. To count the numbers that a connection has
 * drawn, this file therefore remembers only the state of the connection that drew last.
 */
static u64 last_state;
static u32 draws_of_last_state;

static u64 draws_next_of_connection(const struct sock *sk)
{
	const struct inet_sock *inet = inet_sk(sk);
	u64 state = draws_state_of_connection(leowarp_seed(), ntohl(inet->inet_saddr), ntohl(inet->inet_daddr),
					      ntohs(inet->inet_sport), ntohs(inet->inet_dport), tcp_sk(sk)->delivered);

	draws_of_last_state = state == last_state ? draws_of_last_state + 1 : 0;
	last_state = state;
	state += draws_of_last_state * DRAWS_GOLDEN;
	return draws_step(&state);
}

u64 draws_next(struct draws *draws, const struct sock *connection)
{
	return connection ? draws_next_of_connection(connection) : draws_next_of_file(draws);
}

/*
 * If the bound `ceil` is 0, any number may be returned, as in __get_random_u32_below()
 */
u32 draws_below(struct draws *draws, const struct sock *connection, u32 ceil)
{
	u32 below;

	if (!ceil)
		return draws_next(draws, connection);
	while (!draws_below_of(draws_next(draws, connection), ceil, &below))
		;
	return below;
}

void draws_fill(struct draws *draws, const struct sock *connection, void *buffer, size_t length)
{
	while (length) {
		u64 word = draws_next(draws, connection);
		size_t now = min(length, sizeof(word));

		memcpy(buffer, &word, now);
		buffer += now;
		length -= now;
	}
}

u8 __wrap_get_random_u8(void)
{
	return draws_next_of_file(&others);
}

u16 __wrap_get_random_u16(void)
{
	return draws_next_of_file(&others);
}

u32 __wrap_get_random_u32(void)
{
	return draws_next_of_file(&others);
}

u64 __wrap_get_random_u64(void)
{
	return draws_next_of_file(&others);
}

u32 __wrap___get_random_u32_below(u32 ceil)
{
	return draws_below(&others, NULL, ceil);
}

void __wrap_get_random_bytes(void *buffer, size_t length)
{
	draws_fill(&others, NULL, buffer, length);
}
