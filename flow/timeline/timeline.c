/* SPDX-License-Identifier: BSD-2-Clause */
/* Builds the timeline: folds a trace's events, then completes processes, threads and images. */
#include "flow/timeline/timeline.h"

#include <stdlib.h>

#include "common/bytes.h"
#include "common/error.h"
#include "flow/timeline/timeline_state.h"

void flow_timeline_free(struct flow_timeline *timeline)
{
	if (!timeline)
		return;
	for (size_t i = 0; i < timeline->process_count; i++) {
		free(timeline->processes[i].versions);
		free(timeline->processes[i].programs);
	}
	common_arena_free(&timeline->arena);
	free(timeline->processes);
	free(timeline->threads);
	free(timeline->images);
	free(timeline->alike);
	free(timeline->process_images);
	free(timeline->process_threads);
	free(timeline->blob_sizes);
	free(timeline->blobs_used);
	free(timeline->outside);
	flow_before_free(&timeline->before);
	flow_timeline_free_switches(timeline);
	flow_timeline_free_pauses(timeline);
	format_fold_free(&timeline->fold);
	flow_made_free(&timeline->made);
	common_hash_map_free(&timeline->made_images);
	common_hash_map_free(&timeline->last_process);
	common_hash_map_free(&timeline->last_thread);
	common_byte_map_free(&timeline->blobs);
	common_byte_map_free(&timeline->texts);
	free(timeline);
}

/* ---- events ------------------------------------------------------------------------------ */

static const struct format_fold_listener listener = {
	.processes = &flow_timeline_processes,
	.threads = &flow_timeline_threads,
	.spaces = &flow_timeline_spaces,
};

/* Applies the changes of names up to a time. */
static int change_names(struct flow_timeline *timeline, uint64_t until)
{
	struct flow_made_set *made = &timeline->made;
	int status = 0;

	for (; !status && made->next < made->change_count && made->changes[made->next].time <= until; made->next++)
		status = flow_timeline_names_change(timeline, &made->changes[made->next]);
	return status;
}

static int timeline_take_event(void *context, struct ptl_trace *trace, const struct ptl_event *event)
{
	struct flow_timeline *timeline = context;
	int status = change_names(timeline, event->time);

	(void)trace;
	if (!status)
		status = flow_timeline_resumed(timeline, event);
	return status ? status : format_fold_event(&timeline->fold, event);
}

/*
 * As timeline_take_event, and loads the images from before their events: directly behind the event that begins their
 * process.
 */
static int take_event_again(void *context, struct ptl_trace *trace, const struct ptl_event *event)
{
	struct flow_timeline *timeline = context;
	const enum format_class class = format_class_of(&event->descriptor);
	struct format_kernel_event decoded;
	int status = timeline_take_event(context, trace, event);

	if (status || class != FORMAT_CLASS_PROCESS || event->descriptor.opcode != PTL_OPCODE_START ||
	    format_kernel_decode(event, &timeline->fold.storage, &decoded))
		return status;
	return flow_before_load(timeline, decoded.pid, event->time);
}

/* ---- before and after the events --------------------------------------------------------- */

static int index_blobs(struct flow_timeline *timeline, const struct ptl_trace *trace)
{
	size_t count = ptl_blob_count(trace);

	if (count >= FLOW_NONE)
		return common_fail(PTL_NO_MEMORY, "%zu blobs are too many", count);
	timeline->blob_sizes = calloc(count + 1, sizeof(uint64_t));
	timeline->blobs_used = calloc(count + 1, sizeof(bool));
	if (!timeline->blob_sizes || !timeline->blobs_used)
		return common_fail_memory("sizes of blobs", count * sizeof(uint64_t));
	for (size_t i = 0; i < count; i++) {
		const struct ptl_blob_info *blob = ptl_blob_at(trace, i);
		int status = common_byte_map_put(&timeline->blobs, blob->hash, PTL_HASH_SIZE, i);

		if (status < 0)
			return status;
		timeline->blob_sizes[i] = blob->size;
	}
	timeline->blob_count = count;
	return 0;
}

/* Adds threads that have PT bytes but no event. */
static int add_stream_threads(struct flow_timeline *timeline, const struct ptl_trace *trace)
{
	for (size_t i = 0; i < ptl_stream_count(trace); i++) {
		const struct ptl_stream *stream = ptl_stream_at(trace, i);
		uint32_t process;
		int status = 0;

		if (stream->kind != PTL_KIND_PT || stream->pid == PTL_NO_ID)
			continue;
		if (stream->tid != PTL_NO_ID)
			status = flow_timeline_need_thread(timeline, stream->pid, stream->tid, stream->first_time);
		else
			status = flow_timeline_need_process(timeline, stream->pid, &process);
		if (status < 0)
			return status;
	}
	return 0;
}

/* Ends threads and images without an end event together with their process. */
static void end_with_process(struct flow_timeline *timeline)
{
	for (size_t i = 0; i < timeline->thread_count; i++) {
		struct flow_timeline_thread *thread = &timeline->threads[i].data;

		if (!thread->ended)
			thread->end = timeline->processes[thread->process].data.end;
	}
	for (size_t i = 0; i < timeline->image_count; i++) {
		struct flow_timeline_image *image = &timeline->images[i].data;

		if (image->end == FLOW_TIME_END)
			image->end = timeline->processes[image->process].data.end;
	}
}

