/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests the rule language: accepted rules, and the exact error messages. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <ptl/error.h>
#include <ptl/kernel.h>

#include "relog/rules/parse.h"

static void takes(const char *text, struct rules *rules)
{
	int status = rules_parse("r", text, strlen(text), rules);

	if (status < 0)
		print_error("%s\n", ptl_error_text());
	assert_int_equal(status, 0);
}

static void takes_a_rule(void **state)
{
	struct rules rules;
	const struct rules_rule *rule;
	const struct rules_action *action;

	(void)state;
	takes("provider \"My-Loader\" as loader; # a comment\n"
	      "on loader id 1, 3..5, 9.. level ..4 keyword 0x10 process \"ho*\" time 1ms..@2s\n"
	      "where Size > 0 and not Name like \"*.tmp\" nth 2.. {\n"
	      "  set Size = (Size + 0xfff) & ~0xfff;\n"
	      "  set event.level = 3;\n"
	      "  image load { base = Base; size = Size; path = \"/opt/\" + Name; }\n"
	      "  drop;\n"
	      "}\n",
	      &rules);
	rule = rules.rules;
	assert_int_equal(rules.rule_count, 1);
	assert_string_equal(rule->provider->name, "My-Loader");
	assert_int_equal(rule->match[RULES_MATCH_ID].count, 3);
	assert_true(rule->match[RULES_MATCH_ID].range[1].first == 3 && rule->match[RULES_MATCH_ID].range[1].last == 5);
	assert_true(rule->match[RULES_MATCH_ID].range[2].last == UINT16_MAX);
	assert_true(rule->match[RULES_MATCH_LEVEL].range[0].first == 0 &&
		    rule->match[RULES_MATCH_LEVEL].range[0].last == 4);
	assert_true(rule->from.time == 1000000 && !rule->from.absolute);
	assert_true(rule->to.time == 2000000000 && rule->to.absolute);
	assert_int_equal(rule->fields.count, 3);
	assert_string_equal(rule->fields.list[1].text, "Name");
	action = rule->actions;
	assert_int_equal(action->kind, RULES_ACTION_SET_FIELD);
	assert_int_equal(action->value->op, QUERY_BIT_AND);
	action = action->next;
	assert_int_equal(action->kind, RULES_ACTION_SET_HEADER);
	assert_int_equal(action->index, QUERY_HEADER_LEVEL);
	action = action->next;
	assert_int_equal(action->kind, RULES_ACTION_IMAGE_LOAD);
	assert_non_null(action->body->property[RULES_PROPERTY_PATH]);
	assert_int_equal(action->next->kind, RULES_ACTION_DROP);
	rules_free(&rules);
}

static void takes_an_image(void **state)
{
	struct rules rules;
	const struct rules_body *body;

	(void)state;
	takes("image process \"host\" { path = \"a.plg\"; base = 0x7f0000000000; size = 0x3000;\n"
	      " load = mapped 2; unload = 1.5ms;\n"
	      " section \".text\" { rva = 0x1000; file_offset = 0x400; size = 2K; protection = rx; }\n"
	      " section \".data\" { rva = 0x2000; size = 4096; protection = rw; }\n"
	      " code = file(\"a.plg\"); symbols = perfmap(\"/tmp/perf-%p.map\", relative); }\n"
	      "image pid 7 { path = \"b\" + str(pid); base = 1M; size = 1; load = @5; code = raw(\"d\", 16);\n"
	      " symbols = nm(\"b\", 0x400000); }\n",
	      &rules);
	body = &rules.images->body;
	assert_string_equal(rules.images->process, "host");
	assert_int_equal(body->load, RULES_LOAD_MAPPED);
	assert_int_equal(body->load_nth, 2);
	assert_true(body->unload_time.given && body->unload_time.time == 1500000);
	assert_string_equal(body->sections->name, ".text");
	assert_true(body->sections->property[RULES_PROPERTY_PROTECTION]->number == 5);
	assert_true(body->sections->property[RULES_PROPERTY_SIZE]->number == 2048);
	assert_string_equal(body->sections->next->name, ".data");
	assert_int_equal(body->code, RULES_CODE_FILE);
	assert_int_equal(body->symbols, RULES_SYMBOLS_PERF_MAP);
	assert_int_equal(body->addressing, RULES_ADDRESS_RELATIVE);
	body = &rules.images->next->body;
	assert_int_equal(rules.images->next->pid, 7);
	assert_true(body->load == RULES_LOAD_TIME && body->load_time.absolute && body->load_time.time == 5);
	assert_int_equal(body->code, RULES_CODE_RAW);
	assert_int_equal(body->addressing, RULES_ADDRESS_FROM);
	rules_free(&rules);
}

