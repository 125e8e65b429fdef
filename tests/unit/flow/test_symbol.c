/* SPDX-License-Identifier: BSD-2-Clause */
/* Names of addresses from the symbol tables in a trace, and source lines from an ELF file. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "common/file.h"
#include "common/text/text.h"
#include "elf/demangle.h"
#include "flow/symbol/debug_file.h"
#include "flow/symbol/source_line.h"
#include "flow/symbol/symbol.h"
#include "tests/unit/dump_trace.h"

#include <ptl/symbols.h>

static const struct ptl_symbol names[] = {
	{0x1000, 0x10, "main", 'T'},     {0x1010, 0x20, "_ZN3foo6helperEi", 't'},
	{0x1040, 4, "bad\x1b[2J", 't'},  {0x1050, 16, "_ZN3foo6helperEi@plt", 'P'},
	{0x1060, 16, "strlen@plt", 'P'},
};

/*
 * Makes a trace of two images of a file with symbols, an image without symbols, and an image with an invalid symbol
 * table.
 */
static struct ptl_trace *make_trace(void)
{
	const struct ptl_machine machine = {.clock = PTL_CLOCK_MONOTONIC, .start_time = 1};
	struct ptl_image_event image = {
		.size = 0x1000,
		.default_base = 0x1000,
		.process_id = 1,
		.file_name = "/usr/lib/lib\x07.so",
		.has_symbols = true,
	};
	struct ptl_bytes table = {0};
	struct dump_trace made;

	dump_trace_start(&made, &machine);
	assert_int_equal(ptl_symbols_encode(names, sizeof(names) / sizeof(names[0]), &table), 0);
	assert_int_equal(ptl_writer_blob(made.writer, PTL_BLOB_SYMBOLS, table.data, table.size, image.symbols), 0);
	for (unsigned i = 0; i < 4; i++) {
		image.base = 0x7f0000000000 + i * 0x10000;
		image.has_symbols = i != 2;
		if (i == 3)
			assert_int_equal(ptl_writer_blob(made.writer, PTL_BLOB_SYMBOLS, "nonsense", 8, image.symbols),
					 0);
		dump_trace_image(&made, 5, PTL_OPCODE_LOAD, &image);
	}
	common_bytes_free(&table);
	return dump_trace_finish(&made);
}

static void expect(struct flow_symbols *symbols, uint32_t image, uint64_t address, const char *expected)
{
	struct ptl_bytes text = {0};

	flow_symbols_text(symbols, image, address, &text);
	assert_string_equal(common_text_string(&text), expected);
	common_bytes_free(&text);
}

/* ---- names as in the source -------------------------------------------------------------------- */

static void demangles(const char *name, const char *expected)
{
	struct ptl_bytes plain = {0};
	const bool done = elf_demangle(name, &plain);

	assert_int_equal(done, expected != NULL);
	if (expected) {
		assert_string_equal(common_text_string(&plain), expected);
	} else {
		assert_int_equal(plain.size, 0);
	}
	common_bytes_free(&plain);
}

static void names_of_languages(void **state)
{
	(void)state;
	demangles("main", NULL);
	demangles("_start", NULL);
	demangles("_ZN3foo6helperEi", "foo::helper(int)");
	demangles("_ZN3foo6helperEi@plt", "foo::helper(int)@plt");
	demangles("_ZNSt6vectorIiSaIiEE9push_backEOi", "std::vector<int, std::allocator<int> >::push_back(int&&)");
	demangles("_GLOBAL__I__ZN3foo6helperEi", "global constructors keyed to foo::helper(int)");
	demangles("_ZN4core3fmt9Formatter9write_fmt17h0123456789abcdefE", "core::fmt::Formatter::write_fmt");
	demangles("_RNvNtCs1234_7mycrate3foo3bar", "mycrate::foo::bar");
	demangles("_RNqCs4fqI2P2rA04_11utf8_identsu30____7hkackfecea1cbdathfdh9hlq6y",
		  "utf8_idents::\u10e1\u10d0\u10ed\u10db\u10d4\u10da\u10d0\u10d3_"
		  "\u10d2\u10d4\u10db\u10e0\u10d8\u10d4\u10da\u10d8_"
		  "\u10e1\u10d0\u10d3\u10d8\u10da\u10d8");
}

