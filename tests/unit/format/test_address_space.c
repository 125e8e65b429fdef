/* SPDX-License-Identifier: BSD-2-Clause */
/* Holds versioned address spaces against a plain table of pages, in every version. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "format/state/address_space.h"

#define PAGES 200
#define VERSIONS 600

/* Number of the piece at each page, 0: none; and its offset in the piece's blob. */
struct model {
	uint32_t blob[PAGES];
	uint64_t offset[PAGES];
};

static uint32_t random_below(uint64_t *state, uint32_t limit)
{
	*state = *state * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)(*state >> 33) % limit;
}

/* Returns a page's address; the last pages are at the end of the address space. */
static uint64_t address_of(uint32_t page)
{
	return page < PAGES / 2 ? (uint64_t)page << 12 : ((uint64_t)page - PAGES) << 12;
}

static void check_version(const struct format_pieces *pieces, uint32_t root, const struct model *model)
{
	for (uint32_t page = 0; page < PAGES; page++) {
		uint64_t address = address_of(page) + 0x123;
		struct format_piece piece;
		bool found = format_pieces_find(pieces, root, address, &piece);

		assert_true(piece.first <= address && piece.last >= address);
		assert_int_equal(found, model->blob[page] != 0);
		assert_int_equal(found, format_pieces_any(pieces, root, address, address));
		if (!found)
			continue;
		assert_int_equal(piece.blob, model->blob[page]);
		assert_int_equal(piece.offset + (address - piece.first), model->offset[page] + 0x123);
	}
}

/* Checks that walking gives all pieces in order. */
static void check_walk(const struct format_pieces *pieces, uint32_t root, const struct model *model)
{
	struct format_piece piece;
	uint64_t at = 0, bytes = 0, expected = 0;

	while (format_pieces_at_or_after(pieces, root, at, &piece)) {
		assert_true(piece.first >= at && piece.last >= piece.first);
		bytes += piece.last - piece.first + 1;
		if (piece.last == UINT64_MAX)
			break;
		at = piece.last + 1;
	}
	for (uint32_t page = 0; page < PAGES; page++)
		expected += model->blob[page] ? 0x1000 : 0;
	assert_int_equal(bytes, expected);
}

/* Maps (as piece `number`) or unmaps a random range, in the tree and in the model. */
static void change(struct format_pieces *pieces, uint32_t *root, struct model *model, uint32_t number, uint64_t *random)
{
	uint32_t half = random_below(random, 2) * PAGES / 2;
	uint32_t first = half + random_below(random, PAGES / 2);
	uint32_t count = 1 + random_below(random, half + PAGES / 2 - first);
	const struct format_piece piece = {
		.first = address_of(first),
		.last = address_of(first) + ((uint64_t)count << 12) - 1,
		.offset = (uint64_t)number << 20,
		.blob = number,
	};

	if (!random_below(random, 3)) {
		format_pieces_remove(pieces, root, piece.first, piece.last);
		memset(model->blob + first, 0, count * sizeof(uint32_t));
		return;
	}
	format_pieces_put(pieces, root, &piece);
	for (uint32_t i = 0; i < count; i++) {
		model->blob[first + i] = number;
		model->offset[first + i] = piece.offset + ((uint64_t)i << 12);
	}
}

/* Pages that format_pieces_compare reported. */
struct reported {
	bool pages[PAGES];
	uint64_t last; /* first address of the last range */
	unsigned count, limit;
};

static bool tell(void *context, uint64_t first, uint64_t last)
{
	struct reported *reported = context;

	assert_true(first >= reported->last);
	reported->last = first;
	for (uint32_t page = 0; page < PAGES; page++)
		reported->pages[page] |= address_of(page) >= first && address_of(page) <= last;
	return ++reported->count != reported->limit;
}

/* Checks that all differing pages are reported, and no page without a piece in either version. */
static void check_compare(const struct format_pieces *pieces, uint32_t one, uint32_t other, const struct model *of_one,
			  const struct model *of_other)
{
	struct reported reported = {.count = 0};

	assert_true(format_pieces_compare(pieces, one, other, tell, &reported));
	for (uint32_t page = 0; page < PAGES; page++) {
		bool same = of_one->blob[page] == of_other->blob[page] &&
			    (!of_one->blob[page] || of_one->offset[page] == of_other->offset[page]);

		assert_true(reported.pages[page] || same);
		assert_true(!reported.pages[page] || of_one->blob[page] || of_other->blob[page]);
	}
	if (one == other)
		assert_int_equal(reported.count, 0);
	if (reported.count > 1) {
		reported = (struct reported){.limit = 1};
		assert_false(format_pieces_compare(pieces, one, other, tell, &reported));
		assert_int_equal(reported.count, 1);
	}
}

