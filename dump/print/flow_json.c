/* SPDX-License-Identifier: BSD-2-Clause */
/* Flow for programs: one JSON object a line. Its head opens the object, its tail closes it. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/json.h"
#include "flow/code/disassembly.h"
#include "dump/print/flow.h"
#include "common/text.h"

/* Members of an object under way, made in memory. */
struct members {
	struct ptl_json json;
	FILE *file;
	char *data;
	size_t size;
};

static bool members_start(struct members *members)
{
	*members = (struct members){0};
	members->file = open_memstream(&members->data, &members->size);
	if (!members->file)
		return false;
	ptl_json_start(&members->json, members->file);
	ptl_json_object(&members->json, NULL);
	return true;
}

/* Appends the members, the end of the object and of the line; the object began with the head. */
static void members_end(struct members *members, struct ptl_bytes *text)
{
	ptl_json_object_end(&members->json);
	ptl_json_line(&members->json);
	if (fclose(members->file) == 0 && members->size > 1)
		ptl_write_bytes(text, members->data + 1, members->size - 1);
	else
		text->failed = true;
	free(members->data);
}

static void heading(const struct dump_flow_print *print, const struct ptl_segment *segment,
		    struct ptl_bytes *text)
{
	(void)print;
	(void)segment;
	(void)text;
}

static void add_id(const char *key, uint32_t id, struct ptl_bytes *text)
{
	if (id == UINT32_MAX)
		return;
	dump_text_add(text, key);
	dump_text_decimal(text, id);
	dump_text_add(text, ",");
}

static void add_time(const struct dump_flow_print *print, const char *key, uint64_t time,
		     struct ptl_bytes *text)
{
	dump_text_add(text, key);
	if (!time) {
		dump_text_add(text, "null");
	} else if (time < print->start_time) {
		dump_text_add(text, "-");
		dump_text_decimal(text, print->start_time - time);
	} else {
		dump_text_decimal(text, time - print->start_time);
	}
	dump_text_add(text, ",");
}

static void head(const struct dump_flow_print *print, const struct ptl_segment *segment,
		 const struct dump_flow_time *time, struct ptl_bytes *text)
{
	dump_text_add(text, "{");
	add_id("\"cpu\":", segment->cpu, text);
	add_id("\"pid\":", segment->pid, text);
	add_id("\"tid\":", segment->tid, text);
	add_time(print, "\"time\":", time->time, text);
	if (print->bounds) {
		add_time(print, "\"earliest\":", time->earliest, text);
		add_time(print, "\"latest\":", time->latest, text);
	}
}

/* ---- places -------------------------------------------------------------------------------------- */

static void add_name(const struct dump_flow_print *print, struct ptl_json *json, const char *key,
		     const char *name)
{
	struct ptl_bytes text = {0};

	dump_symbols_name(print->symbols, name, &text);
	ptl_json_string(json, key, dump_text_string(&text));
	ptl_bytes_free(&text);
}

/* "symbol", "offset", "image", "file", "line" of a place, as far as they are known. */
static void add_place(const struct dump_flow_print *print, struct ptl_json *json, uint32_t image,
		      uint64_t ip)
{
	struct dump_symbol symbol;
	const char *file;
	uint32_t line;

	if (dump_symbols_find(print->symbols, image, ip, &symbol)) {
		add_name(print, json, "symbol", symbol.name);
		ptl_json_u64(json, "offset", symbol.offset);
	}
	if (image != PTL_NONE) {
		const struct ptl_timeline_image *data = ptl_timeline_image(print->timeline, image);

		ptl_json_string(json, "image", data->data.file_name);
		ptl_json_hex(json, "image_address", dump_image_address(data, ip));
	}
	if (print->sources && dump_sources_find(print->sources, image, ip, &file, &line)) {
		ptl_json_string(json, "file", file);
		ptl_json_u64(json, "line", line);
	}
}

static void add_place_object(const struct dump_flow_print *print, struct ptl_json *json,
			     const char *key, const struct dump_flow_place *place)
{
	ptl_json_object(json, key);
	ptl_json_hex(json, "ip", place->ip);
	add_place(print, json, place->image, place->ip);
	ptl_json_object_end(json);
}

/* ---- lines --------------------------------------------------------------------------------------- */

static void block(const struct dump_flow_print *print, const struct ptl_block *block,
		  struct ptl_bytes *text)
{
	struct members members;

