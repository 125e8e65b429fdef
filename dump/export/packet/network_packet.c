/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads packet events of Windows by the field names of their manifests. */
#include "dump/export/packet/network_packet.h"

#include <string.h>

#include "common/bytes.h"
#include "common/text/guid.h"

static const struct ptl_guid ndis = PTL_GUID(0x2ed6006e, 0x4729, 0x4609, 0xb423, 0x3ee7bcd678ef);
static const struct ptl_guid pktmon = PTL_GUID(0x4d4f80d9, 0xc8bd, 0x4d73, 0xbb5b, 0x19c90402c5ac);

/* Keywords of NDIS-PacketCapture. */
#define KEYWORD_WAN 0x200u
#define KEYWORD_WIFI 0x10000u
#define KEYWORD_CUT 0x2000000u
#define KEYWORD_FIRST 0x40000000u
#define KEYWORD_LAST 0x80000000u
#define KEYWORD_SEND 0x100000000u
#define KEYWORD_RECEIVE 0x200000000u

/* ---- fields ---------------------------------------------------------------------------------------------- */

enum wanted {
	MINIPORT,
	LOWER,
	FRAGMENT,
	PORT,
	PORT_NAME,
	NIC_NAME,
	GROUP,
	NUMBER,
	APPEARANCE,
	DIRECTION,
	TYPE,
	COMPONENT,
	EDGE,
	DROP_REASON,
	DROP_LOCATION,
	ORIGINAL,
	PAYLOAD,
	ID,
	NAME,
	DESCRIPTION,
	WANTED
};

static const char *const names[WANTED] = {
	[MINIPORT] = "MiniportIfIndex",
	[LOWER] = "LowerIfIndex",
	[FRAGMENT] = "Fragment",
	[PORT] = "SourcePortId",
	[PORT_NAME] = "SourcePortName",
	[NIC_NAME] = "SourceNicName",
	[GROUP] = "PktGroupId",
	[NUMBER] = "PktNumber",
	[APPEARANCE] = "AppearanceCount",
	[DIRECTION] = "DirTag",
	[TYPE] = "PacketType",
	[COMPONENT] = "ComponentId",
	[EDGE] = "EdgeId",
	[DROP_REASON] = "DropReason",
	[DROP_LOCATION] = "DropLocation",
	[ORIGINAL] = "OriginalPayloadSize",
	[PAYLOAD] = "Payload",
	[ID] = "Id",
	[NAME] = "Name",
	[DESCRIPTION] = "Description",
};

struct fields {
	bool there[WANTED];
	uint64_t number[WANTED];
	const uint8_t *bytes[WANTED];
	size_t size[WANTED];
};

static bool is_number(uint8_t type)
{
	return type >= PTL_TYPE_U8 && type <= PTL_TYPE_I64;
}

static int see(void *context, const struct ptl_value *value)
{
	struct fields *fields = context;

	if (value->depth || value->index)
		return 0;
	for (size_t i = 0; i < WANTED; i++) {
		if (fields->there[i] || strcmp(names[i], value->field->name) != 0)
			continue;
		fields->there[i] = true;
		fields->number[i] = is_number(value->field->type) ? value->u : 0;
		fields->bytes[i] = value->bytes;
		fields->size[i] = value->bytes ? value->size : 0;
		break;
	}
	return 0;
}

/* ---- packet events --------------------------------------------------------------------------------------- */

static void read_ndis(const struct ptl_event *event, const struct fields *fields, struct dump_packet *packet)
{
	const uint64_t keyword = event->descriptor.keyword;

	packet->link = keyword & KEYWORD_WIFI  ? DUMP_LINK_WIFI
		       : keyword & KEYWORD_WAN ? DUMP_LINK_RAW_IP
					       : DUMP_LINK_ETHERNET;
	packet->interface = (uint32_t)fields->number[LOWER];
	packet->miniport = (uint32_t)fields->number[MINIPORT];
	packet->port = (uint32_t)fields->number[PORT];
	packet->data = fields->bytes[FRAGMENT];
	packet->size = fields->size[FRAGMENT];
	packet->first = keyword & KEYWORD_FIRST;
	packet->last = keyword & KEYWORD_LAST;
	packet->is_cut = keyword & KEYWORD_CUT;
	packet->direction = keyword & KEYWORD_SEND      ? DUMP_PACKET_OUT
			    : keyword & KEYWORD_RECEIVE ? DUMP_PACKET_IN
							: DUMP_PACKET_UNKNOWN;
	packet->name = fields->bytes[NIC_NAME];
	packet->name_size = fields->size[NIC_NAME];
	packet->description = fields->bytes[PORT_NAME];
	packet->description_size = fields->size[PORT_NAME];
}

static void read_pktmon(const struct fields *fields, struct dump_packet *packet)
{
	static const uint32_t links[] = {0, DUMP_LINK_ETHERNET, DUMP_LINK_WIFI, DUMP_LINK_RAW_IP};
	/* None, In, Out, Rx, Tx, Ingress, Egress */
	static const enum dump_packet_direction directions[] = {
		DUMP_PACKET_UNKNOWN, DUMP_PACKET_IN, DUMP_PACKET_OUT, DUMP_PACKET_IN,
		DUMP_PACKET_OUT,     DUMP_PACKET_IN, DUMP_PACKET_OUT,
	};
	const uint64_t type = fields->number[TYPE], direction = fields->number[DIRECTION];

	packet->link = type < sizeof(links) / sizeof(links[0]) ? links[type] : 0;
	packet->direction = direction < sizeof(directions) / sizeof(directions[0]) ? directions[direction]
										   : DUMP_PACKET_UNKNOWN;
	packet->interface = (uint32_t)fields->number[COMPONENT];
	packet->data = fields->bytes[PAYLOAD];
	packet->size = fields->size[PAYLOAD];
	packet->original = fields->number[ORIGINAL];
	packet->first = packet->last = true;
	packet->group = fields->number[GROUP];
	packet->number = (uint32_t)fields->number[NUMBER];
	packet->appearance = (uint32_t)fields->number[APPEARANCE];
	packet->edge = (uint32_t)fields->number[EDGE];
	packet->drop_reason = (uint32_t)fields->number[DROP_REASON];
	packet->drop_location = (uint32_t)fields->number[DROP_LOCATION];
}

