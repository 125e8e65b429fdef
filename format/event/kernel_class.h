/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Classifies kernel events. Only this module knows the meaning of providers and opcodes; code that handles processes,
 * threads and images uses this interface.
 */
#ifndef FORMAT_EVENT_KERNEL_CLASS_H
#define FORMAT_EVENT_KERNEL_CLASS_H

#include <ptl/kernel.h>

/*
 * Class of an event. Switches have the provider of threads but another payload; no thread begins or ends by a switch.
 */
enum format_class {
	FORMAT_CLASS_NONE,
	FORMAT_CLASS_PROCESS,
	FORMAT_CLASS_THREAD,
	FORMAT_CLASS_SWITCH,
	FORMAT_CLASS_IMAGE,
	FORMAT_CLASS_CODE,
	FORMAT_CLASS_SIGNAL,
};

/* What happens, independent of the class's opcode. */
enum format_action {
	FORMAT_ACTION_OTHER,         /* unknown opcode */
	FORMAT_ACTION_BEGIN,         /* a process or thread starts, an image is loaded */
	FORMAT_ACTION_START_RUNDOWN, /* the object existed when the capture or cut began */
	FORMAT_ACTION_END_RUNDOWN,   /* the object still exists when the capture or cut ends */
	FORMAT_ACTION_END,           /* a process or thread ends, an image is unloaded */
	FORMAT_ACTION_EXEC,          /* a process executes another program */
	FORMAT_ACTION_PROTECT,       /* the protection of an image changes */
	FORMAT_ACTION_SWITCH,        /* a CPU switches from one thread to another */
	FORMAT_ACTION_CODE,          /* bytes of code change */
	FORMAT_ACTION_SIGNAL,        /* a thread took a signal that ends the process */
};

enum format_class format_class_of(const struct ptl_descriptor *descriptor);
enum format_action format_action_of(enum format_class class, uint8_t opcode);

/* Whether an event reports an existing object, rather than a change. */
static inline bool format_is_rundown(enum format_action action)
{
	return action == FORMAT_ACTION_START_RUNDOWN || action == FORMAT_ACTION_END_RUNDOWN;
}

/* Whether an event's address range is valid: not empty, and not beyond the last address. */
static inline bool format_is_range(uint64_t base, uint64_t size)
{
	return size && size - 1 <= UINT64_MAX - base;
}

/* A decoded event of these classes. Strings live in the storage used for decoding. */
struct format_kernel_event {
	enum format_class class;
	enum format_action action;
	uint32_t pid; /* process of the event; PTL_NO_ID for a context switch */
	uint32_t tid; /* thread of a thread event; else PTL_NO_ID */
	union {
		struct ptl_process_event process;
		struct ptl_thread_event thread;
		struct ptl_switch_event switched;
		struct ptl_image_event image;
		struct ptl_code_event code;
		struct ptl_signal_event signal;
	};
};

/*
 * Decodes an event. Always sets class and action. FORMAT_CLASS_NONE returns PTL_NOT_OURS, without an error text.
 * Otherwise returns the status of the class's decoder (ptl/kernel.h). pid and tid are PTL_NO_ID on failure.
 */
int format_kernel_decode(const struct ptl_event *event, struct ptl_bytes *storage, struct format_kernel_event *decoded);

#endif
