/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Compares the flow of a trace with the instructions of single_step: every address of every thread, in order.
 *
 *     flow_compare [--engine NAME] [--print N] [--main] [--within RANGES] TRACE.ptl FILE.step
 *
 * Thread numbers of two runs differ. So each thread of FILE.step is paired with the unpaired thread of the trace whose
 * flow has the longest equal beginning. If SIGKILL ended a thread, one flow must be the beginning of the other.
 * --main compares only the first thread of each process; other threads must have no gaps. --within RANGES compares
 * only addresses within ranges, for programs whose further code differs in each run. Each line of the file RANGES has the
 * first address and the size in hexadecimal. --print N prints the first N
 * executed addresses of each thread instead. TRACE.ptl may also be a file of single_step, to check that a program
 * executes identically in every run.
 * Exit status: 0 equal, 1 different, 2 failed.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <ptl/flow.h>
#include <ptl/reader.h>

#include "tests/tools/step_file.h"

#define CONTEXT 12 /* addresses shown before and behind a difference */

enum { EQUAL = 0, DIFFERENT = 1, FAILED = 2 };

struct thread {
	struct step_thread head;
	uint64_t *addresses;
	size_t capacity;
	uint64_t gaps;
	uint64_t gap_at; /* instructions before the first gap */
	unsigned gap_cause;
	bool paired;
};

struct threads {
	struct thread *items;
	size_t count;
};

static int fail(const char *path, const char *why)
{
	fprintf(stderr, "flow_compare: %s: %s\n", path, why);
	return FAILED;
}

static void *resize(void *memory, size_t size)
{
	void *grown = realloc(memory, size ? size : 1);

	if (!grown) {
		fprintf(stderr, "flow_compare: no memory for %zu bytes\n", size);
		exit(FAILED);
	}
	return grown;
}

static struct thread *add_thread(struct threads *threads, struct step_thread head)
{
	threads->items = resize(threads->items, (threads->count + 1) * sizeof(*threads->items));
	threads->items[threads->count] = (struct thread){.head = head};
	return &threads->items[threads->count++];
}

static void free_threads(struct threads *threads)
{
	for (size_t i = 0; i < threads->count; i++)
		free(threads->items[i].addresses);
	free(threads->items);
}

/* ---- the two sides ----------------------------------------------------------------------- */

static int read_steps(const char *path, struct threads *steps)
{
	FILE *file = fopen(path, "rb");
	struct step_thread head;
	uint64_t magic;
	long size = 0;

	if (!file)
		return fail(path, "cannot be opened");
	if (!fseek(file, 0, SEEK_END))
		size = ftell(file);
	rewind(file);
	if (fread(&magic, sizeof(magic), 1, file) != 1 || magic != STEP_MAGIC) {
		fclose(file);
		return fail(path, "is no file of single_step");
	}
	while (fread(&head, sizeof(head), 1, file) == 1) {
		struct thread *thread = add_thread(steps, head);

		if (head.count > (uint64_t)size / 8)
			break;
		thread->addresses = resize(NULL, head.count * 8);
		if (fread(thread->addresses, 8, head.count, file) != head.count)
			break;
	}
	if (!feof(file) || ftell(file) != size) {
		fclose(file);
		return fail(path, "ends early");
	}
	fclose(file);
	return EQUAL;
}

static void add_block(struct thread *thread, const struct ptl_flow_block *block)
{
	size_t needed = thread->head.count + block->instructions;

	if (needed > thread->capacity) {
		thread->capacity = needed * 2;
		thread->addresses = resize(thread->addresses, thread->capacity * 8);
	}
	ptl_flow_block_addresses(block, thread->addresses + thread->head.count);
	thread->head.count = needed;
}

static void add_item(struct threads *threads, const struct ptl_flow_item *item)
{
	uint32_t pid = item->segment->pid, tid = item->segment->tid;
	struct thread *thread = NULL;

	for (size_t i = threads->count; i-- > 0 && !thread;)
		if (threads->items[i].head.pid == pid && threads->items[i].head.tid == tid)
			thread = &threads->items[i];
	if (!thread)
		thread = add_thread(threads, (struct step_thread){.pid = pid, .tid = tid});
	if (item->block)
		add_block(thread, item->block);
	else if (item->event->kind == PTL_FLOW_GAP && !thread->gaps++) {
		thread->gap_at = thread->head.count;
		thread->gap_cause = item->event->cause;
	}
}

static int read_flow(struct ptl_flow *flow, const char *engine, struct threads *threads)
{
	struct ptl_flow_options options = {.size = sizeof(options), .engine = engine};
	struct ptl_flow_iterator *iterator;
	const struct ptl_flow_item *item;
	int status = ptl_flow_iterator_new(flow, &options, &iterator);

	if (status < 0)
		return status;
	while ((status = ptl_flow_next(iterator, &item)) > 0)
		add_item(threads, item);
	ptl_flow_iterator_free(iterator);
	return status;
}

