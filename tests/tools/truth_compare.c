/* SPDX-License-Identifier: BSD-2-Clause */
/* Holds a decoded trace against what was really executed, instruction by instruction. */
#include <ptl/reader.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/bytes.h"
#include "common/error.h"
#include "common/hash_map.h"
#include "flow/view/address_log.h"
#include "flow/view/view.h"
#include "record/capture/truth.h"

#define CONTEXT 12 /* addresses shown before and behind a difference */
#define READ_WORDS 65536

enum { EQUAL = 0, DIFFERENT = 1, FAILED = 2 };

/* ---- truth: definitions of blocks -------------------------------------------------------- */

/* The blocks of one program. */
struct definitions {
	uint32_t stream;
	struct common_hash_map blocks; /* number: index in addresses, where the count is, then the addresses */
	uint64_t *addresses;
	size_t count, capacity;
	struct definitions *next;
};

struct truth {
	struct ptl_trace *trace;
	struct definitions *programs;
};

static int push(struct definitions *program, uint64_t value)
{
	if (program->count == program->capacity) {
		size_t capacity = program->capacity ? program->capacity * 2 : 4096;
		uint64_t *grown = realloc(program->addresses, capacity * sizeof(*grown));

		if (!grown)
			return common_fail_memory("definitions", capacity * sizeof(*grown));
		program->addresses = grown;
		program->capacity = capacity;
	}
	program->addresses[program->count++] = value;
	return 0;
}

static int read_stream(struct ptl_trace *trace, uint32_t stream, uint64_t limit, uint8_t **data, size_t *size)
{
	size_t got = 1;
	uint64_t hole;
	int status = 0;

	*size = 0;
	*data = malloc(limit ? limit : 1);
	if (!*data)
		return common_fail_memory("definitions", limit);
	while (!status && *size < limit && got) {
		status = ptl_stream_read(trace, stream, *size, *data + *size, limit - *size, &got, &hole);
		*size += status ? 0 : got;
	}
	if (!status && *size < limit)
		status = common_fail(PTL_TRUNCATED, "stream %u of the truth has a hole", stream);
	return status;
}

/* Adds the definitions in the first limit bytes of a stream, those that it inherits first. */
static int add_definitions(struct truth *truth, struct definitions *program, uint32_t id, uint64_t limit,
			   unsigned depth)
{
	const struct ptl_stream *stream = ptl_stream_find(truth->trace, id);
	struct common_cursor cursor;
	uint8_t *data;
	size_t size;
	int status;

	if (!stream || limit > stream->bytes || depth > 10000)
		return common_fail(PTL_CORRUPT, "there are no definitions %u", id);
	status = read_stream(truth->trace, id, limit, &data, &size);
	cursor = common_cursor(data, size);
	while (!status && common_cursor_left(&cursor)) {
		uint32_t number = common_read32(&cursor), count = common_read32(&cursor);

		if (number == RECORD_TRUTH_INHERIT) {
			status = add_definitions(truth, program, count, common_read64(&cursor), depth + 1);
			continue;
		}
		if (count > common_cursor_left(&cursor) / 8)
			status = common_fail(PTL_CORRUPT, "definitions %u end within a block", id);
		if (!status)
			status = common_hash_map_put(&program->blocks, number, program->count);
		if (!status)
			status = push(program, count);
		for (uint32_t i = 0; !status && i < count; i++)
			status = push(program, common_read64(&cursor));
	}
	free(data);
	return status;
}

static int find_program(struct truth *truth, uint32_t stream, struct definitions **found)
{
	struct definitions *program = truth->programs;
	const struct ptl_stream *info = ptl_stream_find(truth->trace, stream);

	while (program && program->stream != stream)
		program = program->next;
	*found = program;
	if (program)
		return 0;
	if (!info)
		return common_fail(PTL_CORRUPT, "there are no definitions %u", stream);
	program = calloc(1, sizeof(*program));
	if (!program)
		return common_fail_memory("definitions", sizeof(*program));
	program->stream = stream;
	program->next = truth->programs;
	truth->programs = program;
	*found = program;
	return add_definitions(truth, program, stream, info->bytes, 0);
}

