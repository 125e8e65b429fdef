/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * announce_begin() reads all inputs, and keeps a candidate for each report of an end without an earlier report of the
 * beginning. After reading, announce_begin() drops candidates whose process had a complete rundown, or whose beginning
 * another input reports. The timeline applies the same rules to a whole trace (flow/timeline/before.c).
 */
#include "relog/cut/announce.h"

#include <stdlib.h>

#include <ptl/state.h>

#include "common/arena.h"
#include "common/error.h"
#include "common/hash.h"
#include "common/hash_map.h"
#include "common/memory_budget.h"
#include "common/vector.h"
#include "format/event/kernel_class.h"
#include "format/relogger/ahead.h"
#include "relog/cut/select.h"

#define NONE SIZE_MAX
#define KEY_BYTES 48u /* memory for a map entry */

/* A process as reported by the events of one input. */
struct announced_process {
	uint64_t start;    /* in the clock of the output; 0: before the trace, or unknown */
	bool reported;     /* a process event has its name and parent */
	bool started;      /* the trace has the start event */
	bool begins_empty; /* the process does not inherit its parent's mappings */
	bool rundown;      /* its mappings were reported, or exec removed the mappings */
	bool ended;
};

/* A report that came too late. */
struct announced {
	enum format_class class;
	size_t process; /* index in processes; NONE: a process event */
	uint32_t pid;
	uint64_t start; /* 0: start of the trace; else start time of the process */
	uint64_t key;   /* key of the process, thread or place */
	bool wanted;
	struct ptl_event event; /* payload is in the arena */
	size_t next;            /* index of the next report with the same process and start; NONE */
};

struct announce {
	struct ptl_relogger_input *input;
	uint64_t shift;
	struct ptl_state *state;             /* mappings of the current input */
	struct announced_process *processes; /* processes of all inputs */
	size_t process_count, process_capacity;
	struct common_hash_map by_pid;  /* of the current input: index of the last process with the pid */
	bool several;                   /* there are several inputs */
	struct common_hash_map begun;   /* keys whose beginning some input reports; used with several inputs only */
	struct common_hash_map threads; /* tids that were reported */
	struct common_hash_map places;  /* keys of process, start and base: places that have had an image */
	struct announced *list;
	size_t count, capacity;
	struct common_hash_map by_start; /* pid and start: index of the last matching report in list */
	struct common_arena arena;
	struct common_memory_budget memory_budget;
	struct ptl_bytes storage, encoded;
	bool begun_events; /* the first event has passed */
};

static uint64_t start_key(uint32_t pid, uint64_t start)
{
	return common_hash_mix(pid) ^ start;
}

/* Returns a key for a pid, a tid, or the place of an image. */
static uint64_t class_key(enum format_class class, uint64_t id)
{
	return common_hash_mix(id) ^ (uint64_t) class << 60;
}

static uint64_t place_key(uint32_t pid, uint64_t start, uint64_t base)
{
	return class_key(FORMAT_CLASS_IMAGE, start_key(pid, start) ^ common_hash_mix(base));
}

static int note_known(struct announce *announce, struct common_hash_map *map, uint64_t key)
{
	int status = 0;

	if (!common_hash_map_get(map, key))
		status = common_memory_budget_take(&announce->memory_budget, KEY_BYTES, "processes and images",
						   map->used + 1);
	return status ? status : common_hash_map_put(map, key, 1);
}

static int note_begun(struct announce *announce, uint64_t key)
{
	return announce->several ? note_known(announce, &announce->begun, key) : 0;
}

/* ---- keeping candidates -------------------------------------------------------------------------------------- */

static int encode(struct announce *announce, const struct format_kernel_event *decoded, struct ptl_event *event)
{
	announce->encoded.size = 0;
	*event = (struct ptl_event){.cpu = PTL_NO_CPU, .pid = decoded->pid, .tid = PTL_NO_ID};
	switch (decoded->class) {
	case FORMAT_CLASS_PROCESS:
		return ptl_process_encode(&decoded->process, PTL_OPCODE_START_RUNDOWN, &announce->encoded, event);
	case FORMAT_CLASS_THREAD:
		event->tid = decoded->tid;
		return ptl_thread_encode(&decoded->thread, PTL_OPCODE_START_RUNDOWN, &announce->encoded, event);
	default:
		return ptl_image_encode(&decoded->image, PTL_OPCODE_START_RUNDOWN, &announce->encoded, event);
	}
}

