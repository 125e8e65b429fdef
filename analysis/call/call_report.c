/* SPDX-License-Identifier: BSD-2-Clause */
/* Sums up calls by row. */
#include "analysis/call/call_report.h"

#include <stdlib.h>
#include <string.h>

#include "common/error.h"
#include "common/vector.h"

/* ---- rows ---------------------------------------------------------------------------------------- */

static int add_row(struct analysis_report *report, uint32_t *number)
{
	const int status = COMMON_VECTOR_RESERVE(report->rows, report->capacity, report->count + 1, "rows");

	if (status < 0)
		return status;
	report->rows[report->count] = (struct analysis_report_row){
		.function = ANALYSIS_NO_FUNCTION, .process = FLOW_NONE, .pid = PTL_NO_ID, .tid = PTL_NO_ID};
	*number = (uint32_t)report->count++;
	return 0;
}

/* Finds or adds the row of a function's image. */
static int find_image(struct analysis_report *report, const struct analysis_function *function, uint32_t *number)
{
	const uint64_t *known = common_byte_map_get(&report->by_name, function->path, strlen(function->path));
	int status;

	if (known) {
		*number = (uint32_t)*known;
		return 0;
	}
	status = add_row(report, number);
	if (status < 0)
		return status;
	report->rows[*number].image = function->path;
	return common_byte_map_put(&report->by_name, function->path, strlen(function->path), *number);
}

/* Finds or adds the row of a function, or of its image. */
static int find_row(struct analysis_report *report, uint32_t function, uint32_t *number)
{
	const size_t at = function == ANALYSIS_NO_FUNCTION ? 0 : (size_t)function + 1;
	const size_t before = report->function_capacity;
	const struct analysis_function *data;
	int status;

	if (__builtin_expect(at < before && report->by_function[at], 1)) {
		*number = report->by_function[at] - 1;
		return 0;
	}
	status = COMMON_VECTOR_RESERVE(report->by_function, report->function_capacity, at + 1, "functions");
	if (status < 0)
		return status;
	if (report->function_capacity > before)
		memset(report->by_function + before, 0,
		       (report->function_capacity - before) * sizeof(*report->by_function));
	data = analysis_function(report->calls->functions, function);
	if (report->by == ANALYSIS_REPORT_IMAGE) {
		status = find_image(report, data, number);
	} else {
		status = add_row(report, number);
		if (status == 0) {
			report->rows[*number].function = function;
			report->rows[*number].image = data->path;
		}
	}
	if (status == 0)
		report->by_function[at] = *number + 1;
	return status;
}

static bool is_by_code(const struct analysis_report *report)
{
	return report->by == ANALYSIS_REPORT_FUNCTION || report->by == ANALYSIS_REPORT_IMAGE;
}

static bool is_thread(const struct analysis_report *report, const struct analysis_report_row *row,
		      const struct analysis_call_thread *thread)
{
	return row->process == thread->process && row->pid == thread->pid &&
	       (report->by == ANALYSIS_REPORT_PROCESS || (row->tid == thread->tid && row->cpu == thread->cpu));
}

/* Forgets the stacks of the last thread or program. */
static void forget_stacks(struct analysis_report *report)
{
	common_hash_map_free(&report->by_stack);
	report->span_count = 0;
	report->program++;
}

static int report_begin_thread(void *context, struct analysis_call_thread *thread)
{
	struct analysis_report *report = context;
	struct analysis_report_row *row;
	int status;

	forget_stacks(report);
	if (is_by_code(report))
		return 0;
	/* Threads are grouped by process. */
	report->row = (uint32_t)report->count - 1;
	if (report->count && is_thread(report, &report->rows[report->row], thread))
		return 0;
	status = add_row(report, &report->row);
	if (status < 0)
		return status;
	row = &report->rows[report->row];
	row->process = thread->process;
	row->pid = thread->pid;
	row->tid = thread->tid;
	row->cpu = thread->cpu;
	return 0;
}

/* ---- calls --------------------------------------------------------------------------------------- */

