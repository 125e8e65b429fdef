/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests EventHeader events: names of tracepoints, every encoding and format, both byte orders, and damage. */
#include <ptl/event_header.h>

#include "tests/unit/format_sample.h"

/* Replaces the GUID function of EventSource: returns the name's first bytes. */
static int guid_of(const char *name, struct ptl_guid *guid)
{
	if (strcmp(name, "Refused") == 0)
		return PTL_MISUSE;
	memset(guid, 0, sizeof(*guid));
	memcpy(guid->bytes, name, strlen(name) < 16 ? strlen(name) : 16);
	return 0;
}

/* ---- names of tracepoints -------------------------------------------------------------------------- */

static const struct {
	const char *text, *provider;
	uint8_t level;
	uint64_t keyword;
	const char *options;
} names[] = {
	{"MyProvider_L3K2a", "MyProvider", 3, 0x2a, ""},
	{"OtherProvider_L5K0Gperf", "OtherProvider", 5, 0, "Gperf"},
	{"user_events:My_Org_Part_LffKffffffffffffffff", "My_Org_Part", 255, UINT64_MAX, ""},
	{"P_L1K1A1Bcd2E", "P", 1, 1, "A1Bcd2E"},
	{"_X_L01K00", "_X", 1, 0, ""},
};

static const char *const no_names[] = {
	"",           "sched_switch", "P_L1",
	"P_LK1",      "P_L1K",        "_L1K1",
	"P_L1K1_",    "P_L100K1",     "P_L1K10000000000000000",
	"P_L1K1g",    "P_L1K1G-",     "P_LAK1",
	"P_l1k1",     "P x_L1K1",     "a:P_L1K1",
	"P_L1K1Ga_b",
};

static void names_are_read(void **state)
{
	struct ptl_tracepoint_name name;
	char text[300] = "";

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		assert_true(ptl_tracepoint_name_parse(names[i].text, &name));
		assert_string_equal(name.provider, names[i].provider);
		assert_int_equal(name.level, names[i].level);
		assert_true(name.keyword == names[i].keyword);
		assert_string_equal(name.options, names[i].options);
	}
	for (size_t i = 0; i < sizeof(no_names) / sizeof(no_names[0]); i++)
		if (ptl_tracepoint_name_parse(no_names[i], &name))
			fail_msg("'%s'", no_names[i]);
	memset(text, 'p', 250);
	memcpy(text + 250, "_L1K1", 6);
	assert_true(ptl_tracepoint_name_parse(text, &name));
	memcpy(text + 250, "_L1K10", 7);
	assert_false(ptl_tracepoint_name_parse(text, &name));
}

/* ---- an event as the library for C writes it ------------------------------------------------------- */

#define BYTES(text) (const uint8_t *)(text), sizeof(text) - 1

struct decoded {
	struct ptl_event_headers *headers;
	struct ptl_event event;
	const struct ptl_schema *schema;
	bool is_new;
};

static int start(void **state)
{
	struct decoded *decoded = calloc(1, sizeof(*decoded));

	*state = decoded;
	return ptl_event_headers_new(guid_of, &decoded->headers);
}

static int finish(void **state)
{
	struct decoded *decoded = *state;

	ptl_event_headers_free(decoded->headers);
	free(decoded);
	return 0;
}

static int decode(struct decoded *decoded, const char *tracepoint, const uint8_t *bytes, size_t size)
{
	return ptl_event_header_decode(decoded->headers, tracepoint, bytes, size, &decoded->event, &decoded->schema,
				       &decoded->is_new);
}

/*
 * The event of TraceLoggingWrite(..., "MyEventName", TraceLoggingString(argv[0], "arg0"), TraceLoggingInt32(argc)) in
 * the specification's first example: 64-bit pointers, little-endian, an extension; level 5; a description of 0x1a
 * bytes.
 */
static const uint8_t my_event[] = "\x07\0\0\0\0\0\0\x05"
				  "\x1a\0\x01\0"
				  "MyEventName\0"
				  "arg0\0\x87\x0a"
				  "argc\0\x84\x02"
				  "./a\0"
				  "\x02\0\0";