static void every_version_stays(void **state)
{
	struct model *models = calloc(VERSIONS, sizeof(*models));
	uint32_t roots[VERSIONS] = {0};
	struct format_pieces pieces = {0};
	uint64_t random = 1;
	uint32_t number = 0;

	(void)state;
	assert_non_null(models);
	for (uint32_t version = 1; version < VERSIONS; version++) {
		uint32_t changes = 1 + random_below(&random, 4);

		models[version] = models[version - 1];
		roots[version] = roots[version - 1];
		/* A version may have several changes. */
		while (changes--)
			change(&pieces, &roots[version], &models[version], ++number, &random);
		format_pieces_keep(&pieces);
	}
	assert_false(pieces.failed);
	for (uint32_t version = 0; version < VERSIONS; version++) {
		check_version(&pieces, roots[version], &models[version]);
		check_walk(&pieces, roots[version], &models[version]);
		for (uint32_t other = version % 7; other < VERSIONS; other += 1 + random_below(&random, 30))
			check_compare(&pieces, roots[version], roots[other], &models[version], &models[other]);
	}
	format_pieces_free(&pieces);
	free(models);
}

/* A mapping with pages rewritten one by one, as by a JIT: versions share nodes, and searches stay fast. */
static void many_versions_take_little_memory(void **state)
{
	struct format_pieces pieces = {0};
	struct format_piece piece = {.first = 0, .last = (1u << 28) - 1, .blob = 1};
	uint32_t root = 0;

	(void)state;
	format_pieces_put(&pieces, &root, &piece);
	for (uint32_t i = 0; i < 50000; i++) {
		uint64_t page = (uint64_t)i * 7919 % (1u << 16);

		piece = (struct format_piece){.first = page << 12, .last = (page << 12) + 0xfff, .blob = i + 2};
		format_pieces_put(&pieces, &root, &piece);
		format_pieces_keep(&pieces);
	}
	assert_false(pieces.failed);
	/* one or two paths of about log2(65536) nodes per change */
	assert_true(pieces.count < 50000 * 40);
	assert_true(format_pieces_find(&pieces, root, (uint64_t)49999 * 7919 % (1u << 16) << 12, &piece));
	assert_int_equal(piece.blob, 50001);
	format_pieces_free(&pieces);
}

/* Nodes of a version that was not kept are reused. */
static void unkept_changes_take_no_memory(void **state)
{
	struct format_piece piece = {.last = 0xffffff, .blob = 1};
	struct format_pieces pieces = {0};
	uint32_t root = 0;

	(void)state;
	format_pieces_put(&pieces, &root, &piece);
	for (uint32_t i = 0; i < 100000; i++) {
		uint64_t page = (uint64_t)i * 7919 % 4096;

		piece = (struct format_piece){.first = page << 12, .last = (page << 12) + 0xfff, .blob = i};
		format_pieces_put(&pieces, &root, &piece);
	}
	assert_false(pieces.failed);
	assert_true(pieces.count < 3 * 4096);
	format_pieces_free(&pieces);
}

/* Removing an unmapped range makes no new version: engines compare roots to detect changes. */
static void no_change_keeps_the_root(void **state)
{
	const struct format_piece piece = {.first = 0x1000, .last = 0x1fff, .blob = 1};
	struct format_pieces pieces = {0};
	uint32_t root = 0, before;

	(void)state;
	format_pieces_put(&pieces, &root, &piece);
	format_pieces_keep(&pieces);
	before = root;
	format_pieces_remove(&pieces, &root, 0x2000, UINT64_MAX);
	format_pieces_remove(&pieces, &root, 0, 0xfff);
	assert_int_equal(root, before);
	format_pieces_remove(&pieces, &root, 0, UINT64_MAX);
	assert_int_equal(root, 0);
	format_pieces_free(&pieces);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_version_stays),
		cmocka_unit_test(many_versions_take_little_memory),
		cmocka_unit_test(unkept_changes_take_no_memory),
		cmocka_unit_test(no_change_keeps_the_root),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