/* ---- truth: execution -------------------------------------------------------------------- */

/* A thread's executed instructions, read as they are needed. */
struct thread {
	uint32_t pid, tid;
	uint32_t *streams; /* ids, ascending */
	size_t stream_count, next_stream;
	uint32_t stream; /* at hand */
	uint64_t offset;
	struct definitions *program;
	uint32_t *words;
	size_t word, word_count;
	const uint64_t *addresses; /* the rest of the block at hand */
	size_t left;
	uint64_t position; /* instructions compared so far, all equal */
	uint64_t recent[CONTEXT];
};

static int read_words(struct truth *truth, struct thread *thread)
{
	uint8_t *bytes = (uint8_t *)thread->words;
	uint64_t hole;
	size_t got;
	int status = ptl_stream_read(truth->trace, thread->stream, thread->offset, bytes, READ_WORDS * sizeof(uint32_t),
				     &got, &hole);

	if (status < 0)
		return status;
	if (hole)
		return common_fail(PTL_TRUNCATED, "stream %u of the truth has a hole", thread->stream);
	/* A word may lie across two reads. */
	thread->word_count = got / sizeof(uint32_t);
	thread->offset += thread->word_count * sizeof(uint32_t);
	thread->word = 0;
	for (size_t i = 0; i < thread->word_count; i++)
		thread->words[i] = common_load32(bytes + i * sizeof(uint32_t));
	return 0;
}

/* The next word of any of the thread's streams; 1 at the end. */
static int next_word(struct truth *truth, struct thread *thread, uint32_t *word)
{
	for (;;) {
		bool starts = false;
		int status = 0;

		if (thread->word == thread->word_count && thread->next_stream)
			status = read_words(truth, thread);
		if (!status && thread->word == thread->word_count) {
			if (thread->next_stream == thread->stream_count)
				return 1;
			thread->stream = thread->streams[thread->next_stream++];
			thread->offset = 0;
			status = read_words(truth, thread);
			starts = true;
		}
		if (!status && starts && thread->word < thread->word_count)
			status = find_program(truth, thread->words[thread->word++], &thread->program);
		if (status < 0)
			return status;
		if (thread->word < thread->word_count) {
			*word = thread->words[thread->word++];
			return 0;
		}
	}
}

/* Sees to it that addresses are at hand; 1 at the end. */
static int next_block(struct truth *truth, struct thread *thread)
{
	while (!thread->left) {
		uint32_t word, part = 0;
		const uint64_t *found;
		int status = next_word(truth, thread, &word);
		bool partial = word & RECORD_TRUTH_PARTIAL;

		if (!status && partial)
			status = next_word(truth, thread, &part);
		if (status)
			return status;
		word &= ~RECORD_TRUTH_PARTIAL;
		found = common_hash_map_get(&thread->program->blocks, word);
		if (!found)
			return common_fail(PTL_CORRUPT, "block %u of the truth is not defined", word);
		thread->left = thread->program->addresses[*found];
		thread->addresses = thread->program->addresses + *found + 1;
		if (partial && part < thread->left)
			thread->left = part;
	}
	return 0;
}

/* ---- comparison -------------------------------------------------------------------------- */

struct comparison {
	struct truth truth;
	const struct flow_timeline *timeline;
	struct thread *threads;
	size_t thread_count;
	struct common_hash_map by_id; /* pid << 32 | tid */
	const struct flow_segment *segment;
	struct thread *thread;
	uint64_t gaps;
	bool different;
};