/* perf pads samples to whole words: padding is not payload. */
static void alignment_is_no_payload(void **state)
{
	struct decoded *decoded = *state;
	uint8_t bytes[sizeof(my_event) + 12];

	memset(bytes, 0xaa, sizeof(bytes));
	memcpy(bytes, my_event, sizeof(my_event));
	assert_done(decode(decoded, "MyTestProvider_L5K1f", bytes, sizeof(my_event) + 11));
	assert_int_equal(decoded->event.payload_size, 8 + 11);
	ptl_event_headers_alignment(decoded->headers, 12);
	assert_done(decode(decoded, "MyTestProvider_L5K1f", bytes, sizeof(my_event) + 11));
	assert_int_equal(decoded->event.payload_size, 8);
	/* Longer than any padding: the bytes belong to the event and stay. */
	assert_done(decode(decoded, "MyTestProvider_L5K1f", bytes, sizeof(my_event) + 12));
	assert_int_equal(decoded->event.payload_size, 8 + 12);
}

static void an_event_is_decoded(void **state)
{
	struct decoded *decoded = *state;
	const struct ptl_schema *schema;

	assert_done(decode(decoded, "user_events:MyTestProvider_L5K1f", my_event, sizeof(my_event)));
	schema = decoded->schema;
	assert_non_null(schema);
	assert_true(decoded->is_new);
	assert_string_equal(schema->provider_name, "MyTestProvider");
	assert_string_equal(schema->event_name, "MyEventName");
	assert_int_equal(schema->field_count, 2);
	assert_string_equal(schema->fields[0].name, "arg0");
	assert_int_equal(schema->fields[0].type, PTL_TYPE_UTF8);
	assert_int_equal(schema->fields[0].format, PTL_FORMAT_LATIN1);
	assert_string_equal(schema->fields[1].name, "argc");
	assert_int_equal(schema->fields[1].type, PTL_TYPE_I32);
	assert_int_equal(decoded->event.descriptor.level, 5);
	assert_int_equal(decoded->event.descriptor.keyword, 0x1f);
	assert_true(decoded->event.descriptor.id >= 0x8000);
	assert_int_equal(decoded->event.descriptor.id, schema->id);
	assert_int_equal(decoded->event.descriptor.version, schema->version);
	assert_memory_equal(decoded->event.descriptor.provider.bytes, "MyTestProvider\0", 16);
	assert_int_equal(decoded->event.payload_size, 8);
	assert_memory_equal(decoded->event.payload, "./a\0\2\0\0\0", 8);
	assert_int_equal(decoded->event.flags, 0);
	/* an equal description has the same schema */
	assert_done(decode(decoded, "MyTestProvider_L5K1f", my_event, sizeof(my_event)));
	assert_false(decoded->is_new);
	assert_ptr_equal(decoded->schema, schema);
	/* another keyword makes another kind of event */
	assert_done(decode(decoded, "MyTestProvider_L5K1", my_event, sizeof(my_event)));
	assert_true(decoded->is_new);
	assert_true(decoded->schema != schema);
	assert_true(decoded->schema->id != schema->id || decoded->schema->version != schema->version);
}

/* ---- each encoding and format ---------------------------------------------------------------------- */

struct builder {
	struct ptl_bytes description, payload;
	bool big_endian;
	char shown[4096];
	size_t size;
};

static void add_number(struct ptl_bytes *out, const struct builder *builder, uint64_t value, size_t size)
{
	for (size_t i = 0; i < size; i++)
		common_write_le(out, value >> 8 * (builder->big_endian ? size - 1 - i : i) & 0xff, 1);
}

static void add_field(struct builder *builder, const char *name, unsigned encoding, unsigned format)
{
	common_write_bytes(&builder->description, name, strlen(name) + 1);
	common_write_le(&builder->description, encoding | 0x80, 1);
	common_write_le(&builder->description, format, 1);
}

