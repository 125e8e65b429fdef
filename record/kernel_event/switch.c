/* SPDX-License-Identifier: BSD-2-Clause */
#include "record/kernel_event/switch.h"

#include <string.h>

#include "common/bytes.h"
#include "format/event/kernel_switch.h"
#include "record/capture/capture.h"
#include "record/kernel_event/flags.h"

#define TRAILER 32 /* bytes behind a record: PERF_SAMPLE_TID, TIME, CPU, IDENTIFIER */

bool kernel_event_switch_is_wanted(const struct kernel_events *state)
{
	const struct record_settings *settings = state->session->settings;
	const struct record_source *main_source = state->session->running[0].source;

	return !state->all && !settings->per_cpu && strcmp(main_source->name, "intel_pt") != 0 &&
	       record_flags_have(settings->flags, "sched:sched_switch");
}

int kernel_event_switch_take(struct kernel_events *state, const struct kernel_event_ring *ring,
			     const struct perf_event_header *record)
{
	const uint8_t *trailer = (const uint8_t *)record + record->size - TRAILER;
	const bool out = record->misc & PERF_RECORD_MISC_SWITCH_OUT;
	struct ptl_switch_event data = {0};
	struct ptl_event event = {0};
	bool wanted;
	int status;

	if (record->type != PERF_RECORD_SWITCH || record->size < sizeof(*record) + TRAILER)
		return 0;
	event.pid = common_load32(trailer);
	event.tid = common_load32(trailer + 4);
	*(out ? &data.old_thread : &data.new_thread) = event.tid;
	state->storage.size = 0;
	status = format_switch_encode(&data,
				      !out                                                 ? FORMAT_OLD_UNKNOWN
				      : record->misc & PERF_RECORD_MISC_SWITCH_OUT_PREEMPT ? FORMAT_OLD_READY
											   : FORMAT_OLD_WAITING,
				      &state->storage, &event);
	if (status < 0)
		return status;
	event.time = common_load64(trailer + 8) + (uint64_t)state->clock_offset;
	event.cpu = common_load32(trailer + 16);
	status = record_capture_wants(&state->session->capture, &(struct record_origin){.kernel = true}, &event,
				      &wanted);
	return status < 0 || !wanted ? status : record_capture_event(&state->session->capture, ring->stream, &event);
}
