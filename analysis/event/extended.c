/* SPDX-License-Identifier: BSD-2-Clause */
/* Decodes extended items by a table of their members. */
#include "analysis/event/extended.h"

#include <string.h>

#include <ptl/event_header.h>

#include "common/text/guid.h"
#include "common/text/sid.h"
#include "common/text/text.h"

#define MEMBERS_MAX 3
#define STACK32 5u
#define STACK64 6u
#define TRAIT_GROUP 1u
#define TRAIT_DECODE 2u
#define CONTAINER_TEXT 36u /* length of a GUID as text */

enum kind {
	NUMBER8 = 1,
	NUMBER16,
	NUMBER32,
	NUMBER64,
	HEX32,
	HEX64,
	GUID,
	SID,
	NUMBERS64,   /* all remaining bytes as 64-bit numbers */
	ADDRESSES32, /* all remaining bytes as addresses */
	ADDRESSES64,
	CONTAINER, /* a GUID, as text or as bytes */
	EVENT_NAME,
	TRAITS,
	BYTES,
};

/* Types of items. A nameless member is the whole value. Bytes after the last member are ignored. */
static const struct item {
	uint16_t type;
	const char *name;
	struct {
		const char *name;
		enum kind kind;
	} members[MEMBERS_MAX];
} items[] = {
	{1, "related", {{"", GUID}}},
	{2, "sid", {{"", SID}}},
	{3, "session", {{"", NUMBER32}}},
	{4, "instance", {{"id", NUMBER32}, {"parent", NUMBER32}, {"parent_class", GUID}}},
	{STACK32, "stack", {{"match", HEX64}, {"addresses", ADDRESSES32}}},
	{STACK64, "stack", {{"match", HEX64}, {"addresses", ADDRESSES64}}},
	{7, "pebs_index", {{"", NUMBER64}}},
	{8, "counters", {{"", NUMBERS64}}},
	{9, "psm_key", {{"", BYTES}}},
	{10, "event_key", {{"", HEX64}}},
	{11, "schema", {{"", EVENT_NAME}}},
	{12, "traits", {{"", TRAITS}}},
	{13, "process_start_key", {{"", HEX64}}},
	{14, "control_guid", {{"", GUID}}},
	{15, "qpc_delta", {{"", NUMBER64}}},
	{16, "container_id", {{"", CONTAINER}}},
	{17, "stack_key", {{"match", HEX64}, {"key", HEX32}}},
	{18, "stack_key", {{"match", HEX64}, {"key", HEX64}}},
	{PTL_EXTENDED_THREAD_TIMES, "thread_times", {{"kernel", NUMBER64}, {"user", NUMBER64}}},
	{PTL_EXTENDED_ETW_PAYLOAD, "etw_payload", {{"", BYTES}}},
	{PTL_EXTENDED_RAW, "raw", {{"", BYTES}}},
	{PTL_EXTENDED_ETW_ID, "etw_id", {{"id", NUMBER16}, {"version", NUMBER8}}},
	{PTL_EXTENDED_EVENT_HEADER, "event_header", {{"", BYTES}}},
};

/* ---- values -------------------------------------------------------------------------------------------------- */

/* A decoded member. */
struct value {
	enum { VALUE_NUMBER, VALUE_HEX, VALUE_TEXT, VALUE_LIST, VALUE_TRAITS } form;
	uint64_t number;
	struct ptl_bytes *text; /* for VALUE_TEXT */
	const uint8_t *list;
	size_t count, size; /* for lists: number of elements, and bytes per element */
	bool addresses;
	struct ptl_guid guids[TRAIT_DECODE + 1]; /* for VALUE_TRAITS, by type of trait */
	bool has_guid[TRAIT_DECODE + 1];
};

static void take_guid(struct common_cursor *in, struct ptl_bytes *text)
{
	const uint8_t *bytes = common_read_bytes(in, sizeof(struct ptl_guid));
	char words[PTL_GUID_TEXT_SIZE];
	struct ptl_guid guid;

	if (!bytes)
		return;
	memcpy(guid.bytes, bytes, sizeof(guid.bytes));
	common_guid_format(&guid, words);
	common_text_add(text, words);
}

static void take_container(struct common_cursor *in, struct ptl_bytes *text)
{
	if (common_cursor_left(in) < CONTAINER_TEXT)
		take_guid(in, text);
	else
		common_write_bytes(text, common_read_bytes(in, CONTAINER_TEXT), CONTAINER_TEXT);
}

static void take_string(struct common_cursor *in, struct ptl_bytes *text)
{
	const char *start = (const char *)in->data + in->at;
	const size_t length = strnlen(start, common_cursor_left(in));

	if (length)
		common_write_bytes(text, start, length);
	common_read_bytes(in, length + 1);
}

