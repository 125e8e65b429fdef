/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Walks the events twice. The first walk collects the names of PktMon's components, which may come at the end of the
 * trace. The second walk writes the packets, and a block for each interface before its first packet.
 */
#include "dump/export/packet/packet_file.h"

#include <inttypes.h>
#include <stdlib.h>

#include "common/error.h"
#include "common/hash_map.h"
#include "common/text/text.h"
#include "common/text/utf16.h"
#include "common/vector.h"
#include "common/version.h"
#include "dump/export/packet/network_packet.h"
#include "dump/export/packet/packet_join.h"
#include "dump/export/packet/pcapng.h"
#include "dump/print/event_time.h"

#define INTERFACES_MAX 65536u
#define COMPONENTS_MAX 65536u /* numbers have 16 bits */
#define NAME_MAX_BYTES 256u
#define WIFI_FLAGS_AT 1u
#define WIFI_PROTECTED 0x40u

/* A component as described by PktMon. Texts are UTF-8, safe for a terminal. */
struct component {
	char *name, *description;
};

struct interface {
	char *name; /* for comments */
	uint64_t packets;
};

struct packet_file {
	struct dump_run *run;
	const struct flow_timeline *timeline;
	struct component *components; /* indexed by number */
	size_t component_count, component_capacity;
	struct common_byte_map by_key; /* index in `interfaces` */
	struct interface *interfaces;
	size_t interface_count, interface_capacity;
	struct dump_packet_join join;
	struct ptl_bytes block, comment;
	uint64_t last_time; /* nanoseconds since 1970, of the last packet */
	uint64_t packets, cut, long_packets, unexplained, without_link, without_time, too_many;
};

/* ---- names ----------------------------------------------------------------------------------------------- */

/* Converts UTF-16 to UTF-8 that is safe for a terminal. Returns NULL without memory. */
static char *make_text(const uint8_t *units, size_t size)
{
	struct ptl_bytes text = {0}, safe = {0};
	char *copy;

	common_read_utf16_units(units ? units : (const uint8_t *)"", size / 2, &text);
	if (text.size > NAME_MAX_BYTES)
		text.size = NAME_MAX_BYTES;
	if (text.size)
		common_text_safe_n(&safe, text.data, text.size);
	copy = text.failed || safe.failed ? NULL : strndup(safe.size ? (const char *)safe.data : "", safe.size);
	common_bytes_free(&text);
	common_bytes_free(&safe);
	if (!copy)
		(void)common_fail_memory("a name", size);
	return copy;
}

static int see_component(void *context, struct ptl_trace *trace, const struct ptl_event *event)
{
	struct packet_file *file = context;
	struct component *component;
	struct dump_packet packet;

	dump_packet_read(event, ptl_schema_of(trace, event), &packet);
	if (packet.source != DUMP_PACKET_COMPONENT || packet.interface >= COMPONENTS_MAX)
		return 0;
	while (file->component_count <= packet.interface) {
		if (COMMON_VECTOR_RESERVE(file->components, file->component_capacity, file->component_count + 1,
					  "components"))
			return PTL_NO_MEMORY;
		file->components[file->component_count++] = (struct component){0};
	}
	component = &file->components[packet.interface];
	free(component->name);
	free(component->description);
	component->name = make_text(packet.name, packet.name_size);
	component->description = make_text(packet.description, packet.description_size);
	return component->name && component->description ? 0 : PTL_NO_MEMORY;
}

/* ---- interfaces ------------------------------------------------------------------------------------------ */

static void write_key(const struct dump_packet *packet, uint8_t key[20])
{
	common_store32(key, packet->source);
	common_store32(key + 4, packet->link);
	common_store32(key + 8, packet->interface);
	common_store32(key + 12, packet->source == DUMP_PACKET_PKTMON ? 0 : packet->miniport);
	common_store32(key + 16, packet->port);
}

static const char *link_word(uint32_t link)
{
	return link == DUMP_LINK_WIFI ? "wifi" : link == DUMP_LINK_RAW_IP ? "ip" : "ethernet";
}

