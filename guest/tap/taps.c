// SPDX-License-Identifier: GPL-2.0-only
/*
 * Gives the agent the packets that pass the interfaces of hosts: /proc/leolink/taps.
 *
 * Before working on this file, read dev_queue_xmit_nit and __netif_receive_skb_core of net/core/dev.c, and tpacket_rcv
 * of net/packet/af_packet.c. This file records packets at the same places and times as a packet socket, but costs less.
 * A packet socket clones each outgoing packet, runs a filter, and delivers blocks. This file only copies the first
 * bytes of packets.
 *
 * In addition, this file does not disturb the run, while a packet socket does. A packet socket wakes its reader when a
 * block is full, in the middle of an instant. The reader of a packet socket would thus run after one program and before
 * the next. It would delay the programs. The programs would read their sockets later, so TCP would send different ACKs.
 * The reader of /proc/leolink/taps wakes only when the processor has nothing else to do at this instant, and reading
 * takes no virtual time. A run with taps therefore equals a run without taps (tests/guest/taps_test.py). The reader of
 * /proc/leolink/taps runs between the programs only if the processor is never idle and the chunks fill up.
 *
 *	open		only one process can have the file open. A tap ends when the file is closed, or when its
 *			interface is removed
 *	write		struct tap_wanted: adds a tap at an interface of the writer's namespace
 *	poll		POLLIN: at least one chunk is full. POLLIN and POLLPRI: in addition, links have dropped packets
 *			since /proc/leolink/drops was last read
 *	read		returns one chunk: for each frame, struct tap_record and the frame's first bytes, padded to a
 *			multiple of 8 bytes. The buffer must be as large as a chunk; 0 = there is no chunk to read. At
 *			offset 0, a read returns only full chunks, so that what a read returns depends on the packets
 *			alone. At any other offset, if no chunk is full, a read returns the chunk that is being filled
 *
 * The kernel is linked with --wrap=time_travel_sleep (guest/build.sh).
 */
#include <linux/init.h>
#include <linux/interrupt.h>
#include <linux/list.h>
#include <linux/netdevice.h>
#include <linux/nsproxy.h>
#include <linux/poll.h>
#include <linux/proc_fs.h>
#include <linux/rtnetlink.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/time-internal.h>
#include <linux/timekeeping.h>
#include <linux/uaccess.h>
#include <linux/vmalloc.h>
#include <linux/wait.h>
#include "leolink.h"

#define CHUNK_BYTES	(256u << 10)
#define CHUNKS		32u
#define URGENT_CHUNKS	24u
/* Length of a record's frame if the agent wants no payload. Frames of this length are copied without a function call */
#define HEADERS_BYTES	64u

extern struct list_head time_travel_irqs;
void __real_time_travel_sleep(void);
void __wrap_time_travel_sleep(void);

struct tap_wanted {
	u32 ifindex;
	u32 number;		/* number that identifies the tap in its records */
	u32 snap_bytes;		/* maximum number of bytes that are recorded of each frame */
};

struct tap_record {
	u64 real_ns;
	u32 frame_bytes;
	u32 kept_bytes;		/* number of bytes of the frame that follow this header */
	u32 number;
	u32 is_outgoing;
};

struct tap {
	struct list_head list;
	struct net_device *dev;
	struct net_device_ops ops;	/* copy of the device's operations, in which ndo_start_xmit is replaced */
	const struct net_device_ops *own_ops;
	u32 number, snap_bytes;
};

static LIST_HEAD(taps);		/* accessed under RTNL */
static bool is_open;
static u8 *chunks;
static u32 filled_bytes[CHUNKS];
/*
 * Indexes of all chunks. The first `full` indexes are those of the full chunks, in the order in which the chunks were
 * filled. The next index is that of the chunk that is being filled. All further indexes are those of free chunks. The
 * first free chunk is the one that was read last, because it is still in the cache.
 */
