/* SPDX-License-Identifier: BSD-2-Clause */
/* PTL's own engine behind the interface of all engines: docs/engine.md says how it works. */
#include <stdlib.h>

#include "common/error.h"
#include "flow/code/code_change.h"
#include "flow/engine/engine.h"
#include "flow/native/decoder.h"
#include "flow/native/interleaved.h"

struct native_engine {
	struct native_decoder decoder;
	struct native_interleaved *interleaved; /* NULL: no segment has been counted yet */
	struct flow_code *code;
	struct flow_version version;
	uint32_t process;
	bool selected;
	const struct flow_engine_input *input; /* of the segment at hand, where threads take turns in it */
};

static void find(void *context, uint64_t ip, struct flow_code_range *range)
{
	const struct native_engine *engine = context;

	flow_code_range(engine->code, engine->version.root, ip, range);
}

/* What of the code differs from the version selected before. */
struct changes {
	struct flow_code_span spans[FLOW_CODE_CHANGES];
	size_t count; /* 0: nothing */
	bool all;     /* too many to list */
};

/* Selects the code of a process as of time; *changes have to be reported to the decoder. */
static void select_version(struct native_engine *engine, uint32_t process, uint64_t time, struct changes *changes)
{
	const flow_root root = engine->version.root;

	flow_timeline_version(flow_code_timeline(engine->code), process, time, &engine->version);
	changes->count = flow_code_changes(engine->code, root, engine->version.root, changes->spans);
	/* What two processes do not share is no hint at what will change. */
	changes->all = changes->count > FLOW_CODE_CHANGES || (changes->count && process != engine->process);
	engine->process = process;
}

/* Before a segment, while none is being decoded. */
static void select_before(struct native_engine *engine, const struct flow_segment *segment)
{
	struct native_code *code = engine->decoder.code;
	struct changes changes;

	select_version(engine, segment->process, segment->code_time, &changes);
	if (changes.all)
		native_code_clear(code);
	else if (changes.count)
		native_code_change(code, changes.spans, changes.count);
	engine->selected = true;
}

/*
 * When the code changes within a segment. The software source begins a segment at each change that it records, so
 * only what a rewriting has added changes by time.
 */
static uint64_t changes_at(const struct native_engine *engine)
{
	return engine->decoder.machine.software ? engine->version.until_injected : engine->version.until;
}

/*
 * With the software source, packets of what was executed before a change may come behind it: code that is removed or
 * replaced stays to the end of the segment.
 */
static uint64_t recode(void *context, uint64_t time)
{
	struct native_engine *engine = context;
	struct flow_version version;
	struct changes changes;

	flow_timeline_version(flow_code_timeline(engine->code), engine->process, time, &version);
	if (engine->decoder.machine.software && !flow_code_keeps(engine->code, engine->version.root, version.root))
		return version.until_injected;
	select_version(engine, engine->process, time, &changes);
	if (changes.all)
		native_decoder_clear(&engine->decoder);
	else if (changes.count)
		native_decoder_change(&engine->decoder, changes.spans, changes.count);
	return changes_at(engine);
}

/* Flow leaves the kernel: for the process of whichever thread has the CPU by now. */
static uint64_t enter(void *context, uint64_t time)
{
	struct native_engine *engine = context;
	const struct flow_engine_input *input = engine->input;
	const uint32_t process = input->process(input->process_context, time);
	struct changes changes;

	select_version(engine, process, time, &changes);
	if (changes.all)
		native_decoder_clear(&engine->decoder);
	else if (changes.count)
		native_decoder_change(&engine->decoder, changes.spans, changes.count);
	return changes_at(engine);
}

static int open_engine(struct flow_code *code, const struct ptl_machine *machine, struct flow_engine **engine)
{
	struct native_engine *opened = calloc(1, sizeof(*opened));
	int status;

	if (!opened)
		return common_fail_memory("flow engine", sizeof(*opened));
	opened->code = code;
	status = native_decoder_open(&opened->decoder, (struct native_source){find, opened}, machine);
	if (status < 0) {
		free(opened);
		return status;
	}
	*engine = (struct flow_engine *)opened;
	return 0;
}

static int decode(struct flow_engine *base, const struct flow_engine_input *input, const struct flow_sink *sink)
{
	struct native_engine *engine = (struct native_engine *)base;
	struct native_decoder *decoder = &engine->decoder;

	select_before(engine, input->segment);
	engine->input = input;
	decoder->recode.select = recode;
	decoder->recode.enter = input->process ? enter : NULL;
	decoder->recode.entered = false;
	decoder->recode.context = engine;
	decoder->recode.until = changes_at(engine);
	return native_decoder_run(decoder, input, sink);
}

