/* SPDX-License-Identifier: BSD-2-Clause */
/* Which parts of which recording the output contains (docs/relogging.md). */
#include "format/relogger/recording.h"

#include <stdlib.h>
#include <string.h>

#include <xxhash.h>

#include "common/error.h"
#include "common/structure.h"
#include "format/metadata/metadata.h"
#include "format/relogger/control.h"
#include "format/relogger/input.h"
#include "format/relogger/part.h"
#include "format/relogger/records.h"
#include "format/relogger/relogger_internal.h"

int ptl_relogger_change(struct ptl_relogger *relogger, const void *data, size_t size)
{
	XXH128_canonical_t hash;
	const int status = format_relogger_check_new(relogger);

	if (status)
		return status;
	relogger->recording.has_change = true;
	memset(relogger->recording.change, 0, sizeof(relogger->recording.change));
	if (!size)
		return 0;
	XXH128_canonicalFromHash(&hash, XXH3_128bits(data, size));
	memcpy(relogger->recording.change, hash.digest, sizeof(relogger->recording.change));
	return 0;
}

int ptl_relogger_cut(struct ptl_relogger *relogger, const struct ptl_cut *cut)
{
	struct ptl_cut taken;
	const int status = common_structure_take("ptl_cut", cut, &taken, sizeof(taken));

	if (status)
		return status;
	relogger->recording.cut = taken;
	/* without dropped data, the output is as complete as the inputs */
	relogger->recording.has_cut = taken.events || taken.bytes;
	return 0;
}

/* Whether callbacks may have changed events without ptl_relogger_change; then the output belongs to no recording. */
static bool is_unknown_change(const struct ptl_relogger *relogger)
{
	for (size_t i = 0; !relogger->recording.has_change && i < relogger->stages.count; i++)
		if (relogger->stages.all[i]->callbacks.event)
			return true;
	return false;
}

static void change_name(const struct ptl_relogger *relogger, uint8_t name[16])
{
	XXH128_canonical_t hash;
	uint8_t both[32];

	if (is_unknown_change(relogger)) {
		memset(name, 0, 16);
		return;
	}
	if (!format_is_named(relogger->recording.change))
		return;
	memcpy(both, name, 16);
	memcpy(both + 16, relogger->recording.change, 16);
	XXH128_canonicalFromHash(&hash, XXH3_128bits(both, sizeof(both)));
	memcpy(name, hash.digest, 16);
}

struct part_list {
	struct format_part *all;
	size_t count;
};

/* Reduces a part's dropped events and bytes by those that other inputs of the recording add. */
static void count_left(const struct ptl_relogger *relogger, struct format_part *part, size_t owner)
{
	uint64_t events = 0, bytes = 0;

	for (size_t i = 0; i < relogger->input_count; i++) {
		const struct ptl_relogger_input *input = relogger->inputs[i];

		for (size_t j = 0; i != owner && j < input->parts.count; j++)
			if (format_part_is_same_recording(&input->parts.all[j], part)) {
				events += input->extent.events - input->extent.shared_events;
				bytes += input->extent.bytes - input->extent.shared_bytes;
				break;
			}
	}
	/* Events and bytes shared with other inputs are counted only once. */
	events -= events < relogger->inputs[owner]->extent.shared_events
			  ? events
			  : relogger->inputs[owner]->extent.shared_events;
	bytes -= bytes < relogger->inputs[owner]->extent.shared_bytes ? bytes
								      : relogger->inputs[owner]->extent.shared_bytes;
	part->events -= part->events < events ? part->events : events;
	part->bytes -= part->bytes < bytes ? part->bytes : bytes;
}

static int compare_part(const void *left, const void *right)
{
	const struct format_part *a = left, *b = right;
	const int order = memcmp(a->recording, b->recording, sizeof(a->recording));

	if (order)
		return order;
	return a->first < b->first ? -1 : a->first > b->first;
}

static bool touch(const struct format_part *a, const struct format_part *b)
{
	return format_part_is_same_recording(a, b) && (a->last == UINT64_MAX || b->first <= a->last + 1);
}

/* Unites parts that touch. */
static void unite(struct part_list *parts)
{
	size_t count = 0;

	if (parts->count)
		qsort(parts->all, parts->count, sizeof(*parts->all), compare_part);
	for (size_t i = 0; i < parts->count; i++) {
		struct format_part *last = count ? &parts->all[count - 1] : NULL;
		const struct format_part *part = &parts->all[i];

		if (!last || !touch(last, part)) {
			parts->all[count++] = *part;
			continue;
		}
		last->last = part->last > last->last ? part->last : last->last;
		last->known = part->known < last->known ? part->known : last->known;
		last->events = part->events < last->events ? part->events : last->events;
		last->bytes = part->bytes < last->bytes ? part->bytes : last->bytes;
		last->record = NULL;
	}
	parts->count = count;
}

