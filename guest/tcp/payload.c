// SPDX-License-Identifier: GPL-2.0-only
/*
 * What a bulk transfer sends is not copied: /proc/leolink/payload.
 *
 * Before working on this file read tcp_sendmsg_locked of net/ipv4/tcp.c and _copy_from_iter of lib/iov_iter.c.
 *
 * The agent's transfers write zeros, their readers drop what they read (MSG_TRUNC), links and packet truth look at headers.
 * Nobody sees a payload; but writing it costs a twentieth of a run, and takes the cache from what is looked at. So
 * TCP makes its packets as ever, of the same pages, and leaves in them what was there: the copy out of the one
 * range of the agent's memory that it named is left out. Nothing else differs; sendfile, which copies nothing either,
 * cuts fragments otherwise, and receivers then join others.
 *
 *	write	two u64, the range's address and length, of the writer's memory; a length of 0 ends it
 *
 * The agent names none where somebody may look: captures into files, programs, a shell, live runs.
 *
 * Linked with --wrap=_copy_from_iter (guest/build.sh).
 */
#include <linux/fs.h>
#include <linux/init.h>
#include <linux/proc_fs.h>
#include <linux/sched.h>
#include <linux/uaccess.h>
#include <linux/uio.h>

size_t __real__copy_from_iter(void *to, size_t bytes, struct iov_iter *i);
size_t __wrap__copy_from_iter(void *to, size_t bytes, struct iov_iter *i);

/* The writer's memory is compared, never looked at: it need not be there any more */
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

/* After leolink has made its directory */
static int __init payload_register(void)
{
	return proc_create("leolink/payload", 0200, NULL, &payload_ops) ? 0 : -ENOMEM;
}
late_initcall(payload_register);
