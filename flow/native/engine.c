/* SPDX-License-Identifier: BSD-2-Clause */
/* PTL's own engine, behind the interface of all engines. docs/engine.md describes how the engine works. */
#include <stdlib.h>

#include "common/error.h"
#include "flow/code/code_change.h"
#include "flow/code/filter.h"
#include "flow/native/decoder.h"
#include "flow/native/interleaved.h"
#include "flow/native/native.h"

/*
 * Number of address spaces whose decoded code is kept. Programs that run repeatedly, such as the programs of a
 * compiler, have the same code at the same addresses.
 */
#define KEPT 4

struct kept {
	struct native_code *code;
	bool open;
	flow_root root; /* version and process of the code */
	uint32_t process;
	uint64_t used; /* value of `uses` at the last use */
};

struct native_engine {
	struct native_decoder decoder;
	struct kept kept[KEPT];
	struct kept *at;                   /* the decoder's kept code */
	struct native_code more[KEPT - 1]; /* further codes; the first code belongs to the decoder */
	uint64_t uses;
	bool counting; /* equal images are treated as one image, and codes are kept */
	const struct flow_count_sink *counts;
	struct native_interleaved *interleaved; /* NULL: no segment has been counted yet */
	struct flow_code *code;
	struct flow_version version;
	uint32_t process;
	bool selected;
	const struct flow_engine_input *input; /* input of the current segment, if the segment has turns */
};

static void find_code_range(void *context, uint64_t ip, struct flow_code_range *range)
{
	const struct native_engine *engine = context;

	flow_code_range(engine->code, engine->version.root, ip, range);
	if (engine->counting)
		range->image = flow_timeline_alike(flow_code_timeline(engine->code), range->image);
}

/* Checks whether the machine's filters let packets from ip pass. */
static bool passes(void *context, uint64_t ip)
{
	const struct native_engine *engine = context;
	struct flow_code_range range;

	flow_code_range(engine->code, engine->version.root, ip, &range);
	return flow_filter_passes(flow_code_filter(engine->code), engine->decoder.machine.index, range.image, ip);
}

/* Returns the source of the engine's code. */
static struct native_source source_of(struct native_engine *engine, const struct ptl_machine *machine)
{
	const bool filtered = flow_filter_is_there(flow_code_filter(engine->code), machine->index);

	return (struct native_source){.find = find_code_range, .context = engine, .passes = filtered ? passes : NULL};
}

/* Differences between the code and the version selected before. */
struct changes {
	struct flow_code_span spans[FLOW_CODE_CHANGES];
	size_t count; /* 0: no difference */
	bool all;     /* too many to list */
};

/* Compares a kept code with the current version, of this process. */
static void compare_kept(const struct native_engine *engine, const struct kept *kept, uint32_t process,
			 struct changes *changes)
{
	changes->count = flow_code_changes(engine->code, kept->root, engine->version.root, engine->counting,
					   changes->spans);
	/* Differences between two processes do not predict future changes, so the code is cleared instead. */
	changes->all = changes->count > FLOW_CODE_CHANGES || (changes->count && process != kept->process);
}

static void select_process(struct native_engine *engine, uint32_t process)
{
	engine->at->root = engine->version.root;
	engine->at->process = process;
	engine->process = process;
}

/* Selects the code of a process at time. The caller must report *changes to the decoder. */
static void select_version(struct native_engine *engine, uint32_t process, uint64_t time, struct changes *changes)
{
	flow_timeline_version(flow_code_timeline(engine->code), process, time, &engine->version);
	compare_kept(engine, engine->at, process, changes);
	select_process(engine, process);
}

/* ---- kept codes -------------------------------------------------------------------------------------------- */

static int open_kept(struct native_engine *engine, struct kept *kept)
{
	const int status = native_code_open(kept->code, source_of(engine, &engine->decoder.machine));

	if (status < 0)
		return status;
	kept->open = true;
	/* A unique generation: no run of this code is mistaken for a run of another code. */
	kept->code->generation += ++engine->uses << 32;
	kept->code->counters.sink = engine->counts;
	return 0;
}

/* Closes a kept code, and first gives its counts to the sink. */
static int close_kept(struct kept *kept)
{
	int status;

	native_code_clear(kept->code);
	status = kept->code->counters.status;
	native_code_close(kept->code);
	kept->open = false;
	return status;
}

/* Returns a code that is not open, or else the least recently used code; never the current code. */
static struct kept *oldest(struct native_engine *engine)
{
	struct kept *found = NULL;

