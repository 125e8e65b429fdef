/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Threads that drain AUX areas while the recorder is busy, for example with the code of a new mapping. Each thread has
 * some buffers. The kernel wakes the thread after each quarter of an AUX area. The thread wakes the recorder. If the
 * area is half full, because the recorder is late, the thread copies the packets into the buffer's queue, and thus
 * frees room for the kernel. The recorder drains the queue first. Without delays of the recorder, packets are copied
 * only once.
 */
#ifndef RECORD_INTEL_PT_DRAINERS_H
#define RECORD_INTEL_PT_DRAINERS_H

#include <stddef.h>
#include <stdint.h>

struct intel_pt;
struct intel_pt_buffer;
struct intel_pt_drainers;

/*
 * Starts threads that wake the session's wait. memory: maximum bytes in all queues together. Fails with PTL_SYSTEM or
 * PTL_NO_MEMORY.
 */
int intel_pt_drainers_start(const struct intel_pt *pt, unsigned threads, uint64_t memory,
			    struct intel_pt_drainers **drainers);
/* Stops the threads, after all buffers were removed. Accepts NULL. */
void intel_pt_drainers_stop(struct intel_pt_drainers *drainers);

/*
 * Gives a buffer to the thread with the fewest buffers. fd: descriptor of the event with the rings. Fails with
 * PTL_SYSTEM or PTL_NO_MEMORY.
 */
int intel_pt_drainers_add(struct intel_pt_drainers *drainers, struct intel_pt_buffer *buffer, int fd);
/*
 * Removes a buffer: afterwards only the caller uses the buffer, and its queue is empty. Ignores a buffer that was not
 * added.
 */
void intel_pt_drainers_remove(struct intel_pt_drainers *drainers, struct intel_pt_buffer *buffer, int fd);

#endif