static enum dump_packet_source source_of(const struct ptl_descriptor *descriptor)
{
	if (common_guid_equal(&descriptor->provider, &ndis))
		return descriptor->id == 1001   ? DUMP_PACKET_NDIS
		       : descriptor->id == 1003 ? DUMP_PACKET_SWITCH
						: DUMP_PACKET_NONE;
	if (common_guid_equal(&descriptor->provider, &pktmon))
		return descriptor->id == 160 || descriptor->id == 170 ? DUMP_PACKET_PKTMON
		       : descriptor->id == 20                         ? DUMP_PACKET_COMPONENT
								      : DUMP_PACKET_NONE;
	return DUMP_PACKET_NONE;
}

void dump_packet_read(const struct ptl_event *event, const struct ptl_schema *schema, struct dump_packet *packet)
{
	struct fields fields = {0};

	*packet = (struct dump_packet){.source = source_of(&event->descriptor)};
	if (packet->source == DUMP_PACKET_NONE)
		return;
	if (!schema || ptl_payload_decode(schema, event->payload, event->payload_size, see, &fields, NULL) < 0) {
		packet->source = packet->source == DUMP_PACKET_COMPONENT ? DUMP_PACKET_NONE : DUMP_PACKET_UNEXPLAINED;
		return;
	}
	if (packet->source == DUMP_PACKET_COMPONENT) {
		packet->interface = (uint32_t)fields.number[ID];
		packet->name = fields.bytes[NAME];
		packet->name_size = fields.size[NAME];
		packet->description = fields.bytes[DESCRIPTION];
		packet->description_size = fields.size[DESCRIPTION];
		return;
	}
	if (packet->source == DUMP_PACKET_PKTMON)
		read_pktmon(&fields, packet);
	else
		read_ndis(event, &fields, packet);
	packet->dropped = packet->source == DUMP_PACKET_PKTMON && event->descriptor.id == 170;
	if (!packet->data)
		packet->source = DUMP_PACKET_UNEXPLAINED;
}

/* ---- drop reasons ---------------------------------------------------------------------------------------- */

const char *dump_packet_drop_reason(uint32_t reason)
{
	static const struct {
		uint32_t reason;
		const char *words;
	} reasons[] = {
		{1, "invalid data"},
		{2, "invalid packet"},
		{3, "insufficient resources"},
		{4, "adapter not ready"},
		{5, "media disconnected"},
		{6, "not accepted"},
		{7, "device busy"},
		{8, "filtered"},
		{9, "filtered VLAN"},
		{10, "unauthorized VLAN"},
		{11, "unauthorized MAC"},
		{12, "failed security policy"},
		{13, "failed pVlan setting"},
		{14, "QoS"},
		{15, "IPsec"},
		{16, "spoofed MAC"},
		{17, "DHCP guard"},
		{18, "router guard"},
		{20, "virtual subnet does not match"},
		{23, "MTU mismatch"},
		{25, "invalid VLAN format"},
		{26, "invalid destination MAC"},
		{27, "invalid source MAC"},
		{30, "storm limit exceeded"},
		{33, "destination NIC disabled"},
		{35, "vSwitch data flow disabled"},
		{38, "adapter in low power state"},
		{101, "adapter paused"},
		{102, "adapter reset"},
		{103, "send aborted"},
		{104, "unsupported EtherType"},
		{201, "microport error"},
		{202, "VF not ready"},
		{203, "microport not ready"},
		{204, "VMBus error"},
	};

	for (size_t i = 0; i < sizeof(reasons) / sizeof(reasons[0]); i++)
		if (reasons[i].reason == reason)
			return reasons[i].words;
	return NULL;
}

/* ---- lengths --------------------------------------------------------------------------------------------- */

#define TYPE_IPV4 0x0800u
#define TYPE_IPV6 0x86ddu
#define TYPE_VLAN 0x8100u
#define TYPE_PROVIDER_VLAN 0x88a8u
#define IPV6_HEADER 40u

static unsigned load_be16(const uint8_t *at)
{
	return (unsigned)at[0] << 8 | at[1];
}

/* Returns the offset of the IP header; `size` without IP header. */
static size_t find_ip(const uint8_t *data, size_t size)
{
	size_t at = 12;

	while (at + 2 <= size && (load_be16(data + at) == TYPE_VLAN || load_be16(data + at) == TYPE_PROVIDER_VLAN))
		at += 4;
	if (at + 2 > size || (load_be16(data + at) != TYPE_IPV4 && load_be16(data + at) != TYPE_IPV6))
		return size;
	return at + 2;
}

size_t dump_packet_length(uint32_t link, const uint8_t *data, size_t size)
{
	const size_t at = link == DUMP_LINK_ETHERNET ? find_ip(data, size) : link == DUMP_LINK_RAW_IP ? 0 : size;
	size_t length = 0;

	if (size - at < 6)
		return size;
	if (data[at] >> 4 == 4)
		length = at + load_be16(data + at + 2);
	else if (data[at] >> 4 == 6)
		length = at + IPV6_HEADER + load_be16(data + at + 4);
	return length > size ? length : size;
}
