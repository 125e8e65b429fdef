/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Joins fragments. Fragments of a packet follow each other on one CPU. Packets of other interfaces and events of other
 * CPUs may come between.
 */
#include "dump/export/packet/packet_join.h"

#include "common/error.h"

void dump_packet_join_free(struct dump_packet_join *join)
{
	for (size_t i = 0; i < DUMP_PACKETS_OPEN; i++)
		common_bytes_free(&join->open[i].bytes);
}

static struct dump_packet_open *find_open_packet(struct dump_packet_join *join, uint32_t cpu,
						 const struct dump_packet *packet)
{
	for (size_t i = 0; i < DUMP_PACKETS_OPEN; i++) {
		struct dump_packet_open *open = &join->open[i];

		if (open->used && open->cpu == cpu && open->packet.source == packet->source &&
		    open->packet.interface == packet->interface && open->packet.miniport == packet->miniport &&
		    open->packet.port == packet->port)
			return open;
	}
	return NULL;
}

/* Returns a free entry, or drops the oldest packet. */
static struct dump_packet_open *make_packet_room(struct dump_packet_join *join)
{
	struct dump_packet_open *oldest = &join->open[0];

	for (size_t i = 0; i < DUMP_PACKETS_OPEN; i++) {
		struct dump_packet_open *open = &join->open[i];

		if (!open->used)
			return open;
		if (open->begun < oldest->begun)
			oldest = open;
	}
	join->without_end++;
	return oldest;
}

static void begin_packet(struct dump_packet_join *join, struct dump_packet_open *open, uint32_t cpu,
			 const struct dump_packet *packet)
{
	open->used = true;
	open->begun = join->begun++;
	open->cpu = cpu;
	open->packet = *packet;
	open->size = 0;
	open->bytes.size = 0;
}

static int append_packet(struct dump_packet_open *open, const struct dump_packet *packet)
{
	const size_t room = DUMP_PACKET_MAX - open->bytes.size;

	open->size += packet->size;
	open->packet.is_cut |= packet->is_cut;
	if (packet->size)
		common_write_bytes(&open->bytes, packet->data, packet->size < room ? packet->size : room);
	return open->bytes.failed ? common_fail_memory("a packet", open->bytes.size) : 0;
}

int dump_packet_join_add(struct dump_packet_join *join, uint32_t cpu, struct dump_packet *packet, bool *whole)
{
	struct dump_packet_open *open = find_open_packet(join, cpu, packet);
	int status;

	*whole = packet->first && packet->last;
	if (open && packet->first) {
		join->without_end++;
		open->used = false;
	}
	if (*whole) {
		if (packet->original < packet->size)
			packet->original = packet->size;
		return 0;
	}
	if (packet->first) {
		open = open ? open : make_packet_room(join);
		begin_packet(join, open, cpu, packet);
	} else if (!open) {
		join->without_begin++;
		return 0;
	}
	status = append_packet(open, packet);
	if (status || !packet->last)
		return status;
	open->used = false;
	*packet = open->packet;
	packet->data = open->bytes.data;
	packet->size = open->bytes.size;
	packet->original = open->size;
	*whole = true;
	return 0;
}

void dump_packet_join_end(struct dump_packet_join *join)
{
	for (size_t i = 0; i < DUMP_PACKETS_OPEN; i++)
		join->without_end += join->open[i].used;
}