/* Finds or adds the row's span on a stack other than the first. Returns NULL without memory. */
static __attribute__((noinline)) struct analysis_report_span *span_of_stack(struct analysis_report *report,
									    uint32_t stack, uint32_t row)
{
	const uint64_t key = (uint64_t)stack << 32 | row;
	const uint64_t *known = common_hash_map_get(&report->by_stack, key);

	if (known)
		return &report->spans[*known];
	if (COMMON_VECTOR_RESERVE(report->spans, report->span_capacity, report->span_count + 1, "stacks of calls") ||
	    common_hash_map_put(&report->by_stack, key, report->span_count))
		return NULL;
	report->spans[report->span_count] = (struct analysis_report_span){.program = report->program};
	return &report->spans[report->span_count++];
}

/* Finds or adds the row's span on the current stack. */
static inline struct analysis_report_span *span_of(struct analysis_report *report,
						   const struct analysis_call_thread *thread, uint32_t row)
{
	const uint32_t stack = thread->stack->number;

	return __builtin_expect(!stack, 1) ? &report->rows[row].span : span_of_stack(report, stack, row);
}

/* Adds an outermost call to the row's total. Rows of threads and processes have no totals but their self values. */
static inline void add_total(const struct analysis_report *report, struct analysis_report_row *row,
			     struct analysis_report_span *span, uint64_t time, uint64_t instructions)
{
	if (!is_by_code(report))
		return;
	if (span->program != report->program)
		*span = (struct analysis_report_span){.active = span->active, .program = report->program};
	span->time += time;
	span->instructions += instructions;
	row->total_time += time;
	row->total_instructions += instructions;
}

static inline void add_self(struct analysis_report *report, struct analysis_report_row *row, uint64_t time,
			    uint64_t instructions)
{
	row->self_time += time;
	row->self_instructions += instructions;
	report->sum.self_time += time;
	report->sum.self_instructions += instructions;
	if (is_by_code(report))
		return;
	row->total_time += time;
	row->total_instructions += instructions;
}

static int report_enter(void *context, struct analysis_call_thread *thread, struct analysis_frame *frame)
{
	struct analysis_report *report = context;
	uint32_t row = report->row;
	const int status = is_by_code(report) ? find_row(report, frame->function, &row) : 0;
	struct analysis_report_span *span = status == 0 ? span_of(report, thread, row) : NULL;

	if (!span)
		return status < 0 ? status : PTL_NO_MEMORY;
	frame->user = row;
	report->rows[row].calls += !(frame->flags & ANALYSIS_CALL_INFERRED);
	span->active++;
	return 0;
}

/*
 * A frame was found below all frames of the stack. The row's calls on this stack so far lie within the frame, so their
 * totals are subtracted.
 */
static int report_below(void *context, struct analysis_call_thread *thread, struct analysis_frame *frame)
{
	struct analysis_report *report = context;
	const int status = report_enter(context, thread, frame);
	struct analysis_report_row *row = &report->rows[frame->user];
	struct analysis_report_span *span = status == 0 ? span_of(report, thread, (uint32_t)frame->user) : NULL;

	if (!span)
		return status < 0 ? status : PTL_NO_MEMORY;
	if (!is_by_code(report) || span->program != report->program)
		return 0;
	row->total_time -= span->time;
	row->total_instructions -= span->instructions;
	span->time = span->instructions = 0;
	return 0;
}

static int begin_program(void *context, struct analysis_call_thread *thread)
{
	(void)thread;
	forget_stacks(context);
	return 0;
}

static int rename_call(void *context, struct analysis_call_thread *thread, struct analysis_frame *frame)
{
	struct analysis_report *report = context;
	struct analysis_report_span *span = span_of(report, thread, (uint32_t)frame->user);

	if (!span)
		return PTL_NO_MEMORY;
	report->rows[frame->user].calls -= !(frame->flags & ANALYSIS_CALL_INFERRED);
	span->active--;
	return report_enter(context, thread, frame);
}

static int report_leave(void *context, struct analysis_call_thread *thread, struct analysis_frame *frame)
{
	struct analysis_report *report = context;
	struct analysis_report_row *row = &report->rows[frame->user];
	const uint64_t self_time = frame->time > frame->child_time ? frame->time - frame->child_time : 0;
	const uint64_t self_instructions = frame->instructions - frame->child_instructions;
	struct analysis_report_span *span = span_of(report, thread, (uint32_t)frame->user);

	if (!span)
		return PTL_NO_MEMORY;
	add_self(report, row, self_time, self_instructions);
	report->timed |= frame->start != 0;
	if (!--span->active)
		add_total(report, row, span, frame->time, frame->instructions);
	return 0;
}

