// SPDX-License-Identifier: GPL-2.0-only
/*
 * bbr_handover: the kernel's BBR, except that it learns nothing from a handover that is expected.
 *
 * net/ipv4/tcp_bbr.c is included unchanged. This file contains all differences from BBR. The behaviour differs only for
 * some ACKs. From each ACK, BBR takes a sample. The sample's interval starts when the acknowledged data were sent, and
 * ends when the ACK arrives. If this interval overlaps the window around a scheduled reconfiguration, bbr_handover
 * differs from BBR as follows:
 *
 *	probing		PROBE_BW paces with gain 1, its gain cycle pauses, and PROBE_RTT does not begin
 *	filters		the estimates of bandwidth, minimum RTT and ACK aggregation keep their values
 *	policers	losses in the window are no evidence of a policer: BBR restarts its sampling of the long-term
 *			bandwidth
 *
 * After the window, the connection uses another path, with another bandwidth and base delay. BBR's bandwidth filter
 * covers a limited number of rounds. When the window ends, these rounds have passed, so the filter follows the new
 * samples. After the window around a reconfiguration, bbr_handover also marks the minimum RTT as expired. BBR cannot
 * distinguish a higher base delay from the queue that a handover leaves behind. BBR responds to an expired minimum RTT
 * with PROBE_RTT, which empties the queue. PROBE_RTT therefore begins immediately after the window, and not at some
 * time within the next 10 s.
 *
 * As long as a connection has not filled the pipe, bbr_handover behaves like BBR, because the connection has no
 * estimates worth keeping.
 *
 * With only_defer, only the pacing differs from BBR. During the window, PROBE_BW paces with gain 1, and its gain cycle
 * pauses. A probe that was due in the window therefore starts after the window. With version 3 of tcp_bbr.c, only_defer
 * is the only mode.
 *
 * Before working on this file, read net/ipv4/tcp_bbr.c and net/ipv4/tcp_rate.c.
 */
#include <net/tcp.h>

/*
 * A probe just before the window may fill the queue. The window begins so early that such a probe no longer fills the
 * queue at the reconfiguration. The window ends when the delay spikes of the handover (50 ms on Starlink) have drained.
 */
#define HANDOVER_BEFORE_NS 100000000
#define HANDOVER_AFTER_NS 400000000
#include "handover.h"

/*
 * bbr_handover draws random numbers from the connection's stream, as BBR does. If there are no windows, a run with
 * bbr_handover and a run with BBR are therefore identical, byte for byte.
 */
#define DRAWS_OF sk
#include "draws.h"

/* With this macro, tcp_bbr.c passes its struct tcp_congestion_ops to a function of this file */
static int bbr_handover_register(struct tcp_congestion_ops *ops);
#define tcp_register_congestion_control bbr_handover_register
#include "net/ipv4/tcp_bbr.c"
#undef tcp_register_congestion_control

/* Version 3 defines BBR_VERSION, and version 1 does not */
#ifndef BBR_VERSION

static bool only_defer;
module_param(only_defer, bool, 0644);
MODULE_PARM_DESC(only_defer, "nothing but pacing differs: gain 1 in the window (default 0)");

static bool force_probe_rtt = true;
module_param(force_probe_rtt, bool, 0644);
MODULE_PARM_DESC(force_probe_rtt, "the minimum RTT expires after each window, unless only_defer (default 1)");

/*
 * struct bbr fills the whole memory that a connection has for its congestion control. The count of windows is therefore
 * stored in a bit field that struct bbr does not use.
 */
#define bbr_windows_seen unused_b
#define BBR_WINDOWS_MASK 0x1f

static u32 bbr_windows(const struct sock *sk)
{
	return handover_count(tcp_sk(sk)->tcp_clock_cache) & BBR_WINDOWS_MASK;
}

static void bbr_handover_init(struct sock *sk)
{
	struct bbr *bbr = inet_csk_ca(sk);

	bbr_init(sk);
	bbr->bbr_windows_seen = bbr_windows(sk);
}

/* Undoes the changes that an ACK in the window made to BBR's filters */
static void bbr_handover_hold_filters(struct sock *sk, const struct bbr *was)
{
	struct bbr *bbr = inet_csk_ca(sk);

	bbr->bw = was->bw;
	bbr->min_rtt_us = was->min_rtt_us;
	if (!force_probe_rtt)
		bbr->min_rtt_stamp = was->min_rtt_stamp;	/* min_rtt_us expires as usual, but not in the window */
	bbr->extra_acked[0] = was->extra_acked[0];
	bbr->extra_acked[1] = was->extra_acked[1];
	bbr->extra_acked_win_rtts = was->extra_acked_win_rtts;
	bbr->extra_acked_win_idx = was->extra_acked_win_idx;
	if (!was->lt_use_bw)
		bbr_reset_lt_bw_sampling(sk);
}

/* Undoes the changes that an ACK in the window made to the gain cycle, and sets the gain to 1 */
static void bbr_handover_hold_cycle(struct sock *sk, const struct bbr *was)
{
	struct bbr *bbr = inet_csk_ca(sk);

	if (bbr->mode != BBR_PROBE_BW)
		return;
	if (was->mode == BBR_PROBE_BW) {
		bbr->cycle_idx = was->cycle_idx;
		bbr->cycle_mstamp = was->cycle_mstamp;
	}
	bbr->pacing_gain = BBR_UNIT;
}

