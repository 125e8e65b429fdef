/* SPDX-License-Identifier: BSD-2-Clause */
/* The old thread's state in a context switch: fields of ETW's CSwitch that struct ptl_switch_event lacks. */
#ifndef FORMAT_EVENT_KERNEL_SWITCH_H
#define FORMAT_EVENT_KERNEL_SWITCH_H

#include "format/event/kernel_class.h"

/* KTHREAD_STATE of Windows: OldThreadState. PTL writes the states UNKNOWN, READY and WAITING. */
enum format_old_state {
	FORMAT_OLD_UNKNOWN = 0,
	FORMAT_OLD_READY = 1,
	FORMAT_OLD_RUNNING = 2,
	FORMAT_OLD_STANDBY = 3,
	FORMAT_OLD_TERMINATED = 4,
	FORMAT_OLD_WAITING = 5,
	FORMAT_OLD_TRANSITION = 6,
	FORMAT_OLD_DEFERRED_READY = 7,
};

struct format_old_thread {
	uint8_t state; /* enum format_old_state, or a number of a newer Windows */
	bool paging;   /* OldThreadWaitReason: the thread waits for a page from a disk */
};

/* Reads the old thread's state of a context switch, of any version. A short payload gives FORMAT_OLD_UNKNOWN. */
struct format_old_thread format_switch_old_thread(const struct ptl_event *event);
/* As ptl_switch_encode, with the old thread's state. */
int format_switch_encode(const struct ptl_switch_event *data, enum format_old_state state, struct ptl_bytes *storage,
			 struct ptl_event *event);

#endif
