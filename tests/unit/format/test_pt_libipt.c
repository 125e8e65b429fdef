/* SPDX-License-Identifier: BSD-2-Clause */
/* Holds packet encoder and decoder against libipt: random packets, random bytes, real traces. */
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "common/file.h"
#include "format/pt/fields.h"
#include "format/pt/packet.h"
#include "tests/unit/pt_libipt.h"
#include "tests/unit/pt_random.h"

#define ROUNDS 20000

/* Encodes the packet by libipt. Returns the size, or a negative pt_error_code. */
static int libipt_encode(const struct ptl_pt_packet *packet, uint8_t bytes[PTL_PT_PACKET_MAX])
{
	struct pt_encoder *encoder;
	struct pt_packet theirs;
	struct pt_config config;
	int size;

	pt_config_init(&config);
	config.begin = bytes;
	config.end = bytes + PTL_PT_PACKET_MAX;
	encoder = pt_alloc_encoder(&config);
	assert_non_null(encoder);
	assert_true(pt_to_libipt(packet, &theirs));
	size = pt_enc_next(encoder, &theirs);
	pt_free_encoder(encoder);
	return size;
}

static void same_packet(const struct ptl_pt_packet *a, const struct ptl_pt_packet *b)
{
	assert_int_equal(a->kind, b->kind);
	for (const struct format_pt_field *field = format_pt_fields(a->kind); field->name; field++)
		if (format_pt_field_get(a, field) != format_pt_field_get(b, field))
			fail_msg("%s.%s differs", ptl_pt_kind_name(a->kind), field->name);
}

static void encode_like_libipt(void **state)
{
	struct pt_random random = pt_random(1);

	(void)state;
	for (unsigned i = 0; i < ROUNDS; i++) {
		uint8_t ours[PTL_PT_PACKET_MAX], theirs[PTL_PT_PACKET_MAX];
		struct ptl_pt_packet packet, back;
		struct ptl_pt_context context = {0};
		int size;

		pt_random_packet(&random, &packet);
		if (pt_libipt_type(packet.kind) == ppt_invalid)
			continue;
		/* Newer than libipt 2.0.5: EFLAGS.IF in MODE.Exec, and a fourth reason to wake. */
		if (packet.kind == PTL_PT_MODE_EXEC)
			packet.mode_exec.interrupt_flag = 0;
		if (packet.kind == PTL_PT_PWRX)
			packet.pwrx.wake &= 0xd;
		size = libipt_encode(&packet, theirs);
		assert_true(size > 0);
		assert_int_equal(ptl_pt_encode(&packet, ours, sizeof(ours)), size);
		assert_memory_equal(ours, theirs, (size_t)size);
		assert_int_equal(ptl_pt_decode(theirs, (size_t)size, &context, &back), size);
		assert_int_equal(back.size, size);
		same_packet(&back, &packet);
	}
}

/* Returns the minor version of libipt 2 that first knew the packet. */
static unsigned known_since(const uint8_t *data, size_t size)
{
	if (data[0] == FORMAT_PT_MATCH_TRIG)
		return 2;
	if (data[0] != FORMAT_PT_EXTENDED || size < 2)
		return 0;
	switch (data[1]) {
	case FORMAT_PT_MATCH_BBP >> 8:
	case FORMAT_PT_MATCH_BEP >> 8:
	case FORMAT_PT_MATCH_BEP >> 8 | FORMAT_PT_OPCODE_IP:
		return UINT_MAX;
	case FORMAT_PT_MATCH_CFE >> 8:
	case FORMAT_PT_MATCH_EVD >> 8:
		return 1;
	default:
		return 0;
	}
}

/* Compares both decoders on the same bytes. */
static void same_judgement(const uint8_t *data, size_t size)
{
	struct pt_packet_decoder *decoder = pt_libipt_decoder(data, size);
	struct ptl_pt_context context = {0};
	struct ptl_pt_packet ours;
	struct pt_packet theirs;
	unsigned since;
	int status, want;

	assert_non_null(decoder);
	want = pt_pkt_next(decoder, &theirs, sizeof(theirs));
	pt_pkt_free_decoder(decoder);
	status = ptl_pt_decode(data, size, &context, &ours);
	since = known_since(data, size);
	/* To an older library, the packet is a bad opcode, or the end comes first. */
	if (since > pt_library_version().minor) {
		assert_int_equal(want, -pte_bad_opc);
		assert_int_not_equal(status, PTL_UNSUPPORTED);
		return;
	}
	/* pt_same_as_libipt covers packets of libipt 2.0; for newer packets, sizes and failures are compared. */
	if (want < 0 ? !pt_same_failure(status, want)
		     : status != want || (!since && !pt_same_as_libipt(&ours, &theirs)))
		fail_msg("%02x %02x %02x %02x..., %zu bytes: libipt says %d, we say %d", data[0],
			 size > 1 ? data[1] : 0, size > 2 ? data[2] : 0, size > 3 ? data[3] : 0, size, want, status);
}