static int show(void *context, const struct ptl_value *value)
{
	struct builder *builder = context;
	char *at = builder->shown + builder->size;
	const size_t left = sizeof(builder->shown) - builder->size;

	builder->size += (size_t)snprintf(at, left, "%s:%u/%u", value->field->name, value->field->type,
					  value->field->format);
	if (value->field->type == PTL_TYPE_STRUCT)
		builder->size += (size_t)snprintf(builder->shown + builder->size, 3, "{ ");
	for (size_t i = 0; value->field->type != PTL_TYPE_STRUCT && i <= value->size; i++)
		builder->size += (size_t)snprintf(builder->shown + builder->size, 4,
						  i == value->size ? " "
						  : i              ? "%02x"
								   : "=%02x",
						  i == value->size ? 0 : value->bytes[i]);
	return 0;
}

/* Returns the whole event, and frees the builder's data. */
static struct ptl_bytes event_of(struct builder *builder, unsigned id, unsigned opcode)
{
	struct ptl_bytes bytes = {0};

	common_write_le(&bytes, builder->big_endian ? 5 : 7, 1);
	common_write_le(&bytes, id ? 3 : 0, 1);
	add_number(&bytes, builder, id, 2);
	add_number(&bytes, builder, 0x1234, 2);
	common_write_le(&bytes, opcode, 1);
	common_write_le(&bytes, 4, 1);
	add_number(&bytes, builder, builder->description.size, 2);
	add_number(&bytes, builder, 1, 2);
	common_write_bytes(&bytes, builder->description.data, builder->description.size);
	if (builder->payload.size)
		common_write_bytes(&bytes, builder->payload.data, builder->payload.size);
	common_bytes_free(&builder->description);
	common_bytes_free(&builder->payload);
	return bytes;
}

static void check(struct decoded *decoded, struct builder *builder, const char *expected)
{
	struct ptl_bytes bytes = event_of(builder, 7, 1);
	size_t rest = 99;

	assert_done(decode(decoded, "P_L4K1", bytes.data, bytes.size));
	assert_non_null(decoded->schema);
	builder->size = 0;
	builder->shown[0] = 0;
	assert_done(ptl_payload_decode(decoded->schema, decoded->event.payload, decoded->event.payload_size, show,
				       builder, &rest));
	assert_string_equal(builder->shown, expected);
	assert_int_equal(rest, 0);
	assert_int_equal(decoded->event.extended_count, 0);
	common_bytes_free(&bytes);
}

/* Numbers of every width and format give equal results in both byte orders. */
static void numbers_are_decoded(void **state)
{
	static const struct {
		unsigned size, format;
		const char *shown;
	} cases[] = {
		{1, 0, "n:1/0=81 "},
		{1, 1, "n:1/0=81 "},
		{1, 2, "n:2/0=81 "},
		{1, 3, "n:1/1=81 "},
		{1, 7, "n:11/0=81 "},
		{1, 9, "n:22/0=81 "},
		{1, 10, "n:1/10=81 "},
		{1, 99, "n:1/0=81 "},
		{2, 0, "n:3/0=8182 "},
		{2, 2, "n:4/0=8182 "},
		{2, 3, "n:3/1=8182 "},
		{2, 7, "n:12/0=81820000 "},
		{2, 11, "n:3/2=8182 "},
		{4, 0, "n:5/0=81828384 "},
		{4, 2, "n:6/0=81828384 "},
		{4, 3, "n:5/1=81828384 "},
		{4, 4, "n:6/5=81828384 "},
		{4, 5, "n:6/0=81828384 "},
		{4, 7, "n:12/0=81828384 "},
		{4, 8, "n:9/0=81828384 "},
		{4, 11, "n:5/2=81828384 "},
		{8, 0, "n:7/0=8182838485868788 "},
		{8, 2, "n:8/0=8182838485868788 "},
		{8, 3, "n:7/1=8182838485868788 "},
		{8, 8, "n:10/0=8182838485868788 "},
		{8, 4, "n:8/5=8182838485868788 "},
		/* 0x84838281 and 0x8888878685848382 seconds; the latter exceeds the range of nanoseconds. */
		{4, 6, "n:15/0=00ca9301c0a43fe3 "},
		{8, 6, "n:15/0=0000000000000080 "},
	};

	for (unsigned order = 0; order < 2; order++) {
		for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
			struct builder builder = {.big_endian = order};
			const unsigned encoding = cases[i].size == 1   ? 2
						  : cases[i].size == 2 ? 3
						  : cases[i].size == 4 ? 4
								       : 5;

			common_write_bytes(&builder.description, "E", 2);
			add_field(&builder, "n", encoding, cases[i].format);
			/* Raw bytes keep their order. */
			if (cases[i].format == 9)
				common_write_bytes(&builder.payload, "\x81\x82\x83\x84\x85\x86\x87\x88", cases[i].size);
			else
				add_number(&builder.payload, &builder, 0x8887868584838281, cases[i].size);
			check(*state, &builder, cases[i].shown);
		}
	}
}

