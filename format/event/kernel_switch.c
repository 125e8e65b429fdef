/* SPDX-License-Identifier: BSD-2-Clause */
#include "format/event/kernel_switch.h"

#define REASON_AT 12 /* OldThreadWaitReason */
#define STATE_AT 14  /* OldThreadState */
/* KWAIT_REASON of Windows: PageIn, and the same for waits within the kernel */
#define PAGE_IN 2
#define WR_PAGE_IN 9
#define PAYLOAD 24

struct format_old_thread format_switch_old_thread(const struct ptl_event *event)
{
	struct format_old_thread old = {FORMAT_OLD_UNKNOWN, false};

	if (event->payload_size > STATE_AT) {
		const uint8_t *payload = event->payload;

		old.state = payload[STATE_AT];
		old.paging = payload[REASON_AT] == PAGE_IN || payload[REASON_AT] == WR_PAGE_IN;
	}
	return old;
}

int format_switch_encode(const struct ptl_switch_event *data, enum format_old_state state, struct ptl_bytes *storage,
			 struct ptl_event *event)
{
	const int status = ptl_switch_encode(data, storage, event);

	if (status == 0)
		storage->data[storage->size - PAYLOAD + STATE_AT] = (uint8_t)state;
	return status;
}
