/* SPDX-License-Identifier: BSD-2-Clause */
/* Address spaces of decoders: each space has its own code, and its own memory of the code. */
#include <stdlib.h>

#include "common/error.h"
#include "common/vector.h"
#include "flow/library_decoder.h"

#define SPACES_MAX 1024

static bool passes_filter(void *context, uint64_t ip)
{
	const struct library_space *space = context;
	const struct library_ranges *filter = &space->decoder->filter;

	for (size_t i = 0; i < filter->count; i++)
		if (ip >= filter->list[i].first && ip <= filter->list[i].last)
			return true;
	return false;
}

static bool read_space(void *context, uint64_t address, void *bytes, size_t size)
{
	const struct library_space *space = context;
	const struct ptl_decoder *decoder = space->decoder;

	return decoder->read_space(decoder->read_context, space->number, address, bytes, size);
}

static struct decoder_reader reader_of(struct library_space *space)
{
	const struct ptl_decoder *decoder = space->decoder;

	return decoder->read_space ? (struct decoder_reader){read_space, space}
				   : (struct decoder_reader){decoder->read, decoder->read_context};
}

int flow_library_add_space(struct ptl_decoder *decoder, uint64_t number, struct library_space **added)
{
	struct library_space *space;
	int status = 0;

	if (decoder->space_count == SPACES_MAX)
		return common_fail(PTL_UNSUPPORTED, "a decoder has at most %d address spaces", SPACES_MAX);
	status = COMMON_VECTOR_RESERVE(decoder->spaces, decoder->space_capacity, decoder->space_count + 1, "spaces");
	space = status ? NULL : calloc(1, sizeof(*space));
	if (!space)
		return common_fail_memory("an address space", sizeof(*space));
	*space = (struct library_space){.number = number, .decoder = decoder};
	space->code.reader = reader_of(space);
	decoder->spaces[decoder->space_count++] = space;
	*added = space;
	return 0;
}

struct native_source flow_library_source(struct library_space *space)
{
	return (struct native_source){
		.find = decoder_code_find,
		.context = &space->code,
		.passes = space->decoder->filter.count ? passes_filter : NULL,
	};
}

/* Opens the memory of a space's code. The first space has the memory of the engine. */
static int open_space(struct ptl_decoder *decoder, struct library_space *space)
{
	int status = decoder_code_copy(&space->code, &decoder->spaces[0]->code);

	if (!status)
		status = native_code_open(&space->own, flow_library_source(space));
	if (status)
		return status;
	space->native = &space->own;
	/* A unique generation: no run of this code is mistaken for a run of another code. */
	space->own.generation += ++decoder->spaces_made << 32;
	return 0;
}

static void free_space(struct library_space *space)
{
	if (space->native == &space->own)
		native_code_close(&space->own);
	decoder_code_close(&space->code);
	free(space);
}

static int find_space(struct ptl_decoder *decoder, uint64_t number, struct library_space **space)
{
	int status = 0;

	for (size_t i = 0; i < decoder->space_count; i++) {
		*space = decoder->spaces[i];
		if ((*space)->number == number)
			return 0;
	}
	status = flow_library_add_space(decoder, number, space);
	if (status)
		return status;
	status = open_space(decoder, *space);
	if (status)
		free_space(decoder->spaces[--decoder->space_count]);
	return status;
}

int flow_library_prepare_switch(struct ptl_decoder *decoder, uint64_t number)
{
	struct library_space *space;
	const int status = find_space(decoder, number, &space);

	if (!status)
		decoder->next_space = space;
	return status;
}

void flow_library_apply_switch(struct ptl_decoder *decoder)
{
	if (!decoder->next_space)
		return;
	decoder->space = decoder->next_space;
	decoder->next_space = NULL;
	if (decoder->packets.open)
		native_decoder_switch(&decoder->native, decoder->space->native);
	else
		native_decoder_use(&decoder->native, decoder->space->native);
	decoder_tally_switch(&decoder->tally, decoder->space->number);
}

void flow_library_begin_spaces(struct ptl_decoder *decoder)
{
	decoder->next_space = NULL;
	decoder->space = decoder->spaces[0];
	native_decoder_use(&decoder->native, decoder->space->native);
}

void flow_library_forget_spaces(struct ptl_decoder *decoder)
{
	size_t left = 0;

	for (size_t i = 0; i < decoder->space_count; i++) {
		struct library_space *space = decoder->spaces[i];

		if (i && space != decoder->space) {
			free_space(space);
			continue;
		}
		native_code_clear(space->native);
		native_code_trim(space->native);
		decoder_pages_free(decoder_code_release(&space->code));
		decoder->spaces[left++] = space;
	}
	decoder->space_count = left;
}

void flow_library_free_spaces(struct ptl_decoder *decoder)
{
	for (size_t i = 0; i < decoder->space_count; i++)
		free_space(decoder->spaces[i]);
	free(decoder->spaces);
}

uint64_t flow_library_space_memory(const struct ptl_decoder *decoder)
{
	uint64_t size = 0;

	for (size_t i = 0; i < decoder->space_count; i++)
		size += native_code_size(decoder->spaces[i]->native) + decoder->spaces[i]->code.page_bytes +
			(i ? NATIVE_HUGE_PAGE : 0);
	return size;
}