static void what_is_in_network_order_stays_so(void **state)
{
	for (unsigned order = 0; order < 2; order++) {
		struct builder builder = {.big_endian = order};

		common_write_bytes(&builder.description, "E", 2);
		add_field(&builder, "port", 3, 16);
		add_field(&builder, "ip4", 4, 17);
		add_field(&builder, "ip6", 6, 18);
		add_field(&builder, "uuid", 6, 15);
		add_field(&builder, "raw", 6, 0);
		add_field(&builder, "ip", 13, 17);
		common_write_bytes(&builder.payload, "\x01\xbb\x7f\0\0\1", 6);
		for (unsigned i = 0; i < 3; i++)
			common_write_bytes(&builder.payload,
					   "\x00\x11\x22\x33\x44\x55\x66\x77\x88\x99\xaa\xbb\xcc\xdd\xee\xff", 16);
		add_number(&builder.payload, &builder, 4, 2);
		common_write_bytes(&builder.payload, "\x0a\0\0\1", 4);
		check(*state, &builder,
		      "port:3/6=01bb ip4:5/7=7f000001 ip6:22/7=00112233445566778899aabbccddeeff "
		      "uuid:16/0=33221100554477668899aabbccddeeff raw:22/0=00112233445566778899aabbccddeeff "
		      "ip:21/7=0a000001 ");
	}
}

static void add_characters(struct builder *builder, unsigned unit, const uint32_t *text, size_t count)
{
	for (size_t i = 0; i < count; i++)
		add_number(&builder->payload, builder, text[i], unit);
}

static void strings_are_decoded(void **state)
{
	static const uint32_t text[] = {'a', 0xe4}, zero[] = {0}, marked[] = {0xfeff, 'm'}, turned[] = {0xfffe, 0x6d00};
	static const uint32_t wide[] = {0x1f600, 0xd800, 'x'}, wide_marked[] = {0xfffe0000, 0x78000000};

	for (unsigned order = 0; order < 2; order++) {
		struct builder builder = {.big_endian = order};

		common_write_bytes(&builder.description, "E;attribute=x;;y", 17);
		add_field(&builder, "z8;a=b", 7, 0);
		common_write_bytes(&builder.payload, "utf\xc3\xa4\0", 6);
		add_field(&builder, "z8bytes", 7, 9);
		common_write_bytes(&builder.payload, "by", 3);
		add_field(&builder, "z8mark", 7, 12);
		common_write_bytes(&builder.payload, "\xef\xbb\xbfm", 5);
		add_field(&builder, "z8xml", 7, 13);
		common_write_bytes(&builder.payload, "<a/>", 5);
		add_field(&builder, "z16", 8, 0);
		add_characters(&builder, 2, text, 2);
		add_characters(&builder, 2, zero, 1);
		add_field(&builder, "z16mark", 8, 14);
		add_characters(&builder, 2, turned, 2);
		add_characters(&builder, 2, zero, 1);
		add_field(&builder, "z32", 9, 0);
		add_characters(&builder, 4, wide, 3);
		add_characters(&builder, 4, zero, 1);
		add_field(&builder, "c8", 10, 10);
		add_number(&builder.payload, &builder, 3, 2);
		common_write_bytes(&builder.payload, "l1\xe4", 3);
		add_field(&builder, "c8bytes", 10, 9);
		add_number(&builder.payload, &builder, 2, 2);
		common_write_bytes(&builder.payload, "\xca\xfe", 2);
		add_field(&builder, "c16", 11, 12);
		add_number(&builder.payload, &builder, 2, 2);
		add_characters(&builder, 2, marked, 2);
		add_field(&builder, "c32", 12, 12);
		add_number(&builder.payload, &builder, 2, 2);
		add_characters(&builder, 4, wide_marked, 2);
		add_field(&builder, "empty", 12, 0);
		add_number(&builder.payload, &builder, 0, 2);
		add_field(&builder, "binary", 13, 0);
		add_number(&builder.payload, &builder, 1, 2);
		common_write_bytes(&builder.payload, "\xbe", 1);
		add_field(&builder, "text", 13, 14);
		add_number(&builder.payload, &builder, 2, 2);
		common_write_bytes(&builder.payload, "{}", 2);
		check(*state, &builder,
		      "z8:17/0=757466c3a4 z8bytes:21/0=6279 z8mark:17/0=6d z8xml:17/9=3c612f3e z16:18/0=6100e400 "
		      "z16mark:18/8=6d00 z32:17/0=f09f9880eda08078 c8:19/10=6c31e4 c8bytes:21/0=cafe c16:20/0=6d00 "
		      "c32:19/0=78 empty:19/0 binary:21/0=be text:19/8=7b7d ");
		assert_string_equal(((struct decoded *)*state)->schema->event_name, "E");
	}
}

