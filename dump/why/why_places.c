/* SPDX-License-Identifier: BSD-2-Clause */
/* Joins the branches and lines of all segments, in order, and sorts them. */
#include <stdlib.h>
#include <string.h>

#include "common/error.h"
#include "common/program/message.h"
#include "common/vector.h"
#include "dump/why/why_blocks.h"

struct joining {
	struct dump_why *why;
	struct flow_spans spans;
	uint64_t *passed;                   /* by span; owned */
	struct common_byte_map by_key;      /* of branches and lines, in one map with kinds */
	struct common_byte_map by_presence; /* place and call; only if threads switch stacks */
	/* The branch at the end of the last segment: */
	bool has_pending;
	size_t group;
	struct dump_why_pending pending;
	struct dump_why_place branch;
	uint64_t behind;
};

/* ---- on workers ---------------------------------------------------------------------------------- */

static int places_begin(void *context, const struct flow_segment *segment, void **partial)
{
	const struct joining *joining = context;
	struct dump_why_part *part = calloc(1, sizeof(*part));

	*partial = part;
	if (!part)
		return common_fail_memory("places", sizeof(*part));
	part->why = joining->why;
	part->spans = &joining->spans;
	part->passed = joining->passed;
	part->place = flow_span_start(&joining->spans, segment->index);
	return 0;
}

static int places_consume(void *context, void *part, const struct flow_segment *segment, const struct flow_batch *batch)
{
	(void)context;
	(void)segment;
	return dump_why_part_add(part, batch);
}

/* The blocks of the segment are not valid any more when the result is emitted. */
static int places_complete(void *context, void *part)
{
	(void)context;
	return dump_why_part_end(part, 0);
}

static void places_drop(void *context, void *part)
{
	(void)context;
	dump_why_part_free(part);
}

/* ---- in order ------------------------------------------------------------------------------------ */

static void write_address(const struct dump_why *why, uint32_t image, uint64_t address, struct ptl_bytes *key)
{
	const struct flow_timeline_image *data = image == FLOW_NONE ? NULL
								    : flow_timeline_image(why->calls->timeline, image);

	common_write_le(key, data ? flow_image_address(data, address) : address, 8);
	if (data)
		common_write_bytes(key, data->data.file_name, strlen(data->data.file_name) + 1);
	else
		common_write_le(key, 0, 1);
}

static void write_key(const struct dump_why *why, const struct dump_why_place *place, struct ptl_bytes *key)
{
	if (place->file) {
		common_write_le(key, 'L', 1);
		common_write_le(key, place->line, 4);
		common_write_bytes(key, place->file, strlen(place->file));
		return;
	}
	common_write_le(key, place->kind == DUMP_WHY_BLOCK ? 'K' : 'B', 1);
	common_write_le(key, place->way, 1);
	write_address(why, place->image, place->address, key);
	if (place->way == DUMP_WHY_TO)
		write_address(why, place->target_image, place->target, key);
}

/* Finds or adds the place among those of all segments. */
static int join_place(struct joining *joining, const struct dump_why_place *like, struct dump_why_place **place)
{
	struct dump_why *why = joining->why;
	const bool is_branch = like->kind == DUMP_WHY_BRANCH;
	struct dump_why_place **list = is_branch ? &why->branches : &why->lines;
	size_t *count = is_branch ? &why->branch_count : &why->line_count;
	size_t *capacity = is_branch ? &why->branch_capacity : &why->line_capacity;
	struct ptl_bytes key = {0};
	const uint64_t *known;
	int status = 0;

	write_key(why, like, &key);
	known = key.failed ? NULL : common_byte_map_get(&joining->by_key, key.data, key.size);
	if (known) {
		*place = &(*list)[*known];
	} else if (key.failed || COMMON_VECTOR_RESERVE(*list, *capacity, *count + 1, "places")) {
		status = common_fail_memory("places", key.size);
	} else {
		status = common_byte_map_put(&joining->by_key, key.data, key.size, *count);
		*place = &(*list)[(*count)++];
		**place = *like;
		(*place)->last = 0;
		memset((*place)->sums, 0, sizeof((*place)->sums));
	}
	common_bytes_free(&key);
	return status;
}

