// SPDX-License-Identifier: Apache-2.0
/*
 * An init that writes to one page of its memory, and reports which pages exist afterwards. The tests compile this file:
 * gcc -O1 -static.
 *
 * The results are written to `end.json`. `there`, `at_edge`, `beside` and `read` have one digit per page of a region: 1
 * if the page exists (mincore).
 * - `there`: a region of 32 pages after a write to its page 9.
 * - `at_edge`: a region of 2 pages, after a write to its first page. The region begins one page after the beginning of
 *   a block.
 * - `beside`: the read-only region directly behind `at_edge`.
 * - `read`: a region of which one page was read, and none was written.
 * - `are_zero`: whether all bytes of the first region are 0, except the one that was written.
 * - `copies`: whether a parent's bytes stay the same when a child writes to the page and to its neighbours.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define PAGE 4096
#define PAGES 32

/* Returns an address at which both a block of 4 pages and a block of 32 pages begin */
static char *region(int protection)
{
	char *got = mmap(NULL, 2 * PAGES * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	unsigned long start = ((unsigned long)got + PAGES * PAGE - 1) / (PAGES * PAGE) * (PAGES * PAGE);

	mprotect((char *)start, PAGES * PAGE, protection);
	return (char *)start;
}

static const char *there(char *start, int pages)
{
	static char texts[8][PAGES + 1];
	static int used;
	unsigned char resident[PAGES];
	char *text = texts[used++];

	if (mincore(start, pages * PAGE, resident))
		return "mincore failed";
	for (int i = 0; i < pages; i++)
		text[i] = resident[i] & 1 ? '1' : '0';
	return text;
}

static int holds(const char *start, int length, char value)
{
	for (int i = 0; i < length; i++)
		if (start[i] != value)
			return 0;
	return 1;
}

static int parent_keeps(char *start)
{
	int status;
	pid_t child;

	memset(start, 7, 3 * PAGE);
	child = fork();
	if (!child) {
		start[0] = start[PAGE] = start[3 * PAGE] = 8;
		_exit(!(holds(start + 1, PAGE - 1, 7) && start[PAGE] == 8 && holds(start + 2 * PAGE, PAGE, 7) &&
			holds(start + 3 * PAGE + 1, PAGE - 1, 0)));
	}
	waitpid(child, &status, 0);
	return status == 0 && holds(start, 3 * PAGE, 7) && holds(start + 3 * PAGE, PAGE, 0);
}

int main(void)
{
	volatile char *one = region(PROT_READ | PROT_WRITE), *few = region(PROT_READ | PROT_WRITE);
	volatile char *read_only = region(PROT_READ);
	const char *after, *edge, *beside, *read;
	char *first = (char *)one, *second = (char *)few + PAGE;
	FILE *end;

	mkdir("/host", 0755);
	if (mount("none", "/host", "hostfs", 0, NULL))
		return 5;
	one[9 * PAGE + 5] = 3;
	after = there(first, PAGES);
	mprotect((char *)few, PAGE, PROT_NONE);
	mprotect(second + 2 * PAGE, (PAGES - 3) * PAGE, PROT_READ);
	second[0] = 3;
	edge = there(second, 2);
	beside = there(second + 2 * PAGE, 4);
	(void)read_only[5 * PAGE];
	read = there((char *)read_only, 8);
	end = fopen("/host/out/end.json", "w");
	if (!end)
		return 1;
	fprintf(end, "{\"ok\": true, \"virtual_ns\": 0, \"warnings\": [], \"there\": \"%s\", \"at_edge\": \"%s\", ", after, edge);
	fprintf(end, "\"beside\": \"%s\", \"read\": \"%s\", \"are_zero\": %d, \"copies\": %d}\n", beside, read,
		holds(first, 9 * PAGE + 5, 0) && holds(first + 9 * PAGE + 6, (PAGES - 10) * PAGE, 0),
		parent_keeps(region(PROT_READ | PROT_WRITE)));
	fclose(end);
	sync();
	reboot(RB_POWER_OFF);
}