/* Decodes a TraceLogging name: size, tags of seven bits per byte, name. */
static void take_event_name(struct common_cursor *in, struct ptl_bytes *text)
{
	common_read16(in);
	while (common_read8(in) & 0x80)
		;
	take_string(in, text);
}

/* Decodes TraceLogging provider traits: size, provider's name, then traits with size and type each. */
static void take_traits(struct common_cursor *in, struct value *value)
{
	common_read16(in);
	take_string(in, value->text);
	while (!in->failed && common_cursor_left(in)) {
		const uint16_t size = common_read16(in);
		const uint8_t type = common_read8(in);
		const uint8_t *bytes = size < 3 ? NULL : common_read_bytes(in, size - 3u);

		if (!bytes) {
			in->failed = true;
		} else if ((type == TRAIT_GROUP || type == TRAIT_DECODE) && size - 3u == sizeof(value->guids[type])) {
			memcpy(value->guids[type].bytes, bytes, sizeof(value->guids[type].bytes));
			value->has_guid[type] = true;
		}
	}
}

static void take_list(struct common_cursor *in, size_t size, struct value *value)
{
	value->form = VALUE_LIST;
	value->size = size;
	value->count = common_cursor_left(in) / size;
	value->list = common_read_bytes(in, value->count * size);
}

/* Decodes a member. Sets in->failed for a malformed item. */
static void take_value(struct common_cursor *in, enum kind kind, struct value *value)
{
	value->form = kind <= NUMBER64 ? VALUE_NUMBER : kind == HEX32 || kind == HEX64 ? VALUE_HEX : VALUE_TEXT;
	value->addresses = kind == ADDRESSES32 || kind == ADDRESSES64;
	value->text->size = 0;
	switch (kind) {
	case NUMBER8:
		value->number = common_read8(in);
		break;
	case NUMBER16:
		value->number = common_read16(in);
		break;
	case NUMBER32:
	case HEX32:
		value->number = common_read32(in);
		break;
	case NUMBER64:
	case HEX64:
		value->number = common_read64(in);
		break;
	case GUID:
		take_guid(in, value->text);
		break;
	case SID:
		common_sid_read(in, value->text);
		break;
	case NUMBERS64:
	case ADDRESSES64:
		take_list(in, 8, value);
		break;
	case ADDRESSES32:
		take_list(in, 4, value);
		break;
	case CONTAINER:
		take_container(in, value->text);
		break;
	case EVENT_NAME:
		take_event_name(in, value->text);
		break;
	case TRAITS:
		value->form = VALUE_TRAITS;
		take_traits(in, value);
		break;
	case BYTES:
		common_text_hex_bytes(value->text, in->data + in->at, common_cursor_left(in));
		common_read_bytes(in, common_cursor_left(in));
	}
}

static const struct item *find_item(uint16_t type)
{
	for (size_t i = 0; i < sizeof(items) / sizeof(items[0]); i++)
		if (items[i].type == type)
			return &items[i];
	return NULL;
}

/* Returns the type's row, or NULL if the item is malformed or its type unknown. */
static const struct item *check_item(const struct ptl_extended *extended, struct ptl_bytes *scratch)
{
	const struct item *item = find_item(extended->type);
	struct common_cursor in = common_cursor(extended->data, extended->size);
	struct value value = {.text = scratch};

	for (size_t i = 0; item && i < MEMBERS_MAX && item->members[i].kind; i++)
		take_value(&in, item->members[i].kind, &value);
	return in.failed ? NULL : item;
}

/* ---- stacks -------------------------------------------------------------------------------------------------- */

bool analysis_stack_read(const struct ptl_extended *item, struct analysis_stack *stack)
{
	if ((item->type != STACK32 && item->type != STACK64) || item->size < 8)
		return false;
	stack->match = common_load64(item->data);
	stack->size = item->type == STACK32 ? 4 : 8;
	stack->frames = (const uint8_t *)item->data + 8;
	stack->count = (item->size - 8u) / stack->size;
	return true;
}

uint64_t analysis_stack_frame(const struct analysis_stack *stack, size_t i)
{
	return common_load_le(stack->frames + i * stack->size, stack->size);
}

/* ---- text ---------------------------------------------------------------------------------------------------- */

/* Appends a name. Text has hyphens, as in options; JSON has underscores. */
static void add_item_name(struct ptl_bytes *text, const char *name)
{
	for (; *name; name++)
		common_write_le(text, *name == '_' ? '-' : *name, 1);
}