/* Finds a unique name and a description for an interface. */
static int name_interface(const struct packet_file *file, const struct dump_packet *packet, struct ptl_bytes *name,
			  struct ptl_bytes *description)
{
	const struct component *component = packet->interface < file->component_count
						    ? &file->components[packet->interface]
						    : NULL;
	char *port = NULL, *nic = NULL;

	if (packet->source == DUMP_PACKET_PKTMON) {
		common_text_format(name, "component %" PRIu32, packet->interface);
		if (component && component->name && *component->name)
			common_text_format(name, " %s", component->name);
		if (component && component->description)
			common_text_add(description, component->description);
	} else if (packet->source == DUMP_PACKET_SWITCH) {
		nic = make_text(packet->name, packet->name_size);
		port = make_text(packet->description, packet->description_size);
		if (!nic || !port) {
			free(nic);
			free(port);
			return PTL_NO_MEMORY;
		}
		common_text_format(name, "switch port %" PRIu32 " %s", packet->port, nic);
		common_text_add(description, port);
		free(nic);
		free(port);
	} else {
		common_text_format(name, "%s %" PRIu32, link_word(packet->link), packet->interface);
		if (packet->miniport != packet->interface)
			common_text_format(description, "filter above interface %" PRIu32, packet->miniport);
	}
	return name->failed || description->failed ? common_fail_memory("a name", name->size) : 0;
}

static int flush_file(struct packet_file *file)
{
	if (file->block.failed)
		return common_fail_memory("a block", file->block.size);
	fwrite(file->block.data, 1, file->block.size, file->run->out);
	file->block.size = 0;
	return dump_output_check(file->run);
}

static int add_interface(struct packet_file *file, const struct dump_packet *packet)
{
	struct ptl_bytes name = {0}, description = {0};
	struct interface interface = {0};
	int status = name_interface(file, packet, &name, &description);

	if (!status)
		interface.name = strdup(common_text_string(&name));
	if (!status && !interface.name)
		status = common_fail_memory("a name", name.size);
	if (!status)
		dump_pcapng_interface(&file->block, packet->link, DUMP_PACKET_MAX, interface.name,
				      description.size ? common_text_string(&description) : NULL);
	if (!status &&
	    COMMON_VECTOR_RESERVE(file->interfaces, file->interface_capacity, file->interface_count + 1, "interfaces"))
		status = PTL_NO_MEMORY;
	if (status)
		free(interface.name);
	else
		file->interfaces[file->interface_count++] = interface;
	common_bytes_free(&name);
	common_bytes_free(&description);
	return status ? status : flush_file(file);
}

/* Finds or adds the interface of a packet. *index: FLOW_NONE beyond the limit. */
static int find_interface(struct packet_file *file, const struct dump_packet *packet, uint32_t *index)
{
	uint8_t key[20];
	const uint64_t *known;
	int status;

	write_key(packet, key);
	known = common_byte_map_get(&file->by_key, key, sizeof(key));
	*index = known ? (uint32_t)*known : FLOW_NONE;
	if (known || file->interface_count == INTERFACES_MAX)
		return 0;
	*index = (uint32_t)file->interface_count;
	status = add_interface(file, packet);
	return status ? status : common_byte_map_put(&file->by_key, key, sizeof(key), *index);
}

/* ---- packets --------------------------------------------------------------------------------------------- */

/*
 * NDIS-PacketCapture records Wi-Fi frames after the driver has decrypted the frames. The Protected bit of the header
 * stays set, and readers of pcapng do not dissect a frame with this bit. Microsoft's etl2pcapng clears the bit, too.
 */
static bool is_decrypted(const struct dump_packet *packet)
{
	return packet->source == DUMP_PACKET_NDIS && packet->link == DUMP_LINK_WIFI && packet->size > WIFI_FLAGS_AT &&
	       packet->data[WIFI_FLAGS_AT] & WIFI_PROTECTED;
}