static void show_address(const struct comparison *comparison, const char *prefix, uint64_t address)
{
	const struct flow_segment *segment = comparison->segment;
	struct flow_place place;

	printf("%s%#llx", prefix, (unsigned long long)address);
	if (segment && segment->process != FLOW_NONE &&
	    flow_timeline_find(comparison->timeline, segment->process, segment->code_time, address, &place)) {
		if (place.image != FLOW_NONE) {
			const struct ptl_image_event *image =
				&flow_timeline_image(comparison->timeline, place.image)->data;

			printf("  %s+%#llx", image->file_name,
			       (unsigned long long)(address - image->base + image->file_offset));
		}
		if (place.code_event)
			printf("  (code event)");
		else if (!place.has_code)
			printf("  (no code)");
	} else {
		printf("  (nothing mapped)");
	}
	printf("\n");
}

static void show_thread(const struct comparison *comparison, const char *text)
{
	const struct thread *thread = comparison->thread;
	const struct flow_segment *segment = comparison->segment;

	printf("process %u thread %u: %s after %llu equal instructions\n", thread->pid, thread->tid, text,
	       (unsigned long long)thread->position);
	if (segment)
		printf("segment of stream %u at offset %llu, %llu bytes, time %llu, code of time "
		       "%llu\n",
		       segment->stream, (unsigned long long)segment->offset, (unsigned long long)segment->size,
		       (unsigned long long)segment->time, (unsigned long long)segment->code_time);
	printf("equal before:\n");
	for (uint64_t i = thread->position > CONTEXT ? thread->position - CONTEXT : 0; i < thread->position; i++)
		show_address(comparison, "    ", thread->recent[i % CONTEXT]);
}

/* What the truth goes on with. Uses the thread up. */
static void show_truth(struct comparison *comparison)
{
	struct thread *thread = comparison->thread;

	printf("executed:\n");
	for (int i = 0; i < CONTEXT && !next_block(&comparison->truth, thread); i++) {
		show_address(comparison, "    ", *thread->addresses++);
		thread->left--;
	}
}

static void show_difference(struct comparison *comparison, const uint64_t *addresses, size_t count)
{
	comparison->different = true;
	show_thread(comparison, "the flows differ");
	show_truth(comparison);
	printf("decoded:\n");
	for (size_t i = 0; i < count && i < CONTEXT; i++)
		show_address(comparison, "    ", addresses[i]);
}

static void remember(struct thread *thread, const uint64_t *addresses, size_t count)
{
	size_t i = count > CONTEXT ? count - CONTEXT : 0;

	thread->position += i;
	for (; i < count; i++)
		thread->recent[thread->position++ % CONTEXT] = addresses[i];
}

static int compare_addresses(void *context, const uint64_t *addresses, size_t count)
{
	struct comparison *comparison = context;
	struct thread *thread = comparison->thread;

	while (count) {
		int status = next_block(&comparison->truth, thread);
		size_t part = thread->left < count ? thread->left : count, equal = 0;

		if (status < 0)
			return status;
		if (!status && !memcmp(thread->addresses, addresses, part * sizeof(*addresses)))
			equal = part;
		while (!status && equal < part && thread->addresses[equal] == addresses[equal])
			equal++;
		remember(thread, addresses, equal);
		thread->addresses += equal;
		thread->left -= equal;
		addresses += equal;
		count -= equal;
		if (status || equal < part) {
			show_difference(comparison, addresses, count);
			return PTL_CANCELLED;
		}
	}
	return 0;
}

/* ---- the view ---------------------------------------------------------------------------- */

struct partial {
	struct flow_address_log log;
	uint64_t gaps;
	struct flow_event gap; /* the first */
};

static int begin(void *context, const struct flow_segment *segment, void **partial)
{
	(void)context;
	(void)segment;
	*partial = calloc(1, sizeof(struct partial));
	return *partial ? 0 : common_fail_memory("partial result", sizeof(struct partial));
}

static void drop(void *context, void *partial_)
{
	struct partial *partial = partial_;

	(void)context;
	flow_address_log_free(&partial->log);
	free(partial);
}

