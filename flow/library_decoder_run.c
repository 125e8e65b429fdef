/* SPDX-License-Identifier: BSD-2-Clause */
/* Executions, changes of code, and results of decoders of ptl/decoder.h. */
#include "flow/library_decoder.h"

#include "common/error.h"
#include "common/vector.h"

/* ---- executions ---------------------------------------------------------------------------------------- */

static void begin_execution(struct ptl_decoder *decoder)
{
	if (decoder->began)
		return;
	decoder->began = true;
	decoder->bytes = 0;
	decoder->function_count = 0;
	decoder_packets_reset(&decoder->packets);
	flow_library_begin_spaces(decoder);
	decoder_tally_begin(&decoder->tally);
}

void ptl_decoder_reset(struct ptl_decoder *decoder)
{
	decoder_packets_reset(&decoder->packets);
	if (decoder->began)
		decoder_tally_drop(&decoder->tally);
	decoder->began = false;
	decoder->bytes = 0;
}

/* Ends a function that has decoded. An error ends the execution. */
static int finish(struct ptl_decoder *decoder, int status)
{
	bool no_memory = false;

	for (size_t i = 0; i < decoder->space_count; i++) {
		no_memory |= decoder->spaces[i]->code.no_memory;
		decoder->spaces[i]->code.no_memory = false;
	}
	if (!status && no_memory)
		status = common_fail_memory("code", (size_t)DECODER_PAGE);
	if (status >= 0)
		return 0;
	ptl_decoder_reset(decoder);
	return status;
}

static int feed(struct ptl_decoder *decoder, const void *bytes, size_t size, bool last)
{
	begin_execution(decoder);
	decoder->bytes += size;
	return finish(decoder, decoder_packets_feed(&decoder->packets, bytes, size, last));
}

static int check_packets(const struct ptl_decoder *decoder, const void *bytes, size_t size)
{
	if (!decoder || (size && !bytes))
		return common_fail(PTL_MISUSE, "there is no decoder, or there are no packets");
	return 0;
}

int ptl_decoder_feed(struct ptl_decoder *decoder, const void *bytes, size_t size)
{
	const int status = check_packets(decoder, bytes, size);

	return status ? status : feed(decoder, bytes, size, false);
}

int ptl_decoder_flush(struct ptl_decoder *decoder)
{
	begin_execution(decoder);
	return finish(decoder, decoder_packets_flush(&decoder->packets, false));
}

int ptl_decoder_lost(struct ptl_decoder *decoder, uint64_t bytes)
{
	begin_execution(decoder);
	return finish(decoder, decoder_packets_lost(&decoder->packets, bytes));
}

static int list_functions(struct ptl_decoder *decoder)
{
	const struct decoder_rows *rows = &decoder->tally.functions;
	const int status = COMMON_VECTOR_RESERVE(decoder->functions, decoder->function_capacity, rows->row_count + 1,
						 "functions");

	for (size_t i = 0; !status && i < rows->row_count; i++)
		decoder->functions[i] = (struct ptl_decoder_function){rows->rows[i].from, rows->rows[i].count,
								      rows->rows[i].total};
	decoder->function_count = status ? 0 : rows->row_count;
	return status;
}

static void fill_sums(const struct ptl_decoder *decoder, struct ptl_decoder_sums *sums)
{
	const struct decoder_tally_sums *own = &decoder->tally.sums;

	*sums = (struct ptl_decoder_sums){
		.bytes = decoder->bytes,
		.instructions = own->instructions,
		.blocks = own->blocks,
		.branches = own->branches,
		.hash = decoder->tally.options.hash ? own->hash : 0,
		.gaps = own->gaps,
		.gap_bytes = own->gap_bytes,
		.overflows = own->overflows,
		.first_edge = decoder->tally.edges.first,
		.edges_lost = decoder->tally.edges.lost,
	};
}

int ptl_decoder_run(struct ptl_decoder *decoder, const void *bytes, size_t size, struct ptl_decoder_sums *sums)
{
	int status = check_packets(decoder, bytes, size);

	if (!status)
		status = feed(decoder, bytes, size, true);
	if (status)
		return status;
	status = finish(decoder, decoder_tally_end(&decoder->tally));
	if (!status && decoder->tally.functions.row_count)
		status = finish(decoder, list_functions(decoder));
	if (status)
		return status;
	decoder->began = false;
	if (sums)
		fill_sums(decoder, sums);
	return 0;
}

int ptl_decoder_end(struct ptl_decoder *decoder, struct ptl_decoder_sums *sums)
{
	return ptl_decoder_run(decoder, NULL, 0, sums);
}

/* ---- code ---------------------------------------------------------------------------------------------- */

/* Notes a change. Packets fed before must have been decoded. */
static void note_change(struct ptl_decoder *decoder, uint64_t first, uint64_t last)
{
	for (size_t i = 0; i < decoder->space_count; i++)
		decoder_code_forget(&decoder->spaces[i]->code, first, last);
	if (decoder->change_count == LIBRARY_CHANGES_MAX)
		decoder->all_changed = true;
	else
		decoder->changes[decoder->change_count++] = (struct flow_code_span){first, last};
}

int ptl_decoder_code(struct ptl_decoder *decoder, const struct ptl_flow_memory *memory)
{
	int status;

	if (!decoder || !memory)
		return common_fail(PTL_MISUSE, "ptl_decoder_code needs a decoder and a range of code");
	status = flow_library_check_memory(memory);
	if (!status && decoder->began)
		status = finish(decoder, decoder_packets_flush(&decoder->packets, true));
	if (!status)
		status = flow_library_add_memory(decoder, memory);
	if (!status)
		note_change(decoder, memory->address, memory->address + (memory->size - 1));
	return status;
}

int ptl_decoder_change(struct ptl_decoder *decoder, uint64_t address, uint64_t size)
{
	const struct ptl_flow_memory memory = {.address = address, .size = size};
	int status;

	if (!decoder)
		return common_fail(PTL_MISUSE, "ptl_decoder_change needs a decoder");
	status = flow_library_check_memory(&memory);
	if (!status && decoder->began)
		status = finish(decoder, decoder_packets_flush(&decoder->packets, true));
	if (!status)
		note_change(decoder, address, address + (size - 1));
	return status;
}

int ptl_decoder_switch(struct ptl_decoder *decoder, uint64_t space)
{
	int status;

	if (!decoder || !decoder->read_space)
		return common_fail(PTL_MISUSE, "ptl_decoder_switch needs a decoder with read_space");
	begin_execution(decoder);
	status = finish(decoder, decoder_packets_flush(&decoder->packets, true));
	return status ? status : finish(decoder, flow_library_prepare_switch(decoder, space));
}

/* ---- results ------------------------------------------------------------------------------------------- */

const struct ptl_decoder_edge *ptl_decoder_edges(const struct ptl_decoder *decoder, size_t *count)
{
	*count = decoder->tally.edges.row_count;
	return decoder->tally.edges.rows;
}

const struct ptl_decoder_function *ptl_decoder_functions(const struct ptl_decoder *decoder, size_t *count)
{
	*count = decoder->function_count;
	return decoder->functions;
}

const struct ptl_decoder_space *ptl_decoder_spaces(const struct ptl_decoder *decoder, size_t *count)
{
	*count = decoder->tally.space_count;
	return decoder->tally.spaces;
}
