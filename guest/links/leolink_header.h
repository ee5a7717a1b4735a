/* SPDX-License-Identifier: GPL-2.0-only */
/* Checks of a packet's IP header that a Linux router makes before it looks up the route. */
#ifndef LEOLINK_HEADER_H
#define LEOLINK_HEADER_H

#include <linux/etherdevice.h>
#include <linux/in.h>
#include <linux/skbuff.h>
#include <net/ip.h>

/* Whether the kernel makes further checks for this address besides the route lookup. */
static inline bool leolink_is_odd(__be32 address)
{
	return ipv4_is_multicast(address) || ipv4_is_lbcast(address) || ipv4_is_zeronet(address) ||
	       ipv4_is_loopback(address);
}

/* Whether a router would forward a packet with this IP header without further checks. */
static inline bool leolink_is_plain(const struct sk_buff *skb)
{
	const struct ethhdr *eth = (const struct ethhdr *)skb->data;
	const struct iphdr *ip = (const struct iphdr *)(skb->data + ETH_HLEN);

	return skb->protocol == htons(ETH_P_IP) && skb_headlen(skb) >= ETH_HLEN + sizeof(*ip) &&
	       eth->h_proto == htons(ETH_P_IP) && !is_multicast_ether_addr(eth->h_dest) && *(const u8 *)ip == 0x45 &&
	       ip->ttl > 1 && !(ip->frag_off & htons(IP_MF | IP_OFFSET)) &&
	       ntohs(ip->tot_len) + ETH_HLEN == skb->len && !ip_fast_csum(ip, 5);
}

#endif
