// SPDX-License-Identifier: GPL-2.0-only
/*
 * TCP_INFO and TCP_CC_INFO of many sockets in one system call: /proc/leolink/sockets.
 *
 * Before working on this file, read do_tcp_getsockopt of net/ipv4/tcp.c. This file fills TCP_INFO and TCP_CC_INFO of
 * each socket as do_tcp_getsockopt does. A system call in User Mode Linux takes two switches between processes of the
 * host. The two switches cost as much as TCP's work on ten packets. A run samples both ends of each flow 20 times per
 * second. With ordinary system calls, a sampler would need a call to sleep, one call for each socket, and calls to read
 * the queues. With this file, one system call does the work of all these calls.
 *
 *	write	an array of s32: the caller's descriptors of the sockets on which later reads report, in this order
 *	read	at offset 0: returns one struct answer per socket. All answers have the same length, and the buffer must
 *		have room for all of them. At any other offset: sleeps, as clock_nanosleep would, until the monotonic
 *		clock has reached this offset in ns. Then the read returns a u64 (the length of all answers in bytes),
 *		the answers, and the records of /proc/leolink/links
 */
#include <linux/fs.h>
#include <linux/hrtimer.h>
#include <linux/init.h>
#include <linux/inet_diag.h>
#include <linux/net.h>
#include <linux/proc_fs.h>
#include <linux/slab.h>
#include <linux/tcp.h>
#include <linux/uaccess.h>
#include <net/inet_connection_sock.h>
#include <net/sock.h>
#include <net/tcp.h>
#include "leolink.h"

/* In most systems, the number of a descriptor has at most 20 bits. An agent has two descriptors per flow */
#define MOST_SOCKETS	(1u << 20)

struct asked {
	u32 count;
	s32 fd[];
};

/*
 * struct tcp_info is the last field, because it is longer in newer kernels. crates/agent relies on the offsets of these
 * fields.
 */
struct answer {
	u32 info_bytes, cc_bytes;	/* number of valid bytes in `info` and in `cc` */
	union tcp_cc_info cc;
	struct tcp_info info __aligned(8);
};

static int answer(s32 fd, struct answer *a)
{
	const struct tcp_congestion_ops *control;
	struct socket *socket;
	int err, attribute;

	socket = sockfd_lookup(fd, &err);
	if (!socket)
		return err;
	err = -EINVAL;
	if (sk_is_tcp(socket->sk)) {
		memset(a, 0, sizeof(*a));
		tcp_get_info(socket->sk, &a->info);
		a->info_bytes = sizeof(a->info);
		control = inet_csk(socket->sk)->icsk_ca_ops;
		if (control && control->get_info)
			a->cc_bytes = control->get_info(socket->sk, ~0U, &attribute, &a->cc);
		err = 0;
	}
	sockfd_put(socket);
	return err;
}

/* Used only in kernels without leolink, for instance a user's own kernel. */
ssize_t __weak leolink_links_read(struct file *f, char __user *to, size_t size, loff_t *pos)
{
	return 0;
}

static ssize_t answers(const struct asked *asked, char __user *to, size_t size)
{
	u32 count = asked ? asked->count : 0, i;
	struct answer a;

	if (size < count * sizeof(a))
		return -EINVAL;
	for (i = 0; i < count; i++) {
		int err = answer(asked->fd[i], &a);

		if (err)
			return err;
		if (copy_to_user(to + i * sizeof(a), &a, sizeof(a)))
			return -EFAULT;
	}
	return count * sizeof(a);
}

static ssize_t sockets_read(struct file *f, char __user *to, size_t size, loff_t *pos)
{
	ktime_t until = *pos;
	ssize_t told, links;
	loff_t first = 0;
	u64 told_bytes;

	if (!*pos)
		return answers(f->private_data, to, size);
	if (size < sizeof(told_bytes))
		return -EINVAL;
	set_current_state(TASK_INTERRUPTIBLE);
	if (schedule_hrtimeout_range(&until, current->timer_slack_ns, HRTIMER_MODE_ABS))
		return -EINTR;
	to += sizeof(told_bytes);
	size -= sizeof(told_bytes);
	told = answers(f->private_data, to, size);
	if (told < 0)
		return told;
	links = leolink_links_read(f, to + told, size - told, &first);
	if (links < 0)
		return links;
	told_bytes = told;
	if (copy_to_user(to - sizeof(told_bytes), &told_bytes, sizeof(told_bytes)))
		return -EFAULT;
	return sizeof(told_bytes) + told + links;
}

static ssize_t sockets_write(struct file *f, const char __user *from, size_t size, loff_t *pos)
{
	struct asked *asked;

	if (size % sizeof(s32) || size / sizeof(s32) > MOST_SOCKETS)
		return -EINVAL;
	asked = kvmalloc(sizeof(*asked) + size, GFP_KERNEL);
	if (!asked)
		return -ENOMEM;
	asked->count = size / sizeof(s32);
	if (copy_from_user(asked->fd, from, size)) {
		kvfree(asked);
		return -EFAULT;
	}
	kvfree(f->private_data);
	f->private_data = asked;
	return size;
}

static int sockets_release(struct inode *inode, struct file *f)
{
	kvfree(f->private_data);
	return 0;
}

static const struct proc_ops sockets_ops = {
	.proc_read	= sockets_read,
	.proc_write	= sockets_write,
	.proc_release	= sockets_release,
};

/* Runs after leolink has created the directory /proc/leolink */
static int __init leowarp_sockets_register(void)
{
	BUILD_BUG_ON(offsetof(struct answer, cc) != 8 || offsetof(struct answer, info) != 32);
	return proc_create("leolink/sockets", 0600, NULL, &sockets_ops) ? 0 : -ENOMEM;
}
late_initcall(leowarp_sockets_register);
