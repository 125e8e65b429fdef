/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The tracepoint signal:signal_deliver, as a perf event. The kernel reports each signal whose default action a thread takes, in the
 * context of the thread. Reports need permission for tracepoints (root, or CAP_PERFMON and a readable tracefs).
 */
#ifndef RECORD_PERF_SIGNAL_EVENT_H
#define RECORD_PERF_SIGNAL_EVENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The tracepoint's number, and offsets of fields in its records. */
struct record_signal_event {
	uint32_t id; /* 0: the kernel does not describe the tracepoint */
	uint32_t signal_offset;
	uint32_t code_offset;
};

/* Reads the kernel's description. Leaves event->id 0 without permission. */
void record_signal_event_find(struct record_signal_event *event);

/* Keeps only signals that end a process by default. SIGKILL is left out: all threads of an ending process take SIGKILL. */
#define RECORD_SIGNAL_EVENT_FILTER                                                                                     \
	"sa_handler == 0 && sig != 9 && sig != 17 && sig != 18 && sig != 19 && sig != 20 && sig != 21 && sig != 22 "   \
	"&& "                                                                                                          \
	"sig != 23 && sig != 28"

/*
 * Reads signal and si_code of a record of the tracepoint: a number of bytes (u32), and the bytes. Returns false if the
 * record is too short.
 */
bool record_signal_event_read(const struct record_signal_event *event, const void *data, size_t size, uint32_t *signal,
			      int32_t *code);

#endif
