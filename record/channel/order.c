/* SPDX-License-Identifier: BSD-2-Clause */
/* Keeps copies of messages until all earlier messages have arrived. */
#include "record/channel/order.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "common/error.h"

enum waiting_kind { WAITING_MESSAGE, WAITING_GONE };

/* A message, or the death of a process. `death` and `message` of a death have the same process and sequence. */
struct waiting {
	enum waiting_kind kind;
	struct record_channel_death death;
	struct ptl_image_event *image;  /* owned, with its name; NULL without an image */
	struct channel_message message; /* the payload follows */
};

static void free_waiting(struct waiting *waiting)
{
	if (waiting->image)
		free((char *)waiting->image->file_name);
	free(waiting->image);
	free(waiting);
}

void record_channel_order_free(struct record_channel_order *order)
{
	struct waiting *waiting;

	while ((waiting = record_sequencer_pop(&order->sequencer, 0, true)))
		free_waiting(waiting);
	record_sequencer_free(&order->sequencer);
	record_channel_facts_free(&order->facts);
}

/* ---- arrival --------------------------------------------------------------------------------- */

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

static int push(struct record_channel_order *order, struct waiting *waiting, size_t size)
{
	int status = record_sequencer_push(&order->sequencer, waiting->message.sequence, waiting, size);

	if (status < 0)
		free_waiting(waiting);
	return status;
}

int record_channel_order_message(struct record_channel_order *order, const struct channel_message *message,
				 const struct ptl_image_event *image)
{
	const size_t size = offsetof(struct waiting, message) + message->size;
	struct waiting *waiting = malloc(size > sizeof(*waiting) ? size : sizeof(*waiting));

	if (!waiting)
		return common_fail_memory("message", size);
	*waiting = (struct waiting){.kind = WAITING_MESSAGE};
	waiting->image = image ? copy_image(image) : NULL;
	memcpy(&waiting->message, message, message->size);
	if (image && !waiting->image) {
		free(waiting);
		return common_fail_memory("message", size);
	}
	return push(order, waiting, size);
}

static int push_news(struct record_channel_order *order, const struct waiting *news)
{
	struct waiting *waiting = malloc(sizeof(*waiting));

	if (!waiting)
		return common_fail_memory("message", sizeof(*waiting));
	*waiting = *news;
	return push(order, waiting, sizeof(*waiting));
}

int record_channel_order_gone(struct record_channel_order *order, const struct record_channel_death *death)
{
	return push_news(order, &(struct waiting){
					.kind = WAITING_GONE,
					.death = *death,
					.message = {.sequence = death->sequence, .process = death->process},
				});
}

/* ---- delivery -------------------------------------------------------------------------------- */

static int deliver(struct record_channel_order *order, const struct waiting *waiting, uint64_t now)
{
	const uint32_t process = waiting->message.process;
	int status;

	switch (waiting->kind) {
	case WAITING_GONE:
		status = record_channel_facts_end(&order->facts, process, now);
		if (status == 0 && waiting->death.has_status)
			status = record_model_exit_status_of(order->facts.model, process, waiting->death.wait_status);
		return status < 0 ? status : record_model_gone(order->facts.model, process, now, true);
	case WAITING_MESSAGE:
		break;
	}
	return record_channel_fact(&order->facts, &waiting->message, waiting->image, now);
}

int record_channel_order_deliver(struct record_channel_order *order, uint64_t now, bool force)
{
	struct waiting *waiting;
	int status = 0;

	/* Pops all items, even after a failure: the loop frees each item. */
	while ((waiting = record_sequencer_pop(&order->sequencer, now, force))) {
		if (status == 0)
			status = deliver(order, waiting, now);
		free_waiting(waiting);
	}
	return status == 0 && force ? record_channel_facts_end_all(&order->facts, now) : status;
}
