/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Parts of one recording overlap. The output has as many equal events (of the same stream and time), and as many equal
 * records, as the input that has the most of them. Only the events of one time must be remembered, and only while
 * inputs overlap.
 */
#include "format/relogger/dedup.h"

#include <stdlib.h>

#include <xxhash.h>

#include "common/error.h"
#include "common/vector.h"
#include "format/event/event_pack.h"
#include "format/event/kernel_class.h"
#include "format/relogger/input.h"
#include "format/relogger/pass.h"
#include "format/relogger/relogger_internal.h"
#include "format/relogger/stream.h"

#define OF_OUTPUT UINT64_MAX /* owner of the output's counts, in place of an input's number */

struct count_key {
	uint64_t owner;
	XXH128_hash_t hash;
};

struct format_held {
	struct ptl_relogger_input *input;
	struct format_relogger_stream *stream;
	struct count_key key;
	uint64_t number; /* how many such events this input has, including this event */
	uint8_t *data;
};

/* --- counting ----------------------------------------------------------------------------------------- */

static uint64_t get_count(const struct common_byte_map *counts, const struct count_key *key)
{
	const uint64_t *count = common_byte_map_get(counts, key, sizeof(*key));

	return count ? *count : 0;
}

/* Counts one more for the owner. *number: the new count. */
static int count_one(struct common_byte_map *counts, struct count_key *key, uint64_t owner, uint64_t *number)
{
	key->owner = owner;
	*number = get_count(counts, key) + 1;
	return common_byte_map_put(counts, key, sizeof(*key), *number);
}

/*
 * Whether the output needs another event of this kind: the output has fewer than `number`. Counts the event if needed.
 */
static int is_needed(struct common_byte_map *counts, struct count_key *key, uint64_t number, bool *needed)
{
	key->owner = OF_OUTPUT;
	*needed = number > get_count(counts, key);
	return *needed ? common_byte_map_put(counts, key, sizeof(*key), number) : 0;
}

/* --- records ------------------------------------------------------------------------------------------ */

int format_dedup_record(struct ptl_relogger *relogger, const struct ptl_relogger_input *input, uint64_t type,
			const void *body, size_t size)
{
	struct count_key key = {.hash = XXH3_128bits_withSeed(body, size, type)};
	uint64_t number;
	bool needed = true;
	int status;

	if (!input->extent.joined)
		return FORMAT_DEDUP_PASS;
	status = count_one(&relogger->dedup.records, &key, input->number, &number);
	if (!status)
		status = is_needed(&relogger->dedup.records, &key, number, &needed);
	return status ? status : needed ? FORMAT_DEDUP_PASS : FORMAT_DEDUP_DROP;
}

/* --- rundown ------------------------------------------------------------------------------------------ */

static bool is_of_end(const struct ptl_descriptor *descriptor)
{
	return format_action_of(format_class_of(descriptor), descriptor->opcode) == FORMAT_ACTION_END_RUNDOWN;
}

/*
 * Whether a cut added the event as rundown at one of its borders. *again: the event is redundant, as another input
 * covers the border.
 */
static bool is_rundown(const struct ptl_relogger_input *input, const struct ptl_event *event, bool *again)
{
	*again = false;
	if (!(event->flags & PTL_EVENT_INJECTED))
		return false;
	for (size_t i = 0; i < input->parts.count; i++) {
		const struct format_part *part = &input->parts.all[i];
		const bool starts = part->known && event->time == part->known - 1;
		const bool ends = part->last != UINT64_MAX && event->time == part->last + 1 &&
				  is_of_end(&event->descriptor);

		*again = starts ? part->start_again : ends && part->end_again;
		if (starts || ends)
			return true;
	}
	return false;
}

/* --- events ------------------------------------------------------------------------------------------- */

/* Finds the range of times around `time` in which the same inputs have events, and whether several inputs have. */
static void look_around(struct ptl_relogger *relogger, uint64_t time)
{
	struct format_dedup *dedup = &relogger->dedup;
	size_t count = 0;

	dedup->low = 0;
	dedup->high = UINT64_MAX;
	for (size_t i = 0; i < relogger->input_count; i++) {
		const struct ptl_relogger_input *input = relogger->inputs[i];

		if (!input->extent.joined || input->extent.first_event > input->extent.last_event)
			continue;
		if (time < input->extent.first_event) {
			dedup->high = input->extent.first_event <= dedup->high ? input->extent.first_event - 1
									       : dedup->high;
		} else if (time > input->extent.last_event) {
			dedup->low = input->extent.last_event >= dedup->low ? input->extent.last_event + 1 : dedup->low;
		} else {
			count++;
			dedup->low = input->extent.first_event > dedup->low ? input->extent.first_event : dedup->low;
			dedup->high = input->extent.last_event < dedup->high ? input->extent.last_event : dedup->high;
		}
	}
	dedup->overlap = count > 1;
}

static bool is_in_window(const struct ptl_relogger_input *input, uint64_t time)
{
	for (size_t i = 0; i < input->parts.count; i++)
		if (time >= input->parts.all[i].first && time <= input->parts.all[i].last)
			return true;
	return false;
}

/*
 * Whether the event must wait. Outside its window, a cut has only some of the events, so an input that has all events
 * determines their order.
 */
static bool has_to_wait(const struct ptl_relogger_input *input, uint64_t time)
{
	const struct ptl_relogger *relogger = input->relogger;

	if (is_in_window(input, time))
		return false;
	for (size_t i = 0; i < relogger->input_count; i++)
		if (i != input->number && relogger->inputs[i]->extent.joined && is_in_window(relogger->inputs[i], time))
			return true;
	return false;
}

