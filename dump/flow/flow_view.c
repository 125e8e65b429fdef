/* SPDX-License-Identifier: BSD-2-Clause */
/* The view of ptl-dump flow. */
#include "dump/flow/flow_view.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "common/error.h"
#include "common/thread_pool.h"
#include "common/vector.h"
#include "dump/flow/flow_merge.h"
#include "dump/flow/flow_writer.h"
#include "dump/print/text_pool.h"

/* A segment with more text waits for its turn and writes, which bounds the memory of a long segment. */
#define TEXT_MAX ((size_t)4 << 20)

/* The last block, whose branch leads to the next block. Only for lines of branches. */
struct pending {
	bool valid;
	bool wanted; /* the block is selected */
	struct dump_flow_place from;
	uint8_t branch;
	uint64_t next_ip; /* address after the branch */
	struct dump_flow_time time;
};

/* The continuation of the flow: a block, or an event that may give the address of the continuation. */
struct landing {
	bool valid;
	bool known; /* `to` is known */
	bool block;
	struct dump_flow_place to;
};

/* The partial result of a segment. */
struct part {
	struct dump_flow_lines lines;
	struct ptl_bytes head;
	struct dump_flow_time head_time;
	bool opened;          /* the heading, and the branch that leads to the segment, were written */
	struct landing first; /* first block or event of the segment */
	struct pending last;
};

/* State of a stream between its segments. */
struct group {
	bool headed;
	struct pending last;
};

struct idle {
	struct idle *next;
	struct dump_flow_writer *writer;
	struct dump_flow_where *where; /* NULL: no condition */
};

struct view {
	const struct dump_flow_run *flow_run;
	const struct dump_flow_print *print;
	struct dump_flow_merge *merge; /* NULL: streams are written in turn */
	struct group *groups;
	size_t group_count;
	bool headed;
	/* Without merge: events of the thread whose lines were written last (NULL: none), and its segment. */
	struct dump_flow_event_list *events;
	struct flow_segment events_segment;
	atomic_size_t turn; /* without merge: index of the first segment that waits to be emitted */
	pthread_mutex_t lock;
	struct idle *idle; /* unused writers; protected by lock */
	struct dump_text_pool texts;
};

/* ---- writers ------------------------------------------------------------------------------------- */

static bool asks(const struct view *view)
{
	return view->flow_run->where && view->flow_run->where->expr;
}

static void free_writer(struct idle *idle)
{
	dump_flow_writer_free(idle->writer);
	dump_flow_where_free(idle->where);
	free(idle);
}

static struct idle *take_writer(struct view *view)
{
	struct idle *idle;

	pthread_mutex_lock(&view->lock);
	idle = view->idle;
	if (idle)
		view->idle = idle->next;
	pthread_mutex_unlock(&view->lock);
	if (idle)
		return idle;
	idle = calloc(1, sizeof(*idle));
	if (!idle)
		return NULL;
	idle->writer = dump_flow_writer_new(view->print, view->flow_run->format);
	if (asks(view))
		idle->where = dump_flow_where_new(view->print, view->flow_run->where);
	if (idle->writer && (idle->where || !asks(view)))
		return idle;
	free_writer(idle);
	return NULL;
}

static void return_writer(struct view *view, struct idle *idle)
{
	pthread_mutex_lock(&view->lock);
	idle->next = view->idle;
	view->idle = idle;
	pthread_mutex_unlock(&view->lock);
}

static void free_writers(struct view *view)
{
	while (view->idle) {
		struct idle *next = view->idle->next;

		free_writer(view->idle);
		view->idle = next;
	}
}

/* ---- lines --------------------------------------------------------------------------------------- */

/*
 * Sets the time of the lines that follow. Times are estimates: a timing packet may correct the time backwards, but
 * lines of one segment never go back.
 */
