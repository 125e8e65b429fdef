/* SPDX-License-Identifier: BSD-2-Clause */
#include "dump/export/timeline/cpu_slice.h"

#include <inttypes.h>
#include <stdlib.h>

#include "common/error.h"
#include "common/text/text.h"
#include "common/vector.h"

struct span {
	uint64_t from, to;
	uint32_t thread;
};

struct dump_cpu_row {
	uint32_t cpu;
	struct span *spans;
	size_t count, capacity;
};

static int find_row(struct dump_cpu_slices *slices, uint32_t cpu, struct dump_cpu_row **row)
{
	const uint64_t *known = common_hash_map_get(&slices->by_cpu, cpu);
	int status;

	if (known) {
		*row = &slices->rows[*known];
		return 0;
	}
	if (COMMON_VECTOR_RESERVE(slices->rows, slices->capacity, slices->count + 1, "CPUs"))
		return PTL_NO_MEMORY;
	status = common_hash_map_put(&slices->by_cpu, cpu, slices->count);
	*row = &slices->rows[slices->count++];
	**row = (struct dump_cpu_row){.cpu = cpu};
	return status;
}

static int add_span(void *context, const struct usage_schedule *schedule, const struct usage_slice *slice)
{
	struct dump_cpu_slices *slices = context;
	const struct analysis_filter *filter = slices->calls->input.filter;
	const struct usage_thread *thread = &schedule->threads[slice->thread];
	struct dump_cpu_row *row;
	int status = find_row(slices, slice->cpu, &row);

	if (status < 0 || slice->from >= slice->to || !analysis_filter_wants_thread(filter, thread->pid, thread->tid))
		return status;
	if (COMMON_VECTOR_RESERVE(row->spans, row->capacity, row->count + 1, "context switches"))
		return PTL_NO_MEMORY;
	row->spans[row->count++] = (struct span){slice->from, slice->to, slice->thread};
	return 0;
}

static int compare_rows(const void *a, const void *b)
{
	const struct dump_cpu_row *x = a, *y = b;

	return x->cpu < y->cpu ? -1 : x->cpu > y->cpu;
}

int dump_cpu_slices_read(struct dump_cpu_slices *slices, const struct analysis_calls *calls)
{
	int status;

	*slices = (struct dump_cpu_slices){.calls = calls};
	if (!usage_schedule_possible(calls->input.trace, calls->timeline))
		return 0;
	status = usage_schedule_read(&slices->schedule, &calls->input, calls->timeline, add_span, slices);
	if (slices->count)
		qsort(slices->rows, slices->count, sizeof(*slices->rows), compare_rows);
	return status;
}

uint32_t dump_cpu_slices_cpu(const struct dump_cpu_slices *slices, size_t i)
{
	return slices->rows[i].cpu;
}

/* Sets text to the name of the process, pid and tid. */
static void name_thread(const struct dump_cpu_slices *slices, uint32_t number, struct ptl_bytes *text)
{
	const struct usage_thread *thread = &slices->schedule.threads[number];
	const char *name = flow_timeline_process_name(slices->calls->timeline, thread->process, 0);

	text->size = 0;
	common_text_safe(text, *name ? name : usage_thread_name(thread, slices->calls->timeline));
	if (thread->pid == PTL_NO_ID)
		common_text_format(text, " ?/%" PRIu32, thread->tid);
	else
		common_text_format(text, " %" PRIu32 "/%" PRIu32, thread->pid, thread->tid);
}

int dump_cpu_slices_visit(const struct dump_cpu_slices *slices, size_t i, dump_cpu_slice *visit, void *context)
{
	const struct dump_cpu_row *row = &slices->rows[i];
	struct ptl_bytes text = {0};
	int status = 0;

	for (size_t k = 0; status == 0 && k < row->count; k++) {
		name_thread(slices, row->spans[k].thread, &text);
		status = text.failed ? common_fail_memory("names", text.size)
				     : visit(context, row->spans[k].from, row->spans[k].to, common_text_string(&text));
	}
	common_bytes_free(&text);
	return status;
}

void dump_cpu_slices_free(struct dump_cpu_slices *slices)
{
	for (size_t i = 0; i < slices->count; i++)
		free(slices->rows[i].spans);
	free(slices->rows);
	common_hash_map_free(&slices->by_cpu);
	usage_schedule_free(&slices->schedule);
	*slices = (struct dump_cpu_slices){.count = 0};
}
