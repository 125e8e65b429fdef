/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Threads that stand by while the recorder is busy otherwise, as with the code of what a process maps. Each has some buffers.
 * The kernel wakes it whenever a quarter of an AUX area has been filled; it wakes the recorder, and where that has not come by
 * the time half of the area is full, copies what is there into the buffer's queue, which gives the kernel room again. What is in
 * the queue is taken first. So nothing is copied twice as long as the recorder keeps up.
 */
#ifndef RECORD_INTEL_PT_DRAINERS_H
#define RECORD_INTEL_PT_DRAINERS_H

#include <stddef.h>
#include <stdint.h>

struct intel_pt;
struct intel_pt_buffer;
struct intel_pt_drainers;

/*
 * Starts so many threads, which wake the session's wait. memory: bytes that may wait in all queues together. PTL_SYSTEM,
 * PTL_NO_MEMORY.
 */
int intel_pt_drainers_start(const struct intel_pt *pt, unsigned threads, uint64_t memory,
			    struct intel_pt_drainers **drainers);
/* They have no buffers any more. NULL is allowed. */
void intel_pt_drainers_stop(struct intel_pt_drainers *drainers);

/* Hands a buffer to the thread that has the fewest; fd: of the event whose rings it has. PTL_SYSTEM, PTL_NO_MEMORY. */
int intel_pt_drainers_add(struct intel_pt_drainers *drainers, struct intel_pt_buffer *buffer, int fd);
/* Nobody but the caller uses the buffer from now on; its queue becomes empty. One that was not added is none's. */
void intel_pt_drainers_remove(struct intel_pt_drainers *drainers, struct intel_pt_buffer *buffer, int fd);

#endif