static int set_time(const struct view *view, const struct flow_segment *segment, struct part *part,
		    const struct dump_flow_time *time)
{
	bool later = !part->head.size || time->time > part->head_time.time;
	bool bounds = view->print->bounds &&
		      (time->earliest != part->head_time.earliest || time->latest != part->head_time.latest);
	uint64_t before = part->head_time.time;

	if (later || bounds) {
		part->head.size = 0;
		part->head_time = *time;
		if (!later)
			part->head_time.time = before;
		view->flow_run->format->head(view->print, segment, &part->head_time, &part->head);
		if (part->head.failed)
			return common_fail_memory("line", 0);
	}
	/*
	 * Text is also written before the end of a segment: the next line needs an item even if its time is unchanged.
	 */
	return (view->merge || view->flow_run->events) && (later || !part->lines.count)
		       ? dump_flow_lines_at(&part->lines, part->head_time.time)
		       : 0;
}

/* Returns the time of the current block. */
static struct dump_flow_time time_of(const struct flow_batch_cursor *cursor)
{
	const struct flow_mark *mark = flow_batch_mark(cursor);
	struct dump_flow_time time = {.time = cursor->time};

	if (!mark || !mark->time)
		return time;
	if (mark->before != FLOW_UNBOUNDED)
		time.earliest = mark->time - mark->before;
	if (mark->after != FLOW_UNBOUNDED)
		time.latest = mark->time + mark->after;
	return time;
}

static bool is_wanted_image(const struct view *view, uint32_t image)
{
	const bool *wanted = view->flow_run->images_wanted;

	return !wanted || (image != FLOW_NONE && wanted[image]);
}

/* Finds the place of an address that belongs to no block. */
static struct dump_flow_place find_place(const struct view *view, const struct flow_segment *segment, uint64_t time,
					 uint64_t ip)
{
	struct dump_flow_place place = {ip, FLOW_NONE};
	struct flow_place found;

	if (!time)
		time = segment->time ? segment->time : view->print->start_time;
	if (segment->process != FLOW_NONE &&
	    flow_timeline_find(view->print->timeline, segment->process, time, ip, &found))
		place.image = found.image;
	return place;
}

/* ---- branches ------------------------------------------------------------------------------------ */

/* Whether the branch was taken, as far as known. */
static bool is_taken(const struct pending *pending, const struct landing *landing)
{
	if (pending->branch != FLOW_BRANCH_CONDITIONAL)
		return true;
	return landing->known && landing->to.ip != pending->next_ip;
}

static int write_branch(const struct view *view, const struct flow_segment *segment, struct part *part,
			struct dump_flow_writer *writer, const struct pending *pending, const struct landing *landing)
{
	const struct dump_flow_branch branch = {
		.from = pending->from,
		.to = landing->to,
		.has_to = landing->known,
		.kind = pending->branch,
	};
	int status;

	if (!pending->valid || !pending->wanted || !is_taken(pending, landing) ||
	    !(is_wanted_image(view, branch.from.image) || (branch.has_to && is_wanted_image(view, branch.to.image))))
		return 0;
	status = set_time(view, segment, part, &pending->time);
	if (status == 0)
		dump_flow_write_branch(writer, &part->head, &branch, &part->lines.text);
	return status;
}

/* The flow continues at `landing`: writes the line of the branch before, if any. */
static int land(const struct view *view, const struct flow_segment *segment, struct part *part,
		struct dump_flow_writer *writer, const struct landing *landing)
{
	const struct pending pending = part->last;

	part->last.valid = false;
	if (!part->first.valid) {
		part->first = *landing;
		return 0;
	}
	return write_branch(view, segment, part, writer, &pending, landing);
}

