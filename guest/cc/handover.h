/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The schedule of reconfigurations, for the congestion controls bbr_handover and cubic_handover. A reconfiguration of
 * the access link occurs every period_ns. The first reconfiguration occurs phase_ns after the run's start. Each
 * reconfiguration has a window that begins before_ns before the reconfiguration and ends after_ns after it. All times
 * in this file are values of ktime_get(), like the times in tcp_sock.
 *
 * Each file that includes this header has its own parameters, in /sys/module/NAME/parameters.
 */
#ifndef LEOWARP_HANDOVER_H
#define LEOWARP_HANDOVER_H

#include <linux/math64.h>
#include <linux/moduleparam.h>
#include <net/tcp.h>

/*
 * If the run starts at a full minute, reconfigurations occur at the seconds 12, 27, 42 and 57 of each minute, as for
 * Starlink
 */
static unsigned long long period_ns = 15000000000;
module_param(period_ns, ullong, 0644);
MODULE_PARM_DESC(period_ns, "ns between reconfigurations, 0: there are none");

static unsigned long long phase_ns = 12000000000;
module_param(phase_ns, ullong, 0644);
MODULE_PARM_DESC(phase_ns, "ns from the run's start to the first reconfiguration");

/*
 * Each congestion control has its own window: the file that includes this header defines `HANDOVER_BEFORE_NS` and
 * `HANDOVER_AFTER_NS`.
 */
static unsigned long long before_ns = HANDOVER_BEFORE_NS;
module_param(before_ns, ullong, 0644);
MODULE_PARM_DESC(before_ns, "ns that the window begins before a reconfiguration");

static unsigned long long after_ns = HANDOVER_AFTER_NS;
module_param(after_ns, ullong, 0644);
MODULE_PARM_DESC(after_ns, "ns that the window lasts after a reconfiguration");

static unsigned long long origin_ns;
module_param(origin_ns, ullong, 0644);
MODULE_PARM_DESC(origin_ns, "the run's start on the clock of ktime_get(), ns");

/* ns since the first window began; negative before that */
static s64 handover_since_first_ns(u64 at_ns)
{
	return at_ns + before_ns - phase_ns - origin_ns;
}

/* Number of windows that have begun by `at_ns`. The number increases by one with each reconfiguration. */
static u32 __maybe_unused handover_count(u64 at_ns)
{
	s64 since_ns = handover_since_first_ns(at_ns);

	return period_ns && since_ns >= 0 ? div64_u64(since_ns, period_ns) + 1 : 0;
}

/*
 * Whether any instant between `from_ns` and `until_ns` was in a window. For the RTT of a packet, `from_ns` is when the
 * packet was sent, and `until_ns` is when its ACK arrived.
 */
static bool handover_touches(u64 from_ns, u64 until_ns)
{
	s64 since_ns = handover_since_first_ns(until_ns);
	u64 into_ns;

	if (!period_ns || since_ns < 0)
		return false;
	div64_u64_rem(since_ns, period_ns, &into_ns);
	return into_ns < before_ns + after_ns + (until_ns - min(from_ns, until_ns));
}

/*
 * Time at which the oldest unacknowledged packet was last sent. If all packets are acknowledged, the function returns
 * the present time.
 */
static u64 __maybe_unused handover_oldest_sent_ns(const struct sock *sk)
{
	const struct sk_buff *skb = tcp_rtx_queue_head(sk);

	return skb ? skb->skb_mstamp_ns : tcp_sk(sk)->tcp_clock_cache;
}

#endif
