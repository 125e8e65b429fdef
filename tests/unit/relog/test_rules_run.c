/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests rules applied to events: expressions, changes of headers and payloads, and inapplicable rules. */
#include "tests/unit/format_sample.h"

#include "common/text/guid.h"
#include "common/text/utf16.h"
#include "relog/rules/parse.h"
#include "relog/rules/run.h"

#define GUID "5d1e4a7c-3b52-4f19-9a20-7c1d2e3f4a5b"

static const struct ptl_guid provider = PTL_GUID(0x5d1e4a7c, 0x3b52, 0x4f19, 0x9a20, 0x7c1d2e3f4a5b);

static const struct ptl_field fields[] = {
	{.name = "A", .type = PTL_TYPE_U32},
	{.name = "B", .type = PTL_TYPE_I16},
	{.name = "Name", .type = PTL_TYPE_UTF8},
	{.name = "Wide", .type = PTL_TYPE_UTF16},
	{.name = "F", .type = PTL_TYPE_F64},
	{.name = "List", .type = PTL_TYPE_U16, .array = PTL_ARRAY_COUNTED, .map = "Bits"},
	{.name = "S", .type = PTL_TYPE_STRUCT, .array = PTL_ARRAY_FIXED, .array_length = 2, .length = 2},
	{.name = "X", .type = PTL_TYPE_U8, .map = "Kinds"},
	{.name = "Y", .type = PTL_TYPE_BOOL8},
	{.name = "Id", .type = PTL_TYPE_GUID},
};
static const struct ptl_schema schema = {
	.provider = {{0x7c, 0x4a, 0x1e, 0x5d, 0x52, 0x3b, 0x19, 0x4f, 0x9a, 0x20, 0x7c, 0x1d, 0x2e, 0x3f, 0x4a, 0x5b}},
	.id = 1,
	.provider_name = "Test",
	.event_name = "Test/Event",
	.task_name = "",
	.opcode_name = "",
	.message = "",
	.fields = fields,
	.field_count = 10,
};
static const struct ptl_map_entry kinds[] = {{1, "Small"}, {2, "Large"}};
static const struct ptl_map flags = {
	.provider = {{0x7c, 0x4a, 0x1e, 0x5d, 0x52, 0x3b, 0x19, 0x4f, 0x9a, 0x20, 0x7c, 0x1d, 0x2e, 0x3f, 0x4a, 0x5b}},
	.kind = PTL_MAP_FLAGS,
	.name = "Bits",
	.entries = (const struct ptl_map_entry[]){{2, "Read"}, {8, "Write"}},
	.count = 2,
};
static const struct ptl_map values = {
	.provider = {{0x7c, 0x4a, 0x1e, 0x5d, 0x52, 0x3b, 0x19, 0x4f, 0x9a, 0x20, 0x7c, 0x1d, 0x2e, 0x3f, 0x4a, 0x5b}},
	.kind = PTL_MAP_VALUES,
	.name = "Kinds",
	.entries = kinds,
	.count = 2,
};
static const uint8_t payload[] = "\x2a\0\0\0"
				 "\xfe\xff"
				 "hello\0"
				 "w\0\xe9\0\0\0"
				 "\0\0\0\0\0\0\xf8\x3f"
				 "\2\0\7\0\x8\0"
				 "\1\1\2\0"
				 "0123456789abcdef";

/* Output of the rules. */
struct outcome {
	unsigned passed, injected, schemas, blobs;
	bool changed;
	struct ptl_event event; /* last passed event */
	uint8_t payload[140000];
	struct ptl_event made;    /* last injected event */
	struct ptl_schema schema; /* last schema; its texts are below */
	char event_name[32], provider_name[32], field_names[128];
	unsigned maps;
	struct ptl_map map; /* last map; its name is below */
	char map_name[32];
};

static struct outcome outcome;

static int pass(void *context, const struct ptl_event *changed)
{
	(void)context;
	outcome.passed++;
	outcome.changed = changed != NULL;
	if (changed) {
		outcome.event = *changed;
		assert_true(changed->payload_size <= sizeof(outcome.payload));
		memcpy(outcome.payload, changed->payload, changed->payload_size);
	}
	return 0;
}

static int inject(void *context, const struct ptl_event *event)
{
	(void)context;
	assert_true(event->flags & PTL_EVENT_INJECTED);
	outcome.injected++;
	outcome.made = *event;
	return 0;
}