#define LEVELS 60

/* Each level repeats the previous level twice: 2^60 repetitions of the first. */
static void cpp_bomb(struct ptl_bytes *name)
{
	static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";

	common_text_add(name, "_Z1f1aIiiE");
	for (unsigned i = 0; i < LEVELS; i++) {
		char place[4] = {digits[i / 36], digits[i % 36], 0};
		const char *number = i < 36 ? place + 1 : place;

		common_text_format(name, "S_IS%s_S%s_E", number, number);
	}
}

/* Appends a back reference in base 62. */
static void rust_reference(struct ptl_bytes *name, size_t at)
{
	static const char digits[] = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";

	at--;
	common_text_add(name, "B");
	if (at >= 62)
		common_text_format(name, "%c", digits[at / 62]);
	common_text_format(name, "%c_", digits[at % 62]);
}

/* Makes a name of nested back references. first: a type. */
static void rust_bomb(struct ptl_bytes *name, const char *first)
{
	size_t last;

	common_text_add(name, "_RINvC1a1f");
	last = name->size - 2;
	common_text_format(name, "T%sE", first);
	for (unsigned i = 0; i < LEVELS; i++) {
		const size_t at = name->size - 2;

		common_text_add(name, "T");
		rust_reference(name, last);
		rust_reference(name, last);
		common_text_add(name, "E");
		last = at;
	}
	common_text_add(name, "E");
}

/* Such names end in bounded time and memory, and leave no memory allocated. */
static void names_that_grow_without_end(void **state)
{
	struct ptl_bytes name = {0};

	(void)state;
	cpp_bomb(&name);
	demangles(common_text_string(&name), NULL);
	name.size = 0;
	rust_bomb(&name, "yy");
	demangles(common_text_string(&name), NULL);
	name.size = 0;
	rust_bomb(&name, "NtC1au8gdel_5qay");
	demangles(common_text_string(&name), NULL);
	common_bytes_free(&name);
}

/* ---- names of addresses ------------------------------------------------------------------------ */

static void finds_names(void **state)
{
	const uint64_t base = 0x7f0000000000;
	struct ptl_trace *trace = make_trace();
	struct flow_timeline *timeline;
	struct flow_symbols *symbols;
	struct flow_symbol symbol;

	(void)state;
	assert_int_equal(flow_timeline_build(trace, &timeline), 0);
	assert_int_equal(flow_symbols_open(trace, timeline, true, &symbols), 0);
	for (uint32_t image = 0; image < 2; image++) {
		expect(symbols, image, base + image * 0x10000, "main (lib\\x07.so)");
		expect(symbols, image, base + image * 0x10000 + 0xf, "main+0xf (lib\\x07.so)");
		expect(symbols, image, base + image * 0x10000 + 0x11, "foo::helper(int)+0x1 (lib\\x07.so)");
		expect(symbols, image, base + image * 0x10000 + 0x50, "foo::helper(int)@plt (lib\\x07.so)");
		expect(symbols, image, base + image * 0x10000 + 0x66, "strlen@plt+0x6 (lib\\x07.so)");
		expect(symbols, image, base + image * 0x10000 + 0x30, "+0x1030 (lib\\x07.so)");
		expect(symbols, image, base + image * 0x10000 + 0x40, "bad\\x1b[2J (lib\\x07.so)");
	}
	assert_int_equal(flow_symbols_unreadable(symbols), 0);
	expect(symbols, 2, base + 0x20000, "+0x1000 (lib\\x07.so)");
	expect(symbols, 3, base + 0x30000, "+0x1000 (lib\\x07.so)");
	expect(symbols, FLOW_NONE, base, "[no image]");
	assert_int_equal(flow_symbols_unreadable(symbols), 1);
	assert_true(flow_symbols_find(symbols, 0, base + 0x12, &symbol));
	assert_string_equal(symbol.name, "_ZN3foo6helperEi");
	assert_int_equal(symbol.offset, 2);
	assert_false(flow_symbols_find(symbols, 0, base - 1, &symbol));
	flow_symbols_close(symbols);
	assert_int_equal(flow_symbols_open(trace, timeline, false, &symbols), 0);
	expect(symbols, 0, base + 0x11, "_ZN3foo6helperEi+0x1 (lib\\x07.so)");
	flow_symbols_close(symbols);
	flow_timeline_free(timeline);
	ptl_close(trace);
}

