/* SPDX-License-Identifier: BSD-2-Clause */
/* PTL's own engine behind the interface of all engines: docs/engine.md says how it works. */
#include <stdlib.h>

#include "common/error.h"
#include "dump/code.h"
#include "dump/engine.h"
#include "dump/native/decoder.h"
#include "dump/native/lane.h"

/* Ranges that blocks were made of; more than these are not worth comparing. */
#define USED_RANGES 1024

struct native_engine {
	struct native_decoder decoder;
	struct native_lane *lanes; /* NULL: nothing has been counted yet */
	struct ptl_code *code;
	struct ptl_version version;
	uint32_t process;
	bool selected;
	/* What has been found in the version at hand: if all of it is the same in another, blocks stay good. */
	struct native_range used[USED_RANGES];
	size_t used_count;
};

static void look_up(const struct native_engine *engine, uint64_t ip, struct native_range *range)
{
	struct ptl_piece piece;
	const uint8_t *blob;
	uint64_t size;

	*range = (struct native_range){.image = PTL_NONE};
	if (!ptl_version_find(ptl_code_timeline(engine->code), engine->version.root, ip, &piece)) {
		range->first = piece.first;
		range->last = piece.last;
		return;
	}
	range->first = piece.first;
	range->last = piece.last;
	range->image = piece.image;
	range->code_event = piece.code_event;
	blob = ptl_code_blob(engine->code, piece.blob, &size);
	if (!blob || piece.offset >= size)
		return;
	/* The blob may be shorter than the image: beyond its end nothing is known. */
	size -= piece.offset;
	if (size - 1 < piece.last - piece.first) {
		if (ip - piece.first >= size) {
			range->first = piece.first + size;
			return;
		}
		range->last = piece.first + size - 1;
	}
	range->bytes = blob + piece.offset;
}

static void find(void *context, uint64_t ip, struct native_range *range)
{
	struct native_engine *engine = context;

	look_up(engine, ip, range);
	if (engine->used_count < USED_RANGES)
		engine->used[engine->used_count] = *range;
	if (engine->used_count <= USED_RANGES)
		engine->used_count++;
}

static bool same_range(const struct native_range *a, const struct native_range *b)
{
	return a->first == b->first && a->last == b->last && a->bytes == b->bytes && a->image == b->image &&
	       a->code_event == b->code_event;
}

static bool code_is_same(const struct native_engine *engine)
{
	if (engine->used_count > USED_RANGES)
		return false;
	for (size_t i = 0; i < engine->used_count; i++) {
		struct native_range now;

		look_up(engine, engine->used[i].first, &now);
		if (!same_range(&now, &engine->used[i]))
			return false;
	}
	return true;
}

/* Makes the decoder see the process's code as of time; true: all that it knew is void. */
static bool select_version(struct native_engine *engine, uint64_t time)
{
	uint32_t root = engine->version.root;
	bool same;

	ptl_timeline_version(ptl_code_timeline(engine->code), engine->process, time, &engine->version);
	same = engine->selected && (root == engine->version.root || code_is_same(engine));
	engine->selected = true;
	if (!same)
		engine->used_count = 0;
	return !same;
}

static uint64_t recode(void *context, uint64_t time)
{
	struct native_engine *engine = context;

	if (select_version(engine, time))
		native_decoder_forget(&engine->decoder);
	return engine->version.until;
}

static int open_engine(struct ptl_code *code, const struct ptl_machine *machine, struct ptl_engine **engine)
{
	struct native_engine *opened = calloc(1, sizeof(*opened));
	int status;

	if (!opened)
		return ptl_fail_memory("flow engine", sizeof(*opened));
	opened->code = code;
	status = native_decoder_open(&opened->decoder, (struct native_source){find, opened}, machine);
	if (status < 0) {
		free(opened);
		return status;
	}
	*engine = (struct ptl_engine *)opened;
	return 0;
}

static int decode(struct ptl_engine *base, const struct ptl_engine_input *input, const struct ptl_flow_sink *sink)
{
	struct native_engine *engine = (struct native_engine *)base;
	struct native_decoder *decoder = &engine->decoder;

	engine->process = input->segment->process;
	if (select_version(engine, input->segment->code_time))
		native_code_forget(decoder->code);
	/* The software source begins a segment at each change of code, so time tells nothing more. */
	decoder->recode = decoder->machine.software ? NULL : recode;
	decoder->recode_context = engine;
	decoder->code_until = engine->version.until;
	return native_decoder_run(decoder, input, sink);
}