static int take_schema(void *context, const struct ptl_schema *made)
{
	(void)context;
	outcome.schemas++;
	outcome.schema = *made;
	snprintf(outcome.event_name, sizeof(outcome.event_name), "%s", made->event_name);
	snprintf(outcome.provider_name, sizeof(outcome.provider_name), "%s", made->provider_name);
	outcome.field_names[0] = '\0';
	for (size_t i = 0; i < made->field_count; i++) {
		strcat(outcome.field_names, made->fields[i].name);
		strcat(outcome.field_names, " ");
	}
	return 0;
}

static int take_map(void *context, const struct ptl_map *map)
{
	(void)context;
	outcome.map = *map;
	snprintf(outcome.map_name, sizeof(outcome.map_name), "%s", map->name);
	outcome.maps++;
	return 0;
}

static int blob(void *context, uint32_t type, const void *data, size_t size, uint8_t hash[PTL_HASH_SIZE])
{
	(void)context;
	(void)type;
	(void)data;
	(void)size;
	memset(hash, 1, PTL_HASH_SIZE);
	outcome.blobs++;
	return 0;
}

static int blob_file(void *context, uint32_t type, int fd, uint64_t offset, uint64_t size, uint8_t hash[PTL_HASH_SIZE])
{
	(void)fd;
	(void)offset;
	(void)size;
	return blob(context, type, "", 0, hash);
}

static struct ptl_trace *trace;

static int set_up(void **state)
{
	const int fd = sample_fd();
	struct ptl_writer *writer = sample_writer(fd, NULL);

	(void)state;
	assert_done(ptl_writer_schema(writer, &schema));
	assert_done(ptl_writer_map(writer, &values));
	assert_done(ptl_writer_map(writer, &flags));
	assert_done(ptl_writer_close(writer));
	assert_done(ptl_open_fd(fd, "sample", NULL, &trace));
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	ptl_close(trace);
	return 0;
}

static const struct ptl_event event = {
	.descriptor = {.provider = PTL_GUID(0x5d1e4a7c, 0x3b52, 0x4f19, 0x9a20, 0x7c1d2e3f4a5b),
		       .id = 1,
		       .level = 4,
		       .keyword = 0x8000000000000000},
	.time = 1500000,
	.cpu = 3,
	.pid = 42,
	.tid = 43,
	.payload = payload,
	.payload_size = sizeof(payload) - 1,
};

/* Applies the rules to `times` copies of the event. */
static int apply_to(const char *text, const struct ptl_event *to, unsigned times)
{
	const struct rules_output output = {.pass = pass,
					    .inject = inject,
					    .schema = take_schema,
					    .map = take_map,
					    .blob = blob,
					    .blob_file = blob_file};
	const struct rules_options options = {.start_time = 1000000};
	struct rules rules;
	struct rules_run *run;
	int status;

	outcome = (struct outcome){0};
	assert_done(rules_parse("r", text, strlen(text), &rules));
	status = rules_run_new(&rules, &output, &options, &trace, 1, &run);
	if (!status) {
		for (unsigned i = 0; !status && i < times; i++)
			status = rules_run_event(run, trace, to);
		if (!status)
			status = rules_run_end(run);
		rules_run_free(run);
	}
	rules_free(&rules);
	return status;
}

static bool holds(const char *condition)
{
	char text[512];

	snprintf(text, sizeof(text), "on any where %s { drop; }", condition);
	assert_done(apply_to(text, &event, 1));
	return !outcome.passed;
}