/* Same as bbr_main(), but restores the filters and the gain cycle after bbr_update_model(), before the model is used */
static void bbr_handover_main(struct sock *sk, u32 ack, int flag, const struct rate_sample *rs)
{
	u64 now_ns = tcp_sk(sk)->tcp_clock_cache;
	u64 from_ns = rs->prior_mstamp ? rs->prior_mstamp * NSEC_PER_USEC : now_ns;
	struct bbr *bbr = inet_csk_ca(sk);
	bool full = bbr_full_bw_reached(sk);
	struct bbr was = *bbr;
	u32 bw;

	/*
	 * If only_defer is set, only the present time is compared with the window. Pacing does not affect packets that
	 * were already sent
	 */
	if (only_defer)
		from_ns = now_ns;
	if (!full || !handover_touches(from_ns, now_ns)) {
		if (full && !only_defer && bbr->bbr_windows_seen != bbr_windows(sk)) {
			bbr->bbr_windows_seen = bbr_windows(sk);
			if (force_probe_rtt)
				bbr->min_rtt_stamp = tcp_jiffies32 - bbr_min_rtt_win_sec * HZ - 1;	/* expired */
		}
		bbr_main(sk, ack, flag, rs);
		return;
	}

	if (only_defer) {
		bbr_update_model(sk, rs);
	} else {
		bbr->min_rtt_stamp = tcp_jiffies32;	/* min_rtt_us does not expire, so PROBE_RTT does not start */
		bbr_update_model(sk, rs);
		bbr_handover_hold_filters(sk, &was);
	}
	bbr_handover_hold_cycle(sk, &was);

	bw = bbr_bw(sk);
	bbr_set_pacing_rate(sk, bw, bbr->pacing_gain);
	bbr_set_cwnd(sk, rs, rs->acked_sacked, bw, bbr->cwnd_gain);
}

/* BBR's detection of policers treats a retransmission timeout like any other loss */
static void bbr_handover_set_state(struct sock *sk, u8 new_state)
{
	struct bbr *bbr = inet_csk_ca(sk);
	bool lt_used_bw = bbr->lt_use_bw;

	bbr_set_state(sk, new_state);
	if (!only_defer && new_state == TCP_CA_Loss && !lt_used_bw &&
	    handover_touches(handover_oldest_sent_ns(sk), tcp_sk(sk)->tcp_clock_cache))
		bbr_reset_lt_bw_sampling(sk);
}

static void bbr_handover_ops(struct tcp_congestion_ops *ops)
{
	ops->init = bbr_handover_init;
	ops->cong_control = bbr_handover_main;
	ops->set_state = bbr_handover_set_state;
}

#else /* version 3 */

/*
 * With version 3, the parameter only_defer is read-only. If a run tries to turn this parameter off, the run ends with
 * an error. The run does not silently behave differently.
 */
static bool only_defer = true;
module_param(only_defer, bool, 0444);
MODULE_PARM_DESC(only_defer, "nothing but pacing differs: gain 1 in the window; BBR of version 3 has no other way");

/*
 * Prevents a probe for bandwidth. BBR starts a probe after a certain time, or after a certain number of round trips.
 * This function keeps both just below their limits
 */
static void bbr_handover_put_off(struct sock *sk)
{
	struct bbr *bbr = inet_csk_ca(sk);
	u32 rounds = min(bbr_param(sk, bw_probe_max_rounds), bbr_target_inflight(sk));

	if (bbr_has_elapsed_in_phase(sk, bbr->probe_wait_us))
		bbr->cycle_mstamp = tcp_sk(sk)->tcp_mstamp - bbr->probe_wait_us;
	bbr->rounds_since_probe = min_t(u32, bbr->rounds_since_probe, max(rounds, 2U) - 2);
}

static void bbr_handover_main(struct sock *sk, u32 ack, int flag, const struct rate_sample *rs)
{
	u64 now_ns = tcp_sk(sk)->tcp_clock_cache;
	bool defers = bbr_full_bw_reached(sk) && handover_touches(now_ns, now_ns);
	struct bbr *bbr = inet_csk_ca(sk);

	/*
	 * In PROBE_UP, BBR uses cycle_mstamp for another purpose. There, the value of cycle_mstamp does not end the
	 * phase
	 */
	if (defers && bbr->mode == BBR_PROBE_BW && bbr->cycle_idx != BBR_BW_PROBE_UP)
		bbr_handover_put_off(sk);
	bbr_main(sk, ack, flag, rs);
	/* If a probe is already running, it continues with gain 1 at the bandwidth that it has found so far */
	if (defers && bbr->mode == BBR_PROBE_BW) {
		bbr->pacing_gain = BBR_UNIT;
		bbr->try_fast_path = 0;	/* with the fast path, BBR would not update the gain after the window */
		bbr_set_pacing_rate(sk, bbr_bw(sk), BBR_UNIT);
	}
}

static void bbr_handover_ops(struct tcp_congestion_ops *ops)
{
	ops->cong_control = bbr_handover_main;
}

#endif

static int bbr_handover_register(struct tcp_congestion_ops *ops)
{
	strscpy(ops->name, "bbr_handover", sizeof(ops->name));
	bbr_handover_ops(ops);
	return tcp_register_congestion_control(ops);
}