static void arrays_and_structures_are_decoded(void **state)
{
	for (unsigned order = 0; order < 2; order++) {
		struct builder builder = {.big_endian = order};

		common_write_bytes(&builder.description, "E", 2);
		add_field(&builder, "fixed", 3 | 0x20, 3 | 0x80); /* tag, followed by the count */
		add_number(&builder.description, &builder, 0xbeef, 2);
		add_number(&builder.description, &builder, 2, 2);
		add_number(&builder.payload, &builder, 0x0102, 2);
		add_number(&builder.payload, &builder, 0x0304, 2);
		add_field(&builder, "counted", 7 | 0x40, 0);
		add_number(&builder.payload, &builder, 2, 2);
		common_write_bytes(&builder.payload, "a\0bc", 5);
		add_field(&builder, "s", 1 | 0x40, 2); /* two members: a number, and a structure with one member */
		add_field(&builder, "x", 2, 0);
		add_field(&builder, "inner", 1, 1);
		add_field(&builder, "y", 2 | 0x40, 0);
		add_field(&builder, "after", 2, 0);
		add_number(&builder.payload, &builder, 2, 2);
		common_write_bytes(&builder.payload, "\x01", 1);
		add_number(&builder.payload, &builder, 2, 2);
		common_write_bytes(&builder.payload, "\x02\x03\x04", 3);
		add_number(&builder.payload, &builder, 0, 2);
		common_write_bytes(&builder.payload, "\x05", 1);
		check(*state, &builder,
		      "fixed:3/1=0201 fixed:3/1=0403 counted:17/0=61 counted:17/0=6263 s:23/0{ x:1/0=01 inner:23/0{ "
		      "y:1/0=02 "
		      "y:1/0=03 s:23/0{ x:1/0=04 inner:23/0{ after:1/0=05 ");
		assert_int_equal(((struct decoded *)*state)->schema->fields[0].tags, 0xbeef);
		assert_int_equal(((struct decoded *)*state)->schema->fields[2].length, 3);
	}
}

static void many_fields_are_decoded(void **state)
{
	struct decoded *decoded = *state;
	struct builder builder = {0};
	struct ptl_bytes bytes;
	size_t rest;

	common_write_bytes(&builder.description, "E", 2);
	for (unsigned i = 0; i < 128; i++) {
		common_write_bytes(&builder.description, "f", 2);
		common_write_le(&builder.description, 2, 1);
		common_write_le(&builder.payload, i, 1);
	}
	bytes = event_of(&builder, 1, 0);
	assert_done(decode(decoded, "P_L4K1", bytes.data, bytes.size));
	assert_int_equal(decoded->schema->field_count, 128);
	assert_done(ptl_payload_decode(decoded->schema, decoded->event.payload, decoded->event.payload_size, show,
				       &builder, &rest));
	assert_int_equal(rest, 0);
	common_bytes_free(&bytes);
}

/* ---- header and extensions ------------------------------------------------------------------------- */