static void computes(void **state)
{
	static const char *const true_ones[] = {
		"A == 42",
		"B == -2",
		"B < 0",
		"A + B == 40",
		"A * 0x100000000 * 0x100000000 / 0x8000000000000000 == A * 2",
		"-7 / 2 == -3",
		"-7 % 2 == -1",
		"~0 & 0xff == 255",
		"1 << 100 >> 98 == 4",
		"(A | 1) ^ 1 == 42",
		"Name == \"hello\"",
		"Name like \"h*o\"",
		"not Name like \"x*\"",
		"Wide == \"w\\xc3\\xa9\"",
		"Name + \"!\" == \"hello!\"",
		"Name < \"help\"",
		"F == 1.5",
		"F * 2 == 3",
		"F / 2 > 0.7",
		"len(Name) == 5",
		"List[1] == 8",
		"S[1].X == 2",
		"S[0].Y == true",
		"not S[1].Y",
		"Id == guid(\"33323130-3534-3736-3839-616263646566\")",
		"str(A) == \"42\"",
		"hex(A) == \"0x2a\"",
		"hex(B) == \"-0x2\"",
		"lower(\"AbC\") == \"abc\"",
		"basename(\"/a/b\") == \"b\"",
		"dirname(\"/a/b\") == \"/a\"",
		"dirname(\"/a\") == \"/\"",
		"dirname(\"a\") == \"\"",
		"replace(Name, \"h*\", \"j$1\") == \"jello\"",
		"replace(Name, \"x\", \"y\") == Name",
		"has(A)",
		"has(List)",
		"has(S)",
		"not has(Q)",
		"has(List[1])",
		"not has(List[2])",
		"event.pid == 42",
		"event.tid == 43",
		"event.cpu == 3",
		"event.level == 4",
		"event.keyword == 0x8000000000000000",
		"event.time == 1500000",
		"event.id == 1",
		"event.provider == \"" GUID "\"",
		"event.activity == \"\"",
		"event.size == 52",
		"event.process == \"\"",
		"any(i in List, List[i] == 8)",
		"all(i in List, List[i] < 9)",
		"count(i in List, List[i] > 0) == 2",
		"any(i in S, S[i].X == 2 and S[i].Y == false)",
		"count(k in S, k > 0) == 1",
		"not any(i in List, List[i] == 9)",
		"all(i in S, any(j in List, List[j] > S[i].X))",
		"count(i in S, count(j in S, i < j) == 1) == 1",
		"any(i in List, A == 42)",
		"any(A in List, A == 1)",
		"any(A in List, `A` == 42)",
		"any(i in S, has(S[i].X))",
		"all(i in S, str(i) != \"2\")",
		"true or A / 0 == 1",
		"not (false and A / 0 == 1)",
		"has(Q) or A == 42",
		"1ms == 1000000",
		"64K == 65536",
	};
	static const char *const false_ones[] = {
		"A == 43",           "Q == 1", "not Q == 1", "List[2] == 0", "not List[2] == 0", "Name == \"Hello\"",
		"has(Q) and Q == 1",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(true_ones) / sizeof(true_ones[0]); i++)
		if (!holds(true_ones[i]))
			fail_msg("does not hold: %s", true_ones[i]);
	for (size_t i = 0; i < sizeof(false_ones) / sizeof(false_ones[0]); i++)
		if (holds(false_ones[i]))
			fail_msg("holds: %s", false_ones[i]);
}

/* named values, as in ptl-record's --only and --stop-at */
static void names_values(void **state)
{
	static const char *const true_ones[] = {
		"S[1].X == \"Large\"",
		"S[1].X != \"Small\"",
		"S[1].X like \"L*\"",
		"any(i in S, S[i].X == \"Large\")",
		"(List[1] & \"Read|Write\") == 8",
		"List[1] == \"Write\"",
		"(List[0] & \"Read\") != 0",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(true_ones) / sizeof(true_ones[0]); i++)
		if (!holds(true_ones[i]))
			fail_msg("does not hold: %s", true_ones[i]);
	assert_false(holds("S[0].X == \"Large\""));
	assert_int_equal(apply_to("on any where S[1].X == \"Huge\" { drop; }", &event, 1), PTL_CORRUPT);
	assert_string_equal(ptl_error_text(), "r:1:24: expected a name such as \"Small\", found \"Huge\"");
	assert_int_equal(apply_to("on any where B == \"Large\" { drop; }", &event, 1), PTL_CORRUPT);
}

static void matches_headers(void **state)
{
	static const struct {
		const char *criteria;
		bool matches;
	} cases[] = {
		{"on t", true},
		{"on t id 1", true},
		{"on t id 2..", false},
		{"on any level ..4 pid 40..45", true},
		{"on any pid 1,2,42", true},
		{"on any tid 42", false},
		{"on any cpu 3 opcode 0 channel 0 task 0", true},
		{"on any keyword 0x8000000000000000", true},
		{"on any keyword 1", false},
		{"on any time 500us..600us", true},
		{"on any time ..499us", false},
		{"on any time @1500us..@1500us", true},
		{"on any version 1", false},
		{"on image", false},
		{"on byname", true},
		{"on other", false},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char text[512];

		snprintf(text, sizeof(text),
			 "provider \"" GUID
			 "\" as t; provider \"Test\" as byname; provider \"Text\" as other;\n%s { drop; }",
			 cases[i].criteria);
		assert_done(apply_to(text, &event, 1));
		if (!outcome.passed != cases[i].matches)
			fail_msg("%s", cases[i].criteria);
	}
	assert_done(apply_to("on any nth 2,4.. { drop; }", &event, 6));
	assert_int_equal(outcome.passed, 2);
	assert_done(apply_to("on any level 4 { keep; } on any { drop; }", &event, 2));
	assert_int_equal(outcome.passed, 2);
	assert_false(outcome.changed);
}

