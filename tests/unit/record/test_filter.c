/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests terms of --only: accepted terms, errors, output, and matching of events. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/error.h"
#include "record/capture/filter.h"

#define GUID_TEXT "9e814aad-3204-11d2-9a82-006008a86939"

static const struct ptl_field fields[] = {
	{.name = "Number", .type = PTL_TYPE_U32},
	{.name = "Name", .type = PTL_TYPE_UTF8},
	{.name = "Parts", .type = PTL_TYPE_U8, .array = PTL_ARRAY_COUNTED},
};
/* Fields with named values: a state, and a bit mask. */
static const struct ptl_field named_fields[] = {
	{.name = "State", .type = PTL_TYPE_I8, .map = "States"},
	{.name = "Access", .type = PTL_TYPE_U16, .map = "Access"},
	{.name = "Other", .type = PTL_TYPE_U8, .map = "Unknown"},
	{.name = "Plain", .type = PTL_TYPE_U8},
};
static const struct ptl_map_entry states[] = {{0, "Idle"}, {1, "Running"}, {UINT64_MAX, "Failed"}};
static const struct ptl_map_entry accesses[] = {{1, "Read"}, {2, "Write"}, {6, "All"}};
static const struct ptl_map maps[] = {
	{.provider = {{1}}, .kind = PTL_MAP_VALUES, .name = "States", .entries = states, .count = 3},
	{.provider = {{1}}, .kind = PTL_MAP_FLAGS, .name = "Access", .entries = accesses, .count = 3},
	{.provider = {{2}}, .kind = PTL_MAP_FLAGS, .name = "Unknown", .entries = accesses, .count = 3},
	{.provider = {{1}}, .kind = PTL_MAP_TASKS, .name = "Unknown", .entries = accesses, .count = 3},
};
static const struct ptl_schema schema = {.provider = {{1}},
					 .id = 7,
					 .provider_name = "PTL-Test",
					 .event_name = "Count",
					 .task_name = "",
					 .opcode_name = "",
					 .message = "",
					 .fields = fields,
					 .field_count = 3};
static const uint8_t payload[] = "\x09\0\0\0Zoe\0\x02\0\x03\x04";

static bool program(void *context, uint32_t pid, struct record_program_name *name)
{
	const struct record_program_name *known = context;

	if (pid == 5)
		*name = *known;
	return pid == 5;
}

static struct record_program_name runs = {"/usr/bin/test", ""};

/* Returns whether the filter wants the event, with `size` bytes of payload. */
static bool wants(struct record_filter *filter, const struct ptl_schema *explained, size_t size, const char *provider)
{
	const struct ptl_event event = {
		.descriptor = {.provider = schema.provider, .id = 7, .level = 3, .keyword = 6},
		.pid = 5,
		.payload = payload,
		.payload_size = size,
	};
	const struct record_filtered_event filtered = {
		.asked_event = {&event, explained, program, &runs},
		.provider = provider,
	};
	bool wanted;

	assert_int_equal(record_filter_wants(filter, &filtered, &wanted), 0);
	return wanted;
}

static void set(struct record_filter *filter, const char *term)
{
	if (record_filter_set(filter, term))
		fail_msg("%s: %s", term, ptl_error_text());
}