/* ---- counting ---------------------------------------------------------------------------------------------- */

/* Whether the selected version is valid to the end of the segment. */
static bool keeps_its_code(const struct native_engine *engine, const struct flow_segment *segment)
{
	const uint64_t until = changes_at(engine);

	return until == FLOW_TIME_END ||
	       (engine->decoder.machine.software && segment->end_time && until > segment->end_time);
}

/* Whether the segment has exactly the code that is selected, so that it can be decoded while others are. */
static bool fits(struct native_engine *engine, const struct flow_segment *segment)
{
	const struct flow_version version = engine->version;
	const uint32_t process = engine->process;
	struct changes changes;

	if (!engine->selected)
		return false;
	select_version(engine, segment->process, segment->code_time, &changes);
	if (!changes.count && keeps_its_code(engine, segment))
		return true;
	engine->version = version;
	engine->process = process;
	return false;
}

/* The state of one count_segments. */
struct count {
	struct native_engine *engine;
	const struct flow_engine_feed *feed;
	struct native_interleaved *waiting; /* has other code: waits until the others are done */
	bool no_more;
};

/* Starts the next segment in a free slot; negative ends all. */
static int fill(struct count *count, unsigned place)
{
	struct native_interleaved *slot = &count->engine->interleaved[place];
	int status = count->feed->next(count->feed->context, place, &slot->input, &slot->sink);

	if (status < 0)
		return status;
	count->no_more = !status;
	if (status && fits(count->engine, slot->input.segment))
		native_interleaved_start(slot);
	else if (status)
		count->waiting = slot;
	return 0;
}

/* No slot is busy: the code can be changed. */
static int start_waiting(struct count *count)
{
	struct native_engine *engine = count->engine;
	struct native_interleaved *slot = count->waiting;
	int status;

	count->waiting = NULL;
	select_before(engine, slot->input.segment);
	native_code_trim(engine->decoder.code);
	if (keeps_its_code(engine, slot->input.segment)) {
		native_interleaved_start(slot);
		return 0;
	}
	status = decode((struct flow_engine *)engine, &slot->input, &slot->sink);
	return status < 0 ? status : count->feed->done(count->feed->context, (unsigned)(slot - engine->interleaved));
}

/* Ends segments that are done and starts others; returns how many slots are busy. */
static int serve_slots(struct count *count)
{
	int busy = 0;

	for (unsigned i = 0; i < NATIVE_INTERLEAVED; i++) {
		struct native_interleaved *slot = &count->engine->interleaved[i];
		int status = 0;

		if (native_interleaved_done(slot, &status) && !status)
			status = count->feed->done(count->feed->context, i);
		if (status)
			return status;
		if (!slot->busy && !count->waiting && !count->no_more)
			status = fill(count, i);
		if (status < 0)
			return status;
		busy += slot->busy;
	}
	return busy;
}

static int count_segments(struct flow_engine *base, const struct flow_engine_feed *feed)
{
	struct native_engine *engine = (struct native_engine *)base;
	struct count count = {.engine = engine, .feed = feed};
	int busy = 0;

	_Static_assert(NATIVE_INTERLEAVED <= FLOW_ENGINE_PLACES, "a place for each slot");
	engine->decoder.code->counters.sink = feed->counts;
	if (!engine->interleaved)
		busy = native_interleaved_open(&engine->interleaved, &engine->decoder);
	while (busy >= 0) {
		busy = serve_slots(&count);
		if (busy > 0)
			native_interleaved_count(engine->interleaved);
		else if (!busy && count.waiting)
			busy = start_waiting(&count);
		else if (!busy && count.no_more)
			return engine->decoder.code->counters.status;
	}
	for (unsigned i = 0; engine->interleaved && i < NATIVE_INTERLEAVED; i++)
		engine->interleaved[i].busy = engine->interleaved[i].counting = false;
	return busy;
}

static int flush(struct flow_engine *base)
{
	struct native_code *code = ((struct native_engine *)base)->decoder.code;

	native_tnt16_drain(code);
	return native_counters_flush(&code->counters);
}

static void close_engine(struct flow_engine *base)
{
	struct native_engine *engine = (struct native_engine *)base;

	if (!engine)
		return;
	native_interleaved_close(engine->interleaved);
	native_decoder_close(&engine->decoder);
	free(engine);
}

const struct flow_engine_class flow_engine_native = {
	.name = "native",
	.description = "PTL's own: the fastest",
	.open = open_engine,
	.decode = decode,
	.count = count_segments,
	.flush = flush,
	.close = close_engine,
};
