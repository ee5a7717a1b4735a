// SPDX-License-Identifier: Apache-2.0
// Measures the latency of dependent loads from memory: each word of a region contains the address of another word. All
// cache lines are visited once per round, in random order. For each size on the command line, the program prints the
// size of the region in KiB, and the time per load in ns.
//
//     load_latency KIB [KIB ...]

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>

#define LINE_BYTES 64
#define LOADS (8 * 1000 * 1000)

// The random order is the same in every run, because xorshift64 has a fixed seed (Marsaglia, 2003).
static uint64_t drawn(void)
{
	static uint64_t state = 88172645463325252ULL;

	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state;
}

// Sattolo's shuffle joins all lines in a single cycle.
static void chain(char *region, size_t lines, uint32_t *order)
{
	for (size_t line = 0; line < lines; line++)
		order[line] = line;
	for (size_t line = lines - 1; line > 0; line--) {
		size_t other = drawn() % line;
		uint32_t kept = order[line];

		order[line] = order[other];
		order[other] = kept;
	}
	for (size_t line = 0; line < lines; line++)
		*(void **)(region + LINE_BYTES * line) = region + LINE_BYTES * (size_t)order[line];
}

static double processor_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return now.tv_sec * 1e9 + now.tv_nsec;
}

static int measure(size_t kib)
{
	size_t bytes = kib * 1024, lines = bytes / LINE_BYTES;
	char *region = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint32_t *order = malloc(lines * sizeof(*order));
	void **at = (void **)region;
	double began_ns;

	if (region == MAP_FAILED || !order) {
		perror("load_latency");
		return 1;
	}
	// The region uses small pages, like the guest's memory.
	madvise(region, bytes, MADV_NOHUGEPAGE);
	chain(region, lines, order);
	for (size_t load = 0; load < lines; load++)
		at = *at;
	began_ns = processor_ns();
	for (size_t load = 0; load < LOADS; load++)
		at = *at;
	printf("%zu %.2f\n", kib, (processor_ns() - began_ns) / LOADS);
	// The last address of the chain is used, because the compiler would otherwise remove the loads.
	if (!at)
		return 1;
	free(order);
	munmap(region, bytes);
	return 0;
}

int main(int argc, char **argv)
{
	for (int place = 1; place < argc; place++) {
		char *rest;
		size_t kib = strtoul(argv[place], &rest, 10);

		if (*rest || kib == 0 || kib > 4 * 1024 * 1024) {
			fprintf(stderr, "load_latency: %s: write KiB, 1 to 4194304\n", argv[place]);
			return 2;
		}
		if (measure(kib))
			return 1;
	}
	return 0;
}