static void descriptors_and_tags_are_kept(void **state)
{
	struct decoded *decoded = *state;
	struct builder builder = {0};
	struct ptl_bytes bytes;
	uint16_t id;

	common_write_bytes(&builder.description, "Begin", 6);
	bytes = event_of(&builder, 77, 1);
	assert_done(decode(decoded, "P_L4K80", bytes.data, bytes.size));
	assert_int_equal(decoded->event.descriptor.id, 77);
	assert_int_equal(decoded->event.descriptor.version, 3);
	assert_int_equal(decoded->event.descriptor.opcode, 1);
	assert_int_equal(decoded->event.descriptor.level, 4);
	assert_int_equal(decoded->event.descriptor.keyword, 0x80);
	assert_int_equal(decoded->schema->tags, 0x1234);
	assert_int_equal(decoded->schema->level, 4);
	assert_int_equal(decoded->schema->keyword, 0x80);
	assert_string_equal(decoded->schema->opcode_name, "Start");
	assert_int_equal(decoded->event.payload_size, 0);
	common_bytes_free(&bytes);
	/* Another description with the same id gets a new id. */
	common_write_bytes(&builder.description, "Other", 6);
	bytes = event_of(&builder, 77, 1);
	assert_done(decode(decoded, "P_L4K80", bytes.data, bytes.size));
	assert_true(decoded->is_new);
	id = decoded->event.descriptor.id;
	assert_true(id >= 0x8000);
	assert_done(decode(decoded, "P_L4K80", bytes.data, bytes.size));
	assert_int_equal(decoded->event.descriptor.id, id);
	/* The id is the same in another trace, independent of earlier events. */
	finish(state);
	start(state);
	decoded = *state;
	bytes.data[2] = bytes.data[3] = 0;
	assert_done(decode(decoded, "P_L4K80", bytes.data, bytes.size));
	id = decoded->event.descriptor.id;
	finish(state);
	start(state);
	decoded = *state;
	assert_done(decode(decoded, "P_L4K80", bytes.data, bytes.size));
	assert_int_equal(decoded->event.descriptor.id, id);
	common_bytes_free(&bytes);
}

#define UUID "\x00\x11\x22\x33\x44\x55\x66\x77\x88\x99\xaa\xbb\xcc\xdd\xee\xff"
#define GUID "\x33\x22\x11\x00\x55\x44\x77\x66\x88\x99\xaa\xbb\xcc\xdd\xee\xff"
#define OTHER_UUID "\xff\x11\x22\x33\x44\x55\x66\x77\x88\x99\xaa\xbb\xcc\xdd\xee\xff"
#define OTHER_GUID "\x33\x22\x11\xff\x55\x44\x77\x66\x88\x99\xaa\xbb\xcc\xdd\xee\xff"

static void extensions_are_read(void **state)
{
	struct decoded *decoded = *state;

	assert_done(decode(decoded, "P_L2K1",
			   BYTES("\x07\0\x05\0\0\0\0\x02"
				 "\x20\0\x02\x80" UUID OTHER_UUID "\x03\0\x07\x80"
				 "abc"
				 "\x05\0\x01\0"
				 "E\0n\0\x02"
				 "\x2a")));
	assert_int_equal(decoded->event.flags, PTL_EVENT_HAS_ACTIVITY | PTL_EVENT_HAS_RELATED);
	assert_memory_equal(decoded->event.activity.bytes, GUID, 16);
	assert_memory_equal(decoded->event.related.bytes, OTHER_GUID, 16);
	assert_int_equal(decoded->event.extended_count, 1);
	assert_int_equal(decoded->event.extended[0].type, 7);
	assert_int_equal(decoded->event.extended[0].size, 3);
	assert_memory_equal(decoded->event.extended[0].data, "abc", 3);
	assert_int_equal(decoded->event.payload_size, 1);
	assert_int_equal(decoded->event.payload[0], 42);
	/* an event without a description */
	assert_done(decode(decoded, "P_L2K1", BYTES("\x07\x09\x05\0\0\0\0\x02\x10\0\x02\0" UUID "data")));
	assert_null(decoded->schema);
	assert_int_equal(decoded->event.flags, PTL_EVENT_HAS_ACTIVITY);
	assert_int_equal(decoded->event.descriptor.version, 9);
	assert_int_equal(decoded->event.payload_size, 4);
	assert_done(decode(decoded, "P_L2K1", BYTES("\x03\x09\x05\0\0\0\0\x02")));
	assert_null(decoded->schema);
	assert_int_equal(decoded->event.payload_size, 0);
}