/* Returns the address at which the flow would have continued, when an event came. */
static struct landing landing_of(const struct view *view, const struct flow_segment *segment,
				 const struct flow_event *event)
{
	struct landing landing = {.valid = true, .to.image = FLOW_NONE};

	if (event->kind == FLOW_DISABLED && event->flags & FLOW_EVENT_HAS_TO) {
		landing.known = true;
		landing.to = find_place(view, segment, event->time, event->to);
	} else if (event->kind != FLOW_GAP && event->kind != FLOW_ENABLED && event->flags & FLOW_EVENT_HAS_FROM) {
		landing.known = true;
		landing.to = find_place(view, segment, event->time, event->from);
	}
	return landing;
}

/* ---- consuming ----------------------------------------------------------------------------------- */

static int begin_part(void *context, const struct flow_segment *segment, void **partial)
{
	struct part *part = calloc(1, sizeof(*part));
	struct view *view = context;

	(void)segment;
	*partial = part;
	if (!part)
		return common_fail_memory("lines", sizeof(*part));
	part->lines.text = dump_text_pool_take(&view->texts);
	return 0;
}

static void drop_part(void *context, void *partial)
{
	struct view *view = context;
	struct part *part = partial;

	dump_text_pool_return(&view->texts, &part->lines.text);
	dump_flow_lines_free(&part->lines);
	common_bytes_free(&part->head);
	free(part);
}

static bool is_asked_for(struct dump_flow_where *where, const struct flow_segment *segment,
			 const struct flow_batch_cursor *cursor)
{
	return !where || dump_flow_where_wants(where, segment, cursor->block, cursor->time);
}

static int take_block(const struct view *view, const struct flow_segment *segment, struct part *part,
		      const struct idle *idle, const struct flow_batch_cursor *cursor)
{
	const struct flow_block *block = cursor->block;
	struct dump_flow_time time;
	int status;

	if (view->print->level == DUMP_FLOW_BRANCH) {
		const struct landing landing = {true, true, true, {block->ip, block->image}};

		status = land(view, segment, part, idle->writer, &landing);
		if (block->branch != FLOW_BRANCH_NONE)
			part->last = (struct pending){true,
						      is_asked_for(idle->where, segment, cursor),
						      {block->last_ip, block->image},
						      block->branch,
						      block->ip + block->size,
						      time_of(cursor)};
		return status;
	}
	if (!is_wanted_image(view, block->image) || !is_asked_for(idle->where, segment, cursor))
		return 0;
	time = time_of(cursor);
	status = set_time(view, segment, part, &time);
	if (status == 0)
		dump_flow_write_block(idle->writer, &part->head, block, &part->lines.text);
	return status;
}

static int view_take_event(const struct view *view, const struct flow_segment *segment, struct part *part,
			   struct dump_flow_writer *writer, const struct flow_event *event)
{
	struct dump_flow_place from = {0, FLOW_NONE}, to = {0, FLOW_NONE};
	const struct dump_flow_time time = {.time = event->time};
	int status = 0;

	if (view->print->level == DUMP_FLOW_BRANCH && flow_event_splits(event->kind)) {
		const struct landing landing = landing_of(view, segment, event);

		status = land(view, segment, part, writer, &landing);
	}
	if (event->flags & FLOW_EVENT_HAS_FROM)
		from = find_place(view, segment, event->time, event->from);
	if (event->flags & FLOW_EVENT_HAS_TO)
		to = find_place(view, segment, event->time, event->to);
	/* Gaps are shown even if filtered: the missing flow may be the wanted flow. */
	if (status < 0 || (event->kind != FLOW_GAP &&
			   (asks(view) || (!is_wanted_image(view, from.image) && !is_wanted_image(view, to.image)))))
		return status;
	status = set_time(view, segment, part, &time);
	if (status < 0)
		return status;
	common_write_bytes(&part->lines.text, part->head.data, part->head.size);
	view->flow_run->format->event(view->print, event, &from, &to, &part->lines.text);
	return 0;
}

static int write_early(struct view *view, const struct flow_segment *segment, struct part *part);

