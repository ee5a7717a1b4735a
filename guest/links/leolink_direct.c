// SPDX-License-Identifier: GPL-2.0-only
/*
 * Direct forwarding: if a packet arrives at a node over one link and leaves over another, this file moves it directly
 * from the first link's queue to the second link's queue. The packet skips the kernel's backlog, softirq, IP receive
 * path, route lookup, neighbour lookup and transmit path.
 *
 * Before working on this file read net/ipv4/ip_input.c, ip_forward.c, ip_output.c and __dev_queue_xmit. This file
 * changes a forwarded packet as the kernel's functions would, and keeps the order of packets. With direct forwarding
 * and with the kernel's forwarding, a run gives identical results, byte for byte. The following packets are still
 * forwarded by the kernel:
 *
 * - packets for the node itself, and packets with IP options, fragments, an expired time to live, or more bytes than
 *   the MTU;
 * - all packets of a node with a capture (the check is repeated when the node's routes change);
 * - packets whose addresses only the kernel can check, packets without a route, and packets with a route through a
 *   gateway;
 * - packets that arrive over a link without a rate, or leave over a link that has no delay, has a child, or has holds
 *   (takes_at_once).
 *
 * The following rules keep the order of packets. If packets arrive over several links at one instant, all of them are
 * first removed from their links. Then the packets are forwarded one by one, in the order in which the backlog would
 * contain them. If the kernel must forward one packet of an instant, it also forwards all packets of this instant that
 * follow.
 *
 * Packets between a host's wire and a link still pass through the kernel's backlog. Packets that arrive over a link and
 * are not forwarded directly also pass through the backlog. The backlog keeps its packets in order. `receive` takes a
 * packet from the backlog. It does all further steps at once, up to the next link's queue or the wire's other end.
 *
 * The node's own counters (/proc/net/snmp, interfaces) do not contain packets that are forwarded directly. leolink
 * counts these packets.
 */
#include <linux/etherdevice.h>
#include <linux/inetdevice.h>
#include <linux/interrupt.h>
#include <linux/netdevice.h>
#include <linux/nsproxy.h>
#include <linux/proc_fs.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <linux/version.h>
#include <net/arp.h>
#include <net/hotdata.h>
#include <net/ip.h>
#include <net/ip_fib.h>
#include <net/net_namespace.h>
#include <net/nexthop.h>
#include <net/route.h>
#include "leolink.h"
#include "leolink_header.h"

/*
 * Number of packets of one instant that the kernel takes from the backlog in one turn (dev_rx_weight). If more packets
 * arrive at one instant, processes run between the kernel's turns, so the kernel must forward the packets of this
 * instant.
 */
#define MOST_AT_ONCE	64

static bool is_on;
static int (*enqueue)(struct sk_buff *skb, struct Qdisc *sch, struct sk_buff **to_free);
static u32 links_changed;

/*
 * Packets that have arrived at this instant and are not forwarded yet, in order of arrival. The cb of each packet
 * contains the link over which it arrived.
 */
static struct sk_buff *first, **last = &first;
static u32 arrived;
static bool rest_by_kernel;

static struct leolink_sched **brought_by(struct sk_buff *skb)
{
	return (struct leolink_sched **)qdisc_skb_cb(skb)->data;
}

/* Called when a link is added or removed. Adding or removing a link invalidates all cached routes. */
void leolink_direct_links_changed(void)
{
	links_changed++;
}

static rx_handler_result_t receive(struct sk_buff **pskb);
static struct leolink_ways *ways_of(struct net_device *dev);

#include "leolink_ways.h"

/* Changes the packet's headers as a router does. */
static void rewrite(struct sk_buff *skb, const struct way *w)
{
	struct ethhdr *eth = (struct ethhdr *)skb->data;
	struct iphdr *ip = (struct iphdr *)(skb->data + ETH_HLEN);

	ether_addr_copy(eth->h_dest, w->mac);
	ether_addr_copy(eth->h_source, w->mac);
	ip_decrease_ttl(ip);
	skb_dst_drop(skb);
	skb_forward_csum(skb);
	skb_clear_tstamp(skb);
	skb->priority = rt_tos2priority(ip->tos);
	skb->dev = w->dev;
}

/* Puts a packet into the queue of a link for which takes_at_once() is true. */
static void queue(struct sk_buff *skb, struct leolink_sched *next)
{
	struct sk_buff *dropped = NULL;

	qdisc_skb_cb(skb)->pkt_len = skb->len;
	enqueue(skb, next->sch, &dropped);
	while (unlikely(dropped)) {
		skb = dropped;
		dropped = skb->next;
		skb_mark_not_on_list(skb);
		dev_kfree_skb_any(skb);
	}
}

/*
 * Softirq: a packet leaves the node. If the packet leaves over a host's wire, the packet passes through the backlog
 * once more, as with veth_xmit. The backlog handles 64 packets in a row, and then user processes may run. If a packet
 * did not pass through the backlog, user processes would run at other times.
 */