static void takes_a_schema(void **state)
{
	static const uint8_t types[] = {PTL_TYPE_POINTER, PTL_TYPE_U32,   PTL_TYPE_STRUCT,
					PTL_TYPE_U32,     PTL_TYPE_BYTES, PTL_TYPE_UTF16};
	struct rules rules;
	const struct ptl_schema *schema;

	(void)state;
	takes("provider \"5d1e4a7c-3b52-4f19-9a20-7c1d2e3f4a5b\" named \"L\" as l;\n"
	      "schema l id 1 version 2 opcode 3 \"Plugin/Load\" { pointer Base; u32 `odd name`[counted] hex;\n"
	      "struct S[2] { u32 A; bytes[4] B hash; } utf16 Name; }\n",
	      &rules);
	schema = &rules.schemas->schema;
	assert_int_equal(schema->id, 1);
	assert_int_equal(schema->version, 2);
	assert_int_equal(schema->opcode, 3);
	assert_string_equal(schema->event_name, "Plugin/Load");
	assert_int_equal(schema->field_count, 6);
	for (size_t i = 0; i < 6; i++)
		assert_int_equal(schema->fields[i].type, types[i]);
	assert_string_equal(schema->fields[1].name, "odd name");
	assert_int_equal(schema->fields[1].array, PTL_ARRAY_COUNTED);
	assert_int_equal(schema->fields[1].format, PTL_FORMAT_HEX);
	assert_int_equal(schema->fields[2].length, 2);
	assert_int_equal(schema->fields[2].array_length, 2);
	assert_int_equal(schema->fields[4].length, 4);
	assert_string_equal(rules.providers->name, "L");
	rules_free(&rules);
}

static void takes_places_of_ptwrite(void **state)
{
	static const struct {
		const char *text;
		enum rules_site_kind kind;
		const char *image, *name;
		uint64_t number;
		bool has_offset;
	} sites[] = {
		{"work", RULES_SITE_FUNCTION, NULL, "work", 0, false},
		{"work+0x1c", RULES_SITE_FUNCTION, NULL, "work", 0x1c, true},
		{"work+28", RULES_SITE_FUNCTION, NULL, "work", 28, true},
		{"ns::Pool::run", RULES_SITE_FUNCTION, NULL, "ns::Pool::run", 0, false},
		{"lib*.so:ns::run+0x4", RULES_SITE_FUNCTION, "lib*.so", "ns::run", 4, true},
		{"ns::Sum::operator+", RULES_SITE_FUNCTION, NULL, "ns::Sum::operator+", 0, false},
		{"ns::Sum::operator++0x4", RULES_SITE_FUNCTION, NULL, "ns::Sum::operator+", 4, true},
		{"app:0x4a10", RULES_SITE_ADDRESS, "app", NULL, 0x4a10, false},
		{"src/queue.c:120", RULES_SITE_LINE, NULL, "src/queue.c", 120, false},
		{"app:0x10000000000000000", RULES_SITE_FUNCTION, "app", "0x10000000000000000", 0, false},
	};
	const size_t count = sizeof(sites) / sizeof(sites[0]);

	(void)state;
	for (size_t i = 0; i < count; i++) {
		struct rules rules;
		char text[256];

		snprintf(text, sizeof(text),
			 "provider \"P\" as p; ptwrite \"first\", \"%s\" as p id 3 \"E\" { u32 a; i16 b; }",
			 sites[i].text);
		takes(text, &rules);
		assert_int_equal(rules.ptwrites->site_count, 2);
		assert_int_equal(rules.ptwrites->size, 6);
		assert_ptr_equal(rules.ptwrites->schema, rules.schemas);
		assert_int_equal(rules.schemas->schema.id, 3);
		assert_int_equal(rules.ptwrites->sites[1].kind, sites[i].kind);
		assert_int_equal(rules.ptwrites->sites[1].number, sites[i].number);
		assert_int_equal(rules.ptwrites->sites[1].has_offset, sites[i].has_offset);
		if (sites[i].image)
			assert_string_equal(rules.ptwrites->sites[1].image, sites[i].image);
		else
			assert_null(rules.ptwrites->sites[1].image);
		if (sites[i].name)
			assert_string_equal(rules.ptwrites->sites[1].name, sites[i].name);
		rules_free(&rules);
	}
}

