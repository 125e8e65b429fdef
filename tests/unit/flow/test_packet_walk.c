/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests the walk over a PT stream: pieces, damage, holes and bounds, on a stream in memory. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "common/bytes.h"
#include "flow/segment/packet_walk.h"
#include "tests/unit/pt_random.h"

#define STREAM 3

static struct flow_errata errata;

/* Replaces the reader's structure: bytes with at most one hole, read in chunks. */
struct ptl_trace {
	struct ptl_bytes bytes; /* without the bytes of the hole */
	uint64_t hole_at;
	uint64_t hole_size;
	size_t chunk; /* maximal bytes per read */
	int failure;
};

int ptl_stream_read(struct ptl_trace *trace, uint32_t stream, uint64_t offset, void *data, size_t size, size_t *read,
		    uint64_t *hole)
{
	uint64_t behind = trace->hole_at + trace->hole_size;
	uint64_t end = trace->bytes.size + trace->hole_size;

	assert_int_equal(stream, STREAM);
	*read = 0;
	*hole = 0;
	if (trace->failure)
		return trace->failure;
	if (trace->hole_size && offset >= trace->hole_at && offset < behind) {
		*hole = behind - offset;
		return 0;
	}
	if (trace->hole_size && offset < trace->hole_at)
		end = trace->hole_at;
	if (offset >= end)
		return 0;
	*read = size < end - offset ? size : end - offset;
	if (*read > trace->chunk)
		*read = trace->chunk;
	memcpy(data, trace->bytes.data + (offset >= behind ? offset - trace->hole_size : offset), *read);
	return 0;
}

static void put(struct ptl_trace *trace, const struct ptl_pt_packet *packet)
{
	uint8_t data[PTL_PT_PACKET_MAX];
	int size = ptl_pt_encode(packet, data, sizeof(data));

	assert_true(size > 0);
	common_write_bytes(&trace->bytes, data, (size_t)size);
}

static void put_kind(struct ptl_trace *trace, unsigned kind)
{
	put(trace, &(struct ptl_pt_packet){.kind = (uint8_t)kind});
}

static void put_tip(struct ptl_trace *trace, uint64_t ip)
{
	put(trace, &(struct ptl_pt_packet){.kind = PTL_PT_TIP, .ip = {.form = PTL_PT_IP_FULL, .payload = ip}});
}

static void put_bytes(struct ptl_trace *trace, const char *bytes, size_t size)
{
	common_write_bytes(&trace->bytes, bytes, size);
}

/* Expected items, in order. */
struct want {
	enum flow_packet_item_type type;
	uint64_t offset, size;
	unsigned kind;
	const char *cause;
};

static void walk_gives(struct ptl_trace *trace, uint64_t from, uint64_t end, const struct want *wants, size_t count)
{
	struct flow_packet_item item;
	struct flow_packet_walk walk;

	assert_int_equal(flow_packet_walk_start(&walk, trace, STREAM, from, end, errata), 0);
	for (size_t i = 0; i < count; i++) {
		assert_int_equal(flow_packet_walk_next(&walk, &item), 1);
		assert_int_equal(item.type, wants[i].type);
		assert_int_equal(item.offset, wants[i].offset);
		assert_int_equal(item.size, wants[i].size);
		if (item.type == FLOW_PACKET_ITEM_PACKET)
			assert_int_equal(item.packet.kind, wants[i].kind);
		else
			assert_string_equal(item.cause, wants[i].cause);
	}
	assert_int_equal(flow_packet_walk_next(&walk, &item), 0);
	assert_int_equal(flow_packet_walk_next(&walk, &item), 0);
	flow_packet_walk_free(&walk);
	common_bytes_free(&trace->bytes);
}

#define PACKET(offset, size, kind)                                                                                     \
	{                                                                                                              \
		FLOW_PACKET_ITEM_PACKET, offset, size, PTL_PT_##kind, NULL                                             \
	}