static int consume_batch(void *context, void *partial, const struct flow_segment *segment,
			 const struct flow_batch *batch)
{
	struct view *view = context;
	struct part *part = partial;
	struct flow_batch_cursor cursor = flow_batch_walk(batch);
	struct idle *idle = take_writer(view);
	int status = 0;

	if (!idle)
		return common_fail_memory("lines", 0);
	while (status == 0 && flow_batch_next(&cursor)) {
		status = cursor.block ? take_block(view, segment, part, idle, &cursor)
				      : view_take_event(view, segment, part, idle->writer, cursor.event);
		if (status == 0 && part->lines.text.size >= TEXT_MAX)
			status = write_early(view, segment, part);
	}
	return_writer(view, idle);
	if (status == 0 && part->lines.text.failed)
		status = common_fail_memory("lines", part->lines.text.size);
	return status;
}

/* ---- writing in order of segments ---------------------------------------------------------------- */

static struct group *group_of(struct view *view, size_t number)
{
	if (number >= view->group_count) {
		const size_t before = view->group_count;

		if (!COMMON_VECTOR_GROW(view->groups, view->group_count, number + 1))
			return NULL;
		for (size_t i = before; i < view->group_count; i++)
			view->groups[i] = (struct group){0};
	}
	return &view->groups[number];
}

/* Formats the branch from the last segment to this segment, before the segment's lines. */
static int join_branch(struct view *view, const struct flow_segment *segment, const struct group *group,
		       const struct part *part, struct part *before)
{
	struct idle *idle;
	int status;

	if (!group->last.valid || !part->first.valid)
		return 0;
	idle = take_writer(view);
	if (!idle)
		return common_fail_memory("lines", 0);
	status = write_branch(view, segment, before, idle->writer, &group->last, &part->first);
	return_writer(view, idle);
	return status;
}

/* Writes the heading: once for merged lines, else once per stream. */
static void write_heading(struct view *view, const struct flow_segment *segment, struct group *group)
{
	struct ptl_bytes text = {0};
	bool *headed = view->merge ? &view->headed : &group->headed;

	if (!*headed) {
		if (view->headed && !view->flow_run->run->options->json)
			fputc('\n', view->flow_run->run->out);
		view->flow_run->format->heading(view->print, segment, &text);
		common_text_write(&text, view->flow_run->run->out);
		common_bytes_free(&text);
	}
	*headed = true;
	view->headed = true;
}

/* Writes the events after the last lines of their thread. */
static int end_events(struct view *view)
{
	struct group *group;

	if (!view->events || !dump_flow_events_left(view->events))
		return 0;
	group = group_of(view, view->events_segment.group);
	if (!group)
		return common_fail_memory("streams", view->events_segment.group);
	write_heading(view, &view->events_segment, group);
	dump_flow_events_flush(view->events, view->flow_run->run->out);
	return 0;
}

/* Switches to the events of the segment's thread. */
static int turn_to_events(struct view *view, const struct flow_segment *segment)
{
	struct dump_flow_event_list *events;
	int status = 0;

	if (!view->flow_run->events || view->merge)
		return 0;
	events = dump_flow_events_of(view->flow_run->events, segment->pid, segment->tid);
	if (events != view->events)
		status = end_events(view);
	view->events = events;
	view->events_segment = *segment;
	return status;
}

/* Writes lines, or adds the lines to the merge. */
static int put_lines(struct view *view, const struct flow_segment *segment, struct dump_flow_lines *lines)
{
	if (view->merge)
		return dump_flow_merge_add(view->merge, segment->group, lines);
	if (view->events)
		dump_flow_events_write(view->events, lines, view->flow_run->run->out);
	else
		common_text_write(&lines->text, view->flow_run->run->out);
	lines->text.size = 0;
	lines->count = 0;
	return 0;
}

