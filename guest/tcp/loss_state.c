// SPDX-License-Identifier: GPL-2.0-only
/*
 * loss_detection: the state of a socket, and its congestion control, of which some functions are replaced.
 *
 * The state is stored in the socket's pointer for upper-layer protocols (ULP). The guest's only ULP is delack, which
 * does not use the pointer. The socket's congestion control is a copy of the chosen one, in which some functions are
 * replaced. The kernel uses the copy because the socket points to it.
 */
#include <linux/slab.h>
#include "loss_detection.h"

struct loss_state *loss_state_if_any(const struct sock *sk)
{
	return (__force struct loss_state *)inet_csk(sk)->icsk_ulp_data;
}

/* NULL if there is no memory. The caller then leaves this ACK to the kernel */
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

/*
 * Returns true if the copy is new. This is the case at first, and after the congestion control has changed since the
 * last ACK
 */
bool loss_ops_copy(struct sock *sk, struct loss_state *state)
{
	struct inet_connection_sock *icsk = inet_csk(sk);

	if (icsk->icsk_ca_ops == &state->ops)
		return false;
	state->original = icsk->icsk_ca_ops;
	state->ops = *state->original;
	icsk->icsk_ca_ops = &state->ops;
	return true;
}

void loss_ops_restore(struct sock *sk, struct loss_state *state)
{
	if (inet_csk(sk)->icsk_ca_ops == &state->ops)
		inet_csk(sk)->icsk_ca_ops = state->original;
}
