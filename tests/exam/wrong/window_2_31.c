// SPDX-License-Identifier: GPL-2.0-only
/* This module is wrong on purpose: it sets a window of 2^31 packets. */
#include <linux/module.h>
#include <net/tcp.h>

static u32 window_2_31_ssthresh(struct sock *sk)
{
	return 1U << 31;
}

static void window_2_31_control(struct sock *sk, u32 ack, int flag, const struct rate_sample *rs)
{
	tcp_sk(sk)->snd_cwnd = 1U << 31;
}

static u32 window_2_31_undo(struct sock *sk)
{
	return 1U << 31;
}

static struct tcp_congestion_ops window_2_31 __read_mostly = {
	.name		= "window_2_31",
	.owner		= THIS_MODULE,
	.ssthresh	= window_2_31_ssthresh,
	.cong_control	= window_2_31_control,
	.undo_cwnd	= window_2_31_undo,
};

static int __init window_2_31_register(void)
{
	return tcp_register_congestion_control(&window_2_31);
}
module_init(window_2_31_register);

static void __exit window_2_31_unregister(void)
{
	tcp_unregister_congestion_control(&window_2_31);
}
module_exit(window_2_31_unregister);

MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Made wrong on purpose, for tests of the exam");
