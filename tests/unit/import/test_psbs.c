/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests the times of PSBs: in pieces of any size, and in guests whose TSC has an offset. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <ptl/error.h>
#include <ptl/pt.h>

#include "import/psbs.h"

#define SECOND 1000000000ull
#define START (100 * SECOND) /* of the recording; a TSC tick is a nanosecond */
#define NOW (START + 50 * SECOND)
#define PSBS_MAX 600

static const struct ptl_machine machine = {.tsc_multiplier = 1, .start_time = START};

static uint8_t bytes[1 << 16];
static size_t size;

static void put(struct ptl_pt_packet packet)
{
	const int used = ptl_pt_encode(&packet, bytes + size, sizeof(bytes) - size);

	assert_true(used > 0);
	size += (size_t)used;
}

static void put_tsc(uint64_t tsc)
{
	put((struct ptl_pt_packet){.kind = PTL_PT_TSC, .tsc = {tsc}});
}

static void put_paging(bool guest)
{
	put((struct ptl_pt_packet){.kind = PTL_PT_PIP, .pip = {0x1000, guest}});
}

/* tsc: 0: PSB+ without a TSC. */
static void put_psb(uint64_t tsc, bool guest)
{
	put((struct ptl_pt_packet){.kind = PTL_PT_PSB});
	if (tsc)
		put_tsc(tsc);
	put_paging(guest);
	put((struct ptl_pt_packet){.kind = PTL_PT_PSBEND});
}

struct found {
	size_t count;
	uint64_t offsets[PSBS_MAX], times[PSBS_MAX];
};

static int note(void *context, uint64_t offset, uint64_t time)
{
	struct found *found = context;

	assert_true(found->count < PSBS_MAX);
	found->offsets[found->count] = offset;
	found->times[found->count++] = time;
	return 0;
}

static struct import_psb_clock clock_of(bool *host)
{
	return (struct import_psb_clock){
		.machine = &machine, .earliest = START, .latest = NOW, .now = NOW, .host = host};
}

static void read_pieces(size_t (*next)(void), struct found *found)
{
	bool host = false;
	const struct import_psb_clock clock = clock_of(&host);
	struct import_psbs psbs = {0};

	found->count = 0;
	for (size_t at = 0; at < size;) {
		const size_t want = next(), piece = want < size - at ? want : size - at;
		uint8_t *copy = malloc(piece);

		assert_non_null(copy);
		memcpy(copy, bytes + at, piece);
		assert_int_equal(import_psbs_bytes(&psbs, &clock, copy, piece, note, found), 0);
		free(copy);
		at += piece;
	}
	assert_int_equal(import_psbs_end(&psbs, &clock, note, found), 0);
}

static size_t all(void)
{
	return sizeof(bytes);
}

static size_t one(void)
{
	return 1;
}

static size_t some(void)
{
	return 1 + (size_t)rand() % 40;
}

static void expect(const uint64_t *times, size_t count)
{
	struct found found;

	read_pieces(all, &found);
	assert_int_equal(found.count, count);
	for (size_t i = 0; i < count; i++)
		assert_int_equal(found.times[i], times[i]);
}

#define EXPECT(...) expect((const uint64_t[]){__VA_ARGS__}, sizeof((uint64_t[]){__VA_ARGS__}) / sizeof(uint64_t))

/* The time of a PSB does not depend on the pieces: its packets may come in several. */
static void pieces(void **state)
{
	static struct found whole, found;

	(void)state;
	srand(1);
	for (unsigned round = 0; round < 50; round++) {
		size = 0;
		put_psb(START + 1, false);
		for (unsigned i = 2; i < 500; i++) {
			if (rand() % 3 == 0)
				put_psb(rand() % 4 ? START + i : 0, rand() % 3 == 0);
			else if (rand() % 8 == 0)
				put((struct ptl_pt_packet){.kind = PTL_PT_TIP, .ip = {0x8202, PTL_PT_IP_UPDATE_16}});
			else if (rand() % 8 == 0)
				bytes[size++] = 2;
			else
				put((struct ptl_pt_packet){.kind = PTL_PT_PSB});
		}
		read_pieces(all, &whole);
		for (unsigned i = 0; i < 20; i++) {
			read_pieces(i ? some : one, &found);
			assert_int_equal(found.count, whole.count);
			assert_memory_equal(found.offsets, whole.offsets, whole.count * sizeof(whole.offsets[0]));
			assert_memory_equal(found.times, whole.times, whole.count * sizeof(whole.times[0]));
		}
	}
}

