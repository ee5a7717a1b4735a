// SPDX-License-Identifier: GPL-2.0-only
/* Wrong on purpose: the window is always two packets. */
#include <linux/module.h>
#include <net/tcp.h>

static u32 two_packets_ssthresh(struct sock *sk)
{
	return 2;
}

static void two_packets_control(struct sock *sk, u32 ack, int flag, const struct rate_sample *rs)
{
	tcp_snd_cwnd_set(tcp_sk(sk), 2);
}

static u32 two_packets_undo(struct sock *sk)
{
	return 2;
}

static struct tcp_congestion_ops two_packets __read_mostly = {
	.name		= "two_packets",
	.owner		= THIS_MODULE,
	.ssthresh	= two_packets_ssthresh,
	.cong_control	= two_packets_control,
	.undo_cwnd	= two_packets_undo,
};

static int __init two_packets_register(void)
{
	return tcp_register_congestion_control(&two_packets);
}
module_init(two_packets_register);

static void __exit two_packets_unregister(void)
{
	tcp_unregister_congestion_control(&two_packets);
}
module_exit(two_packets_unregister);

MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Made wrong on purpose, for tests of the exam");
