/* SPDX-License-Identifier: BSD-2-Clause */
#include "analysis/usage/io_rows.h"

#include <stdlib.h>

#include "common/error.h"
#include "common/hash_map.h"

uint64_t usage_io_bytes(const struct usage_io_sum *sum)
{
	return sum->bytes[USAGE_READ] + sum->bytes[USAGE_WRITE];
}

static bool is_selected(const struct usage_io *io, const struct analysis_input *input, uint32_t process)
{
	return common_id_set_has(&input->filter->pids, io->processes[process].pid);
}

/*
 * A request to a disk works until its end, even if the end is unknown. A read of a terminal or a pipe without an end
 * only waits.
 */
static uint64_t time_of(const struct usage_io_row *row, enum usage_medium medium)
{
	return row->sum.time + (medium == USAGE_DISK ? row->sum.unfinished_time : 0);
}

static int compare_rows(const void *a, const void *b, void *medium_)
{
	const enum usage_medium medium = *(const enum usage_medium *)medium_;
	const struct usage_io_row *x = a, *y = b;
	const uint64_t m = usage_io_bytes(&x->sum), n = usage_io_bytes(&y->sum);

	if (time_of(x, medium) != time_of(y, medium))
		return time_of(x, medium) > time_of(y, medium) ? -1 : 1;
	if (m != n)
		return m > n ? -1 : 1;
	if (x->object != y->object)
		return x->object < y->object ? -1 : 1;
	return x->process < y->process ? -1 : x->process > y->process;
}

int usage_io_rows_make(struct usage_io_rows *rows, const struct usage_io *io, const struct analysis_input *input,
		       enum usage_medium medium, enum usage_io_by by)
{
	struct common_hash_map index = {.used = 0};
	int status = 0;

	*rows = (struct usage_io_rows){.rows = malloc((io->use_count + 1) * sizeof(*rows->rows))};
	if (!rows->rows)
		return common_fail_memory("rows", io->use_count * sizeof(*rows->rows));
	for (size_t i = 0; status == 0 && i < io->use_count; i++) {
		const struct usage_io_use *use = &io->uses[i];
		const uint32_t process = by == USAGE_BY_OBJECT ? FLOW_NONE : use->process;
		const uint32_t object = by == USAGE_BY_PROCESS ? FLOW_NONE : use->object;
		const uint64_t key = (uint64_t)process << 32 | object, *known = common_hash_map_get(&index, key);
		const size_t at = known ? (size_t)*known : rows->count;

		if (io->objects[use->object].medium != medium || !is_selected(io, input, use->process))
			continue;
		if (!known) {
			rows->rows[rows->count++] = (struct usage_io_row){.process = process, .object = object};
			status = common_hash_map_put(&index, key, at);
		}
		usage_io_sum_add(&rows->rows[at].sum, &use->sum);
		usage_io_sum_add(&rows->sum, &use->sum);
	}
	common_hash_map_free(&index);
	qsort_r(rows->rows, rows->count, sizeof(*rows->rows), compare_rows, &medium);
	return status;
}

void usage_io_rows_free(struct usage_io_rows *rows)
{
	free(rows->rows);
	*rows = (struct usage_io_rows){.count = 0};
}

const char *usage_io_process_name(const struct usage_io *io, const struct flow_timeline *timeline, uint32_t process)
{
	const uint32_t index = io->processes[process].process;

	return flow_timeline_process_name(timeline, index, 0);
}