static void narrow(struct format_part *part, const struct ptl_cut *cut)
{
	part->first = cut->first > part->first ? cut->first : part->first;
	part->last = cut->last < part->last ? cut->last : part->last;
	part->known = cut->known > part->known ? cut->known : part->known;
	part->record = NULL;
}

/* Writes that the output contains the whole recording, regardless of the window. */
static int write_whole(struct ptl_relogger *relogger, const uint8_t name[16])
{
	struct ptl_bytes body = {0};
	int status;

	if (!format_is_named(name))
		return 0;
	format_recording_encode(name, &body);
	status = body.failed ? common_fail_memory("a recording", 0)
			     : ptl_writer_record(relogger->writer, FORMAT_RECORD_RECORDING, body.data, body.size);
	common_bytes_free(&body);
	return status;
}

static int write_part(struct ptl_relogger *relogger, const struct format_part *part)
{
	struct ptl_loss loss = {
		.kind = PTL_LOSS_CUT,
		.stream = PTL_NO_ID,
		.pid = PTL_NO_ID,
		.tid = PTL_NO_ID,
		.count = part->events,
		.bytes = part->bytes,
		.cause = "cut on purpose by ptl-relog",
		.kept_first = part->first,
		.kept_last = part->last,
		.known = part->known,
	};

	memcpy(loss.recording, part->recording, sizeof(loss.recording));
	if (format_is_named(loss.recording))
		change_name(relogger, loss.recording);
	return part->events || part->bytes ? ptl_writer_loss(relogger->writer, &loss)
					   : write_whole(relogger, loss.recording);
}

/* Passes a part of one input, unchanged if nothing has changed. */
static int pass_same(struct ptl_relogger *relogger, struct ptl_relogger_input *input, const struct format_part *part)
{
	const bool same = !format_is_named(relogger->recording.change) && !is_unknown_change(relogger);

	return part->record && same ? format_relogger_pass_loss(relogger, input, part->record)
				    : write_part(relogger, part);
}

static int collect_parts(struct ptl_relogger *relogger, struct part_list *parts)
{
	size_t count = 0;

	for (size_t i = 0; i < relogger->input_count; i++)
		count += relogger->inputs[i]->parts.count;
	parts->all = malloc((count + 1) * sizeof(*parts->all));
	if (!parts->all)
		return common_fail_memory("parts", count * sizeof(*parts->all));
	for (size_t i = 0; i < relogger->input_count; i++)
		for (size_t j = 0; j < relogger->inputs[i]->parts.count; j++) {
			struct format_part *part = &parts->all[parts->count++];

			*part = relogger->inputs[i]->parts.all[j];
			if (relogger->dedup.any)
				count_left(relogger, part, i);
		}
	return 0;
}

int format_relogger_pass_parts(struct ptl_relogger *relogger)
{
	struct part_list parts = {NULL};
	int status = 0;

	if (!relogger->recording.has_cut && !relogger->dedup.any) {
		for (size_t i = 0; !status && i < relogger->input_count; i++)
			for (size_t j = 0; !status && j < relogger->inputs[i]->parts.count; j++)
				status = pass_same(relogger, relogger->inputs[i], &relogger->inputs[i]->parts.all[j]);
		return status;
	}
	status = collect_parts(relogger, &parts);
	if (!status)
		unite(&parts);
	for (size_t i = 0; relogger->recording.has_cut && i < parts.count; i++)
		narrow(&parts.all[i], &relogger->recording.cut);
	if (relogger->recording.has_cut && parts.count) {
		parts.all[0].events += relogger->recording.cut.events;
		parts.all[0].bytes += relogger->recording.cut.bytes;
	}
	if (!status && relogger->recording.has_cut && !parts.count)
		status = write_part(relogger, &(struct format_part){.last = UINT64_MAX,
								    .events = relogger->recording.cut.events,
								    .bytes = relogger->recording.cut.bytes});
	for (size_t i = 0; !status && i < parts.count; i++)
		if (!i || parts.all[i].first <= parts.all[i].last)
			status = write_part(relogger, &parts.all[i]);
	free(parts.all);
	return status;
}