/* A PSB+ that never ends is given at last. */
static void endless(void **state)
{
	static struct found found;

	(void)state;
	size = 0;
	put_psb(START + 5, false);
	put((struct ptl_pt_packet){.kind = PTL_PT_PSB});
	for (unsigned i = 0; i < 1000; i++)
		put((struct ptl_pt_packet){.kind = PTL_PT_CBR, .cbr = {8}});
	put_tsc(START + 20);
	for (unsigned i = 0; i < 2; i++) {
		read_pieces(i ? one : all, &found);
		assert_int_equal(found.count, 2);
		assert_int_equal(found.times[1], START + 5);
	}
}

/* The host is known: a guest's TSC counts within a second of the host's last PSB. */
static void behind_host(void **state)
{
	(void)state;
	size = 0;
	put_psb(START + 1000, false);
	put_psb(START + 2000, true);
	put_psb(START + 1999, true);
	put_psb(START + 2000 + SECOND, true);
	put_psb(START + 2001 + 2 * SECOND, true);
	put_psb(7, true);
	put_psb(0, true);
	put_psb(START + 3 * SECOND, false);
	EXPECT(START + 1000, START + 2000, START + 2000, START + 2000 + SECOND, START + 2000 + SECOND,
	       START + 2000 + SECOND, START + 2000 + SECOND, START + 3 * SECOND);
}

/* The stream begins in a guest. */
static void before_host(void **state)
{
	(void)state;
	/* The host's first TSC decides. */
	for (unsigned i = 0; i < 2; i++) {
		const uint64_t offset = i ? 5 * SECOND : 1 - START;

		size = 0;
		put_psb(START + 100 + offset, true);
		put_tsc(START + 150 + offset);
		put_paging(false);
		put_tsc(START + 200);
		put_psb(START + 300 + offset, true);
		put_psb(START + 400, false);
		EXPECT(START + 200, START + 200, START + 400);
	}
	/* No host: the recorder ran in the guest, whose TSC lies within the recording. */
	size = 0;
	put_psb(START + 100, true);
	put_psb(START + 10 * SECOND, true);
	EXPECT(START + 100, START + 10 * SECOND);
	/* No host, and a TSC from outside of the recording. */
	size = 0;
	put_psb(NOW + 1, true);
	put_psb(START - SECOND - 1, true);
	EXPECT(NOW, NOW);
}

/* Times from before a hole say nothing of a guest behind the hole. */
static void behind_hole(void **state)
{
	bool host = false;
	const struct import_psb_clock clock = clock_of(&host);
	struct import_psbs psbs = {0};
	struct found found = {0};

	(void)state;
	size = 0;
	put_psb(START + 100, false);
	assert_int_equal(import_psbs_bytes(&psbs, &clock, bytes, size, note, &found), 0);
	assert_int_equal(import_psbs_end(&psbs, &clock, note, &found), 0);
	import_psbs_hole(&psbs, 1000);
	size = 0;
	put_psb(7, true);
	put_paging(false);
	put_tsc(START + 20 * SECOND);
	assert_int_equal(import_psbs_bytes(&psbs, &clock, bytes, size, note, &found), 0);
	assert_int_equal(import_psbs_end(&psbs, &clock, note, &found), 0);
	assert_int_equal(found.count, 2);
	assert_int_equal(found.times[0], START + 100);
	assert_true(found.offsets[1] > 1000);
	assert_int_equal(found.times[1], START + 20 * SECOND);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pieces),      cmocka_unit_test(endless),     cmocka_unit_test(behind_host),
		cmocka_unit_test(before_host), cmocka_unit_test(behind_hole),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
