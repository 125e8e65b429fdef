/* SPDX-License-Identifier: BSD-2-Clause */
/* What the threads have sent waits here for its turn, and goes into the capture in the order in which it was sent. */
#ifndef RECORD_QEMU_ORDER_H
#define RECORD_QEMU_ORDER_H

#include <stdbool.h>
#include <stdint.h>

#include "common/hash_map.h"
#include "record/capture/capture.h"
#include "record/qemu/facts.h"
#include "record/qemu/sequencer.h"

/* Zero-initialised but for capture and facts.model. */
struct record_qemu_order {
	struct record_capture *capture;
	struct record_sequencer sequencer;
	struct record_qemu_facts facts;
	/* of truth, by process number; of the dead too: a child may be seen after its parent */
	struct common_hash_map definitions;
};

void record_qemu_order_free(struct record_qemu_order *order);

/* All functions below return 0, PTL_NO_MEMORY, or what the capture returns. */

/*
 * A message, of which a copy is kept. image: what is known of the mapping that it reports, or NULL. definitions: the
 * truth stream that it concerns.
 */
int record_qemu_order_message(struct record_qemu_order *order, const struct qemu_message *message,
			      const struct ptl_image_event *image, uint32_t definitions);
/* All messages of the process, the last of which had this sequence number, have been put here: it is dead. */
int record_qemu_order_gone(struct record_qemu_order *order, uint32_t process, uint64_t sequence);
/*
 * The process runs a program with these truth definitions from this sequence number on; parent is the process with
 * whose definitions, as of then, they begin (0: none). The parent need not have been seen yet.
 */
int record_qemu_order_program(struct record_qemu_order *order, uint64_t sequence, uint32_t process,
			      uint32_t definitions, uint32_t parent);

/* Hands over what has its turn; with force, all. */
int record_qemu_order_deliver(struct record_qemu_order *order, uint64_t now, bool force);

#endif
