/* SPDX-License-Identifier: BSD-2-Clause */
/* Notes blobs by their numbers in the inputs. */
#include "relog/cut/blobs.h"

#include <stdlib.h>

#include "common/error.h"

int relog_kept_blobs_begin(struct relog_kept_blobs *blobs, struct ptl_relogger *relogger)
{
	const size_t count = ptl_relogger_input_count(relogger);

	blobs->relogger = relogger;
	blobs->bits = calloc(count + 1, sizeof(*blobs->bits));
	for (size_t i = 0; blobs->bits && i < count; i++) {
		const struct ptl_relogger_input *input = ptl_relogger_input_at(relogger, i);
		const size_t size = ptl_blob_count(ptl_relogger_input_trace(input)) / 8 + 1;

		blobs->bits[i] = calloc(size, 1);
		if (!blobs->bits[i])
			return common_fail_memory("blobs", size);
	}
	return blobs->bits ? 0 : common_fail_memory("blobs", count * sizeof(*blobs->bits));
}

void relog_kept_blobs_free(struct relog_kept_blobs *blobs)
{
	for (size_t i = 0; blobs->bits && i < ptl_relogger_input_count(blobs->relogger); i++)
		free(blobs->bits[i]);
	free(blobs->bits);
	*blobs = (struct relog_kept_blobs){0};
}

void relog_kept_blobs_note(struct relog_kept_blobs *blobs, const uint8_t hash[PTL_HASH_SIZE])
{
	for (size_t i = 0; i < ptl_relogger_input_count(blobs->relogger); i++) {
		const struct ptl_relogger_input *input = ptl_relogger_input_at(blobs->relogger, i);
		const uint32_t number = ptl_blob_number(ptl_relogger_input_trace(input), hash);

		if (number != PTL_NO_ID)
			blobs->bits[i][number / 8] |= (uint8_t)(1 << number % 8);
	}
}

void relog_kept_blobs_note_event(struct relog_kept_blobs *blobs, const struct relog_subject *subject)
{
	const struct ptl_image_event *image = &subject->event.image;

	if (!subject->understood)
		return;
	if (subject->event.class == FORMAT_CLASS_CODE)
		relog_kept_blobs_note(blobs, subject->event.code.code);
	if (subject->event.class != FORMAT_CLASS_IMAGE)
		return;
	if (image->has_code)
		relog_kept_blobs_note(blobs, image->code);
	if (image->has_symbols)
		relog_kept_blobs_note(blobs, image->symbols);
	if (image->has_debug)
		relog_kept_blobs_note(blobs, image->debug);
}

bool relog_kept_blobs_has(const struct relog_kept_blobs *blobs, const struct ptl_relogger_input *input,
			  const uint8_t hash[PTL_HASH_SIZE])
{
	const uint32_t number = ptl_blob_number(ptl_relogger_input_trace(input), hash);

	for (size_t i = 0; number != PTL_NO_ID && i < ptl_relogger_input_count(blobs->relogger); i++)
		if (ptl_relogger_input_at(blobs->relogger, i) == input)
			return blobs->bits[i][number / 8] >> number % 8 & 1;
	return false;
}