static bool is_step_file(const char *path)
{
	FILE *file = fopen(path, "rb");
	uint64_t magic = 0;
	bool matches = file && fread(&magic, sizeof(magic), 1, file) == 1 && magic == STEP_MAGIC;

	if (file)
		fclose(file);
	return matches;
}

static int read_trace(const char *path, const char *engine, struct threads *threads)
{
	struct ptl_trace *trace;
	struct ptl_flow *flow;
	int status;

	if (is_step_file(path))
		return read_steps(path, threads);
	status = ptl_open(path, NULL, &trace);
	if (status < 0)
		return fail(path, ptl_error_text());
	status = ptl_flow_open(trace, &flow);
	if (!status) {
		status = read_flow(flow, engine, threads);
		ptl_flow_close(flow);
	}
	if (status < 0)
		fail(path, ptl_error_text());
	ptl_close(trace);
	return status < 0 ? FAILED : EQUAL;
}

/* ---- comparison -------------------------------------------------------------------------- */

static uint64_t equal_beginning(const struct thread *a, const struct thread *b)
{
	uint64_t count = a->head.count < b->head.count ? a->head.count : b->head.count, i = 0;

	while (i < count && a->addresses[i] == b->addresses[i])
		i++;
	return i;
}

/* Returns the best-matching thread of the trace, or NULL if all are paired. */
static struct thread *find_pair(struct threads *flows, const struct thread *step)
{
	struct thread *best = NULL;
	uint64_t longest = 0, distance = 0;

	for (size_t i = 0; i < flows->count; i++) {
		struct thread *flow = &flows->items[i];
		uint64_t equal = flow->paired ? 0 : equal_beginning(flow, step);
		uint64_t off = flow->head.count > step->head.count ? flow->head.count - step->head.count
								   : step->head.count - flow->head.count;

		if (flow->paired || (best && (equal < longest || (equal == longest && off >= distance))))
			continue;
		best = flow;
		longest = equal;
		distance = off;
	}
	return best;
}

static void show_addresses(const char *title, const struct thread *thread, uint64_t first, uint64_t end)
{
	printf("%s\n", title);
	for (uint64_t i = first; i < end && i < thread->head.count; i++)
		printf("    %#" PRIx64 "\n", thread->addresses[i]);
	if (end >= thread->head.count)
		printf("    (end)\n");
}

static bool show_difference(const struct thread *step, const struct thread *flow, uint64_t equal)
{
	printf("thread %u of process %u (%" PRIu64 " instructions), decoded thread %u of process %u (%" PRIu64 "): "
	       "different after %" PRIu64 " equal instructions\n",
	       step->head.tid, step->head.pid, step->head.count, flow->head.tid, flow->head.pid, flow->head.count,
	       equal);
	if (flow->gaps)
		printf("the decoded flow has %" PRIu64 " gaps, the first (%s) after %" PRIu64 " instructions\n",
		       flow->gaps, ptl_flow_gap_cause_name(flow->gap_cause), flow->gap_at);
	show_addresses("equal before:", step, equal > CONTEXT ? equal - CONTEXT : 0, equal);
	show_addresses("executed:", step, equal, equal + CONTEXT);
	show_addresses("decoded:", flow, equal, equal + CONTEXT);
	return false;
}

static bool compare_thread(struct threads *flows, const struct thread *step)
{
	struct thread *flow = find_pair(flows, step);
	uint64_t equal;

	if (!flow) {
		printf("thread %u of process %u: not in the trace, %" PRIu64 " instructions\n", step->head.tid,
		       step->head.pid, step->head.count);
		return false;
	}
	flow->paired = true;
	equal = equal_beginning(step, flow);
	if (step->head.killed && equal &&
	    equal == (flow->head.count < step->head.count ? flow->head.count : step->head.count))
		return !flow->gaps || show_difference(step, flow, flow->gap_at);
	if (equal < step->head.count || (!step->head.cut && flow->head.count > equal))
		return show_difference(step, flow, equal);
	if (flow->gaps && (!step->head.cut || flow->gap_at < equal))
		return show_difference(step, flow, flow->gap_at);
	return true;
}

static int by_count(const void *a, const void *b)
{
	const struct thread *x = a, *y = b;

	if (x->head.count != y->head.count)
		return x->head.count > y->head.count ? -1 : 1;
	return x->head.tid < y->head.tid ? -1 : x->head.tid > y->head.tid;
}

static int compare(struct threads *steps, struct threads *flows)
{
	uint64_t instructions = 0;
	bool equal = true, cut = false;

	qsort(steps->items, steps->count, sizeof(*steps->items), by_count);
	for (size_t i = 0; i < steps->count; i++) {
		instructions += steps->items[i].head.count;
		cut = cut || steps->items[i].head.cut;
		if (steps->items[i].head.count)
			equal = compare_thread(flows, &steps->items[i]) && equal;
	}
	for (size_t i = 0; i < flows->count && !cut; i++) {
		const struct thread *flow = &flows->items[i];

		if (flow->paired || !flow->head.count)
			continue;
		printf("thread %u of process %u: decoded, but not executed, %" PRIu64 " instructions\n", flow->head.tid,
		       flow->head.pid, flow->head.count);
		equal = false;
	}
	if (equal)
		printf("equal: %" PRIu64 " instructions of %zu threads%s\n", instructions, steps->count,
		       cut ? ", which --most cut off" : "");
	return equal ? EQUAL : DIFFERENT;
}

