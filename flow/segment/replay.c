/* SPDX-License-Identifier: BSD-2-Clause */
/* Replaces the packets before a part of a segment by packets with an equal effect on time and state, and padding. */
#include "flow/segment/replay.h"

#include <stdlib.h>
#include <string.h>

#include "common/error.h"
#include "flow/segment/packets.h"

/* The new packets. They replace the packets from the PSB to the first address of the part. */
struct replay {
	const uint8_t *bytes;
	size_t size;
	size_t skip;
	const struct flow_errata *errata;
	uint8_t *made;
	size_t used, room;
	bool failed;
	/* last packet of each kind before skip; size 0: no such packet */
	struct ptl_pt_packet mode, ratio, paging, vmcs;
	uint64_t last_ip;
};

static bool tells_time(uint8_t kind)
{
	return kind == PTL_PT_TSC || kind == PTL_PT_TMA || kind == PTL_PT_MTC || kind == PTL_PT_CYC;
}

static void put_bytes(struct replay *replay, size_t at, size_t size)
{
	replay->failed |= size > replay->room - replay->used;
	if (replay->failed)
		return;
	memcpy(replay->made + replay->used, replay->bytes + at, size);
	replay->used += size;
}

static void put_packet(struct replay *replay, const struct ptl_pt_packet *packet)
{
	const int size = ptl_pt_encode(packet, replay->made + replay->used, replay->room - replay->used);

	if (size < 0)
		replay->failed = true;
	else
		replay->used += (size_t)size;
}

/* Reads the state at skip. */
static void read_state(struct replay *replay)
{
	struct ptl_pt_context context = {0};
	struct ptl_pt_packet packet;
	uint64_t ip;
	int length;

	for (size_t at = 0; at < replay->skip; at += (size_t)length) {
		length = flow_errata_read(replay->errata, replay->bytes + at, replay->skip - at, &context, &packet);
		if (length <= 0) {
			replay->failed = true;
			return;
		}
		ptl_pt_ip_resolve(&packet, &replay->last_ip, &ip);
		if (packet.kind == PTL_PT_MODE_EXEC)
			replay->mode = packet;
		else if (packet.kind == PTL_PT_CBR)
			replay->ratio = packet;
		else if (packet.kind == PTL_PT_PIP)
			replay->paging = packet;
		else if (packet.kind == PTL_PT_VMCS)
			replay->vmcs = packet;
	}
}

/* Writes PSB+ with the state but without FUP, then the timing packets before skip. */
static void put_state(struct replay *replay)
{
	const struct ptl_pt_packet *const state[] = {&replay->mode, &replay->ratio, &replay->paging, &replay->vmcs};
	struct ptl_pt_context context = {0};
	struct ptl_pt_packet packet;
	int length;

	for (size_t at = 0; at < replay->skip && !replay->failed; at += (size_t)length) {
		length = flow_errata_read(replay->errata, replay->bytes + at, replay->skip - at, &context, &packet);
		for (size_t i = 0; packet.kind == PTL_PT_PSBEND && i < sizeof(state) / sizeof(*state); i++)
			if (state[i]->size)
				put_packet(replay, state[i]);
		if (packet.kind == PTL_PT_PSB || packet.kind == PTL_PT_PSBEND || tells_time(packet.kind))
			put_bytes(replay, at, (size_t)length);
	}
}

/*
 * Finds the first packet at or behind skip that has an address. *at: offset of the packet. *packet: the packet with the
 * full address. Returns the packet's size; 0: no packet has an address.
 */
static size_t find_address(const struct replay *replay, size_t *at, struct ptl_pt_packet *packet)
{
	struct ptl_pt_context context = {0};
	uint64_t last_ip = replay->last_ip, ip;
	int length;

	for (*at = replay->skip; *at < replay->size; *at += (size_t)length) {
		length = flow_errata_read(replay->errata, replay->bytes + *at, replay->size - *at, &context, packet);
		if (length <= 0)
			return 0;
		if (!ptl_pt_ip_resolve(packet, &last_ip, &ip))
			continue;
		packet->ip.form = ip >> 47 == 0 || ip >> 47 == 0x1ffff ? PTL_PT_IP_SIGN_48 : PTL_PT_IP_FULL;
		packet->ip.payload = packet->ip.form == PTL_PT_IP_FULL ? ip : ip & 0xffffffffffff;
		return (size_t)length;
	}
	return 0;
}

/*
 * Writes padding, the packets between skip and the address, and the packet with the address. The new packet ends at the
 * old packet's end.
 */
static void put_rest(struct replay *replay)
{
	struct ptl_pt_packet address;
	size_t at, old = find_address(replay, &at, &address), stop = old ? at + old : replay->skip, used;

	if (!old)
		at = replay->skip;
	used = replay->used;
	put_bytes(replay, replay->skip, at - replay->skip);
	if (old)
		put_packet(replay, &address);
	if (replay->failed || replay->used > stop) {
		replay->failed = true;
		return;
	}
	memmove(replay->made + used + (stop - replay->used), replay->made + used, replay->used - used);
	memset(replay->made + used, 0, stop - replay->used);
	replay->used = stop;
}

int flow_segment_replay(uint8_t *bytes, size_t size, size_t skip, const struct flow_errata *errata)
{
	struct replay replay = {.bytes = bytes, .size = size, .skip = skip, .errata = errata};
	struct flow_psb_plus psb_plus;

	flow_psb_plus_read(bytes, size, errata, &psb_plus);
	if (!psb_plus.complete || skip > size || psb_plus.size > skip)
		return PTL_CORRUPT;
	replay.room = size + PTL_PT_PACKET_MAX;
	replay.made = malloc(replay.room);
	if (!replay.made)
		return common_fail_memory("segment", replay.room);
	read_state(&replay);
	if (!replay.failed)
		put_state(&replay);
	if (!replay.failed)
		put_rest(&replay);
	if (!replay.failed)
		memcpy(bytes, replay.made, replay.used);
	free(replay.made);
	return replay.failed ? PTL_CORRUPT : 0;
}
