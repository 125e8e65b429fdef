/* SPDX-License-Identifier: BSD-2-Clause */
/* Fields of blocks, and a direct-mapped cache of results. */
#include "dump/flow/flow_where.h"

#include <stdlib.h>
#include <string.h>

#include "common/hash.h"
#include "common/text/text.h"
#include "flow/code/branch.h"

enum field { FUNCTION, OFFSET, IMAGE, PATH, ADDRESS, IP, INSTRUCTIONS, SIZE, BRANCH, TIME, CPU, PID, TID, PROCESS };

const struct query_row_field dump_flow_fields[] = {
	[FUNCTION] = {"function", QUERY_ROW_FUNCTION, false},
	[OFFSET] = {"offset", QUERY_ROW_NUMBER, false},
	[IMAGE] = {"image", QUERY_ROW_TEXT, false},
	[PATH] = {"path", QUERY_ROW_TEXT, false},
	[ADDRESS] = {"address", QUERY_ROW_NUMBER, false},
	[IP] = {"ip", QUERY_ROW_NUMBER, false},
	[INSTRUCTIONS] = {"instructions", QUERY_ROW_NUMBER, false},
	[SIZE] = {"size", QUERY_ROW_NUMBER, false},
	[BRANCH] = {"branch", QUERY_ROW_TEXT, false},
	[TIME] = {"time", QUERY_ROW_DURATION, true},
	[CPU] = {"cpu", QUERY_ROW_NUMBER, true},
	[PID] = {"pid", QUERY_ROW_NUMBER, true},
	[TID] = {"tid", QUERY_ROW_NUMBER, true},
	[PROCESS] = {"process", QUERY_ROW_TEXT, true},
	{NULL},
};

#define SLOTS ((size_t)1 << 14)

/* A cached result. Expressions that do not vary with time or thread depend only on these members. */
struct slot {
	uint64_t ip;
	uint32_t image;
	uint32_t size;
	uint32_t instructions;
	uint8_t branch;
	bool known, wanted;
};

struct dump_flow_where {
	const struct dump_flow_print *print;
	struct query_row_asker asker;
	struct slot *slots; /* NULL: the expression varies with time or thread */
	struct ptl_bytes text;

	/* the current block: */
	const struct flow_segment *segment;
	const struct flow_block *block;
	uint64_t time;
};

/* ---- fields -------------------------------------------------------------------------------------- */

static void give_text(const char *text, struct query_value *value)
{
	value->kind = QUERY_VALUE_TEXT;
	value->text = text;
	value->size = strlen(text);
}

static void give_number(bool known, uint64_t number, struct query_value *value)
{
	value->kind = known ? QUERY_VALUE_NUMBER : QUERY_VALUE_NONE;
	value->number = number;
}

static void get_symbol(struct dump_flow_where *where, enum field field, struct query_value *value)
{
	struct flow_symbol symbol;

	if (!flow_symbols_find(where->print->symbols, where->block->image, where->block->ip, &symbol))
		return;
	if (field == OFFSET) {
		give_number(true, symbol.offset, value);
		return;
	}
	where->text.size = 0;
	flow_symbols_name(where->print->symbols, symbol.name, &where->text);
	give_text(common_text_string(&where->text), value);
}

static void get_image(const struct dump_flow_where *where, enum field field, struct query_value *value)
{
	const struct flow_timeline_image *image;

	if (where->block->image == FLOW_NONE)
		return;
	image = flow_timeline_image(where->print->timeline, where->block->image);
	if (field == ADDRESS)
		give_number(true, flow_image_address(image, where->block->ip), value);
	else
		give_text(field == PATH ? image->data.file_name : common_base_name(image->data.file_name), value);
}

static void get_field(void *context, unsigned field, struct query_value *value)
{
	struct dump_flow_where *where = context;
	const struct flow_segment *segment = where->segment;
	const struct flow_block *block = where->block;

	switch ((enum field)field) {
	case FUNCTION:
	case OFFSET:
		get_symbol(where, field, value);
		break;
	case IMAGE:
	case PATH:
	case ADDRESS:
		get_image(where, field, value);
		break;
	case IP:
		give_number(true, block->ip, value);
		break;
	case INSTRUCTIONS:
		give_number(true, block->instructions, value);
		break;
	case SIZE:
		give_number(true, block->size, value);
		break;
	case BRANCH:
		give_text(flow_branch_name(block->branch), value);
		break;
	case TIME:
		give_number(where->time, where->time - where->print->start_time, value);
		break;
	case CPU:
		give_number(segment->cpu != PTL_NO_CPU, segment->cpu, value);
		break;
	case PID:
		give_number(segment->pid != PTL_NO_ID, segment->pid, value);
		break;
	case TID:
		give_number(segment->tid != PTL_NO_ID, segment->tid, value);
		break;
	case PROCESS:
		if (segment->process != FLOW_NONE)
			give_text(flow_timeline_process(where->print->timeline, segment->process)->name, value);
		break;
	}
}

/* ---- blocks -------------------------------------------------------------------------------------- */

struct dump_flow_where *dump_flow_where_new(const struct dump_flow_print *print, const struct query_row *query)
{
	struct dump_flow_where *where = calloc(1, sizeof(*where));

	if (!where)
		return NULL;
	where->print = print;
	where->asker = (struct query_row_asker){.query = query, .get = get_field, .context = where};
	if (!query->varies)
		where->slots = calloc(SLOTS, sizeof(*where->slots));
	return where;
}

void dump_flow_where_free(struct dump_flow_where *where)
{
	if (!where)
		return;
	query_row_asker_end(&where->asker);
	common_bytes_free(&where->text);
	free(where->slots);
	free(where);
}

bool dump_flow_where_wants(struct dump_flow_where *where, const struct flow_segment *segment,
			   const struct flow_block *block, uint64_t time)
{
	struct slot *slot = NULL;

	where->segment = segment;
	where->block = block;
	where->time = time;
	if (!where->slots)
		return query_row_matches(&where->asker);
	slot = &where->slots[common_hash_mix(block->ip ^ (uint64_t)block->image << 40 ^ block->size) >> 32 &
			     (SLOTS - 1)];
	if (!slot->known || slot->ip != block->ip || slot->image != block->image || slot->size != block->size ||
	    slot->instructions != block->instructions || slot->branch != block->branch)
		*slot = (struct slot){.ip = block->ip,
				      .image = block->image,
				      .size = block->size,
				      .instructions = block->instructions,
				      .branch = block->branch,
				      .known = true,
				      .wanted = query_row_matches(&where->asker)};
	return slot->wanted;
}
