/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Cached routes for direct forwarding. Only leolink_direct.c includes this file, after its variables `enqueue` and
 * `links_changed` and its declarations of receive() and ways_of().
 */
#ifndef LEOLINK_WAYS_H
#define LEOLINK_WAYS_H

#define WAYS	8	/* must be a power of two */

/* A cached route of a node, for packets that arrive over one link. The packets go from `source` to `destination`. */
struct way {
	__be32 source, destination;
	u32 stamp;
	u16 max_bytes;		/* longest frame that may be forwarded directly */
	u8 mac[ETH_ALEN];	/* MAC address, which both ends of the next link share */
	u8 tos;
	u8 headroom;		/* free space that the kernel wants before a frame */
	struct net_device *dev;	/* device over which packets leave; NULL = the kernel handles them */
	struct leolink_sched *next;	/* link over which packets leave, if it is a leolink */
	bool is_wire;		/* whether packets leave over a host's wire, which has no queue */
};

/*
 * Most of the cost of a hop is memory accesses. With a thousand links, a link is not in the cache when its packets
 * arrive. For each packet, this file therefore reads no device, no namespace, and no memory behind the packet's data.
 */
struct leolink_ways {
	struct net_device *peer;	/* device at the link's other end */
	const atomic_t *routes_changed;	/* counter of route changes at the peer's node */
	struct way way[WAYS];
};

static bool is_tapped(const struct net_device *dev)
{
	rx_handler_func_t *handler = rcu_access_pointer(dev->rx_handler);

	return !list_empty(&dev->ptype_all) || (handler && handler != receive);
}

/*
 * A number that differs after each change of a route or link. A route change of the node increments the first term. A
 * link change increments the second term.
 */
static u32 stamp_of(const struct leolink_ways *ways)
{
	return (u32)atomic_read(ways->routes_changed) + links_changed;
}

/* The link that queues a node's packets to `dev`; NULL = there is none. */
static struct leolink_sched *link_of(const struct net_device *dev)
{
	struct Qdisc *sch = dev->real_num_tx_queues == 1 ? rcu_dereference(netdev_get_tx_queue(dev, 0)->qdisc) : NULL;

	return sch && sch->enqueue == enqueue ? qdisc_priv(sch) : NULL;
}

/*
 * Whether `dev` is a wire. A wire has no queue, so a packet that is sent over a wire is at the other end at once.
 */
static bool is_wire(const struct net_device *dev)
{
	const struct Qdisc *sch = dev->real_num_tx_queues == 1 ? rcu_dereference(netdev_get_tx_queue(dev, 0)->qdisc) : NULL;

	return sch && !sch->enqueue && dev->netdev_ops->ndo_get_peer_dev;
}

/* Whether the link has a rate or a table of capacities. On such a link, packets arrive one after another. */
static bool is_shaped(const struct leolink_sched *q)
{
	return q->rate_bps || (q->capacity.count && q->capacity.most != LEOLINK_UNSHAPED);
}

/*
 * Whether a packet can be queued at this link without involving a child or a hold. The link must also have a delay, so
 * that no packet arrives at the instant at which it is queued.
 */
static bool takes_at_once(const struct leolink_sched *q)
{
	if (likely(q->plain))
		return q->r.delay_ns && q->rate_bps;
	return q->asks_nobody && is_shaped(q) && (q->channel.count ? q->channel.least : q->r.delay_ns);
}

/*
 * For the first packet over a hop, the kernel creates a route and a neighbour entry. Returns true if both already
 * exist. If the route or the neighbour entry is missing, the kernel must forward the first packet. The kernel then
 * creates the missing entry at the same instant as without direct forwarding. A different instant would change the run,
 * because freeing an old route wakes ksoftirqd. ksoftirqd affects the order in which the scheduler runs other tasks.
 */
