// SPDX-License-Identifier: GPL-2.0-only
/*
 * cubic_by_acks is the kernel's CUBIC, but its window grows per acknowledgement and not per acknowledged segment.
 *
 * It includes net/ipv4/tcp_cubic.c unchanged. Each acknowledgement counts as one segment, as in reno_by_acks.c.
 */
#include <linux/module.h>
#include <net/tcp.h>

/*
 * tcp_cubic.c calls this function instead of tcp_register_congestion_control() to register its struct
 * tcp_congestion_ops
 */
static int cubic_by_acks_register(struct tcp_congestion_ops *ops);
#define tcp_register_congestion_control cubic_by_acks_register
#include "net/ipv4/tcp_cubic.c"
#undef tcp_register_congestion_control

static void cubic_by_acks_cong_avoid(struct sock *sk, u32 ack, u32 acked)
{
	cubictcp_cong_avoid(sk, ack, 1);
}

static int cubic_by_acks_register(struct tcp_congestion_ops *ops)
{
	strscpy(ops->name, "cubic_by_acks", sizeof(ops->name));
	ops->cong_avoid = cubic_by_acks_cong_avoid;
	return tcp_register_congestion_control(ops);
}
