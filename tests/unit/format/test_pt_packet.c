/* SPDX-License-Identifier: BSD-2-Clause */
/* The packet codec by itself: table, round trips, ranges, blocks, IP compression, PSBs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "format/pt/encode.h"
#include "tests/unit/pt_random.h"

/* Returns the table's kind for three bytes. */
static unsigned table_kind(uint32_t prefix)
{
#define X(kind, name, match, mask, least, most)                                                                        \
	if ((prefix & (mask)) == (match) && (PTL_PT_##kind != PTL_PT_TNT_8 || (prefix & 0xff) != FORMAT_PT_EXTENDED))  \
		return PTL_PT_##kind;
	FORMAT_PT_PACKET_TABLE(X)
#undef X
	return PTL_PT_NONE;
}

/* The decoder's switches match the table, and packets have the table's sizes. */
static void decoder_follows_table(void **state)
{
	(void)state;
	for (uint32_t prefix = 0; prefix < 1u << 24; prefix++) {
		uint8_t data[PTL_PT_PACKET_MAX] = {(uint8_t)prefix, (uint8_t)(prefix >> 8), (uint8_t)(prefix >> 16), 4};
		struct ptl_pt_context context = {0};
		struct ptl_pt_packet packet;
		const struct format_pt_layout *layout;
		unsigned kind;
		int size;

		/* The third byte matters only after 02 C3. */
		if (prefix >> 16 && (prefix & 0xffff) != 0xc302)
			continue;
		kind = table_kind(prefix);
		layout = &format_pt_layouts[kind];
		size = ptl_pt_decode(data, sizeof(data), &context, &packet);
		if (size > 0) {
			assert_int_equal(packet.kind, kind);
			assert_in_range(size, layout->least, layout->most);
		} else if (size == PTL_UNSUPPORTED) {
			assert_int_equal(kind, PTL_PT_NONE);
		} else {
			/* Reserved values: IPBytes, a MODE leaf, a payload size, or an effect of the zeros. */
			assert_int_equal(size, PTL_CORRUPT);
			assert_true(kind != PTL_PT_NONE || (prefix & 0xff) == 0x99);
		}
	}
}

static void every_kind_round_trips(void **state)
{
	struct pt_random random = pt_random(4);

	(void)state;
	for (unsigned i = 0; i < 100000; i++) {
		uint8_t data[PTL_PT_PACKET_MAX], again[PTL_PT_PACKET_MAX];
		struct ptl_pt_packet packet, back;
		struct ptl_pt_context context;
		int size;

		pt_random_packet(&random, &packet);
		context.bip_bytes = packet.kind == PTL_PT_BIP ? packet.bip.bytes : 0;
		size = ptl_pt_encode(&packet, data, sizeof(data));
		assert_in_range(size, format_pt_layouts[packet.kind].least, format_pt_layouts[packet.kind].most);
		assert_int_equal(ptl_pt_decode(data, (size_t)size, &context, &back), size);
		assert_int_equal(back.kind, packet.kind);
		assert_int_equal(back.size, size);
		assert_null(format_pt_packet_invalid(&back));
		assert_int_equal(ptl_pt_encode(&back, again, sizeof(again)), size);
		assert_memory_equal(again, data, (size_t)size);
		for (int cut = 0; cut < size; cut++) {
			context.bip_bytes = packet.kind == PTL_PT_BIP ? packet.bip.bytes : 0;
			assert_int_equal(ptl_pt_decode(data, (size_t)cut, &context, &back), PTL_TRUNCATED);
			assert_int_equal(ptl_pt_encode(&packet, again, (size_t)cut), PTL_NO_MEMORY);
		}
	}
}

static void refuse_field(struct ptl_pt_packet packet, const struct format_pt_field *field, uint64_t value)
{
	uint8_t data[PTL_PT_PACKET_MAX] = {0xee};

	format_pt_field_set(&packet, field, value);
	if (ptl_pt_encode(&packet, data, sizeof(data)) != PTL_MISUSE)
		fail_msg("%s.%s = %#llx was encoded", ptl_pt_kind_name(packet.kind), field->name,
			 (unsigned long long)value);
	assert_int_equal(data[0], 0xee);
}

static void fields_out_of_range_are_refused(void **state)
{
	struct pt_random random = pt_random(5);
	struct ptl_pt_packet packet = {0};
	uint8_t data[PTL_PT_PACKET_MAX];

	(void)state;
	assert_int_equal(ptl_pt_encode(&packet, data, sizeof(data)), PTL_MISUSE);
	packet.kind = PTL_PT_KINDS;
	assert_int_equal(ptl_pt_encode(&packet, data, sizeof(data)), PTL_MISUSE);
	for (unsigned kind = 1; kind < PTL_PT_KINDS; kind++) {
		pt_random_packet_of(&random, kind, &packet);
		for (const struct format_pt_field *field = format_pt_fields(kind); field->name; field++) {
			if (field->bits < 8 * field->width)
				refuse_field(packet, field, 1ull << field->bits);
			if (field->zeros)
				refuse_field(packet, field, 1ull << (field->zeros - 1));
			if (field->style == FORMAT_PT_FIELD_BYTES)
				refuse_field(packet, field, 6);
			if (field->style == FORMAT_PT_FIELD_FORM) {
				refuse_field(packet, field, 5);
				refuse_field(packet, field, 7);
			}
			if (field->style == FORMAT_PT_FIELD_BRANCHES)
				refuse_field(packet, field, 0);
		}
	}
}

static void fields_are_checked_together(void **state)
{
	const struct ptl_pt_packet wrong[] = {
		{.kind = PTL_PT_TNT_8, .tnt = {.count = 7}},
		{.kind = PTL_PT_TNT_64, .tnt = {.count = 48}},
		{.kind = PTL_PT_TNT_8, .tnt = {.count = 2, .bits = 4}},
		{.kind = PTL_PT_TIP, .ip = {.form = PTL_PT_IP_NONE, .payload = 1}},
		{.kind = PTL_PT_FUP, .ip = {.form = PTL_PT_IP_UPDATE_16, .payload = 0x10000}},
		{.kind = PTL_PT_TIP_PGE, .ip = {.form = PTL_PT_IP_SIGN_48, .payload = 1ull << 48}},
		{.kind = PTL_PT_PTWRITE, .ptwrite = {.bytes = 4, .payload = 1ull << 32}},
		{.kind = PTL_PT_BIP, .bip = {.bytes = 4, .payload = 1ull << 32}},
		{.kind = PTL_PT_TRIG, .trig = {.count = 1}},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		uint8_t data[PTL_PT_PACKET_MAX];

		assert_int_equal(ptl_pt_encode(&wrong[i], data, sizeof(data)), PTL_MISUSE);
	}
}

/* The inline encoders promise to stay within PTL_PT_PACKET_MAX bytes, whatever the arguments. */
static void encoders_stay_within_their_room(void **state)
{
	uint8_t data[PTL_PT_PACKET_MAX + 1];
	uint64_t last_ip = 0;

	(void)state;
	memset(data, 0xee, sizeof(data));
	assert_in_range(format_pt_put_cyc(data, ~0ull), 1, PTL_PT_PACKET_MAX);
	format_pt_put_psb(data);
	format_pt_put_tip(data, &last_ip, ~0ull << 47 ^ 1ull << 60);
	format_pt_put_mnt(data, ~0ull);
	format_pt_put_evd(data, ~0u, ~0ull);
	format_pt_put_ptwrite(data, ~0ull, 8, true);
	assert_int_equal(data[PTL_PT_PACKET_MAX], 0xee);
}

/* BBP opens a block, in which 04 is a BIP rather than a TNT. Blocks end as in perf. */
static void blocks(void **state)
{
	static const uint8_t data[] = {
		0x02, 0x63, 0x81,                         /* BBP, 4 bytes */
		0x0c, 0x11, 0x22, 0x33, 0x44,             /* BIP 1 */
		0x00,                                     /* PAD, which does not end the block */
		0x14, 0x55, 0x66, 0x77, 0x88,             /* BIP 2 */
		0x02, 0x63, 0x04,                         /* BBP, 8 bytes: the next block */
		0x04, 1,    2,    3,    4,    5, 6, 7, 8, /* BIP 0 */
		0x02, 0xb3,                               /* BEP with IP */
		0x04,                                     /* TNT */
		0x02, 0x63, 0x81,                         /* BBP */
		0x02, 0xf3,                               /* OVF, which ends the block */
		0x0c,                                     /* TNT */
	};
	static const uint8_t kinds[] = {
		PTL_PT_BBP, PTL_PT_BIP,   PTL_PT_PAD, PTL_PT_BIP, PTL_PT_BBP,   PTL_PT_BIP,
		PTL_PT_BEP, PTL_PT_TNT_8, PTL_PT_BBP, PTL_PT_OVF, PTL_PT_TNT_8,
	};
	struct ptl_pt_context context = {0};
	struct ptl_pt_packet packet;
	size_t at = 0;

	(void)state;
	for (size_t i = 0; i < sizeof(kinds); i++) {
		int size = ptl_pt_decode(data + at, sizeof(data) - at, &context, &packet);

		assert_true(size > 0);
		assert_int_equal(packet.kind, kinds[i]);
		at += (size_t)size;
		if (i == 3) {
			assert_int_equal(packet.bip.id, 2);
			assert_int_equal(packet.bip.payload, 0x88776655);
		}
		if (i == 5)
			assert_true(packet.bip.payload == 0x0807060504030201);
		if (i == 4) {
			char text[64];
			int cut = ptl_pt_decode(data + at, 8, &context, &packet);

			assert_int_equal(cut, PTL_TRUNCATED);
			ptl_pt_explain(data + at, 8, cut, text, sizeof(text));
			assert_string_equal(text, "the data ends within BIP");
		}
	}
	assert_int_equal(at, sizeof(data));
}

static void refusals_are_explained(void **state)
{
	static const struct {
		uint8_t data[PTL_PT_PACKET_MAX];
		size_t size;
		int status;
		const char *text;
	} cases[] = {
		{{0}, 0, PTL_TRUNCATED, "the data ends within a packet"},
		{{0x02}, 1, PTL_TRUNCATED, "the data ends within a packet"},
		{{0x02, 0x82, 0x02}, 3, PTL_TRUNCATED, "the data ends within PSB"},
		{{0x6d, 1}, 2, PTL_TRUNCATED, "the data ends within TIP"},
		{{0x07}, 1, PTL_TRUNCATED, "the data ends within CYC"},
		{{0x99}, 1, PTL_TRUNCATED, "the data ends within a packet"},
		{{0x02, 0x82, 0x02, 0x83}, 16, PTL_CORRUPT, "broken PSB: its 16 bytes are not 02 82 throughout"},
		{{0x02, 0xa3, 0x01}, 8, PTL_CORRUPT, "TNT-64 without a branch"},
		{{0x02, 0x73, 0, 0, 1}, 7, PTL_CORRUPT, "reserved bits are set in TMA"},
		{{0x02, 0x73, 0, 0, 0, 0, 2}, 7, PTL_CORRUPT, "reserved bits are set in TMA"},
		{{0x07, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0}, 11, PTL_CORRUPT, "CYC of more than 9 bytes"},
		{{0x02, 0x52}, 2, PTL_CORRUPT, "reserved payload size 2 in PTW"},
		{{0xad}, 1, PTL_CORRUPT, "reserved IPBytes 5 in TIP"},
		{{0xfd}, 1, PTL_CORRUPT, "reserved IPBytes 7 in FUP"},
		{{0x99, 0x40}, 2, PTL_CORRUPT, "reserved leaf 2 in MODE"},
		{{0x05}, 1, PTL_UNSUPPORTED, "unknown opcode 05"},
		{{0xc9}, 1, PTL_UNSUPPORTED, "unknown opcode C9"},
		{{0x02, 0x04}, 2, PTL_UNSUPPORTED, "unknown opcode 02 04"},
		{{0x02, 0xc3, 0x01}, 3, PTL_UNSUPPORTED, "unknown opcode 02 C3 01"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct ptl_pt_context context = {0};
		struct ptl_pt_packet packet;
		char text[100];

		assert_int_equal(ptl_pt_decode(cases[i].data, cases[i].size, &context, &packet), cases[i].status);
		ptl_pt_explain(cases[i].data, cases[i].size, cases[i].status, text, sizeof(text));
		assert_string_equal(text, cases[i].text);
	}
}

static void addresses_are_compressed(void **state)
{
	static const struct {
		uint64_t last, ip;
		unsigned form;
	} cases[] = {
		{0, 0, PTL_PT_IP_SIGN_48},
		{0, 0x401000, PTL_PT_IP_SIGN_48},
		{1, 0, PTL_PT_IP_UPDATE_16},
		{1, 0xffff, PTL_PT_IP_UPDATE_16},
		{1, 0x10000, PTL_PT_IP_UPDATE_32},
		{1, 0x401000, PTL_PT_IP_UPDATE_32},
		{0x7ffff7fc1234, 0x7ffff7fc0000, PTL_PT_IP_UPDATE_16},
		{0x7ffff7fc1234, 0x7fff00000000, PTL_PT_IP_UPDATE_32},
		{0x401000, 0x7ffff7fc1234, PTL_PT_IP_SIGN_48},
		{0x7ffff7fc1234, 0xffffffff81000000, PTL_PT_IP_SIGN_48},
		{0, 0x00ff7ffff7fc1234, PTL_PT_IP_FULL},
		{0x00ff000000000000, 0x00ff7ffff7fc1234, PTL_PT_IP_UPDATE_48},
		{0, 1ull << 47, PTL_PT_IP_UPDATE_48},
	};
	struct pt_random random = pt_random(6);
	uint64_t put_last = 0, get_last = 0;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		assert_int_equal(format_pt_ip_compress(cases[i].last, cases[i].ip), cases[i].form);
	for (unsigned i = 0; i < 20000; i++) {
		uint8_t data[PTL_PT_PACKET_MAX];
		struct ptl_pt_context context = {0};
		struct ptl_pt_packet packet;
		/* Addresses near and far from the last address, canonical and not. */
		uint64_t ip = put_last ^ pt_random_bits(&random, 64), resolved = 1;
		size_t size = format_pt_put_tip(data, &put_last, ip);

		assert_int_equal(ptl_pt_decode(data, size, &context, &packet), size);
		assert_true(ptl_pt_ip_resolve(&packet, &get_last, &resolved));
		assert_true(resolved == ip && get_last == ip);
		assert_int_equal(format_pt_put_tip_pgd_no_ip(data), 1);
		assert_int_equal(ptl_pt_decode(data, 1, &context, &packet), 1);
		assert_false(ptl_pt_ip_resolve(&packet, &get_last, &resolved));
		assert_true(get_last == ip);
	}
	assert_false(ptl_pt_ip_resolve(&(struct ptl_pt_packet){.kind = PTL_PT_PSB}, &get_last, &put_last));
	assert_true(get_last == 0);
}

static size_t find_psb_plainly(const uint8_t *data, size_t size, size_t from)
{
	uint8_t psb[PTL_PT_PACKET_MAX];

	format_pt_put_psb(psb);
	while (from + PTL_PT_PSB_SIZE <= size && memcmp(data + from, psb, sizeof(psb)))
		from++;
	if (from + PTL_PT_PSB_SIZE > size)
		return size;
	/* the last PSB of a longer run */
	while (from + PTL_PT_PSB_SIZE + 2 <= size && !memcmp(data + from + 2, psb, sizeof(psb)))
		from += 2;
	return from;
}

/* Data made mostly of PSBs and their parts, shifted and broken. */
static void psbs_are_found(void **state)
{
	struct pt_random random = pt_random(7);
	unsigned found = 0;

	(void)state;
	for (unsigned round = 0; round < 4000; round++) {
		uint8_t data[160];
		size_t size = pt_random_below(&random, sizeof(data) + 1);
		unsigned breaks = (unsigned)pt_random_below(&random, 12);
		unsigned phase = (unsigned)pt_random_below(&random, 2);

		for (size_t i = 0; i < sizeof(data); i++)
			data[i] = (i + phase) & 1 ? 0x82 : 0x02;
		for (unsigned i = 0; i < breaks; i++) {
			size_t at = pt_random_below(&random, sizeof(data));

			if (pt_random_below(&random, 2))
				data[at] = (uint8_t)pt_random_next(&random);
			else /* changes the phase of the following bytes */
				memmove(data + at, data + at + 1, sizeof(data) - at - 1);
		}
		for (size_t from = 0; from <= size; from++) {
			size_t want = find_psb_plainly(data, size, from);

			assert_int_equal(ptl_pt_find_psb(data, size, from), want);
			found += want < size;
		}
		assert_int_equal(ptl_pt_find_psb(data, size, size + 1), size);
	}
	assert_true(found > 1000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(decoder_follows_table),
		cmocka_unit_test(every_kind_round_trips),
		cmocka_unit_test(fields_out_of_range_are_refused),
		cmocka_unit_test(fields_are_checked_together),
		cmocka_unit_test(encoders_stay_within_their_room),
		cmocka_unit_test(blocks),
		cmocka_unit_test(refusals_are_explained),
		cmocka_unit_test(addresses_are_compressed),
		cmocka_unit_test(psbs_are_found),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