static bool is_known_to_kernel(const struct fib_nh_common *hop, struct net_device *dev, __be32 destination)
{
	const struct rtable *rt = rcu_dereference(hop->nhc_rth_input);
	const struct neighbour *neighbour = __ipv4_neigh_lookup_noref(dev, (__force u32)destination);

	/* same as rt_cache_valid of net/ipv4/route.c */
	return rt && READ_ONCE(rt->dst.obsolete) == DST_OBSOLETE_FORCE_CHK &&
	       rt->rt_genid == rt_genid_ipv4(dev_net(dev)) && neighbour && neighbour->hh.hh_len;
}

/* Looks up a route in the node's routing table. */
static void find(struct way *w, const struct leolink_ways *ways, const struct iphdr *ip)
{
	struct net_device *peer = ways->peer;
	struct in_device *in = __in_dev_get_rcu(peer);
	struct net *net = dev_net(peer);
	struct flowi4 flow = {
		.flowi4_iif = peer->ifindex,
#ifdef flowi4_tos /* in kernels up to 6.17 */
		.flowi4_tos = ip->tos & INET_DSCP_MASK,
#else
		.flowi4_dscp = ip4h_dscp(ip),
#endif
		.flowi4_scope = RT_SCOPE_UNIVERSE,
		.saddr = ip->saddr,
		.daddr = ip->daddr,
	};
	struct fib_nh_common *hop;
	struct fib_result result;
	struct net_device *dev;

	w->source = ip->saddr;
	w->destination = ip->daddr;
	w->tos = ip->tos;
	w->stamp = stamp_of(ways);
	w->dev = NULL;
	w->next = NULL;
	w->is_wire = false;
	if (!in || !IN_DEV_FORWARD(in) || IN_DEV_RPFILTER(in) || fib4_has_custom_rules(net) ||
	    !READ_ONCE(net->ipv4.sysctl_ip_fwd_update_priority) ||
	    leolink_is_odd(ip->saddr) || leolink_is_odd(ip->daddr) ||
	    net->ipv4.fib_has_custom_local_routes || inet_lookup_ifaddr_rcu(net, ip->saddr))
		return;
	if (fib_lookup(net, &flow, &result, 0) || result.type != RTN_UNICAST || !result.fi ||
	    fib_info_num_path(result.fi) != 1 || result.fi->fib_metrics->metrics[RTAX_MTU - 1])
		return;
	hop = FIB_RES_NHC(result);
	dev = hop->nhc_dev;
	if (hop->nhc_gw_family || hop->nhc_lwtstate || rcu_access_pointer(hop->nhc_exceptions) || !dev || dev == peer ||
	    !(dev->flags & IFF_NOARP) || !netif_running(dev) || is_tapped(dev) || is_tapped(peer))
		return;
	if (!is_known_to_kernel(hop, dev, ip->daddr)) {
		w->stamp--;	/* the stamp is made invalid, so that the next packet looks up the route again */
		return;
	}
	ether_addr_copy(w->mac, dev->dev_addr);
	w->max_bytes = min(min(dev->mtu, peer->mtu) + ETH_HLEN, U16_MAX);
	w->headroom = LL_RESERVED_SPACE(dev) - ETH_HLEN;
	w->dev = dev;
	w->next = link_of(dev);
	w->is_wire = is_wire(dev);
	/* packets in the opposite direction arrive over `dev`, so `dev` needs cached routes as well */
	if (!w->next)
		ways_of(dev);
}

static struct way *place_of(struct leolink_ways *ways, const struct iphdr *ip)
{
	u32 hash = (__force u32)(ip->saddr ^ ip->daddr);

	hash ^= hash >> 16;
	return &ways->way[(hash ^ hash >> 8) % WAYS];
}

static struct way *way_of(struct leolink_ways *ways, const struct iphdr *ip)
{
	struct way *w = place_of(ways, ip);

	if (w->source != ip->saddr || w->destination != ip->daddr || w->tos != ip->tos || w->stamp != stamp_of(ways))
		find(w, ways, ip);
	return w;
}

#endif