	for (struct kept *kept = engine->kept; kept < engine->kept + KEPT; kept++)
		if (kept != engine->at && (!found || (found->open && (!kept->open || kept->used < found->used))))
			found = kept;
	return found;
}

/* Closes codes until all codes except the current one together have at most NATIVE_CODE_LIMIT bytes. */
static int trim_kept(struct native_engine *engine)
{
	struct kept *found;
	int status = 0;

	for (;;) {
		size_t size = 0;

		found = NULL;
		for (struct kept *kept = engine->kept; kept < engine->kept + KEPT; kept++) {
			if (kept == engine->at || !kept->open)
				continue;
			size += native_code_size(kept->code);
			if (!found || kept->used < found->used)
				found = kept;
		}
		if (status < 0 || size <= NATIVE_CODE_LIMIT)
			return status;
		status = close_kept(found);
	}
}

/* Finds the kept code of the version, or the code with the fewest differences. Otherwise finds an empty code. */
static int find_kept(struct native_engine *engine, uint32_t process, struct kept **found, struct changes *changes)
{
	*found = NULL;
	for (struct kept *kept = engine->kept; kept < engine->kept + KEPT; kept++) {
		struct changes own;

		if (!kept->open)
			continue;
		compare_kept(engine, kept, process, &own);
		if (own.all || (*found && own.count >= changes->count))
			continue;
		*found = kept;
		*changes = own;
	}
	if (*found)
		return 0;
	*changes = (struct changes){0};
	*found = oldest(engine);
	if ((*found)->open)
		changes->all = true;
	return (*found)->open ? 0 : open_kept(engine, *found);
}

/*
 * Selects the code before a segment, while no segment is being decoded. Returns PTL_NO_MEMORY, or an error of the sink
 * of counts.
 */
static int select_before(struct native_engine *engine, const struct flow_segment *segment)
{
	struct kept *kept = engine->at;
	struct changes changes;
	int status = 0;

	flow_timeline_version(flow_code_timeline(engine->code), segment->process, segment->code_time, &engine->version);
	if (engine->counting && engine->selected)
		status = find_kept(engine, segment->process, &kept, &changes);
	else
		compare_kept(engine, kept, segment->process, &changes);
	if (status < 0)
		return status;
	if (kept != engine->at) {
		engine->at = kept;
		native_decoder_use(&engine->decoder, kept->code);
		status = trim_kept(engine);
	}
	kept->used = ++engine->uses;
	if (changes.all)
		native_code_clear(kept->code);
	else if (changes.count)
		native_code_change(kept->code, changes.spans, changes.count);
	select_process(engine, segment->process);
	engine->selected = true;
	return status;
}

/* ---- decoding ---------------------------------------------------------------------------------------------- */

/*
 * Returns the time at which the code changes within a segment. The software source begins a segment at each recorded
 * change, so only injected changes happen by time.
 */
static uint64_t changes_at(const struct native_engine *engine)
{
	return engine->decoder.machine.software ? engine->version.until_injected : engine->version.until;
}

/*
 * Callback: selects the code at time. With the software source, packets of code executed before a change may come after
 * the change. Removed or replaced code therefore stays valid to the end of the segment.
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

/* Callback: flow leaves the kernel. Selects the process of the thread that has the CPU now. */
static uint64_t enter_process(void *context, uint64_t time)
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
	opened->at = opened->kept;
	opened->at->code = &opened->decoder.known_code;
	opened->at->open = true;
	for (unsigned i = 1; i < KEPT; i++)
		opened->kept[i].code = &opened->more[i - 1];
	status = native_decoder_open(&opened->decoder, source_of(opened, machine), machine);
	if (status < 0) {
		free(opened);
		return status;
	}
	*engine = (struct flow_engine *)opened;
	return 0;
}

static int native_decode(struct flow_engine *base, const struct flow_engine_input *input, const struct flow_sink *sink)
{
	struct native_engine *engine = (struct native_engine *)base;
	struct native_decoder *decoder = &engine->decoder;
	const int status = select_before(engine, input->segment);

	if (status < 0)
		return status;
	engine->input = input;
	decoder->recode.select = recode;
	decoder->recode.enter = input->process ? enter_process : NULL;
	decoder->recode.entered = false;
	decoder->recode.context = engine;
	decoder->recode.until = changes_at(engine);
	return native_decoder_run(decoder, input, sink);
}

/* ---- counting ---------------------------------------------------------------------------------------------- */

/* Checks whether the selected version is valid to the end of the segment. */
static bool keeps_its_code(const struct native_engine *engine, const struct flow_segment *segment)
{
	const uint64_t until = changes_at(engine);

	return until == FLOW_TIME_END ||
	       (engine->decoder.machine.software && segment->end_time && until > segment->end_time);
}