static void takes_names_of_numbers(void **state)
{
	const struct ptl_map *map;
	struct rules rules;

	(void)state;
	takes("provider \"P\" as p; schema p { i8 a names { -128 = \"LEAST\", -1 = \"NONE\", 127 = \"MOST\" }; "
	      "i32 b flags { 0x80000000 = \"TOP\" }; u8 c; u64 d names { 18446744073709551615 = \"MOST\" }; "
	      "i64 e names { -9223372036854775808 = \"LEAST\", 9223372036854775807 = \"MOST\" }; }",
	      &rules);
	assert_string_equal(rules.schemas->schema.fields[0].map, "0.0.0.0");
	assert_string_equal(rules.schemas->schema.fields[1].map, "0.0.0.1");
	assert_null(rules.schemas->schema.fields[2].map);
	map = &rules.schemas->maps->map;
	assert_true(map->count == 2 && map->entries[0].value == 1ull << 63 && map->entries[1].value == INT64_MAX);
	map = &rules.schemas->maps->next->map;
	assert_true(map->count == 1 && map->entries[0].value == UINT64_MAX);
	map = &rules.schemas->maps->next->next->map;
	assert_true(map->kind == PTL_MAP_FLAGS && map->count == 1 && map->entries[0].value == 0x80000000);
	map = &rules.schemas->maps->next->next->next->map;
	assert_true(map->kind == PTL_MAP_VALUES && map->count == 3);
	assert_true(map->entries[0].value == (uint64_t)-128 && map->entries[1].value == UINT64_MAX &&
		    map->entries[2].value == 127);
	assert_string_equal(map->entries[1].name, "NONE");
	rules_free(&rules);
}

static void takes_precedence_and_words(void **state)
{
	struct rules rules;
	const struct query_expr *where;

	(void)state;
	takes("on any where `and`.`or`[3] + 2 * 3 == 7 or not has(X) and event.pid % 2 != 0 { keep; }", &rules);
	where = rules.rules->where;
	assert_int_equal(where->op, QUERY_OR);
	assert_int_equal(where->argument[0]->op, QUERY_EQUAL);
	assert_int_equal(where->argument[0]->argument[0]->op, QUERY_ADD);
	assert_int_equal(where->argument[0]->argument[0]->argument[1]->op, QUERY_MULTIPLY);
	assert_int_equal(where->argument[1]->op, QUERY_AND);
	assert_int_equal(where->argument[1]->argument[0]->op, QUERY_NOT);
	assert_int_equal(rules.rules->fields.list[0].step_count, 3);
	assert_true(rules.rules->fields.list[0].condition);
	assert_false(rules.rules->fields.list[1].condition);
	rules_free(&rules);
	takes("", &rules);
	rules_free(&rules);
	takes("# nothing", &rules);
	rules_free(&rules);
}

/* Each line of the file: rules, a tab, the message; \n in rules is a line end. */
static void refuses_with_exact_words(void **state)
{
	char path[512], line[1024];
	unsigned count = 0;
	FILE *file;

	(void)state;
	assert_non_null(getenv("PTL_TESTS"));
	snprintf(path, sizeof(path), "%s/golden/rules_errors.txt", getenv("PTL_TESTS"));
	file = fopen(path, "r");
	assert_non_null(file);
	while (fgets(line, sizeof(line), file)) {
		char *message = strchr(line, '\t'), text[1024];
		struct rules rules;
		size_t n = 0;

		if (line[0] == '#')
			continue;
		assert_non_null(message);
		*message++ = '\0';
		message[strcspn(message, "\n")] = '\0';
		for (const char *p = line; *p; p++) {
			bool end = p[0] == '\\' && p[1] == 'n' && p[2] == ' ';

			text[n++] = end ? '\n' : *p;
			p += end ? 2 : 0;
		}
		assert_int_equal(rules_parse("r", text, n, &rules), PTL_CORRUPT);
		assert_string_equal(ptl_error_text(), message);
		count++;
	}
	fclose(file);
	assert_true(count >= 60);
}

static void refuses_what_is_too_much(void **state)
{
	char *text = malloc(200000);
	struct rules rules;
	size_t n = 0;

	(void)state;
	assert_non_null(text);
	n += (size_t)sprintf(text, "on any where 1");
	for (int i = 0; i < 1500; i++)
		n += (size_t)sprintf(text + n, "+1");
	sprintf(text + n, "{drop;}");
	assert_int_equal(rules_parse("r", text, strlen(text), &rules), PTL_CORRUPT);
	assert_string_equal(ptl_error_text(), "r:1:2015: expected at most 1000 operators in a row, found more");
	n = (size_t)sprintf(text, "on any id 0");
	for (int i = 0; i < 66000; i++)
		n += (size_t)sprintf(text + n, ",0");
	sprintf(text + n, "{drop;}");
	assert_int_equal(rules_parse("r", text, strlen(text), &rules), PTL_CORRUPT);
	assert_non_null(strstr(ptl_error_text(), "expected at most 65536 statements and actions, found more"));
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(takes_a_rule),
		cmocka_unit_test(takes_an_image),
		cmocka_unit_test(takes_a_schema),
		cmocka_unit_test(takes_places_of_ptwrite),
		cmocka_unit_test(takes_names_of_numbers),
		cmocka_unit_test(takes_precedence_and_words),
		cmocka_unit_test(refuses_with_exact_words),
		cmocka_unit_test(refuses_what_is_too_much),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
