/* SPDX-License-Identifier: BSD-2-Clause */
/* Makes decoders of ptl/decoder.h: options, the engine, forks. */
#include "flow/library_decoder.h"

#include <stdlib.h>

#include "common/error.h"
#include "common/structure.h"
#include "flow/library.h"
#include "flow/native/cache/shared.h"

#define SEGMENT_LIMIT ((size_t)64 << 20)
#define MEMORY_LIMIT ((size_t)256 << 20)
#define BITMAP_MIN 64u
#define BITMAP_MAX (1u << 30)
#define ROW_BYTES 64 /* memory of an edge, with its index */

_Static_assert(sizeof(struct ptl_decoder_range) == sizeof(struct flow_code_span), "equal ranges");

/* ---- options ------------------------------------------------------------------------------------------- */

static int check_ranges(const char *name, const struct ptl_decoder_range *ranges, size_t count)
{
	if (count > DECODER_RANGES_MAX || (count && !ranges))
		return common_fail(PTL_MISUSE, "struct ptl_decoder_options: %s has %zu ranges; %d are the most", name,
				   ranges ? count : 0, DECODER_RANGES_MAX);
	for (size_t i = 0; i < count; i++)
		if (ranges[i].last < ranges[i].first)
			return common_fail(PTL_MISUSE,
					   "struct ptl_decoder_options: range %zu of %s ends before it begins", i,
					   name);
	return 0;
}

static int check_bitmap(const struct ptl_decoder_options *options)
{
	const size_t size = options->bitmap_size;

	if (!size && !options->bitmap)
		return 0;
	if (options->bitmap && size >= BITMAP_MIN && size <= BITMAP_MAX && !(size & (size - 1)))
		return 0;
	return common_fail(PTL_MISUSE,
			   "struct ptl_decoder_options: a bitmap has a power of two of bytes, from %u to %u",
			   BITMAP_MIN, BITMAP_MAX);
}

int flow_library_check_memory(const struct ptl_flow_memory *memory)
{
	if (!memory->size || memory->address + (memory->size - 1) < memory->address)
		return common_fail(PTL_MISUSE, "code at 0x%llx: %llu bytes are no range",
				   (unsigned long long)memory->address, (unsigned long long)memory->size);
	return 0;
}

static int check_options(const struct ptl_decoder_options *options)
{
	const unsigned known = PTL_DECODER_EDGES | PTL_DECODER_FUNCTIONS | PTL_DECODER_HASH | PTL_DECODER_SPACES;
	int status = check_bitmap(options);

	if (!status && options->outputs & ~known)
		status = common_fail(PTL_UNSUPPORTED, "struct ptl_decoder_options: outputs has unknown bits 0x%x",
				     options->outputs & ~known);
	if (!status && options->read && options->read_space)
		status = common_fail(PTL_MISUSE, "struct ptl_decoder_options: read and read_space are set");
	if (!status && options->memory_count && !options->memory)
		status = common_fail(PTL_MISUSE, "struct ptl_decoder_options: memory is NULL, but not its count");
	if (!status)
		status = check_ranges("ranges", options->ranges, options->range_count);
	if (!status)
		status = check_ranges("filter", options->filter, options->filter_count);
	for (size_t i = 0; !status && i < options->memory_count; i++) {
		status = flow_library_check_memory(&options->memory[i]);
		if (!status && !options->memory[i].bytes)
			status = common_fail(PTL_MISUSE, "memory range %zu has no bytes", i);
	}
	return status;
}

static void copy_ranges(struct library_ranges *ranges, const struct ptl_decoder_range *from, size_t count)
{
	for (size_t i = 0; i < count; i++)
		ranges->list[i] = (struct flow_code_span){from[i].first, from[i].last};
	ranges->count = count;
}

static struct ptl_machine take_machine(const struct ptl_machine *given)
{
	/* A decoder must expect compressed returns, because raw packets do not tell whether returns are compressed. */
	struct ptl_machine machine = {.clock = PTL_CLOCK_NONE, .return_compression = true};

	if (given)
		machine = *given;
	if (!machine.mode)
		machine.mode = 64;
	return machine;
}

/* ---- the engine ---------------------------------------------------------------------------------------- */