#define SKIPPED(offset, size, cause)                                                                                   \
	{                                                                                                              \
		FLOW_PACKET_ITEM_SKIPPED, offset, size, 0, cause                                                       \
	}
#define LOST(offset, size)                                                                                             \
	{                                                                                                              \
		FLOW_PACKET_ITEM_LOST, offset, size, 0, "buffers are missing or damaged"                               \
	}
#define GIVES(trace, from, end, ...)                                                                                   \
	walk_gives(trace, from, end, (const struct want[]){__VA_ARGS__},                                               \
		   sizeof((const struct want[]){__VA_ARGS__}) / sizeof(struct want))

static void empty_stream(void **state)
{
	struct ptl_trace trace = {.chunk = 7};

	(void)state;
	walk_gives(&trace, 0, UINT64_MAX, NULL, 0);
}

static void no_psb(void **state)
{
	struct ptl_trace trace = {.chunk = 7};

	(void)state;
	for (unsigned i = 0; i < 100; i++)
		put_kind(&trace, PTL_PT_OVF);
	GIVES(&trace, 0, UINT64_MAX, SKIPPED(0, 200, "before the first PSB"));
}

static void bytes_before_the_first_psb(void **state)
{
	struct ptl_trace trace = {.chunk = 7};

	(void)state;
	put_tip(&trace, 1);
	put_kind(&trace, PTL_PT_PSB);
	put_kind(&trace, PTL_PT_OVF);
	GIVES(&trace, 0, UINT64_MAX, SKIPPED(0, 9, "before the first PSB"), PACKET(9, 16, PSB), PACKET(25, 2, OVF));
}

static void damage_up_to_the_next_psb(void **state)
{
	struct ptl_trace trace = {.chunk = 7};

	(void)state;
	put_kind(&trace, PTL_PT_PSB);
	put_kind(&trace, PTL_PT_OVF);
	put_bytes(&trace, "\x05\x01\x02\x03", 4);
	put_kind(&trace, PTL_PT_PSB);
	put_bytes(&trace, "\xad", 1);
	put_kind(&trace, PTL_PT_PSB);
	put_kind(&trace, PTL_PT_PSBEND);
	put_bytes(&trace, "\x19\x00", 2);
	GIVES(&trace, 0, UINT64_MAX, PACKET(0, 16, PSB), PACKET(16, 2, OVF), SKIPPED(18, 4, "unknown opcode 05"),
	      PACKET(22, 16, PSB), SKIPPED(38, 1, "reserved IPBytes 5 in TIP"), PACKET(39, 16, PSB),
	      PACKET(55, 2, PSBEND), SKIPPED(57, 2, "the data ends within TSC"));
}

/* A hole may truncate the packets on both sides. */
static void hole(void **state)
{
	struct ptl_trace trace = {.chunk = 7, .hole_at = 20, .hole_size = 1000};

	(void)state;
	put_kind(&trace, PTL_PT_PSB);
	put_kind(&trace, PTL_PT_OVF);
	put_bytes(&trace, "\x02\x73", 2);
	put_bytes(&trace, "\x01\x02\x03\x04", 4);
	put_kind(&trace, PTL_PT_PSB);
	GIVES(&trace, 0, UINT64_MAX, PACKET(0, 16, PSB), PACKET(16, 2, OVF), SKIPPED(18, 2, "the data ends within TMA"),
	      LOST(20, 1000), SKIPPED(1020, 4, "after lost bytes"), PACKET(1024, 16, PSB));
}

static void hole_at_the_start(void **state)
{
	struct ptl_trace trace = {.chunk = 100, .hole_at = 0, .hole_size = 5};

	(void)state;
	put_kind(&trace, PTL_PT_PSB);
	GIVES(&trace, 0, UINT64_MAX, LOST(0, 5), PACKET(5, 16, PSB));
}

