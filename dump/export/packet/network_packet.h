/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads network packets in events of Windows: Microsoft-Windows-NDIS-PacketCapture (netsh trace) and
 * Microsoft-Windows-PktMon.
 */
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
	DUMP_PACKET_NONE,        /* no packet event */
	DUMP_PACKET_NDIS,        /* packet of a network interface */
	DUMP_PACKET_SWITCH,      /* packet of a virtual switch's port */
	DUMP_PACKET_PKTMON,      /* packet of a component of the network stack */
	DUMP_PACKET_COMPONENT,   /* PktMon's description of a component */
	DUMP_PACKET_UNEXPLAINED, /* packet event without a schema, or with a payload that does not fit */
};

/* Directions, with the values of pcapng's epb_flags. */
enum dump_packet_direction { DUMP_PACKET_UNKNOWN, DUMP_PACKET_IN, DUMP_PACKET_OUT };

/* A packet or a fragment. Pointers refer to the event's payload. */
struct dump_packet {
	enum dump_packet_source source;
	uint32_t link;      /* DUMP_LINK_...; 0: unknown to pcapng */
	uint32_t interface; /* index of the interface, or number of the component */
	uint32_t miniport;  /* lower interface, if present */
	uint32_t port;      /* port of a virtual switch */
	const uint8_t *data;
	size_t size;
	size_t original;  /* bytes of the original packet; 0: unknown */
	bool first, last; /* first, last fragment of the packet */
	bool is_cut;      /* the event reports missing bytes */
	enum dump_packet_direction direction;
	/* For PktMon: group and number identify the packet in all its appearances. */
	uint64_t group;
	uint32_t number, appearance, edge, drop_reason, drop_location;
	bool dropped;
	/* UTF-16 names of a port or a described component, sizes in bytes. */
	const uint8_t *name, *description;
	size_t name_size, description_size;
};

/* Reads an event. schema: of the event, or NULL. */
void dump_packet_read(const struct ptl_event *event, const struct ptl_schema *schema, struct dump_packet *packet);

/* Returns pktmon's text for a drop reason; NULL: unknown. */
const char *dump_packet_drop_reason(uint32_t reason);

/*
 * Returns the length of a packet before it was cut, by the lengths in its IP header. Returns `size` if the header gives
 * no length or a smaller length.
 */
size_t dump_packet_length(uint32_t link, const uint8_t *data, size_t size);

#endif
