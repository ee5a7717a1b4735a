// SPDX-License-Identifier: GPL-2.0-only
/*
 * A run begins with all memory of sockets accounted for.
 *
 * Before working on this file read include/net/proto_memory.h: what TCP and UDP charge and give back is first counted by
 * the processor, and goes to the one count that is held against their limits (net.ipv4.tcp_mem) when 1 MiB has come together.
 * What a run left there, less than that either way, the next run of the boot began with: its writers met the limit of TCP's
 * memory up to 1 MiB sooner or later (tests/guest/batch_test.py).
 *
 * /proc/leolink/memory: whatever is written, both counts are brought together.
 */
#include <linux/init.h>
#include <linux/proc_fs.h>
#include <net/proto_memory.h>
#include <net/tcp.h>
#include <net/udp.h>

static ssize_t memory_write(struct file *f, const char __user *from, size_t size, loff_t *pos)
{
	/* Not while a softirq charges */
	local_bh_disable();
	proto_memory_pcpu_drain(&tcp_prot);
	proto_memory_pcpu_drain(&udp_prot);
	local_bh_enable();
	return size;
}

static const struct proc_ops memory_ops = { .proc_write = memory_write };

/* After leolink has made its directory */
static int __init memory_register(void)
{
	return proc_create("leolink/memory", 0200, NULL, &memory_ops) ? 0 : -ENOMEM;
}
late_initcall(memory_register);
