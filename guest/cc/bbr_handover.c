// SPDX-License-Identifier: GPL-2.0-only
/*
 * bbr_handover: the kernel's BBR, except that it learns nothing from a handover that it expects.
 *
 * net/ipv4/tcp_bbr.c is included unchanged; this file has all that differs. The behaviour differs only for an ACK whose
 * sample (from sending the acknowledged data until now) touches the window around a scheduled reconfiguration:
 *
 *	probing		PROBE_BW paces with gain 1 and its cycle pauses; PROBE_RTT is not entered
 *	filters		bandwidth, minimum RTT and ACK aggregation keep their values
 *	policers	losses in the window are no evidence of a policer: the sampling of long-term bandwidth restarts
 *
 * After the window, bandwidth and base delay are those of another path. The rounds that the bandwidth filter covers
 * have passed, so that the filter follows the new samples. The minimum RTT expires: a higher base delay cannot be
 * distinguished from the queue that a handover leaves behind, and BBR's answer to this is PROBE_RTT, which empties the
 * queue. PROBE_RTT then comes at once, and not at some time within the next 10 s.
 *
 * A connection that has not filled the pipe yet has nothing to hold: until then it behaves like plain BBR.
 *
 * With only_defer, only the pacing differs: during the window PROBE_BW paces with gain 1 and its cycle pauses, so that
 * a probe comes after the window. On a tree whose tcp_bbr.c is version 3, only this mode is available.
 *
 * Before working on this file read net/ipv4/tcp_bbr.c and net/ipv4/tcp_rate.c.
 */
#include <net/tcp.h>

/*
 * The window begins early enough for a probe that would still fill the queue, and ends when delay spikes (50 ms on
 * Starlink) have drained
 */
#define HANDOVER_BEFORE_NS 100000000
#define HANDOVER_AFTER_NS 400000000
#include "handover.h"

/* Draws as BBR does: without windows the two are identical, byte for byte */
#define DRAWS_OF sk
#include "draws.h"

/* Redirects the registration in tcp_bbr.c, with its struct tcp_congestion_ops, to this file */
static int bbr_handover_register(struct tcp_congestion_ops *ops);
#define tcp_register_congestion_control bbr_handover_register
#include "net/ipv4/tcp_bbr.c"
#undef tcp_register_congestion_control

/* Only version 3 defines its version */
#ifndef BBR_VERSION

static bool only_defer;
module_param(only_defer, bool, 0644);
MODULE_PARM_DESC(only_defer, "nothing but pacing differs: gain 1 in the window (default 0)");

static bool force_probe_rtt = true;
module_param(force_probe_rtt, bool, 0644);
MODULE_PARM_DESC(force_probe_rtt, "the minimum RTT expires after each window, unless only_defer (default 1)");

/*
 * struct bbr uses all of a connection's congestion-control memory: the count of windows goes into a bit field that it
 * leaves unused
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

/* Undoes what an ACK in the window has done to the filters */
static void bbr_handover_hold_filters(struct sock *sk, const struct bbr *was)
{
	struct bbr *bbr = inet_csk_ca(sk);

	bbr->bw = was->bw;
	bbr->min_rtt_us = was->min_rtt_us;
	if (!force_probe_rtt)
		bbr->min_rtt_stamp = was->min_rtt_stamp;	/* expires as it would have, but not in the window */
	bbr->extra_acked[0] = was->extra_acked[0];
	bbr->extra_acked[1] = was->extra_acked[1];
	bbr->extra_acked_win_rtts = was->extra_acked_win_rtts;
	bbr->extra_acked_win_idx = was->extra_acked_win_idx;
	if (!was->lt_use_bw)
		bbr_reset_lt_bw_sampling(sk);
}

/* The same for the cycle; the gain becomes 1 */
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

/* Same as bbr_main(), but holds filters and cycle between the update of the model and its use */
static void bbr_handover_main(struct sock *sk, u32 ack, int flag, const struct rate_sample *rs)
{
	u64 now_ns = tcp_sk(sk)->tcp_clock_cache;
	u64 from_ns = rs->prior_mstamp ? rs->prior_mstamp * NSEC_PER_USEC : now_ns;
	struct bbr *bbr = inet_csk_ca(sk);
	bool full = bbr_full_bw_reached(sk);
	struct bbr was = *bbr;
	u32 bw;

	/* A sample covers the past, but pacing applies now */
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
		bbr->min_rtt_stamp = tcp_jiffies32;	/* an unexpired filter starts no PROBE_RTT */
		bbr_update_model(sk, rs);
		bbr_handover_hold_filters(sk, &was);
	}
	bbr_handover_hold_cycle(sk, &was);

	bw = bbr_bw(sk);
	bbr_set_pacing_rate(sk, bw, bbr->pacing_gain);
	bbr_set_cwnd(sk, rs, rs->acked_sacked, bw, bbr->cwnd_gain);
}

/* A timeout is also a loss for the policer sampling */
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

/* Read-only: a run that asks to hold filters ends, instead of silently doing something else */
static bool only_defer = true;
module_param(only_defer, bool, 0444);
MODULE_PARM_DESC(only_defer, "nothing but pacing differs: gain 1 in the window; BBR of version 3 has no other way");

/* Starts no bandwidth probe: the time or the round trips that a probe waits for stay just short of their limit */
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

	/* In PROBE_UP, cycle_mstamp is another clock, which ends nothing */
	if (defers && bbr->mode == BBR_PROBE_BW && bbr->cycle_idx != BBR_BW_PROBE_UP)
		bbr_handover_put_off(sk);
	bbr_main(sk, ack, flag, rs);
	/* A probe under way continues at the rate that it has found so far */
	if (defers && bbr->mode == BBR_PROBE_BW) {
		bbr->pacing_gain = BBR_UNIT;
		bbr->try_fast_path = 0;	/* otherwise the gain would stay as it is after the window */
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
