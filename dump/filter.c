/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads --pid, --tid, --cpu, --image and --time, and says what passes. */
#include "dump/filter.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "common/error.h"
#include "common/options.h"
#include "dump/print_text.h"

void dump_filter_free(struct dump_filter *filter)
{
	free(filter->pids.ids);
	free(filter->tids.ids);
	free(filter->cpus.ids);
	free(filter->images);
	*filter = (struct dump_filter){0};
}

/* ---- numbers ------------------------------------------------------------------------------------- */

static int add_id(struct dump_id_set *set, uint32_t id)
{
	uint32_t *ids = realloc(set->ids, (set->count + 1) * sizeof(*ids));

	if (!ids)
		return ptl_fail_memory("list of numbers", (set->count + 1) * sizeof(*ids));
	ids[set->count++] = id;
	set->ids = ids;
	return 0;
}

int dump_id_set_add(struct dump_id_set *set, const char *text)
{
	for (;;) {
		const size_t length = strcspn(text, ",");
		char word[24];
		uint64_t id;
		int status;

		if (length >= sizeof(word))
			return ptl_fail(PTL_MISUSE, "'%.*s' is no number", (int)length, text);
		memcpy(word, text, length);
		word[length] = 0;
		status = ptl_parse_u64(word, &id);
		if (status == 0 && id >= UINT32_MAX)
			status = ptl_fail(PTL_MISUSE, "'%s' is too large", word);
		if (status == 0)
			status = add_id(set, (uint32_t)id);
		if (status < 0)
			return status;
		if (!text[length])
			return 0;
		text += length + 1;
	}
}

bool dump_id_set_has(const struct dump_id_set *set, uint32_t id)
{
	for (size_t i = 0; i < set->count; i++)
		if (set->ids[i] == id)
			return true;
	return set->count == 0;
}

/* ---- time ---------------------------------------------------------------------------------------- */

static int parse_bound(const char *text, size_t length, struct dump_time_bound *bound)
{
	char word[64];

	*bound = (struct dump_time_bound){0};
	if (!length)
		return 0;
	if (*text == '@') {
		bound->absolute = true;
		text++;
		length--;
	}
	if (length >= sizeof(word))
		return ptl_fail(PTL_MISUSE, "'%.*s' is no time", (int)length, text);
	memcpy(word, text, length);
	word[length] = 0;
	bound->given = true;
	return ptl_parse_duration(word, &bound->nanoseconds);
}

int dump_filter_time(struct dump_filter *filter, const char *text)
{
	const char *dots = strstr(text, "..");
	int status;

	if (!dots || strcmp(text, "..") == 0)
		return ptl_fail(PTL_MISUSE, "'%s' is no span of time: A..B, A.. or ..B was expected, "
					    "such as 1.5s..1.6s or 200us..",
				text);
	status = parse_bound(text, (size_t)(dots - text), &filter->from);
	if (status == 0)
		status = parse_bound(dots + 2, strlen(dots + 2), &filter->to);
	return status;
}

/* A bound in the trace's clock; times beyond its end are its end. */
static uint64_t resolve(const struct dump_time_bound *bound, uint64_t start, uint64_t otherwise)
{
	if (!bound->given)
		return otherwise;
	if (bound->absolute)
		return bound->nanoseconds;
	return bound->nanoseconds > UINT64_MAX - start ? UINT64_MAX : start + bound->nanoseconds;
}

int dump_filter_resolve(struct dump_filter *filter, const struct ptl_machine *machine)
{
	const bool given = filter->from.given || filter->to.given;

	filter->first_time = resolve(&filter->from, machine->start_time, 0);
	filter->last_time = resolve(&filter->to, machine->start_time, UINT64_MAX);
	if (given && machine->clock == PTL_CLOCK_NONE)
		return ptl_fail(PTL_MISUSE, "--time: this trace has no clock: nothing in it has a time");
	if (filter->first_time > filter->last_time)
		return ptl_fail(PTL_MISUSE, "--time: the span ends before it begins");
	return 0;
}

/* ---- images -------------------------------------------------------------------------------------- */

int dump_filter_image(struct dump_filter *filter, const char *text)
{
	const char **images = realloc(filter->images, (filter->image_count + 1) * sizeof(*images));

	if (!images)
		return ptl_fail_memory("list of images", (filter->image_count + 1) * sizeof(*images));
	images[filter->image_count++] = text;
	filter->images = images;
	return 0;
}

bool dump_filter_wants_image(const struct dump_filter *filter, const char *path)
{
	for (size_t i = 0; i < filter->image_count; i++) {
		const char *pattern = filter->images[i];

		if (fnmatch(pattern, strchr(pattern, '/') ? path : dump_base_name(path), 0) == 0)
			return true;
	}
	return filter->image_count == 0;
}

/* ---- what passes --------------------------------------------------------------------------------- */

bool dump_filter_wants_thread(const struct dump_filter *filter, uint32_t pid, uint32_t tid)
{
	return dump_id_set_has(&filter->pids, pid) && dump_id_set_has(&filter->tids, tid);
}

bool dump_filter_wants_time(const struct dump_filter *filter, uint64_t time)
{
	if (!filter->from.given && !filter->to.given)
		return true;
	return time && time >= filter->first_time && time <= filter->last_time;
}