static void send(struct sk_buff *skb, const struct way *w)
{
	struct net_device *host = w->is_wire ? w->dev->netdev_ops->ndo_get_peer_dev(w->dev) : NULL;

	if (w->next && takes_at_once(w->next))
		queue(skb, w->next);
	else if (host)
		dev_forward_skb(host, skb);
	else
		dev_queue_xmit(skb);
}

/* Softirq: a packet is taken from the backlog. ip_rcv would process it next. */
static rx_handler_result_t receive(struct sk_buff **pskb)
{
	struct sk_buff *skb = *pskb;
	struct leolink_ways *ways = rcu_dereference(skb->dev->rx_handler_data);
	struct way *w;

	if (!is_on || skb->pkt_type != PACKET_HOST || skb_shared(skb) || skb_is_gso(skb))
		return RX_HANDLER_PASS;
	__skb_push(skb, ETH_HLEN);
	if (leolink_is_plain(skb)) {
		w = way_of(ways, (struct iphdr *)(skb->data + ETH_HLEN));
		if (w->dev && skb->len <= w->max_bytes) {
			skb_orphan(skb);
			if (!skb_cow(skb, w->headroom)) {
				skb->transport_header = skb->network_header + sizeof(struct iphdr);
				rewrite(skb, w);
				send(skb, w);
				return RX_HANDLER_CONSUMED;
			}
		}
	}
	__skb_pull(skb, ETH_HLEN);
	return RX_HANDLER_PASS;
}

/*
 * Returns the cached routes for packets that arrive at a device. The first call creates the routes, and `receive` uses
 * them from then on. NULL = the device cannot have cached routes.
 */
static struct leolink_ways *ways_of(struct net_device *dev)
{
	struct leolink_ways *ways;

	if (rcu_access_pointer(dev->rx_handler))
		return rcu_access_pointer(dev->rx_handler) == receive ? rcu_dereference(dev->rx_handler_data) : NULL;
	ways = kzalloc(sizeof(*ways), GFP_ATOMIC);
	if (!ways)
		return NULL;
	ways->peer = dev;
	ways->routes_changed = &dev_net(dev)->ipv4.rt_genid;
	/*
	 * does the same as netdev_rx_handler_register, but without the lock. The lock is not needed, because there is
	 * one processor, and nothing else registers handlers here
	 */
	rcu_assign_pointer(dev->rx_handler_data, ways);
	rcu_assign_pointer(dev->rx_handler, receive);
	return ways;
}

/*
 * The device at the other end of a link. After the first call, the device has cached routes. NULL = the device was
 * removed.
 */
struct net_device *leolink_direct_peer(struct leolink_sched *q)
{
	struct net_device *dev, *peer;

	/*
	 * a cached peer always exists. When a link is removed, its packets are dropped first, and then both ends are
	 * removed together
	 */
	if (likely(q->ways))
		return q->ways->peer;
	dev = qdisc_dev(q->sch);
	peer = dev->netdev_ops->ndo_get_peer_dev ? dev->netdev_ops->ndo_get_peer_dev(dev) : NULL;
	if (peer && is_on)
		q->ways = ways_of(peer);
	return peer;
}

/* Called when a device is removed. The packets in flight to the device were dropped earlier. */
static int device_changes(struct notifier_block *block, unsigned long event, void *info)
{
	struct net_device *dev = netdev_notifier_info_to_dev(info);

	if (event == NETDEV_UNREGISTER && dev->reg_state == NETREG_UNREGISTERING &&
	    rcu_access_pointer(dev->rx_handler) == receive) {
		struct leolink_ways *ways = rtnl_dereference(dev->rx_handler_data);

		RCU_INIT_POINTER(dev->rx_handler, NULL);
		RCU_INIT_POINTER(dev->rx_handler_data, NULL);
		kfree(ways);
	}
	return NOTIFY_DONE;
}

static struct notifier_block device_notifier = { .notifier_call = device_changes };

/* Forwards a packet directly, if its node and next link allow it. Returns true if the packet was consumed. */
static bool forward(struct sk_buff *skb)
{
	struct leolink_sched *from = *brought_by(skb);
	struct way *w;

	if (!leolink_is_plain(skb))
		return false;
	w = way_of(from->ways, (struct iphdr *)(skb->data + ETH_HLEN));
	if (!w->next || !takes_at_once(w->next) || !is_shaped(from) || skb->len > w->max_bytes ||
	    skb_cow(skb, w->headroom))
		return false;
	rewrite(skb, w);
	queue(skb, w->next);
	return true;
}

/*
 * Interrupt: a packet has arrived at the other end of a link. The packet is stored, and leolink_direct_forward forwards
 * it together with all other packets of this instant.
 */
void leolink_direct_arrive(struct leolink_sched *q, struct net_device *peer, struct sk_buff *skb)
{
	if (!is_on || !q->ways || unlikely(rest_by_kernel || ++arrived > MOST_AT_ONCE)) {
		leolink_direct_give_way();
		dev_forward_skb(peer, skb);
		return;
	}
	*brought_by(skb) = q;
	skb->next = NULL;
	*last = skb;
	last = &skb->next;
}