static const struct {
	const char *terms[3];
	bool wanted;
} cases[] = {
	{{"pid=5"}, true},
	{{"pid=4,6"}, false},
	{{"id=7,8", "keywords=0x2"}, true},
	{{"keywords=9"}, false},
	{{"program=te?t"}, true},
	{{"program=x,y"}, false},
	{{"where=Number > 8"}, true},
	{{"where=Number > 9"}, false},
	{{"where=Number > 8", "where=Number > 9"}, false},
	{{"where=Number > 9", "where="}, true},
	{{"where=Name == 'Zoe' and event.id == 7 and event.level <= 3"}, true},
	{{"where=Name like 'X*' or any(i in Parts, Parts[i] == 4)"}, true},
	{{"where=len(Name) + Number == 12 and event.process == 'test'"}, true},
	{{"where=Missing == 1"}, false},
	{{"where=not Missing == 1"}, false},
	{{"where=not has(Missing)"}, true},
	/* Events of other providers pass. */
	{{"PTL-Test:where=Number > 9"}, false},
	{{"ptl-*:where=Number > 9"}, false},
	{{"Other:where=Number > 9"}, true},
	{{"Other:id=1", "Other:where=Number > 9"}, true},
	{{"PTL-Test:id=7", "where=Number == 9"}, true},
	{{"PTL-Test:id=7", "where=Number == 8"}, false},
	{{"PTL-Test:id=8", "PTL-Test:id="}, true},
	{{"01000000-0000-0000-0000-000000000000:id=8"}, true},
	{{"00000001-0000-0000-0000-000000000000:id=8"}, false},
	{{"{00000001-0000-0000-0000-000000000000}:id=7"}, true},
	{{GUID_TEXT ":where=Number > 9"}, true},
	/* The term's name counts, not text in its value. */
	{{"where=Name == 'a:id=3' or Number == 9"}, true},
};

static void wanted_events(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct record_filter filter = {0};

		for (size_t n = 0; n < 3 && cases[i].terms[n]; n++)
			set(&filter, cases[i].terms[n]);
		if (wants(&filter, &schema, sizeof(payload) - 1, NULL) != cases[i].wanted)
			fail_msg("case %zu: %s", i, cases[i].terms[0]);
		record_filter_free(&filter);
	}
}

/* A program with several names, like gcc or busybox, matches by its file's name and by the names used to start it. */
static void names_of_programs(void **state)
{
	static const struct {
		struct record_program_name runs;
		const char *term;
		bool wanted;
	} names[] = {
		{{"/usr/bin/x86_64-linux-gnu-gcc-12", "gcc"}, "program=gc*", true},
		{{"/usr/bin/x86_64-linux-gnu-gcc-12", "gcc"}, "program=*-gcc-1?", true},
		{{"/usr/bin/x86_64-linux-gnu-gcc-12", "cc"}, "program=gc*", false},
		{{"/usr/bin/x86_64-linux-gnu-gcc-12", ""}, "program=gc*", false},
		{{"/bin/busybox", "ls"}, "program=ls", true},
		{{"/bin/busybox", "ls"}, "program=busybox", true},
		{{"/bin/busybox", "ls"}, "program=cat,l?", true},
		{{"/bin/busybox", "ls"}, "program=cat", false},
		/* "linked" is a link to "many". */
		{{"/bin/many", "linked"}, "program=linked", true},
		{{"/bin/many", "many"}, "program=linked", true},
		{{"/bin/many", ""}, "program=linked", true},
		{{"/bin/many", "other"}, "program=linked", false},
	};
	char folder[] = "/tmp/ptl-filter-XXXXXX", many[64], linked[64];
	const char *path = getenv("PATH");
	FILE *file;

	(void)state;
	assert_non_null(path);
	path = strdup(path);
	assert_non_null(mkdtemp(folder));
	snprintf(many, sizeof(many), "%s/many", folder);
	snprintf(linked, sizeof(linked), "%s/linked", folder);
	file = fopen(many, "w");
	assert_non_null(file);
	fclose(file);
	assert_int_equal(chmod(many, 0700), 0);
	assert_int_equal(symlink("many", linked), 0);
	setenv("PATH", folder, true);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		struct record_filter filter = {0};

		set(&filter, names[i].term);
		runs = names[i].runs;
		if (wants(&filter, &schema, sizeof(payload) - 1, NULL) != names[i].wanted)
			fail_msg("case %zu: %s by %s", i, names[i].term, names[i].runs.word);
		record_filter_free(&filter);
	}
	runs = (struct record_program_name){"/usr/bin/test", ""};
	setenv("PATH", path, true);
	free((char *)path);
	unlink(linked);
	unlink(many);
	rmdir(folder);
}