/* Writes the segment's lines so far. Only when the segment's turn has come. */
static int write_part(struct view *view, const struct flow_segment *segment, struct part *part)
{
	int status = turn_to_events(view, segment);
	struct group *group = group_of(view, segment->group);
	struct part before = {0};

	if (status == 0 && !group)
		status = common_fail_memory("streams", segment->group);
	if (status < 0)
		return status;
	if (!part->opened)
		status = join_branch(view, segment, group, part, &before);
	if (status == 0 && (before.lines.text.size || part->lines.text.size))
		write_heading(view, segment, group);
	if (status == 0 && before.lines.text.size)
		status = put_lines(view, segment, &before.lines);
	if (status == 0)
		status = put_lines(view, segment, &part->lines);
	part->opened = part->first.valid || view->print->level != DUMP_FLOW_BRANCH;
	dump_flow_lines_free(&before.lines);
	common_bytes_free(&before.head);
	return status < 0 ? status : dump_output_check(view->flow_run->run);
}

/*
 * Writes text before the end of the segment, on a worker. All earlier segments have been emitted, and no segment is
 * emitted while this segment is decoded, so no other thread writes. Waiting for the turn bounds memory: a few bytes of
 * packets may produce gigabytes of lines.
 */
static int write_early(struct view *view, const struct flow_segment *segment, struct part *part)
{
	int status = 0;

	/* If ordered by time, turns do not follow the index. */
	if (view->merge || atomic_load_explicit(&view->turn, memory_order_acquire) != segment->index)
		status = common_pipeline_await();
	return status ? status : write_part(view, segment, part);
}

static int emit_part(void *context, const struct flow_segment *segment, void *partial, uint64_t horizon)
{
	struct view *view = context;
	struct part *part = partial;
	int status = write_part(view, segment, part);

	if (status == 0 && part->first.valid)
		group_of(view, segment->group)->last = part->last;
	drop_part(view, part);
	if (status == 0 && view->merge)
		status = dump_flow_merge_write(view->merge, horizon, view->flow_run->run->out);
	atomic_store_explicit(&view->turn, segment->index + 1, memory_order_release);
	return status;
}

static void return_text(void *context, struct ptl_bytes *text)
{
	dump_text_pool_return(context, text);
}

/*
 * Returns the default number of threads. Lines formatted ahead wait in memory: up to 4 segments per thread, and
 * thousands of bytes of text per byte of packets. A few threads are faster than any output.
 */
unsigned dump_flow_threads(enum dump_flow_level level)
{
	const unsigned most = level == DUMP_FLOW_INSN ? 4 : 16, cpus = common_cpu_count();

	return cpus < most ? cpus : most;
}

int dump_flow_view_run(struct dump_flow_run *flow_run, const struct flow_view_options *options)
{
	struct view view = {
		.flow_run = flow_run,
		.print = flow_run->print,
	};
	const struct flow_view methods = {
		.context = &view,
		.begin = begin_part,
		.consume = consume_batch,
		.emit = emit_part,
		.drop = drop_part,
	};
	int status;

	dump_text_pool_init(&view.texts, 8 * TEXT_MAX);
	if (flow_run->print->merged) {
		view.merge = dump_flow_merge_new(return_text, &view.texts);
		if (!view.merge) {
			dump_text_pool_free(&view.texts);
			return common_fail_memory("merge", 0);
		}
	}
	pthread_mutex_init(&view.lock, NULL);
	status = flow_run->events && view.merge && dump_flow_events_lines(flow_run->events)
			 ? dump_flow_merge_add(view.merge, SIZE_MAX, dump_flow_events_lines(flow_run->events))
			 : 0;
	if (status == 0)
		status = flow_view_run(flow_run->run->trace, flow_run->print->timeline, options, &methods);
	if (status == 0)
		status = end_events(&view);
	if (status == 0 && view.merge)
		status = dump_flow_merge_write(view.merge, UINT64_MAX, flow_run->run->out);
	flow_run->shown = view.headed;
	dump_flow_merge_free(view.merge);
	free_writers(&view);
	dump_text_pool_free(&view.texts);
	free(view.groups);
	pthread_mutex_destroy(&view.lock);
	return status;
}
