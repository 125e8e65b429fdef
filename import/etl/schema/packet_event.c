/* SPDX-License-Identifier: BSD-2-Clause */
/* The table of events with network packets. Only version 0 is known. docs/etl.md names the sources. */
#include "import/etl/schema/packet_event.h"

#include "common/error.h"
#include "common/text/guid.h"
#include "import/etl/schema/field_text.h"

enum { NDIS, PKTMON };

static const struct {
	struct ptl_guid guid;
	const char *name;
} providers[] = {
	[NDIS] = {PTL_GUID(0x2ed6006e, 0x4729, 0x4609, 0xb423, 0x3ee7bcd678ef), "Microsoft-Windows-NDIS-PacketCapture"},
	[PKTMON] = {PTL_GUID(0x4d4f80d9, 0xc8bd, 0x4d73, 0xbb5b, 0x19c90402c5ac), "Microsoft-Windows-PktMon"},
};

#define INTERFACES "MiniportIfIndex:u4 LowerIfIndex:u4 "
#define APPEARANCE                                                                                                     \
	"PktGroupId:u8 PktNumber:u2 AppearanceCount:u2 DirTag:u2 PacketType:u2 ComponentId:u2 EdgeId:u2 FilterId:u2 "  \
	"DropReason:u4 DropLocation:x4 "
#define PAYLOAD "OriginalPayloadSize:u2 LoggedPayloadSize:u2 Payload:b[LoggedPayloadSize"

static const struct row {
	uint8_t provider;
	uint16_t id;
	const char *name, *fields;
} rows[] = {
	{NDIS, 1001, "PacketFragment", INTERFACES "FragmentSize:u4 Fragment:b[FragmentSize"},
	{NDIS, 1002, "PacketMetadata", INTERFACES "MetadataSize:u4 Metadata:b[MetadataSize"},
	{NDIS, 1014, "Attached", INTERFACES "MediaType:u4 ReferenceContext:u4"},
	{NDIS, 1015, "Detached", INTERFACES "MediaType:u4 ReferenceContext:u4"},
	{PKTMON, 20, "ComponentInfo", "Id:u2 Type:u2 Name:w Description:w"},
	{PKTMON, 30, "ComponentNumber", "ComponentId:u2 Type:u2 Value:u4"},
	{PKTMON, 40, "ComponentGuid", "ComponentId:u2 Type:u2 Value:g"},
	{PKTMON, 160, "FramePayload", APPEARANCE PAYLOAD},
	{PKTMON, 170, "FrameDropPayload", APPEARANCE PAYLOAD},
};

static int fill_packet_schema(struct etl_schema *schema, const struct row *row, const struct ptl_descriptor *descriptor)
{
	struct ptl_schema *ptl = &schema->ptl;
	int status = etl_field_text(schema, row->fields);

	if (!status)
		status = etl_schema_finish(schema);
	ptl->provider = descriptor->provider;
	ptl->id = descriptor->id;
	ptl->version = descriptor->version;
	ptl->opcode = descriptor->opcode;
	ptl->task = descriptor->task;
	ptl->provider_name = providers[row->provider].name;
	ptl->event_name = row->name;
	return status;
}

int etl_packet_schema(const struct ptl_descriptor *descriptor, struct etl_schema **made)
{
	const struct row *row = NULL;
	struct etl_schema *schema;
	int status;

	*made = NULL;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]) && !row && !descriptor->version; i++)
		if (rows[i].id == descriptor->id &&
		    common_guid_equal(&providers[rows[i].provider].guid, &descriptor->provider))
			row = &rows[i];
	if (!row)
		return 0;
	schema = etl_schema_new();
	if (!schema)
		return common_fail_memory("an event with a packet", sizeof(*schema));
	status = fill_packet_schema(schema, row, descriptor);
	if (status)
		etl_schema_free(schema);
	else
		*made = schema;
	return status;
}