static const struct {
	const char *where;
	bool wanted;
} named_cases[] = {
	{"where=State == 'Failed'", true},
	{"where='Failed' == State", true},
	{"where=State != 'Failed'", false},
	{"where=State != \"Idle\" and State == -1", true},
	{"where=State like 'F*'", true},
	{"where=State like 'R*'", false},
	{"where=Access == 'Read|Write'", true},
	{"where=Access == 'Write|Read'", true},
	{"where=Access == 'Read'", false},
	{"where=(Access & 'Read') != 0", true},
	{"where=(Access & 'All') == 'Write'", false}, /* computed values have no names */
	{"where=(Access & 'All') == 2", true},
	{"where=Access != 'All'", true},
	/* An unknown name, a value without names, or another comparison is reported, and nothing matches. */
	{"where=State == 'failed'", false},
	{"where=State != 'failed'", false},
	{"where=State == ''", false},
	{"where=Access == 'Read|'", false},
	{"where=State > 'Idle'", false},
	{"where=Access like '*'", false},
	{"where=Other == 'Read'", false},
	{"where=Plain == 'Read'", false},
};

static void names_of_values(void **state)
{
	const struct ptl_schema named = {.provider = schema.provider, .fields = named_fields, .field_count = 4};
	const struct ptl_event event = {
		.descriptor = {.provider = schema.provider, .id = 7},
		.payload = (const uint8_t *)"\xff\x03\0\1\1",
		.payload_size = 5,
	};
	struct record_schemas known = {0};

	(void)state;
	for (size_t i = 0; i < sizeof(maps) / sizeof(maps[0]); i++)
		assert_int_equal(record_schemas_add_map(&known, &maps[i]), 0);
	/* The first definition counts. */
	assert_int_equal(record_schemas_add_map(&known, &(struct ptl_map){.provider = {{1}}, .name = "States"}), 0);
	for (size_t i = 0; i < sizeof(named_cases) / sizeof(named_cases[0]); i++) {
		const struct record_filtered_event filtered = {
			.asked_event = {&event, &named, program, &runs, &known},
		};
		struct record_filter filter = {0};
		bool wanted;

		set(&filter, named_cases[i].where);
		assert_int_equal(record_filter_wants(&filter, &filtered, &wanted), 0);
		if (wanted != named_cases[i].wanted)
			fail_msg("case %zu: %s", i, named_cases[i].where);
		record_filter_free(&filter);
	}
	record_schemas_free(&known);
}

/* Without a schema there are no fields, and the source gives the provider's name. A truncated payload has no values. */
static void unexplained_events(void **state)
{
	struct record_filter filter = {0};

	(void)state;
	set(&filter, "where=Number == 9");
	assert_false(wants(&filter, NULL, sizeof(payload) - 1, NULL));
	for (size_t size = 0; size < 4; size++)
		assert_false(wants(&filter, &schema, size, NULL));
	assert_true(wants(&filter, &schema, 4, NULL));
	set(&filter, "where=Name == 'Zoe'");
	assert_false(wants(&filter, &schema, 6, NULL));
	set(&filter, "where=");
	set(&filter, "Named:id=8");
	assert_true(wants(&filter, NULL, 0, NULL));
	assert_false(wants(&filter, NULL, 0, "named"));
	assert_true(filter.asks);
	set(&filter, "Named:id=");
	assert_false(filter.asks);
	record_filter_free(&filter);
}

/* A comparison of incompatible values is false, without an error. */
static void wrong_kinds(void **state)
{
	struct record_filter filter = {0};

	(void)state;
	set(&filter, "where=Number == 'x'");
	assert_false(wants(&filter, &schema, sizeof(payload) - 1, NULL));
	assert_false(wants(&filter, &schema, sizeof(payload) - 1, NULL));
	record_filter_free(&filter);
}

