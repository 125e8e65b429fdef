/* SPDX-License-Identifier: BSD-2-Clause */
/* The handle of libptl-flow, its options, and the names of branches, kinds and causes. */
#include "flow/library.h"

#include <stdlib.h>
#include <string.h>

#include "common/error.h"
#include "common/structure.h"
#include "flow/view/engines.h"

/* ---- the handle ---------------------------------------------------------------------------------- */

int flow_library_open(struct ptl_trace *trace, bool owned, struct ptl_flow **flow)
{
	struct ptl_flow *made = calloc(1, sizeof(*made));
	int status = made ? flow_timeline_build(trace, &made->timeline) : common_fail_memory("flow", sizeof(*made));

	if (status < 0) {
		free(made);
		return status;
	}
	made->trace = trace;
	made->owns_trace = owned;
	*flow = made;
	return 0;
}

int ptl_flow_open(struct ptl_trace *trace, struct ptl_flow **flow)
{
	if (flow)
		*flow = NULL;
	if (!trace || !flow)
		return common_fail(PTL_MISUSE, "ptl_flow_open needs a trace and a place for the result");
	return flow_library_open(trace, false, flow);
}

void ptl_flow_close(struct ptl_flow *flow)
{
	if (!flow)
		return;
	flow_timeline_free(flow->timeline);
	if (flow->owns_trace)
		ptl_close(flow->trace);
	free(flow);
}

struct ptl_trace *ptl_flow_trace(const struct ptl_flow *flow)
{
	return flow->trace;
}

uint64_t ptl_flow_skipped_events(const struct ptl_flow *flow)
{
	return flow_timeline_skipped(flow->timeline);
}

const struct ptl_image_event *ptl_flow_image(const struct ptl_flow *flow, uint32_t image)
{
	if (image >= flow_timeline_image_count(flow->timeline))
		return NULL;
	return &flow_timeline_image(flow->timeline, image)->data;
}

/* ---- options ------------------------------------------------------------------------------------- */

static int check_list(const char *name, const uint32_t *ids, size_t count)
{
	return count && !ids ? common_fail(PTL_MISUSE, "struct ptl_flow_options: %s is NULL, but not its count", name)
			     : 0;
}

static int check_selection(const struct ptl_flow_options *options)
{
	int status = check_list("pids", options->pids, options->pid_count);

	if (!status)
		status = check_list("tids", options->tids, options->tid_count);
	if (!status)
		status = check_list("cpus", options->cpus, options->cpu_count);
	if (!status && options->last_time && options->last_time < options->first_time)
		status = common_fail(PTL_MISUSE, "struct ptl_flow_options: last_time is before first_time");
	return status;
}

int flow_library_options(const struct ptl_flow_options *given, struct flow_view_options *options)
{
	struct ptl_flow_options taken = {0};
	int status = given ? common_structure_take("ptl_flow_options", given, &taken, sizeof(taken)) : 0;

	if (!status)
		status = check_selection(&taken);
	if (status < 0)
		return status;
	*options = (struct flow_view_options){
		.selection =
			{
				.pids = taken.pids,
				.pid_count = taken.pid_count,
				.tids = taken.tids,
				.tid_count = taken.tid_count,
				.cpus = taken.cpus,
				.cpu_count = taken.cpu_count,
				.first_time = taken.first_time,
				.last_time = taken.last_time,
			},
		.engine = taken.engine ? flow_engine_find(taken.engine) : NULL,
		.threads = taken.threads,
		.by_time = taken.by_time,
		.progress = taken.progress,
		.progress_context = taken.progress_context,
	};
	if (taken.engine && !options->engine)
		return common_fail(PTL_MISUSE, "there is no engine '%.40s'; ptl_flow_engine_name lists those there are",
				   taken.engine);
	return 0;
}

const char *ptl_flow_engine_name(size_t i)
{
	for (size_t k = 0; flow_engines[k]; k++) {
		if (k == i)
			return flow_engines[k]->name;
	}
	return NULL;
}

/* ---- names: a number above UINT8_MAX is unknown ---------------------------------------------------- */

static uint8_t narrow(unsigned number)
{
	return number > UINT8_MAX ? UINT8_MAX : (uint8_t)number;
}

const char *ptl_flow_branch_name(unsigned branch)
{
	return flow_branch_name(narrow(branch));
}

const char *ptl_flow_kind_name(unsigned kind)
{
	return flow_kind_name(narrow(kind));
}

const char *ptl_flow_gap_cause_name(unsigned cause)
{
	return flow_gap_cause_name(narrow(cause));
}

const char *ptl_flow_control_name(unsigned type)
{
	return flow_control_name(narrow(type));
}

const char *ptl_flow_event_data_name(unsigned type)
{
	return flow_event_data_name(narrow(type));
}

int flow_library_result(const char *owner, const char *function, int result)
{
	if (result > 0)
		return common_fail(PTL_MISUSE, "the %s %s returned %d: not 0, and no negative status", owner, function,
				   result);
	if (result < 0 && !ptl_error_text()[0])
		common_fail(result, "the %s %s ended the run (%s)", owner, function, ptl_status_name(result));
	return result;
}
