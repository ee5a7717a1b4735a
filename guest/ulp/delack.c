// SPDX-License-Identifier: GPL-2.0-only
/*
 * delack: a receiver that delays its acknowledgements from the first segment on, at most by max_ns.
 *
 * Linux acknowledges the first segments of a connection at once (tcp_event_data_recv() grants TCP_MAX_QUICKACKS when it
 * has no estimate of the delay yet) and lets the timer adapt up to 200 ms. What studies mean by "delayed ACKs on" is RFC
 * 1122, 4.2.3.2: every second full segment, and a timer. TCP_DELACK_MAX_US is newer than 6.12; before, only BPF reaches
 * icsk_delack_max. An upper-layer protocol without a layer is the smallest door to it:
 *
 *	setsockopt(fd, IPPROTO_TCP, TCP_ULP, "delack", 6)	on the accepted socket
 *
 * What stays as it is: segments out of order, and the first after a retransmission timeout of the sender's or an idle
 * time, are acknowledged at once (tcp_input.c: __tcp_ack_snd_check, tcp_enter_quickack_mode); RFC 5681, 4.2 asks for
 * the former.
 */
#include <linux/module.h>
#include <net/inet_connection_sock.h>
#include <net/tcp.h>

static ulong max_ns = 40 * NSEC_PER_MSEC;
module_param(max_ns, ulong, 0644);
MODULE_PARM_DESC(max_ns, "longest delay of an acknowledgement, ns (rounded to jiffies; default 40 ms)");

static int delack_init(struct sock *sk)
{
	struct inet_connection_sock *icsk = inet_csk(sk);

	icsk->icsk_delack_max = max_t(u32, nsecs_to_jiffies(max_ns), 1);
	icsk->icsk_ack.ato = min_t(u32, TCP_ATO_MIN, icsk->icsk_delack_max);
	icsk->icsk_ack.quick = 0;
	return 0;
}

static struct tcp_ulp_ops delack __read_mostly = {
	.name = "delack",
	.owner = THIS_MODULE,
	.init = delack_init,
};

static int __init delack_register(void)
{
	return tcp_register_ulp(&delack);
}
module_init(delack_register);

MODULE_DESCRIPTION("Delayed ACKs as RFC 1122 has them");
MODULE_LICENSE("GPL");