/* Keeps the first thread of each process. Returns whether the dropped threads had no gaps. */
static bool keep_main(struct threads *threads)
{
	size_t count = 0;
	bool whole = true;

	for (size_t i = 0; i < threads->count; i++) {
		struct thread *thread = &threads->items[i];

		if (thread->head.tid == thread->head.pid) {
			threads->items[count++] = *thread;
			continue;
		}
		if (thread->gaps)
			printf("thread %u of process %u: %" PRIu64 " gaps, the first (%s) after %" PRIu64
			       " instructions\n",
			       thread->head.tid, thread->head.pid, thread->gaps,
			       ptl_flow_gap_cause_name(thread->gap_cause), thread->gap_at);
		whole = whole && !thread->gaps;
		free(thread->addresses);
	}
	threads->count = count;
	return whole;
}

struct range {
	uint64_t first, size;
};

static int read_ranges(const char *path, struct range **ranges, size_t *count)
{
	FILE *file = fopen(path, "r");
	struct range range;
	int fields;

	*ranges = NULL;
	*count = 0;
	if (!file)
		return fail(path, "cannot be opened");
	while ((fields = fscanf(file, "%" SCNx64 " %" SCNx64, &range.first, &range.size)) == 2) {
		*ranges = resize(*ranges, (*count + 1) * sizeof(**ranges));
		(*ranges)[(*count)++] = range;
	}
	fclose(file);
	return fields == EOF && *count ? EQUAL : fail(path, "has no ranges");
}

/* Drops all addresses outside of the ranges. Returns whether no thread has a gap. */
static bool keep_ranges(struct threads *threads, const struct range *ranges, size_t range_count)
{
	bool whole = true;

	for (size_t i = 0; i < threads->count; i++) {
		struct thread *thread = &threads->items[i];
		uint64_t count = 0;

		for (uint64_t j = 0; j < thread->head.count; j++)
			for (size_t k = 0; k < range_count; k++)
				if (thread->addresses[j] - ranges[k].first < ranges[k].size) {
					thread->addresses[count++] = thread->addresses[j];
					break;
				}
		thread->head.count = count;
		if (thread->gaps)
			printf("thread %u of process %u: %" PRIu64 " gaps, the first is %s\n", thread->head.tid,
			       thread->head.pid, thread->gaps, ptl_flow_gap_cause_name(thread->gap_cause));
		whole = whole && !thread->gaps;
	}
	return whole;
}

static void print_steps(const struct threads *steps, uint64_t most)
{
	for (size_t i = 0; i < steps->count; i++) {
		const struct thread *step = &steps->items[i];

		printf("thread %u of process %u: %" PRIu64 " instructions%s\n", step->head.tid, step->head.pid,
		       step->head.count, step->head.cut ? ", cut off" : "");
		for (uint64_t j = 0; j < most && j < step->head.count; j++)
			printf("    %#" PRIx64 "\n", step->addresses[j]);
	}
}

int main(int argc, char **argv)
{
	struct threads steps = {0}, flows = {0};
	const char *engine = NULL, *print = NULL, *within = NULL;
	struct range *ranges = NULL;
	size_t range_count = 0;
	bool main_only = false, whole = true;
	int at = 1, status;

	for (; at + 1 < argc && argv[at][0] == '-'; at += 2) {
		if (!strcmp(argv[at], "--main")) {
			main_only = true;
			at--;
		} else if (!strcmp(argv[at], "--engine"))
			engine = argv[at + 1];
		else if (!strcmp(argv[at], "--print"))
			print = argv[at + 1];
		else if (!strcmp(argv[at], "--within"))
			within = argv[at + 1];
		else
			break;
	}
	if (argc - at != (print ? 1 : 2)) {
		fprintf(stderr, "usage: flow_compare [--engine NAME] [--main] [--within RANGES] TRACE.ptl FILE.step\n"
				"       flow_compare --print N FILE.step\n");
		return FAILED;
	}
	status = read_steps(argv[argc - 1], &steps);
	if (!status && print)
		print_steps(&steps, strtoull(print, NULL, 10));
	else if (!status)
		status = read_trace(argv[at], engine, &flows);
	if (!status && main_only) {
		keep_main(&steps);
		whole = keep_main(&flows);
	}
	if (!status && within)
		status = read_ranges(within, &ranges, &range_count);
	if (!status && within) {
		keep_ranges(&steps, ranges, range_count);
		whole = keep_ranges(&flows, ranges, range_count) && whole;
	}
	free(ranges);
	if (!status && !print)
		status = compare(&steps, &flows);
	if (!status && !whole)
		status = DIFFERENT;
	free_threads(&steps);
	free_threads(&flows);
	return status;
}