static int take_leaf(void *context, struct analysis_call_thread *thread, struct analysis_frame *caller,
		     const struct analysis_transfer *leaf)
{
	struct analysis_report *report = context;
	struct analysis_report_row *row;
	uint32_t number = report->row;
	const int status = is_by_code(report) ? find_row(report, leaf->function, &number) : 0;
	struct analysis_report_span *span = status == 0 ? span_of(report, thread, number) : NULL;

	(void)caller;
	if (!span)
		return status < 0 ? status : PTL_NO_MEMORY;
	row = &report->rows[number];
	row->calls++;
	add_self(report, row, 0, leaf->inside);
	if (!span->active)
		add_total(report, row, span, 0, leaf->inside);
	report->timed |= thread->time != 0;
	return 1;
}

/* ---- pieces -------------------------------------------------------------------------------------- */

/* Adds the totals of each row's outermost calls. Iterative: recursion could overflow for hostile depths. */
static int add_totals(struct analysis_report *report, const struct analysis_call_thread *thread,
		      const struct analysis_summary_node *nodes, struct analysis_report_node *own)
{
	uint32_t at = own[0].child;

	while (at) {
		struct analysis_report_row *row = &report->rows[own[at].row];
		struct analysis_report_span *span = span_of(report, thread, own[at].row);

		if (!span)
			return PTL_NO_MEMORY;
		if (!span->active++)
			add_total(report, row, span, own[at].time, own[at].instructions);
		if (own[at].child) {
			at = own[at].child;
			continue;
		}
		for (; at && !own[at].sibling; at = nodes[at].parent)
			span_of(report, thread, own[at].row)->active--;
		if (at)
			span_of(report, thread, own[at].row)->active--;
		at = own[at].sibling;
	}
	return 0;
}

static int add_node(struct analysis_report *report, const struct analysis_summary_node *node,
		    struct analysis_report_node *own)
{
	struct analysis_report_row *row;
	uint32_t number = report->row;
	const int status = is_by_code(report) ? find_row(report, node->function, &number) : 0;

	if (status < 0)
		return status;
	row = &report->rows[number];
	row->calls += node->calls;
	add_self(report, row, node->time, node->instructions);
	*own = (struct analysis_report_node){.time = node->time, .instructions = node->instructions, .row = number};
	return 0;
}

static int take_piece(void *context, struct analysis_call_thread *thread, struct analysis_frame *top,
		      const struct analysis_summary_node *nodes, size_t count)
{
	struct analysis_report *report = context;
	int status = COMMON_VECTOR_RESERVE(report->nodes, report->node_capacity, count, "paths of calls");
	struct analysis_report_node *own = report->nodes;

	(void)top;
	if (status < 0)
		return status;
	own[0] = (struct analysis_report_node){0};
	for (size_t i = 1; status == 0 && i < count; i++)
		status = add_node(report, &nodes[i], &own[i]);
	if (status < 0)
		return status;
	for (size_t i = count; i-- > 1;) {
		struct analysis_report_node *parent = &own[nodes[i].parent];

		own[i].sibling = parent->child;
		parent->child = (uint32_t)i;
		parent->time += own[i].time;
		parent->instructions += own[i].instructions;
	}
	report->timed |= thread->time != 0;
	return add_totals(report, thread, nodes, own);
}

/* Adds sums by function. Sums suffice only for rows of functions, or for one row of all calls. */
static int take_sums(void *context, struct analysis_call_thread *thread, const struct analysis_function_sums *sums,
		     size_t count, uint64_t first)
{
	struct analysis_report *report = context;

	for (size_t i = 0; i < count; i++) {
		const uint64_t self_time = sums[i].time +
					   ((sums[i].first & ANALYSIS_FIRST_OWN) == ANALYSIS_FIRST_OWN ? first : 0);
		const uint64_t all_time = sums[i].all_time + (sums[i].first ? first : 0);
		struct analysis_report_row *row;
		uint32_t number = report->row;
		const int status = is_by_code(report) ? find_row(report, sums[i].function, &number) : 0;
		struct analysis_report_span *span = status == 0 ? span_of(report, thread, number) : NULL;

		if (!span)
			return status < 0 ? status : PTL_NO_MEMORY;
		row = &report->rows[number];
		row->calls += sums[i].calls;
		add_self(report, row, self_time, sums[i].instructions);
		if (!span->active)
			add_total(report, row, span, all_time, sums[i].all_instructions);
	}
	report->timed |= thread->time != 0;
	return 0;
}

