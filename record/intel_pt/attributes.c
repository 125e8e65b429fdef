/* SPDX-License-Identifier: BSD-2-Clause */
/* Attributes of the perf events. */
#include "record/intel_pt/intel_pt_state.h"
#include "record/perf/event.h"

#define SAMPLE_TYPE (PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU | PERF_SAMPLE_IDENTIFIER)
#define WATERMARK_SHARE 4 /* the kernel wakes after 1 / share of a ring */

struct perf_event_attr intel_pt_events_attr(const struct intel_pt *pt, bool on_exec)
{
	const enum record_pt_code code = pt->session->settings->pt.code;

	return (struct perf_event_attr){
		.size = sizeof(struct perf_event_attr),
		.sample_type = SAMPLE_TYPE,
		.sample_id_all = 1,
		.disabled = 1,
		/*
		 * Child threads inherit the event. The event of a CPU has no thread, and events of --per-thread cannot
		 * be inherited.
		 */
		.inherit = pt->targets[0] != -1 && !pt->per_thread,
		.enable_on_exec = on_exec,
		.exclude_user = code == RECORD_PT_KERNEL,
		.exclude_kernel = code == RECORD_PT_USER,
		.exclude_hv = 1,
		.watermark = 1,
		.wakeup_watermark = (uint32_t)(pt->data_size / WATERMARK_SHARE),
	};
}

struct perf_event_attr intel_pt_events_pt_attr(const struct intel_pt *pt, bool on_exec)
{
	struct perf_event_attr attr = intel_pt_events_attr(pt, on_exec);

	attr.type = pt->device.type;
	attr.config = pt->config.word;
	attr.sample_period = 1;
	attr.aux_watermark = pt->snapshot ? 0 : (uint32_t)(pt->aux_size / WATERMARK_SHARE);
	record_perf_event_set_action(&attr, pt->between ? RECORD_PERF_START_PAUSED : 0);
	return attr;
}

struct perf_event_attr intel_pt_events_sideband_attr(const struct intel_pt *pt, bool on_exec)
{
	struct perf_event_attr attr = intel_pt_events_attr(pt, on_exec);
	const bool kernel = pt->session->settings->pt.code != RECORD_PT_USER;

	attr.type = PERF_TYPE_SOFTWARE;
	attr.config = PERF_COUNT_SW_DUMMY;
	attr.context_switch = 1;
	attr.exclude_user = 0;
	attr.exclude_kernel = !kernel;
	/* Containers of processes. */
	attr.namespaces = attr.cgroup = 1;
	/* Changes of the kernel's code. */
	attr.ksymbol = attr.bpf_event = attr.text_poke = kernel;
	return attr;
}
