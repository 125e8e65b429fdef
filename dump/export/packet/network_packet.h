/* SPDX-License-Identifier: BSD-2-Clause */
/* Packets of a network in events of Windows: Microsoft-Windows-NDIS-PacketCapture (netsh trace) and Microsoft-Windows-PktMon. */
#ifndef DUMP_EXPORT_PACKET_NETWORK_PACKET_H
#define DUMP_EXPORT_PACKET_NETWORK_PACKET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <ptl/event.h>

/* Link types of pcapng. */
#define DUMP_LINK_ETHERNET 1u
#define DUMP_LINK_RAW_IP 101u
#define DUMP_LINK_WIFI 105u

enum dump_packet_source {
	DUMP_PACKET_NONE,        /* the event has nothing to do with packets */
	DUMP_PACKET_NDIS,        /* of an interface of the network */
	DUMP_PACKET_SWITCH,      /* of a port of a virtual switch */
	DUMP_PACKET_PKTMON,      /* of a component of the network stack */
	DUMP_PACKET_COMPONENT,   /* PktMon describes a component */
	DUMP_PACKET_UNEXPLAINED, /* an event of a packet without a schema, or with a payload that does not fit */
};

/* The values of epb_flags of pcapng. */
enum dump_packet_direction { DUMP_PACKET_UNKNOWN, DUMP_PACKET_IN, DUMP_PACKET_OUT };

/* A packet, or a fragment of one. Bytes are in the event's payload. */
struct dump_packet {
	enum dump_packet_source source;
	uint32_t link;      /* DUMP_LINK_...; 0: pcapng has none */
	uint32_t interface; /* its index, or the number of the component */
	uint32_t miniport;  /* the interface below, if there is one */
	uint32_t port;      /* of a virtual switch */
	const uint8_t *data;
	size_t size;
	size_t original;  /* bytes that the packet had, if the event says that; else 0 */
	bool first, last; /* fragments of the packet */
	bool is_cut;      /* the event says that bytes are missing */
	enum dump_packet_direction direction;
	/* Of PktMon: the same packet has the same group and number wherever it appears. */
	uint64_t group;
	uint32_t number, appearance, edge, drop_reason, drop_location;
	bool dropped;
	/* Names as UTF-16, size in bytes: of a port, or of a component that is described. */
	const uint8_t *name, *description;
	size_t name_size, description_size;
};

/* Reads an event; schema is the event's, or NULL. */
void dump_packet_read(const struct ptl_event *event, const struct ptl_schema *schema, struct dump_packet *packet);

/* The words that pktmon has for a reason of dropping a packet; NULL: not known. */
const char *dump_packet_drop_reason(uint32_t reason);

/*
 * How long a packet was before it was cut, as the lengths in its IP header tell. Returns size if these tell nothing, or less
 * than size.
 */
size_t dump_packet_length(uint32_t link, const uint8_t *data, size_t size);

#endif