/* Makes a comment: process, thread, interface, and PktMon's data. */
static void write_comment(struct packet_file *file, const struct ptl_event *event, const struct dump_packet *packet,
			  const char *interface)
{
	struct ptl_bytes *text = &file->comment;
	const char *name = flow_timeline_name_at(file->timeline, event->pid, event->time);

	text->size = 0;
	if (name && *name)
		common_text_safe(text, name);
	else if (event->pid != PTL_NO_ID)
		common_text_add(text, "process");
	if (event->pid != PTL_NO_ID)
		common_text_format(text, " (%" PRIu32 "), ", event->pid);
	if (event->tid != PTL_NO_ID)
		common_text_format(text, "thread %" PRIu32 ", ", event->tid);
	common_text_add(text, interface);
	if (packet->source == DUMP_PACKET_PKTMON)
		common_text_format(text, ", edge %" PRIu32 ", packet %" PRIu64 ".%" PRIu32 " appearance %" PRIu32,
				   packet->edge, packet->group, packet->number, packet->appearance);
	if (packet->dropped) {
		const char *words = dump_packet_drop_reason(packet->drop_reason);

		common_text_format(text, ", dropped: %s%sreason %" PRIu32 " location 0x%" PRIx32, words ? words : "",
				   words ? ", " : "", packet->drop_reason, packet->drop_location);
	}
	if (is_decrypted(packet))
		common_text_add(text, ", protected bit cleared");
}

static uint64_t time_of(struct packet_file *file, const struct ptl_event *event)
{
	const struct ptl_machine *machine = ptl_trace_machine(file->run->trace);
	int64_t wall;

	if (!dump_wall_time(machine, event->time, &wall) || wall < 0) {
		file->without_time++;
		return 0;
	}
	if ((uint64_t)wall > file->last_time)
		file->last_time = (uint64_t)wall;
	return (uint64_t)wall;
}

static int write_packet(struct packet_file *file, const struct ptl_event *event, struct dump_packet *packet)
{
	const size_t size = packet->size < DUMP_PACKET_MAX ? packet->size : DUMP_PACKET_MAX;
	struct dump_pcapng_packet block = {
		.direction = packet->direction, .data = packet->data, .size = (uint32_t)size};
	size_t original = packet->original;
	int status = find_interface(file, packet, &block.interface);

	if (status)
		return status;
	if (block.interface == FLOW_NONE) {
		file->too_many++;
		return 0;
	}
	/* Only PktMon records the original length of a cut packet. */
	if (packet->source != DUMP_PACKET_PKTMON && original == size)
		original = dump_packet_length(packet->link, packet->data, size);
	file->long_packets += packet->size > size ||
			      (packet->size == size && original > size && size == DUMP_PACKET_MAX);
	file->cut += (packet->is_cut || original > size) && size < DUMP_PACKET_MAX;
	block.original = original < UINT32_MAX ? (uint32_t)original : UINT32_MAX;
	block.time = time_of(file, event);
	write_comment(file, event, packet, file->interfaces[block.interface].name);
	if (file->comment.failed)
		return common_fail_memory("a comment", file->comment.size);
	block.comment = common_text_string(&file->comment);
	dump_pcapng_packet(&file->block, &block);
	if (is_decrypted(packet) && !file->block.failed)
		file->block.data[DUMP_PCAPNG_DATA_AT + WIFI_FLAGS_AT] &= (uint8_t)~WIFI_PROTECTED;
	file->interfaces[block.interface].packets++;
	file->packets++;
	return flush_file(file);
}