static void add_sums(struct dump_why_place *place, const struct dump_why_place *part)
{
	for (int side = 0; side < DUMP_WHY_SIDES; side++) {
		place->sums[side].count += part->sums[side].count;
		place->sums[side].time += part->sums[side].time;
		place->sums[side].least += part->sums[side].least;
		place->sums[side].most += part->sums[side].most;
		place->sums[side].cycles += part->sums[side].cycles;
		place->sums[side].cycle_instructions += part->sums[side].cycle_instructions;
	}
	place->first = part->first < place->first ? part->first : place->first;
}

/* Counts a call in which the place ran, once. Only calls on several stacks interrupt each other. */
static int add_presence(struct joining *joining, struct dump_why_place *place, size_t call)
{
	struct dump_why *why = joining->why;
	const bool is_line = place->kind != DUMP_WHY_BRANCH;
	const struct {
		uint64_t place, call;
	} key = {(uint64_t)(place - (is_line ? why->lines : why->branches)) << 1 | is_line, call};

	if (place->last == call + 1)
		return 0;
	place->last = call + 1;
	if (why->set.switch_count) {
		if (common_byte_map_get(&joining->by_presence, &key, sizeof(key)))
			return 0;
		if (common_byte_map_put(&joining->by_presence, &key, sizeof(key), 1))
			return PTL_NO_MEMORY;
	}
	place->sums[why->set.calls[call].slow ? DUMP_WHY_SLOW : DUMP_WHY_OTHER].present++;
	return 0;
}

/* Settles the branch at the end of the last segment: the flow goes on in this part. */
static int settle_last(struct joining *joining, const struct dump_why_part *part, const struct flow_segment *segment)
{
	const struct dump_why_pending *pending = &joining->pending;
	struct dump_why_place *place;
	enum dump_why_side side;
	int status;

	if (!joining->has_pending || joining->group != segment->group || !part->landed_is_known)
		return 0;
	joining->branch.way = part->landed_at == joining->behind ? DUMP_WHY_NOT_TAKEN : DUMP_WHY_TAKEN;
	status = join_place(joining, &joining->branch, &place);
	if (status < 0)
		return status;
	side = joining->why->set.calls[pending->call].slow ? DUMP_WHY_SLOW : DUMP_WHY_OTHER;
	place->sums[side].count++;
	if (side == DUMP_WHY_SLOW && pending->first < place->first)
		place->first = pending->first;
	return add_presence(joining, place, pending->call);
}

static int join_all(struct joining *joining, const struct dump_why_part *part)
{
	const struct dump_why_places *kinds[] = {&part->branches, &part->lines};
	uint32_t *joined[2] = {NULL};
	int status = 0;

	for (int kind = 0; status == 0 && kind < 2; kind++) {
		joined[kind] = calloc(kinds[kind]->count + 1, sizeof(**joined));
		if (!joined[kind])
			status = common_fail_memory("places", kinds[kind]->count * sizeof(**joined));
		for (size_t i = 0; status == 0 && i < kinds[kind]->count; i++) {
			struct dump_why_place *place;

			status = join_place(joining, &kinds[kind]->list[i], &place);
			if (status < 0)
				break;
			add_sums(place, &kinds[kind]->list[i]);
			joined[kind][i] = (uint32_t)(place - (kind ? joining->why->lines : joining->why->branches));
		}
	}
	for (size_t i = 0; status == 0 && i < part->presence_count; i++) {
		const struct dump_why_presence *presence = &part->presences[i];
		struct dump_why_place *list = presence->is_line ? joining->why->lines : joining->why->branches;

		status = add_presence(joining, &list[joined[presence->is_line][presence->place]], presence->call);
	}
	free(joined[0]);
	free(joined[1]);
	return status;
}

static int places_emit(void *context, const struct flow_segment *segment, void *partial, uint64_t horizon)
{
	struct joining *joining = context;
	struct dump_why_part *part = partial;
	int status = part->has_landed ? settle_last(joining, part, segment) : 0;

	(void)horizon;
	if (status == 0)
		status = join_all(joining, part);
	joining->why->has_line_times |= part->timed;
	if (part->has_landed) {
		joining->has_pending = part->last.valid;
		joining->pending = part->last;
		joining->branch = part->last_branch;
		joining->branch.first = UINT64_MAX;
		joining->behind = part->last_behind;
		joining->group = segment->group;
	}
	dump_why_part_free(part);
	return status;
}

