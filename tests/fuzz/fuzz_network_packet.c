/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Fuzzes events with network packets: reader, reassembly of fragments, and the writer of pcapng.
 * Input, repeated: u8 kind of event, u8 keywords, u8 CPU, u8 size of the payload, then the payload.
 */
#include <stdlib.h>

#include "dump/export/packet/network_packet.h"
#include "dump/export/packet/packet_join.h"
#include "dump/export/packet/pcapng.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct ptl_field ndis_fields[] = {
	{.name = "MiniportIfIndex", .type = PTL_TYPE_U32},
	{.name = "LowerIfIndex", .type = PTL_TYPE_U32},
	{.name = "FragmentSize", .type = PTL_TYPE_U32},
	{.name = "Fragment", .type = PTL_TYPE_BYTES_COUNTED},
};
/* Field types other than Windows uses for these names. */
static const struct ptl_field odd_fields[] = {
	{.name = "LowerIfIndex", .type = PTL_TYPE_UTF16},
	{.name = "Fragment", .type = PTL_TYPE_U64, .array = PTL_ARRAY_COUNTED},
	{.name = "Fragment", .type = PTL_TYPE_BYTES},
};
static const struct ptl_field pktmon_fields[] = {
	{.name = "PacketType", .type = PTL_TYPE_U16},          {.name = "DirTag", .type = PTL_TYPE_U16},
	{.name = "ComponentId", .type = PTL_TYPE_U16},         {.name = "DropReason", .type = PTL_TYPE_U32},
	{.name = "OriginalPayloadSize", .type = PTL_TYPE_U16}, {.name = "Payload", .type = PTL_TYPE_BYTES_COUNTED},
};
static const struct ptl_field component_fields[] = {
	{.name = "Id", .type = PTL_TYPE_U16},
	{.name = "Name", .type = PTL_TYPE_UTF16},
	{.name = "Description", .type = PTL_TYPE_UTF16},
};

static const struct kind {
	struct ptl_guid provider;
	uint16_t id;
	const struct ptl_field *fields;
	size_t count;
} kinds[] = {
	{PTL_GUID(0x2ed6006e, 0x4729, 0x4609, 0xb423, 0x3ee7bcd678ef), 1001, ndis_fields, 4},
	{PTL_GUID(0x2ed6006e, 0x4729, 0x4609, 0xb423, 0x3ee7bcd678ef), 1003, ndis_fields, 4},
	{PTL_GUID(0x2ed6006e, 0x4729, 0x4609, 0xb423, 0x3ee7bcd678ef), 1001, odd_fields, 3},
	{PTL_GUID(0x4d4f80d9, 0xc8bd, 0x4d73, 0xbb5b, 0x19c90402c5ac), 160, pktmon_fields, 6},
	{PTL_GUID(0x4d4f80d9, 0xc8bd, 0x4d73, 0xbb5b, 0x19c90402c5ac), 170, pktmon_fields, 6},
	{PTL_GUID(0x4d4f80d9, 0xc8bd, 0x4d73, 0xbb5b, 0x19c90402c5ac), 20, component_fields, 3},
};

static void need(bool holds)
{
	if (!holds)
		abort();
}

static void write_packet(struct ptl_bytes *out, const struct dump_packet *packet)
{
	const struct dump_pcapng_packet block = {
		.data = packet->data,
		.size = (uint32_t)packet->size,
		.original = (uint32_t)packet->original,
		.direction = packet->direction,
		.comment = "c",
	};

	need(packet->size <= DUMP_PACKET_MAX && packet->original >= packet->size);
	need(dump_packet_length(packet->link, packet->data, packet->size) >= packet->size);
	out->size = 0;
	dump_pcapng_packet(out, &block);
	need(out->size % 4 == 0 && common_load32(out->data + 4) == out->size &&
	     common_load32(out->data + out->size - 4) == out->size);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct dump_packet_join *join = calloc(1, sizeof(*join));
	struct common_cursor in = common_cursor(data, size);
	struct ptl_bytes out = {0};

	need(join);
	while (common_cursor_left(&in)) {
		const struct kind *kind = &kinds[common_read8(&in) % (sizeof(kinds) / sizeof(kinds[0]))];
		const struct ptl_schema schema = {.fields = kind->fields, .field_count = kind->count};
		struct ptl_event event = {.descriptor = {.provider = kind->provider, .id = kind->id}};
		const uint8_t keywords = common_read8(&in);
		const uint32_t cpu = common_read8(&in);
		size_t bytes = common_read8(&in);
		struct dump_packet packet;
		bool whole;

		if (bytes > common_cursor_left(&in))
			bytes = common_cursor_left(&in);
		/* PacketStart and PacketEnd, directions, and the kinds of links. */
		event.descriptor.keyword = (uint64_t)(keywords & 15) << 30 | (uint64_t)(keywords >> 4 & 1) << 16 |
					   (uint64_t)(keywords >> 5 & 1) << 9;
		event.payload = common_read_bytes(&in, bytes);
		event.payload_size = bytes;
		dump_packet_read(&event, keywords & 0x80 ? NULL : &schema, &packet);
		if (packet.source != DUMP_PACKET_NDIS && packet.source != DUMP_PACKET_SWITCH &&
		    packet.source != DUMP_PACKET_PKTMON)
			continue;
		need(dump_packet_join_add(join, cpu, &packet, &whole) == 0);
		if (whole)
			write_packet(&out, &packet);
	}
	dump_packet_join_end(join);
	dump_packet_join_free(join);
	free(join);
	common_bytes_free(&out);
	return 0;
}
