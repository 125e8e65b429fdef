/* SPDX-License-Identifier: BSD-2-Clause */
/* Notes blobs by their numbers in the inputs. */
#include "relog/cut/blobs.h"

#include <stdlib.h>
#include <string.h>

#include "common/error.h"
#include "format/relogger/ahead.h"

#define EXPECTED_BYTES 96 /* memory for a hash in a map */

int relog_kept_blobs_begin(struct relog_kept_blobs *blobs, struct ptl_relogger *relogger)
{
	const size_t count = ptl_relogger_input_count(relogger);

	blobs->relogger = relogger;
	blobs->live = format_relogger_is_live(relogger);
	blobs->inputs = calloc(count + 1, sizeof(*blobs->inputs));
	return blobs->inputs ? 0 : common_fail_memory("blobs", count * sizeof(*blobs->inputs));
}

void relog_kept_blobs_free(struct relog_kept_blobs *blobs)
{
	for (size_t i = 0; blobs->inputs && i < ptl_relogger_input_count(blobs->relogger); i++)
		free(blobs->inputs[i].bits);
	free(blobs->inputs);
	common_byte_map_free(&blobs->expected);
	common_memory_budget_close(&blobs->memory_budget);
	*blobs = (struct relog_kept_blobs){0};
}

/* An input that is being written gains blobs, so the bitmap grows. */
static int set_bit(struct relog_blob_bits *bits, const struct ptl_relogger_input *input, uint32_t number)
{
	const size_t size = ptl_blob_count(ptl_relogger_input_trace(input)) / 8 + 1;

	if (number / 8 >= bits->size) {
		const size_t room = size > 2 * bits->size ? size : 2 * bits->size;
		uint8_t *more = realloc(bits->bits, room);

		if (!more)
			return common_fail_memory("blobs", room);
		memset(more + bits->size, 0, room - bits->size);
		bits->bits = more;
		bits->size = room;
	}
	bits->bits[number / 8] |= (uint8_t)(1 << number % 8);
	return 0;
}

static int expect(struct relog_kept_blobs *blobs, const uint8_t hash[PTL_HASH_SIZE])
{
	int status;

	if (common_byte_map_get(&blobs->expected, hash, PTL_HASH_SIZE))
		return 0;
	status = common_memory_budget_take(&blobs->memory_budget, EXPECTED_BYTES, "blobs that are yet to come",
					   blobs->expected.used + 1);
	if (!status && common_byte_map_put(&blobs->expected, hash, PTL_HASH_SIZE, 1) < 0)
		status = common_fail_memory("blobs", EXPECTED_BYTES);
	return status;
}

int relog_kept_blobs_note(struct relog_kept_blobs *blobs, const uint8_t hash[PTL_HASH_SIZE])
{
	bool found = false;
	int status = 0;

	for (size_t i = 0; !status && i < ptl_relogger_input_count(blobs->relogger); i++) {
		const struct ptl_relogger_input *input = ptl_relogger_input_at(blobs->relogger, i);
		const uint32_t number = ptl_blob_number(ptl_relogger_input_trace(input), hash);

		if (number == PTL_NO_ID)
			continue;
		found = true;
		status = set_bit(&blobs->inputs[i], input, number);
	}
	return status || found || !blobs->live ? status : expect(blobs, hash);
}

int relog_kept_blobs_note_event(struct relog_kept_blobs *blobs, const struct relog_subject *subject)
{
	const struct ptl_image_event *image = &subject->event.image;
	int status = 0;

	if (!subject->understood)
		return 0;
	if (subject->event.class == FORMAT_CLASS_CODE)
		return relog_kept_blobs_note(blobs, subject->event.code.code);
	if (subject->event.class != FORMAT_CLASS_IMAGE)
		return 0;
	if (image->has_code)
		status = relog_kept_blobs_note(blobs, image->code);
	if (!status && image->has_symbols)
		status = relog_kept_blobs_note(blobs, image->symbols);
	if (!status && image->has_debug)
		status = relog_kept_blobs_note(blobs, image->debug);
	return status;
}

bool relog_kept_blobs_has(const struct relog_kept_blobs *blobs, const struct ptl_relogger_input *input,
			  const uint8_t hash[PTL_HASH_SIZE])
{
	const uint32_t number = ptl_blob_number(ptl_relogger_input_trace(input), hash);

	if (common_byte_map_get(&blobs->expected, hash, PTL_HASH_SIZE))
		return true;
	for (size_t i = 0; number != PTL_NO_ID && i < ptl_relogger_input_count(blobs->relogger); i++)
		if (ptl_relogger_input_at(blobs->relogger, i) == input)
			return number / 8 < blobs->inputs[i].size &&
			       blobs->inputs[i].bits[number / 8] >> number % 8 & 1;
	return false;
}