static void add_traits(struct ptl_bytes *text, const struct value *value)
{
	char words[PTL_GUID_TEXT_SIZE];

	common_text_quoted(text, value->text->data, value->text->size);
	for (unsigned i = TRAIT_GROUP; i <= TRAIT_DECODE; i++) {
		if (!value->has_guid[i])
			continue;
		common_guid_format(&value->guids[i], words);
		common_text_format(text, " %s={%s}", i == TRAIT_GROUP ? "group" : "decode", words);
	}
}

static void add_hex(struct ptl_bytes *text, uint64_t number)
{
	common_text_add(text, "0x");
	common_text_hex(text, number);
}

static void add_list(struct ptl_bytes *text, const struct value *value)
{
	for (size_t i = 0; i < value->count; i++) {
		const uint64_t number = common_load_le(value->list + i * value->size, value->size);

		common_text_add(text, i ? "," : "");
		if (value->addresses)
			add_hex(text, number);
		else
			common_text_decimal(text, number);
	}
}

static void add_value(struct ptl_bytes *text, const struct value *value)
{
	switch (value->form) {
	case VALUE_NUMBER:
		common_text_decimal(text, value->number);
		break;
	case VALUE_HEX:
		add_hex(text, value->number);
		break;
	case VALUE_TEXT:
		common_text_quoted(text, value->text->data, value->text->size);
		break;
	case VALUE_LIST:
		add_list(text, value);
		break;
	case VALUE_TRAITS:
		add_traits(text, value);
	}
}

void analysis_text_extended(struct ptl_bytes *text, const struct ptl_extended *extended)
{
	struct ptl_bytes scratch = {0};
	const struct item *item = check_item(extended, &scratch);
	struct common_cursor in = common_cursor(extended->data, extended->size);

	if (!item) {
		common_text_format(text, " extended:%u=", extended->type);
		common_text_hex_bytes(text, extended->data, extended->size);
	} else {
		common_text_add(text, " ");
		add_item_name(text, item->name);
		common_text_add(text, item->members[1].kind ? "={" : "=");
	}
	for (size_t i = 0; item && i < MEMBERS_MAX && item->members[i].kind; i++) {
		struct value value = {.text = &scratch};

		take_value(&in, item->members[i].kind, &value);
		common_text_add(text, i ? " " : "");
		add_item_name(text, item->members[i].name);
		common_text_add(text, *item->members[i].name ? "=" : "");
		add_value(text, &value);
	}
	if (item && item->members[1].kind)
		common_text_add(text, "}");
	text->failed |= scratch.failed;
	common_bytes_free(&scratch);
}

/* ---- JSON ---------------------------------------------------------------------------------------------------- */

static void json_list(struct common_json *json, const char *key, const struct value *value)
{
	common_json_array(json, key);
	for (size_t i = 0; i < value->count; i++) {
		const uint64_t number = common_load_le(value->list + i * value->size, value->size);

		if (value->addresses)
			common_json_hex(json, NULL, number);
		else
			common_json_u64(json, NULL, number);
	}
	common_json_array_end(json);
}

static void json_value(struct common_json *json, const char *key, const struct value *value)
{
	char words[PTL_GUID_TEXT_SIZE];

	if (value->form == VALUE_NUMBER)
		common_json_u64(json, key, value->number);
	else if (value->form == VALUE_HEX)
		common_json_hex(json, key, value->number);
	else if (value->form == VALUE_LIST)
		json_list(json, key, value);
	else
		common_json_string_n(json, key, value->text->data ? (const char *)value->text->data : "",
				     value->text->size);
	for (unsigned i = TRAIT_GROUP; value->form == VALUE_TRAITS && i <= TRAIT_DECODE; i++) {
		if (!value->has_guid[i])
			continue;
		common_guid_format(&value->guids[i], words);
		common_json_string(json, i == TRAIT_GROUP ? "group" : "decode", words);
	}
}

void analysis_json_extended(struct common_json *json, struct ptl_bytes *scratch, const struct ptl_extended *extended)
{
	const struct item *item = check_item(extended, scratch);
	struct common_cursor in = common_cursor(extended->data, extended->size);

	common_json_object(json, NULL);
	common_json_u64(json, "type", extended->type);
	if (item)
		common_json_string(json, "name", item->name);
	for (size_t i = 0; item && i < MEMBERS_MAX && item->members[i].kind; i++) {
		struct value value = {.text = scratch};

		take_value(&in, item->members[i].kind, &value);
		json_value(json, *item->members[i].name ? item->members[i].name : "value", &value);
	}
	scratch->size = 0;
	common_text_hex_bytes(scratch, extended->data, extended->size);
	common_json_string(json, "data", common_text_string(scratch));
	common_json_object_end(json);
}