static void changes_headers(void **state)
{
	struct ptl_guid guid;

	(void)state;
	assert_done(apply_to(
		"provider \"" GUID "\" as t;\n"
		"on any { set event.id = 7; set event.version = 1; set event.channel = 2; set event.level = 3;\n"
		"set event.opcode = 4; set event.task = 5; set event.keyword = 6; set event.pid = A; set event.tid = "
		"8;\n"
		"set event.cpu = 9; set event.time = event.time + 10;\n"
		"set event.activity = \"" GUID "\"; set event.related = \"\"; }\n"
		"on t id 7 level 3 { set event.provider = \"9e814aad-3204-11d2-9a82-006008a86939\"; }",
		&event, 1));
	assert_true(outcome.changed);
	assert_int_equal(outcome.event.descriptor.id, 7);
	assert_int_equal(outcome.event.descriptor.version, 1);
	assert_int_equal(outcome.event.descriptor.channel, 2);
	assert_int_equal(outcome.event.descriptor.level, 3);
	assert_int_equal(outcome.event.descriptor.opcode, 4);
	assert_int_equal(outcome.event.descriptor.task, 5);
	assert_true(outcome.event.descriptor.keyword == 6);
	assert_int_equal(outcome.event.pid, 42);
	assert_int_equal(outcome.event.tid, 8);
	assert_int_equal(outcome.event.cpu, 9);
	assert_true(outcome.event.time == 1500010);
	assert_int_equal(outcome.event.flags, PTL_EVENT_HAS_ACTIVITY);
	assert_memory_equal(outcome.event.activity.bytes, provider.bytes, 16);
	assert_true(common_guid_parse("9e814aad-3204-11d2-9a82-006008a86939", &guid));
	assert_true(common_guid_equal(&outcome.event.descriptor.provider, &guid));
	assert_int_equal(outcome.event.payload_size, sizeof(payload) - 1);
	assert_memory_equal(outcome.payload, payload, sizeof(payload) - 1);
}

static void changes_payloads(void **state)
{
	static const uint8_t expected[] = "\x54\0\0\0"
					  "\x85\xff"
					  "x\0"
					  "\xe9\0!\0\0\0"
					  "\0\0\0\0\0\0\x08\x40"
					  "\2\0\7\0\xff\xff"
					  "\1\1\xff\1"
					  "\x7c\x4a\x1e\x5d\x52\x3b\x19\x4f\x9a\x20\x7c\x1d\x2e\x3f\x4a\x5b";

	(void)state;
	assert_done(apply_to(
		"on any { set A = A * 2; set B = -123; set Name = \"x\"; set Wide = \"\\xc3\\xa9!\"; set F = 3;\n"
		"set List[1] = 0xffff; set S[1].X = 255; set S[1].Y = true; set Id = guid(\"" GUID "\"); }",
		&event, 1));
	assert_int_equal(outcome.event.payload_size, sizeof(expected) - 1);
	assert_memory_equal(outcome.payload, expected, sizeof(expected) - 1);
	assert_int_equal(outcome.schemas, 0);
}

static void changes_shapes(void **state)
{
	static const uint8_t expected[] = "\xfe\xff"
					  "hello\0"
					  "\1\2"
					  "\x54\0\0\0\0\0\0\0"
					  "4\0"
					  "2\0\0\0";

	(void)state;
	assert_done(apply_to(
		"on any version 0 { set event.version = 9; add u64 Double = A * 2; delete A; delete Wide; delete F;\n"
		"delete List; delete S.Y; delete Id; add utf16 Text = str(A); }\n"
		"on any where Double == 84 and Text == \"42\" and not has(A) { set event.level = 1; }",
		&event, 3));
	assert_int_equal(outcome.passed, 3);
	assert_int_equal(outcome.schemas, 1);
	assert_string_equal(outcome.field_names, "B Name S X Double Text ");
	assert_int_equal(outcome.schema.version, 9);
	assert_int_equal(outcome.event.descriptor.version, 9);
	assert_int_equal(outcome.event.descriptor.level, 1);
	assert_int_equal(outcome.event.payload_size, sizeof(expected) - 1);
	assert_memory_equal(outcome.payload, expected, sizeof(expected) - 1);
}

