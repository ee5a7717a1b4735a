// SPDX-License-Identifier: GPL-2.0-only
/*
 * reno_by_acks: Reno whose window grows per acknowledgement, and not per acknowledged segment.
 *
 * RFC 5681, 3.1, allows growth by a full-sized segment for each ACK, and growth by the acknowledged bytes (RFC 3465).
 * ns-2 counts ACKs. Linux counts segments, without RFC 3465's limit of two per ACK. If a receiver acknowledges every
 * second segment, counting ACKs halves the growth. Counting segments does not change it. Everything else is the
 * kernel's own Reno (net/ipv4/tcp_cong.c).
 */
#include <linux/module.h>
#include <net/tcp.h>

/* This function is the kernel's tcp_reno_cong_avoid() with 1 in place of `acked` */
static void reno_by_acks_cong_avoid(struct sock *sk, u32 ack, u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);

	if (!tcp_is_cwnd_limited(sk))
		return;
	if (!tcp_in_slow_start(tp) || tcp_slow_start(tp, 1))
		tcp_cong_avoid_ai(tp, tcp_snd_cwnd(tp), 1);
}

static struct tcp_congestion_ops reno_by_acks __read_mostly = {
	.name		= "reno_by_acks",
	.owner		= THIS_MODULE,
	.ssthresh	= tcp_reno_ssthresh,
	.cong_avoid	= reno_by_acks_cong_avoid,
	.undo_cwnd	= tcp_reno_undo_cwnd,
};

static int __init reno_by_acks_register(void)
{
	return tcp_register_congestion_control(&reno_by_acks);
}
module_init(reno_by_acks_register);

static void __exit reno_by_acks_unregister(void)
{
	tcp_unregister_congestion_control(&reno_by_acks);
}
module_exit(reno_by_acks_unregister);

MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Reno that grows its window by acknowledgements");
