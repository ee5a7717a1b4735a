// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tables of a direction's behaviour that is known in advance: how much the direction carries (capacity), and the delay
 * and loss of its packets (channel). The rows of each table are in order of time. The last row stays valid for ever.
 * The first row also applies to times before its own time.
 */
#include <linux/math64.h>
#include <linux/mm.h>
#include "leolink.h"

#define ROWS_MAX	(1u << 24)
/* Above RATE_MAX, a row's capacity times the time to send a packet does not fit into 64 bits */
#define RATE_MAX	(10ULL * 1000 * 1000 * 1000 * 1000)
#define DELAY_MAX	(1000ULL * NSEC_PER_SEC)

static u32 rows_of(const struct nlattr *attr)
{
	return nla_len(attr) / sizeof(struct leolink_row);
}

static struct leolink_row row_of(const struct nlattr *attr, u32 i, u64 origin_ns)
{
	struct leolink_row row;

	/* the row is copied, because an attribute is only aligned to 4 bytes and a row to 8 */
	memcpy(&row, (const char *)nla_data(attr) + i * sizeof(row), sizeof(row));
	row.t_ns += origin_ns;
	return row;
}

/*
 * Makes room for the rows of an attribute. May sleep. The rows are copied before the old array is freed, so searches
 * work at any time.
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

/* Returns an error if the rows of an attribute cannot follow the rows of the table. */
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

/* Appends rows. The table must have room for them, and leolink_table_refuses() must accept them. */
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

/* Index of the row that is in force at `at_ns`. */
u32 leolink_table_find(struct leolink_table *t, u64 at_ns)
{
	u32 i = t->at;

	if (at_ns < t->rows[i].t_ns)
		i = 0;	/* a flush has removed packets that were scheduled for a later time */
	while (i + 1 < t->count && t->rows[i + 1].t_ns <= at_ns)
		i++;
	return t->at = i;
}

/* The first instant, from `from_ns` on, at which the capacity is above 0; U64_MAX = never. */
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
 * Time at which the last of `bytes` leaves if the first leaves at `start_ns`. By then the capacity since `start_ns` has
 * added up to `bytes`, minus `credit` (in bits x 10^9, as all sums here). `rest` receives the bits that the last
 * nanosecond could have carried in addition. Because of `rest`, back-to-back packets lose nothing to rounding. U64_MAX
 * = never.
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
