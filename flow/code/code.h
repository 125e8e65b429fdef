/* SPDX-License-Identifier: BSD-2-Clause */
/* The code bytes of a trace in memory: every blob used by an address space. */
#ifndef FLOW_CODE_CODE_H
#define FLOW_CODE_CODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "flow/timeline/query.h"

struct flow_code;

/*
 * Work for idle threads while other threads still load blobs: work(context, i) for each i below count, until all blobs
 * are loaded.
 */
struct flow_code_idle {
	size_t count;
	void *context;
	void (*work)(void *context, size_t i);
};

/*
 * Reads all blobs used by the timeline's images and code events. The blobs lie one after another in memory files:
 * libipt, which needs files, and engines that need memory use the same bytes. An unreadable blob is left out, and its
 * code is missing. threads: as for common_pipeline_run. idle may be NULL. Returns PTL_NO_MEMORY or PTL_SYSTEM.
 */
int flow_code_open(struct ptl_trace *trace, const struct flow_timeline *timeline, unsigned threads,
		   const struct flow_code_idle *idle, struct flow_code **code);
void flow_code_close(struct flow_code *code);

const struct flow_timeline *flow_code_timeline(const struct flow_code *code);

/* Returns the address filters of Intel PT; NULL: no filters. */
struct flow_filter;
const struct flow_filter *flow_code_filter(const struct flow_code *code);

/* Returns a blob's bytes, which are valid as long as code; NULL: not available. blob may be FLOW_NONE. */
const uint8_t *flow_code_blob(const struct flow_code *code, uint32_t blob, uint64_t *size);

/* Finds a blob's place in a memory file. *path is valid as long as code. Returns false if the blob is not available. */
bool flow_code_file(const struct flow_code *code, uint32_t blob, const char **path, uint64_t *offset);

/*
 * Copies up to size bytes from address on. Returns the number of contiguous bytes copied. root: root of a version of
 * the timeline.
 */
size_t flow_code_read(const struct flow_code *code, flow_root root, uint64_t address, uint8_t *bytes, size_t size);

#endif