/* ---- what does not fit ----------------------------------------------------------------------------- */

static void unknown_encodings_take_the_rest(void **state)
{
	struct decoded *decoded = *state;
	struct builder builder = {0};

	common_write_bytes(&builder.description, "E", 2);
	add_field(&builder, "a", 2, 0);
	add_field(&builder, "s", 1 | 0x40, 2);
	add_field(&builder, "known", 2, 0);
	add_field(&builder, "unknown", 31, 0);
	add_field(&builder, "behind", 2, 0);
	common_write_bytes(&builder.payload, "\1\2\3\4", 4);
	check(decoded, &builder, "a:1/0=01 s:22/0=020304 ");
	assert_int_equal(decoded->schema->field_count, 2);
}

static void payloads_that_do_not_fit_are_kept(void **state)
{
	struct decoded *decoded = *state;
	struct builder builder = {0};
	struct ptl_bytes bytes;

	common_write_bytes(&builder.description, "E", 2);
	add_field(&builder, "a", 3, 7);
	add_field(&builder, "b", 4, 0);
	common_write_bytes(&builder.payload, "\1\0\2\3", 4);
	bytes = event_of(&builder, 1, 0);
	assert_done(decode(decoded, "P_L4K1", bytes.data, bytes.size));
	assert_non_null(decoded->schema);
	assert_int_equal(decoded->event.payload_size, 4);
	assert_int_equal(decoded->event.extended_count, 1);
	assert_int_equal(decoded->event.extended[0].type, PTL_EXTENDED_EVENT_HEADER);
	assert_int_equal(decoded->event.extended[0].size, 4);
	assert_memory_equal(decoded->event.extended[0].data, "\1\0\2\3", 4);
	common_bytes_free(&bytes);
	/* Bytes behind the last field are kept. */
	common_write_bytes(&builder.description, "E", 2);
	add_field(&builder, "a", 3, 7);
	common_write_bytes(&builder.payload, "\1\0rest", 6);
	bytes = event_of(&builder, 2, 0);
	assert_done(decode(decoded, "P_L4K1", bytes.data, bytes.size));
	assert_int_equal(decoded->event.payload_size, 8);
	assert_memory_equal(decoded->event.payload, "\1\0\0\0rest", 8);
	assert_int_equal(decoded->event.extended_count, 0);
	common_bytes_free(&bytes);
}

