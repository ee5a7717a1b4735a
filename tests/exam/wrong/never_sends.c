// SPDX-License-Identifier: GPL-2.0-only
/* Wrong on purpose: the window is 0 from the beginning. */
#include <linux/module.h>
#include <net/tcp.h>

static void never_sends_init(struct sock *sk)
{
	tcp_sk(sk)->snd_cwnd = 0;
}

static u32 never_sends_ssthresh(struct sock *sk)
{
	return 2;
}

static void never_sends_control(struct sock *sk, u32 ack, int flag, const struct rate_sample *rs)
{
	tcp_sk(sk)->snd_cwnd = 0;
}

static u32 never_sends_undo(struct sock *sk)
{
	return 0;
}

static struct tcp_congestion_ops never_sends __read_mostly = {
	.name		= "never_sends",
	.owner		= THIS_MODULE,
	.init		= never_sends_init,
	.ssthresh	= never_sends_ssthresh,
	.cong_control	= never_sends_control,
	.undo_cwnd	= never_sends_undo,
};

static int __init never_sends_register(void)
{
	return tcp_register_congestion_control(&never_sends);
}
module_init(never_sends_register);

static void __exit never_sends_unregister(void)
{
	tcp_unregister_congestion_control(&never_sends);
}
module_exit(never_sends_unregister);

MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Made wrong on purpose, for tests of the exam");