static int see_packet(void *context, struct ptl_trace *trace, const struct ptl_event *event)
{
	struct packet_file *file = context;
	const struct analysis_filter *filter = &file->run->options->filter;
	struct dump_packet packet;
	bool whole;
	int status;

	dump_packet_read(event, ptl_schema_of(trace, event), &packet);
	if (packet.source == DUMP_PACKET_NONE || packet.source == DUMP_PACKET_COMPONENT ||
	    !analysis_filter_wants_thread(filter, event->pid, event->tid) ||
	    !common_id_set_has(&filter->cpus, event->cpu) || !analysis_filter_wants_time(filter, event->time))
		return 0;
	if (packet.source == DUMP_PACKET_UNEXPLAINED) {
		file->unexplained++;
		return 0;
	}
	if (!packet.link) {
		file->without_link++;
		return 0;
	}
	status = dump_packet_join_add(&file->join, event->cpu, &packet, &whole);
	return status || !whole ? status : write_packet(file, event, &packet);
}

/* ---- the file -------------------------------------------------------------------------------------------- */

static void tell_left_out(const struct packet_file *file, struct dump_left_out *left_out)
{
	dump_left_out_add(left_out, file->unexplained, "event with a packet that no description fits",
			  "events with packets that no description fits");
	dump_left_out_add(left_out, file->without_link, "packet of a kind that pcapng has no link type for",
			  "packets of kinds that pcapng has no link type for");
	dump_left_out_add(left_out, file->join.without_end, "packet whose last fragment is missing",
			  "packets whose last fragment is missing");
	dump_left_out_add(left_out, file->join.without_begin, "fragment whose packet did not begin",
			  "fragments whose packets did not begin");
	dump_left_out_add(left_out, file->cut, "end of a packet that was recorded in part",
			  "ends of packets that were recorded in part");
	dump_left_out_add(left_out, file->long_packets, "end of a packet of more than 262,144 bytes",
			  "ends of packets of more than 262,144 bytes");
	dump_left_out_add(left_out, file->without_time, "time before 1970, now 1970", "times before 1970, now 1970");
	dump_left_out_add(left_out, file->too_many, "packet of an interface beyond 65,536",
			  "packets of interfaces beyond 65,536");
}

static int write_end(struct packet_file *file, struct dump_left_out *left_out)
{
	dump_packet_join_end(&file->join);
	tell_left_out(file, left_out);
	for (size_t i = 0; i < file->interface_count; i++)
		dump_pcapng_statistics(&file->block, (uint32_t)i, file->last_time, file->interfaces[i].packets,
				       i ? NULL : dump_left_out_text(left_out));
	return flush_file(file);
}

static int write_packet_file(struct packet_file *file, struct dump_left_out *left_out)
{
	const struct analysis_filter *filter = &file->run->options->filter;
	struct ptl_trace *trace = file->run->trace;
	const struct ptl_callbacks components = {.size = sizeof(components), .event = see_component};
	const struct ptl_callbacks packets = {.size = sizeof(packets), .event = see_packet};
	const struct ptl_event_filter times = {
		.size = sizeof(times),
		.first_time = filter->first_time,
		.last_time = filter->last_time == UINT64_MAX ? 0 : filter->last_time,
	};
	int status = ptl_process(trace, NULL, &components, file);

	dump_pcapng_section(&file->block, ptl_trace_machine(trace)->kernel, "ptl-dump " COMMON_VERSION);
	if (!status)
		status = flush_file(file);
	if (!status)
		status = ptl_process(trace, &times, &packets, file);
	return status ? status : write_end(file, left_out);
}

int dump_packet_file_write(struct dump_run *run, const struct flow_timeline *timeline, uint64_t *packets,
			   struct dump_left_out *left_out)
{
	struct packet_file *file = calloc(1, sizeof(*file));
	int status;

	if (!file)
		return common_fail_memory("packets", sizeof(*file));
	file->run = run;
	file->timeline = timeline;
	status = write_packet_file(file, left_out);
	*packets = file->packets;
	for (size_t i = 0; i < file->component_count; i++) {
		free(file->components[i].name);
		free(file->components[i].description);
	}
	for (size_t i = 0; i < file->interface_count; i++)
		free(file->interfaces[i].name);
	free(file->components);
	free(file->interfaces);
	common_byte_map_free(&file->by_key);
	dump_packet_join_free(&file->join);
	common_bytes_free(&file->block);
	common_bytes_free(&file->comment);
	free(file);
	return status;
}