/* ---- order --------------------------------------------------------------------------------------- */

/* By how much more of the slow calls than of the other calls have the place. */
static double lead(const struct dump_why *why, const struct dump_why_place *place)
{
	return dump_why_excess(why, place->sums[DUMP_WHY_SLOW].present, place->sums[DUMP_WHY_OTHER].present);
}

static int compare_numbers(double a, double b)
{
	return a > b ? -1 : a < b;
}

static int compare_firsts(const struct dump_why_place *a, const struct dump_why_place *b)
{
	if (a->first != b->first)
		return a->first < b->first ? -1 : 1;
	return a->address < b->address ? -1 : a->address > b->address;
}

/* The branch that distinguishes the slow calls best comes first; of several, the earliest in the calls. */
static int compare_branches(const void *a, const void *b, void *why)
{
	const int order = compare_numbers(lead(why, a), lead(why, b));

	return order ? order : compare_firsts(a, b);
}

static double line_excess(const struct dump_why *why, const struct dump_why_place *line)
{
	const struct dump_why_place_sum *slow = &line->sums[DUMP_WHY_SLOW], *other = &line->sums[DUMP_WHY_OTHER];

	return why->by_instructions || !why->has_line_times ? dump_why_excess(why, slow->count, other->count)
							    : dump_why_excess(why, slow->time, other->time);
}

static int compare_lines(const void *a, const void *b, void *why)
{
	const int order = compare_numbers(line_excess(why, a), line_excess(why, b));

	return order ? order : compare_firsts(a, b);
}

/* ---- the walk ------------------------------------------------------------------------------------ */

/* Sums up, for each span, the instructions of its call in earlier spans. */
static int count_passed(struct joining *joining)
{
	uint64_t *of_call = calloc(joining->why->set.count + 1, sizeof(*of_call));

	joining->passed = calloc(joining->spans.count + 1, sizeof(*joining->passed));
	if (!of_call || !joining->passed) {
		free(of_call);
		return common_fail_memory("spans of calls", joining->spans.count * sizeof(*of_call));
	}
	for (size_t i = 0; i < joining->spans.count; i++) {
		const struct flow_span *span = &joining->spans.list[i];

		joining->passed[i] = of_call[span->owner];
		of_call[span->owner] += span->end - span->first;
	}
	free(of_call);
	return 0;
}

int dump_why_places(struct dump_why *why)
{
	struct joining joining = {.why = why};
	struct flow_view_options options = why->calls->input.view;
	const struct flow_view view = {
		.context = &joining,
		.begin = places_begin,
		.consume = places_consume,
		.complete = places_complete,
		.emit = places_emit,
		.drop = places_drop,
	};
	int status = analysis_call_set_spans(&why->set, false, &joining.spans);

	if (status == 0)
		status = count_passed(&joining);
	if (status == 0)
		status = flow_view_run(why->calls->input.trace, why->calls->timeline, &options, &view);
	common_progress_end();
	for (size_t i = 0; i < why->line_count; i++)
		for (int side = 0; side < DUMP_WHY_SIDES; side++) {
			why->all[side].count += why->lines[i].sums[side].count;
			why->all[side].time += why->lines[i].sums[side].time;
			why->all[side].cycles += why->lines[i].sums[side].cycles;
			why->all[side].cycle_instructions += why->lines[i].sums[side].cycle_instructions;
		}
	if (status == 0 && why->branch_count)
		qsort_r(why->branches, why->branch_count, sizeof(*why->branches), compare_branches, why);
	if (status == 0 && why->line_count)
		qsort_r(why->lines, why->line_count, sizeof(*why->lines), compare_lines, why);
	free((void *)(uintptr_t)joining.spans.list);
	free(joining.passed);
	common_byte_map_free(&joining.by_key);
	common_byte_map_free(&joining.by_presence);
	return status;
}
