/* SPDX-License-Identifier: BSD-2-Clause */
/* Translates messages of the runtime, in their order, into facts about processes. */
#ifndef RECORD_CHANNEL_FACTS_H
#define RECORD_CHANNEL_FACTS_H

#include <stdint.h>

#include <ptl/kernel.h>

#include "common/hash_map.h"
#include "record/channel/shared/channel.h"
#include "record/model/model.h"

/* Zero-initialised, except for model, which the caller sets. */
struct record_channel_facts {
	struct record_model *model;
	struct common_hash_map programs; /* strings received so far, by process number */
};

void record_channel_facts_free(struct record_channel_facts *facts);

/*
 * Translates the next message, whose size has been checked as channel_read_message promises.
 * image: mapping of a CHANNEL_MSG_IMAGE_MAP with the known facts of its file; NULL for other types.
 * Fails with PTL_NO_MEMORY, or as the model.
 */
int record_channel_fact(struct record_channel_facts *facts, const struct channel_message *message,
			const struct ptl_image_event *image, uint64_t now);

/* Ends the messages of a process. Reports a program with the strings so far. */
int record_channel_facts_end(struct record_channel_facts *facts, uint32_t process, uint64_t now);
/* Ends the messages of all processes. */
int record_channel_facts_end_all(struct record_channel_facts *facts, uint64_t now);

#endif