static struct sk_buff *take_first(void)
{
	struct sk_buff *skb = first;

	first = skb->next;
	if (!first)
		last = &first;
	skb_mark_not_on_list(skb);
	return skb;
}

/* Leaves all packets of this instant to the kernel: packets that have arrived, and packets that will still arrive. */
void leolink_direct_give_way(void)
{
	rest_by_kernel = true;
	while (first) {
		struct sk_buff *skb = take_first();

		dev_forward_skb((*brought_by(skb))->ways->peer, skb);
	}
}

/*
 * Called before the packet at the head of a link's queue arrives. If the packet's route is cached, prefetches the
 * memory that the packet will need at the next link.
 */
static void prefetch_hop(const struct leolink_sched *q)
{
	const struct sk_buff *skb = q->sch->q.head;
	const struct leolink_sched *next;

	if (!skb || !q->ways)
		return;
	leolink_prefetch(q->ways->routes_changed);
	/* if the packet is not IPv4, these bytes are not an IP header. The buffer is always long enough to read them */
	next = place_of(q->ways, (const struct iphdr *)(skb->data + ETH_HLEN))->next;
	if (!next) {
		/*
		 * if the kernel forwards the packet, it first reads skb_shared_info at the end of the packet's buffer
		 */
		leolink_prefetch(skb_end_pointer(skb));
		return;
	}
	leolink_prefetch(&leolink_qdisc_of(next)->q);
	leolink_prefetch(next);
	leolink_prefetch(&next->first_waiting);
	leolink_prefetch(&next->r.delivered_pkts);
	leolink_prefetch(&next->r.busy_ns);
}

/* Since 6.17, captures on all interfaces are listed per namespace; before, there was one list */
#define PER_NAMESPACE (LINUX_VERSION_CODE >= KERNEL_VERSION(6, 17, 0))

static bool is_captured(const struct sk_buff *skb)
{
#if PER_NAMESPACE
	return !list_empty(&dev_net((*brought_by(skb))->ways->peer)->ptype_all);
#else
	return !list_empty(&net_hotdata.ptype_all);
#endif
}

/*
 * Called in an interrupt, after the packets of this instant were removed from their links. Forwards these packets.
 * `next` is the link that delivers next, or NULL.
 */
void leolink_direct_forward(const struct leolink_sched *next)
{
	rcu_read_lock();
	/*
	 * the kernel forwards the packets in two cases: there are captures on all interfaces, or the kernel has work to
	 * do before these packets (timers, queues, earlier packets)
	 */
	if (first && (is_captured(first) || (local_softirq_pending() & ((2 << NET_RX_SOFTIRQ) - 1))))
		leolink_direct_give_way();
	while (first) {
		struct sk_buff *skb = take_first();

		if ((PER_NAMESPACE && is_captured(skb)) || !forward(skb)) {
			dev_forward_skb((*brought_by(skb))->ways->peer, skb);
			leolink_direct_give_way();
		}
	}
	rcu_read_unlock();
	rest_by_kernel = false;
	arrived = 0;
	if (next)
		prefetch_hop(next);
}

/*
 * `receive` is normally registered when a packet arrives over a link. Some nodes, however, have no leolink that leads
 * to them. This function therefore registers `receive` at all veth devices of the caller's namespace.
 */
static void forward_here(void)
{
	struct net_device *dev;

	if (!is_on)
		return;
	rtnl_lock();
	rcu_read_lock();
	for_each_netdev(current->nsproxy->net_ns, dev)
		if (dev->netdev_ops->ndo_get_peer_dev)
			ways_of(dev);
	rcu_read_unlock();
	rtnl_unlock();
}

/*
 * /proc/leolink/forwarding: the agent writes "direct" or "kernel" to choose how packets are forwarded. If no leolink
 * leads to a node, the agent writes "here" in the node's namespace.
 */
static ssize_t forwarding_write(struct file *f, const char __user *from, size_t size, loff_t *pos)
{
	char word[8] = "";

	if (size >= sizeof(word))
		return -EINVAL;
	if (copy_from_user(word, from, size))
		return -EFAULT;
	if (!strcmp(word, "here"))
		forward_here();
	else if (!strcmp(word, "direct") || !strcmp(word, "kernel"))
		is_on = word[0] == 'd';
	else
		return -EINVAL;
	return size;
}

static const struct proc_ops forwarding_ops = { .proc_write = forwarding_write };

/*
 * `function` puts a packet into a link's queue. Must be called after leolink_proc.c has created the directory
 * /proc/leolink.
 */
int __init leolink_direct_register(int (*function)(struct sk_buff *skb, struct Qdisc *sch, struct sk_buff **to_free))
{
	int err = register_netdevice_notifier(&device_notifier);

	if (err)
		return err;
	enqueue = function;
	return proc_create("leolink/forwarding", 0200, NULL, &forwarding_ops) ? 0 : -ENOMEM;
}
