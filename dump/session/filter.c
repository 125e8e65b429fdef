/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads --pid, --tid, --cpu, --image and --time, and says what passes. */
#include "dump/session/filter.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "common/error.h"
#include "common/text.h"

void dump_filter_free(struct dump_filter *filter)
{
	common_id_set_free(&filter->pids);
	common_id_set_free(&filter->tids);
	common_id_set_free(&filter->cpus);
	free(filter->images);
	free(filter->processes);
	*filter = (struct dump_filter){0};
}

/* ---- time ---------------------------------------------------------------------------------------- */

int dump_filter_time(struct dump_filter *filter, const char *text)
{
	return common_time_span_parse(text, &filter->from, &filter->to);
}

int dump_filter_last(struct dump_filter *filter, const char *text)
{
	return common_time_span_last(text, &filter->from, &filter->to);
}

int dump_filter_resolve(struct dump_filter *filter, const struct ptl_machine *machine, uint64_t end)
{
	const bool given = filter->from.given || filter->to.given;

	if (given && machine->clock == PTL_CLOCK_NONE)
		return common_fail(PTL_MISUSE, "--time: this trace has no clock: nothing in it has a time");
	return common_time_span_resolve(&filter->from, &filter->to, machine->start_time, end, &filter->first_time,
					&filter->last_time);
}

/* ---- images and programs -------------------------------------------------------------------------------------- */

static int add_text(const char ***texts, size_t *count, const char *text)
{
	const char **more = realloc(*texts, (*count + 1) * sizeof(*more));

	if (!more)
		return common_fail_memory("list of names", (*count + 1) * sizeof(*more));
	more[(*count)++] = text;
	*texts = more;
	return 0;
}

int dump_filter_image(struct dump_filter *filter, const char *text)
{
	return add_text(&filter->images, &filter->image_count, text);
}

int dump_filter_process(struct dump_filter *filter, const char *text)
{
	return add_text(&filter->processes, &filter->process_count, text);
}

bool dump_filter_wants_image(const struct dump_filter *filter, const char *path)
{
	for (size_t i = 0; i < filter->image_count; i++) {
		const char *pattern = filter->images[i];

		if (fnmatch(pattern, strchr(pattern, '/') ? path : common_base_name(path), 0) == 0)
			return true;
	}
	return filter->image_count == 0;
}

/* ---- what passes --------------------------------------------------------------------------------- */

bool dump_filter_wants_thread(const struct dump_filter *filter, uint32_t pid, uint32_t tid)
{
	return common_id_set_has(&filter->pids, pid) && common_id_set_has(&filter->tids, tid);
}

bool dump_filter_wants_time(const struct dump_filter *filter, uint64_t time)
{
	if (!filter->from.given && !filter->to.given)
		return true;
	return time && time >= filter->first_time && time <= filter->last_time;
}
