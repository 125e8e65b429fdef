/* SPDX-License-Identifier: BSD-2-Clause */
/* Internals shared by the files of ptl/decoder.h. */
#ifndef FLOW_LIBRARY_DECODER_H
#define FLOW_LIBRARY_DECODER_H

#include <ptl/decoder.h>

#include "flow/decoder/code.h"
#include "flow/decoder/packets.h"
#include "flow/decoder/tally.h"

#define LIBRARY_CHANGES_MAX 64

/* Ranges of addresses, copied from the options. */
struct library_ranges {
	struct flow_code_span list[DECODER_RANGES_MAX];
	size_t count;
};

struct ptl_decoder {
	struct decoder_code code;
	struct native_decoder native;
	struct decoder_packets packets;
	struct decoder_tally tally;
	struct flow_sink sink;
	struct library_ranges counted; /* blocks that count */
	struct library_ranges filter;  /* the CPU's filter */
	int (*batch)(void *context, struct ptl_flow_batch *batch);
	void *batch_context;
	size_t memory_limit;
	bool began;     /* packets of an execution have come */
	uint64_t bytes; /* packets of the execution */
	/* Changes of code that the engine does not know yet; `all`: too many changes. */
	struct flow_code_span changes[LIBRARY_CHANGES_MAX];
	size_t change_count;
	bool all_changed;
	struct ptl_decoder_function *functions;
	size_t function_count, function_capacity;
};

/* Checks the range of addresses. Returns PTL_MISUSE. */
int flow_library_check_memory(const struct ptl_flow_memory *memory);
/* Adds a checked range to the decoder's code. */
int flow_library_add_memory(struct ptl_decoder *decoder, const struct ptl_flow_memory *memory);

#endif