/* Checks whether the segment has exactly the selected code, and can be decoded together with other segments. */
static bool fits(struct native_engine *engine, const struct flow_segment *segment)
{
	const struct flow_version version = engine->version;
	struct changes changes;

	if (!engine->selected)
		return false;
	flow_timeline_version(flow_code_timeline(engine->code), segment->process, segment->code_time, &engine->version);
	compare_kept(engine, engine->at, segment->process, &changes);
	if (!changes.count && keeps_its_code(engine, segment)) {
		select_process(engine, segment->process);
		return true;
	}
	engine->version = version;
	return false;
}

/* The state of a call of count_segments. */
struct count {
	struct native_engine *engine;
	const struct flow_engine_feed *feed;
	/* slot waiting for the other slots, because its segment has different code */
	struct native_interleaved *waiting;
	bool no_more;
};

/* Starts the next segment in a free slot. A negative result ends the decoding. */
static int fill_slot(struct count *count, unsigned place)
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

/* Starts the waiting segment. No slot is busy, so the code can be changed. */
static int start_waiting(struct count *count)
{
	struct native_engine *engine = count->engine;
	struct native_interleaved *slot = count->waiting;
	int status;

	count->waiting = NULL;
	status = select_before(engine, slot->input.segment);
	if (status < 0)
		return status;
	native_code_trim(engine->decoder.code);
	if (keeps_its_code(engine, slot->input.segment)) {
		native_interleaved_start(slot);
		return 0;
	}
	status = native_decode((struct flow_engine *)engine, &slot->input, &slot->sink);
	return status < 0 ? status : count->feed->done(count->feed->context, (unsigned)(slot - engine->interleaved));
}

/* Ends finished segments, and starts others. Returns the number of busy slots. */
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
			status = fill_slot(count, i);
		if (status < 0)
			return status;
		busy += slot->busy;
	}
	return busy;
}

/* Begins keeping codes. The sink of counts receives all further counts. */
static void start_counting(struct native_engine *engine, const struct flow_count_sink *counts)
{
	if (!engine->counting && engine->selected)
		native_code_clear(engine->decoder.code);
	engine->counting = true;
	engine->counts = counts;
	for (unsigned i = 0; i < KEPT; i++)
		engine->kept[i].code->counters.sink = counts;
}

/* Returns the first negative result of the sinks of counts. */
static int counted(const struct native_engine *engine)
{
	for (unsigned i = 0; i < KEPT; i++)
		if (engine->kept[i].code->counters.status < 0)
			return engine->kept[i].code->counters.status;
	return 0;
}

static int count_segments(struct flow_engine *base, const struct flow_engine_feed *feed)
{
	struct native_engine *engine = (struct native_engine *)base;
	struct count count = {.engine = engine, .feed = feed};
	int busy = 0;

	_Static_assert(NATIVE_INTERLEAVED <= FLOW_ENGINE_PLACES, "a place for each slot");
	start_counting(engine, feed->counts);
	if (!engine->interleaved)
		busy = native_interleaved_open(&engine->interleaved, &engine->decoder);
	while (busy >= 0) {
		busy = serve_slots(&count);
		if (busy > 0)
			native_interleaved_count(engine->interleaved);
		else if (!busy && count.waiting)
			busy = start_waiting(&count);
		else if (!busy && count.no_more)
			return counted(engine);
	}
	for (unsigned i = 0; engine->interleaved && i < NATIVE_INTERLEAVED; i++)
		engine->interleaved[i].busy = engine->interleaved[i].counting = false;
	return busy;
}

static int native_flush(struct flow_engine *base)
{
	struct native_engine *engine = (struct native_engine *)base;
	int status = 0;

	for (struct kept *kept = engine->kept; !status && kept < engine->kept + KEPT; kept++) {
		if (!kept->open)
			continue;
		native_tnt16_drain(kept->code);
		status = native_counters_flush(&kept->code->counters);
	}
	return status;
}

static void close_engine(struct flow_engine *base)
{
	struct native_engine *engine = (struct native_engine *)base;

	if (!engine)
		return;
	native_interleaved_close(engine->interleaved);
	for (unsigned i = 1; i < KEPT; i++)
		native_code_close(engine->kept[i].code);
	native_decoder_close(&engine->decoder);
	free(engine);
}

const struct flow_engine_class flow_engine_native = {
	.name = "native",
	.description = "PTL's own: the fastest",
	.open = open_engine,
	.decode = native_decode,
	.count = count_segments,
	.flush = native_flush,
	.close = close_engine,
};
