// SPDX-License-Identifier: GPL-2.0-only
/*
 * getrandom: random numbers for programs that call getrandom(2) or read /dev/urandom or /dev/random. All programs share
 * one stream, in the order of their calls. The agent has a stream of its own, so its draws do not affect programs.
 *
 * The kernel is linked with --wrap for the system call, and for the read and write operations of both devices
 * (guest/build.sh).
 */
#define DRAWS_WITHOUT_FILE
#include "draws.h"
#include <linux/fs.h>
#include <linux/random.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/uio.h>

long __wrap_sys_getrandom(char __user *buffer, size_t length, unsigned int flags);
extern const struct file_operations __wrap_random_fops, __wrap_urandom_fops;

static struct draws programs = { .name = "programs" }, agent = { .name = "agent" };

/*
 * Same as the kernel's get_random_bytes_user(). Returns the number of copied bytes, or -EFAULT if no byte could be
 * copied
 */
static ssize_t getrandom_fill(struct iov_iter *to)
{
	u8 block[256];
	size_t filled = 0, length;

	while ((length = min(iov_iter_count(to), sizeof(block)))) {
		size_t copied;

		draws_fill(current_is_agent() ? &agent : &programs, NULL, block, length);
		copied = copy_to_iter(block, length, to);
		filled += copied;
		if (copied != length)
			return filled ? filled : -EFAULT;
		if (filled % PAGE_SIZE == 0) {
			if (signal_pending(current))
				break;
			cond_resched();
		}
	}
	return filled;
}

long __wrap_sys_getrandom(char __user *buffer, size_t length, unsigned int flags)
{
	struct iov_iter to;
	int wrong;

	if (flags & ~(GRND_NONBLOCK | GRND_RANDOM | GRND_INSECURE) ||
	    (flags & (GRND_INSECURE | GRND_RANDOM)) == (GRND_INSECURE | GRND_RANDOM))
		return -EINVAL;
	wrong = import_ubuf(ITER_DEST, buffer, length, &to);
	return wrong ? wrong : getrandom_fill(&to);
}

static ssize_t getrandom_read(struct kiocb *file, struct iov_iter *to)
{
	return getrandom_fill(to);
}

/*
 * The kernel would mix data written to the devices into its pool. Nothing reads the pool, so the data are discarded
 * here
 */
static ssize_t getrandom_write(struct kiocb *file, struct iov_iter *from)
{
	size_t length = iov_iter_count(from);

	iov_iter_advance(from, length);
	return length;
}

const struct file_operations __wrap_random_fops = {
	.read_iter = getrandom_read,
	.write_iter = getrandom_write,
	.llseek = noop_llseek,
};

const struct file_operations __wrap_urandom_fops = {
	.read_iter = getrandom_read,
	.write_iter = getrandom_write,
	.llseek = noop_llseek,
};
