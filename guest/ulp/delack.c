// SPDX-License-Identifier: GPL-2.0-only
/*
 * delack: makes a receiver acknowledge every second full segment from the start, and any other segment after max_ns at
 * the latest.
 *
 * In studies, "delayed ACKs on" means this behaviour (RFC 1122, 4.2.3.2; RFC 5681, 4.2). Linux differs from this
 * behaviour in three points. First, it acknowledges up to 16 segments one by one (TCP_MAX_QUICKACKS in tcp_input.c).
 * These quick ACKs come at the start of a connection, after an idle time of more than an RTO, and after each segment
 * that repeats received data. Second, Linux acknowledges each segment that makes the receive window grow
 * (tcp_grow_window). Third, Linux adapts its timer for delayed ACKs, up to 200 ms. Linux 6.12 does not have the socket
 * option TCP_DELACK_MAX_US, which sets the timer's limit icsk_delack_max. Without TCP_DELACK_MAX_US, only BPF can set
 * icsk_delack_max. The smallest hook in the kernel for setting icsk_delack_max is an upper-layer protocol (ULP). This
 * ULP adds no layer:
 *
 *	setsockopt(fd, IPPROTO_TCP, TCP_ULP, "delack", 6)	on the accepted socket
 *
 * Three things stay as in Linux. Segments out of order, segments that fill a gap, and repeated segments are
 * acknowledged at once (tcp_input.c: __tcp_ack_snd_check, tcp_data_queue). The advertised window is as large as the
 * free space in the buffer. As usual, the buffer's size depends on how fast the application reads
 * (tcp_rcv_space_adjust). At the start, however, rcv_ssthresh does not limit the window.
 */
#include <linux/module.h>
#include <net/inet_connection_sock.h>
#include <net/ip.h>
#include <net/tcp.h>

static ulong max_ns = 40 * NSEC_PER_MSEC;
module_param(max_ns, ulong, 0644);
MODULE_PARM_DESC(max_ns, "longest delay of an acknowledgement, ns (in whole jiffies; default 40 ms)");

static struct inet_connection_sock_af_ops delack_specific __read_mostly;

/*
 * Makes sure that the ACK of the next segment is delayed: no quick ACKs are pending, and the receive window cannot
 * grow.
 *
 * The field ato determines the delay. If the previous segment arrived shortly before, tcp_event_data_recv() sets ato to
 * ato / 2 + TCP_ATO_MIN / 2. After a long gap between segments, tcp_event_data_recv() starts quick ACKs. This function
 * sets lrcvtime, the time of the last segment, to a time in the future, so that there is no long gap. The resulting ato
 * is at least icsk_delack_max, and tcp_send_delayed_ack() limits the delay to icsk_delack_max. The field ato has 8
 * bits.
 */
static void delack_settle(struct sock *sk)
{
	struct inet_connection_sock *icsk = inet_csk(sk);
	u32 ato = 2 * icsk->icsk_delack_max;

	icsk->icsk_ack.quick = 0;
	icsk->icsk_ack.lrcvtime = tcp_jiffies32 + INT_MAX / 2;
	icsk->icsk_ack.ato = clamp(ato, 2 * TCP_ATO_MIN, 2 * TCP_ATO_MIN + TCP_DELACK_MAX) - TCP_ATO_MIN;
	tcp_sk(sk)->rcv_ssthresh = INT_MAX;
}

/*
 * Every outgoing segment carries an ACK. This function is called after the segment's window was set
 * (__tcp_transmit_skb).
 */
static int delack_queue_xmit(struct sock *sk, struct sk_buff *skb, struct flowi *fl)
{
	delack_settle(sk);
	return ip_queue_xmit(sk, skb, fl);
}

static int delack_init(struct sock *sk)
{
	struct inet_connection_sock *icsk = inet_csk(sk);

	if (icsk->icsk_af_ops != &ipv4_specific)
		return -EOPNOTSUPP;
	icsk->icsk_af_ops = &delack_specific;
	icsk->icsk_delack_max = max_t(u32, nsecs_to_jiffies(max_ns), 1);
	delack_settle(sk);
	return 0;
}

static struct tcp_ulp_ops delack __read_mostly = {
	.name = "delack",
	.owner = THIS_MODULE,
	.init = delack_init,
};

static int __init delack_register(void)
{
	delack_specific = ipv4_specific;
	delack_specific.queue_xmit = delack_queue_xmit;
	return tcp_register_ulp(&delack);
}
module_init(delack_register);

MODULE_DESCRIPTION("Delayed ACKs as RFC 1122 has them");
MODULE_LICENSE("GPL");