static int consume(void *context, void *partial_, const struct flow_segment *segment, const struct flow_batch *batch)
{
	struct partial *partial = partial_;

	(void)context;
	(void)segment;
	for (size_t i = 0; i < batch->event_count; i++) {
		if (batch->events[i].kind == FLOW_GAP && !partial->gaps++)
			partial->gap = batch->events[i];
	}
	return flow_address_log_add(&partial->log, batch);
}

static void show_gap(struct comparison *comparison, const struct flow_event *gap)
{
	comparison->different = true;
	show_thread(comparison, "the decoded flow has a gap");
	printf("gap: %s at offset %llu, %llu bytes skipped\n", flow_gap_cause_name(gap->cause),
	       (unsigned long long)gap->offset, (unsigned long long)gap->size);
	if (gap->flags & FLOW_EVENT_HAS_FROM)
		show_address(comparison, "    at ", gap->from);
	show_truth(comparison);
}

static int emit(void *context, const struct flow_segment *segment, void *partial_, uint64_t horizon)
{
	struct comparison *comparison = context;
	struct partial *partial = partial_;
	const uint64_t *found = common_hash_map_get(&comparison->by_id, (uint64_t)segment->pid << 32 | segment->tid);
	int status = 0;

	(void)horizon;
	comparison->segment = segment;
	comparison->thread = found ? &comparison->threads[*found] : NULL;
	if (comparison->thread) {
		status = flow_address_log_walk(&partial->log, compare_addresses, comparison);
		if (!status && partial->gaps) {
			show_gap(comparison, &partial->gap);
			status = PTL_CANCELLED;
		}
	} else if (partial->log.count) {
		printf("process %u thread %u: decoded, but not in the truth\n", segment->pid, segment->tid);
		comparison->different = true;
		status = PTL_CANCELLED;
	}
	comparison->gaps += partial->gaps;
	drop(context, partial);
	return status;
}

/* ---- set-up ------------------------------------------------------------------------------ */

static int compare_ids(const void *a, const void *b)
{
	return *(const uint32_t *)a < *(const uint32_t *)b ? -1 : 1;
}

static int add_execution(struct comparison *comparison, const struct ptl_stream *stream)
{
	uint64_t key = (uint64_t)stream->pid << 32 | stream->tid;
	const uint64_t *found = common_hash_map_get(&comparison->by_id, key);
	size_t index = found ? *found : comparison->thread_count;
	struct thread *thread;
	uint32_t *streams;

	if (!found) {
		int status = common_hash_map_put(&comparison->by_id, key, index);

		thread = realloc(comparison->threads, (index + 1) * sizeof(*thread));
		if (status < 0 || !thread)
			return common_fail_memory("threads", (index + 1) * sizeof(*thread));
		comparison->threads = thread;
		thread[index] = (struct thread){.pid = stream->pid, .tid = stream->tid};
		thread[index].words = malloc(READ_WORDS * sizeof(uint32_t));
		if (!thread[index].words)
			return common_fail_memory("words", READ_WORDS * sizeof(uint32_t));
		comparison->thread_count++;
	}
	thread = &comparison->threads[index];
	streams = realloc(thread->streams, (thread->stream_count + 1) * sizeof(*streams));
	if (!streams)
		return common_fail_memory("streams", (thread->stream_count + 1) * sizeof(*streams));
	thread->streams = streams;
	streams[thread->stream_count++] = stream->id;
	qsort(streams, thread->stream_count, sizeof(*streams), compare_ids);
	return 0;
}

static int list_threads(struct comparison *comparison)
{
	struct ptl_trace *trace = comparison->truth.trace;

	for (size_t i = 0; i < ptl_stream_count(trace); i++) {
		const struct ptl_stream *stream = ptl_stream_at(trace, i);
		int status;

		if (stream->kind != PTL_KIND_TRUTH || stream->tid == PTL_NO_ID)
			continue;
		status = add_execution(comparison, stream);
		if (status < 0)
			return status;
	}
	return comparison->thread_count ? 0 : common_fail(PTL_NOT_OURS, "the truth has no threads");
}

