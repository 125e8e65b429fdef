/* SPDX-License-Identifier: BSD-2-Clause */
/* Evaluates --pid, --tid, --cpu, --image and --time. */
#include "analysis/input/filter.h"

#include <fnmatch.h>
#include <string.h>

#include "common/error.h"
#include "common/text/text.h"

void analysis_filter_free(struct analysis_filter *filter)
{
	common_id_set_free(&filter->pids);
	common_id_set_free(&filter->tids);
	common_id_set_free(&filter->cpus);
	common_string_list_free(&filter->images);
	common_string_list_free(&filter->processes);
	*filter = (struct analysis_filter){0};
}

/* ---- time ---------------------------------------------------------------------------------------- */

int analysis_filter_resolve(struct analysis_filter *filter, const struct ptl_machine *machine, uint64_t end)
{
	if (common_time_span_given(&filter->span) && machine->clock == PTL_CLOCK_NONE)
		return common_fail(PTL_MISUSE, "--time: this trace has no clock: nothing in it has a time");
	return common_time_span_resolve(&filter->span, machine->start_time, end, &filter->first_time,
					&filter->last_time);
}

/* ---- images -------------------------------------------------------------------------------------- */

bool analysis_filter_image_is(const char *pattern, const char *path)
{
	const char *name = strchr(pattern, '/') ? path : common_base_name(path);

	/* "[vdso]" is a name, not a set of letters. */
	return !strcmp(pattern, name) || fnmatch(pattern, name, 0) == 0;
}

bool analysis_filter_wants_image(const struct analysis_filter *filter, const char *path)
{
	for (size_t i = 0; i < filter->images.count; i++)
		if (analysis_filter_image_is(filter->images.list[i], path))
			return true;
	return filter->images.count == 0;
}

/* ---- selection ----------------------------------------------------------------------------------- */

bool analysis_filter_wants_thread(const struct analysis_filter *filter, uint32_t pid, uint32_t tid)
{
	return common_id_set_has(&filter->pids, pid) && common_id_set_has(&filter->tids, tid);
}

bool analysis_filter_wants_time(const struct analysis_filter *filter, uint64_t time)
{
	if (!common_time_span_given(&filter->span))
		return true;
	return time && time >= filter->first_time && time <= filter->last_time;
}