struct analysis_call_observer analysis_report_observer_of(struct analysis_report *report)
{
	struct analysis_call_observer observer = analysis_report_observer;

	observer.context = report;
	/* Sums by function would count calls within other calls of the same image twice. */
	if (report->by != ANALYSIS_REPORT_IMAGE)
		observer.sums = take_sums;
	return observer;
}

const struct analysis_call_observer analysis_report_observer = {
	.begin = report_begin_thread,
	.enter = report_enter,
	.leaf = take_leaf,
	.piece = take_piece,
	.rename = rename_call,
	.leave = report_leave,
	.below = report_below,
	.exec = begin_program,
};

void analysis_report_free(struct analysis_report *report)
{
	for (size_t i = 0; i < report->count; i++)
		free(report->rows[i].name);
	free(report->rows);
	free(report->by_function);
	free(report->nodes);
	common_byte_map_free(&report->by_name);
	common_hash_map_free(&report->by_stack);
	free(report->spans);
	flow_sources_close(report->sources);
}

/* ---- sorting ------------------------------------------------------------------------------------- */

const char *const analysis_report_orders[] = {
	"self", "total", "self-time", "total-time", "self-instructions", "total-instructions", "calls", "name", NULL,
};
enum order { SELF, TOTAL, SELF_TIME, TOTAL_TIME, SELF_INSTRUCTIONS, TOTAL_INSTRUCTIONS, CALLS, NAME };

struct sorting {
	const struct analysis_report *report;
	unsigned order;
};

static uint64_t value_of(const struct sorting *sorting, const struct analysis_report_row *row)
{
	switch (sorting->order) {
	case SELF_TIME:
		return row->self_time;
	case TOTAL_TIME:
		return row->total_time;
	case SELF_INSTRUCTIONS:
		return row->self_instructions;
	case TOTAL_INSTRUCTIONS:
		return row->total_instructions;
	case CALLS:
		return row->calls;
	default:
		return 0;
	}
}

static int compare_u64(uint64_t a, uint64_t b)
{
	return a < b ? -1 : a > b;
}

static int compare_names(const struct analysis_report *report, const struct analysis_report_row *a,
			 const struct analysis_report_row *b)
{
	const struct analysis_function *left = analysis_function(report->calls->functions, a->function);
	const struct analysis_function *right = analysis_function(report->calls->functions, b->function);
	int order = strcmp(left->name, right->name);

	if (!order)
		order = strcmp(a->name ? a->name : "", b->name ? b->name : "");
	if (!order)
		order = strcmp(a->image ? a->image : "", b->image ? b->image : "");
	if (!order)
		order = compare_u64(left->address, right->address);
	if (!order)
		order = strcmp(a->file ? a->file : "", b->file ? b->file : "");
	if (!order)
		order = compare_u64(a->line, b->line);
	if (!order)
		order = compare_u64(a->process, b->process);
	return order ? order : compare_u64(a->tid, b->tid);
}

static int compare_rows(const void *a_, const void *b_, void *context)
{
	const struct sorting *sorting = context;
	const struct analysis_report_row *a = a_, *b = b_;
	const int order = -compare_u64(value_of(sorting, a), value_of(sorting, b));

	return order ? order : compare_names(sorting->report, a, b);
}

/* Whether a row is a stub whose calls were all counted for their target functions. */
static bool is_nothing(const struct analysis_report_row *row)
{
	return !row->calls && !row->total_instructions && !row->self_instructions && !row->total_time;
}

void analysis_report_sort(struct analysis_report *report, unsigned order)
{
	struct sorting sorting = {report, order};
	size_t count = 0;

	for (size_t i = 0; i < report->count; i++) {
		if (is_nothing(&report->rows[i]))
			free(report->rows[i].name);
		else
			report->rows[count++] = report->rows[i];
	}
	report->count = count;
	/* Instructions are exact, times are not. */
	if (order == SELF)
		sorting.order = SELF_INSTRUCTIONS;
	else if (order == TOTAL)
		sorting.order = TOTAL_INSTRUCTIONS;
	if (report->count)
		qsort_r(report->rows, report->count, sizeof(*report->rows), compare_rows, &sorting);
}