static void changes_each_element(void **state)
{
	static const uint8_t expected[] = "\x2a\0\0\0"
					  "\xfe\xff"
					  "hello\0"
					  "w\0\xe9\0\0\0"
					  "\0\0\0\0\0\0\xf8\x3f"
					  "\2\0\x31\0\x32\0"
					  "\x11\1\x22\1";
	const size_t size = sizeof(expected) - 1;

	(void)state;
	assert_done(apply_to("on any { for i in S { set S[i].X = S[i].X * 16 + S[i].X; set S[i].Y = S[i].X > 0; }\n"
			     "for i in List { set List[i] = List[i] + A; } }",
			     &event, 2));
	assert_int_equal(outcome.event.payload_size, sizeof(payload) - 1);
	assert_memory_equal(outcome.payload, expected, size);
	/* A nested loop with members of their own: each change is visible to the next. */
	assert_done(
		apply_to("on any { for i in S { for j in List { set List[j] = List[j] + S[i].X; set A = A + 1; } }\n"
			 "set event.id = A; set event.level = List[1]; }",
			 &event, 1));
	assert_int_equal(outcome.event.descriptor.id, 46);
	assert_int_equal(outcome.event.descriptor.level, 11);
	assert_int_equal(outcome.payload[0], 46);
	/* each element makes an event, and a section of an image */
	assert_done(apply_to(
		"on any { for i in S { process start { pid = S[i].X; path = Name; } thread start { tid = i; } }\n"
		"drop; }",
		&event, 1));
	assert_int_equal(outcome.injected, 4);
	assert_done(apply_to("on any { for i in S { process start { pid = S[i].X; path = Name; } } }", &event, 1));
	assert_int_equal(outcome.injected, 2);
	assert_int_equal(outcome.made.pid, 2);
	assert_done(apply_to("on any { image load { base = 0x1000; size = 0x2000; path = Name;\n"
			     "section \"s\" for i in S { rva = S[i].X * 16; size = 16; } } }",
			     &event, 1));
	assert_int_equal(outcome.injected, 2);
}

/* 65535 elements: a loop over all elements is fast, and a nested loop over all is refused. */
static void bounds_loops(void **state)
{
	static uint8_t bytes[22 + 8 + 2 + 2 * 65535 + 20];
	struct ptl_event large = event;

	(void)state;
	memcpy(bytes, payload, 26);
	memset(bytes + 26, 0xff, 2);
	memcpy(bytes + 28 + 2 * 65535, payload + 32, 20);
	large.payload = bytes;
	large.payload_size = 28 + 2 * 65535 + 20;
	assert_done(apply_to("on any where all(i in List, List[i] == 0) { for i in List { set List[i] = i; }\n"
			     "set event.id = count(i in List, List[i] == i); }",
			     &large, 1));
	assert_int_equal(outcome.event.descriptor.id, 65535);
	assert_int_equal(outcome.event.payload_size, large.payload_size);
	assert_int_equal(apply_to("on any where\n any(i in List, any(j in List, List[j] > i)) { drop; }", &large, 1),
			 PTL_CORRUPT);
	assert_string_equal(ptl_error_text(),
			    "r:2:6: expected loops of at most 1048576 steps for an event, found more");
}

static void makes_events(void **state)
{
	(void)state;
	assert_done(apply_to("on any { process start { parent = 1; path = \"/bin/\" + Name; command = \"c\"; key = 5; "
			     "time = 77; } }",
			     &event, 1));
	assert_int_equal(outcome.injected, 1);
	assert_int_equal(outcome.passed, 1);
	assert_false(outcome.changed);
	assert_true(outcome.made.time == 77);
	assert_int_equal(outcome.made.pid, 42);
	assert_int_equal(outcome.made.descriptor.opcode, PTL_OPCODE_START);
	assert_done(apply_to(
		"on any { image load { base = 0x1000; size = 0x2000; path = Name;\n"
		"section \"a\" { rva = 0; size = 16; } section \"b\" { rva = 4096; size = 16; protection = rwx; }\n"
		"section \"data\" { rva = 64; size = 16; protection = rw; } } drop; }",
		&event, 1));
	assert_int_equal(outcome.injected, 2);
	assert_int_equal(outcome.passed, 0);
}