/* ---- counting ---------------------------------------------------------------------------------------------- */

/* Whether the segment has the code that is selected, so that it can be decoded beside others. */
static bool fits(struct native_engine *engine, const struct ptl_segment *segment)
{
	const struct ptl_version version = engine->version;
	const uint32_t process = engine->process;
	const size_t used_count = engine->used_count;

	if (!engine->selected)
		return false;
	engine->process = segment->process;
	if (!select_version(engine, segment->code_time)) {
		if (engine->decoder.machine.software || engine->version.until == PTL_TIME_END)
			return true;
	} else {
		engine->used_count = used_count;
	}
	engine->version = version;
	engine->process = process;
	return false;
}

/* The state of a count. */
struct count {
	struct native_engine *engine;
	const struct ptl_engine_feed *feed;
	struct native_lane *waiting; /* for the others to end: its code is another */
	bool no_more;
};

/* Gives work to a free lane; negative ends all. */
static int fill(struct count *count, unsigned place)
{
	struct native_lane *lane = &count->engine->lanes[place];
	int status = count->feed->next(count->feed->context, place, &lane->input, &lane->sink);

	if (status < 0)
		return status;
	count->no_more = !status;
	if (status && fits(count->engine, lane->input.segment))
		native_lane_start(lane);
	else if (status)
		count->waiting = lane;
	return 0;
}

/* No lane is busy: the code may change. */
static int start_waiting(struct count *count)
{
	struct native_engine *engine = count->engine;
	struct native_lane *lane = count->waiting;
	int status;

	count->waiting = NULL;
	engine->process = lane->input.segment->process;
	if (select_version(engine, lane->input.segment->code_time))
		native_code_forget(engine->decoder.code);
	native_decoder_trim(&engine->decoder);
	if (engine->decoder.machine.software || engine->version.until == PTL_TIME_END) {
		native_lane_start(lane);
		return 0;
	}
	status = decode((struct ptl_engine *)engine, &lane->input, &lane->sink);
	return status < 0 ? status : count->feed->done(count->feed->context, (unsigned)(lane - engine->lanes));
}

/* Ends segments that are done and begins others; how many lanes are busy. */
static int serve_lanes(struct count *count)
{
	int busy = 0;

	for (unsigned i = 0; i < NATIVE_LANES; i++) {
		struct native_lane *lane = &count->engine->lanes[i];
		int status = 0;

		if (native_lane_done(lane, &status) && !status)
			status = count->feed->done(count->feed->context, i);
		if (status)
			return status;
		if (!lane->busy && !count->waiting && !count->no_more)
			status = fill(count, i);
		if (status < 0)
			return status;
		busy += lane->busy;
	}
	return busy;
}

static int count_segments(struct ptl_engine *base, const struct ptl_engine_feed *feed)
{
	struct native_engine *engine = (struct native_engine *)base;
	struct count count = {.engine = engine, .feed = feed};
	int busy = 0;

	_Static_assert(NATIVE_LANES <= PTL_ENGINE_PLACES, "a place for each lane");
	if (!engine->lanes)
		busy = native_lanes_open(&engine->lanes, &engine->decoder);
	while (busy >= 0) {
		busy = serve_lanes(&count);
		if (busy > 0)
			native_lanes_count(engine->lanes);
		else if (!busy && count.waiting)
			busy = start_waiting(&count);
		else if (!busy && count.no_more)
			return 0;
	}
	for (unsigned i = 0; engine->lanes && i < NATIVE_LANES; i++)
		engine->lanes[i].busy = engine->lanes[i].counting = false;
	return busy;
}

static void close_engine(struct ptl_engine *base)
{
	struct native_engine *engine = (struct native_engine *)base;

	if (!engine)
		return;
	native_lanes_close(engine->lanes);
	native_decoder_close(&engine->decoder);
	free(engine);
}

const struct ptl_engine_class ptl_engine_native = {
	.name = "native",
	.description = "PTL's own: the fastest",
	.open = open_engine,
	.decode = decode,
	.count = count_segments,
	.close = close_engine,
};
