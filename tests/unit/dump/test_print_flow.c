/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests merging lines by time, and repeating earlier lines. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "common/text/text.h"
#include "dump/flow/flow_merge.h"
#include "dump/flow/flow_writer.h"

/* ---- merging ------------------------------------------------------------------------------------- */

static void give_back(void *context, struct ptl_bytes *text)
{
	unsigned *count = context;

	++*count;
	common_bytes_free(text);
}

/* Makes lines of words such as "a1 a2 ": each word is a line with the word's number as time. */
static struct dump_flow_lines lines_of(const char *words)
{
	struct dump_flow_lines lines = {0};

	for (const char *p = words; *p; p += strcspn(p, " ") + 1) {
		const size_t length = strcspn(p, " ") + 1;

		assert_int_equal(dump_flow_lines_at(&lines, strtoull(p + 1, NULL, 10)), 0);
		common_write_bytes(&lines.text, p, length);
	}
	return lines;
}

static void add(struct dump_flow_merge *merge, size_t group, const char *words)
{
	struct dump_flow_lines lines = lines_of(words);

	assert_int_equal(dump_flow_merge_add(merge, group, &lines), 0);
}

struct sink {
	FILE *file;
	char *data;
	size_t size;
};

static void write_up_to(struct dump_flow_merge *merge, uint64_t horizon, const char *expected)
{
	struct sink sink = {0};

	sink.file = open_memstream(&sink.data, &sink.size);
	assert_int_equal(dump_flow_merge_write(merge, horizon, sink.file), 0);
	fclose(sink.file);
	assert_string_equal(sink.data, expected);
	free(sink.data);
}

static void merges(void **state)
{
	unsigned given_back = 0;
	struct dump_flow_merge *merge = dump_flow_merge_new(give_back, &given_back);

	(void)state;
	write_up_to(merge, UINT64_MAX, "");
	add(merge, 2, "c1 c5 c9 ");
	add(merge, 0, "a2 a2 a6 ");
	add(merge, 2, "c3 c20 ");
	write_up_to(merge, 0, "");
	write_up_to(merge, 5, "c1 a2 a2 ");
	add(merge, 1, "b5 b7 ");
	add(merge, 7, "");
	/* Equal times are in order of groups. A group keeps its order even if its times decrease. */
	write_up_to(merge, 9, "b5 c5 a6 b7 ");
	assert_int_equal(given_back, 3);
	add(merge, 0, "a9 ");
	write_up_to(merge, UINT64_MAX, "a9 c9 c3 c20 ");
	assert_int_equal(given_back, 5);
	add(merge, 3, "d1 ");
	dump_flow_merge_free(merge);
}

/* Each group of lines reserves far more memory than it uses: 390,000 waiting short groups once took 600 MB. */
static void joins_short_lines(void **state)
{
	enum { LINES = 1000 };
	unsigned given_back = 0;
	struct dump_flow_merge *merge = dump_flow_merge_new(give_back, &given_back);
	struct ptl_bytes expected = {0};

	(void)state;
	for (unsigned i = 0; i < LINES; i++) {
		char word[16];

		snprintf(word, sizeof(word), "a%u ", i);
		add(merge, 0, word);
		common_text_add(&expected, word);
	}
	assert_int_equal(given_back, LINES - 1);
	write_up_to(merge, LINES, common_text_string(&expected));
	common_bytes_free(&expected);
	dump_flow_merge_free(merge);
}