/* Gives a batch to the tally, and to the caller. */
static int take_batch(void *context, const struct flow_batch *batch)
{
	struct ptl_decoder *decoder = context;
	const struct ptl_flow_segment segment = {
		.pid = PTL_NO_ID,
		.tid = PTL_NO_ID,
		.cpu = PTL_NO_CPU,
		.offset = decoder->packets.offset,
	};
	struct ptl_flow_batch walk;
	int status = decoder_tally_take(&decoder->tally, batch);

	if (status || !decoder->batch)
		return status;
	flow_library_batch(&walk, batch, &segment, false);
	ptl_error_clear();
	status = decoder->batch(decoder->batch_context, &walk);
	if (status > 0)
		return common_fail(PTL_MISUSE, "the decoder's batch returned %d: not 0, and no negative status",
				   status);
	if (status < 0 && !ptl_error_text()[0])
		common_fail(status, "the decoder's batch ended the execution (%s)", ptl_status_name(status));
	return status;
}

/* Forgets code if the memory has reached its limit. No batch is being consumed. */
static void limit_memory(struct ptl_decoder *decoder)
{
	if (ptl_decoder_memory(decoder) <= decoder->memory_limit)
		return;
	flow_library_forget_spaces(decoder);
	decoder_tally_release(&decoder->tally);
}

/* Tells the code of a space of changes. */
static void change_space(struct ptl_decoder *decoder, struct library_space *space)
{
	const bool open = decoder->packets.open && space == decoder->space;

	if (open && decoder->all_changed)
		native_decoder_clear(&decoder->native);
	else if (open)
		native_decoder_change(&decoder->native, decoder->changes, decoder->change_count);
	else if (decoder->all_changed)
		native_code_clear(space->native);
	else
		native_code_change(space->native, decoder->changes, decoder->change_count);
}

/* Tells the engine of changes, and of another space. */
static void apply_changes(void *context)
{
	struct ptl_decoder *decoder = context;

	for (size_t i = 0; (decoder->change_count || decoder->all_changed) && i < decoder->space_count; i++)
		change_space(decoder, decoder->spaces[i]);
	decoder->change_count = 0;
	decoder->all_changed = false;
	flow_library_apply_switch(decoder);
}

/* Between two segments. */
static void begin_segment(void *context)
{
	apply_changes(context);
	limit_memory(context);
}

static int open_engine(struct ptl_decoder *decoder, const struct ptl_decoder_options *options)
{
	const struct ptl_machine machine = take_machine(options->machine);
	const int status = native_decoder_open(&decoder->native, flow_library_source(decoder->space), &machine);

	decoder->space->native = decoder->native.code;
	decoder->sink = (struct flow_sink){.take = take_batch, .context = decoder};
	decoder->packets = (struct decoder_packets){
		.native = &decoder->native,
		.sink = &decoder->sink,
		.between = begin_segment,
		.resume = apply_changes,
		.context = decoder,
		.limit = options->segment_limit ? options->segment_limit : SEGMENT_LIMIT,
	};
	return status;
}

static void open_tally(struct ptl_decoder *decoder, const struct ptl_decoder_options *options)
{
	const struct decoder_tally_options tally = {
		.bitmap = options->bitmap,
		.bitmap_size = options->bitmap_size,
		.ranges = decoder->counted.list,
		.range_count = decoder->counted.count,
		.cr3 = options->cr3 & ~0x1full,
		.edges = options->outputs & PTL_DECODER_EDGES,
		.functions = options->outputs & PTL_DECODER_FUNCTIONS,
		.hash = options->outputs & PTL_DECODER_HASH,
		.spaces = options->outputs & PTL_DECODER_SPACES,
	};

	decoder_tally_open(&decoder->tally, &tally, decoder->memory_limit / 4 / ROW_BYTES);
}

int flow_library_add_memory(struct ptl_decoder *decoder, const struct ptl_flow_memory *memory)
{
	int status = 0;

	for (size_t i = 0; !status && i < decoder->space_count; i++)
		status = decoder_code_add(&decoder->spaces[i]->code, memory->address,
					  memory->address + (memory->size - 1), memory->bytes);
	return status;
}

static int open_decoder(struct ptl_decoder *decoder, const struct ptl_decoder_options *options)
{
	int status = 0;

	copy_ranges(&decoder->counted, options->ranges, options->range_count);
	decoder->batch = options->batch;
	decoder->batch_context = options->batch_context;
	decoder->memory_limit = options->memory_limit ? options->memory_limit : MEMORY_LIMIT;
	decoder->read = options->read;
	decoder->read_space = options->read_space;
	decoder->read_context = options->read_context;
	status = flow_library_add_space(decoder, 0, &decoder->space);
	for (size_t i = 0; !status && i < options->memory_count; i++)
		status = flow_library_add_memory(decoder, &options->memory[i]);
	open_tally(decoder, options);
	return status ? status : open_engine(decoder, options);
}

