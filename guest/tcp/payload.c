// SPDX-License-Identifier: GPL-2.0-only
/*
 * The payload of a bulk transfer is not copied: /proc/leolink/payload.
 *
 * Before working on this file read tcp_sendmsg_locked of net/ipv4/tcp.c and _copy_from_iter of lib/iov_iter.c.
 *
 * The agent's transfers write zeros, their readers drop what they read (MSG_TRUNC), and links and packet truth read
 * only headers. Nobody sees a payload, but writing it costs a twentieth of a run, and evicts useful data from the
 * cache. So TCP makes its packets as usual, of the same pages, but leaves the pages' old contents: the copy out of one
 * range of the agent's memory, which the agent named, is skipped. Nothing else differs. sendfile would copy nothing
 * either, but it cuts fragments differently, and receivers then merge others.
 *
 *	write	two u64: address and length of the range in the writer's memory; a length of 0 ends it
 *
 * The agent names no range if somebody may look at payloads: captures into files, programs, a shell, live runs.
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

/* The writer's memory is only compared, never dereferenced, so it may be gone */
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

/* Runs after leolink has created its directory */
static int __init payload_register(void)
{
	return proc_create("leolink/payload", 0200, NULL, &payload_ops) ? 0 : -ENOMEM;
}
late_initcall(payload_register);