/* More text than waits in memory: each part comes complete and in order, and again in a second round. */
static void waits_in_a_file(void **state)
{
	enum { PARTS = 100, SIZE = 1 << 20 };
	unsigned given_back = 0;
	struct dump_flow_merge *merge = dump_flow_merge_new(give_back, &given_back);

	(void)state;
	for (unsigned round = 0; round < 2; round++) {
		struct sink sink = {0};

		for (unsigned i = 0; i < PARTS; i++) {
			struct dump_flow_lines lines = {0};

			assert_int_equal(dump_flow_lines_at(&lines, i / 2), 0);
			for (unsigned k = 0; k < SIZE; k++)
				common_write_bytes(&lines.text, &(char){(char)('0' + i)}, 1);
			assert_int_equal(dump_flow_merge_add(merge, i % 2, &lines), 0);
		}
		/* Many parts are in a file now and have freed their memory. */
		assert_in_range(given_back - round * PARTS, PARTS / 4, PARTS / 2);
		sink.file = open_memstream(&sink.data, &sink.size);
		assert_int_equal(dump_flow_merge_write(merge, UINT64_MAX, sink.file), 0);
		fclose(sink.file);
		assert_int_equal(sink.size, (size_t)PARTS * SIZE);
		for (size_t at = 0; at < sink.size; at++)
			if (sink.data[at] != (char)('0' + at / SIZE))
				fail_msg("byte %zu is %c", at, sink.data[at]);
		free(sink.data);
		given_back = (round + 1) * PARTS;
	}
	dump_flow_merge_free(merge);
}

static void times_within_lines(void **state)
{
	struct dump_flow_lines lines = {0};

	(void)state;
	assert_int_equal(dump_flow_lines_at(&lines, 5), 0);
	assert_int_equal(dump_flow_lines_at(&lines, 7), 0); /* no line at time 5 */
	assert_int_equal(lines.count, 1);
	common_text_add(&lines.text, "x");
	assert_int_equal(dump_flow_lines_at(&lines, 6), 0); /* times must not decrease below 7 */
	assert_int_equal(lines.count, 1);
	assert_int_equal(dump_flow_lines_at(&lines, 8), 0);
	assert_int_equal(lines.count, 2);
	assert_true(lines.items[0].time == 7 && lines.items[1].time == 8 && lines.items[1].start == 1);
	dump_flow_lines_free(&lines);
}

/* ---- writing ------------------------------------------------------------------------------------- */

static unsigned made; /* number of requested tails */

static void test_block(const struct dump_flow_print *print, const struct flow_block *block, struct ptl_bytes *text)
{
	(void)print;
	made++;
	common_text_format(text, "%llx:%02x\n", (unsigned long long)block->ip, block->code[0]);
}

static void test_instruction(const struct dump_flow_print *print, const struct flow_block *block, uint32_t i,
			     uint64_t ip, const uint8_t *code, struct ptl_bytes *text)
{
	(void)print;
	(void)block;
	made++;
	common_text_format(text, "%u:%llx:%02x\n", i, (unsigned long long)ip, *code);
}

static void test_branch(const struct dump_flow_print *print, const struct dump_flow_branch *branch,
			struct ptl_bytes *text)
{
	(void)print;
	made++;
	common_text_format(text, "%llx>%llx\n", (unsigned long long)branch->from.ip, (unsigned long long)branch->to.ip);
}

static const struct dump_flow_format format = {
	.block = test_block,
	.instruction = test_instruction,
	.branch = test_branch,
};

static const uint8_t code[] = {0x90, 0x31, 0xc0, 0xc3};
static const uint8_t lengths[] = {1, 2, 1};

static struct flow_block block_at(uint64_t ip, const uint8_t *bytes)
{
	return (struct flow_block){
		.ip = ip,
		.last_ip = ip + 3,
		.instructions = 3,
		.size = 4,
		.branch = FLOW_BRANCH_RETURN,
		.mode = 64,
		.code = bytes,
		.lengths = lengths,
	};
}

/* Returns a head without bytes, but with memory. */
static struct ptl_bytes empty_head(void)
{
	struct ptl_bytes head = {0};

	common_text_string(&head);
	return head;
}

static void expect(struct ptl_bytes *text, const char *expected, unsigned expected_made)
{
	assert_string_equal(common_text_string(text), expected);
	assert_int_equal(made, expected_made);
	text->size = 0;
}

