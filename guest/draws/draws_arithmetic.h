/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The arithmetic of random streams. The functions below only compute with numbers, and use nothing of the kernel. Tests
 * on the host can therefore also compile them (tests/guest/draws_arithmetic_test.py).
 */
#ifndef LEOWARP_DRAWS_ARITHMETIC_H
#define LEOWARP_DRAWS_ARITHMETIC_H

#ifdef __KERNEL__
#include <linux/types.h>
#else
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
typedef uint8_t u8;
typedef uint32_t u32;
typedef uint64_t u64;
#endif

#define DRAWS_FNV_BASIS 0xcbf29ce484222325ULL
#define DRAWS_FNV_PRIME 0x100000001b3ULL
#define DRAWS_GOLDEN 0x9e3779b97f4a7c15ULL

/*
 * FNV-1a. The agent uses FNV-1a as well, to derive a stream's seed from the run's seed and a name (substream() in
 * network/directions.rs)
 */
static inline u64 draws_fnv(u64 hash, const void *bytes, size_t length)
{
	for (size_t i = 0; i < length; i++)
		hash = (hash ^ ((const u8 *)bytes)[i]) * DRAWS_FNV_PRIME;
	return hash;
}

static inline u64 draws_fnv_u64(u64 hash, u64 number)
{
	for (u32 i = 0; i < 8; i++)
		hash = (hash ^ (u8)(number >> (8 * i))) * DRAWS_FNV_PRIME;
	return hash;
}

/* splitmix64 (Steele, Lea, Flood 2014), as in seed.c. Returns the stream's next 64 bits */
static inline u64 draws_step(u64 *state)
{
	u64 z = (*state += DRAWS_GOLDEN);

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
	return z ^ (z >> 31);
}

/*
 * The initial state of the random stream of one source file of the kernel. The state depends on the run's seed, the
 * file's name, and whether the first process already runs (0 or 1)
 */
static inline u64 draws_state_of_file(u64 seed, const char *name, size_t length, bool runs)
{
	return draws_fnv_u64(draws_fnv(draws_fnv_u64(DRAWS_FNV_BASIS, seed), name, length), runs);
}

/*
 * The state with which an IPv4 connection's stream starts. Addresses and ports are numbers in host byte order. The end
 * that draws random numbers has the address `own`. The other end has the address `others`. The state also depends on
 * the number of packets that the connection has delivered
 */
static inline u64 draws_state_of_connection(u64 seed, u32 own, u32 others, u32 own_port, u32 others_port, u32 delivered_pkts)
{
	u64 state = draws_fnv_u64(DRAWS_FNV_BASIS, seed);

	state = draws_fnv_u64(state, (u64)own << 32 | others);
	return draws_fnv_u64(state, (u64)(own_port << 16 | others_port) << 32 | delivered_pkts);
}

/*
 * Turns 64 random bits into a number below ceil. Returns false if the given bits are rejected, so that the caller must
 * draw again. The method is Lemire's multiplication without bias (2019), as in get_random_u32_below(). 2^32 % ceil of
 * the 2^32 upper halves are rejected, so that all results are equally likely.
 */
static inline bool draws_below_of(u64 bits, u32 ceil, u32 *below)
{
	u64 product = (u64)ceil * (u32)(bits >> 32);

	*below = product >> 32;
	return (u32)product >= -ceil % ceil;
}

#endif
