/* SPDX-License-Identifier: BSD-2-Clause */
/* Decodes several segments in turn: runs of TNT packets by the TNT16 cache, all other packets by the decoder. */
#include "flow/native/interleaved.h"

#include <stdlib.h>

#include "common/error.h"
#include "flow/native/interleaved_tnt.h"

int native_interleaved_open(struct native_interleaved **slots, struct native_decoder *first)
{
	struct native_interleaved *opened = calloc(NATIVE_INTERLEAVED, sizeof(*opened));
	int status = opened ? 0 : common_fail_memory("slots", NATIVE_INTERLEAVED * sizeof(*opened));

	for (size_t i = 0; !status && i < NATIVE_INTERLEAVED; i++)
		status = native_decoder_join(&opened[i].decoder, first);
	if (status < 0)
		native_interleaved_close(opened);
	else
		*slots = opened;
	return status;
}

void native_interleaved_close(struct native_interleaved *slots)
{
	for (size_t i = 0; slots && i < NATIVE_INTERLEAVED; i++)
		native_decoder_close(&slots[i].decoder);
	free(slots);
}

/* Decodes packets up to the next run of TNT packets. Returns false if the segment has ended. */
static bool advance_slot(struct native_interleaved *slot)
{
	while (native_decoder_read(&slot->decoder, slot)) {
		slot->counting = native_interleaved_tnt_begin(slot);
		if (slot->counting && !native_interleaved_tnt_goes_on(slot))
			native_interleaved_tnt_end(slot);
		else if (slot->counting)
			return true;
	}
	slot->counting = false;
	return false;
}

void native_interleaved_start(struct native_interleaved *slot)
{
	slot->refused = NULL;
	slot->busy = true;
	native_decoder_begin(&slot->decoder, &slot->input, &slot->sink);
	slot->counting = advance_slot(slot);
}

bool native_interleaved_done(struct native_interleaved *slot, int *status)
{
	if (!slot->busy || slot->counting)
		return false;
	slot->busy = false;
	*status = native_decoder_end(&slot->decoder, &slot->input);
	return true;
}

void native_interleaved_count(struct native_interleaved *slots)
{
	struct native_interleaved *counting[NATIVE_INTERLEAVED];
	unsigned count = 0;
	bool all = true;

	for (size_t i = 0; i < NATIVE_INTERLEAVED; i++)
		if (slots[i].counting)
			counting[count++] = &slots[i];
	/* until a segment ends */
	while (count && all) {
		native_interleaved_tnt_run(counting[0]->decoder.code, counting, count);
		for (unsigned i = 0; i < count; i++) {
			if (native_interleaved_tnt_goes_on(counting[i]))
				continue;
			native_interleaved_tnt_end(counting[i]);
			counting[i]->counting = advance_slot(counting[i]);
			all &= counting[i]->counting;
		}
	}
}
