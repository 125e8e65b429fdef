/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests that pruning and copying a log of mapping changes keep the described memory, page by page. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "record/model/mapping_log.h"

#define PAGES 24
#define PAGE 0x1000u
#define STEPS 60

/* Content of a page: number of the image, protection, and number of the latest code; 0: none. */
struct page {
	unsigned image;
	unsigned protection;
	unsigned code;
};

struct memory {
	struct page pages[PAGES];
};

static void apply(struct memory *memory, const struct record_change *change)
{
	const size_t first = change->base / PAGE, count = change->size / PAGE;

	if (change->kind == RECORD_CHANGE_CLEAR)
		memset(memory, 0, sizeof(*memory));
	for (size_t i = first; i < first + count; i++) {
		struct page *page = &memory->pages[i];

		switch (change->kind) {
		case RECORD_CHANGE_LOAD:
			*page = (struct page){(unsigned)change->image->data.file_offset, 0, 0};
			break;
		case RECORD_CHANGE_UNLOAD:
			*page = (struct page){0, 0, 0};
			break;
		case RECORD_CHANGE_PROTECT:
			page->protection = page->image ? change->protection : 0;
			break;
		case RECORD_CHANGE_CODE:
			page->code = change->code[0];
			break;
		case RECORD_CHANGE_CLEAR:
			break;
		}
	}
}

static struct memory replay(const struct record_log *log, uint64_t epoch)
{
	struct memory memory = {0};

	for (size_t i = 0; i < log->count && log->changes[i].epoch <= epoch; i++)
		apply(&memory, &log->changes[i]);
	/* Changes to a page without an image are invisible. */
	for (size_t i = 0; i < PAGES; i++)
		if (!memory.pages[i].image)
			memory.pages[i].protection = 0;
	return memory;
}

static uint32_t next(uint32_t *seed)
{
	*seed = *seed * 1103515245u + 12345u;
	return *seed >> 16;
}

static struct record_change random_change(uint32_t *seed, uint64_t epoch, unsigned number)
{
	static const enum record_change_kind kinds[] = {
		RECORD_CHANGE_LOAD, RECORD_CHANGE_LOAD,    RECORD_CHANGE_LOAD, RECORD_CHANGE_UNLOAD,
		RECORD_CHANGE_CODE, RECORD_CHANGE_PROTECT, RECORD_CHANGE_CODE,
	};
	struct record_change change = {
		.kind = kinds[next(seed) % 7],
		.epoch = epoch,
		.base = next(seed) % (PAGES - 6) * PAGE,
		.size = (1 + next(seed) % 6) * PAGE,
		.protection = 1 + number,
	};
	const struct ptl_image_event image = {.file_offset = number + 1, .file_name = "x"};

	if (next(seed) % 40 == 0)
		change = (struct record_change){.kind = RECORD_CHANGE_CLEAR, .epoch = epoch};
	change.code[0] = (uint8_t)(number + 1);
	if (change.kind == RECORD_CHANGE_LOAD) {
		change.image = record_image_new(&image);
		assert_non_null(change.image);
	}
	return change;
}

static void keeps_the_memory(void **state)
{
	uint32_t seed = 7;

	(void)state;
	for (int round = 0; round < 200; round++) {
		struct record_log log = {0};
		struct memory before[STEPS + 1];
		uint64_t epoch = 0, pruned = next(&seed) % STEPS;

		for (unsigned i = 0; i < STEPS; i++) {
			struct record_change change;

			epoch += next(&seed) % 2;
			change = random_change(&seed, epoch, i);
			assert_int_equal(record_log_add(&log, &change), 0);
		}
		for (uint64_t at = 0; at <= epoch; at++)
			before[at] = replay(&log, at);
		for (uint64_t at = 0; at <= epoch; at++) {
			struct record_log copy = {0};
			struct memory copied;

			assert_int_equal(record_log_copy(&log, at, &copy), 0);
			copied = replay(&copy, UINT64_MAX);
			assert_memory_equal(&copied, &before[at], sizeof(copied));
			record_log_free(&copy);
		}
		assert_int_equal(record_log_prune(&log, pruned), 0);
		for (uint64_t at = pruned; at <= epoch; at++) {
			struct memory after = replay(&log, at);

			assert_memory_equal(&after, &before[at], sizeof(after));
		}
		record_log_free(&log);
	}
}

static void forgets_what_is_undone(void **state)
{
	const struct ptl_image_event data = {.file_offset = 1, .file_name = "x"};
	struct record_log log = {0};

	(void)state;
	for (uint64_t i = 0; i < 1000; i++) {
		const struct record_change load = {
			.kind = RECORD_CHANGE_LOAD, .epoch = 2 * i, .size = PAGE, .image = record_image_new(&data)};
		const struct record_change unload = {.kind = RECORD_CHANGE_UNLOAD, .epoch = 2 * i + 1, .size = PAGE};

		assert_int_equal(record_log_add(&log, &load), 0);
		assert_int_equal(record_log_add(&log, &unload), 0);
	}
	assert_int_equal(record_log_prune(&log, UINT64_MAX), 0);
	assert_int_equal(log.count, 0);
	record_log_free(&log);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(keeps_the_memory),
		cmocka_unit_test(forgets_what_is_undone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