static u32 order[CHUNKS], full;
static u64 lost;
static bool is_ready;
static DECLARE_WAIT_QUEUE_HEAD(reader);

static void make_ready(void)
{
	is_ready = true;
	wake_up_interruptible(&reader);
}

/* Called with softirqs disabled. `offset` is the position of the Ethernet header relative to the packet's data */
static void record(const struct tap *tap, const struct sk_buff *skb, int offset, bool is_outgoing)
{
	u32 frame_bytes = skb->len - offset, kept_bytes = min(frame_bytes, tap->snap_bytes);
	u32 bytes = ALIGN(sizeof(struct tap_record) + kept_bytes, 8), filling;
	struct tap_record *r;

	if (filled_bytes[order[full]] + bytes > CHUNK_BYTES) {
		if (full == CHUNKS - 1) {
			lost++;
			return;
		}
		filled_bytes[order[++full]] = 0;
		if (full >= URGENT_CHUNKS)
			make_ready();
	}
	filling = order[full];
	r = (struct tap_record *)(chunks + filling * CHUNK_BYTES + filled_bytes[filling]);
	r->real_ns = ktime_get_real_ns();
	r->frame_bytes = frame_bytes;
	r->kept_bytes = kept_bytes;
	r->number = tap->number;
	r->is_outgoing = is_outgoing;
	if (kept_bytes == HEADERS_BYTES && skb_headlen(skb) >= HEADERS_BYTES + offset)
		memcpy(r + 1, skb->data + offset, HEADERS_BYTES);
	else if (skb_copy_bits(skb, offset, r + 1, kept_bytes))
		lost++;
	filled_bytes[filling] += bytes;
}

static netdev_tx_t send(struct sk_buff *skb, struct net_device *dev)
{
	const struct tap *tap = container_of(dev->netdev_ops, struct tap, ops);

	record(tap, skb, 0, true);
	return tap->own_ops->ndo_start_xmit(skb, dev);
}

static rx_handler_result_t receive(struct sk_buff **pskb)
{
	struct sk_buff *skb = *pskb;

	record(rcu_dereference(skb->dev->rx_handler_data), skb, -(int)skb->mac_len, false);
	return RX_HANDLER_PASS;
}

/*
 * Called in the idle loop with interrupts disabled, before virtual time jumps to the next event. If nothing else is
 * left to do at this instant, the reader first gets the chance to read full chunks.
 */
void __wrap_time_travel_sleep(void)
{
	if (full && !is_ready && waitqueue_active(&reader) && list_empty(&time_travel_irqs) && !local_softirq_pending()) {
		make_ready();
		if (need_resched())
			return;
	}
	__real_time_travel_sleep();
}

/*
 * Used only in kernels without leolink, for instance a user's own kernel. A kernel without leolink has no records of
 * drops. The function therefore always returns true. The agent then checks for drops itself.
 */
bool __weak leolink_drops_wait(void)
{
	return true;
}

static __poll_t taps_poll(struct file *f, poll_table *wait)
{
	poll_wait(f, &reader, wait);
	if (!is_ready)
		return 0;
	return EPOLLIN | EPOLLRDNORM | (leolink_drops_wait() ? EPOLLPRI : 0);
}

static ssize_t taps_read(struct file *f, char __user *to, size_t size, loff_t *pos)
{
	u32 chunk, last;

	if (size < CHUNK_BYTES)
		return -EINVAL;
	if (lost)
		return -EOVERFLOW;
	local_bh_disable();
	chunk = order[0];
	if (!full && (!*pos || !filled_bytes[chunk])) {
		is_ready = false;
		local_bh_enable();
		return 0;
	}
	/*
	 * this chunk becomes the first free chunk. If no chunk was full, this chunk was the one being filled. The next
	 * chunk was then free. It is emptied here, and filled from now on
	 */
	last = full ? full : 1;
	memmove(order, order + 1, last * sizeof(*order));
	order[last] = chunk;
	if (full)
		full--;
	else
		filled_bytes[order[0]] = 0;
	is_ready = full;
	local_bh_enable();
	/*
	 * no packet is recorded during the copy. the chunk that is copied here is filled again only after the chunk
	 * that packets now fill is full
	 */
	return copy_to_user(to, chunks + chunk * CHUNK_BYTES, filled_bytes[chunk]) ? -EFAULT : filled_bytes[chunk];
}

