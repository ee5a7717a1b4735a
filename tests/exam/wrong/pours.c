// SPDX-License-Identifier: GPL-2.0-only
/* This module is wrong on purpose: it sends 40 Mbit/s, however many packets are lost. */
#include <linux/module.h>
#include <net/tcp.h>

/* Unit: packets; more than the largest buffer holds */
#define MOST_PKTS 16384U
/* Unit: bytes per second; equals 40 Mbit/s */
#define RATE 5000000UL

static u32 pours_ssthresh(struct sock *sk)
{
	return MOST_PKTS;
}

static void pours_control(struct sock *sk, u32 ack, int flag, const struct rate_sample *rs)
{
	tcp_snd_cwnd_set(tcp_sk(sk), MOST_PKTS);
	WRITE_ONCE(sk->sk_pacing_rate, RATE);
}

static void pours_init(struct sock *sk)
{
	cmpxchg(&sk->sk_pacing_status, SK_PACING_NONE, SK_PACING_NEEDED);
}

static u32 pours_undo(struct sock *sk)
{
	return MOST_PKTS;
}

static struct tcp_congestion_ops pours __read_mostly = {
	.name		= "pours",
	.owner		= THIS_MODULE,
	.init		= pours_init,
	.ssthresh	= pours_ssthresh,
	.cong_control	= pours_control,
	.undo_cwnd	= pours_undo,
};

static int __init pours_register(void)
{
	return tcp_register_congestion_control(&pours);
}
module_init(pours_register);

static void __exit pours_unregister(void)
{
	tcp_unregister_congestion_control(&pours);
}
module_exit(pours_unregister);

MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Made wrong on purpose, for tests of the exam");
