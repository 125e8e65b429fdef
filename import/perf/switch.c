/* SPDX-License-Identifier: BSD-2-Clause */
/* Converts SWITCH records to context switches. */
#include "format/event/kernel_switch.h"
#include "import/perf/import.h"
#include "perf/fields.h"

/* Bit in import->on_cpu: the thread is running; else the thread was switched out. */
#define RUNS (1ull << 32)

/* Writes a switch event. pid and tid: of the next thread; if unknown, of the previous thread. */
static int write_switch(struct perf_import *import, const struct perf_sample *sample, uint32_t pid, uint32_t tid,
			const struct ptl_switch_event *data, enum format_old_state state)
{
	struct ptl_event event = {0};
	int status;

	import->storage.size = 0;
	status = format_switch_encode(data, state, &import->storage, &event);
	if (status)
		return status;
	event.time = perf_time(import, sample);
	event.cpu = sample->cpu;
	event.pid = pid;
	event.tid = tid;
	return perf_event_write(import, &event);
}

/* Handles a switch-out. The next thread reports its own switch-in, unless perf does not record the thread. */
static int switch_out(struct perf_import *import, const struct perf_record *record, const struct perf_sample *sample,
		      size_t body)
{
	const bool wide = record->type == PERF_RECORD_SWITCH_CPU_WIDE;
	struct perf_fields next;
	const bool known = perf_fields_read(record->type, record->misc, record->body, body, &next);
	const uint32_t pid = known ? next.pid : sample->pid;
	const uint32_t tid = known ? next.tid : sample->tid;
	const struct ptl_switch_event data = {.new_thread = known ? tid : 0, .old_thread = sample->tid};

	if (common_hash_map_put(&import->on_cpu, sample->cpu, known ? tid | RUNS : sample->tid))
		return PTL_NO_MEMORY;
	return known || !wide ? write_switch(import, sample, pid, tid, &data,
					     record->misc & PERF_MISC_SWITCH_OUT_PREEMPT ? FORMAT_OLD_READY
											 : FORMAT_OLD_WAITING)
			      : 0;
}

static int switch_in(struct perf_import *import, const struct perf_record *record, const struct perf_sample *sample,
		     size_t body)
{
	const uint64_t *old = common_hash_map_get(&import->on_cpu, sample->cpu);
	struct perf_fields before;
	/* the idle thread, unless the record names a thread */
	const uint32_t other = perf_fields_read(record->type, record->misc, record->body, body, &before) ? before.tid
													 : 0;
	const struct ptl_switch_event data = {.new_thread = sample->tid, .old_thread = old ? (uint32_t)*old : other};

	if (old && *old == (sample->tid | RUNS))
		return 0;
	if (common_hash_map_put(&import->on_cpu, sample->cpu, sample->tid | RUNS))
		return PTL_NO_MEMORY;
	return write_switch(import, sample, sample->pid, sample->tid, &data, FORMAT_OLD_UNKNOWN);
}

/* Notes the threads of the host that run, if some of the threads run virtual CPUs. */
static int note_run(struct perf_import *import, const struct perf_record *record, const struct perf_sample *sample)
{
	const bool out = record->misc & PERF_MISC_SWITCH_OUT;

	if (!import->guests.count || sample->machine)
		return 0;
	return perf_guest_flow_switch(&import->guest_flow, sample->cpu, out ? PTL_NO_ID : sample->tid,
				      perf_time(import, sample));
}

int perf_switch(struct perf_import *import, const struct perf_record *record, const struct perf_sample *sample,
		size_t body)
{
	int status;

	if (sample->cpu == PTL_NO_CPU || sample->tid == PTL_NO_ID)
		return perf_event_keep(import, record, sample, body);
	status = note_run(import, record, sample);
	if (status)
		return status;
	return record->misc & PERF_MISC_SWITCH_OUT ? switch_out(import, record, sample, body)
						   : switch_in(import, record, sample, body);
}
