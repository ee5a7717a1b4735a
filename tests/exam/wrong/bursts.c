// SPDX-License-Identifier: GPL-2.0-only
/* This module is wrong on purpose: its window alternates between two packets and thousands of packets. */
#include <linux/module.h>
#include <net/tcp.h>

static u32 bursts_ssthresh(struct sock *sk)
{
	return 2;
}

static void bursts_control(struct sock *sk, u32 ack, int flag, const struct rate_sample *rs)
{
	/* The window is two packets in one second, and thousands of packets in the next second */
	tcp_snd_cwnd_set(tcp_sk(sk), (tcp_jiffies32 / HZ) & 1 ? 2 : 16384);
}

static u32 bursts_undo(struct sock *sk)
{
	return 2;
}

static struct tcp_congestion_ops bursts __read_mostly = {
	.name		= "bursts",
	.owner		= THIS_MODULE,
	.ssthresh	= bursts_ssthresh,
	.cong_control	= bursts_control,
	.undo_cwnd	= bursts_undo,
};

static int __init bursts_register(void)
{
	return tcp_register_congestion_control(&bursts);
}
module_init(bursts_register);

static void __exit bursts_unregister(void)
{
	tcp_unregister_congestion_control(&bursts);
}
module_exit(bursts_unregister);

MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Made wrong on purpose, for tests of the exam");
