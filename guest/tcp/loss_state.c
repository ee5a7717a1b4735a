// SPDX-License-Identifier: GPL-2.0-only
/*
 * loss_detection: the state of a socket, and a copy of its congestion control with some functions replaced.
 *
 * The state is stored in the socket's field for upper-layer protocols (icsk_ulp_data). The ULP delack does not use this
 * field. Multipath TCP uses icsk_ulp_data itself, so its subflows have no state here, and the kernel finds their
 * losses. The socket gets a copy of the chosen congestion control. In the copy, some functions are replaced. The socket
 * points to this copy of the congestion control, so the kernel calls the functions of the copy.
 */
#include <linux/slab.h>
#include <linux/string.h>
#include <net/tcp.h>
#include "loss_detection.h"

static bool pointer_is_of_another(const struct sock *sk)
{
	const struct tcp_ulp_ops *ops = inet_csk(sk)->icsk_ulp_ops;

	return unlikely(ops) && strcmp(ops->name, "delack");
}

struct loss_state *loss_state_if_any(const struct sock *sk)
{
	if (pointer_is_of_another(sk))
		return NULL;
	return (__force struct loss_state *)inet_csk(sk)->icsk_ulp_data;
}

/*
 * Returns the state of a socket, and creates it if necessary. Returns NULL if there is no memory, or if another
 * protocol uses the field. If the result is NULL, the caller leaves this ACK's losses to the kernel
 */
struct loss_state *loss_state(struct sock *sk)
{
	struct loss_state *state = loss_state_if_any(sk);

	if (state || pointer_is_of_another(sk))
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
	if (pointer_is_of_another(sk))
		return;
	kfree(loss_state_if_any(sk));
	inet_csk(sk)->icsk_ulp_data = NULL;
}

/*
 * Makes the socket use a copy of its congestion control. Returns true if a new copy was made: at the first call, and
 * when the congestion control has changed since the last ACK
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