static const struct {
	const char *what, *bytes;
	size_t size;
	int status;
} damaged[] = {
	{"short", "\x07\0\0\0\0\0\0", 7, PTL_TRUNCATED},
	{"flags", "\x0f\0\0\0\0\0\0\x02", 8, PTL_UNSUPPORTED},
	{"level", "\x03\0\0\0\0\0\0\x03", 8, PTL_CORRUPT},
	{"no extension", "\x07\0\0\0\0\0\0\x02", 8, PTL_CORRUPT},
	{"cut extension", "\x07\0\0\0\0\0\0\x02\x05\0\x01\0abc", 15, PTL_CORRUPT},
	{"no kind", "\x07\0\0\0\0\0\0\x02\0\0\0\0", 12, PTL_CORRUPT},
	{"chain",
	 "\x07\0\0\0\0\0\0\x02\x02\0\x01\x80"
	 "E\0",
	 14, PTL_CORRUPT},
	{"two descriptions",
	 "\x07\0\0\0\0\0\0\x02\x02\0\x01\x80"
	 "E\0\x02\0\x01\0"
	 "E\0",
	 20, PTL_CORRUPT},
	{"activity", "\x07\0\0\0\0\0\0\x02\x05\0\x02\0abcde", 17, PTL_CORRUPT},
	{"empty description", "\x07\0\0\0\0\0\0\x02\0\0\x01\0", 12, PTL_CORRUPT},
	{"name",
	 "\x07\0\0\0\0\0\0\x02\x02\0\x01\0"
	 "EE",
	 14, PTL_CORRUPT},
	{"field name",
	 "\x07\0\0\0\0\0\0\x02\x03\0\x01\0"
	 "E\0n",
	 15, PTL_CORRUPT},
	{"encoding",
	 "\x07\0\0\0\0\0\0\x02\x04\0\x01\0"
	 "E\0n\0",
	 16, PTL_CORRUPT},
	{"no encoding",
	 "\x07\0\0\0\0\0\0\x02\x05\0\x01\0"
	 "E\0n\0\0",
	 17, PTL_CORRUPT},
	{"format",
	 "\x07\0\0\0\0\0\0\x02\x05\0\x01\0"
	 "E\0n\0\x82",
	 17, PTL_CORRUPT},
	{"tag",
	 "\x07\0\0\0\0\0\0\x02\x07\0\x01\0"
	 "E\0n\0\x82\x80\x01",
	 19, PTL_CORRUPT},
	{"count",
	 "\x07\0\0\0\0\0\0\x02\x06\0\x01\0"
	 "E\0n\0\x22\x01",
	 18, PTL_CORRUPT},
	{"count of none",
	 "\x07\0\0\0\0\0\0\x02\x07\0\x01\0"
	 "E\0n\0\x22\0\0",
	 19, PTL_CORRUPT},
	{"two counts",
	 "\x07\0\0\0\0\0\0\x02\x07\0\x01\0"
	 "E\0n\0\x62\1\0",
	 19, PTL_CORRUPT},
	{"no members",
	 "\x07\0\0\0\0\0\0\x02\x06\0\x01\0"
	 "E\0s\0\x81\0",
	 18, PTL_CORRUPT},
	{"members missing",
	 "\x07\0\0\0\0\0\0\x02\x06\0\x01\0"
	 "E\0s\0\x81\1",
	 18, PTL_CORRUPT},
};

static void what_is_damaged_is_told(void **state)
{
	struct decoded *decoded = *state;

	for (size_t i = 0; i < sizeof(damaged) / sizeof(damaged[0]); i++) {
		const int status = decode(decoded, "P_L2K1", (const uint8_t *)damaged[i].bytes, damaged[i].size);

		if (status != damaged[i].status)
			fail_msg("%s: %d", damaged[i].what, status);
		assert_null(decoded->schema);
		assert_false(decoded->is_new);
		if (status != PTL_CORRUPT)
			continue;
		assert_int_equal(decoded->event.payload_size, damaged[i].size - 8);
		assert_ptr_equal(decoded->event.payload, damaged[i].bytes + 8);
		assert_int_equal(decoded->event.descriptor.keyword, 1);
	}
	assert_int_equal(decode(decoded, "sched_switch", BYTES("\x03\0\0\0\0\0\0\x02")), PTL_NOT_OURS);
	assert_int_equal(decode(decoded, "Refused_L2K1", BYTES("\x03\0\0\0\0\0\0\x02")), PTL_MISUSE);
}

static void structures_nest_eight_deep(void **state)
{
	struct decoded *decoded = *state;

	for (unsigned depth = 8; depth < 10; depth++) {
		struct builder builder = {0};
		struct ptl_bytes bytes;

		common_write_bytes(&builder.description, "E", 2);
		for (unsigned i = 0; i < depth; i++)
			add_field(&builder, "s", 1, 1);
		add_field(&builder, "n", 2, 0);
		common_write_bytes(&builder.payload, "\1", 1);
		bytes = event_of(&builder, depth, 0);
		assert_int_equal(decode(decoded, "P_L4K1", bytes.data, bytes.size), depth == 8 ? 0 : PTL_CORRUPT);
		common_bytes_free(&bytes);
	}
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, start, finish)
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_are_read),
		TEST(alignment_is_no_payload),
		TEST(an_event_is_decoded),
		TEST(numbers_are_decoded),
		TEST(what_is_in_network_order_stays_so),
		TEST(strings_are_decoded),
		TEST(arrays_and_structures_are_decoded),
		TEST(many_fields_are_decoded),
		TEST(descriptors_and_tags_are_kept),
		TEST(extensions_are_read),
		TEST(unknown_encodings_take_the_rest),
		TEST(payloads_that_do_not_fit_are_kept),
		TEST(what_is_damaged_is_told),
		TEST(structures_nest_eight_deep),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
