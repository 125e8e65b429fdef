/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads SampleDetail events, and writes the fields as in perf_event_open(2), "PERF_RECORD_SAMPLE". */
#include "dump/export/perf/perf_detail.h"

#include <string.h>

#include "perf/layout.h"

#define BRANCH_BYTES 24u
#define BRANCHES_MAX 256u             /* a record's size has 16 bits; CPUs have at most 32 */
#define BRANCH_USER_KERNEL_ANY 0xbull /* PERF_SAMPLE_BRANCH_USER, KERNEL, ANY */

/* Reads a number of elements, and the elements. */
static const uint8_t *read_list(struct common_cursor *cursor, size_t each, size_t *count)
{
	*count = common_read16(cursor);
	return common_read_bytes(cursor, *count * each);
}

static void skip_text(struct common_cursor *cursor)
{
	const size_t left = common_cursor_left(cursor);
	const size_t length = strnlen((const char *)cursor->data + cursor->at, left);

	common_read_bytes(cursor, length + 1);
}

static void read_registers(struct common_cursor *cursor, struct dump_perf_registers *registers)
{
	registers->abi = common_read64(cursor);
	registers->mask = common_read64(cursor);
	registers->words = read_list(cursor, 8, &registers->count);
}

bool dump_perf_detail_read(const struct ptl_event *event, struct dump_perf_detail *detail)
{
	struct common_cursor cursor = common_cursor(event->payload, event->payload_size);
	uint64_t *const words[] = {&detail->weight,           &detail->data_source, &detail->transaction,
				   &detail->physical_address, &detail->cgroup,      &detail->data_page_size,
				   &detail->code_page_size};
	size_t counters;

	*detail = (struct dump_perf_detail){.name = (const char *)event->payload};
	if (!event->payload_size)
		return false;
	skip_text(&cursor);
	common_read_bytes(&cursor, 16); /* times of the counters */
	counters = common_read16(&cursor);
	detail->has_counters = counters != 0;
	for (size_t i = 0; i < counters && !cursor.failed; i++) {
		skip_text(&cursor);
		common_read_bytes(&cursor, 16);
	}
	detail->branches = read_list(&cursor, BRANCH_BYTES, &detail->branch_count);
	detail->branch_index = common_read64(&cursor);
	detail->branch_counters = read_list(&cursor, 8, &detail->branch_counter_count);
	read_registers(&cursor, &detail->user);
	read_registers(&cursor, &detail->interrupt);
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		*words[i] = common_read64(&cursor);
	detail->has_rest = common_cursor_left(&cursor) != 0;
	return !cursor.failed && detail->branch_count <= BRANCHES_MAX &&
	       (!detail->branch_counter_count || detail->branch_counter_count == detail->branch_count) &&
	       detail->user.count == (size_t)__builtin_popcountll(detail->user.mask) &&
	       detail->interrupt.count == (size_t)__builtin_popcountll(detail->interrupt.mask);
}

/* A value's bit in sample_type. */
struct detail_word {
	uint64_t bit;
	uint64_t value;
};

#define BEFORE_REGISTERS 3 /* words before the registers of the interrupt */
#define WORDS 7

/* Lists the words in the order of the record. A sample without detail has words of 0. */
static void list_words(const struct dump_perf_detail *detail, struct detail_word words[WORDS])
{
	const struct dump_perf_detail none = {0}, *from = detail ? detail : &none;
	const struct detail_word list[WORDS] = {
		{from->weight >> 32 ? PERF_SAMPLE_WEIGHT_STRUCT : PERF_SAMPLE_WEIGHT, from->weight},
		{PERF_SAMPLE_DATA_SRC, from->data_source},
		{PERF_SAMPLE_TRANSACTION, from->transaction},
		{PERF_SAMPLE_PHYS_ADDR, from->physical_address},
		{PERF_SAMPLE_CGROUP, from->cgroup},
		{PERF_SAMPLE_DATA_PAGE_SIZE, from->data_page_size},
		{PERF_SAMPLE_CODE_PAGE_SIZE, from->code_page_size},
	};

	memcpy(words, list, sizeof(list));
}

void dump_perf_detail_widen(const struct dump_perf_detail *detail, struct dump_perf_shape *shape)
{
	struct detail_word words[WORDS];

	list_words(detail, words);
	for (size_t i = 0; i < WORDS; i++)
		shape->sample_type |= words[i].value ? words[i].bit : 0;
	/* The kernel knows one of both. */
	if (shape->sample_type & PERF_SAMPLE_WEIGHT_STRUCT)
		shape->sample_type &= ~(uint64_t)PERF_SAMPLE_WEIGHT;
	if (detail->branch_count) {
		shape->sample_type |= PERF_SAMPLE_BRANCH_STACK;
		shape->branches |= BRANCH_USER_KERNEL_ANY;
		shape->branches |= detail->branch_index ? PERF_BRANCH_HW_INDEX : 0;
		shape->branches |= detail->branch_counter_count ? PERF_BRANCH_COUNTERS : 0;
	}
	shape->sample_type |= detail->user.mask ? PERF_SAMPLE_REGS_USER : 0;
	shape->sample_type |= detail->interrupt.mask ? PERF_SAMPLE_REGS_INTR : 0;
	shape->user_mask = detail->user.mask;
	shape->interrupt_mask = detail->interrupt.mask;
}

static void put_branches(const struct dump_perf_detail *detail, uint64_t which, struct ptl_bytes *body)
{
	const size_t count = detail ? detail->branch_count : 0;

	common_write_le(body, count, 8);
	if (which & PERF_BRANCH_HW_INDEX)
		common_write_le(body, detail ? detail->branch_index : 0, 8);
	if (count)
		common_write_bytes(body, detail->branches, BRANCH_BYTES * count);
	if (!(which & PERF_BRANCH_COUNTERS))
		return;
	for (size_t i = 0; i < count; i++)
		common_write_le(body, detail->branch_counter_count ? common_load64(detail->branch_counters + 8 * i) : 0,
				8);
}

static void put_registers(const struct dump_perf_registers *registers, struct ptl_bytes *body)
{
	common_write_le(body, registers ? registers->abi : 0, 8);
	if (registers && registers->abi)
		common_write_bytes(body, registers->words, 8 * registers->count);
}

static void put_words(const struct detail_word *words, size_t count, uint64_t type, struct ptl_bytes *body)
{
	for (size_t i = 0; i < count; i++)
		if (type & words[i].bit)
			common_write_le(body, words[i].value, 8);
}

void dump_perf_detail_put(const struct dump_perf_detail *detail, const struct dump_perf_shape *shape,
			  struct ptl_bytes *body)
{
	const uint64_t type = shape->sample_type;
	struct detail_word words[WORDS];

	list_words(detail, words);
	words[0].bit = PERF_SAMPLE_WEIGHT | PERF_SAMPLE_WEIGHT_STRUCT;
	if (type & PERF_SAMPLE_BRANCH_STACK)
		put_branches(detail, shape->branches, body);
	if (type & PERF_SAMPLE_REGS_USER)
		put_registers(detail ? &detail->user : NULL, body);
	put_words(words, BEFORE_REGISTERS, type, body);
	if (type & PERF_SAMPLE_REGS_INTR)
		put_registers(detail ? &detail->interrupt : NULL, body);
	put_words(words + BEFORE_REGISTERS, WORDS - BEFORE_REGISTERS, type, body);
}
