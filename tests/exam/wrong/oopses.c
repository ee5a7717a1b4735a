// SPDX-License-Identifier: GPL-2.0-only
/* This module is wrong on purpose: it dereferences a null pointer at the first loss. */
#include <linux/module.h>
#include <net/tcp.h>

static u32 oopses_ssthresh(struct sock *sk)
{
	return *(volatile u32 *)NULL;
}

static struct tcp_congestion_ops oopses __read_mostly = {
	.name		= "oopses",
	.owner		= THIS_MODULE,
	.ssthresh	= oopses_ssthresh,
	.cong_avoid	= tcp_reno_cong_avoid,
	.undo_cwnd	= tcp_reno_undo_cwnd,
};

static int __init oopses_register(void)
{
	return tcp_register_congestion_control(&oopses);
}
module_init(oopses_register);

static void __exit oopses_unregister(void)
{
	tcp_unregister_congestion_control(&oopses);
}
module_exit(oopses_unregister);

MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Made wrong on purpose, for tests of the exam");
