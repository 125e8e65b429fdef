/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Images that were loaded before any event reported them. A session of Windows may report images only at the end of the
 * session, or when the images are unloaded. The timeline keeps such events. Then the timeline is built again, with each
 * image loaded at the start of the trace or of the image's process.
 */
#include <stdlib.h>

#include "common/error.h"
#include "common/hash.h"
#include "common/vector.h"
#include "flow/timeline/timeline_state.h"

#define NONE SIZE_MAX

struct flow_before_image {
	uint32_t pid;
	uint32_t process;       /* index in the timeline that kept the image */
	uint64_t start;         /* start time of the process; 0: start of the trace */
	struct ptl_event event; /* event whose payload is in the arena */
	size_t next;            /* index of the next image with an equal key; NONE */
	bool is_wanted;         /* set by flow_before_settle: the image was loaded before its event */
};

static uint64_t place_key(uint32_t process, uint64_t base)
{
	return common_hash_mix(process) ^ base;
}

static uint64_t process_key(uint32_t pid, uint64_t start)
{
	return common_hash_mix(pid) ^ start;
}

void flow_before_free(struct flow_before *before)
{
	free(before->list);
	common_hash_map_free(&before->places);
	common_hash_map_free(&before->by_process);
	common_arena_free(&before->arena);
	*before = (struct flow_before){0};
}

int flow_before_loaded(struct flow_timeline *timeline, uint32_t process, uint64_t base)
{
	return timeline->before.is_known ? 0
					 : common_hash_map_put(&timeline->before.places, place_key(process, base), 0);
}

static int keep_before(struct flow_before *before, uint32_t number, const struct format_fold_process *process,
		       const struct ptl_event *event)
{
	const uint64_t start = process->started ? process->start : 0, key = process_key(process->pid, start);
	struct flow_before_image image = {
		.pid = process->pid, .process = number, .start = start, .event = *event, .next = NONE};
	const uint64_t *first = common_hash_map_get(&before->by_process, key);

	if (first)
		image.next = (size_t)*first;
	image.event.payload = (const uint8_t *)common_arena_copy(&before->arena, event->payload, event->payload_size);
	if (!image.event.payload)
		return PTL_NO_MEMORY;
	/* Only the payload describes the image. */
	image.event.extended = NULL;
	image.event.extended_count = 0;
	image.event.time = start;
	image.event.descriptor.opcode = PTL_OPCODE_START_RUNDOWN;
	if (COMMON_VECTOR_RESERVE(before->list, before->capacity, before->count + 1, "images"))
		return PTL_NO_MEMORY;
	before->list[before->count] = image;
	return common_hash_map_put(&before->by_process, key, before->count++);
}

int flow_before_unannounced(void *context, struct format_fold_process *process, const struct ptl_event *event,
			    const struct ptl_image_event *data)
{
	struct flow_timeline *timeline = context;
	const struct flow_process_state *state = flow_timeline_state_of(process);
	const uint64_t key = place_key(flow_timeline_number(timeline, process), data->base);
	int status;

	if (timeline->before.is_known || common_hash_map_get(&timeline->before.places, key))
		return 0;
	/*
	 * A forked process has the images of its parent. If the pid was used before, another process had the pid at the
	 * start of the trace.
	 */
	if (process->started ? !state->begins_empty : state->previous != FLOW_NONE)
		return 0;
	status = common_hash_map_put(&timeline->before.places, key, 0);
	return status ? status
		      : keep_before(&timeline->before, flow_timeline_number(timeline, process), process, event);
}

int flow_before_load(struct flow_timeline *timeline, uint32_t pid, uint64_t start)
{
	const struct flow_before *before = &timeline->before;
	const uint64_t *first = common_hash_map_get(&before->by_process, process_key(pid, start));
	int status = 0;

	for (size_t i = first ? (size_t)*first : NONE; i != NONE && !status; i = before->list[i].next)
		if (before->list[i].pid == pid && before->list[i].start == start && before->list[i].is_wanted)
			status = format_fold_event(&timeline->fold, &before->list[i].event);
	return status;
}

int flow_before_load_all(struct flow_timeline *timeline)
{
	int status = 0;

	for (size_t i = 0; i < timeline->before.count && !status; i++)
		if (!timeline->before.list[i].start && timeline->before.list[i].is_wanted)
			status = format_fold_event(&timeline->fold, &timeline->before.list[i].event);
	return status;
}

/*
 * Checks whether the process may have had the image before its event. A process reported in the rundown had only the
 * images of the rundown. A process without events is unknown.
 */
static bool is_image_before(const struct flow_timeline *timeline, const struct flow_before_image *image)
{
	const struct format_fold_process *process = &timeline->processes[image->process].fold;

	return !process->implied && !process->rundown && (process->started || !image->start);
}

bool flow_before_settle(struct flow_timeline *timeline)
{
	struct flow_before *before = &timeline->before;
	bool any = false;

	for (size_t i = 0; i < before->count; i++) {
		struct flow_before_image *image = &before->list[i];

		image->is_wanted = is_image_before(timeline, image);
		any |= image->is_wanted;
	}
	return any;
}

void flow_before_move(struct flow_timeline *from, struct flow_timeline *to)
{
	to->before = from->before;
	from->before = (struct flow_before){0};
	common_hash_map_free(&to->before.places);
	to->before.is_known = true;
}
