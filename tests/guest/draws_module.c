// SPDX-License-Identifier: GPL-2.0-only
/*
 * A module that stands for any change to the kernel: it draws random numbers when it is loaded, and its timer causes
 * interrupts at irregular times. This module must not change any packet of a run.
 */
#include <linux/hrtimer.h>
#include <linux/module.h>
#include <linux/random.h>
#include <net/tcp.h>

static u32 draws = 17;
module_param(draws, uint, 0644);
static u32 period_ns = 1234567;
module_param(period_ns, uint, 0644);

static struct hrtimer timer;

static enum hrtimer_restart disturb(struct hrtimer *of)
{
	u8 bytes[3];

	get_random_bytes(bytes, sizeof(bytes));
	hrtimer_forward_now(of, ns_to_ktime(period_ns));
	return HRTIMER_RESTART;
}

/* leowarp only loads modules that register a congestion control. */
static struct tcp_congestion_ops unused = {
	.ssthresh	= tcp_reno_ssthresh,
	.cong_avoid	= tcp_reno_cong_avoid,
	.undo_cwnd	= tcp_reno_undo_cwnd,
	.owner		= THIS_MODULE,
	.name		= "draws_module",
};

static int __init draws_module_register(void)
{
	for (u32 i = 0; i < draws; i++)
		get_random_u32();
	hrtimer_init(&timer, CLOCK_MONOTONIC, HRTIMER_MODE_REL);
	timer.function = disturb;
	hrtimer_start(&timer, ns_to_ktime(period_ns), HRTIMER_MODE_REL);
	return tcp_register_congestion_control(&unused);
}

static void __exit draws_module_unregister(void)
{
	hrtimer_cancel(&timer);
	tcp_unregister_congestion_control(&unused);
}

module_init(draws_module_register);
module_exit(draws_module_unregister);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Draws and interrupts that move no packet");
