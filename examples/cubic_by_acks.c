// SPDX-License-Identifier: GPL-2.0-only
/*
 * cubic_by_acks: the kernel's CUBIC whose window grows by acknowledgements, not by the segments that they acknowledge.
 *
 * net/ipv4/tcp_cubic.c is included as it is; each acknowledgement counts for one segment, as in reno_by_acks.c.
 */
#include <linux/module.h>
#include <net/tcp.h>

/* The registration of tcp_cubic.c comes here, with its struct tcp_congestion_ops */
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