static void finds_no_lines(void **state)
{
	struct ptl_trace *trace = make_trace();
	struct flow_timeline *timeline;
	struct flow_sources *sources;
	size_t asked, found;
	const char *file;
	uint32_t line;

	(void)state;
	assert_int_equal(flow_timeline_build(trace, &timeline), 0);
	assert_int_equal(flow_sources_open(trace, timeline, &sources), 0);
	assert_false(flow_sources_find(sources, 0, 0x7f0000000000, &file, &line));
	assert_false(flow_sources_find(sources, FLOW_NONE, 0x7f0000000000, &file, &line));
	flow_sources_counts(sources, &asked, &found);
	assert_true(asked == 1 && found == 0);
	flow_sources_close(sources);
	flow_timeline_free(timeline);
	ptl_close(trace);
}

/* Opens a copy of the file in memory; the result owns the copy. */
static struct flow_debug *debug_of(const uint8_t *data, size_t size, bool scopes)
{
	uint8_t *copy = malloc(size);

	assert_non_null(copy);
	memcpy(copy, data, size);
	return flow_debug_from_memory(NULL, copy, size, NULL, scopes);
}

/* Finds an address of the function below, which is declared here. */
static void finds_own_scope(const uint8_t *data, size_t size)
{
	struct flow_debug *debug = debug_of(data, size, true);
	const struct flow_scope *scope = NULL;
	bool found = false;

	assert_non_null(debug);
	assert_non_null(debug->scopes);
	for (uint64_t address = 0; address < size && !found; address++) {
		scope = flow_scopes_find(debug->scopes, address);
		for (; scope && !found; scope = scope->outer)
			found = !strcmp(scope->function->name, "finds_no_lines") &&
				strstr(scope->function->file, "test_symbol.c") && scope->function->line;
	}
	assert_true(found);
	assert_null(flow_scopes_find(debug->scopes, 0));
	assert_null(flow_scopes_find(debug->scopes, UINT64_MAX));
	flow_debug_free(debug);
}

/* No file stays open, with scopes (read later) or without. */
static void keeps_no_file_open(void)
{
	for (unsigned scopes = 0; scopes < 2; scopes++) {
		const int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
		struct flow_debug *debug = flow_debug_from_file(NULL, fd, NULL, scopes);

		assert_non_null(debug);
		assert_int_equal(fcntl(fd, F_GETFD), -1);
		assert_true(!debug->scopes == !scopes);
		flow_debug_free(debug);
	}
}

/* Finds lines of this program, compiled with -g, in memory and by file. */
static void finds_lines(void **state)
{
	struct flow_debug *debug;
	bool found = false;
	struct flow_line line;
	uint8_t *data;
	size_t size;

	(void)state;
	assert_int_equal(common_read_file("/proc/self/exe", (size_t)1 << 30, &data, &size), 0);
	debug = debug_of(data, size, false);
	if (!debug) {
		free(data);
		skip(); /* built without -g */
	}
	/* In a position-independent program or not, an address below the file's size is code of this file. */
	for (uint64_t address = 0; address < size && !found; address++)
		found = flow_lines_find(debug->lines, address, &line) && line.line > 0 &&
			strstr(line.file, "test_symbol.c");
	assert_true(found);
	assert_false(flow_lines_find(debug->lines, UINT64_MAX, &line));
	assert_null(debug->scopes);
	flow_debug_free(debug);
	finds_own_scope(data, size);
	keeps_no_file_open();
	assert_null(flow_debug_from_file(NULL, -1, NULL, true));
	assert_null(debug_of(data, 3, true));
	memset(data, 0, 64);
	assert_null(debug_of(data, size, true));
	free(data);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_of_languages), cmocka_unit_test(names_that_grow_without_end),
		cmocka_unit_test(finds_names),        cmocka_unit_test(finds_no_lines),
		cmocka_unit_test(finds_lines),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
