/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Iterators: engines push flow, callers pull flow. Decoding runs in a thread. The thread waits with each batch until
 * the caller has walked the batch. At any time only one of the two threads runs.
 */
#include "flow/library.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/error.h"
#include "common/signals.h"

#define TEXT_SIZE 2048 /* bytes for the error text of the decoding thread */

enum turn {
	TURN_DECODER, /* the decoder makes the next batch */
	TURN_CALLER,  /* the caller walks the batch */
	TURN_STOP,    /* the caller wants no more flow */
	TURN_END,     /* the decoder has ended with `status` */
};

struct ptl_flow_iterator {
	const struct ptl_flow *flow;
	struct flow_view_options options;
	uint32_t *ids; /* copies of the selected ids; the caller's arrays may be freed */
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	enum turn turn;
	struct ptl_flow_segment segment; /* segment and batch: valid only in the caller's turn */
	struct ptl_flow_batch batch;
	bool walking; /* the caller has a batch; only the caller reads this member */
	int status;
	char text[TEXT_SIZE];
};

/* ---- in the decoding thread ------------------------------------------------------------------------ */

static int iterator_begin(void *context, const struct flow_segment *segment, void **partial)
{
	struct ptl_flow_iterator *iterator = context;

	iterator->segment = flow_library_segment(segment);
	*partial = iterator;
	return 0;
}

/* Hands the batch to the caller, and waits until the caller has finished with the batch. */
static int iterator_consume(void *context, void *partial, const struct flow_segment *segment,
			    const struct flow_batch *batch)
{
	struct ptl_flow_iterator *iterator = context;
	int status;

	(void)partial;
	(void)segment;
	flow_library_batch(&iterator->batch, batch, &iterator->segment, false);
	pthread_mutex_lock(&iterator->lock);
	if (iterator->turn == TURN_DECODER) {
		iterator->turn = TURN_CALLER;
		pthread_cond_signal(&iterator->changed);
	}
	while (iterator->turn == TURN_CALLER)
		pthread_cond_wait(&iterator->changed, &iterator->lock);
	status = iterator->turn == TURN_STOP ? PTL_CANCELLED : 0;
	pthread_mutex_unlock(&iterator->lock);
	return status;
}

static int iterator_emit(void *context, const struct flow_segment *segment, void *partial, uint64_t horizon)
{
	(void)context;
	(void)segment;
	(void)partial;
	(void)horizon;
	return 0;
}

static void iterator_drop(void *context, void *partial)
{
	(void)context;
	(void)partial;
}

static void *decode_thread(void *argument)
{
	struct ptl_flow_iterator *iterator = argument;
	const struct flow_view view = {
		.context = iterator,
		.begin = iterator_begin,
		.consume = iterator_consume,
		.emit = iterator_emit,
		.drop = iterator_drop,
	};
	int status = flow_view_run(iterator->flow->trace, iterator->flow->timeline, &iterator->options, &view);

	pthread_mutex_lock(&iterator->lock);
	iterator->status = status;
	snprintf(iterator->text, sizeof(iterator->text), "%s", status < 0 ? ptl_error_text() : "");
	iterator->turn = TURN_END;
	pthread_cond_signal(&iterator->changed);
	pthread_mutex_unlock(&iterator->lock);
	return NULL;
}

/* ---- for the caller ---------------------------------------------------------------------------------- */

static const uint32_t *copy_ids(uint32_t **to, const uint32_t *ids, size_t count)
{
	const uint32_t *copy = *to;

	if (count)
		memcpy(*to, ids, count * sizeof(*ids));
	*to += count;
	return copy;
}

static int keep_selection(struct ptl_flow_iterator *iterator)
{
	struct flow_selection *selection = &iterator->options.selection;
	size_t count = selection->pid_count + selection->tid_count + selection->cpu_count;
	uint32_t *to = calloc(count + 1, sizeof(*to));

	if (!to)
		return common_fail_memory("selection", count * sizeof(*to));
	iterator->ids = to;
	selection->pids = copy_ids(&to, selection->pids, selection->pid_count);
	selection->tids = copy_ids(&to, selection->tids, selection->tid_count);
	selection->cpus = copy_ids(&to, selection->cpus, selection->cpu_count);
	return 0;
}