static int keep_late_image(struct announce *announce, const struct format_kernel_event *decoded, size_t process,
			   uint64_t key)
{
	struct announced late = {
		.class = decoded->class,
		.process = process,
		.pid = decoded->pid,
		.start = process == NONE ? 0 : announce->processes[process].start,
		.key = key,
	};
	int status = encode(announce, decoded, &late.event);

	if (!status)
		status = common_memory_budget_take(&announce->memory_budget, sizeof(late) + late.event.payload_size,
						   "images that only the end of the trace reports",
						   announce->count + 1);
	if (status)
		return status;
	late.event.payload = (const uint8_t *)common_arena_copy(&announce->arena, late.event.payload,
								late.event.payload_size);
	if (!late.event.payload)
		return PTL_NO_MEMORY;
	if (COMMON_VECTOR_RESERVE(announce->list, announce->capacity, announce->count + 1, "images"))
		return PTL_NO_MEMORY;
	announce->list[announce->count++] = late;
	return 0;
}

/* ---- reading an input ------------------------------------------------------------------------------------ */

static int add_process(struct announce *announce, uint32_t pid, const struct announced_process *process)
{
	if (COMMON_VECTOR_RESERVE(announce->processes, announce->process_capacity, announce->process_count + 1,
				  "processes"))
		return PTL_NO_MEMORY;
	announce->processes[announce->process_count] = *process;
	return common_hash_map_put(&announce->by_pid, pid, announce->process_count++);
}

/* Finds the last process with the pid, or adds a process with unknown start. */
static int need_process(struct announce *announce, uint32_t pid, size_t *index)
{
	const uint64_t *known = common_hash_map_get(&announce->by_pid, pid);
	int status = 0;

	*index = known ? (size_t)*known : announce->process_count;
	if (!known)
		status = add_process(announce, pid, &(struct announced_process){0});
	return status;
}

/* Handles a report that a process lives or ends. Its name and parent may be new. */
static int see_process_late(struct announce *announce, const struct format_kernel_event *decoded, bool first)
{
	struct announced_process *process;
	size_t index;
	int status = need_process(announce, decoded->pid, &index);

	if (status)
		return status;
	process = &announce->processes[index];
	if (!process->reported && !process->ended && first &&
	    (*decoded->process.image_file_name || *decoded->process.command_line))
		status = keep_late_image(announce, decoded, NONE, class_key(FORMAT_CLASS_PROCESS, decoded->pid));
	process = &announce->processes[index];
	process->reported = true;
	process->ended |= decoded->action == FORMAT_ACTION_END;
	return status;
}

static int see_process(struct announce *announce, const struct format_kernel_event *decoded, uint64_t time)
{
	const uint64_t *known = common_hash_map_get(&announce->by_pid, decoded->pid);
	struct announced_process process = {.reported = true};
	const bool first = !known || !announce->processes[*known].reported;

	switch (decoded->action) {
	case FORMAT_ACTION_BEGIN:
		process.start = time;
		process.started = true;
		process.begins_empty = decoded->process.begins_empty;
		break;
	case FORMAT_ACTION_START_RUNDOWN:
		/* Rundown may report a known process again. */
		if (!first && !announce->processes[*known].ended)
			return 0;
		process.rundown = true;
		break;
	case FORMAT_ACTION_EXEC:
		if (known)
			announce->processes[*known].rundown = true;
		return 0;
	case FORMAT_ACTION_END_RUNDOWN:
	case FORMAT_ACTION_END:
		return see_process_late(announce, decoded, first);
	default:
		return 0;
	}
	if (note_begun(announce, class_key(FORMAT_CLASS_PROCESS, decoded->pid)))
		return PTL_NO_MEMORY;
	/* An image or a thread has introduced this process before its own report. */
	if (known && first) {
		announce->processes[*known] = process;
		return 0;
	}
	return add_process(announce, decoded->pid, &process);
}

static bool is_late(const struct format_kernel_event *decoded)
{
	return decoded->action == FORMAT_ACTION_END_RUNDOWN || decoded->action == FORMAT_ACTION_END;
}

