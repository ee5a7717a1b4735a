/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The arithmetic of the loss detection methods. The functions below only compute with numbers, and need no socket.
 * Tests that run on the host can therefore compile these functions (tests/guest/loss_arithmetic_test.py).
 */
#ifndef LEOWARP_LOSS_ARITHMETIC_H
#define LEOWARP_LOSS_ARITHMETIC_H

#ifdef __KERNEL__
#include <linux/math64.h>
#include <linux/types.h>
#else
#include <stdint.h>
typedef uint32_t u32;
typedef uint64_t u64;
#define div64_u64(a, b) ((a) / (b))
#define mul_u64_u32_div(a, b, c) ((u64)((unsigned __int128)(a) * (b) / (c)))
#endif

#define LOSS_PPM 1000000
/* DupThresh of RFC 5681, 3.2. Three is also the minimum of DupThresh in RFC 4653 (3.1, I.3) */
#define LOSS_LEAST_DUPTHRESH 3
#define LOSS_RACK_LEAST_WINDOW_US 1000

/*
 * NCR's threshold: a packet is lost when this number of packets above it has been SACKed. RFC 4653, 3.1 (I.3):
 * DupThresh = max(LT_F * FlightSize, 3). LT_F is 2/3 for careful extended limited transmit, and 1/2 for the aggressive
 * variant.
 */
static inline u32 loss_ncr_dupthresh(u32 flight_size_pkts, int careful)
{
	u32 pkts = careful ? (u32)((u64)flight_size_pkts * 2 / 3) : flight_size_pkts / 2;

	return pkts > LOSS_LEAST_DUPTHRESH ? pkts : LOSS_LEAST_DUPTHRESH;
}

/*
 * Number of new packets that careful extended limited transmit sends for this ACK (RFC 4653, 3.3, E.2 to E.5). A packet
 * may be sent only if pipe + Skipped <= FlightSizePrev - 1. Sending a packet increases both pipe and Skipped by one.
 */
static inline u32 loss_ncr_careful_pkts(u32 flight_size_prev_pkts, u32 pipe_pkts, u32 skipped_pkts)
{
	u32 taken_pkts = pipe_pkts + skipped_pkts;

	return taken_pkts < flight_size_prev_pkts ? (flight_size_prev_pkts - taken_pkts + 1) / 2 : 0;
}

/*
 * The decaying maximum of round-trip times (Bohacek et al. 2006): ewrtt = max(alpha^(1/cwnd) * ewrtt, rtt). After the
 * ACKs of one window, the maximum has decayed to alpha times its value. As in the paper, the factor alpha^(1/cwnd) is
 * approximated by 1 - (1 - alpha) / cwnd, which is the first step of Newton's method from 1. For alpha = 0.995, the
 * approximation is too large by at most 1.3e-5.
 */
static inline u64 loss_pr_longest_ns(u64 longest_ns, u64 rtt_ns, u32 cwnd_pkts, u32 alpha_ppm)
{
	u64 decay_ns = div64_u64(mul_u64_u32_div(longest_ns, LOSS_PPM - alpha_ppm, LOSS_PPM), cwnd_pkts ? cwnd_pkts : 1);

	longest_ns -= decay_ns;
	return longest_ns > rtt_ns ? longest_ns : rtt_ns;
}

/* Time after its transmission at which a packet is lost: beta * M */
static inline u64 loss_pr_limit_ns(u64 longest_ns, u32 beta_ppm)
{
	return mul_u64_u32_div(longest_ns, beta_ppm, LOSS_PPM);
}

/*
 * The reordering window of early RACK, in us: 1 ms. If `quarter` is set, the window is a quarter of the minimum RTT,
 * but at least 1 ms
 */
static inline u32 loss_rack_window_us(int quarter, u32 min_rtt_us)
{
	/* min_rtt_us is ~0 if no RTT has been measured yet */
	u32 quarter_us = quarter && min_rtt_us != ~(u32)0 ? min_rtt_us / 4 : 0;

	return quarter_us > LOSS_RACK_LEAST_WINDOW_US ? quarter_us : LOSS_RACK_LEAST_WINDOW_US;
}

/* Number of extents, among the first `count`, that are at most `most_pkts` */
static inline u32 loss_rr_within(const u32 *extents_pkts, u32 count, u32 most_pkts)
{
	u32 within = 0, i;

	for (i = 0; i < count; i++)
		within += extents_pkts[i] <= most_pkts;
	return within;
}

/*
 * The lowest threshold that is above the extents of a given share of the observed late packets (Zhang et al. 2003). The
 * threshold is one more than the percentile of the extents at this share, but at least 3. For example, if 90 % of the
 * extents are 8 packets or fewer, the threshold is 9. Extents must be below 2^31.
 */
static inline u32 loss_rr_dupthresh(const u32 *extents_pkts, u32 count, u32 percentile_ppm)
{
	u64 wanted = ((u64)count * percentile_ppm + LOSS_PPM - 1) / LOSS_PPM;
	u32 low = 0, high = 0x7fffffff;

	if (!count)
		return LOSS_LEAST_DUPTHRESH;
	while (low < high) {
		u32 middle = low + (high - low) / 2;

		if (loss_rr_within(extents_pkts, count, middle) >= wanted)
			high = middle;
		else
			low = middle + 1;
	}
	return low + 1 > LOSS_LEAST_DUPTHRESH ? low + 1 : LOSS_LEAST_DUPTHRESH;
}

#endif
