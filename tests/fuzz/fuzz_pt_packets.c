/* SPDX-License-Identifier: BSD-2-Clause */
/* Fuzzes the packet decoder: an accepted packet can be encoded again, a refused packet has a reason. */
#include <stdlib.h>
#include <string.h>

#include "dump/print/packet_text.h"
#include "format/pt/fields.h"
#include "format/pt/packet.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool condition)
{
	if (!condition)
		abort();
}

/* Decoding drops reserved bits; all other bytes of the packet must return. */
static void check_accepted(const struct ptl_pt_packet *packet, struct ptl_pt_context context)
{
	uint8_t bytes[PTL_PT_PACKET_MAX];
	struct ptl_pt_packet again;
	int size = ptl_pt_encode(packet, bytes, sizeof(bytes));

	require(!format_pt_packet_invalid(packet));
	/* A CYC may be longer than necessary. */
	require(size == packet->size || (packet->kind == PTL_PT_CYC && size < packet->size));
	require(ptl_pt_decode(bytes, (size_t)size, &context, &again) == size);
	require(again.kind == packet->kind);
	for (const struct format_pt_field *field = format_pt_fields(packet->kind); field->name; field++)
		require(format_pt_field_get(packet, field) == format_pt_field_get(&again, field));
}

static void check_printed(const struct ptl_pt_packet *packet, uint64_t last_ip)
{
	char text[PACKET_TEXT_SIZE];
	size_t length = dump_packet_text(packet, last_ip, text);

	require(length < PACKET_TEXT_SIZE - 1 && strlen(text) == length);
}

/* Decodes every packet from the start; after a refusal, from the next PSB. */
static void walk(const uint8_t *data, size_t size)
{
	struct ptl_pt_context context = {0};
	uint64_t last_ip = 0;
	size_t at = 0;

	while (at < size) {
		struct ptl_pt_context before = context;
		struct ptl_pt_packet packet;
		int status = ptl_pt_decode(data + at, size - at, &context, &packet);
		uint64_t ip;

		if (status <= 0) {
			char text[100] = "";

			ptl_pt_explain(data + at, size - at, status, text, sizeof(text));
			require(status < 0 && text[0]);
			at = ptl_pt_find_psb(data, size, at + 1);
			context = (struct ptl_pt_context){0};
			last_ip = 0;
			continue;
		}
		require((size_t)status <= size - at && status == packet.size);
		check_accepted(&packet, before);
		check_printed(&packet, last_ip);
		ptl_pt_ip_resolve(&packet, &last_ip, &ip);
		at += (size_t)status;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	/* A copy of the exact size shows reads beyond the end. */
	uint8_t *copy = calloc(1, size + !size);

	require(copy);
	if (size)
		memcpy(copy, data, size);
	walk(copy, size);
	for (size_t at = ptl_pt_find_psb(copy, size, 0); at < size; at = ptl_pt_find_psb(copy, size, at + 1))
		require(size - at >= PTL_PT_PSB_SIZE);
	free(copy);
	return 0;
}
