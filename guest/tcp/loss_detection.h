/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * loss_detection: methods by which a sender detects losses. Each method can be combined with any congestion control
 * (docs/concepts/loss-detection.md).
 *
 * Before working on these files, read net/ipv4/tcp_recovery.c. Also read tcp_ack(), tcp_fastretrans_alert() and
 * tcp_identify_packet_loss() in net/ipv4/tcp_input.c.
 *
 * The kernel is linked with --wrap for the functions that loss_hooks.c names. As --wrap requires, each of these
 * functions is defined in one file of the kernel and called from another file. If a host has not chosen a method, the
 * replacement of a function only calls the kernel's function.
 *
 * The chosen method is stored in net.ipv4.tcp_recovery, in the bits above the kernel's own (bits 0 to 2, TCP_RACK_* in
 * include/net/tcp.h). If a method alone must decide which packets are lost, bit 0 (RACK) must be set. If bit 0 is set,
 * tcp_input.c leaves the decision to tcp_rack_mark_lost(). If bit 0 is not set, tcp_input.c itself also counts
 * duplicate ACKs.
 *
 * loss_detection consists of the files below. Each file only uses files above it in the list:
 *
 *	loss_arithmetic.h	functions that only compute with numbers
 *	loss_state.c		state of a socket, and its congestion control, of which some functions are replaced
 *	loss_count.c		methods that count the packets SACKed above a packet: ncr-careful, ncr-aggressive, rr
 *	loss_time.c		the method that uses time: pr
 *	loss_rack.c		methods that use both time and count: rack-draft, rack-4.14
 *	loss_door.c		no response to losses around packets that arrive out of order: door
 *	loss_notice.c		no losses while a notice announces reordering: notified
 *	loss_hooks.c		functions that the kernel calls
 */
#ifndef LEOWARP_LOSS_DETECTION_H
#define LEOWARP_LOSS_DETECTION_H

#include <net/tcp.h>
#include "loss_arithmetic.h"

#define LOSS_DETECTION_SHIFT 4

/* In the same order as LOSS_DETECTIONS in python/leowarp/scenario/hosts.py */
enum loss_detection {
	LOSS_KERNEL,
	LOSS_NCR_CAREFUL,
	LOSS_NCR_AGGRESSIVE,
	LOSS_DOOR,
	LOSS_RR,
	LOSS_PR,
	LOSS_NOTIFIED,
	LOSS_RACK_DRAFT,
	LOSS_RACK_4_14,
};

/* rr uses the extents of this many late packets: the most recent ones */
#define LOSS_RR_EXTENTS 512
/*
 * Maximum number of retransmissions for which rr waits for a DSACK. LOSS_RR_PENDING is larger than any window on
 * leowarp's links
 */
#define LOSS_RR_PENDING 512

struct loss_state {
	/*
	 * for methods that count packets: SND.UNA and the number of SACKed packets, both after the last ACK
	 */
	u32 una, sacked_pkts;
	/*
	 * for ncr: FlightSizePrev of RFC 4653 (0 outside of extended limited transmit). FlightSize and the congestion
	 * window at the last beginning of extended limited transmit
	 */
	u32 flight_size_prev_pkts, flight_size_pkts, cwnd_pkts;
	/* for rr */
	u32 dupthresh_pkts, extents, dsacked_pkts, pending_first, pending_count;
	u32 extents_pkts[LOSS_RR_EXTENTS], pending_pkts[LOSS_RR_PENDING];
	/* for pr: M, the decaying maximum of round-trip times */
	u64 longest_ns;
	/*
	 * for door: no loss reduces the window before frozen_until_ns. reduced_at_ns is the time of the last reduction.
	 * reduced_cwnd_pkts and reduced_ssthresh_pkts are the values before this reduction. reordered and repeated are
	 * the counts of evidence at the last ACK
	 */
	u64 frozen_until_ns, reduced_at_ns;
	u32 frozen_cwnd_pkts, reduced_cwnd_pkts, reduced_ssthresh_pkts, reordered, repeated;
	/* the congestion control that the socket has chosen, and a changed copy of it */
	const struct tcp_congestion_ops *original;
	struct tcp_congestion_ops ops;
	/* for notified without RACK: the kernel's own value of tp->reordering */
	u32 kept_reordering_pkts;
};

static inline enum loss_detection loss_detection(const struct sock *sk)
{
	return READ_ONCE(sock_net(sk)->ipv4.sysctl_tcp_recovery) >> LOSS_DETECTION_SHIFT;
}

static inline bool loss_by_rack(const struct sock *sk)
{
	return READ_ONCE(sock_net(sk)->ipv4.sysctl_tcp_recovery) & TCP_RACK_LOSS_DETECTION;
}

/* loss_state.c */
struct loss_state *loss_state(struct sock *sk);
struct loss_state *loss_state_if_any(const struct sock *sk);
void loss_state_free(struct sock *sk);
bool loss_ops_copy(struct sock *sk, struct loss_state *state);
void loss_ops_restore(struct sock *sk, struct loss_state *state);

/* loss_count.c */
void loss_ncr_ack(struct sock *sk, struct loss_state *state, bool careful);
void loss_ncr_end(struct sock *sk, struct loss_state *state);
void loss_rr_ack(struct sock *sk, struct loss_state *state);
void loss_count_mark(struct sock *sk, u32 dupthresh_pkts);

/* loss_time.c */
void loss_pr_ack(struct sock *sk, struct loss_state *state, const struct rate_sample *rs);
u64 loss_pr_left_ns(const struct sock *sk, const struct loss_state *state, const struct sk_buff *skb);
bool loss_pr_mark(struct sock *sk, struct loss_state *state);
u32 loss_pr_windows(void);
void loss_timer_in(struct sock *sk, u64 left_ns);

/* loss_rack.c */
bool loss_by_first_rack(enum loss_detection detection);
bool loss_rack_mark_late(struct sock *sk);
bool loss_rack_mark(struct sock *sk);

/* loss_door.c */
void loss_door_ack(struct sock *sk, struct loss_state *state);

/* loss_notice.c */
void loss_notice_take(struct sk_buff *skb);
u64 loss_notice_left_ns(const struct sock *sk);
void loss_notice_ack(struct sock *sk, struct loss_state *state);

#endif
