/* SPDX-License-Identifier: BSD-2-Clause */
/* Checks conditions of a rule that depend on the event, not only on the event's kind. */
#include "common/bytes.h"
#include "common/error.h"
#include "query/glob.h"
#include "relog/rules/run_state.h"

bool rules_in_ranges(const struct rules_ranges *ranges, uint64_t value)
{
	for (size_t i = 0; i < ranges->count; i++)
		if (value >= ranges->range[i].first && value <= ranges->range[i].last)
			return true;
	return !ranges->count;
}

uint64_t rules_moment_time(const struct rules_run *run, const struct rules_moment *moment)
{
	uint64_t time;

	if (moment->absolute)
		return moment->time;
	return __builtin_add_overflow(run->options.start_time, moment->time, &time) ? UINT64_MAX : time;
}

static bool in_time(const struct rules_run *run, const struct rules_rule *rule)
{
	uint64_t time = run->now.event.time;

	return (!rule->from.given || time >= rules_moment_time(run, &rule->from)) &&
	       (!rule->to.given || time <= rules_moment_time(run, &rule->to));
}

/* Whether the pattern matches the image of an image event, or any image of the process. */
static int matches_image(struct rules_run *run, const char *pattern)
{
	const struct ptl_image_event *image;
	uint64_t first = 0;

	if (run->now.kind->class == FORMAT_CLASS_IMAGE) {
		struct ptl_bytes storage = {0};
		struct ptl_image_event data;
		bool matches = !ptl_image_decode(&run->now.event, &storage, &data) &&
			       query_glob_path(pattern, data.file_name);

		common_bytes_free(&storage);
		return matches;
	}
	rules_current_program(run);
	while ((image = ptl_state_find_image(run->state, run->now.pid, first, UINT64_MAX))) {
		if (query_glob_path(pattern, image->file_name))
			return 1;
		if (!image->size || image->base + (image->size - 1) == UINT64_MAX || image->base + image->size <= first)
			break;
		first = image->base + image->size;
	}
	return 0;
}

static int is_true(struct rules_run *run, const struct query_expr *where)
{
	const struct query_scope scope = rules_current_scope(run);
	bool truth;
	const int status = query_evaluate_truth(&scope, where, &truth);

	return status < 0 ? status : truth;
}

int rules_match(struct rules_run *run, const struct rules_bound *bound)
{
	const struct rules_rule *rule = bound->rule;
	const struct ptl_event *event = &run->now.event;
	int status;

	if (!rules_in_ranges(&rule->match[RULES_MATCH_PID], event->pid) ||
	    !rules_in_ranges(&rule->match[RULES_MATCH_TID], event->tid) ||
	    !rules_in_ranges(&rule->match[RULES_MATCH_CPU], event->cpu) || !in_time(run, rule))
		return 0;
	run->now.bound = bound;
	if (rule->process && !rules_current_ran(run, rule->process))
		return 0;
	if (rule->image && !matches_image(run, rule->image))
		return 0;
	if (rule->where && (status = is_true(run, rule->where)) <= 0)
		return status;
	return rules_in_ranges(&rule->nth, ++run->counts[rule->index]);
}