	if (!members_start(&members)) {
		text->failed = true;
		return;
	}
	ptl_json_string(&members.json, "type", "block");
	ptl_json_hex(&members.json, "ip", block->ip);
	ptl_json_u64(&members.json, "instructions", block->instructions);
	ptl_json_u64(&members.json, "size", block->size);
	if (block->branch != PTL_BRANCH_NONE)
		ptl_json_string(&members.json, "branch", ptl_branch_name(block->branch));
	add_place(print, &members.json, block->image, block->ip);
	members_end(&members, text);
}

static void instruction(const struct dump_flow_print *print, const struct ptl_block *block,
			uint32_t i, uint64_t ip, const uint8_t *code, struct ptl_bytes *text)
{
	struct ptl_bytes words = {0};
	struct members members;

	if (!members_start(&members)) {
		text->failed = true;
		return;
	}
	ptl_json_string(&members.json, "type", "instruction");
	ptl_json_hex(&members.json, "ip", ip);
	dump_text_hex_bytes(&words, code, block->lengths[i]);
	ptl_json_string(&members.json, "bytes", dump_text_string(&words));
	words.size = 0;
	dump_disassemble(code, block->lengths[i], block->mode, ip, &words);
	ptl_json_string(&members.json, "text", dump_text_string(&words));
	if (i + 1 == block->instructions && block->branch != PTL_BRANCH_NONE)
		ptl_json_string(&members.json, "branch", ptl_branch_name(block->branch));
	add_place(print, &members.json, block->image, ip);
	text->failed |= words.failed;
	ptl_bytes_free(&words);
	members_end(&members, text);
}

static void branch(const struct dump_flow_print *print, const struct dump_flow_branch *branch,
		   struct ptl_bytes *text)
{
	struct members members;

	if (!members_start(&members)) {
		text->failed = true;
		return;
	}
	ptl_json_string(&members.json, "type", "branch");
	ptl_json_string(&members.json, "branch", ptl_branch_name(branch->kind));
	add_place_object(print, &members.json, "from", &branch->from);
	if (branch->has_to)
		add_place_object(print, &members.json, "to", &branch->to);
	else
		ptl_json_null(&members.json, "to");
	members_end(&members, text);
}

/* A name, or the number where there is none. */
static void add_named(struct ptl_json *json, const char *key, const char *name, uint8_t number)
{
	if (name)
		ptl_json_string(json, key, name);
	else
		ptl_json_u64(json, key, number);
}

/* What an event carries besides addresses. */
static void add_value(struct ptl_json *json, const struct ptl_flow_event *event)
{
	switch (event->kind) {
	case PTL_FLOW_CONTROL:
		add_named(json, "event", ptl_control_name(event->type), event->type);
		if (ptl_control_has_vector(event->type))
			ptl_json_u64(json, "vector", event->value);
		return;
	case PTL_FLOW_EVENT_DATA:
		add_named(json, "data", ptl_event_data_name(event->type), event->type);
		break;
	case PTL_FLOW_BLOCK_ITEM:
		ptl_json_u64(json, "block", event->type);
		ptl_json_u64(json, "item", event->item);
		break;
	case PTL_FLOW_EXEC_MODE:
		if (event->type)
			ptl_json_bool(json, "interrupts", true);
		break;
	case PTL_FLOW_PAGING:
		if (event->type)
			ptl_json_bool(json, "guest", true);
		break;
	case PTL_FLOW_ENABLED:
		if (event->flags & PTL_EVENT_RESUMED)
			ptl_json_bool(json, "resumed", true);
		return;
	case PTL_FLOW_TSX:
		break;
	default:
		if (!event->value)
			return;
	}
	ptl_json_u64(json, "value", event->value);
}

static void event(const struct dump_flow_print *print, const struct ptl_flow_event *event,
		  const struct dump_flow_place *from, const struct dump_flow_place *to,
		  struct ptl_bytes *text)
{
	struct members members;

	if (!members_start(&members)) {
		text->failed = true;
		return;
	}
	ptl_json_string(&members.json, "type", ptl_flow_kind_name(event->kind));
	if (event->kind == PTL_FLOW_GAP) {
		ptl_json_string(&members.json, "cause", ptl_gap_cause_name(event->cause));
		ptl_json_u64(&members.json, "bytes", event->size);
	}
	ptl_json_u64(&members.json, "stream_offset", event->offset);
	if (event->flags & PTL_EVENT_HAS_FROM)
		add_place_object(print, &members.json, "from", from);
	if (event->flags & PTL_EVENT_HAS_TO)
		add_place_object(print, &members.json, "to", to);
	add_value(&members.json, event);
	members_end(&members, text);
}

const struct dump_flow_format dump_flow_json = {
	.heading = heading,
	.head = head,
	.block = block,
	.instruction = instruction,
	.branch = branch,
	.event = event,
};