static void writes_again(void **state)
{
	const struct dump_flow_print print = {.level = DUMP_FLOW_INSN};
	struct dump_flow_writer *writer = dump_flow_writer_new(&print, &format);
	const struct flow_block block = block_at(0x1000, code);
	struct ptl_bytes head = {0}, text = {0};

	(void)state;
	made = 0;
	common_text_add(&head, "1 ");
	dump_flow_write_block(writer, &head, &block, &text);
	expect(&text, "1 0:1000:90\n1 1:1001:31\n1 2:1003:c3\n", 3);
	common_text_add(&head, "2 ");
	dump_flow_write_block(writer, &head, &block, &text);
	expect(&text, "1 2 0:1000:90\n1 2 1:1001:31\n1 2 2:1003:c3\n", 3);
	common_bytes_free(&head);
	common_bytes_free(&text);
	dump_flow_writer_free(writer);
}

/* The bytes identify code of an event, and the image identifies other code. */
static void tells_code_apart(void **state)
{
	static const uint8_t other_code[] = {0xcc, 0x31, 0xc0, 0xc3};
	const struct dump_flow_print print = {.level = DUMP_FLOW_BLOCK};
	struct dump_flow_writer *writer = dump_flow_writer_new(&print, &format);
	struct flow_block block = block_at(0x1000, code), other = block_at(0x1000, other_code);
	struct ptl_bytes head = empty_head(), text = {0};

	(void)state;
	made = 0;
	block.code_event = other.code_event = true;
	dump_flow_write_block(writer, &head, &block, &text);
	dump_flow_write_block(writer, &head, &other, &text);
	dump_flow_write_block(writer, &head, &block, &text);
	assert_string_equal(common_text_string(&text), "1000:90\n1000:cc\n1000:90\n");
	text.size = 0;
	block.code_event = other.code_event = false;
	other.image = 1;
	dump_flow_write_block(writer, &head, &block, &text);
	dump_flow_write_block(writer, &head, &other, &text);
	assert_string_equal(common_text_string(&text), "1000:90\n1000:cc\n");
	common_bytes_free(&head);
	common_bytes_free(&text);
	dump_flow_writer_free(writer);
}

/* More code than the cache's size, so that slots are reused and the cache is emptied. */
static void forgets(void **state)
{
	const struct dump_flow_print print = {.level = DUMP_FLOW_BLOCK};
	struct dump_flow_writer *writer = dump_flow_writer_new(&print, &format);
	struct ptl_bytes head = empty_head(), text = {0};
	char expected[32];

	(void)state;
	for (uint64_t i = 0; i < 3000000; i++) {
		const uint64_t ip = 0x1000 + (i * 7919 % 2000003) * 16;
		const struct flow_block block = block_at(ip, code);

		dump_flow_write_block(writer, &head, &block, &text);
		snprintf(expected, sizeof(expected), "%llx:90\n", (unsigned long long)ip);
		if (strcmp(common_text_string(&text), expected) != 0)
			fail_msg("%s instead of %s", common_text_string(&text), expected);
		text.size = 0;
	}
	common_bytes_free(&head);
	common_bytes_free(&text);
	dump_flow_writer_free(writer);
}

static void branches(void **state)
{
	const struct dump_flow_print print = {.level = DUMP_FLOW_BRANCH};
	struct dump_flow_writer *writer = dump_flow_writer_new(&print, &format);
	struct dump_flow_branch branch = {{0x10, 0}, {0x20, 0}, true, FLOW_BRANCH_JUMP};
	struct ptl_bytes head = empty_head(), text = {0};

	(void)state;
	made = 0;
	dump_flow_write_branch(writer, &head, &branch, &text);
	dump_flow_write_branch(writer, &head, &branch, &text);
	expect(&text, "10>20\n10>20\n", 1);
	branch.has_to = false;
	dump_flow_write_branch(writer, &head, &branch, &text);
	branch.to.image = 3;
	dump_flow_write_branch(writer, &head, &branch, &text);
	expect(&text, "10>20\n10>20\n", 3);
	common_bytes_free(&head);
	common_bytes_free(&text);
	dump_flow_writer_free(writer);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(merges),          cmocka_unit_test(joins_short_lines),
		cmocka_unit_test(waits_in_a_file), cmocka_unit_test(times_within_lines),
		cmocka_unit_test(writes_again),    cmocka_unit_test(tells_code_apart),
		cmocka_unit_test(forgets),         cmocka_unit_test(branches),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
