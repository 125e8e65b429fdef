/* SPDX-License-Identifier: BSD-2-Clause */
/* Copies the part of a batch within the time window, unless the whole batch is within the window. */
#include "flow/view/window.h"

static bool is_inside(const struct flow_window *window, uint64_t time)
{
	return !time || (time >= window->first_time && time <= window->last_time);
}

/* Checks whether the whole batch is within the window. */
static bool is_all_inside(const struct flow_window *window, const struct flow_batch *batch)
{
	for (size_t i = 0; i < batch->mark_count; i++) {
		if (!is_inside(window, batch->marks[i].time))
			return false;
	}
	for (size_t i = 0; i < batch->event_count; i++) {
		if (!is_inside(window, batch->events[i].time))
			return false;
	}
	return true;
}

int flow_window_cut(struct flow_window *window, const struct flow_batch *batch, struct flow_batch *cut)
{
	struct flow_batch_cursor cursor = flow_batch_walk(batch);
	int status;

	*cut = *batch;
	if (is_all_inside(window, batch))
		return 0;
	status = flow_batch_copy_begin(&window->copy, batch);
	while (!status && flow_batch_next(&cursor)) {
		if (is_inside(window, cursor.time))
			flow_batch_copy_add(&window->copy, &cursor);
	}
	*cut = *flow_batch_copy_end(&window->copy);
	return status;
}

void flow_window_free(struct flow_window *window)
{
	flow_batch_copy_free(&window->copy);
	flow_batch_copy_free(&window->of_spans);
	*window = (struct flow_window){0};
}
