// SPDX-License-Identifier: GPL-2.0-only
/*
 * draws: the streams of draws.h, and the kernel's own functions of the same purpose for all files that do not include it.
 *
 * /proc/leolink/seed: a u64 that is written there is the seed of what is drawn from now on, and all streams begin anew. A
 * run begins with it: what an earlier run of this guest drew, and the seed that the guest was started with, do not count.
 *
 * Linked with --wrap for each of drivers/char/random.c's functions that others call (guest/build.sh): drivers, mm, and
 * modules draw from one stream, in the order in which they ask. The pool itself goes on as it was, and nobody asks it.
 */
#define DRAWS_WITHOUT_FILE
#include "draws.h"
#include "draws_arithmetic.h"
#include <linux/init.h>
#include <linux/kernel.h>
#include <linux/proc_fs.h>
#include <linux/random.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/string.h>
#include <linux/uaccess.h>
#include <net/inet_sock.h>
#include <net/tcp.h>

/* host/seed.c */
unsigned long long leowarp_seed(void);

u8 __wrap_get_random_u8(void);
u16 __wrap_get_random_u16(void);
u32 __wrap_get_random_u32(void);
u64 __wrap_get_random_u64(void);
u32 __wrap___get_random_u32_below(u32 ceil);
void __wrap_get_random_bytes(void *buffer, size_t length);

static struct draws others = { .name = "others" };

static u64 seed_of_run;
/* The process that has begun the run */
static pid_t beginner;
/* 2: no run has begun yet, the seed is that of the boot */
u32 draws_beginnings = 2;

/* The agent: the guest's first process, and the one of its own in which it makes a run */
bool current_is_agent(void)
{
	return is_global_init(current) || task_tgid_nr(current) == beginner;
}

static u64 seed(void)
{
	return draws_beginnings > 2 ? seed_of_run : leowarp_seed();
}

static u64 draws_next_of_file(struct draws *draws)
{
	bool runs = system_state >= SYSTEM_RUNNING;
	u32 beginning = runs ? draws_beginnings : 1;

	if (draws->beginning != beginning) {
		draws->state = draws_state_of_file(seed(), draws->name, strlen(draws->name), runs);
		draws->beginning = beginning;
	}
	return draws_step(&draws->state);
}

/*
 * What a connection draws hangs on its addresses and ports, on how many packets it has delivered, and on how often it has
 * drawn since it delivered that many: no other connection's draws change it. A congestion control draws in one go, as it
 * answers an ACK or a timeout, so that to remember the last who drew is enough to count.
 */
static u64 last_state;
static u32 draws_of_last_state;

static u64 draws_next_of_connection(const struct sock *sk)
{
	const struct inet_sock *inet = inet_sk(sk);
	u64 state = draws_state_of_connection(seed(), ntohl(inet->inet_saddr), ntohl(inet->inet_daddr),
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

/* Below 0 there is nothing; like __get_random_u32_below() this then gives any number */
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

static ssize_t seed_write(struct file *f, const char __user *from, size_t size, loff_t *pos)
{
	u64 wanted;

	if (size != sizeof(wanted))
		return -EINVAL;
	if (copy_from_user(&wanted, from, size))
		return -EFAULT;
	seed_of_run = wanted;
	beginner = task_tgid_nr(current);
	draws_beginnings++;
	last_state = 0;
	draws_of_last_state = 0;
	return size;
}

static const struct proc_ops seed_ops = { .proc_write = seed_write };

/* After leolink has made its directory */
static int __init draws_register(void)
{
	return proc_create("leolink/seed", 0200, NULL, &seed_ops) ? 0 : -ENOMEM;
}
late_initcall(draws_register);
