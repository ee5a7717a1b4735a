// SPDX-License-Identifier: GPL-2.0-only
/*
 * At boot, User Mode Linux asks its host for 32 bytes by getrandom(2) (arch/um/kernel/um_arch.c); without this file,
 * these bytes would make two runs differ. The kernel is linked with --wrap=getrandom, so this file provides the bytes
 * instead of the host. The bytes come from a splitmix64 stream, whose seed is the environment variable LEOWARP_SEED.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/types.h>

unsigned long long leowarp_seed(void);
ssize_t __wrap_getrandom(void *buffer, size_t length, unsigned int flags);

/* The run's seed. The files in draws/ also derive their streams from the run's seed */
unsigned long long leowarp_seed(void)
{
	static unsigned long long seed;
	static int known;

	if (!known) {
		const char *text = getenv("LEOWARP_SEED");

		seed = text ? strtoull(text, NULL, 10) : 0;
		known = 1;
	}
	return seed;
}

ssize_t __wrap_getrandom(void *buffer, size_t length, unsigned int flags)
{
	static uint64_t drawn;
	uint64_t state = leowarp_seed() + drawn;
	unsigned char *out = buffer;

	(void)flags;
	for (size_t i = 0; i < length; i++) {
		uint64_t z = (state += 0x9e3779b97f4a7c15ULL);

		z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
		z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
		out[i] = (unsigned char)((z ^ (z >> 31)) >> 56);
	}
	drawn = state - leowarp_seed();
	return (ssize_t)length;
}
