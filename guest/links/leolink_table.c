// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tables for a direction whose behaviour is known in advance: its capacity, and the delay and loss of its packets (the
 * channel). The rows of each table are in order of time. The last row is valid for ever. The first row is also valid
 * before its own time.
 */
#include <linux/math64.h>
#include <linux/mm.h>
#include "leolink.h"

#define ROWS_MAX	(1u << 24)
/* A higher capacity in bit/s, multiplied by the ns that a packet takes, would not fit into 64 bits */
#define RATE_MAX	(10ULL * 1000 * 1000 * 1000 * 1000)
#define DELAY_MAX	(1000ULL * NSEC_PER_SEC)

static u32 rows_of(const struct nlattr *attr)
{
	return nla_len(attr) / sizeof(struct leolink_row);
}

static struct leolink_row row_of(const struct nlattr *attr, u32 i, u64 origin_ns)
{
	struct leolink_row row;

	/* the row is copied, because netlink aligns an attribute only to 4 bytes, and a row needs 8 */
	memcpy(&row, (const char *)nla_data(attr) + i * sizeof(row), sizeof(row));
	row.t_ns += origin_ns;
	return row;
}

/*
 * Allocates memory in the table for the rows of a netlink attribute. May sleep. The rows are copied to the new array
 * before the old array is freed, so that interrupts can always search the table.
 */
int leolink_table_reserve(struct leolink_table *t, const struct nlattr *attr)
{
	u32 more = rows_of(attr), room;
	struct leolink_row *rows, *old = t->rows;

	if (more > ROWS_MAX - t->count)
		return -E2BIG;
	if (t->count + more <= t->room)
		return 0;
	room = max(t->count + more, min(2 * t->room, ROWS_MAX));
	rows = kvmalloc_array(room, sizeof(*rows), GFP_KERNEL);
	if (!rows)
		return -ENOMEM;
	if (old)
		memcpy(rows, old, t->count * sizeof(*rows));
	local_bh_disable();
	t->rows = rows;
	t->room = room;
	local_bh_enable();
	kvfree(old);
	return 0;
}

/* Returns an error if the rows of a netlink attribute cannot follow the rows of the table. */
int leolink_table_refuses(const struct leolink_table *t, u64 origin_ns, const struct nlattr *attr, bool is_capacity)
{
	bool is_first = !t->count;
	u64 before = is_first ? 0 : t->rows[t->count - 1].t_ns;
	u32 i;

	if (!rows_of(attr) || nla_len(attr) % sizeof(struct leolink_row))
		return -EINVAL;
	for (i = 0; i < rows_of(attr); i++) {
		struct leolink_row row = row_of(attr, i, origin_ns);

		if (!is_first && row.t_ns <= before)
			return -EINVAL;
		if (row.value > (is_capacity ? RATE_MAX : DELAY_MAX) && !(is_capacity && row.value == LEOLINK_UNSHAPED))
			return -ERANGE;
		is_first = false;
		before = row.t_ns;
	}
	return 0;
}

/*
 * Appends the rows of a netlink attribute to the table. The caller must first allocate memory for these rows.
 * leolink_table_refuses() must have returned 0.
 */
void leolink_table_append(struct leolink_table *t, u64 origin_ns, const struct nlattr *attr)
{
	u32 i;

	for (i = 0; i < rows_of(attr); i++) {
		struct leolink_row row = row_of(attr, i, origin_ns);

		t->least = t->count ? min(t->least, row.value) : row.value;
		t->most = max(t->most, row.value);
		t->rows[t->count++] = row;
	}
}

void leolink_table_free(struct leolink_table *t)
{
	kvfree(t->rows);
	memset(t, 0, sizeof(*t));
}

/* Index of the row that is valid at `at_ns`. */
u32 leolink_table_find(struct leolink_table *t, u64 at_ns)
{
	u32 i = t->at;

	if (at_ns < t->rows[i].t_ns)
		i = 0;	/* the last search was for a later time, for packets that were flushed since then */
	while (i + 1 < t->count && t->rows[i + 1].t_ns <= at_ns)
		i++;
	return t->at = i;
}

/* The first instant, not before `from_ns`, at which the capacity is above 0; U64_MAX = never. */
u64 leolink_table_ready_ns(struct leolink_table *t, u64 from_ns)
{
	u32 i = leolink_table_find(t, from_ns);

	if (t->rows[i].value)
		return from_ns;
	while (++i < t->count)
		if (t->rows[i].value)
			return t->rows[i].t_ns;
	return U64_MAX;
}

/*
 * Time at which the last of `bytes` bytes leaves if the first leaves at `start_ns`; U64_MAX = never. `credit` is the
 * part of `bytes` that the link carried before `start_ns`, in bits x 10^9 (the unit of all sums here). `rest` receives
 * the number of further bits that would have fitted into the last nanosecond. If the next packet follows at once, the
 * caller passes `rest` as the `credit` of this packet. Rounding then loses no capacity.
 */
u64 leolink_table_sent_ns(const struct leolink_table *t, u32 i, u64 start_ns, u32 bytes, u64 credit, u64 *rest)
{
	u64 left = (u64)bytes * 8 * NSEC_PER_SEC, at = start_ns;

	*rest = 0;
	left -= min(left, credit);
	for (;; i++) {
		u64 rate = t->rows[i].value;
		u64 end = i + 1 < t->count ? t->rows[i + 1].t_ns : U64_MAX;

		if (rate == LEOLINK_UNSHAPED)
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