static void defines_names_of_numbers(void **state)
{
	(void)state;
	assert_done(apply_to("provider \"" GUID "\" named \"Own\" as p;"
			     "schema p id 900 version 2 { u8 K names { 1 = \"ONE\" }; u32 F flags { 4 = \"FOUR\" }; }"
			     "on any { keep; }",
			     &event, 1));
	assert_int_equal(outcome.maps, 2);
	assert_int_equal(outcome.map.kind, PTL_MAP_VALUES);
	assert_string_equal(outcome.map_name, "900.2.0.0");
	assert_memory_equal(&outcome.map.provider, &event.descriptor.provider, sizeof(outcome.map.provider));
}

static void defines_schemas(void **state)
{
	(void)state;
	assert_done(apply_to("provider \"" GUID "\" named \"T\" as t; schema t id 2 \"E\" { u8 X; } on any { keep; }",
			     &event, 1));
	assert_int_equal(outcome.schemas, 1);
	assert_string_equal(outcome.event_name, "E");
	assert_string_equal(outcome.provider_name, "T");
	/* Equal to the trace's schema: no effect. */
	assert_done(apply_to("provider \"" GUID
			     "\" as t; schema t id 1 { u32 A; i16 B; utf8 Name; utf16 Wide; f64 F; u16 List[counted];\n"
			     "struct S[2] { u8 X; bool8 Y; } guid Id; }",
			     &event, 1));
	assert_int_equal(outcome.schemas, 0);
}

/* Each line of the file has rules, a tab, and the message. */
static void refuses_with_exact_words(void **state)
{
	char path[512], line[1024];
	unsigned count = 0;
	FILE *file;

	(void)state;
	assert_non_null(getenv("PTL_TESTS"));
	snprintf(path, sizeof(path), "%s/golden/rules_run_errors.txt", getenv("PTL_TESTS"));
	file = fopen(path, "r");
	assert_non_null(file);
	while (fgets(line, sizeof(line), file)) {
		char *message = strchr(line, '\t');

		if (line[0] == '#')
			continue;
		assert_non_null(message);
		*message++ = '\0';
		message[strcspn(message, "\n")] = '\0';
		assert_int_equal(apply_to(line, &event, 1), PTL_CORRUPT);
		assert_string_equal(ptl_error_text(), message);
		assert_int_equal(outcome.passed, 0);
		count++;
	}
	fclose(file);
	assert_true(count >= 30);
}

static void refuses_payloads_that_end_early(void **state)
{
	struct ptl_event cut = event;

	(void)state;
	cut.payload_size = 8;
	assert_int_equal(apply_to("on any { set Name = \"x\"; }", &cut, 1), PTL_CORRUPT);
	assert_string_equal(ptl_error_text(),
			    "r:1:10: expected a payload that its schema explains, found one that ends early");
	/* Present fields can be used and set. */
	assert_done(apply_to("on any where A == 42 and not has(Name) { set A = 1; }", &cut, 1));
	assert_true(outcome.changed && outcome.payload[0] == 1);
	cut = event;
	cut.descriptor.id = 5;
	assert_int_equal(apply_to("on any { set A = 1; }", &cut, 1), PTL_CORRUPT);
	assert_string_equal(ptl_error_text(),
			    "r:1:14: expected an event with a schema, found one without, which has no field 'A' "
			    "(a schema statement gives it one)");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(computes),
		cmocka_unit_test(names_values),
		cmocka_unit_test(matches_headers),
		cmocka_unit_test(changes_headers),
		cmocka_unit_test(changes_payloads),
		cmocka_unit_test(changes_shapes),
		cmocka_unit_test(changes_each_element),
		cmocka_unit_test(bounds_loops),
		cmocka_unit_test(makes_events),
		cmocka_unit_test(defines_names_of_numbers),
		cmocka_unit_test(defines_schemas),
		cmocka_unit_test(refuses_with_exact_words),
		cmocka_unit_test(refuses_payloads_that_end_early),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
