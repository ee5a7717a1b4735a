// SPDX-License-Identifier: GPL-2.0-only
/*
 * loss_detection: what is known of a socket. It hangs on the pointer that upper-layer protocols have in a socket; of those
 * the guest has delack alone, which does not use it.
 */
#include <linux/slab.h>
#include "loss_detection.h"

struct loss_state *loss_state_if_any(const struct sock *sk)
{
	return (__force struct loss_state *)inet_csk(sk)->icsk_ulp_data;
}

/* NULL if there is no memory: the caller leaves this ACK to the kernel */
struct loss_state *loss_state(struct sock *sk)
{
	struct loss_state *state = loss_state_if_any(sk);

	if (state)
		return state;
	state = kzalloc(sizeof(*state), GFP_ATOMIC | __GFP_NOWARN);
	if (!state) {
		pr_warn_ratelimited("loss_detection: no memory for a socket's state: its losses are found by the kernel\n");
		return NULL;
	}
	state->una = tcp_sk(sk)->snd_una;
	state->dupthresh_pkts = LOSS_LEAST_DUPTHRESH;
	state->reordered = tcp_sk(sk)->reord_seen;
	state->repeated = tcp_sk(sk)->dsack_dups;
	inet_csk(sk)->icsk_ulp_data = (__force void __rcu *)state;
	return state;
}

void loss_state_free(struct sock *sk)
{
	kfree(loss_state_if_any(sk));
	inet_csk(sk)->icsk_ulp_data = NULL;
}