static void add_number(struct ptl_bytes *out, uint64_t number)
{
	common_write_le(out, number, sizeof(number));
}

static void add_numbers(struct ptl_bytes *out, const struct ptl_event *event)
{
	add_number(out, event->descriptor.keyword);
	add_number(out, (uint64_t)event->descriptor.id | (uint64_t)event->descriptor.task << 16 |
				(uint64_t)event->descriptor.version << 32 | (uint64_t)event->descriptor.channel << 40 |
				(uint64_t)event->descriptor.level << 48 | (uint64_t)event->descriptor.opcode << 56);
	add_number(out, event->cpu | (uint64_t)event->flags << 32);
	add_number(out, event->pid | (uint64_t)event->tid << 32);
	add_number(out, event->payload_size);
	add_number(out, event->extended_count);
}

/* Hashes all properties of an event except its time. */
static int hash_event(struct ptl_bytes *out, uint32_t stream, const struct ptl_event *event, XXH128_hash_t *hash)
{
	out->size = 0;
	add_number(out, stream);
	add_numbers(out, event);
	common_write_bytes(out, &event->descriptor.provider, sizeof(event->descriptor.provider));
	if (event->flags & PTL_EVENT_HAS_ACTIVITY)
		common_write_bytes(out, &event->activity, sizeof(event->activity));
	if (event->flags & PTL_EVENT_HAS_RELATED)
		common_write_bytes(out, &event->related, sizeof(event->related));
	for (size_t i = 0; i < event->extended_count; i++) {
		add_number(out, event->extended[i].type | (uint64_t)event->extended[i].size << 16);
		common_write_bytes(out, event->extended[i].data, event->extended[i].size);
	}
	common_write_bytes(out, event->payload, event->payload_size);
	if (out->failed)
		return common_fail_memory("an event", out->size);
	*hash = XXH3_128bits(out->data, out->size);
	return 0;
}

static int hold_event(struct ptl_relogger *relogger, const struct format_held *held, const struct ptl_event *event)
{
	struct format_dedup *dedup = &relogger->dedup;
	uint8_t *data = malloc(format_event_pack_size(event));

	if (!data || !common_vector_room(&dedup->waiting, dedup->held, sizeof(*dedup->waiting))) {
		free(data);
		return common_fail_memory("an event", event->payload_size);
	}
	format_event_pack(event, data);
	dedup->waiting[dedup->held] = *held;
	dedup->waiting[dedup->held++].data = data;
	return 0;
}

/* Passes an event that no other input has, in its own stream, although later events may have passed. */
static int pass_held(struct ptl_relogger *relogger, struct format_held *held)
{
	const struct ptl_event event = format_event_unpack(held->data);

	relogger->current.input = held->input;
	relogger->current.stream = held->stream;
	relogger->current.time = event.time;
	return format_relogger_pass(relogger, 0, &event, held->input);
}

int format_dedup_flush(struct ptl_relogger *relogger)
{
	struct format_dedup *dedup = &relogger->dedup;
	int status = 0;

	for (size_t i = 0; i < dedup->held; i++) {
		struct format_held *held = &dedup->waiting[i];
		bool needed = false;

		if (!status)
			status = is_needed(&dedup->counts, &held->key, held->number, &needed);
		held->input->extent.shared_events += !needed;
		relogger->counts.events_shared += !needed;
		if (!status && needed)
			status = pass_held(relogger, held);
		free(held->data);
	}
	dedup->held = 0;
	common_byte_map_free(&dedup->counts);
	dedup->counts = (struct common_byte_map){NULL};
	return status;
}

/* Handles an event at a time at which several inputs have events. */
static int compare_event(struct ptl_relogger *relogger, struct ptl_relogger_input *input,
			 struct format_relogger_stream *target, const struct ptl_event *event)
{
	struct format_dedup *dedup = &relogger->dedup;
	struct format_held held = {.input = input, .stream = target};
	bool needed = false;
	int status = hash_event(&dedup->key, target->id, event, &held.key.hash);

	if (!status)
		status = count_one(&dedup->counts, &held.key, input->number, &held.number);
	if (!status && has_to_wait(input, event->time)) {
		status = hold_event(relogger, &held, event);
		return status ? status : FORMAT_DEDUP_DROP;
	}
	if (!status)
		status = is_needed(&dedup->counts, &held.key, held.number, &needed);
	if (status)
		return status;
	input->extent.shared_events += !needed;
	relogger->counts.events_shared += !needed;
	return needed ? FORMAT_DEDUP_PASS : FORMAT_DEDUP_DROP;
}

int format_dedup_event(struct ptl_relogger *relogger, struct ptl_relogger_input *input, size_t stream,
		       const struct ptl_event *event)
{
	struct format_dedup *dedup = &relogger->dedup;
	struct format_relogger_stream *own = &input->streams[stream];
	struct format_relogger_stream *target = own->leader ? own->leader : own;
	bool again;

	if (is_rundown(input, event, &again))
		return again ? FORMAT_DEDUP_DROP : FORMAT_DEDUP_PASS;
	input->extent.events++;
	if (!target->member)
		return FORMAT_DEDUP_PASS;
	if (event->time < dedup->low || event->time > dedup->high || !dedup->high)
		look_around(relogger, event->time);
	if (!dedup->overlap)
		return FORMAT_DEDUP_PASS;
	dedup->time = event->time;
	return compare_event(relogger, input, target, event);
}

void format_dedup_free(struct format_dedup *dedup)
{
	for (size_t i = 0; i < dedup->held; i++)
		free(dedup->waiting[i].data);
	free(dedup->waiting);
	common_byte_map_free(&dedup->counts);
	common_byte_map_free(&dedup->records);
	common_bytes_free(&dedup->key);
}