/* All that was decoded was equal; was all decoded? */
static int check_ends(struct comparison *comparison, uint64_t *instructions)
{
	comparison->segment = NULL;
	*instructions = 0;
	for (size_t i = 0; i < comparison->thread_count; i++) {
		int status = next_block(&comparison->truth, &comparison->threads[i]);

		if (status < 0)
			return status;
		comparison->thread = &comparison->threads[i];
		*instructions += comparison->thread->position;
		if (status)
			continue;
		comparison->different = true;
		show_thread(comparison, "the decoded flow ends");
		show_truth(comparison);
	}
	return 0;
}

static int compare(struct comparison *comparison, struct ptl_trace *trace, const struct flow_view_options *options,
		   uint64_t *instructions)
{
	const struct flow_view view = {
		.context = comparison,
		.begin = begin,
		.consume = consume,
		.emit = emit,
		.drop = drop,
	};
	struct flow_timeline *timeline;
	int status = flow_timeline_build(trace, &timeline);

	if (status < 0)
		return status;
	comparison->timeline = timeline;
	status = list_threads(comparison);
	if (!status)
		status = flow_view_run(trace, timeline, options, &view);
	if (!status)
		status = check_ends(comparison, instructions);
	flow_timeline_free(timeline);
	return comparison->different ? 0 : status;
}

static void free_comparison(struct comparison *comparison)
{
	while (comparison->truth.programs) {
		struct definitions *next = comparison->truth.programs->next;

		common_hash_map_free(&comparison->truth.programs->blocks);
		free(comparison->truth.programs->addresses);
		free(comparison->truth.programs);
		comparison->truth.programs = next;
	}
	for (size_t i = 0; i < comparison->thread_count; i++) {
		free(comparison->threads[i].streams);
		free(comparison->threads[i].words);
	}
	free(comparison->threads);
	common_hash_map_free(&comparison->by_id);
}

static int run(const char *trace_path, const char *truth_path, const struct flow_view_options *options)
{
	struct comparison comparison = {0};
	struct ptl_trace *trace = NULL;
	uint64_t instructions = 0;
	int status = ptl_open(trace_path, NULL, &trace);

	if (!status)
		status = ptl_open(truth_path, NULL, &comparison.truth.trace);
	if (!status)
		status = compare(&comparison, trace, options, &instructions);
	if (status < 0)
		fprintf(stderr, "truth_compare: %s\n", ptl_error_text());
	else if (!comparison.different)
		printf("equal: %llu instructions of %zu threads\n", (unsigned long long)instructions,
		       comparison.thread_count);
	free_comparison(&comparison);
	ptl_close(comparison.truth.trace);
	ptl_close(trace);
	if (status < 0)
		return FAILED;
	return comparison.different ? DIFFERENT : EQUAL;
}

int main(int argc, char **argv)
{
	struct flow_view_options options = {0};
	int at = 1;

	for (; at + 1 < argc && argv[at][0] == '-'; at += 2) {
		if (!strcmp(argv[at], "--engine"))
			options.engine = flow_engine_find(argv[at + 1]);
		else if (!strcmp(argv[at], "-j"))
			options.threads = (unsigned)atoi(argv[at + 1]);
		else
			break;
		if (!options.engine && !options.threads)
			break;
	}
	if (argc - at != 2) {
		fprintf(stderr, "usage: truth_compare [--engine NAME] [-j THREADS] TRACE TRUTH\n"
				"Exit status: 0 every instruction is equal, 1 something differs, 2 "
				"failed.\n");
		return FAILED;
	}
	return run(argv[at], argv[at + 1], &options);
}