static int see_thread(struct announce *announce, const struct format_kernel_event *decoded)
{
	const uint64_t key = class_key(FORMAT_CLASS_THREAD, decoded->tid);
	const bool known = common_hash_map_get(&announce->threads, key);
	size_t index;
	int status = note_known(announce, &announce->threads, key);

	if (!status && !is_late(decoded))
		status = note_begun(announce, key);
	if (status || known || !is_late(decoded))
		return status;
	status = need_process(announce, decoded->pid, &index);
	return status ? status : keep_late_image(announce, decoded, index, key);
}

static int see_image(struct announce *announce, const struct format_kernel_event *decoded)
{
	const struct ptl_image_event *data = &decoded->image;
	size_t index;
	uint64_t key;
	int status = need_process(announce, decoded->pid, &index);

	if (status || !format_is_range(data->base, data->size) || !*data->file_name)
		return status;
	announce->processes[index].rundown |= decoded->action == FORMAT_ACTION_START_RUNDOWN;
	key = place_key(decoded->pid, announce->processes[index].start, data->base);
	if (!is_late(decoded))
		return note_begun(announce, key);
	if (!common_hash_map_get(&announce->places, key) &&
	    !ptl_state_find_image(announce->state, decoded->pid, data->base, data->base + (data->size - 1)))
		status = keep_late_image(announce, decoded, index, key);
	return status ? status : note_known(announce, &announce->places, key);
}

static int see_event(void *context, struct ptl_trace *trace, const struct ptl_event *event)
{
	struct announce *announce = context;
	struct ptl_event mapped = *event;
	struct relog_subject subject;
	int status = 0;

	(void)trace;
	if (format_class_of(&event->descriptor) == FORMAT_CLASS_NONE)
		return 0;
	status = ptl_relogger_map_event(announce->input, &mapped);
	if (status)
		return status;
	mapped.time += announce->shift;
	relog_subject_of(&mapped, &announce->storage, &subject);
	if (!subject.understood)
		return 0;
	if (subject.event.class == FORMAT_CLASS_PROCESS)
		status = see_process(announce, &subject.event, mapped.time);
	else if (subject.event.class == FORMAT_CLASS_THREAD)
		status = see_thread(announce, &subject.event);
	else if (subject.event.class == FORMAT_CLASS_IMAGE)
		status = see_image(announce, &subject.event);
	return status ? status : ptl_state_event(announce->state, &mapped);
}

static int read_input(struct announce *announce, struct ptl_relogger_input *input)
{
	static const struct ptl_callbacks callbacks = {.size = sizeof(callbacks), .event = see_event};
	struct ptl_relogger_input_info info;
	int status = ptl_state_new(&announce->state);

	ptl_relogger_input_info(input, &info);
	announce->input = input;
	announce->shift = (uint64_t)info.time_shift;
	if (!status)
		status = ptl_process(ptl_relogger_input_trace(input), NULL, &callbacks, announce);
	ptl_state_free(announce->state);
	announce->state = NULL;
	common_hash_map_free(&announce->by_pid);
	return status;
}

/* ---- choosing the candidates to report ----------------------------------------------------------------------- */

/*
 * A process reported at the start of the trace had only the images reported there. A forked process inherits the
 * images of its parent.
 */
static bool is_wanted_announced(const struct announce *announce, const struct announced *late)
{
	const struct announced_process *process = late->process == NONE ? NULL : &announce->processes[late->process];

	if (common_hash_map_get(&announce->begun, late->key))
		return false;
	if (late->class != FORMAT_CLASS_IMAGE)
		return true;
	if (!process->reported || process->rundown)
		return false;
	if (process->started)
		return process->begins_empty && late->start;
	return !common_hash_map_get(&announce->begun, class_key(FORMAT_CLASS_PROCESS, late->pid));
}

static int settle_announced(struct announce *announce)
{
	int status = 0;

	for (size_t i = 0; i < announce->count && !status; i++) {
		struct announced *late = &announce->list[i];
		const uint64_t key = start_key(late->pid, late->start);
		const uint64_t *first = common_hash_map_get(&announce->by_start, key);

		late->wanted = is_wanted_announced(announce, late);
		late->next = first ? (size_t)*first : NONE;
		if (late->start && late->wanted)
			status = common_hash_map_put(&announce->by_start, key, i);
	}
	return status;
}

