/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Random numbers that depend only on the run's seed and on earlier draws in the same stream (design/draws.md).
 *
 * guest/build.sh includes this header before the kernel's files of net/. In a file of net/, get_random_u32() and
 * similar functions then draw from the file's own stream. If the macro DRAWS_OF names a socket, the functions draw from
 * a stream of this socket's connection. The kernel's pool is not used, because it mixes in the times of interrupts,
 * which shift with any change to the kernel.
 */
#ifndef LEOWARP_DRAWS_H
#define LEOWARP_DRAWS_H

#include <linux/types.h>

struct sock;

/*
 * A stream of random numbers. The stream restarts when the first process starts, so numbers that built-in drivers drew
 * at boot no longer matter. Adding or removing a built-in driver therefore does not change a run.
 */
struct draws {
	const char *name;
	u64 state;
	u32 beginning;	/* stream's last start: 0 = none yet; 1 = before the first process; 2 = later */
};

bool current_is_agent(void);
u64 draws_next(struct draws *draws, const struct sock *connection);
u32 draws_below(struct draws *draws, const struct sock *connection, u32 ceil);
void draws_fill(struct draws *draws, const struct sock *connection, void *buffer, size_t length);

#ifndef DRAWS_WITHOUT_FILE

/*
 * The functions declared below draw from the file's own stream. linux/random.h declares the same names later, and its
 * declarations refer to the functions here (a declaration without `static` keeps the linkage of the earlier
 * declaration). The helpers in linux/random.h call these functions, so the helpers draw from the file's stream as well.
 */
static struct draws draws_of_file __attribute__((unused)) = { .name = KBUILD_BASENAME };

static inline u8 draws_u8(void)
{
	return draws_next(&draws_of_file, NULL);
}

static inline u16 draws_u16(void)
{
	return draws_next(&draws_of_file, NULL);
}

static inline u32 draws_u32(void)
{
	return draws_next(&draws_of_file, NULL);
}

static inline u64 draws_u64(void)
{
	return draws_next(&draws_of_file, NULL);
}

static inline u32 draws_u32_below(u32 ceil)
{
	return draws_below(&draws_of_file, NULL, ceil);
}

static inline void draws_bytes(void *buffer, size_t length)
{
	draws_fill(&draws_of_file, NULL, buffer, length);
}

#define get_random_u8 draws_u8
#define get_random_u16 draws_u16
#define get_random_u32 draws_u32
#define get_random_u64 draws_u64
#define __get_random_u32_below draws_u32_below
#define get_random_bytes draws_bytes

/*
 * Replaces linux/once.h. With linux/once.h, the kernel draws each key for hashes and for sequence numbers only once.
 * The original file starts a kernel worker after it draws a key. In addition, a file must define its message prefix
 * (pr_fmt) before it includes the original linux/once.h. Files of net/ need nothing else from linux/once.h.
 */
#define _LINUX_ONCE_H
#undef get_random_once
#undef get_random_sleepable_once
#define get_random_once(buffer, length)					\
	({								\
		static bool draws_known;				\
		bool draws_now = !draws_known;				\
									\
		if (unlikely(draws_now)) {				\
			draws_known = true;				\
			draws_bytes(buffer, length);			\
		}							\
		draws_now;						\
	})
#define get_random_sleepable_once get_random_once

#ifdef DRAWS_OF

/*
 * The headers are included before the macros below, so that the macros do not change draws in headers. These draws do
 * not belong to a connection
 */
#include <net/tcp.h>
#undef get_random_u8
#undef get_random_u16
#undef get_random_u32
#undef get_random_u64
#undef get_random_bytes
#define get_random_u8() ((u8)draws_next(NULL, DRAWS_OF))
#define get_random_u16() ((u16)draws_next(NULL, DRAWS_OF))
#define get_random_u32() ((u32)draws_next(NULL, DRAWS_OF))
#define get_random_u64() draws_next(NULL, DRAWS_OF)
#define get_random_u32_below(ceil) draws_below(NULL, DRAWS_OF, ceil)
#define get_random_bytes(buffer, length) draws_fill(NULL, DRAWS_OF, buffer, length)

#endif
#endif

#endif
