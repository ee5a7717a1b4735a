// SPDX-License-Identifier: GPL-2.0-only
/*
 * Makes TCP skip copying the payload of bulk transfers: /proc/leolink/payload.
 *
 * Before working on this file, read tcp_sendmsg_locked of net/ipv4/tcp.c and _copy_from_iter of lib/iov_iter.c.
 *
 * The agent's bulk transfers send zeros, and their receivers discard the data while reading (MSG_TRUNC). Links and the
 * recording of packets (packet truth) read only headers. Writing a payload takes a twentieth of a run's time, and
 * evicts useful data from the cache, although no program reads it. With this file, TCP creates its packets as usual,
 * from the same pages, but the pages keep their old contents. The kernel skips copying if the data come from the range
 * of memory that the agent has named. Apart from the contents of payloads, nothing in the run differs. sendfile would
 * avoid copying as well, but the kernel would then split data into other fragments, and receivers would merge other
 * packets.
 *
 *	write	two u64: address and length of the range in the writer's memory. With length 0, TCP copies all payload
 *
 * Captures into files, programs, a shell and live runs may read payloads. In a run with one of these, the agent names
 * no range.
 *
 * The kernel is linked with --wrap=_copy_from_iter (guest/build.sh).
 */
#include <linux/fs.h>
#include <linux/init.h>
#include <linux/proc_fs.h>
#include <linux/sched.h>
#include <linux/uaccess.h>
#include <linux/uio.h>

size_t __real__copy_from_iter(void *to, size_t bytes, struct iov_iter *i);
size_t __wrap__copy_from_iter(void *to, size_t bytes, struct iov_iter *i);

/* The pointer is only compared and never dereferenced, so it may outlive the writer's memory */
static const struct mm_struct *owner;
static u64 range[2];

static bool is_payload(const struct iov_iter *i, size_t bytes)
{
	const struct iovec *piece = iter_iov(i);
	size_t skip = i->iov_offset;

	for (;; piece++, skip = 0) {
		size_t left = piece->iov_len - skip;

		if ((u64)piece->iov_base - range[0] > range[1] || (u64)piece->iov_base - range[0] + piece->iov_len > range[1])
			return false;
		if (left >= bytes)
			return true;
		bytes -= left;
	}
}

size_t __wrap__copy_from_iter(void *to, size_t bytes, struct iov_iter *i)
{
	if (likely(!range[1] || !iter_is_iovec(i) || current->mm != owner || bytes > i->count || !is_payload(i, bytes)))
		return __real__copy_from_iter(to, bytes, i);
	iov_iter_advance(i, bytes);
	return bytes;
}

static ssize_t payload_write(struct file *f, const char __user *from, size_t size, loff_t *pos)
{
	u64 wanted[2];

	if (size != sizeof(wanted))
		return -EINVAL;
	if (copy_from_user(wanted, from, size))
		return -EFAULT;
	owner = current->mm;
	range[0] = wanted[0];
	range[1] = wanted[1];
	return size;
}

static const struct proc_ops payload_ops = { .proc_write = payload_write };

/* Runs after leolink has created the directory /proc/leolink */
static int __init payload_register(void)
{
	return proc_create("leolink/payload", 0200, NULL, &payload_ops) ? 0 : -ENOMEM;
}
late_initcall(payload_register);
