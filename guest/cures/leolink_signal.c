// SPDX-License-Identifier: GPL-2.0-only
/*
 * Packets that a node itself sends: notices and markers (design/cures.md). The packets are ICMP messages of the types
 * that RFC 4727 reserves for experiments. As source address, the packets have the address that RFC 7600, 4.8 assigns to
 * routers without their own address. A host that does not know these ICMP types discards notices and markers (RFC 1122,
 * 3.2.2).
 */
#include <linux/etherdevice.h>
#include <linux/icmp.h>
#include <net/ip.h>
#include "leolink_cures.h"

#define SIGNAL_SOURCE	0xc0000008	/* 192.0.0.8 */
#define SIGNAL_TTL	64

/*
 * Creates a packet that begins with the IP header, and leaves free space before it for the Ethernet header; NULL = out
 * of memory. `body` is stored behind the first four bytes of the ICMP header.
 */
struct sk_buff *leolink_signal_new(u8 type, __be32 destination, const __be32 *body, u32 body_bytes, gfp_t flags)
{
	u32 icmp_bytes = 4 + body_bytes;
	struct sk_buff *skb = alloc_skb(MAX_HEADER + sizeof(struct iphdr) + icmp_bytes, flags);
	struct icmphdr *icmp;
	struct iphdr *ip;

	if (!skb)
		return NULL;
	skb_reserve(skb, MAX_HEADER);
	skb_reset_network_header(skb);
	ip = skb_put_zero(skb, sizeof(*ip));
	ip->version = 4;
	ip->ihl = sizeof(*ip) / 4;
	ip->tot_len = htons(sizeof(*ip) + icmp_bytes);
	ip->frag_off = htons(IP_DF);
	ip->ttl = SIGNAL_TTL;
	ip->protocol = IPPROTO_ICMP;
	ip->saddr = htonl(SIGNAL_SOURCE);
	ip->daddr = destination;
	ip_send_check(ip);
	skb_set_transport_header(skb, sizeof(*ip));
	icmp = skb_put_zero(skb, icmp_bytes);
	icmp->type = type;
	memcpy((u8 *)icmp + 4, body, body_bytes);
	icmp->checksum = csum_fold(csum_partial(icmp, icmp_bytes, 0));
	skb->protocol = htons(ETH_P_IP);
	return skb;
}

/* Adds the Ethernet header to a packet that leaves over a device. */
void leolink_signal_frame(struct sk_buff *skb, struct net_device *dev)
{
	const struct net_device *peer = dev->netdev_ops->ndo_get_peer_dev(dev);
	struct ethhdr *eth = skb_push(skb, ETH_HLEN);

	skb_reset_mac_header(skb);
	ether_addr_copy(eth->h_dest, peer ? peer->dev_addr : dev->dev_addr);
	ether_addr_copy(eth->h_source, dev->dev_addr);
	eth->h_proto = htons(ETH_P_IP);
	skb->dev = dev;
}

/* Whether a packet is a marker. If the packet is a marker, stores the marker's number in `number`. */
bool leolink_signal_is_marker(const struct sk_buff *skb, u32 *number)
{
	const struct iphdr *ip = ip_hdr(skb);
	struct {
		struct icmphdr icmp;
		__be32 number;
	} message;

	if (skb->protocol != htons(ETH_P_IP) || ip->protocol != IPPROTO_ICMP || ip->saddr != htonl(SIGNAL_SOURCE) ||
	    skb_copy_bits(skb, skb_network_offset(skb) + 4 * ip->ihl, &message, sizeof(message)) ||
	    message.icmp.type != SIGNAL_MARKER || message.icmp.un.gateway != htonl(SIGNAL_MARKER_MAGIC))
		return false;
	*number = ntohl(message.number);
	return true;
}