/* Gives each process its lists of threads and images: counts the members, then stores them. */
static int list_members(struct flow_timeline *timeline)
{
	size_t image_at = 0, thread_at = 0;

	timeline->process_images = calloc(timeline->image_count + 1, sizeof(uint32_t));
	timeline->process_threads = calloc(timeline->thread_count + 1, sizeof(uint32_t));
	if (!timeline->process_images || !timeline->process_threads)
		return common_fail_memory("timeline", (timeline->image_count + timeline->thread_count) * 4);
	for (size_t i = 0; i < timeline->image_count; i++)
		timeline->processes[timeline->images[i].data.process].data.image_count +=
			!timeline->images[i].data.layer;
	for (size_t i = 0; i < timeline->thread_count; i++)
		timeline->processes[timeline->threads[i].data.process].data.thread_count++;
	for (size_t i = 0; i < timeline->process_count; i++) {
		struct flow_timeline_process *process = &timeline->processes[i].data;

		process->images = timeline->process_images + image_at;
		process->threads = timeline->process_threads + thread_at;
		image_at += process->image_count;
		thread_at += process->thread_count;
		process->image_count = process->thread_count = 0;
	}
	for (size_t i = 0; i < timeline->image_count; i++) {
		struct flow_timeline_process *process = &timeline->processes[timeline->images[i].data.process].data;

		if (timeline->images[i].data.layer)
			continue;
		timeline->process_images[(size_t)(process->images - timeline->process_images) +
					 process->image_count++] = (uint32_t)i;
	}
	for (size_t i = 0; i < timeline->thread_count; i++) {
		struct flow_timeline_process *process = &timeline->processes[timeline->threads[i].data.process].data;
		size_t at = (size_t)(process->threads - timeline->process_threads) + process->thread_count++;

		timeline->process_threads[at] = (uint32_t)i;
	}
	return 0;
}

/* Returns NULL without memory. */
static struct flow_timeline *new_timeline(void)
{
	struct flow_timeline *timeline = calloc(1, sizeof(*timeline));

	if (!timeline) {
		common_fail_memory("timeline", sizeof(*timeline));
		return NULL;
	}
	timeline->fold.listener = &listener;
	timeline->fold.context = timeline;
	return timeline;
}

int flow_timeline_begin(struct flow_timeline **timeline)
{
	*timeline = new_timeline();
	if (!*timeline)
		return PTL_NO_MEMORY;
	/* Events arrive only once. Images reported late are therefore not moved to an earlier time. */
	(*timeline)->before.is_known = true;
	return 0;
}

int flow_timeline_event(struct flow_timeline *timeline, const struct ptl_event *event)
{
	return format_fold_event(&timeline->fold, event);
}

static int fold_events(struct flow_timeline *built, struct ptl_trace *trace)
{
	const struct ptl_callbacks callbacks = {
		.size = sizeof(callbacks), .event = built->before.is_known ? take_event_again : timeline_take_event};
	int status = index_blobs(built, trace);

	built->trace = trace;
	if (!status && built->before.is_known)
		status = flow_before_load_all(built);
	if (!status)
		status = ptl_process(trace, NULL, &callbacks, built);
	return status ? status : change_names(built, FLOW_TIME_END);
}

/* Builds the timeline again, with the images from before their events. */
static int fold_again(struct flow_timeline **timeline, struct ptl_trace *trace)
{
	struct flow_timeline *again = new_timeline();

	if (!again)
		return PTL_NO_MEMORY;
	flow_before_move(*timeline, again);
	flow_made_move(&(*timeline)->made, &again->made);
	flow_timeline_free(*timeline);
	*timeline = again;
	return fold_events(again, trace);
}

int flow_timeline_build_named(struct ptl_trace *trace, struct flow_made_set *made, struct flow_timeline **timeline)
{
	struct flow_timeline *built = new_timeline();
	int status;

	if (!built)
		return PTL_NO_MEMORY;
	flow_made_move(made, &built->made);
	status = fold_events(built, trace);
	if (!status && flow_before_settle(built))
		status = fold_again(&built, trace);
	flow_before_free(&built->before);
	/*
	 * Decides for all processes: if a pid was forked and used again at one time, the fold finds the later process
	 * only.
	 */
	for (size_t i = 0; !status && i < built->process_count; i++)
		status = format_fold_decide(&built->fold, &built->processes[i].fold);
	if (!status)
		status = add_stream_threads(built, trace);
	if (!status)
		status = list_members(built);
	if (!status)
		status = flow_timeline_settle_alike(built);
	common_bytes_free(&built->fold.storage);
	if (status < 0) {
		flow_timeline_free(built);
		return common_fail_in(status, "cannot build the timeline of processes");
	}
	end_with_process(built);
	flow_timeline_settle_switches(built);
	flow_timeline_settle_parents(built);
	flow_timeline_settle_kernels(built);
	flow_timeline_settle_versions(built);
	built->trace = NULL;
	*timeline = built;
	return 0;
}

int flow_timeline_build(struct ptl_trace *trace, struct flow_timeline **timeline)
{
	struct flow_made_set none = {0};

	return flow_timeline_build_named(trace, &none, timeline);
}