/* Every value of the first two bytes, followed by noise, zeros or ones, with every truncation. */
static void judge_like_libipt(void **state)
{
	struct pt_random random = pt_random(2);

	(void)state;
	for (unsigned first = 0; first < 65536; first++) {
		uint8_t data[PTL_PT_PACKET_MAX];

		/*
		 * The second byte matters only after an extended opcode or in MODE; otherwise one value of 16 is
		 * tested.
		 */
		if ((first & 0xff) != FORMAT_PT_EXTENDED && (first & 0xff) != 0x99 && (first >> 8 & 15) != 3)
			continue;
		for (unsigned fill = 0; fill < 3; fill++) {
			for (size_t i = 2; i < sizeof(data); i++)
				data[i] = fill == 0 ? 0 : fill == 1 ? 0xff : (uint8_t)pt_random_next(&random);
			data[0] = (uint8_t)first;
			data[1] = (uint8_t)(first >> 8);
			for (size_t size = 1; size <= sizeof(data); size++)
				same_judgement(data, size);
		}
	}
}

/* Long noise: packet by packet, going on at the next byte after a refusal. */
static void judge_noise_like_libipt(void **state)
{
	struct pt_random random = pt_random(3);
	uint8_t data[4096];

	(void)state;
	for (unsigned round = 0; round < 20; round++) {
		for (size_t i = 0; i < sizeof(data); i++) {
			uint64_t value = pt_random_next(&random);

			/* Bytes of extended opcodes and PSBs are more frequent than 1/256. */
			data[i] = value >> 8 & 3 ? (uint8_t)value : value >> 10 & 1 ? 0x02 : 0x82;
		}
		for (size_t at = 0; at < sizeof(data);) {
			struct ptl_pt_context context = {0};
			struct ptl_pt_packet packet;
			int size = ptl_pt_decode(data + at, sizeof(data) - at, &context, &packet);

			same_judgement(data + at, sizeof(data) - at);
			at += size > 0 ? (size_t)size : 1;
		}
	}
}

/* Compares every packet of a real trace. */
static size_t same_trace(const uint8_t *data, size_t size)
{
	struct pt_packet_decoder *decoder = pt_libipt_decoder(data, size);
	struct ptl_pt_context context = {0};
	size_t at = ptl_pt_find_psb(data, size, 0), packets = 0;

	assert_non_null(decoder);
	assert_int_equal(pt_pkt_sync_set(decoder, at), 0);
	while (at < size) {
		struct ptl_pt_packet ours;
		struct pt_packet theirs;
		uint64_t offset;
		int status = ptl_pt_decode(data + at, size - at, &context, &ours), want;

		assert_int_equal(pt_pkt_get_offset(decoder, &offset), 0);
		assert_int_equal(offset, at);
		want = pt_pkt_next(decoder, &theirs, sizeof(theirs));
		if (want < 0) {
			assert_true(pt_same_failure(status, want));
			break;
		}
		assert_int_equal(status, want);
		assert_true(pt_same_as_libipt(&ours, &theirs));
		at += (size_t)status;
		packets++;
	}
	pt_pkt_free_decoder(decoder);
	return packets;
}

static void decode_traces_like_libipt(void **state)
{
	static const char *const names[] = {"mruby", "foo"};
	const char *folder = getenv("PTL_SHARED_TRACES");

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		char path[4096];
		uint8_t *data;
		size_t size, packets;

		snprintf(path, sizeof(path), "%s/%s/trace.pt", folder ? folder : "", names[i]);
		if (common_read_file(path, 64 << 20, &data, &size) < 0) {
			print_message("skipped: no %s; PTL_SHARED_TRACES names the folder of real "
				      "traces\n",
				      path);
			skip();
		}
		packets = same_trace(data, size);
		print_message("%s: %zu packets\n", names[i], packets);
		assert_true(packets > size / PTL_PT_PACKET_MAX);
		free(data);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(encode_like_libipt),
		cmocka_unit_test(judge_like_libipt),
		cmocka_unit_test(judge_noise_like_libipt),
		cmocka_unit_test(decode_traces_like_libipt),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