static int start_iterator(struct ptl_flow_iterator *iterator)
{
	const int error = common_thread_start(&iterator->thread, NULL, decode_thread, iterator);

	return error ? common_fail(PTL_SYSTEM, "cannot start a thread that decodes: %s", strerror(error)) : 0;
}

int ptl_flow_iterator_new(struct ptl_flow *flow, const struct ptl_flow_options *options,
			  struct ptl_flow_iterator **iterator)
{
	struct ptl_flow_iterator *made;
	int status;

	if (iterator)
		*iterator = NULL;
	if (!flow || !iterator)
		return common_fail(PTL_MISUSE, "ptl_flow_iterator_new needs a flow and a place for the result");
	made = calloc(1, sizeof(*made));
	if (!made)
		return common_fail_memory("iterator", sizeof(*made));
	made->flow = flow;
	status = flow_library_options(options, &made->options);
	made->options.threads = 1;
	made->options.progress = NULL;
	if (!status)
		status = keep_selection(made);
	if (!status) {
		pthread_mutex_init(&made->lock, NULL);
		pthread_cond_init(&made->changed, NULL);
		status = start_iterator(made);
	}
	if (status < 0) {
		free(made->ids);
		free(made);
		return status;
	}
	*iterator = made;
	return 0;
}

/* Waits for the next batch. Returns false if the flow has ended. */
static bool await_batch(struct ptl_flow_iterator *iterator)
{
	bool there;

	pthread_mutex_lock(&iterator->lock);
	while (iterator->turn == TURN_DECODER)
		pthread_cond_wait(&iterator->changed, &iterator->lock);
	there = iterator->turn == TURN_CALLER;
	pthread_mutex_unlock(&iterator->lock);
	return there;
}

static void give_turn(struct ptl_flow_iterator *iterator, enum turn turn)
{
	pthread_mutex_lock(&iterator->lock);
	if (iterator->turn != TURN_END) {
		iterator->turn = turn;
		pthread_cond_signal(&iterator->changed);
	}
	pthread_mutex_unlock(&iterator->lock);
}

/* Returns what ptl_flow_next returns at the end. */
static int end_flow(const struct ptl_flow_iterator *iterator, const struct ptl_flow_item **item)
{
	*item = NULL;
	return iterator->status < 0 ? common_fail(iterator->status, "%s", iterator->text) : 0;
}

int ptl_flow_next(struct ptl_flow_iterator *iterator, const struct ptl_flow_item **item)
{
	while (iterator->walking || await_batch(iterator)) {
		*item = ptl_flow_batch_next(&iterator->batch);
		iterator->walking = *item != NULL;
		if (*item)
			return 1;
		give_turn(iterator, TURN_DECODER);
	}
	return end_flow(iterator, item);
}

int ptl_flow_next_arrays(struct ptl_flow_iterator *iterator, const struct ptl_flow_arrays *arrays, size_t room,
			 size_t *count, const struct ptl_flow_item **item)
{
	*count = 0;
	while (iterator->walking || await_batch(iterator)) {
		*count = ptl_flow_batch_arrays(&iterator->batch, arrays, room);
		if (*count)
			iterator->batch.item = (struct ptl_flow_item){.segment = &iterator->segment,
								      .latest = UINT64_MAX};
		*item = *count ? &iterator->batch.item : ptl_flow_batch_next(&iterator->batch);
		iterator->walking = *item != NULL;
		if (*item)
			return 1;
		give_turn(iterator, TURN_DECODER);
	}
	return end_flow(iterator, item);
}

void ptl_flow_iterator_free(struct ptl_flow_iterator *iterator)
{
	if (!iterator)
		return;
	give_turn(iterator, TURN_STOP);
	pthread_join(iterator->thread, NULL);
	pthread_cond_destroy(&iterator->changed);
	pthread_mutex_destroy(&iterator->lock);
	free(iterator->ids);
	free(iterator);
}
