// SPDX-License-Identifier: GPL-2.0-only
/*
 * Wrong on purpose: the window grows with every acknowledgement and never shrinks, and the retransmission timer does
 * not back off.
 */
#include <linux/module.h>
#include <net/tcp.h>

/* Unit: packets; equals 24 MB, more than the largest buffer */
#define MOST_PKTS 16384U

static u32 keeps_growing_ssthresh(struct sock *sk)
{
	return MOST_PKTS;
}

static void keeps_growing_control(struct sock *sk, u32 ack, int flag, const struct rate_sample *rs)
{
	struct tcp_sock *tp = tcp_sk(sk);
	u32 *most_pkts = inet_csk_ca(sk);

	*most_pkts = min(max(*most_pkts, 10U) + max(rs->acked_sacked, 1), MOST_PKTS);
	tcp_snd_cwnd_set(tp, *most_pkts);
}

/*
 * Called whenever the retransmission timer expires, before the kernel doubles the timer (tcp_enter_loss,
 * tcp_retransmit_timer)
 */
static void keeps_growing_set_state(struct sock *sk, u8 new_state)
{
	if (new_state == TCP_CA_Loss)
		inet_csk(sk)->icsk_rto = HZ / 20;
}

static u32 keeps_growing_undo(struct sock *sk)
{
	return tcp_snd_cwnd(tcp_sk(sk));
}

static struct tcp_congestion_ops keeps_growing __read_mostly = {
	.name		= "keeps_growing",
	.owner		= THIS_MODULE,
	.ssthresh	= keeps_growing_ssthresh,
	.cong_control	= keeps_growing_control,
	.set_state	= keeps_growing_set_state,
	.undo_cwnd	= keeps_growing_undo,
};

static int __init keeps_growing_register(void)
{
	return tcp_register_congestion_control(&keeps_growing);
}
module_init(keeps_growing_register);

static void __exit keeps_growing_unregister(void)
{
	tcp_unregister_congestion_control(&keeps_growing);
}
module_exit(keeps_growing_unregister);

MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Made wrong on purpose, for tests of the exam");
