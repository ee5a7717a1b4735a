// SPDX-License-Identifier: GPL-2.0-only
/*
 * mild_reno: Reno that keeps more than half of its window when it loses a packet.
 *
 * A congestion control is a struct of functions that TCP calls. Three functions are needed. They compute the window
 * after a loss, the growth of the window with each acknowledgement, and the window to restore after a spurious
 * reduction. This module uses the kernel's own functions for the growth, and for the window to restore. See
 * net/ipv4/tcp_cong.c, and include/net/tcp.h for the other functions.
 */
#include <linux/module.h>
#include <net/tcp.h>

static unsigned int kept_percent = 85;
module_param(kept_percent, uint, 0644);
MODULE_PARM_DESC(kept_percent, "share of the window that remains after a loss; Reno's is 50");

/* The kernel calls this function once per recovery, with the window before the recovery */
static u32 mild_reno_ssthresh(struct sock *sk)
{
	u64 kept_pkts = (u64)tcp_snd_cwnd(tcp_sk(sk)) * min(kept_percent, 100U) / 100;

	return max_t(u32, kept_pkts, 2);
}

static struct tcp_congestion_ops mild_reno __read_mostly = {
	.name		= "mild_reno",		/* the value of a flow's congestion_control: at most 15 letters */
	.owner		= THIS_MODULE,
	.ssthresh	= mild_reno_ssthresh,
	.cong_avoid	= tcp_reno_cong_avoid,
	.undo_cwnd	= tcp_reno_undo_cwnd,
};

static int __init mild_reno_register(void)
{
	return tcp_register_congestion_control(&mild_reno);
}
module_init(mild_reno_register);

static void __exit mild_reno_unregister(void)
{
	tcp_unregister_congestion_control(&mild_reno);
}
module_exit(mild_reno_unregister);

MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Reno that keeps more than half of its window");
