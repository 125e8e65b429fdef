/* SPDX-License-Identifier: BSD-2-Clause */
/* Formats flow as JSON, one object per line. The head opens the object, the tail closes it. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/text/json.h"
#include "common/text/text.h"
#include "dump/flow/flow.h"
#include "flow/code/disassembly.h"

/* Members of an unfinished object, in memory. */
struct members {
	struct common_json json;
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
	common_json_start(&members->json, members->file);
	common_json_object(&members->json, NULL);
	return true;
}

/* Appends the members, and the end of the object and line. The head has begun the object. */
static void members_end(struct members *members, struct ptl_bytes *text)
{
	common_json_object_end(&members->json);
	common_json_line(&members->json);
	if (fclose(members->file) == 0 && members->size > 1)
		common_write_bytes(text, members->data + 1, members->size - 1);
	else
		text->failed = true;
	free(members->data);
}

static void json_heading(const struct dump_flow_print *print, const struct flow_segment *segment,
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
	common_text_add(text, key);
	common_text_decimal(text, id);
	common_text_add(text, ",");
}

static void add_time(const struct dump_flow_print *print, const char *key, uint64_t time, struct ptl_bytes *text)
{
	common_text_add(text, key);
	if (!time) {
		common_text_add(text, "null");
	} else if (time < print->start_time) {
		common_text_add(text, "-");
		common_text_decimal(text, print->start_time - time);
	} else {
		common_text_decimal(text, time - print->start_time);
	}
	common_text_add(text, ",");
}

