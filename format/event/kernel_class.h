/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What an event of the kernel says. This is the one place that knows which provider and opcode means what: code that handles
 * processes, threads and images asks here.
 */
#ifndef FORMAT_EVENT_KERNEL_CLASS_H
#define FORMAT_EVENT_KERNEL_CLASS_H

#include <ptl/kernel.h>

/* FORMAT_CLASS_SWITCH: its provider is that of threads, but its payload is another, and no thread begins or ends by it. */
enum format_class {
	FORMAT_CLASS_NONE,
	FORMAT_CLASS_PROCESS,
	FORMAT_CLASS_THREAD,
	FORMAT_CLASS_SWITCH,
	FORMAT_CLASS_IMAGE,
	FORMAT_CLASS_CODE,
};

/* What happens, whatever the class's own opcode for it is. */
enum format_action {
	FORMAT_ACTION_OTHER,         /* the opcode is not known */
	FORMAT_ACTION_BEGIN,         /* a process or thread starts, an image is loaded */
	FORMAT_ACTION_START_RUNDOWN, /* it was there when the capture or cut began */
	FORMAT_ACTION_END_RUNDOWN,   /* it is still there when that ends */
	FORMAT_ACTION_END,           /* a process or thread ends, an image is unloaded */
	FORMAT_ACTION_EXEC,          /* a process runs another program */
	FORMAT_ACTION_PROTECT,       /* the protection of an image changes */
	FORMAT_ACTION_SWITCH,        /* a CPU goes from one thread to another */
	FORMAT_ACTION_CODE,          /* bytes of code change */
};

enum format_class format_class_of(const struct ptl_descriptor *descriptor);
enum format_action format_action_of(enum format_class class, uint8_t opcode);

/* Whether an event reports what was there already, or still is, rather than what happens. */
static inline bool format_is_rundown(enum format_action action)
{
	return action == FORMAT_ACTION_START_RUNDOWN || action == FORMAT_ACTION_END_RUNDOWN;
}

/* Whether a range of addresses, as an event states it, is one: not empty, and not beyond the last address. */
static inline bool format_is_range(uint64_t base, uint64_t size)
{
	return size && size - 1 <= UINT64_MAX - base;
}

/* An event of these classes. Strings live in the storage that it was decoded with. */
struct format_kernel_event {
	enum format_class class;
	enum format_action action;
	uint32_t pid; /* of the process that it is about; PTL_NO_ID for a context switch */
	uint32_t tid; /* of a thread event; else PTL_NO_ID */
	union {
		struct ptl_process_event process;
		struct ptl_thread_event thread;
		struct ptl_switch_event switched;
		struct ptl_image_event image;
		struct ptl_code_event code;
	};
};

/*
 * Class and action are always set; FORMAT_CLASS_NONE gives PTL_NOT_OURS, without a message. Otherwise returns what the decoder of the
 * class returns (ptl/kernel.h); pid and tid are PTL_NO_ID after a failure.
 */
int format_kernel_decode(const struct ptl_event *event, struct ptl_bytes *storage, struct format_kernel_event *decoded);

#endif