int ptl_decoder_new(const struct ptl_decoder_options *options, struct ptl_decoder **decoder)
{
	struct ptl_decoder_options given;
	struct ptl_decoder *made;
	int status;

	if (decoder)
		*decoder = NULL;
	if (!options || !decoder)
		return common_fail(PTL_MISUSE, "ptl_decoder_new needs options and a place for the result");
	status = common_structure_take("ptl_decoder_options", options, &given, sizeof(given));
	if (!status)
		status = check_options(&given);
	if (status < 0)
		return status;
	made = calloc(1, sizeof(*made));
	if (!made)
		return common_fail_memory("decoder", sizeof(*made));
	copy_ranges(&made->filter, given.filter, given.filter_count);
	status = open_decoder(made, &given);
	if (status < 0) {
		ptl_decoder_free(made);
		return status;
	}
	*decoder = made;
	return 0;
}

static void free_pages(void *pages)
{
	decoder_pages_free(pages);
}

/*
 * Shares what the decoder knows, unless most of that is shared already: so there are few levels of shared memory. Within
 * a segment, only memory that is shared already is shared. Only space 0 is shared.
 */
static int share_code(struct ptl_decoder *decoder)
{
	struct library_space *space = decoder->spaces[0];
	struct native_code *code = space->native;
	struct decoder_page *pages;
	int status;

	if (decoder->packets.open)
		return 0;
	apply_changes(decoder);
	native_code_trim(code);
	if (code->shared && 2 * code->regions.count < code->shared->regions)
		return 0;
	pages = decoder_code_release(&space->code);
	status = native_shared_make(code, pages, free_pages);
	/* Without shared memory, the code still uses the pages. */
	if (status < 0)
		space->code.page_list = pages;
	return status;
}

/* Checks the options of a fork, and fills in the first decoder's. */
static int take_fork_options(const struct ptl_decoder *decoder, const struct ptl_decoder_options *options,
			     struct ptl_decoder_options *given)
{
	int status = common_structure_take("ptl_decoder_options", options, given, sizeof(*given));

	if (!status && (given->memory || given->memory_count || given->machine || given->filter || given->filter_count))
		status = common_fail(PTL_MISUSE, "a fork has the code, the machine and the filter of its decoder");
	if (status < 0)
		return status;
	given->machine = &decoder->native.machine;
	if (given->read || given->read_space)
		return check_options(given);
	given->read = decoder->read;
	given->read_space = decoder->read_space;
	if (!given->read_context)
		given->read_context = decoder->read_context;
	return check_options(given);
}

int ptl_decoder_fork(struct ptl_decoder *decoder, const struct ptl_decoder_options *options, struct ptl_decoder **fork)
{
	struct ptl_decoder_options given;
	struct ptl_decoder *made;
	int status;

	if (fork)
		*fork = NULL;
	if (!decoder || !options || !fork)
		return common_fail(PTL_MISUSE, "ptl_decoder_fork needs a decoder, options and a place for the result");
	status = take_fork_options(decoder, options, &given);
	if (!status)
		status = share_code(decoder);
	if (status < 0)
		return status;
	made = calloc(1, sizeof(*made));
	if (!made)
		return common_fail_memory("decoder", sizeof(*made));
	made->filter = decoder->filter;
	status = open_decoder(made, &given);
	if (!status)
		status = decoder_code_copy(&made->space->code, &decoder->spaces[0]->code);
	if (!status)
		status = native_shared_join(made->native.code, decoder->spaces[0]->native);
	if (status < 0) {
		ptl_decoder_free(made);
		return status;
	}
	*fork = made;
	return 0;
}

void ptl_decoder_free(struct ptl_decoder *decoder)
{
	if (!decoder)
		return;
	if (decoder->native.code)
		native_decoder_close(&decoder->native);
	decoder_packets_close(&decoder->packets);
	decoder_tally_close(&decoder->tally);
	flow_library_free_spaces(decoder);
	free(decoder->functions);
	free(decoder);
}

uint64_t ptl_decoder_memory(const struct ptl_decoder *decoder)
{
	return flow_library_space_memory(decoder) + decoder_tally_memory(&decoder->tally) + decoder->packets.capacity;
}
