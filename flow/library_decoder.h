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

/* An address space. */
struct library_space {
	struct decoder_code code; /* the first member: context of the engine's functions */
	struct native_code *native;
	struct native_code own; /* `native`, except for the first space, which has the engine's own code */
	uint64_t number;
	struct ptl_decoder *decoder;
};

struct ptl_decoder {
	struct native_decoder native;
	struct library_space **spaces; /* the first is space 0 */
	size_t space_count, space_capacity;
	uint64_t spaces_made;
	struct library_space *space;      /* of the engine */
	struct library_space *next_space; /* of the next packet; NULL: the same */
	bool (*read)(void *context, uint64_t address, void *bytes, size_t size);
	bool (*read_space)(void *context, uint64_t space, uint64_t address, void *bytes, size_t size);
	void *read_context;
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
/* Adds a checked range to the code of all spaces. */
int flow_library_add_memory(struct ptl_decoder *decoder, const struct ptl_flow_memory *memory);

/* Returns the functions that give the space's code to the engine. */
struct native_source flow_library_source(struct library_space *space);

/* Adds a space without memory for its code. Returns PTL_NO_MEMORY, PTL_UNSUPPORTED. */
int flow_library_add_space(struct ptl_decoder *decoder, uint64_t number, struct library_space **added);
/* Sets the space of the next packet. Returns PTL_NO_MEMORY, PTL_UNSUPPORTED. */
int flow_library_prepare_switch(struct ptl_decoder *decoder, uint64_t number);
/* Lets the engine use the space of the next packet. */
void flow_library_apply_switch(struct ptl_decoder *decoder);
/* Begins an execution in space 0. No segment is open. */
void flow_library_begin_spaces(struct ptl_decoder *decoder);
/* Forgets what was learned of the code of all spaces, and all spaces but the first and the current. No batch may be in use. */
void flow_library_forget_spaces(struct ptl_decoder *decoder);
void flow_library_free_spaces(struct ptl_decoder *decoder);
/* Returns the bytes of memory for the code of all spaces. */
uint64_t flow_library_space_memory(const struct ptl_decoder *decoder);

#endif
