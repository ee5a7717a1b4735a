/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What is known of a direction beforehand: how much it carries (capacity) and what it does to a packet (channel), each
 * a table of rows in order of time. The last row holds for ever, the first also before its time.
 */
#ifndef LEOLINK_TABLE_H
#define LEOLINK_TABLE_H

#include "leolink.h"

#define ROWS_MAX	(1u << 24)
/* Above it a row's capacity times the time that it takes to send a packet would not fit into 64 bits */
#define ROW_RATE_MAX	(10ULL * 1000 * 1000 * 1000 * 1000)
#define ROW_DELAY_MAX	(1000ULL * NSEC_PER_SEC)

static int table_append(struct leolink_table *t, u64 origin_ns, const struct nlattr *attr, bool is_capacity)
{
	u32 more = nla_len(attr) / sizeof(struct leolink_row), i;
	struct leolink_row row;

	if (!more || nla_len(attr) % sizeof(struct leolink_row) || more > ROWS_MAX - t->count)
		return -EINVAL;
	if (t->count + more > t->room) {
		u32 room = max(t->count + more, min(2 * t->room, ROWS_MAX));
		struct leolink_row *rows = kvmalloc_array(room, sizeof(*rows), GFP_KERNEL);

		if (!rows)
			return -ENOMEM;
		if (t->rows)
			memcpy(rows, t->rows, t->count * sizeof(*rows));
		kvfree(t->rows);
		t->rows = rows;
		t->room = room;
	}
	for (i = 0; i < more; i++) {
		memcpy(&row, (const char *)nla_data(attr) + i * sizeof(row), sizeof(row));
		row.t_ns += origin_ns;
		if (t->count && row.t_ns <= t->rows[t->count - 1].t_ns)
			return -EINVAL;
		if (row.value > (is_capacity ? ROW_RATE_MAX : ROW_DELAY_MAX) && !(is_capacity && row.value == ROW_UNSHAPED))
			return -ERANGE;
		t->rows[t->count++] = row;
	}
	return 0;
}

static void table_free(struct leolink_table *t)
{
	kvfree(t->rows);
	memset(t, 0, sizeof(*t));
}

/* The place of the row in force at `at_ns`. */
static u32 table_find(struct leolink_table *t, u64 at_ns)
{
	u32 i = t->at;

	if (at_ns < t->rows[i].t_ns)
		i = 0;	/* a flush gave back what was to be sent later */
	while (i + 1 < t->count && t->rows[i + 1].t_ns <= at_ns)
		i++;
	return t->at = i;
}

/* The first instant from `from_ns` on at which something can be sent; U64_MAX = never. */
static u64 table_ready_ns(struct leolink_table *t, u64 from_ns)
{
	u32 i = table_find(t, from_ns);

	if (t->rows[i].value)
		return from_ns;
	while (++i < t->count)
		if (t->rows[i].value)
			return t->rows[i].t_ns;
	return U64_MAX;
}

/*
 * When the last of `bytes` leaves that begin to at `start_ns`: when the capacity since then has added up to them, less
 * `credit` (in bits x 10^9, as all sums here). `rest` is what the last nanosecond would have carried besides, so that
 * packets back to back lose nothing to rounding. U64_MAX = never.
 */
static u64 table_sent_ns(const struct leolink_table *t, u32 i, u64 start_ns, u32 bytes, u64 credit, u64 *rest)
{
	u64 left = (u64)bytes * 8 * NSEC_PER_SEC, at = start_ns;

	*rest = 0;
	left -= min(left, credit);
	for (;; i++) {
		u64 rate = t->rows[i].value;
		u64 end = i + 1 < t->count ? t->rows[i + 1].t_ns : U64_MAX;

		if (rate == ROW_UNSHAPED)
			return at;
		if (rate) {
			u64 need = div64_u64(left + rate - 1, rate);

			if (end == U64_MAX || need <= end - at) {
				*rest = need * rate - left;
				return at + need;
			}
			left -= rate * (end - at);
		} else if (end == U64_MAX) {
			return U64_MAX;
		}
		at = end;
	}
}

#endif