static void untap(struct tap *tap)
{
	tap->dev->netdev_ops = tap->own_ops;
	netdev_rx_handler_unregister(tap->dev);
	list_del(&tap->list);
	kfree(tap);
}

static int tap_device(struct net_device *dev, const struct tap_wanted *wanted)
{
	struct tap *tap = kzalloc(sizeof(*tap), GFP_KERNEL);
	int err;

	if (!tap)
		return -ENOMEM;
	tap->dev = dev;
	tap->own_ops = dev->netdev_ops;
	tap->ops = *dev->netdev_ops;
	tap->ops.ndo_start_xmit = send;
	tap->number = wanted->number;
	tap->snap_bytes = min(wanted->snap_bytes, CHUNK_BYTES - (u32)sizeof(struct tap_record) - 8);
	err = netdev_rx_handler_register(dev, receive, tap);
	if (err) {
		kfree(tap);
		return err;
	}
	dev->netdev_ops = &tap->ops;
	list_add(&tap->list, &taps);
	return 0;
}

static ssize_t taps_write(struct file *f, const char __user *from, size_t size, loff_t *pos)
{
	struct tap_wanted wanted;
	struct net_device *dev;
	int err;

	if (size != sizeof(wanted))
		return -EINVAL;
	if (copy_from_user(&wanted, from, size))
		return -EFAULT;
	rtnl_lock();
	dev = __dev_get_by_index(current->nsproxy->net_ns, wanted.ifindex);
	err = dev ? tap_device(dev, &wanted) : -ENODEV;
	rtnl_unlock();
	return err ? err : size;
}

static int taps_open(struct inode *inode, struct file *f)
{
	if (is_open)
		return -EBUSY;
	chunks = vmalloc(CHUNKS * CHUNK_BYTES);
	if (!chunks)
		return -ENOMEM;
	memset(filled_bytes, 0, sizeof(filled_bytes));
	for (full = 0; full < CHUNKS; full++)
		order[full] = full;
	full = 0;
	lost = 0;
	is_ready = false;
	is_open = true;
	return 0;
}

static int taps_release(struct inode *inode, struct file *f)
{
	struct tap *tap, *next;

	rtnl_lock();
	list_for_each_entry_safe(tap, next, &taps, list)
		untap(tap);
	rtnl_unlock();
	full = 0;
	is_open = false;
	vfree(chunks);
	return 0;
}

static const struct proc_ops taps_ops = {
	.proc_open	= taps_open,
	.proc_release	= taps_release,
	.proc_read	= taps_read,
	.proc_write	= taps_write,
	.proc_poll	= taps_poll,
};

/* Called when an interface is removed */
static int device_changes(struct notifier_block *block, unsigned long event, void *info)
{
	struct net_device *dev = netdev_notifier_info_to_dev(info);
	struct tap *tap, *next;

	if (event == NETDEV_UNREGISTER)
		list_for_each_entry_safe(tap, next, &taps, list)
			if (tap->dev == dev)
				untap(tap);
	return NOTIFY_DONE;
}

static struct notifier_block device_notifier = { .notifier_call = device_changes };

/* Runs after leolink has created the directory /proc/leolink */
static int __init taps_register(void)
{
	int err = register_netdevice_notifier(&device_notifier);

	BUILD_BUG_ON(sizeof(struct tap_record) != 24);
	if (err)
		return err;
	return proc_create("leolink/taps", 0600, NULL, &taps_ops) ? 0 : -ENOMEM;
}
late_initcall(taps_register);
