/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A decoder of Intel PT that lives as long as its user: fuzzers, coverage collectors and monitors feed packets, execution
 * after execution, and the decoder keeps all that it has learned of the code. libptl-flow(3) describes the library;
 * testdata/examples/executor.c is a fuzzer's executor.
 *
 *	ptl_decoder_new        once, with a way to get code
 *	ptl_decoder_feed       packets of an execution, in pieces of any size
 *	ptl_decoder_end        ends the execution, and gives its sums
 *	ptl_decoder_free
 *
 * An execution is the packets between two calls of ptl_decoder_end. Each execution begins without state: bytes before the
 * first PSB of an execution are a gap. A monitor of a stream without executions calls ptl_decoder_flush instead.
 *
 * Rules for all functions and structures: see ptl/flow.h. One thread at a time may use a decoder.
 */
#ifndef PTL_DECODER_H
#define PTL_DECODER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <ptl/flow.h>

#ifdef __cplusplus
extern "C" {
#endif

struct ptl_decoder;

/* A range of addresses, both inclusive. */
struct ptl_decoder_range {
	uint64_t first;
	uint64_t last;
};

/* Bits of options.outputs. Sums and the bitmap need no bit. */
#define PTL_DECODER_EDGES 0x01u     /* exact edges with counts: ptl_decoder_edges */
#define PTL_DECODER_FUNCTIONS 0x02u /* functions entered, with counts: ptl_decoder_functions */
#define PTL_DECODER_HASH 0x04u      /* sums.hash */
#define PTL_DECODER_SPACES 0x08u    /* sums of each address space: ptl_decoder_spaces */

/* Index of the edge `from` to `to` in a bitmap of `size` bytes, a power of two. */
static inline uint32_t ptl_decoder_bitmap_index(uint64_t from, uint64_t to, size_t size)
{
	const uint64_t factor = 0x9e3779b97f4a7c15u;

	return (uint32_t)((from * factor >> 33) ^ (to * factor >> 32)) & (uint32_t)(size - 1);
}

struct ptl_decoder_options {
	size_t size; /* sizeof(struct ptl_decoder_options) */
	/*
	 * CPU (for errata), mode of execution, timing and clock, as in struct ptl_flow_raw. NULL: an unknown CPU, 64-bit
	 * code, no times.
	 */
	const struct ptl_machine *machine;

	/*
	 * Code. Ranges in `memory` come first; if ranges overlap, the later range counts. The bytes are not copied: the
	 * caller keeps the bytes until the decoder is freed, or the range is replaced.
	 */
	const struct ptl_flow_memory *memory;
	size_t memory_count;
	/*
	 * Reads `size` bytes of code at `address`; the bytes lie in one page of 4 KiB. Returns false if any of the bytes
	 * is missing. Called once for each page, for addresses outside of `memory`; later calls follow
	 * ptl_decoder_change and a full cache. NULL: no other code.
	 */
	bool (*read)(void *context, uint64_t address, void *bytes, size_t size);
	void *read_context;

	unsigned outputs; /* PTL_DECODER_EDGES and so on */
	/*
	 * Counts of edges by ptl_decoder_bitmap_index, complete after ptl_decoder_end. A count stops at 255. The caller
	 * clears the bitmap. bitmap_size: a power of two from 64 to 1 << 30, or 0: no bitmap.
	 */
	uint8_t *bitmap;
	size_t bitmap_size;
	/*
	 * Receives the flow in order, as a view's consume. A negative result ends the execution; the function that fed
	 * packets returns the result. NULL: no flow in order.
	 */
	int (*batch)(void *context, struct ptl_flow_batch *batch);
	void *batch_context;

	/*
	 * Only blocks that begin in a range count for all outputs except `batch`. An edge counts if both of its blocks
	 * do. NULL and 0: all blocks. At most 64 ranges.
	 */
	const struct ptl_decoder_range *ranges;
	size_t range_count;
	/*
	 * The CPU's address filter, if known: packets come from code in these ranges alone. Needed for erratum SKL014. At
	 * most 64 ranges.
	 */
	const struct ptl_decoder_range *filter;
	size_t filter_count;
	/*
	 * Only flow with this CR3 counts for all outputs except `batch`, as PIP packets tell; 0: flow of any CR3. Flow
	 * before the first PIP does not count. Bits 0 to 4 are ignored.
	 */
	uint64_t cr3;

	/* Maximum bytes of packets between two PSBs; further bytes up to a PSB are a gap. 0: 64 MiB. */
	size_t segment_limit;
	/*
	 * Bytes of memory for all that is known of code and edges. A decoder above the limit forgets what it knows of
	 * code between two PSBs; when edges reach a quarter of the limit, further edges have no row. Up to 64 MiB
	 * of forgotten memory are kept for later use. 0: 256 MiB.
	 */
	size_t memory_limit;

	/*
	 * As `read`, for several address spaces: `space` is the number given to ptl_decoder_switch, 0 before the first
	 * switch of an execution. `memory` is in all spaces. Not together with `read`.
	 */
	bool (*read_space)(void *context, uint64_t space, uint64_t address, void *bytes, size_t size);
};

/*
 * Makes a decoder. The arrays of the options may be freed afterwards, the code in `memory` may not.
 * Returns PTL_MISUSE for wrong options, PTL_UNSUPPORTED for a newer structure.
 */
int ptl_decoder_new(const struct ptl_decoder_options *options, struct ptl_decoder **decoder);
/*
 * Makes a second decoder, which may run in another thread, with its own options. Both decoders share what was known of
 * the code so far, read-only; each adds its own memory. The code must be equal: `memory`, `memory_count`, `machine` and
 * `filter` must be 0 in the options, and are those of the first decoder; `read` NULL is the first decoder's, with the
 * first decoder's context if `read_context` is NULL, and so is `read_space`. These functions are called by both decoders
 * at once. Of several spaces, only what is known of space 0 is shared.
 */
int ptl_decoder_fork(struct ptl_decoder *decoder, const struct ptl_decoder_options *options, struct ptl_decoder **fork);
/* Frees the decoder. Forks live on. NULL is allowed. */
void ptl_decoder_free(struct ptl_decoder *decoder);

/* --- code ------------------------------------------------------------------------------------------ */

/*
 * Adds a range of code, or replaces code; bytes NULL: removes the range's code. Packets fed before have the old code.
 * The old bytes must be readable until the call returns. Returns errors as ptl_decoder_feed does.
 */
int ptl_decoder_code(struct ptl_decoder *decoder, const struct ptl_flow_memory *memory);
/*
 * Tells that the code in `size` bytes at address changes: called before the caller changes bytes in `memory`, and before
 * `read` gives other bytes. Packets fed before have the old code. The next packet fed has the new code.
 */
int ptl_decoder_change(struct ptl_decoder *decoder, uint64_t address, uint64_t size);

/*
 * Tells that the next packet fed belongs to another address space: a number that the caller chooses, such as a process or
 * a CR3. Packets fed before belong to the space before. Each execution begins in space 0. A decoder keeps what it knows
 * of the code of each space. PTL_DECODER_SPACES counts `space` as a CR3. Needs read_space. Returns errors as ptl_decoder_feed does; PTL_UNSUPPORTED for more than 1,024
 * spaces within a segment, that is between two PSBs. Above memory_limit, a decoder forgets spaces between segments.
 */
int ptl_decoder_switch(struct ptl_decoder *decoder, uint64_t space);

/* --- packets --------------------------------------------------------------------------------------- */

/* Sums of an execution. */
struct ptl_decoder_sums {
	uint64_t bytes;        /* packets fed */
	uint64_t instructions; /* sums of counted blocks */
	uint64_t blocks;
	uint64_t branches;
	/*
	 * Hash of the counted blocks in order: h = h * 0x9e3779b97f4a7c15 + (ip + instructions * 0xc2b2ae3d27d4eb4f),
	 * from 0 on. 0 without PTL_DECODER_HASH.
	 */
	uint64_t hash;
	uint64_t gaps;       /* gaps in the flow, overflows included */
	uint64_t gap_bytes;  /* bytes of packets that were not decoded */
	uint64_t overflows;  /* overflows, a part of `gaps` */
	uint64_t first_edge; /* index of the first edge of ptl_decoder_edges that is new */
	uint64_t edges_lost; /* edges without a row, because of memory_limit: executions of such edges */
};

/*
 * Gives packets to the decoder. Segments that are complete are decoded; the packets since the last PSB are copied, and
 * wait. Damaged packets and missing code are gaps, not errors.
 * Returns PTL_NO_MEMORY, or the negative result of `batch`. After an error the execution is lost, as by
 * ptl_decoder_reset.
 */
int ptl_decoder_feed(struct ptl_decoder *decoder, const void *bytes, size_t size);
/*
 * Decodes all whole packets fed so far, so that `batch` has their flow. A PSB+ that is not complete waits, and so does a
 * packet whose meaning may depend on the next packets, such as an overflow.
 */
int ptl_decoder_flush(struct ptl_decoder *decoder);
/* Tells that `bytes` of packets (0: an unknown number) are missing here. Decoding continues at the next PSB. */
int ptl_decoder_lost(struct ptl_decoder *decoder, uint64_t bytes);
/* Ends the execution: decodes the rest, adds to the bitmap, and fills *sums (may be NULL) and the lists below. */
int ptl_decoder_end(struct ptl_decoder *decoder, struct ptl_decoder_sums *sums);
/* As ptl_decoder_feed and ptl_decoder_end, without a copy of the packets. */
int ptl_decoder_run(struct ptl_decoder *decoder, const void *bytes, size_t size, struct ptl_decoder_sums *sums);
/*
 * Drops the execution: packets fed since the last ptl_decoder_end count nowhere, except in the bitmap, which may have
 * counts of decoded packets. Knowledge of code stays.
 */
void ptl_decoder_reset(struct ptl_decoder *decoder);

/* --- results --------------------------------------------------------------------------------------- */

/* From a block to the next block of the flow. Flow enabled at another address than it was disabled at is no edge. */
struct ptl_decoder_edge {
	uint64_t from; /* addresses of the blocks' first instructions */
	uint64_t to;
	uint64_t count; /* in the last execution */
	uint64_t total; /* in all executions */
};

/*
 * Returns all edges in order of their first execution, for PTL_DECODER_EDGES. From sums.first_edge on, the edges are new:
 * no earlier execution had these edges. Valid until the decoder is used again.
 */
const struct ptl_decoder_edge *ptl_decoder_edges(const struct ptl_decoder *decoder, size_t *count);

/* A function: an address to which a call led. */
struct ptl_decoder_function {
	uint64_t address;
	uint64_t count; /* calls in the last execution */
	uint64_t total; /* calls in all executions */
};

/* Returns all functions in order of their first call, for PTL_DECODER_FUNCTIONS. Valid until the decoder is used again. */
const struct ptl_decoder_function *ptl_decoder_functions(const struct ptl_decoder *decoder, size_t *count);

#define PTL_DECODER_NO_CR3 UINT64_MAX

/* Flow between two changes of CR3 to another value: a process, as PIP packets tell. */
struct ptl_decoder_space {
	uint64_t cr3;          /* without bits 0 to 4; PTL_DECODER_NO_CR3: before the first PIP */
	uint64_t instructions; /* sums of counted blocks in the last execution */
	uint64_t blocks;
	uint64_t branches;
	uint64_t switches; /* changes to this space */
};

/*
 * Returns the address spaces of the last execution in order of their first flow, for PTL_DECODER_SPACES. The first is
 * PTL_DECODER_NO_CR3, and also has the flow of all CR3s beyond 1,023. Valid until the decoder is used again.
 */
const struct ptl_decoder_space *ptl_decoder_spaces(const struct ptl_decoder *decoder, size_t *count);

/* Returns the bytes of memory that the decoder has for code, edges and packets, without shared memory of forks. */
uint64_t ptl_decoder_memory(const struct ptl_decoder *decoder);

#ifdef __cplusplus
}
#endif

#endif