static void bounds(void **state)
{
	struct ptl_trace trace = {.chunk = 100};

	(void)state;
	for (unsigned i = 0; i < 4; i++) {
		put_kind(&trace, PTL_PT_PSB);
		put_kind(&trace, PTL_PT_PSBEND);
	}
	GIVES(&trace, 18, 54, PACKET(18, 16, PSB), PACKET(34, 2, PSBEND), PACKET(36, 16, PSB), PACKET(52, 2, PSBEND));
}

/* A bound inside a packet: bytes behind the bound are not read. */
static void bound_within_damage(void **state)
{
	struct ptl_trace trace = {.chunk = 100};

	(void)state;
	put_kind(&trace, PTL_PT_PSB);
	for (unsigned i = 0; i < 40; i++)
		put_bytes(&trace, "\x05", 1);
	put_kind(&trace, PTL_PT_PSB);
	GIVES(&trace, 0, 30, PACKET(0, 16, PSB), SKIPPED(16, 14, "unknown opcode 05"));
}

/* The TIP's address ends with the bytes of a PSB. */
static void psb_behind_its_own_bytes(void **state)
{
	struct ptl_trace trace = {.chunk = 7};

	(void)state;
	put_bytes(&trace, "\x2d\x02\x82", 3);
	put_kind(&trace, PTL_PT_PSB);
	put_kind(&trace, PTL_PT_PSBEND);
	GIVES(&trace, 0, UINT64_MAX, SKIPPED(0, 3, "before the first PSB"), PACKET(3, 16, PSB), PACKET(19, 2, PSBEND));
}

/* A truncated last packet of a capture, followed by the next capture's PSB: the packet may consume bytes of the PSB. */
static void psb_within_a_cut_packet(void **state)
{
	static const struct {
		const char *bytes;
		size_t size, left;
		const char *cause;
	} cuts[] = {
		{"\xcd\1\2\3\4\5\6\7\x08", 9, 8, "the data ends within TIP"},
		{"\x19\1\2\3\4\5\6\7", 8, 7, "the data ends within TSC"},
		{"\x59\1", 2, 1, "the data ends within MTC"},
		{"\x02\xa3\1\2\3\4\5\6", 8, 5, "the data ends within TNT-64"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cuts) / sizeof(cuts[0]); i++)
		for (size_t size = cuts[i].size - 1; size >= cuts[i].left; size--)
			for (size_t chunk = 1; chunk < 40; chunk += 6) {
				struct ptl_trace trace = {.chunk = chunk};

				put_kind(&trace, PTL_PT_PSB);
				put_bytes(&trace, cuts[i].bytes, size);
				put_kind(&trace, PTL_PT_PSB);
				put_kind(&trace, PTL_PT_PSBEND);
				GIVES(&trace, 0, UINT64_MAX, PACKET(0, 16, PSB), SKIPPED(16, size, cuts[i].cause),
				      PACKET(16 + size, 16, PSB), PACKET(32 + size, 2, PSBEND));
			}
}

/* Complete packets that end like a PSB or begin the run of its bytes; and a PSB behind a PSB. */
static void psb_behind_what_looks_like_one(void **state)
{
	struct ptl_trace trace = {.chunk = 7};

	(void)state;
	put_kind(&trace, PTL_PT_PSB);
	put_tip(&trace, 0x8202820282028202);
	put_kind(&trace, PTL_PT_PSB);
	put_kind(&trace, PTL_PT_PSB);
	put_tip(&trace, 0x0282028202820282);
	put_kind(&trace, PTL_PT_PSBEND);
	GIVES(&trace, 0, UINT64_MAX, PACKET(0, 16, PSB), PACKET(16, 9, TIP), PACKET(25, 16, PSB), PACKET(41, 16, PSB),
	      PACKET(57, 9, TIP), PACKET(66, 2, PSBEND));
}

#define DAMAGED(offset, size, cause)                                                                                   \
	{                                                                                                              \
		FLOW_PACKET_ITEM_DAMAGED, offset, size, 0, cause                                                       \
	}

