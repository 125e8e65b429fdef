/* SPDX-License-Identifier: BSD-2-Clause */
/* Keeps copies of messages until all that were sent before them have come. */
#include "record/qemu/order.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "common/error.h"

enum waiting_kind { WAITING_MESSAGE, WAITING_GONE, WAITING_PROGRAM };

/* Of what is no message, `message` has the process and the sequence number alone. */
struct waiting {
	enum waiting_kind kind;
	uint32_t definitions;
	uint32_t parent;               /* WAITING_PROGRAM */
	struct ptl_image_event *image; /* owned, with its name; NULL: none */
	struct qemu_message message;   /* its payload follows */
};

static void free_waiting(struct waiting *waiting)
{
	if (waiting->image)
		free((char *)waiting->image->file_name);
	free(waiting->image);
	free(waiting);
}

void record_qemu_order_free(struct record_qemu_order *order)
{
	struct waiting *waiting;

	while ((waiting = record_sequencer_pop(&order->sequencer, 0, true)))
		free_waiting(waiting);
	record_sequencer_free(&order->sequencer);
	record_qemu_facts_free(&order->facts);
	common_hash_map_free(&order->definitions);
}

/* ---- what comes ------------------------------------------------------------------------------ */

static struct ptl_image_event *copy_image(const struct ptl_image_event *image)
{
	struct ptl_image_event *copy = malloc(sizeof(*copy));

	if (!copy)
		return NULL;
	*copy = *image;
	copy->file_name = strdup(image->file_name);
	if (copy->file_name)
		return copy;
	free(copy);
	return NULL;
}

static int push(struct record_qemu_order *order, struct waiting *waiting, size_t size)
{
	int status = record_sequencer_push(&order->sequencer, waiting->message.sequence, waiting, size);

	if (status < 0)
		free_waiting(waiting);
	return status;
}

int record_qemu_order_message(struct record_qemu_order *order, const struct qemu_message *message,
			      const struct ptl_image_event *image, uint32_t definitions)
{
	const size_t size = offsetof(struct waiting, message) + message->size;
	struct waiting *waiting = malloc(size > sizeof(*waiting) ? size : sizeof(*waiting));

	if (!waiting)
		return common_fail_memory("message", size);
	*waiting = (struct waiting){.kind = WAITING_MESSAGE, .definitions = definitions};
	waiting->image = image ? copy_image(image) : NULL;
	memcpy(&waiting->message, message, message->size);
	if (image && !waiting->image) {
		free(waiting);
		return common_fail_memory("message", size);
	}
	return push(order, waiting, size);
}

static int push_news(struct record_qemu_order *order, const struct waiting *news)
{
	struct waiting *waiting = malloc(sizeof(*waiting));

	if (!waiting)
		return common_fail_memory("message", sizeof(*waiting));
	*waiting = *news;
	return push(order, waiting, sizeof(*waiting));
}

int record_qemu_order_gone(struct record_qemu_order *order, uint32_t process, uint64_t sequence)
{
	return push_news(order, &(struct waiting){
					.kind = WAITING_GONE,
					.message = {.sequence = sequence, .process = process},
				});
}

int record_qemu_order_program(struct record_qemu_order *order, uint64_t sequence, uint32_t process,
			      uint32_t definitions, uint32_t parent)
{
	return push_news(order, &(struct waiting){
					.kind = WAITING_PROGRAM,
					.definitions = definitions,
					.parent = parent,
					.message = {.sequence = sequence, .process = process},
				});
}

/* ---- what has its turn ----------------------------------------------------------------------- */

static int take_block(struct record_qemu_order *order, const struct waiting *waiting)
{
	const struct qemu_message_block *block = (const void *)&waiting->message;

	if (!waiting->definitions)
		return 0;
	/* Addresses of a message are aligned to 8 as the message is. */
	return record_capture_truth_block(order->capture, waiting->definitions, block->number,
					  (const uint64_t *)(const void *)(block + 1), block->count);
}

/* In the messages' order the parent's definitions are known by now, and hold what it had then. */
static int begin_definitions(struct record_qemu_order *order, const struct waiting *waiting)
{
	const uint64_t *found = waiting->parent ? common_hash_map_get(&order->definitions, waiting->parent) : NULL;
	int status = 0;

	if (found)
		status = record_capture_truth_inherit(order->capture, waiting->definitions, (uint32_t)*found);
	return status < 0 ? status
			  : common_hash_map_put(&order->definitions, waiting->message.process, waiting->definitions);
}

static int deliver(struct record_qemu_order *order, const struct waiting *waiting, uint64_t now)
{
	const uint32_t process = waiting->message.process;
	int status;

	switch (waiting->kind) {
	case WAITING_PROGRAM:
		return begin_definitions(order, waiting);
	case WAITING_GONE:
		status = record_qemu_facts_end(&order->facts, process, now);
		return status < 0 ? status : record_model_gone(order->facts.model, process, now, true);
	case WAITING_MESSAGE:
		break;
	}
	return waiting->message.type == QEMU_MSG_BLOCK
		       ? take_block(order, waiting)
		       : record_qemu_fact(&order->facts, &waiting->message, waiting->image, now);
}

int record_qemu_order_deliver(struct record_qemu_order *order, uint64_t now, bool force)
{
	struct waiting *waiting;
	int status = 0;

	/* All are popped, so that none is left behind, also after a failure. */
	while ((waiting = record_sequencer_pop(&order->sequencer, now, force))) {
		if (status == 0)
			status = deliver(order, waiting, now);
		free_waiting(waiting);
	}
	return status == 0 && force ? record_qemu_facts_end_all(&order->facts, now) : status;
}
