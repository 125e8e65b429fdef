/* SPDX-License-Identifier: BSD-2-Clause */
/* The code bytes of a trace, in memory: every blob that some address space refers to. */
#ifndef FLOW_CODE_CODE_H
#define FLOW_CODE_CODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "flow/timeline/query.h"

struct flow_code;

/*
 * What threads do that have no blob to load while others still load one: work(context, i) for each i below count, until all
 * blobs are there.
 */
struct flow_code_idle {
	size_t count;
	void *context;
	void (*work)(void *context, size_t i);
};

/*
 * Reads all blobs that the images and code events of the timeline name. They lie one after the
 * other in memory files, so that a decoder that wants files (libipt) and one that wants memory use
 * the same bytes. A blob that cannot be read is left out: its code is missing then. threads: as for
 * common_pipeline_run. idle may be NULL. PTL_NO_MEMORY, PTL_SYSTEM.
 */
int flow_code_open(struct ptl_trace *trace, const struct flow_timeline *timeline, unsigned threads,
		   const struct flow_code_idle *idle, struct flow_code **code);
void flow_code_close(struct flow_code *code);

const struct flow_timeline *flow_code_timeline(const struct flow_code *code);

/* Address filters of Intel PT; NULL: there are none. */
struct flow_filter;
const struct flow_filter *flow_code_filter(const struct flow_code *code);

/* A blob's bytes, which live as long as code; NULL: not there. blob may be FLOW_NONE. */
const uint8_t *flow_code_blob(const struct flow_code *code, uint32_t blob, uint64_t *size);

/* The same as part of a file: *path is valid as long as code; false: not there. */
bool flow_code_file(const struct flow_code *code, uint32_t blob, const char **path, uint64_t *offset);

/*
 * Copies up to size bytes from address on; returns how many are there in a row. root is of a
 * version of the timeline.
 */
size_t flow_code_read(const struct flow_code *code, flow_root root, uint64_t address, uint8_t *bytes, size_t size);

#endif