static int announce_begin(void *context, struct ptl_relogger *relogger)
{
	struct announce *announce = context;
	int status = 0;

	/* A live trace has no late reports yet. */
	if (format_relogger_is_live(relogger))
		return 0;
	announce->several = ptl_relogger_input_count(relogger) > 1;
	for (size_t i = 0; i < ptl_relogger_input_count(relogger) && !status; i++)
		status = read_input(announce, ptl_relogger_input_at(relogger, i));
	if (!status)
		status = settle_announced(announce);
	common_hash_map_free(&announce->places);
	common_hash_map_free(&announce->threads);
	return status;
}

/* ---- reporting ------------------------------------------------------------------------------------------- */

static int report_late_image(struct ptl_relogger *relogger, struct announced *late, uint64_t time)
{
	late->event.time = time;
	return late->wanted ? ptl_relogger_inject_record(relogger, &late->event) : 0;
}

/* Writes the reports from before the trace just before the first event: processes, then threads, then images. */
static int report_first(struct announce *announce, struct ptl_relogger *relogger, uint64_t time)
{
	static const enum format_class order[] = {FORMAT_CLASS_PROCESS, FORMAT_CLASS_THREAD, FORMAT_CLASS_IMAGE};
	int status = 0;

	announce->begun_events = true;
	for (size_t class = 0; class < sizeof(order) / sizeof(order[0]); class ++)
		for (size_t i = 0; i < announce->count && !status; i++)
			if (!announce->list[i].start && announce->list[i].class == order[class])
				status = report_late_image(relogger, &announce->list[i], time ? time - 1 : 0);
	return status;
}

static int report_started(struct announce *announce, struct ptl_relogger *relogger, const struct ptl_event *event)
{
	struct relog_subject subject;
	const uint64_t *first;
	int status = 0;

	relog_subject_of(event, &announce->storage, &subject);
	if (!subject.understood || subject.event.action != FORMAT_ACTION_BEGIN)
		return 0;
	first = common_hash_map_get(&announce->by_start, start_key(subject.event.pid, event->time));
	for (size_t i = first ? (size_t)*first : NONE; i != NONE && !status; i = announce->list[i].next)
		if (announce->list[i].pid == subject.event.pid && announce->list[i].start == event->time)
			status = report_late_image(relogger, &announce->list[i], event->time);
	return status;
}

static int announce_take_event(void *context, struct ptl_relogger *relogger, struct ptl_trace_event *event)
{
	struct announce *announce = context;
	const struct ptl_event *record = ptl_event_record(event);
	int status = announce->begun_events ? 0 : report_first(announce, relogger, record->time);

	if (!status)
		status = ptl_relogger_inject(relogger, event);
	if (!status && announce->by_start.used && format_class_of(&record->descriptor) == FORMAT_CLASS_PROCESS)
		status = report_started(announce, relogger, record);
	return status;
}

/* ---- the stage ------------------------------------------------------------------------------------------- */

static void free_announce(void *state)
{
	struct announce *announce = state;

	ptl_state_free(announce->state);
	free(announce->processes);
	free(announce->list);
	common_hash_map_free(&announce->by_pid);
	common_hash_map_free(&announce->begun);
	common_hash_map_free(&announce->threads);
	common_hash_map_free(&announce->places);
	common_hash_map_free(&announce->by_start);
	common_arena_free(&announce->arena);
	common_memory_budget_close(&announce->memory_budget);
	common_bytes_free(&announce->storage);
	common_bytes_free(&announce->encoded);
	free(announce);
}

static int announce_add(const struct relog_settings *settings, struct ptl_relogger *relogger, void **state)
{
	static const struct ptl_relogger_callbacks callbacks = {
		.size = sizeof(callbacks), .begin = announce_begin, .event = announce_take_event};
	struct announce *announce;

	if (!common_time_span_given(&settings->cut.span))
		return 0;
	announce = calloc(1, sizeof(*announce));
	if (!announce)
		return common_fail_memory("a cut", sizeof(*announce));
	*state = announce;
	return ptl_relogger_callbacks(relogger, &callbacks, announce);
}

const struct relog_stage relog_stage_announce = {"announce", announce_add, free_announce, NULL};
