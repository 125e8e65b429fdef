/* SPDX-License-Identifier: BSD-2-Clause */
/* Sorts messages of all threads by the order of sending, and passes the messages to the capture. */
#ifndef RECORD_CHANNEL_ORDER_H
#define RECORD_CHANNEL_ORDER_H

#include <stdbool.h>
#include <stdint.h>

#include "common/hash_map.h"
#include "record/capture/capture.h"
#include "record/channel/facts.h"
#include "record/channel/sequencer.h"

/* Zero-initialised, except for capture and facts.model. */
struct record_channel_order {
	struct record_capture *capture;
	struct record_sequencer sequencer;
	struct record_channel_facts facts;
};

void record_channel_order_free(struct record_channel_order *order);

/* Functions below return 0 or PTL_NO_MEMORY, or fail as the capture. */

/* Adds a copy of the message. image: the reported image of a mapping, or NULL. */
int record_channel_order_message(struct record_channel_order *order, const struct channel_message *message,
				 const struct ptl_image_event *image);
struct record_channel_death {
	uint32_t process;
	uint64_t sequence; /* number of the process's last message */
	bool has_status;
	uint32_t wait_status;
};

/* Notes the death of a process. All messages of the process have been added before. */
int record_channel_order_gone(struct record_channel_order *order, const struct record_channel_death *death);
/* Delivers messages that are next in order. force: delivers all messages. */
int record_channel_order_deliver(struct record_channel_order *order, uint64_t now, bool force);

#endif