static void shown(void **state)
{
	static const char *const terms[] = {"pid=1,2", "where=A == 'b:c'", "P:program=a,b*", "P:keywords=0x6",
					    "Q:where=has(x)"};
	struct record_filter first = {0}, filter = {0};
	struct ptl_bytes text = {0};
	unsigned i = 0;

	(void)state;
	assert_null(record_filter_term(&filter, 0, &text));
	for (; i < sizeof(terms) / sizeof(terms[0]); i++)
		set(&first, terms[i]);
	assert_int_equal(record_filter_copy(&filter, &first), 0);
	record_filter_free(&first);
	for (i = 0; i < sizeof(terms) / sizeof(terms[0]); i++)
		assert_string_equal(record_filter_term(&filter, i, &text), terms[i]);
	assert_null(record_filter_term(&filter, i, &text));
	common_bytes_free(&text);
	record_filter_free(&filter);
}

static const struct {
	const char *term, *text;
} refused[] = {
	{"", "is none of pid=PID"},
	{"size=3", "is none of pid=PID"},
	{"P:size=3", "is none of pid=PID"},
	{":id=3", "is none of pid=PID"},
	{"P:Q:id=3", "is none of pid=PID"},
	{"pid=x", "is not a number"},
	{"P:keywords=a", "are no keywords"},
	{"where=Number >", "where:1:9: "},
	{"P:where=(Number > 3", "where:1:12: "},
	{"where=5", "where:1:1: expected a condition"},
	{"where=1 == u8(Name, 2)", "where:1:6: files are not read while recording"},
	{"where=not (Name == 'a' and 1 == u64(Name, 2))", "files are not read"},
};

/* Earlier terms stay after a refused term. */
static void refused_terms(void **state)
{
	struct record_filter filter = {0};
	struct ptl_bytes text = {0};

	(void)state;
	set(&filter, "where=Number == 9");
	for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++)
		if (record_filter_set(&filter, refused[i].term) != PTL_MISUSE ||
		    !strstr(ptl_error_text(), refused[i].text))
			fail_msg("%s: %s", refused[i].term, ptl_error_text());
	assert_string_equal(record_filter_term(&filter, 0, &text), "where=Number == 9");
	assert_null(record_filter_term(&filter, 1, &text));
	assert_true(wants(&filter, &schema, sizeof(payload) - 1, NULL));
	common_bytes_free(&text);
	record_filter_free(&filter);
}

static void too_many_providers(void **state)
{
	struct record_filter filter = {0};
	char term[32];

	(void)state;
	for (unsigned i = 0; i < 64; i++) {
		snprintf(term, sizeof(term), "P%u:id=1", i);
		set(&filter, term);
	}
	assert_int_equal(record_filter_set(&filter, "Q:id=1"), PTL_MISUSE);
	set(&filter, "P9:id=2");
	set(&filter, "P9:id=");
	set(&filter, "Q:id=1");
	record_filter_free(&filter);
}

static void unknown_fields(void **state)
{
	struct record_schemas schemas = {0};
	struct record_event_query *query;
	struct ptl_schema other = schema;

	(void)state;
	assert_int_equal(record_event_query_new("where", "Number == 3 and Nmber == 4 and has(Else)", &query), 0);
	assert_string_equal(record_event_query_unknown(query, &schemas), "Number");
	assert_int_equal(record_schemas_add(&schemas, &schema), 0);
	assert_string_equal(record_event_query_unknown(query, &schemas), "Nmber");
	/* The first schema of an event counts. */
	other.field_count = 1;
	assert_int_equal(record_schemas_add(&schemas, &other), 0);
	assert_int_equal(
		record_schemas_find(&schemas, &(struct ptl_descriptor){.provider = {{1}}, .id = 7})->field_count, 3);
	assert_null(record_schemas_find(&schemas, &(struct ptl_descriptor){.provider = {{1}}, .id = 7, .opcode = 1}));
	record_event_query_free(query);
	record_schemas_free(&schemas);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(wanted_events),   cmocka_unit_test(names_of_programs),
		cmocka_unit_test(names_of_values), cmocka_unit_test(unexplained_events),
		cmocka_unit_test(wrong_kinds),     cmocka_unit_test(shown),
		cmocka_unit_test(refused_terms),   cmocka_unit_test(too_many_providers),
		cmocka_unit_test(unknown_fields),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