static void errata_of_packets(void **state)
{
	struct ptl_trace trace = {.chunk = 7};

	(void)state;
	errata = (struct flow_errata){.skd007 = true, .skz84 = true};
	put_kind(&trace, PTL_PT_PSB);
	put_bytes(&trace, "\x07\x02\xf3", 3);
	put_bytes(&trace, "\x02\x73\x11\x22\0\0\xff\x99", 8);
	put_kind(&trace, PTL_PT_PAD);
	GIVES(&trace, 0, UINT64_MAX, PACKET(0, 16, PSB), DAMAGED(16, 1, "CYC that OVF overwrites (erratum SKD007)"),
	      PACKET(17, 2, OVF), DAMAGED(19, 8, "wrong TMA (erratum SKZ84)"), PACKET(27, 1, PAD));
	errata = (struct flow_errata){0};
}

static void a_failing_read_ends_the_walk(void **state)
{
	struct ptl_trace trace = {.failure = PTL_SYSTEM};
	struct flow_packet_item item;
	struct flow_packet_walk walk;

	(void)state;
	assert_int_equal(flow_packet_walk_start(&walk, &trace, STREAM, 0, UINT64_MAX, errata), 0);
	assert_int_equal(flow_packet_walk_next(&walk, &item), PTL_SYSTEM);
	flow_packet_walk_free(&walk);
}

/*
 * A stream of several pieces with damage: the items cover the stream without gap or overlap, each packet is correct,
 * and the size of chunks makes no difference.
 */
static void large_stream(void **state)
{
	struct pt_random random = pt_random(9);
	struct ptl_trace trace = {0};
	struct ptl_pt_packet packet;
	uint64_t counts[2][3] = {{0}};

	(void)state;
	put_kind(&trace, PTL_PT_PSB);
	while (trace.bytes.size < 1500000) {
		unsigned what = (unsigned)pt_random_below(&random, 4000);

		if (what == 0)
			put_bytes(&trace, "\x05", 1);
		else if (what < 8)
			put_kind(&trace, PTL_PT_PSB);
		do
			pt_random_packet(&random, &packet);
		while (packet.kind == PTL_PT_BIP || packet.kind == PTL_PT_BBP);
		put(&trace, &packet);
	}
	for (unsigned round = 0; round < 2; round++) {
		struct flow_packet_walk walk;
		struct flow_packet_item item;
		uint64_t at = 0;

		trace.chunk = round ? 4099 : SIZE_MAX;
		assert_int_equal(flow_packet_walk_start(&walk, &trace, STREAM, 0, UINT64_MAX, errata), 0);
		while (flow_packet_walk_next(&walk, &item) == 1) {
			assert_int_equal(item.offset, at);
			at += item.size;
			counts[round][item.type]++;
			if (item.type == FLOW_PACKET_ITEM_PACKET)
				assert_memory_equal(item.bytes, trace.bytes.data + item.offset, item.size);
		}
		assert_int_equal(at, trace.bytes.size);
		flow_packet_walk_free(&walk);
	}
	assert_memory_equal(counts[0], counts[1], sizeof(counts[0]));
	assert_true(counts[0][FLOW_PACKET_ITEM_SKIPPED] > 10);
	assert_true(counts[0][FLOW_PACKET_ITEM_PACKET] > 100000);
	common_bytes_free(&trace.bytes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(empty_stream),
		cmocka_unit_test(no_psb),
		cmocka_unit_test(bytes_before_the_first_psb),
		cmocka_unit_test(damage_up_to_the_next_psb),
		cmocka_unit_test(hole),
		cmocka_unit_test(hole_at_the_start),
		cmocka_unit_test(bounds),
		cmocka_unit_test(bound_within_damage),
		cmocka_unit_test(psb_behind_its_own_bytes),
		cmocka_unit_test(psb_within_a_cut_packet),
		cmocka_unit_test(psb_behind_what_looks_like_one),
		cmocka_unit_test(errata_of_packets),
		cmocka_unit_test(a_failing_read_ends_the_walk),
		cmocka_unit_test(large_stream),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
