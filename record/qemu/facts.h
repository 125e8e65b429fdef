/* SPDX-License-Identifier: BSD-2-Clause */
/* The plugin's messages, in their order, become facts about processes. */
#ifndef RECORD_QEMU_FACTS_H
#define RECORD_QEMU_FACTS_H

#include <stdint.h>

#include <ptl/kernel.h>

#include "common/hash_map.h"
#include "record/model/model.h"
#include "record/qemu/shared/channel.h"

/* model is set by the caller; all else begins zeroed. */
struct record_qemu_facts {
	struct record_model *model;
	struct common_hash_map programs; /* process number: what has come of the program that it executes */
};

void record_qemu_facts_free(struct record_qemu_facts *facts);

/*
 * Takes the next message, whose size has been checked as record/qemu/channel.h promises. image: the mapping of
 * QEMU_MSG_IMAGE_MAP, as far as its file is known; NULL for other types. PTL_NO_MEMORY, or what the model returns.
 */
int record_qemu_fact(struct record_qemu_facts *facts, const struct qemu_message *message,
		     const struct ptl_image_event *image, uint64_t now);

/* Nothing more will come of this process: what has come of a program's strings is all. */
int record_qemu_facts_end(struct record_qemu_facts *facts, uint32_t process, uint64_t now);
/* The same, of all processes. */
int record_qemu_facts_end_all(struct record_qemu_facts *facts, uint64_t now);

#endif