static void head(const struct dump_flow_print *print, const struct flow_segment *segment,
		 const struct dump_flow_time *time, struct ptl_bytes *text)
{
	common_text_add(text, "{");
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

static void add_json_name(const struct dump_flow_print *print, struct common_json *json, const char *key,
			  const char *name)
{
	struct ptl_bytes text = {0};

	flow_symbols_name(print->symbols, name, &text);
	common_json_string(json, key, common_text_string(&text));
	common_bytes_free(&text);
}

/* Adds "symbol", "offset", "image", "file" and "line" of a place, as far as known. */
static void add_json_place(const struct dump_flow_print *print, struct common_json *json, uint32_t image, uint64_t ip)
{
	struct flow_symbol symbol;
	const char *file;
	uint32_t line;

	if (flow_symbols_find(print->symbols, image, ip, &symbol)) {
		add_json_name(print, json, "symbol", symbol.name);
		common_json_u64(json, "offset", symbol.offset);
	}
	if (image != FLOW_NONE) {
		const struct flow_timeline_image *data = flow_timeline_image(print->timeline, image);

		common_json_string(json, "image", data->data.file_name);
		common_json_hex(json, "image_address", flow_image_address(data, ip));
	}
	if (print->sources && flow_sources_find(print->sources, image, ip, &file, &line)) {
		common_json_string(json, "file", file);
		common_json_u64(json, "line", line);
	}
}

static void add_place_object(const struct dump_flow_print *print, struct common_json *json, const char *key,
			     const struct dump_flow_place *place)
{
	common_json_object(json, key);
	common_json_hex(json, "ip", place->ip);
	add_json_place(print, json, place->image, place->ip);
	common_json_object_end(json);
}

/* ---- lines --------------------------------------------------------------------------------------- */

static void block(const struct dump_flow_print *print, const struct flow_block *block, struct ptl_bytes *text)
{
	struct members members;

	if (!members_start(&members)) {
		text->failed = true;
		return;
	}
	common_json_string(&members.json, "type", "block");
	common_json_hex(&members.json, "ip", block->ip);
	common_json_u64(&members.json, "instructions", block->instructions);
	common_json_u64(&members.json, "size", block->size);
	if (block->branch != FLOW_BRANCH_NONE)
		common_json_string(&members.json, "branch", flow_branch_name(block->branch));
	add_json_place(print, &members.json, block->image, block->ip);
	members_end(&members, text);
}

static void instruction(const struct dump_flow_print *print, const struct flow_block *block, uint32_t i, uint64_t ip,
			const uint8_t *code, struct ptl_bytes *text)
{
	struct ptl_bytes words = {0};
	struct members members;

	if (!members_start(&members)) {
		text->failed = true;
		return;
	}
	common_json_string(&members.json, "type", "instruction");
	common_json_hex(&members.json, "ip", ip);
	common_text_hex_bytes(&words, code, block->lengths[i]);
	common_json_string(&members.json, "bytes", common_text_string(&words));
	words.size = 0;
	flow_disassemble(code, block->lengths[i], block->mode, ip, &words);
	common_json_string(&members.json, "text", common_text_string(&words));
	if (i + 1 == block->instructions && block->branch != FLOW_BRANCH_NONE)
		common_json_string(&members.json, "branch", flow_branch_name(block->branch));
	add_json_place(print, &members.json, block->image, ip);
	text->failed |= words.failed;
	common_bytes_free(&words);
	members_end(&members, text);
}

static void branch(const struct dump_flow_print *print, const struct dump_flow_branch *branch, struct ptl_bytes *text)
{
	struct members members;

	if (!members_start(&members)) {
		text->failed = true;
		return;
	}
	common_json_string(&members.json, "type", "branch");
	common_json_string(&members.json, "branch", flow_branch_name(branch->kind));
	add_place_object(print, &members.json, "from", &branch->from);
	if (branch->has_to)
		add_place_object(print, &members.json, "to", &branch->to);
	else
		common_json_null(&members.json, "to");
	members_end(&members, text);
}

/* Adds a name; without a name, the number. */
static void add_named(struct common_json *json, const char *key, const char *name, uint8_t number)
{
	if (name)
		common_json_string(json, key, name);
	else
		common_json_u64(json, key, number);
}

/* Adds the event's data other than addresses. */
static void add_value(struct common_json *json, const struct flow_event *event)
{
	switch (event->kind) {
	case FLOW_CONTROL:
		add_named(json, "event", flow_control_name(event->type), event->type);
		if (flow_control_has_vector(event->type))
			common_json_u64(json, "vector", event->value);
		return;
	case FLOW_EVENT_DATA:
		add_named(json, "data", flow_event_data_name(event->type), event->type);
		break;
	case FLOW_BLOCK_ITEM:
		common_json_u64(json, "block", event->type);
		common_json_u64(json, "item", event->item);
		break;
	case FLOW_EXEC_MODE:
		if (event->type)
			common_json_bool(json, "interrupts", true);
		break;
	case FLOW_PAGING:
		if (event->type)
			common_json_bool(json, "guest", true);
		break;
	case FLOW_ENABLED:
		if (event->flags & FLOW_EVENT_RESUMED)
			common_json_bool(json, "resumed", true);
		return;
	case FLOW_TSX:
		break;
	default:
		if (!event->value)
			return;
	}
	common_json_u64(json, "value", event->value);
}

static void json_event(const struct dump_flow_print *print, const struct flow_event *event,
		       const struct dump_flow_place *from, const struct dump_flow_place *to, struct ptl_bytes *text)
{
	struct members members;

	if (!members_start(&members)) {
		text->failed = true;
		return;
	}
	common_json_string(&members.json, "type", flow_kind_name(event->kind));
	if (event->kind == FLOW_GAP) {
		common_json_string(&members.json, "cause", flow_gap_cause_name(event->cause));
		common_json_u64(&members.json, "bytes", event->size);
	}
	common_json_u64(&members.json, "stream_offset", event->offset);
	if (event->flags & FLOW_EVENT_HAS_FROM)
		add_place_object(print, &members.json, "from", from);
	if (event->flags & FLOW_EVENT_HAS_TO)
		add_place_object(print, &members.json, "to", to);
	if (event->flags & FLOW_EVENT_UNPLACED)
		common_json_bool(&members.json, "unplaced", true);
	add_value(&members.json, event);
	members_end(&members, text);
}

const struct dump_flow_format dump_flow_json = {
	.heading = json_heading,
	.head = head,
	.block = block,
	.instruction = instruction,
	.branch = branch,
	.event = json_event,
};
